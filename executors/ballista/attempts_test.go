package ballista

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/file"

	"gatehouse/executors"
	"gatehouse/executors/ballista/cluster"
	"gatehouse/executors/executortest"
)

// A task whose folder cannot be written to is run again, four times in all, and each attempt is counted; when it can, the statement runs.
func TestAttempts(t *testing.T) {
	c := startWith(t, cluster.Config{Executors: 1})
	p := executortest.Zoo(t, c.opener(t, nil))
	x := p.Executor.(*Executor)
	const text = "SELECT id, count(*) AS n FROM orders GROUP BY id"
	want, err := p.Rows(t.Context(), text, nil)
	if err != nil {
		t.Fatalf("%v (%v)", err, errors.Unwrap(err))
	}
	counts(t, x, map[string]float64{"done": 3, "failed": 0, "retried": 0, "cancelled": 0})
	work := filepath.Join(c.dir, "work-1")
	if err := errors.Join(os.Rename(work, work+".away"), os.WriteFile(work, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	_, err = p.Rows(t.Context(), text, nil)
	kind(t, err, executors.KindInternal)
	counts(t, x, map[string]float64{"done": 3, "failed": 1, "retried": 3, "cancelled": 0})
	if err := errors.Join(os.Remove(work), os.Rename(work+".away", work)); err != nil {
		t.Fatal(err)
	}
	got, err := p.Rows(t.Context(), text, nil)
	if err != nil {
		t.Fatalf("%v (%v)", err, errors.Unwrap(err))
	}
	compare(t, got, want)
	counts(t, x, map[string]float64{"done": 6, "failed": 1, "retried": 3, "cancelled": 0})
	// A value is wrong wherever it is looked at.
	_, err = p.Rows(t.Context(), "SELECT 9223372036854775807 + id AS n FROM orders", nil)
	kind(t, err, executors.KindRange)
	counts(t, x, map[string]float64{"done": 6, "failed": 2, "retried": 3, "cancelled": 0})
}

// counts waits for the last words of all jobs, and compares the numbers of their tasks.
func counts(t *testing.T, x *Executor, want map[string]float64) {
	t.Helper()
	heard(t, x)
	for outcome, n := range want {
		if got := reading(t, x.watch.metrics.tasks.WithLabelValues(outcome)); got != n {
			t.Errorf("%v tasks %s, want %v", got, outcome, n)
		}
	}
}

// heard waits for the last words of all jobs.
func heard(t *testing.T, x *Executor) {
	t.Helper()
	eventually(t, "all jobs have said their last words", func() bool {
		for _, j := range x.watch.list() {
			if j.job.Progress == nil {
				return false
			}
		}
		return true
	})
}

// Bytes are those that files show: the column chunks of what was read, what lies in the working folders at the end, and what did not fit into memory.
func TestBytesAreCounted(t *testing.T) {
	c := startWith(t, cluster.Config{Executors: 1, Memory: 24 << 20})
	p := executortest.Zoo(t, c.opener(t, func(c *Config) { c.GroupBytes = 4 << 10 }))
	x := p.Executor.(*Executor)
	const text = "SELECT id, count(*) AS n FROM v2_many_row_groups GROUP BY id"
	pl, err := p.Plan(t.Context(), executortest.Alice, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	read := int64(0)
	for _, f := range pl.Relations()[0].Scan.Files {
		read += chunks(t, f.Path, "id")
	}
	s, err := x.Prepare(t.Context(), pl)
	if err != nil {
		t.Fatalf("%v (%v)", err, errors.Unwrap(err))
	}
	defer s.Close()
	r, err := s.Execute(t.Context(), nil)
	if err != nil {
		t.Fatalf("%v (%v)", err, errors.Unwrap(err))
	}
	r.Next()
	lies := int64(0)
	err = filepath.WalkDir(filepath.Join(c.dir, "work-1"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			lies += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for r.Next() {
	}
	r.Release()
	heard(t, x)
	m := x.watch.metrics
	if got := reading(t, m.read); int64(got) != read || read == 0 {
		t.Errorf("%v bytes are read, want %d", got, read)
	}
	// What is around the rows of a file is not counted.
	if got := int64(reading(t, m.shuffled)); got > lies || got < lies*3/4 {
		t.Errorf("%d bytes are left, and files have %d", got, lies)
	}
	if got := reading(t, m.spilled); got != 0 {
		t.Errorf("%v bytes are spilled, and everything fitted", got)
	}
	wide := "SELECT '" + strings.Repeat("x", 200) + "' || CAST(a.id AS VARCHAR) || '-' || CAST(b.id AS VARCHAR) AS text FROM v2_many_row_groups a JOIN v2_many_row_groups b ON a.id >= b.id WHERE a.id < 520"
	shuffled, before := reading(t, m.shuffled), written(t, c)
	if _, err := p.Rows(t.Context(), "SELECT max(n) AS n, max(text) AS text FROM (SELECT text, row_number() OVER (ORDER BY text) AS n FROM ("+wide+") AS w) AS g", nil); err != nil {
		t.Fatalf("%v (%v)", err, errors.Unwrap(err))
	}
	heard(t, x)
	wrote, spilled := written(t, c)-before, int64(reading(t, m.spilled))
	shuffles := int64(reading(t, m.shuffled) - shuffled)
	t.Logf("the executor wrote %d KiB: %d KiB of spills and %d KiB of shuffles", wrote>>10, spilled>>10, shuffles>>10)
	if spilled < 1<<20 || spilled+shuffles > wrote || spilled+shuffles < wrote*3/4 {
		t.Errorf("%d bytes are spilled and %d left, of %d that the executor wrote", spilled, shuffles, wrote)
	}
}

// written is what the first executor has written to files and connections.
func written(t *testing.T, c *testCluster) (n int64) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", c.PID("executor-1")))
	if err != nil {
		t.Skip("no /proc here")
	}
	_, rest, _ := strings.Cut(string(text), "wchar: ")
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// chunks is the size of a column of a data file.
func chunks(t *testing.T, path, column string) int64 {
	t.Helper()
	path, err := localPath(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := file.OpenParquetFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := int64(0)
	for g := range f.NumRowGroups() {
		group := f.MetaData().RowGroup(g)
		at := f.MetaData().Schema.ColumnIndexByName(column)
		chunk, err := group.ColumnChunk(at)
		if err != nil {
			t.Fatal(err)
		}
		n += chunk.TotalCompressedSize()
	}
	return n
}
