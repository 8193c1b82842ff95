package ballista

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"gatehouse/executors"
	"gatehouse/executors/executortest"
)

// Processes that end are started again, one or all, and statements run again: those on their way fail with a class.
func TestSupervised(t *testing.T) {
	c := startCluster(t)
	p := executortest.Zoo(t, c.opener(t, func(c *Config) { c.GroupBytes = 4 << 10 }))
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- c.Supervise(ctx, func(what string) { t.Log(what) }) }()
	t.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	const text = "SELECT a.id, count(*) AS n FROM v2_many_row_groups a JOIN v2_many_row_groups b ON a.id = b.id GROUP BY a.id"
	want, err := p.Rows(t.Context(), text, nil)
	if err != nil {
		t.Fatalf("%v (%v)", err, errors.Unwrap(err))
	}
	for _, victims := range [][]string{{"executor-1"}, {"scheduler"}, {"executor-2", "scheduler", "executor-1"}} {
		before := map[string]int{}
		for _, v := range victims {
			before[v] = c.PID(v)
			// Not by Kill, which waits: Supervise sees a process that has gone by itself.
			if err := syscall.Kill(before[v], syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "they run again", func() bool {
			for _, v := range victims {
				if c.PID(v) == before[v] {
					return false
				}
			}
			return true
		})
		eventually(t, "statements run again", func() bool {
			got, err := p.Rows(t.Context(), text, nil)
			if err == nil {
				compare(t, got, want)
				return true
			}
			if _, ok := errors.AsType[*executors.Error](err); !ok {
				t.Errorf("an error without class: %v", err)
			}
			return false
		})
	}
}

// A statement whose executor stands still ends at its deadline, and the next one runs once it goes on.
func TestStandsStillAtDeadline(t *testing.T) {
	c := startCluster(t)
	p := executortest.Zoo(t, c.opener(t, func(c *Config) { c.GroupBytes = 4 << 10 }))
	t.Cleanup(func() { _ = syscall.Kill(c.PID("executor-1"), syscall.SIGCONT) })
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	ended := begin(t, c, ctx, p, endless)
	c.signal(t, "executor-1", syscall.SIGSTOP)
	<-ctx.Done()
	late := time.Now()
	if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if took := time.Since(late); took > time.Second {
		t.Errorf("its caller waited for %v more", took)
	}
	c.signal(t, "executor-1", syscall.SIGCONT)
	if _, err := p.Rows(t.Context(), "SELECT id FROM orders", nil); err != nil {
		t.Errorf("the next statement: %v (%v)", err, errors.Unwrap(err))
	}
}
