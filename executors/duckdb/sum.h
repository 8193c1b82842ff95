#ifndef GATEHOUSE_SUM_H
#define GATEHOUSE_SUM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "capi.h"

/* What exact.c and dispersion.c share: sums of doubles that are exact, see exact.c. */

/* Place p counts 2^(26 p - 1074), and all_places are enough for every double. */
enum { digit = 26, near_places = 6, all_places = 83, special_exponent = 0x7ff };
enum { plus_infinity = 1, minus_infinity = 2, not_a_number = 4 };

#define MASK (((int64_t)1 << digit) - 1)

/* A number adds less than 2^27 to a place. */
static const uint64_t most = (uint64_t)1 << 35;

/* pool has the blocks of all aggregates of one instance: those that the engine loses, see states.go, go with the instance. */
struct pool {
	atomic_flag busy;
	int users; /* the aggregates that have it */
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

enum { batch = 512 }; /* so many numbers of 2^53 at most have a sum in 64 bits */

/* go_to_one reports whether all rows are of one group, and so many that they are better added in batches. */
static inline bool go_to_one(states to, idx_t rows) {
	idx_t same = 0;
	while (same < rows && to[same] == to[0]) same++;
	return same == rows && rows >= batch / 4;
}

/* The magnitude of a finite sum, as digits from place lowest on and what is carried out of them. */
struct magnitude {
	int64_t digits[all_places], carry, sign;
	int32_t places, lowest;
};

/* Those that add return false if there is no memory. gatehouse_sum_add_all adds a batch of rows at most. */
bool gatehouse_sum_add(struct sum *, struct pool *, double x);
bool gatehouse_sum_add_all(struct sum *, struct pool *, const double *x, const uint64_t *valid, idx_t from, idx_t rows);
bool gatehouse_sum_merge(struct sum *to, struct pool *, const struct sum *from);
struct magnitude gatehouse_sum_magnitude(const struct sum *);

/* gatehouse_new_block returns a block of zeros, or NULL if there is no memory. */
struct block *gatehouse_new_block(struct pool *);
void gatehouse_drop_block(struct block *);

/* gatehouse_leave_pool takes a user from a pool, which goes with the last one. */
void gatehouse_leave_pool(void *pool);

/* What makes an aggregate of doubles. */
struct functions {
	idx_t (*size)(handle);
	void (*init)(handle, handle);
	void (*update)(handle, handle, states);
	void (*combine)(handle, states, states, idx_t);
	finisher finish;
	void (*destroy)(states, idx_t);
};

/* gatehouse_add_function registers one that uses a pool. */
int gatehouse_add_function(void *connection, struct pool *, const char *name, const struct functions *);
void gatehouse_no_memory(handle info);

/* gatehouse_add_dispersions registers those of dispersion.c. */
int gatehouse_add_dispersions(void *connection, struct pool *);

#endif
