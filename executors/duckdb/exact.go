package duckdb

// #include "exact.h"
import "C"

import (
	"errors"
)

// The aggregates of exact.c: sum and avg of DOUBLEs that do not depend on the order of their input. No user can write such names.
const (
	exactSum = "__gw_sum"
	exactAvg = "__gw_avg"
)

// noExactMemory is what exact.c says if it may not have more memory.
const noExactMemory = "gatehouse: no memory for an exact sum"

// addExact gives c's instance these aggregates.
func addExact(c *connection, limit int64) error {
	if C.gatehouse_exact_register(c.raw.Ptr, C.longlong(limit)) != 0 {
		return errors.New("duckdb: the exact aggregates cannot be registered")
	}
	return nil
}
