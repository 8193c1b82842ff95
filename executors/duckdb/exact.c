#include <math.h>
#include <stdlib.h>

#include "exact.h"
#include "sum.h"

/* Sums of doubles that are exact and rounded once, so that they depend on the numbers alone. The engine's own sum rounds after every
   addition: its last digits, or all of them, tell in which order rows came, so how rows lie in files, the hidden ones among them, and which
   thread took which.

   A number is cut into digits to the base 2^26 at fixed places, and each place has a sum of digits of its own, without carries. A state has
   room for some places beside each other, wherever the numbers are. If they are too far apart for that, it gets a block with all places. */

static void lock(struct pool *p) {
	while (atomic_flag_test_and_set(&p->busy)) {
	}
}

static void unlock(struct pool *p) { atomic_flag_clear(&p->busy); }

void gatehouse_drop_block(struct block *b) {
	struct pool *p = b->pool;
	lock(p);
	if (b->before) b->before->after = b->after;
	else p->first = b->after;
	if (b->after) b->after->before = b->before;
	p->bytes -= (long long)sizeof *b;
	unlock(p);
	free(b);
}

void gatehouse_leave_pool(void *of) {
	struct pool *p = of;
	lock(p);
	bool last = --p->users == 0;
	unlock(p);
	if (!last) return;
	for (struct block *b = p->first, *next; b != NULL; b = next) {
		next = b->after;
		free(b);
	}
	free(p);
}

struct block *gatehouse_new_block(struct pool *p) {
	struct block *b = calloc(1, sizeof *b);
	if (b == NULL) return NULL;
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
	if (fits) return b;
	free(b);
	return NULL;
}

/* spread gives s a block. It returns false if there is no memory for it. */
static bool spread(struct sum *s, struct pool *p) {
	struct block *b = gatehouse_new_block(p);
	if (b == NULL) return false;
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

bool gatehouse_sum_add(struct sum *s, struct pool *p, double x) { return add(s, p, x); }

/* By way of all places at once. */
bool gatehouse_sum_add_all(struct sum *s, struct pool *p, const double *x, const uint64_t *valid, idx_t from, idx_t rows) {
	int64_t at[all_places] = {0};
	int32_t some = -1;
	uint64_t count = 0;
	for (idx_t i = from; i < from + rows; i++) {
		if (!is_valid(valid, i)) continue;
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

bool gatehouse_sum_merge(struct sum *to, struct pool *p, const struct sum *from) {
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

struct magnitude gatehouse_sum_magnitude(const struct sum *s) {
	struct magnitude m;
	m.sign = 1;
	m.places = s->far ? all_places : near_places;
	m.lowest = s->far ? 0 : s->top - near_places + 1;
	for (;;) {
		m.carry = 0;
		for (int32_t i = 0; i < m.places; i++) {
			int64_t v = m.sign * (s->far ? s->block->at[i] : s->at[near_places - 1 - i]) + m.carry;
			m.digits[i] = v & MASK;
			m.carry = (v - m.digits[i]) / (MASK + 1);
		}
		if (m.carry >= 0) return m;
		m.sign = -1;
	}
}

/* round_once returns the sum as the nearest double, ties to even. */
static double round_once(const struct sum *s) {
	if (s->special & not_a_number || (s->special & plus_infinity && s->special & minus_infinity)) return NAN;
	if (s->special) return s->special & plus_infinity ? INFINITY : -INFINITY;
	struct magnitude m = gatehouse_sum_magnitude(s);
	unsigned __int128 value = (unsigned __int128)m.carry;
	int exponent = digit * (m.lowest + m.places) - 1074;
	bool rest = false;
	for (int32_t i = m.places - 1; i >= 0; i--) {
		if (value >> 64) {
			rest = rest || m.digits[i] != 0;
			continue;
		}
		value = value << digit | (unsigned __int128)m.digits[i];
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
	return (double)m.sign * ldexp((double)(uint64_t)value, exponent);
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

static void update(handle info, handle input, states to) {
	struct pool *p = duckdb_aggregate_function_get_extra_info(info);
	idx_t rows = duckdb_data_chunk_get_size(input);
	handle vector = duckdb_data_chunk_get_vector(input, 0);
	const double *x = duckdb_vector_get_data(vector);
	const uint64_t *valid = duckdb_vector_get_validity(vector);
	bool all = true;
	if (go_to_one(to, rows)) {
		for (idx_t i = 0; i < rows && all; i += batch) all = gatehouse_sum_add_all(state_of(to[0]), p, x, valid, i, rows - i < batch ? rows - i : batch);
	} else {
		for (idx_t i = 0; i < rows && all; i++) {
			if (is_valid(valid, i)) all = add(state_of(to[i]), p, x[i]);
		}
	}
	if (!all) gatehouse_no_memory(info);
}

static void combine(handle info, states from, states to, idx_t count) {
	struct pool *p = duckdb_aggregate_function_get_extra_info(info);
	bool all = true;
	for (idx_t i = 0; i < count && all; i++) all = gatehouse_sum_merge(state_of(to[i]), p, state_of(from[i]));
	if (!all) gatehouse_no_memory(info);
}

static void destroy(states of, idx_t count) {
	for (idx_t i = 0; i < count; i++) {
		struct sum *s = state_of(of[i]);
		if (s->far) gatehouse_drop_block(s->block);
		s->far = 0;
	}
}

static void finish(handle info, states from, handle result, idx_t count, idx_t offset, bool mean) {
	double *out = duckdb_vector_get_data(result);
	for (idx_t i = 0; i < count; i++) {
		const struct sum *s = state_of(from[i]);
		idx_t at = offset + i;
		if (s->count == 0) {
			set_null(result, at);
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

void gatehouse_no_memory(handle info) { duckdb_aggregate_function_set_error(info, "gatehouse: no memory for an exact sum"); }

int gatehouse_add_function(void *connection, struct pool *p, const char *name, const struct functions *of) {
	handle f = duckdb_create_aggregate_function(), number = duckdb_create_logical_type(type_double);
	duckdb_aggregate_function_set_name(f, name);
	duckdb_aggregate_function_add_parameter(f, number);
	duckdb_aggregate_function_set_return_type(f, number);
	duckdb_aggregate_function_set_functions(f, of->size, of->init, of->update, of->combine, of->finish);
	duckdb_aggregate_function_set_destructor(f, of->destroy);
	p->users++;
	duckdb_aggregate_function_set_extra_info(f, p, gatehouse_leave_pool);
	int state = duckdb_register_aggregate_function(connection, f);
	duckdb_destroy_logical_type(&number);
	duckdb_destroy_aggregate_function(&f);
	return state;
}

int gatehouse_exact_register(void *connection, long long limit) {
	struct pool *p = calloc(1, sizeof *p);
	if (p == NULL) return 1;
	p->limit = limit;
	p->users = 1;
	const struct functions sum = {size, init, update, combine, finish_sum, destroy}, mean = {size, init, update, combine, finish_mean, destroy};
	int state = gatehouse_add_function(connection, p, "__gw_sum", &sum);
	if (state == success) state = gatehouse_add_function(connection, p, "__gw_avg", &mean);
	if (state == success) state = gatehouse_add_dispersions(connection, p);
	gatehouse_leave_pool(p);
	return state != success;
}
