package duckdb

// #include "exact.h"
import "C"

import (
	"errors"
	"fmt"
	"strings"
)

// The aggregates of exact.c and dispersion.c: those of DOUBLEs that do not depend on the order of their input. Those of wide.c have the names of
// the first two with the type behind it. No user can write such names.
const (
	exactSum        = "__gw_sum"
	exactAvg        = "__gw_avg"
	exactVarSamp    = "__gw_var_samp"
	exactVarPop     = "__gw_var_pop"
	exactStddevSamp = "__gw_stddev_samp"
	exactStddevPop  = "__gw_stddev_pop"
	exactSem        = "__gw_sem"
)

// ours is the aggregate of ours that takes the place of the one called name, of a type of numbers: one of exact.c, dispersion.c or wide.c. It is
// "" if there is none.
func ours(name, typ string) string {
	base := summing[name]
	if base == "" {
		return ""
	}
	switch {
	case typ == "DOUBLE":
		return base
	case disperses(name):
		return ""
	case typ == "HUGEINT":
		return base + "_h"
	}
	if width, scale, ok := decimal(typ); ok && width > safeDigits {
		return fmt.Sprintf("%s_%d", base, scale)
	}
	return ""
}

// isOurs reports whether an aggregate of a plan is one of ours.
func isOurs(name string) bool {
	switch name {
	case exactVarSamp, exactVarPop, exactStddevSamp, exactStddevPop, exactSem:
		return true
	}
	return strings.HasPrefix(name, exactSum) || strings.HasPrefix(name, exactAvg)
}

// disperses reports whether the aggregate called name is a dispersion, which the engine computes of DOUBLEs, whatever it is given.
func disperses(name string) bool {
	base := summing[name]
	return base != "" && base != exactSum && base != exactAvg
}

// safeDigits are those of a decimal of which the engine adds ten thousand million without passing its bound, whatever the order.
const safeDigits = 28

func decimal(typ string) (width, scale int, ok bool) {
	n, err := fmt.Sscanf(typ, "DECIMAL(%d,%d)", &width, &scale)
	return width, scale, n == 2 && err == nil
}

// tooLarge is what wide.c says of a sum that does not fit its type.
const tooLarge = "gatehouse: a sum is out of range"

// tooDisperse is what dispersion.c says of a value that is not finite.
const tooDisperse = "gatehouse: a variance is out of range"

// noExactMemory is what exact.c says if it may not have more memory.
const noExactMemory = "gatehouse: no memory for an exact sum"

// addExact gives c's instance these aggregates.
func addExact(c *connection, limit int64) error {
	if C.gatehouse_exact_register(c.raw.Ptr, C.longlong(limit)) != 0 {
		return errors.New("duckdb: the exact aggregates cannot be registered")
	}
	if C.gatehouse_wide_register(c.raw.Ptr) != 0 {
		return errors.New("duckdb: the wide aggregates cannot be registered")
	}
	return nil
}
