#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exact.h"

/* Sums of doubles that are exact and rounded once, so that they depend on the numbers alone. The engine's own sum rounds after every
   addition: its last digits, or all of them, tell in which order rows came, so how rows lie in files, the hidden ones among them, and which
   thread took which.

   A number is cut into digits to the base 2^26 at fixed places, and each place has a sum of digits of its own, without carries. A state has
   room for some places beside each other, wherever the numbers are. If they are too far apart for that, it gets a block with all places. */

/* What is used of DuckDB's C interface. Its duckdb.h stands in the folder of another module. */
typedef uint64_t idx_t;
typedef struct gatehouse_opaque {
	void *internal;
} *handle;
typedef handle *states;
extern handle duckdb_create_aggregate_function(void);
extern void duckdb_destroy_aggregate_function(handle *);
extern void duckdb_aggregate_function_set_name(handle, const char *);
extern void duckdb_aggregate_function_add_parameter(handle, handle);
extern void duckdb_aggregate_function_set_return_type(handle, handle);
extern void duckdb_aggregate_function_set_functions(handle, idx_t (*)(handle), void (*)(handle, handle), void (*)(handle, handle, states),
                                                    void (*)(handle, states, states, idx_t),
                                                    void (*)(handle, states, handle, idx_t, idx_t));
extern void duckdb_aggregate_function_set_destructor(handle, void (*)(states, idx_t));
extern void duckdb_aggregate_function_set_extra_info(handle, void *, void (*)(void *));
extern void *duckdb_aggregate_function_get_extra_info(handle);
extern void duckdb_aggregate_function_set_error(handle, const char *);
extern int duckdb_register_aggregate_function(void *, handle);
extern handle duckdb_create_logical_type(int);
extern void duckdb_destroy_logical_type(handle *);
extern handle duckdb_data_chunk_get_vector(handle, idx_t);
extern idx_t duckdb_data_chunk_get_size(handle);
extern void *duckdb_vector_get_data(handle);
extern uint64_t *duckdb_vector_get_validity(handle);
extern void duckdb_vector_ensure_validity_writable(handle);

enum { type_double = 11, success = 0 };

/* Place p counts 2^(26 p - 1074), and all_places are enough for every double. */
enum { digit = 26, near_places = 6, all_places = 83, special_exponent = 0x7ff };
enum { plus_infinity = 1, minus_infinity = 2, not_a_number = 4 };

#define MASK (((int64_t)1 << digit) - 1)

/* A number adds less than 2^27 to a place. */
static const uint64_t most = (uint64_t)1 << 35;

/* pool has the blocks of one aggregate of one instance: those that the engine loses, see states.go, go with the instance. */
struct pool {
	atomic_flag busy;
	struct block *first;
	long long bytes, limit;
};

struct block {
	struct pool *pool;
	struct block *before, *after;
	int64_t at[all_places]; /* by place */
};

struct sum {
	union {
		int64_t at[near_places]; /* the first one is that of place top */
		struct block *block;
	};
	uint64_t count; /* of the numbers that are not NULL */
	int32_t top;
	uint16_t special;
	uint16_t far; /* it has a block */
};

static void lock(struct pool *p) {
	while (atomic_flag_test_and_set(&p->busy)) {
	}
}

static void unlock(struct pool *p) { atomic_flag_clear(&p->busy); }

static void drop_block(struct block *b) {
	struct pool *p = b->pool;
	lock(p);
	if (b->before) b->before->after = b->after;
	else p->first = b->after;
	if (b->after) b->after->before = b->before;
	p->bytes -= (long long)sizeof *b;
	unlock(p);
	free(b);
}

static void drop_pool(void *of) {
	struct pool *p = of;
	for (struct block *b = p->first, *next; b != NULL; b = next) {
		next = b->after;
		free(b);
	}
	free(p);
}

/* spread gives s a block. It returns false if there is no memory for it. */
static bool spread(struct sum *s, struct pool *p) {
	struct block *b = calloc(1, sizeof *b);
	if (b == NULL) return false;
	b->pool = p;
	lock(p);
	bool fits = p->bytes + (long long)sizeof *b <= p->limit;
	if (fits) {
		p->bytes += (long long)sizeof *b;
		b->after = p->first;
		if (p->first) p->first->before = b;
		p->first = b;
	}
	unlock(p);
	if (!fits) {
		free(b);
		return false;
	}
	for (int32_t i = 0; i < near_places; i++) {
		if (s->at[i] != 0) b->at[s->top - i] = s->at[i];
	}
	s->block = b;
	s->far = 1;
	return true;
}

/* slide moves what s has room for by some places, upwards if by is positive. It returns false if that would lose a digit. */
static bool slide(struct sum *s, int32_t by) {
	int64_t moved[near_places] = {0};
	for (int32_t i = 0; i < near_places; i++) {
		int32_t to = i + by;
		if (to >= 0 && to < near_places) moved[to] = s->at[i];
		else if (s->at[i] != 0) return false;
	}
	memcpy(s->at, moved, sizeof moved);
	s->top += by;
	return true;
}

/* put_elsewhere adds to a place that s has no room for. */
static bool put_elsewhere(struct sum *s, struct pool *p, int32_t place, int64_t digits) {
	if (digits == 0) return true;
	if (!s->far) {
		int32_t by = place > s->top ? place - s->top : place - (s->top - near_places + 1);
		if (!slide(s, by) && !spread(s, p)) return false;
	}
	if (s->far) s->block->at[place] += digits;
	else s->at[s->top - place] += digits;
	return true;
}

static inline bool put(struct sum *s, struct pool *p, int32_t place, int64_t digits) {
	uint32_t i = (uint32_t)(s->top - place);
	if (s->far || i >= near_places) return put_elsewhere(s, p, place, digits);
	s->at[i] += digits;
	return true;
}

/* put_number adds 2^(26 place - 1074) x. */
static bool put_number(struct sum *s, struct pool *p, int32_t place, int64_t x) {
	int64_t sign = x < 0 ? -1 : 1;
	for (uint64_t rest = x < 0 ? -(uint64_t)x : (uint64_t)x; rest != 0; place++, rest >>= digit) {
		if (!put(s, p, place, sign * (int64_t)(rest & (uint64_t)MASK))) return false;
	}
	return true;
}

/* start makes room around the first number. */
static inline void start(struct sum *s, int32_t place) {
	if (s->count == 0) s->top = place + 3;
}

/* parts is a double as 2^(26 place - 1074 + shift) mantissa, with the mask of its sign. It returns false if it is not finite. */
struct parts {
	uint64_t mantissa;
	int64_t sign;
	int32_t place;
	uint32_t shift;
};

static inline bool cut(double x, struct parts *out) {
	uint64_t bits;
	memcpy(&bits, &x, sizeof bits);
	uint32_t exponent = (uint32_t)(bits >> 52) & special_exponent, normal = exponent != 0;
	out->mantissa = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)normal << 52;
	out->sign = -(int64_t)(bits >> 63);
	out->place = (int32_t)((exponent - normal) / digit);
	out->shift = (exponent - normal) % digit;
	return exponent != special_exponent;
}

static void note_special(struct sum *s, double x) { s->special |= isnan(x) ? not_a_number : x > 0 ? plus_infinity : minus_infinity; }

static inline bool add(struct sum *s, struct pool *p, double x) {
	struct parts n;
	if (!cut(x, &n)) {
		note_special(s, x);
		s->count++;
		return true;
	}
	start(s, n.place);
	s->count++;
	int64_t low = (int64_t)((n.mantissa << n.shift) & (uint64_t)MASK);
	int64_t middle = (int64_t)(n.mantissa >> (digit - n.shift)) & MASK;
	int64_t high = (int64_t)(n.mantissa >> (2 * digit - n.shift));
	low = (low ^ n.sign) - n.sign;
	middle = (middle ^ n.sign) - n.sign;
	high = (high ^ n.sign) - n.sign;
	uint32_t i = (uint32_t)(s->top - n.place - 2);
	if (!s->far && i < near_places - 2) {
		s->at[i] += high;
		s->at[i + 1] += middle;
		s->at[i + 2] += low;
		return true;
	}
	return put(s, p, n.place + 2, high) && put(s, p, n.place + 1, middle) && put(s, p, n.place, low);
}

/* add_all adds numbers to one state, by way of all places at once. */
static bool add_all(struct sum *s, struct pool *p, const double *x, const uint64_t *valid, idx_t from, idx_t rows) {
	int64_t at[all_places] = {0};
	int32_t some = -1;
	uint64_t count = 0;
	for (idx_t i = from; i < from + rows; i++) {
		if (valid != NULL && !(valid[i / 64] >> (i % 64) & 1)) continue;
		struct parts n;
		count++;
		if (!cut(x[i], &n)) {
			note_special(s, x[i]);
			continue;
		}
		some = n.place;
		int64_t low = (int64_t)((n.mantissa << n.shift) & (uint64_t)MASK), high = (int64_t)(n.mantissa >> (digit - n.shift));
		at[n.place] += (low ^ n.sign) - n.sign;
		at[n.place + 1] += (high ^ n.sign) - n.sign;
	}
	if (some >= 0) start(s, some);
	s->count += count;
	for (int32_t i = 0; some >= 0 && i < all_places; i++) {
		if (at[i] != 0 && !put_number(s, p, i, at[i])) return false;
	}
	return true;
}

static bool merge(struct sum *to, struct pool *p, const struct sum *from) {
	if (from->count == 0) return true;
	if (to->count == 0) to->top = from->far ? 0 : from->top;
	to->count += from->count;
	to->special |= from->special;
	if (!from->far && !to->far && to->top == from->top) {
		for (int32_t i = 0; i < near_places; i++) to->at[i] += from->at[i];
		return true;
	}
	for (int32_t i = 0; i < (from->far ? all_places : near_places); i++) {
		int32_t place = from->far ? i : from->top - i;
		int64_t digits = from->far ? from->block->at[i] : from->at[i];
		if (digits != 0 && !put(to, p, place, digits)) return false;
	}
	return true;
}

/* round_once returns the sum as the nearest double, ties to even. */
static double round_once(const struct sum *s) {
	if (s->special & not_a_number || (s->special & plus_infinity && s->special & minus_infinity)) return NAN;
	if (s->special) return s->special & plus_infinity ? INFINITY : -INFINITY;
	int32_t places = s->far ? all_places : near_places, lowest = s->far ? 0 : s->top - near_places + 1;
	int64_t digits[all_places], carry, sign = 1;
	for (;;) {
		carry = 0;
		for (int32_t i = 0; i < places; i++) {
			int64_t v = sign * (s->far ? s->block->at[i] : s->at[near_places - 1 - i]) + carry;
			digits[i] = v & MASK;
			carry = (v - digits[i]) / (MASK + 1);
		}
		if (carry >= 0) break;
		sign = -1;
	}
	unsigned __int128 value = (unsigned __int128)carry;
	int exponent = digit * (lowest + places) - 1074;
	bool rest = false;
	for (int32_t i = places - 1; i >= 0; i--) {
		if (value >> 64) {
			rest = rest || digits[i] != 0;
			continue;
		}
		value = value << digit | (unsigned __int128)digits[i];
		exponent -= digit;
	}
	int over = 0; /* bits beyond the 53 of a double */
	while (value >> 53 >> over) over++;
	if (over > 0) {
		unsigned __int128 half = (unsigned __int128)1 << (over - 1), cut_off = value & (((unsigned __int128)1 << over) - 1);
		value >>= over;
		if (cut_off > half || (cut_off == half && (rest || value & 1))) value++;
		exponent += over;
	}
	return (double)sign * ldexp((double)(uint64_t)value, exponent);
}

static struct sum *state_of(handle h) { return (struct sum *)h; }

static idx_t size(handle info) {
	(void)info;
	return sizeof(struct sum);
}

static void init(handle info, handle state) {
	(void)info;
	memset(state_of(state), 0, sizeof(struct sum));
}

static void no_memory(handle info) { duckdb_aggregate_function_set_error(info, "gatehouse: no memory for an exact sum"); }

enum { batch = 512 }; /* so many numbers of 2^53 at most have a sum in 64 bits */

static void update(handle info, handle input, states to) {
	struct pool *p = duckdb_aggregate_function_get_extra_info(info);
	idx_t rows = duckdb_data_chunk_get_size(input);
	handle vector = duckdb_data_chunk_get_vector(input, 0);
	const double *x = duckdb_vector_get_data(vector);
	const uint64_t *valid = duckdb_vector_get_validity(vector);
	idx_t same = 0;
	while (same < rows && to[same] == to[0]) same++;
	bool all = true;
	if (same == rows && rows >= batch / 4) {
		for (idx_t i = 0; i < rows && all; i += batch) all = add_all(state_of(to[0]), p, x, valid, i, rows - i < batch ? rows - i : batch);
	} else {
		for (idx_t i = 0; i < rows && all; i++) {
			if (valid == NULL || valid[i / 64] >> (i % 64) & 1) all = add(state_of(to[i]), p, x[i]);
		}
	}
	if (!all) no_memory(info);
}

static void combine(handle info, states from, states to, idx_t count) {
	struct pool *p = duckdb_aggregate_function_get_extra_info(info);
	bool all = true;
	for (idx_t i = 0; i < count && all; i++) all = merge(state_of(to[i]), p, state_of(from[i]));
	if (!all) no_memory(info);
}

static void destroy(states of, idx_t count) {
	for (idx_t i = 0; i < count; i++) {
		struct sum *s = state_of(of[i]);
		if (s->far) drop_block(s->block);
		s->far = 0;
	}
}

static void finish(handle info, states from, handle result, idx_t count, idx_t offset, bool mean) {
	double *out = duckdb_vector_get_data(result);
	for (idx_t i = 0; i < count; i++) {
		const struct sum *s = state_of(from[i]);
		idx_t at = offset + i;
		if (s->count == 0) {
			duckdb_vector_ensure_validity_writable(result);
			duckdb_vector_get_validity(result)[at / 64] &= ~((uint64_t)1 << (at % 64));
			continue;
		}
		if (s->count >= most) {
			duckdb_aggregate_function_set_error(info, "a sum of too many numbers");
			return;
		}
		out[at] = round_once(s);
		if (mean) out[at] /= (double)s->count;
	}
}

static void finish_sum(handle info, states from, handle result, idx_t count, idx_t offset) {
	finish(info, from, result, count, offset, false);
}

static void finish_mean(handle info, states from, handle result, idx_t count, idx_t offset) {
	finish(info, from, result, count, offset, true);
}

static int add_function(void *connection, const char *name, long long limit, void (*finalize)(handle, states, handle, idx_t, idx_t)) {
	struct pool *p = calloc(1, sizeof *p);
	if (p == NULL) return 1;
	p->limit = limit;
	handle f = duckdb_create_aggregate_function(), number = duckdb_create_logical_type(type_double);
	duckdb_aggregate_function_set_name(f, name);
	duckdb_aggregate_function_add_parameter(f, number);
	duckdb_aggregate_function_set_return_type(f, number);
	duckdb_aggregate_function_set_functions(f, size, init, update, combine, finalize);
	duckdb_aggregate_function_set_destructor(f, destroy);
	duckdb_aggregate_function_set_extra_info(f, p, drop_pool);
	int state = duckdb_register_aggregate_function(connection, f);
	duckdb_destroy_logical_type(&number);
	duckdb_destroy_aggregate_function(&f);
	return state;
}

int gatehouse_exact_register(void *connection, long long limit) {
	if (add_function(connection, "__gw_sum", limit, finish_sum) != success) return 1;
	return add_function(connection, "__gw_avg", limit, finish_mean) != success;
}
