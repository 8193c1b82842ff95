#ifndef GATEHOUSE_EXACT_H
#define GATEHOUSE_EXACT_H

/* gatehouse_exact_register gives an instance the aggregates of exact.c and dispersion.c. connection is a duckdb_connection of it, and limit is how many
   bytes they may have together beside their states. It returns 0 on success. */
int gatehouse_exact_register(void *connection, long long limit);

/* gatehouse_wide_register does the same for those of wide.c. */
int gatehouse_wide_register(void *connection);

#endif
