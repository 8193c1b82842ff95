#include <math.h>

#include "sum.h"

/* Variances and standard deviations of doubles, which depend on the numbers alone as the sums of exact.c do: from the exact sum S of n numbers
   and the exact sum Q of their squares comes n Q - S^2, which is divided, and rounded once. The engine's own go on from one number to the next,
   and round each time.

   Q is an integer in units of 2^-2148, the square of the smallest double, in limbs of 64 bits. A state has room for some of them, wherever the
   squares are, and gets a block with all limbs if they are too far apart for that. Squares are not negative, so nothing is ever taken away. */

enum { near_limbs = 5, all_limbs = 68, unit = -2148 };

struct squares {
	union {
		uint64_t at[near_limbs]; /* the first one is limb low */
		struct block *block;
	};
	int32_t low;
	int32_t far; /* it has a block */
};

struct dispersion {
	struct sum sum;
	struct squares squares;
};

_Static_assert(all_limbs + near_limbs <= all_places, "a block has room for all limbs");

typedef unsigned __int128 wide;

static uint64_t *limbs_of(const struct squares *q) { return (uint64_t *)(q->far ? (void *)q->block->at : (void *)q->at); }

static bool spread(struct squares *q, struct pool *p) {
	struct block *b = gatehouse_new_block(p);
	if (b == NULL) return false;
	for (int32_t i = 0; i < near_limbs; i++) b->at[q->low + i] = (int64_t)q->at[i];
	q->block = b;
	q->far = 1;
	q->low = 0;
	return true;
}

/* slide makes room for a limb. It returns false if that would lose one. */
static bool slide(struct squares *q, int32_t limb) {
	uint64_t moved[near_limbs] = {0}, any = 0;
	int32_t low = limb < q->low ? limb : limb - near_limbs + 1;
	for (int32_t i = 0; i < near_limbs; i++) {
		int32_t to = i + q->low - low;
		if (to >= 0 && to < near_limbs) moved[to] = q->at[i];
		else if (q->at[i] != 0) return false;
		any |= q->at[i];
	}
	memcpy(q->at, moved, sizeof moved);
	q->low = any != 0 ? low : limb > 0 ? limb - 1 : 0;
	return true;
}

/* put adds to a limb, and what is carried out of it to the next ones. */
static bool put(struct squares *q, struct pool *p, int32_t limb, uint64_t v) {
	for (; v != 0; limb++) {
		if (!q->far && (limb < q->low || limb >= q->low + near_limbs) && !slide(q, limb) && !spread(q, p)) return false;
		uint64_t *at = limbs_of(q) + (limb - q->low);
		*at += v;
		v = *at < v;
	}
	return true;
}

static inline bool add_square(struct squares *q, struct pool *p, double x) {
	struct parts n;
	if (!cut(x, &n)) return true;
	uint32_t shift = 2 * ((uint32_t)n.place * digit + n.shift), bits = shift % 64;
	int32_t limb = (int32_t)(shift / 64);
	wide square = (wide)n.mantissa * n.mantissa, low = square << bits;
	uint64_t high = (uint64_t)(square >> 64 >> (64 - bits)); /* bits are even, and 64 - bits above 0 */
	if (!q->far && (uint32_t)(limb - q->low) > near_limbs - 3) {
		return put(q, p, limb, (uint64_t)low) && put(q, p, limb + 1, (uint64_t)(low >> 64)) && put(q, p, limb + 2, high);
	}
	uint64_t *at = limbs_of(q) + (limb - q->low);
	wide v = (wide)at[0] + (uint64_t)low;
	at[0] = (uint64_t)v;
	v = (v >> 64) + at[1] + (uint64_t)(low >> 64);
	at[1] = (uint64_t)v;
	v = (v >> 64) + at[2] + high;
	at[2] = (uint64_t)v;
	return v >> 64 == 0 || put(q, p, limb + 3, 1);
}

static bool add_all(struct dispersion *d, struct pool *p, const double *x, const uint64_t *valid, idx_t from, idx_t rows) {
	if (!gatehouse_sum_add_all(&d->sum, p, x, valid, from, rows)) return false;
	for (idx_t i = from; i < from + rows; i++) {
		if (is_valid(valid, i) && !add_square(&d->squares, p, x[i])) return false;
	}
	return true;
}

static bool merge(struct dispersion *to, struct pool *p, const struct dispersion *from) {
	if (!gatehouse_sum_merge(&to->sum, p, &from->sum)) return false;
	const uint64_t *at = limbs_of(&from->squares);
	for (int32_t i = 0; i < (from->squares.far ? all_limbs : near_limbs); i++) {
		if (!put(&to->squares, p, from->squares.low + i, at[i])) return false;
	}
	return true;
}

/* The limbs of n Q - S^2, with some below them for what is left by a division. */
enum { below = 4, sum_limbs = 36, out_limbs = below + 2 * sum_limbs + near_limbs };

/* take_square takes S^2 away. */
static void take_square(uint64_t *out, const struct sum *of) {
	struct magnitude m = gatehouse_sum_magnitude(of);
	uint64_t s[sum_limbs] = {0};
	int32_t low = sum_limbs, top = 0;
	for (int32_t i = 0; i <= m.places; i++) {
		uint64_t v = (uint64_t)(i < m.places ? m.digits[i] : m.carry);
		if (v == 0) continue;
		int32_t at = digit * (m.lowest + i), limb = at / 64, bits = at % 64;
		s[limb] |= v << bits;
		if (bits > 0 && v >> (64 - bits) != 0) s[++limb] |= v >> (64 - bits);
		if (at / 64 < low) low = at / 64;
		top = limb + 1;
	}
	for (int32_t i = low; i < top; i++) {
		uint64_t carry = 0, *row = out + i;
		for (int32_t j = low; j < top; j++) {
			wide v = (wide)s[i] * s[j] + carry;
			carry = (uint64_t)(v >> 64) + (row[j] < (uint64_t)v);
			row[j] -= (uint64_t)v;
		}
		for (int32_t j = top; carry != 0; j++) {
			bool borrow = row[j] < carry;
			row[j] -= carry;
			carry = borrow;
		}
	}
}

/* divide divides limbs, and returns whether something is left. */
static bool divide(uint64_t *out, int32_t limbs, uint64_t by) {
	uint64_t left = 0;
	for (int32_t i = limbs - 1; i >= 0; i--) {
		wide v = (wide)left << 64 | out[i];
		out[i] = (uint64_t)(v / by);
		left = (uint64_t)(v % by);
	}
	return left != 0;
}

/* nearest returns limbs in units of 2^exponent, of which more is left or not, as the nearest double, ties to even. */
static double nearest(const uint64_t *limbs, int32_t count, bool more, int32_t exponent) {
	int32_t top = count - 1;
	while (top > 0 && limbs[top] == 0) top--;
	int zeros = limbs[top] == 0 ? 63 : __builtin_clzll(limbs[top]);
	wide pair = ((wide)limbs[top] << 64 | (top > 0 ? limbs[top - 1] : 0)) << zeros;
	for (int32_t i = 0; i < top - 1; i++) more = more || limbs[i] != 0;
	more = more || (uint64_t)pair != 0;
	exponent += 64 * top + 63 - zeros;
	if (exponent > 1023) return INFINITY;
	int drop = 11 + (exponent < -1022 ? -1022 - exponent : 0);
	if (drop > 64) return 0;
	wide high = pair >> 64, kept = high >> drop, rest = high - (kept << drop), half = (wide)1 << (drop - 1);
	/* What is carried out of the fraction goes into the exponent, where it belongs. */
	uint64_t bits = ((uint64_t)(exponent < -1022 ? 0 : exponent + 1022) << 52) + (uint64_t)kept;
	if (rest > half || (rest == half && (more || kept & 1))) bits++;
	double out;
	memcpy(&out, &bits, sizeof out);
	return out;
}

/* variance is that of all there is, or of what a sample is of. It is not finite if it does not fit a double, or a number is not. */
static double variance(const struct dispersion *d, bool sample) {
	uint64_t n = d->sum.count, out[out_limbs] = {0}, carry = 0;
	if (n == 1) return 0;
	if (d->sum.special) return NAN;
	const struct squares *q = &d->squares;
	const uint64_t *at = limbs_of(q);
	int32_t count = q->far ? all_limbs : near_limbs;
	uint64_t *from = out + below + q->low;
	for (int32_t i = 0; i < count; i++) {
		wide v = (wide)at[i] * n + carry;
		from[i] = (uint64_t)v;
		carry = (uint64_t)(v >> 64);
	}
	from[count] = carry;
	take_square(out + below, &d->sum);
	int32_t top = out_limbs - 1, low;
	while (top > 0 && out[top] == 0) top--;
	if (out[top] == 0) return 0;
	/* The quotient of so many limbs has the bits of a double, and more. */
	low = top - below;
	bool rest = false;
	for (int32_t i = 0; i < low; i++) rest = rest || out[i] != 0;
	rest |= divide(out + low, below + 1, n);
	rest |= divide(out + low, below + 1, sample ? n - 1 : n);
	return nearest(out + low, below + 1, rest, unit + 64 * (low - below));
}

static struct dispersion *state_of(handle h) { return (struct dispersion *)h; }

static idx_t size(handle info) {
	(void)info;
	return sizeof(struct dispersion);
}

static void init(handle info, handle state) {
	(void)info;
	memset(state_of(state), 0, sizeof(struct dispersion));
}

static void update(handle info, handle input, states to) {
	struct pool *p = duckdb_aggregate_function_get_extra_info(info);
	idx_t rows = duckdb_data_chunk_get_size(input);
	handle vector = duckdb_data_chunk_get_vector(input, 0);
	const double *x = duckdb_vector_get_data(vector);
	const uint64_t *valid = duckdb_vector_get_validity(vector);
	bool all = true;
	if (go_to_one(to, rows)) {
		for (idx_t i = 0; i < rows && all; i += batch) all = add_all(state_of(to[0]), p, x, valid, i, rows - i < batch ? rows - i : batch);
	} else {
		for (idx_t i = 0; i < rows && all; i++) {
			if (!is_valid(valid, i)) continue;
			all = gatehouse_sum_add(&state_of(to[i])->sum, p, x[i]) && add_square(&state_of(to[i])->squares, p, x[i]);
		}
	}
	if (!all) gatehouse_no_memory(info);
}

static void combine(handle info, states from, states to, idx_t count) {
	struct pool *p = duckdb_aggregate_function_get_extra_info(info);
	bool all = true;
	for (idx_t i = 0; i < count && all; i++) all = merge(state_of(to[i]), p, state_of(from[i]));
	if (!all) gatehouse_no_memory(info);
}

static void destroy(states of, idx_t count) {
	for (idx_t i = 0; i < count; i++) {
		struct dispersion *d = state_of(of[i]);
		if (d->sum.far) gatehouse_drop_block(d->sum.block);
		if (d->squares.far) gatehouse_drop_block(d->squares.block);
		d->sum.far = 0;
		d->squares.far = 0;
	}
}

static double var_samp(const struct dispersion *d) { return variance(d, true); }
static double var_pop(const struct dispersion *d) { return variance(d, false); }
static double stddev_samp(const struct dispersion *d) { return sqrt(variance(d, true)); }
static double stddev_pop(const struct dispersion *d) { return sqrt(variance(d, false)); }
static double sem(const struct dispersion *d) {
	if (d->sum.special) return NAN; /* of one number, too, unlike the others */
	return sqrt(variance(d, false)) / sqrt((double)d->sum.count);
}

/* finish gives NULL for fewer numbers than needed, and fails if a value is not finite, as the engine's own do. */
static inline void finish(handle info, states from, handle result, idx_t count, idx_t offset, uint64_t needed, double (*value)(const struct dispersion *)) {
	double *out = duckdb_vector_get_data(result);
	for (idx_t i = 0; i < count; i++) {
		const struct dispersion *d = state_of(from[i]);
		idx_t at = offset + i;
		if (d->sum.count < needed) {
			set_null(result, at);
			continue;
		}
		if (d->sum.count >= most) {
			duckdb_aggregate_function_set_error(info, "a variance of too many numbers");
			return;
		}
		out[at] = value(d);
		if (!isfinite(out[at])) {
			duckdb_aggregate_function_set_error(info, "gatehouse: a variance is out of range");
			return;
		}
	}
}

static void finish_var_samp(handle info, states from, handle to, idx_t count, idx_t offset) { finish(info, from, to, count, offset, 2, var_samp); }
static void finish_var_pop(handle info, states from, handle to, idx_t count, idx_t offset) { finish(info, from, to, count, offset, 1, var_pop); }
static void finish_stddev_samp(handle info, states from, handle to, idx_t count, idx_t offset) { finish(info, from, to, count, offset, 2, stddev_samp); }
static void finish_stddev_pop(handle info, states from, handle to, idx_t count, idx_t offset) { finish(info, from, to, count, offset, 1, stddev_pop); }
static void finish_sem(handle info, states from, handle to, idx_t count, idx_t offset) { finish(info, from, to, count, offset, 1, sem); }

int gatehouse_add_dispersions(void *connection, struct pool *p) {
	static const struct {
		const char *name;
		finisher finish;
	} all[] = {
		{"__gw_var_samp", finish_var_samp},       {"__gw_var_pop", finish_var_pop}, {"__gw_stddev_samp", finish_stddev_samp},
		{"__gw_stddev_pop", finish_stddev_pop}, {"__gw_sem", finish_sem},
	};
	int state = success;
	for (size_t i = 0; i < sizeof all / sizeof *all && state == success; i++) {
		const struct functions f = {size, init, update, combine, all[i].finish, destroy};
		state = gatehouse_add_function(connection, p, all[i].name, &f);
	}
	return state;
}
