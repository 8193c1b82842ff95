package main

import (
	"math"
	"math/rand/v2"

	"github.com/apache/iceberg-go"
)

// visits has few values in each column, hidden ones as well, and many rows of each: an engine computes functions on the dictionary of such a column,
// once for each value that is in it, whether or not a visible row has it.
func visits() twinTable {
	form := func(name, bad string, masks []string, list ...string) column {
		return column{name: name, kind: "varchar", typ: str, visible: text(list...), hidden: few(hiddenText, bad), masks: masks}
	}
	return twinTable{
		name: "visits", rows: 1100,
		hiddenRows: map[side]int{sideA: 2200, sideB: 2200}, files: map[side]int{sideA: 1, sideB: 1, sideC: 1},
		columns: append(append([]column{id()}, deciding()...),
			form("t_int", "HIDDEN", []string{"", "CAST(CAST(t_int AS INTEGER) AS VARCHAR)"}, "1", "12"),
			form("t_list", "[1, HIDDEN]", nil, "[1, 2]", "[]"),
			form("t_date", "HIDDEN", nil, "2020-01-02", "1999-05-06"),
			form("t_part", "HIDDEN", []string{"", "CAST(date_diff(t_part, DATE '2020-01-01', DATE '2021-01-01') AS VARCHAR)"}, "year", "month"),
			form("t_pattern", "(HIDDEN", []string{"", "regexp_replace('abc', t_pattern, 'x')"}, "a", "b.*"),
			form("t_json", "{HIDDEN", nil, `{"a": 1}`, "[]"),
			column{
				name: "code", kind: "int", typ: short, visible: func(r *rand.Rand, _ int) any { return int32(65 + r.IntN(5)) },
				hidden: few(hiddenInt, int32(1114112), int32(math.MinInt32)),
			},
			column{
				name: "qty", kind: "int", typ: short, visible: func(r *rand.Rand, _ int) any { return int32(1 + r.IntN(3)) },
				hidden: few(hiddenInt, int32(math.MaxInt32), int32(0), canaryShort),
			},
			column{
				name: "placed", kind: "date", typ: date, visible: func(r *rand.Rand, _ int) any { return int32(18000 + r.IntN(3)) },
				hidden: few(hiddenDate, int32(math.MaxInt32-1), int32(-2000000)),
			},
			column{
				name: "big", kind: "bigint", typ: long, visible: func(r *rand.Rand, _ int) any { return int64(r.IntN(4)) },
				hidden: few(hiddenLong, int64(math.MaxInt64), int64(math.MinInt64), canaryLong),
			},
			column{
				name: "amount", kind: "decimal", typ: iceberg.DecimalTypeOf(12, 2), visible: func(r *rand.Rand, _ int) any { return int64(100 * r.IntN(4)) },
				hidden: few(func(_ side, r *rand.Rand, _ int) any { return int64(r.IntN(9)) }, int64(999999999999), int64(-999999999999)),
			},
		),
	}
}
