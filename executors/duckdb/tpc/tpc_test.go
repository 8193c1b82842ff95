package tpc

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The copies have fewer rows than the tables, and values that are masked.
func TestSets(t *testing.T) {
	for set, counts := range map[Set]map[string]int64{
		TPCH:  {"lineitem": 600572, "orders": 150000, "customer": 15000, "supplier": 1000, "nation": 25},
		TPCDS: {"store_sales": 240485, "customer": 10000, "date_dim": 73049},
	} {
		t.Run(string(set), func(t *testing.T) {
			dir := openSet(t, set)
			all := reference(t, ReferenceConfig{Dir: dir, Set: set, Namespace: string(set)})
			eve := reference(t, ReferenceConfig{Dir: dir, Set: set, Namespace: set.Eve()})
			for name, want := range counts {
				n, m := count(t, all, name), count(t, eve, name)
				if n != want {
					t.Errorf("%s has %d rows, want %d", name, n, want)
				}
				if filtered := copies[set][name].rows != ""; filtered != (m < n) {
					t.Errorf("%s has %d rows, and %d for eve, filtered %t", name, n, m, filtered)
				}
			}
		})
	}
}

// Filtering and masking while reading gives what was filtered and masked while writing.
func TestFiltered(t *testing.T) {
	dir := openSet(t, TPCH)
	filtered := reference(t, ReferenceConfig{Dir: dir, Set: TPCH, Namespace: "tpch", Filtered: true})
	eve := reference(t, ReferenceConfig{Dir: dir, Set: TPCH, Namespace: "tpch_eve"})
	for name := range copies[TPCH] {
		query := "SELECT bit_xor(hash(t)), count(*) FROM " + name + " t"
		a, err := filtered.Query(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		b, err := eve.Query(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		if a.Rows[0][0] != b.Rows[0][0] || a.Rows[0][1] != b.Rows[0][1] {
			t.Errorf("%s: %v while reading, %v while writing", name, a.Rows[0], b.Rows[0])
		}
	}
}

func openSet(t *testing.T, s Set) string {
	t.Helper()
	home, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := Open(t.Context(), Config{Cache: filepath.Join(home, "gatehouse"), Script: "../../../testdata/tpc/generate.sh"}, s)
	if errors.Is(err, ErrNoGenerator) {
		t.Skip(strings.TrimSpace(err.Error()))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func reference(t *testing.T, c ReferenceConfig) *Reference {
	t.Helper()
	r, err := NewReference(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func count(t *testing.T, r *Reference, name string) int64 {
	t.Helper()
	a, err := r.Query(t.Context(), "SELECT count(*) FROM "+name)
	if err != nil {
		t.Fatal(err)
	}
	return a.Rows[0][0].(int64)
}
