package ballista

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gatehouse/executors"
	"gatehouse/executors/ballista/cluster"
	"gatehouse/executors/duckdb/tpc"
	"gatehouse/executors/executortest"
)

// A hundred statements at once, of which four need more memory than there is: each has its rows or ends with the class of memory, and
// the processes live and hold little more than one of them.
func TestManyInLittleMemory(t *testing.T) {
	const limit, many = 16 << 20, 100
	c := startWith(t, cluster.Config{Memory: limit, Cores: 2})
	p := executortest.Zoo(t, c.opener(t, nil))
	ids := []int{c.PID("executor-1"), c.PID("executor-2")}
	before := c.resident(t)
	text := "SELECT '" + strings.Repeat("x", 200) + "' || CAST(a.id AS VARCHAR) || '-' || CAST(b.id AS VARCHAR) AS text FROM v2_many_row_groups a JOIN v2_many_row_groups b ON a.id >= b.id WHERE a.id < 300"
	text = "SELECT count(*) AS n FROM (SELECT text, count(*) AS n FROM (" + text + ") AS w GROUP BY text) AS g"
	want, err := p.Rows(t.Context(), text, nil)
	if err != nil {
		t.Fatalf("%v (%v)", err, errors.Unwrap(err))
	}
	var all sync.WaitGroup
	var refused atomic.Int64
	for range many {
		all.Go(func() {
			got, err := p.Rows(t.Context(), text, nil)
			if err == nil {
				if !slices.EqualFunc(got, want, func(a, b executortest.Row) bool { return slices.Equal(a, b) }) {
					t.Errorf("%v instead of %v", got, want)
				}
				return
			}
			kind(t, err, executors.KindMemory)
			refused.Add(1)
		})
	}
	all.Wait()
	now := c.resident(t)
	t.Logf("%v rows; %d of %d were refused; an executor held %d MiB before, and %d MiB at most", want, refused.Load(), many, before>>20, now>>20)
	if refused.Load() == many {
		t.Error("none ran")
	}
	if now > before+limit+256<<20 {
		t.Errorf("an executor held %d MiB", now>>20)
	}
	for _, id := range ids {
		if syscall.Kill(id, 0) != nil {
			t.Error("an executor has gone")
		}
	}
	if _, err := p.Rows(t.Context(), "SELECT id FROM orders", nil); err != nil {
		t.Errorf("the next statement: %v (%v)", err, errors.Unwrap(err))
	}
}

// A client that pauses gets its result whole, and meanwhile nobody holds more of it than the windows of its parts. Without GATEHOUSE_PROBES=all it
// pauses for less than all the times after which a silent peer is asked whether it lives.
func TestReaderPauses(t *testing.T) {
	pause := 3 * time.Second
	if os.Getenv("GATEHOUSE_PROBES") == "all" {
		pause = 75 * time.Second
	}
	c := startCluster(t)
	dir := folderOf(t, tpc.TPCH)
	p := executortest.Over(t, c.opener(t, func(c *Config) { c.GroupBytes = 1 << 20 }), dir, string(tpc.TPCH))
	const text = "SELECT l_orderkey, l_linenumber, l_comment FROM lineitem"
	pl, err := p.Plan(t.Context(), executortest.Alice, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Executor.Prepare(t.Context(), pl)
	if err != nil {
		t.Fatalf("%v (%v)", err, errors.Unwrap(err))
	}
	defer s.Close()
	r, err := s.Execute(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	rows, batches := int64(0), 0
	before := ownResident(t)
	for r.Next() {
		rows += r.RecordBatch().NumRows()
		if batches++; batches == 2 || batches == 4 {
			<-time.After(pause)
		}
	}
	if err := r.Err(); err != nil {
		t.Fatalf("after %d rows: %v (%v)", rows, err, errors.Unwrap(err))
	}
	count, err := p.Rows(t.Context(), "SELECT count(*) AS n FROM lineitem", nil)
	if err != nil || fmt.Sprint(rows) != count[0][0] {
		t.Errorf("%d rows instead of %v, %v", rows, count, err)
	}
	if held := ownResident(t) - before; held > 128<<20 {
		t.Errorf("this process held %d MiB more", held>>20)
	}
	for _, work := range []string{"work-1", "work-2"} {
		eventually(t, work+" is empty", func() bool { return jobs(t, c.dir+"/"+work) == 0 })
	}
}

// ownResident is the most that this process has held, in bytes.
func ownResident(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("no /proc here")
	}
	n := int64(0)
	if m := resident.FindSubmatch(text); m != nil {
		_, _ = fmt.Sscan(string(m[1]), &n)
	}
	return n << 10
}

// Shuffles are compressed as the scheduler is told, and rows are the same.
func TestCompression(t *testing.T) {
	const text = "SELECT name, n, id FROM (SELECT 'a text that repeats itself, that repeats itself' AS name, id, count(*) AS n FROM v2_many_row_groups GROUP BY id) AS g"
	shuffled := map[string]int64{}
	var want []executortest.Row
	for _, how := range []string{"none", "lz4", "zstd"} {
		c := startWith(t, cluster.Config{Compression: how})
		p := executortest.Zoo(t, c.opener(t, nil))
		got, err := p.Rows(t.Context(), text, nil)
		if err != nil {
			t.Fatalf("%s: %v (%v)", how, err, errors.Unwrap(err))
		}
		if want == nil {
			want = got
		}
		compare(t, got, want)
		x := p.Executor.(*Executor)
		eventually(t, "its last words are there", func() bool { return x.Jobs(t.Context())[0].Progress != nil })
		for _, s := range x.Jobs(t.Context())[0].Progress.Stages {
			shuffled[how] += s.ShuffledBytes
		}
		c.Stop()
	}
	t.Logf("bytes of shuffles and result: %v", shuffled)
	if shuffled["lz4"] >= shuffled["none"] || shuffled["zstd"] >= shuffled["none"] {
		t.Errorf("nothing is compressed: %v", shuffled)
	}
}
