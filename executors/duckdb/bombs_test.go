package duckdb

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"gatehouse/executors"
)

// bombs are statements of a few words that never end by themselves, or that want more memory than there is. All of them pass
// classify, which asks for literal sizes where a single call could do it: see TestBounds there.
var bombs = []string{
	"SELECT count(*) FROM range(1000000000000)",
	"SELECT count(*) FROM range(1000000000) a, range(1000000000) b",
	"SELECT count(*) FROM range(10) t(i), range(1000000000000 + i) r(j)",
	"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r) SELECT count(*) FROM r",
	"WITH RECURSIVE r(n) AS (SELECT 1::BIGINT UNION SELECT (n * 7919 + 1) % 1000000007 FROM r) SELECT count(*) FROM r",
	"WITH RECURSIVE r(s) AS (SELECT repeat('x', 10000) UNION ALL SELECT s || repeat('x', 10000) FROM r) SELECT count(*) FROM r WHERE s = 'y'",
	"SELECT string_agg(repeat('x', 1000), ',') FROM range(1000000000)",
	"SELECT list(i) FROM range(1000000000000) r(i)",
	"SELECT count(DISTINCT i) FROM range(1000000000000) r(i)",
	"SELECT i FROM range(1000000000000) r(i) ORDER BY hash(i) DESC LIMIT 5",
	"SELECT sum(i) OVER (ORDER BY hash(i)) FROM range(1000000000000) r(i)",
	"SELECT count(*) FROM range(1000000000000) r(i) WHERE regexp_matches(repeat('a', 10000) || i, '(x+x+)+y')",
	"SELECT count(*) FROM range(1000000000000) r(i) WHERE (repeat('a', 10000) || i) LIKE '%a%a%a%a%a%a%a%a%b'",
	"SELECT count(*) FROM range(1000000000000) r(i) WHERE levenshtein(repeat('a', 1000) || i, 'smith') = 1",
}

// TestBombsEnd runs each bomb until another user's point queries are through, then takes it back. The bomb ends with its context or by
// the memory limit, and never harms the other user. It proves by order, not by time: no bomb could end by itself before.
func TestBombsEnd(t *testing.T) {
	x := open(t, Config{MemoryBytes: 128 << 20, SpillBytes: 64 << 20, Threads: 2})
	var points, ends []time.Duration
	for _, bomb := range bombs {
		s, err := x.rawAs("mallory", bomb, 0)
		if err != nil {
			t.Fatalf("%s: %v (%v)", bomb, err, cause1(err))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // for a point query that hangs
		done := make(chan error, 1)
		go func() {
			r, err := s.Execute(ctx, nil)
			if err != nil {
				done <- err
				return
			}
			defer r.Release()
			for r.Next() {
			}
			done <- r.Err()
		}()
		for range 100 {
			start := time.Now()
			if _, got := rows(t, x, "SELECT 40 + i FROM range(3) r(i) WHERE i = 2"); !slices.Equal(got, []string{"42"}) {
				t.Fatalf("%s: the other user gets %v", bomb, got)
			}
			points = append(points, time.Since(start))
		}
		if ctx.Err() != nil {
			t.Errorf("%s: the other user waited", bomb)
		}
		start := time.Now()
		cancel()
		err = <-done
		ends = append(ends, time.Since(start))
		if took := ends[len(ends)-1]; took > 100*time.Millisecond {
			t.Logf("%v after cancel: %s", took, bomb)
		}
		e, _ := errors.AsType[*executors.Error](err)
		if !errors.Is(err, context.Canceled) && (e == nil || e.Kind != executors.KindMemory) {
			t.Errorf("%s ends with %v (%v)", bomb, err, cause1(err))
		}
		_ = s.Close()
	}
	slices.Sort(points)
	slices.Sort(ends)
	t.Logf("point queries: median %v, longest %v; end after cancel: median %v, longest %v",
		points[len(points)/2], points[len(points)-1], ends[len(ends)/2], ends[len(ends)-1])
}
