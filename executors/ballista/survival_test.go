package ballista

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatehouse/executors"
	"gatehouse/executors/ballista/cluster"
	"gatehouse/executors/duckdb/tpc"
	"gatehouse/executors/executortest"
)

// A statement whose executor is killed gives the right rows or a typed error, and the next one runs.
func TestExecutorKilled(t *testing.T) {
	c := startCluster(t)
	p := executortest.Zoo(t, c.opener(t, func(c *Config) { c.GroupBytes = 4 << 10 }))
	executorKilled(t, c, p, "SELECT a.id, count(*) AS n FROM v2_many_row_groups a JOIN v2_many_row_groups b ON a.id = b.id GROUP BY a.id", 0)
}

// The same where two stages read one that may be lost, at several points.
func TestExecutorKilledCounted(t *testing.T) {
	for _, after := range []time.Duration{0, 100 * time.Millisecond, 300 * time.Millisecond} {
		t.Run(after.String(), func(t *testing.T) {
			c := startWith(t, cluster.Config{Copied: 64 << 10, Patience: 4 * time.Second})
			p := executortest.Over(t, c.opener(t, func(c *Config) { c.GroupBytes = 1 << 20 }), folderOf(t, tpc.TPCH), string(tpc.TPCH))
			executorKilled(t, c, p, "SELECT o_orderkey AS k FROM orders WHERE o_orderdate < DATE '1992-03-01' AND o_comment LIKE '%special%'"+
				" AND EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)"+
				" AND NOT EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey AND l_returnflag = 'R')", after)
		})
	}
}

// executorKilled kills an executor so long after one has written something.
func executorKilled(t *testing.T, c *testCluster, p *executortest.Pipeline, text string, after time.Duration) {
	t.Helper()
	want, err := p.Rows(t.Context(), text, nil)
	if err != nil {
		t.Fatalf("%v (%v)", err, errors.Unwrap(err))
	}
	done := make(chan error, 1)
	var got []executortest.Row
	go func() {
		var err error
		got, err = p.Rows(t.Context(), text, nil)
		done <- err
	}()
	waitForWork(t, c.dir)
	select {
	case <-time.After(after):
	case <-t.Context().Done():
	}
	if err := c.Kill("executor-1"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if err != nil {
			if e, ok := errors.AsType[*executors.Error](err); !ok || e.Hint != lost {
				t.Errorf("not that a process was lost: %v (%v)", err, errors.Unwrap(err))
			}
			t.Logf("typed error: %v (%v)", err, errors.Unwrap(err))
		} else {
			compare(t, got, want)
			t.Log("retried: right rows")
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the statement hangs")
	}
	got, err = p.Rows(t.Context(), text, nil)
	if err != nil {
		t.Fatalf("the next statement: %v (%v)", err, errors.Unwrap(err))
	}
	compare(t, got, want)
}

// waitForWork returns when some executor has written a file of a job.
func waitForWork(t *testing.T, dir string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		for _, work := range []string{"work-1", "work-2"} {
			if jobs(t, filepath.Join(dir, work)) > 0 {
				return
			}
		}
	}
	t.Fatal("no executor works")
}

// jobs counts the folders of jobs in a working folder.
func jobs(t *testing.T, work string) int {
	t.Helper()
	entries, err := os.ReadDir(work)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if e.Name() != "spill" {
			n++
		}
	}
	return n
}

// A scheduler that dies fails the statement with a class.
func TestSchedulerKilled(t *testing.T) {
	c := startCluster(t)
	p := executortest.Zoo(t, c.opener(t, nil))
	if _, err := p.Rows(t.Context(), "SELECT id FROM orders", nil); err != nil {
		t.Fatalf("%v (%v)", err, errors.Unwrap(err))
	}
	if err := c.Kill("scheduler"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := p.Rows(ctx, "SELECT id FROM orders", nil)
	kind(t, err, executors.KindInternal)
	if err != nil && err.Error() != lost {
		t.Errorf("it says %q", err)
	}
}

// endless is a statement that keeps both executors busy for hours.
const endless = "SELECT count(*) AS n FROM v2_many_row_groups a JOIN v2_many_row_groups b ON a.id >= b.id JOIN v2_many_row_groups c ON c.id <= a.id"

// begin runs a statement in the background, and returns when executors work on it.
func begin(t *testing.T, c *testCluster, ctx context.Context, p *executortest.Pipeline, text string) <-chan error {
	t.Helper()
	before := busy(t, c)
	ended := make(chan error, 1)
	go func() {
		_, err := p.Rows(ctx, text, nil)
		ended <- err
	}()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	// It works when the executors have used a second.
	for busy(t, c) < before+100 {
		select {
		case <-tick.C:
		case err := <-ended:
			t.Fatalf("it has ended before: %v", err)
		}
	}
	return ended
}

// A scheduler that is started again knows no statement: those that ran fail with a class, and their tasks stop, so that the next ones run.
func TestSchedulerRestarted(t *testing.T) {
	c := startCluster(t)
	p := executortest.Zoo(t, c.opener(t, func(c *Config) { c.GroupBytes = 4 << 10 }))
	ended := begin(t, c, t.Context(), p, endless)
	if err := c.Kill("scheduler"); err != nil {
		t.Fatal(err)
	}
	err := <-ended
	kind(t, err, executors.KindInternal)
	if err != nil && err.Error() != lost {
		t.Errorf("it says %q", err)
	}
	if err := c.Restart(t.Context(), "scheduler"); err != nil {
		t.Fatal(err)
	}
	// The executors' cores were all in use.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		rows, err := p.Rows(ctx, "SELECT id, count(*) AS n FROM orders GROUP BY id", nil)
		if err == nil {
			if len(rows) == 0 {
				t.Error("the next statement has no rows")
			}
			break
		}
		// Until the connection is there again.
		if err.Error() != lost {
			t.Fatalf("%v (%v)", err, errors.Unwrap(err))
		}
	}
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(30 * time.Second); !so(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("not so after half a minute: %s", what)
		}
	}
}

// A task that fails fails its statement and nobody else's: no executor goes.
func TestTaskError(t *testing.T) {
	c := startCluster(t)
	p := executortest.Zoo(t, c.opener(t, nil))
	ids := []int{c.PID("executor-1"), c.PID("executor-2")}
	for range 5 {
		_, err := p.Rows(t.Context(), "SELECT 9223372036854775807 + id AS n FROM orders", nil)
		kind(t, err, executors.KindRange)
		if _, err := p.Rows(t.Context(), "SELECT id FROM orders", nil); err != nil {
			t.Fatalf("the next statement: %v (%v)", err, errors.Unwrap(err))
		}
	}
	for i, name := range []string{"executor-1", "executor-2"} {
		if syscall.Kill(ids[i], 0) != nil {
			t.Errorf("%s has gone", name)
		}
	}
}

// The files of a job go when its reader is released, and working folders are closed to others.
func TestFilesGo(t *testing.T) {
	c := startCluster(t)
	p := executortest.Zoo(t, c.opener(t, nil))
	for range 3 {
		if _, err := p.Rows(t.Context(), "SELECT id, count(*) AS n FROM orders GROUP BY id", nil); err != nil {
			t.Fatalf("%v (%v)", err, errors.Unwrap(err))
		}
	}
	for _, work := range []string{"work-1", "work-2"} {
		path := filepath.Join(c.dir, work)
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: mode %v, %v", work, info.Mode(), err)
		}
		end := time.Now().Add(10 * time.Second)
		for jobs(t, path) > 0 {
			if time.Now().After(end) {
				t.Errorf("%s holds files of %d jobs", work, jobs(t, path))
				break
			}
		}
	}
}

// A statement that is given up stops at once for its caller, and within a second in all executors.
func TestCancel(t *testing.T) {
	c := startCluster(t)
	p := executortest.Zoo(t, c.opener(t, func(c *Config) { c.GroupBytes = 4 << 10 }))
	ctx, cancel := context.WithCancel(t.Context())
	ended := begin(t, c, ctx, p, endless)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	cancel()
	cancelled := time.Now()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if took := time.Since(cancelled); took > 100*time.Millisecond {
		t.Errorf("the caller waited for %v", took)
	}
	var last int
	for quiet := 0; quiet < 5; {
		<-tick.C
		if now := busy(t, c); now-last <= 1 {
			quiet++
		} else {
			quiet, last = 0, now
		}
		if time.Since(cancelled) > 2*time.Second {
			t.Fatal("executors still work on it")
		}
	}
	t.Logf("quiet for a quarter of a second, %v after the end", time.Since(cancelled).Round(10*time.Millisecond))
	for _, work := range []string{"work-1", "work-2"} {
		eventually(t, work+" is empty", func() bool { return jobs(t, filepath.Join(c.dir, work)) == 0 })
	}
	if _, err := p.Rows(t.Context(), "SELECT id FROM orders", nil); err != nil {
		t.Errorf("the next statement: %v (%v)", err, errors.Unwrap(err))
	}
}

// busy is the processor time that the executors have used, in hundredths of a second.
func busy(t *testing.T, c *testCluster) int {
	t.Helper()
	sum := 0
	for _, name := range []string{"executor-1", "executor-2"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.PID(name)))
		if err != nil {
			t.Skip("no /proc here")
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')'):]))
		for _, f := range fields[12:14] {
			n, err := strconv.Atoi(f)
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}
