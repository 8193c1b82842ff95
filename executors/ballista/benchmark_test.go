package ballista

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatehouse/executors/duckdb/tpc"
	"gatehouse/executors/executortest"
)

// demands are what a benchmark runs under.
type demands struct {
	name   string
	policy executortest.Policy
	// Of every so many queries, one runs: the first is that at this place.
	every, first int
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

// overBoth is the cluster, whose tasks read so many bytes, and the other executor, over a benchmark's tables.
func overBoth(t testing.TB, set tpc.Set, groupBytes int64) (distributed, local *executortest.Pipeline) {
	t.Helper()
	c, dir := sharedCluster(t), folderOf(t, set)
	distributed = executortest.Over(t, c.opener(t, func(c *Config) { c.GroupBytes = groupBytes }), dir, string(set))
	return distributed, executortest.Over(t, inProcess(t), dir, string(set))
}

// benchmark compares the cluster with the other executor, query by query, under each policy.
func benchmark(t *testing.T, set tpc.Set, queries int, under []demands) {
	t.Helper()
	// Small groups, so that both executors read each larger table.
	distributed, local := overBoth(t, set, 4<<20)
	benchmarkOver(t, distributed, local, set, queries, under)
}

func benchmarkOver(t *testing.T, distributed, local *executortest.Pipeline, set tpc.Set, queries int, under []demands) {
	t.Helper()
	files, err := filepath.Glob("../../classify/testdata/queries/" + string(set) + "/*.sql")
	if err != nil || len(files) != queries {
		t.Fatalf("%d queries, %v", len(files), err)
	}
	for _, d := range under {
		for i, f := range files {
			if i%d.every != d.first {
				continue
			}
			name := strings.TrimSuffix(filepath.Base(f), ".sql")
			t.Run(d.name+"/"+name, func(t *testing.T) {
				text, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				started := time.Now()
				got, err := distributed.Rows(t.Context(), string(text), d.policy)
				took := time.Since(started)
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
}
