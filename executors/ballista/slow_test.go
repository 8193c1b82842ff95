package ballista

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"gatehouse/executors"
	"gatehouse/executors/ballista/cluster"
	"gatehouse/executors/executortest"
)

// signal sends a signal to a process of the cluster.
func (c *testCluster) signal(t *testing.T, name string, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(c.PID(name), s); err != nil {
		t.Fatal(err)
	}
}

// An executor that stands still, and then goes on, costs time and no rows. One that stands still for too long is taken for lost: statements that
// it has a part in fail with a class, the others run, and when it goes on it has nothing of them, and works again.
func TestSlowExecutor(t *testing.T) {
	c := startWith(t, cluster.Config{Patience: 6 * time.Second})
	p := executortest.Zoo(t, c.opener(t, func(c *Config) { c.GroupBytes = 4 << 10 }))
	const text = "SELECT a.id, count(*) AS n FROM v2_many_row_groups a JOIN v2_many_row_groups b ON a.id = b.id GROUP BY a.id"
	want, err := p.Rows(t.Context(), text, nil)
	if err != nil {
		t.Fatalf("%v (%v)", err, errors.Unwrap(err))
	}
	t.Cleanup(func() { _ = syscall.Kill(c.PID("executor-1"), syscall.SIGCONT) })

	c.signal(t, "executor-1", syscall.SIGSTOP)
	type outcome struct {
		rows []executortest.Row
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		rows, err := p.Rows(t.Context(), text, nil)
		done <- outcome{rows, err}
	}()
	time.AfterFunc(2*time.Second, func() { _ = syscall.Kill(c.PID("executor-1"), syscall.SIGCONT) })
	got := <-done
	if got.err != nil {
		t.Fatalf("after a pause: %v (%v)", got.err, errors.Unwrap(got.err))
	}
	compare(t, got.rows, want)

	ended := begin(t, c, t.Context(), p, endless)
	c.signal(t, "executor-1", syscall.SIGSTOP)
	select {
	case err := <-ended:
		kind(t, err, executors.KindInternal)
		if err != nil && err.Error() != lost {
			t.Errorf("it says %q", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("a statement waits for an executor that is lost")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	rows, err := p.Rows(ctx, text, nil)
	if err != nil {
		t.Fatalf("without it: %v (%v)", err, errors.Unwrap(err))
	}
	compare(t, rows, want)

	c.signal(t, "executor-1", syscall.SIGCONT)
	if err := c.Kill("executor-2"); err != nil {
		t.Fatal(err)
	}
	// Its core is free: the task that it had has stopped.
	for {
		rows, err := p.Rows(ctx, text, nil)
		if err == nil {
			compare(t, rows, want)
			return
		}
		// Until the other one is known to be lost.
		if _, ok := errors.AsType[*executors.Error](err); !ok {
			t.Fatalf("with it alone: %v (%v)", err, errors.Unwrap(err))
		}
	}
}
