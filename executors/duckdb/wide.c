#include <stdio.h>
#include <string.h>

#include "capi.h"
#include "exact.h"

/* Sums of integers of 128 bits, and of decimals that are kept in as many, which have room for every number on the way: only the end has to
   fit. The engine's own sum fails as soon as a part of it does not, so that whether it fails tells in which order rows came. See exact.c. */

enum { digits = 38 };

/* A number as the engine has it in its vectors. */
struct huge {
	uint64_t low;
	int64_t high;
};

/* A sum of 192 bits, the low ones first. */
struct wide {
	uint64_t low, middle;
	int64_t high;
	uint64_t count; /* of the numbers that are not NULL */
};

static inline void plus(struct wide *s, uint64_t low, uint64_t middle, int64_t high) {
	unsigned __int128 n = (unsigned __int128)s->low + low;
	s->low = (uint64_t)n;
	n = (n >> 64) + s->middle + middle;
	s->middle = (uint64_t)n;
	s->high += high + (int64_t)(n >> 64);
}

/* magnitude takes the sign off the number that s is. */
static struct wide magnitude(const struct wide *s) {
	struct wide out = *s;
	if (s->high >= 0) return out;
	out.low = ~s->low, out.middle = ~s->middle, out.high = ~s->high;
	plus(&out, 1, 0, 0);
	return out;
}

static struct wide *state_of(handle h) { return (struct wide *)h; }

static idx_t size(handle info) {
	(void)info;
	return sizeof(struct wide);
}

static void init(handle info, handle state) {
	(void)info;
	memset(state_of(state), 0, sizeof(struct wide));
}

static void update(handle info, handle input, states to) {
	(void)info;
	idx_t rows = duckdb_data_chunk_get_size(input);
	handle vector = duckdb_data_chunk_get_vector(input, 0);
	const struct huge *x = duckdb_vector_get_data(vector);
	const uint64_t *valid = duckdb_vector_get_validity(vector);
	for (idx_t i = 0; i < rows; i++) {
		if (!is_valid(valid, i)) continue;
		struct wide *s = state_of(to[i]);
		plus(s, x[i].low, (uint64_t)x[i].high, x[i].high >> 63);
		s->count++;
	}
}

static void combine(handle info, states from, states to, idx_t count) {
	(void)info;
	for (idx_t i = 0; i < count; i++) {
		const struct wide *s = state_of(from[i]);
		plus(state_of(to[i]), s->low, s->middle, s->high);
		state_of(to[i])->count += s->count;
	}
}

static bool is_null(const struct wide *s, handle result, idx_t at) {
	if (s->count > 0) return false;
	set_null(result, at);
	return true;
}

static void finish_sum(handle info, states from, handle result, idx_t count, idx_t offset) {
	struct huge *out = duckdb_vector_get_data(result);
	for (idx_t i = 0; i < count; i++) {
		const struct wide *s = state_of(from[i]);
		if (is_null(s, result, offset + i)) continue;
		if (s->high != (int64_t)s->middle >> 63) {
			duckdb_aggregate_function_set_error(info, "gatehouse: a sum is out of range");
			return;
		}
		out[offset + i] = (struct huge){s->low, (int64_t)s->middle};
	}
}

static void finish_mean(handle info, states from, handle result, idx_t count, idx_t offset) {
	double *out = duckdb_vector_get_data(result);
	long double one = 1;
	for (intptr_t scale = (intptr_t)duckdb_aggregate_function_get_extra_info(info); scale > 0; scale--) one *= 10;
	for (idx_t i = 0; i < count; i++) {
		const struct wide *s = state_of(from[i]);
		if (is_null(s, result, offset + i)) continue;
		struct wide m = magnitude(s);
		const long double word = 18446744073709551616.0L;
		long double value = ((long double)m.high * word + (long double)m.middle) * word + (long double)m.low;
		out[offset + i] = (double)((s->high < 0 ? -value : value) / ((long double)s->count * one));
	}
}

static int add_function(void *connection, const char *name, handle number, handle returned, int scale, finisher finish) {
	handle f = duckdb_create_aggregate_function();
	duckdb_aggregate_function_set_name(f, name);
	duckdb_aggregate_function_add_parameter(f, number);
	duckdb_aggregate_function_set_return_type(f, returned);
	duckdb_aggregate_function_set_functions(f, size, init, update, combine, finish);
	duckdb_aggregate_function_set_extra_info(f, (void *)(intptr_t)scale, NULL);
	int state = duckdb_register_aggregate_function(connection, f);
	duckdb_destroy_aggregate_function(&f);
	return state;
}

/* add_both adds the sum and the mean of one type, which it destroys. */
static int add_both(void *connection, const char *suffix, handle number, int scale) {
	char sum[32], mean[32];
	snprintf(sum, sizeof sum, "__gw_sum_%s", suffix);
	snprintf(mean, sizeof mean, "__gw_avg_%s", suffix);
	handle real = duckdb_create_logical_type(type_double);
	int state = add_function(connection, sum, number, number, scale, finish_sum);
	if (state == success) state = add_function(connection, mean, number, real, scale, finish_mean);
	duckdb_destroy_logical_type(&real);
	duckdb_destroy_logical_type(&number);
	return state;
}

int gatehouse_wide_register(void *connection) {
	int state = add_both(connection, "h", duckdb_create_logical_type(type_hugeint), 0);
	for (int scale = 0; scale <= digits && state == success; scale++) {
		char suffix[8];
		snprintf(suffix, sizeof suffix, "%d", scale);
		state = add_both(connection, suffix, duckdb_create_decimal_type(digits, (uint8_t)scale), scale);
	}
	return state != success;
}
