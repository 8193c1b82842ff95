package ballista

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gatehouse/executors"
	"gatehouse/executors/duckdb/tpc"
	"gatehouse/executors/executortest"
)

// gaveUp is what a statement is refused with, before its first row, if the adaptive planner of Ballista 55 stops without a last stage. For some
// plans it does so now and then, by the order in which stages end.
const gaveUp = "a plan that its planner gave up"

// demands are what a benchmark runs under.
type demands struct {
	name   string
	policy executortest.Policy
	every  int // of so many queries, the first one
	// refused are queries that do not run under this policy, beside those that run under none; each with its reason.
	refused map[string]string
}

// folderOf is the folder of a benchmark's tables, with files of some megabytes.
func folderOf(t testing.TB, set tpc.Set) string {
	t.Helper()
	home, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := tpc.Open(t.Context(), tpc.Config{Cache: filepath.Join(home, "gatehouse"), Script: "../../testdata/tpc/generate.sh"}, set)
	if errors.Is(err, tpc.ErrNoGenerator) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// benchmark compares the cluster with the other executor, query by query, under each policy. The queries of refused, by name, do not run on the
// cluster; each has its reason.
func benchmark(t *testing.T, set tpc.Set, queries int, refused map[string]string, under []demands) {
	t.Helper()
	c := sharedCluster(t)
	dir := folderOf(t, set)
	// Small groups, so that both executors read each larger table.
	distributed := executortest.Over(t, c.opener(t, func(c *Config) { c.GroupBytes = 4 << 20 }), dir, string(set))
	local := executortest.Over(t, inProcess(t), dir, string(set))
	files, err := filepath.Glob("../../classify/testdata/queries/" + string(set) + "/*.sql")
	if err != nil || len(files) != queries {
		t.Fatalf("%d queries, %v", len(files), err)
	}
	missing, whole := maps.Clone(refused), false
	for _, d := range under {
		whole = whole || d.every == 1
		for i, f := range files {
			if i%d.every != 0 {
				continue
			}
			name := strings.TrimSuffix(filepath.Base(f), ".sql")
			delete(missing, name)
			t.Run(d.name+"/"+name, func(t *testing.T) {
				text, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				started := time.Now()
				got, err := distributed.Rows(t.Context(), string(text), d.policy)
				for range 3 {
					if err == nil || refused[name] != "" || !strings.Contains(err.Error(), gaveUp) {
						break
					}
					t.Logf("once more: %v", err)
					got, err = distributed.Rows(t.Context(), string(text), d.policy)
				}
				took := time.Since(started)
				reason, ok := refused[name]
				if !ok {
					reason, ok = d.refused[name]
				}
				if ok {
					if kindIs(err) != executors.KindUnsupported {
						t.Errorf("listed as refused (%s): %v", reason, err)
					}
					return
				}
				if err != nil {
					t.Fatalf("%v (%v)", err, errors.Unwrap(err))
				}
				want, err := local.Rows(t.Context(), string(text), d.policy)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%d rows in %v", len(got), took.Round(time.Millisecond))
				compare(t, got, want)
			})
		}
	}
	if whole && len(missing) > 0 {
		t.Errorf("listed as refused, and no queries: %v", slices.Sorted(maps.Keys(missing)))
	}
}
