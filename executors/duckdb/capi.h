#ifndef GATEHOUSE_CAPI_H
#define GATEHOUSE_CAPI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What aggregates of ours use of DuckDB's C interface. Its duckdb.h stands in the folder of another module. */
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
extern handle duckdb_create_decimal_type(uint8_t, uint8_t);
extern void duckdb_destroy_logical_type(handle *);
extern handle duckdb_data_chunk_get_vector(handle, idx_t);
extern idx_t duckdb_data_chunk_get_size(handle);
extern void *duckdb_vector_get_data(handle);
extern uint64_t *duckdb_vector_get_validity(handle);
extern void duckdb_vector_ensure_validity_writable(handle);

enum { type_double = 11, type_hugeint = 16, success = 0 };

/* A finisher writes the values of states into a vector. */
typedef void (*finisher)(handle info, states from, handle result, idx_t count, idx_t offset);

/* is_valid reports whether row i is not NULL. valid is what duckdb_vector_get_validity returned. */
static inline bool is_valid(const uint64_t *valid, idx_t i) { return valid == NULL || valid[i / 64] >> (i % 64) & 1; }

static inline void set_null(handle vector, idx_t at) {
	duckdb_vector_ensure_validity_writable(vector);
	duckdb_vector_get_validity(vector)[at / 64] &= ~((uint64_t)1 << (at % 64));
}

#endif
