package duckdb

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"gatehouse/executors"
)

// recursive are statements in whose recursion the engine waits for tasks of its own.
var recursive = []string{
	"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT r.n FROM r, range(2)) SELECT count(*) FROM r",
	"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
	"WITH RECURSIVE r(n) AS (SELECT 1::BIGINT UNION SELECT (n::BIGINT * 7919 + 1) % 1000000007 FROM r, range(3)) SELECT n FROM r",
	"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT r.n FROM r JOIN range(4) x(i) ON x.i >= r.n) SELECT a.n, b.i FROM r a, range(3) b(i)",
}

// TestRecursionsEnd ends recursive statements at many points of their lives: before their first row, after it, and by closing, four at once. Each
// has to end, and the engine has to serve the same user afterwards.
func TestRecursionsEnd(t *testing.T) {
	x := open(t, Config{MemoryBytes: 256 << 20, Threads: 2})
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 40 {
				if !endsRecursion(t, x, recursive[(i+worker)%len(recursive)], time.Duration(i)*time.Millisecond, i%2 == 0) {
					return
				}
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	if _, got := rows(t, x, "SELECT 40 + 2"); len(got) != 1 {
		t.Errorf("afterwards: %v", got)
	}
}

// endsRecursion reports whether a statement ends that is taken back after a while, or closed.
func endsRecursion(t *testing.T, x *Executor, text string, after time.Duration, cancels bool) bool {
	s, err := x.raw(text, 0)
	if err != nil {
		t.Errorf("%s: %v (%v)", text, err, cause1(err))
		return false
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		r, err := s.Execute(ctx, nil)
		if err == nil {
			r.Next()
			r.Release()
		}
		done <- errors.Join(err, s.Close())
	}()
	time.Sleep(after)
	closed := make(chan error, 1)
	if cancels {
		cancel()
		closed <- nil
	} else {
		go func() { closed <- s.Close() }()
	}
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Errorf("%s: is not closed after a minute, %v after its begin", text, after)
		return false
	}
	select {
	case err := <-done:
		if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, executors.ErrClosed) {
			t.Errorf("%s: %v", text, err)
		}
		return true
	case <-time.After(time.Minute):
		t.Errorf("%s: has not ended a minute after it was told to, %v after its begin", text, after)
		return false
	}
}
