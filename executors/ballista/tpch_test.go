package ballista

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gatehouse/executors"
	"gatehouse/executors/duckdb"
	"gatehouse/executors/duckdb/tpc"
	"gatehouse/executors/executortest"
	"gatehouse/policy"
)

// refused are the queries that the cluster does not run, each with the reason.
var refused = map[string]string{
	"q03": "it makes text of a date, and years beyond 9999 would be written in another way",
}

// hiding is a policy over the tables of TPC-H: rows and values are hidden in most of them.
var hiding = executortest.Policy{
	"tpch.lineitem": {ID: "l", Filters: []policy.Expression{{ID: "f", SQL: "l_shipmode <> 'AIR'"}}},
	"tpch.orders":   {ID: "o", Filters: []policy.Expression{{ID: "f", SQL: "o_orderkey < 500000"}}},
	"tpch.customer": {ID: "c", Masks: map[string]policy.Expression{
		"c_name": {ID: "m", SQL: "'***'"}, "c_phone": {ID: "p", SQL: "substring(c_phone, 1, 2) || '-000'"},
	}},
	"tpch.supplier": {ID: "s", Filters: []policy.Expression{{ID: "f", SQL: "s_nationkey <> 7"}}},
}

// TestTPCH compares the cluster with the other executor, query by query, with and without a policy.
func TestTPCH(t *testing.T) {
	c := sharedCluster(t)
	home, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := tpc.Open(t.Context(), tpc.Config{Cache: filepath.Join(home, "gatehouse"), Script: "../../testdata/tpc/generate.sh"}, tpc.TPCH)
	if errors.Is(err, tpc.ErrNoGenerator) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	// Small groups, so that both executors read each larger table.
	distributed := executortest.Over(t, c.opener(t, func(c *Config) { c.GroupBytes = 4 << 20 }), dir, "tpch")
	local := executortest.Over(t, func(p executortest.Parts) (executors.Executor, error) {
		return duckdb.New(duckdb.Config{Verifier: p.Verifier, HashKey: p.HashKey, Allocator: p.Allocator, Now: p.Now, Dir: t.TempDir()})
	}, dir, "tpch")
	files, err := filepath.Glob("../../classify/testdata/queries/tpch/*.sql")
	if err != nil || len(files) != 22 {
		t.Fatalf("%d queries, %v", len(files), err)
	}
	for _, demands := range []struct {
		name   string
		policy executortest.Policy
	}{{"everything", nil}, {"hiding", hiding}} {
		for _, f := range files {
			name := strings.TrimSuffix(filepath.Base(f), ".sql")
			t.Run(demands.name+"/"+name, func(t *testing.T) {
				text, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				started := time.Now()
				got, err := distributed.Rows(t.Context(), string(text), demands.policy)
				took := time.Since(started)
				if reason, ok := refused[name]; ok {
					if err == nil {
						t.Errorf("it runs, and is listed as refused: %s", reason)
					}
					return
				}
				if err != nil {
					t.Fatalf("%v (%v)", err, errors.Unwrap(err))
				}
				want, err := local.Rows(t.Context(), string(text), demands.policy)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%d rows in %v", len(got), took.Round(time.Millisecond))
				compare(t, got, want)
			})
		}
	}
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
