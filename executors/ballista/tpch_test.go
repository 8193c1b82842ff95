package ballista

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gatehouse/executors/duckdb/tpc"
	"gatehouse/executors/executortest"
	"gatehouse/policy"
)

// hiding is a policy over the tables of TPC-H: rows and values are hidden in most of them.
var hiding = executortest.Policy{
	"tpch.lineitem": {ID: "l", Filters: []policy.Expression{{ID: "f", SQL: "l_shipmode <> 'AIR'"}}},
	"tpch.orders":   {ID: "o", Filters: []policy.Expression{{ID: "f", SQL: "o_orderkey < 500000"}}},
	"tpch.customer": {ID: "c", Masks: map[string]policy.Expression{
		"c_name": {ID: "m", SQL: "'***'"}, "c_phone": {ID: "p", SQL: "substring(c_phone, 1, 2) || '-000'"},
	}},
	"tpch.supplier": {ID: "s", Filters: []policy.Expression{{ID: "f", SQL: "s_nationkey <> 7"}}},
}

// TestTPCH compares the executors with and without a policy.
func TestTPCH(t *testing.T) {
	benchmark(t, tpc.TPCH, 22, []demands{{"everything", nil, 1, 0}, {"hiding", hiding, 1, 0}})
}

// compare compares rows in any order, floating point up to the last digits.
func compare(t *testing.T, got, want []executortest.Row) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	byText := func(a, b executortest.Row) int {
		return strings.Compare(strings.Join(rounded(a), " "), strings.Join(rounded(b), " "))
	}
	slices.SortFunc(got, byText)
	slices.SortFunc(want, byText)
	for i := range got {
		for j := range got[i] {
			if !near(got[i][j], want[i][j]) {
				t.Fatalf("row %d: got %v, want %v", i, got[i], want[i])
			}
		}
	}
}

func rounded(r executortest.Row) []string {
	out := slices.Clone(r)
	for i, v := range out {
		if f, err := strconv.ParseFloat(v, 64); err == nil && strings.ContainsAny(v, ".e") {
			out[i] = strconv.FormatFloat(f, 'g', 9, 64)
		}
	}
	return out
}

func near(a, b string) bool {
	if a == b {
		return true
	}
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err1 == nil && err2 == nil && math.Abs(x-y) <= 1e-12*max(math.Abs(x), math.Abs(y))
}
