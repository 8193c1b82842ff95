package duckdb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gatehouse/executors"
)

// wide are statements that make gigabytes in one step, which the engine's own limit does not count and no interrupt ends.
var wide = []string{
	"SELECT max(length(replace(s, 'a', s || i))) FROM (SELECT repeat('a', 3000) s, i FROM range(100000) r(i))",
	"SELECT max(len(list_transform(range(1, 10000), x -> s || x))) FROM (SELECT repeat('a', 10000) || i s FROM range(100000) r(i))",
	"SELECT max(len(string_split(s, ''))) FROM (SELECT repeat('a', 10000) || repeat('a', 10000) || i s FROM range(100000) r(i))",
	"SELECT max(length(to_json(list_transform(range(1,10000), x -> s)))) FROM (SELECT repeat('a', 10000) || i s FROM range(100000) r(i))",
	"SELECT max(list_reduce(list_transform(range(1,10000), x -> s), (a, b) -> a || b)) FROM (SELECT repeat('a', 10000) || i s FROM range(100000) r(i))",
}

// wantHooked skips where the engine's allocator cannot be asked.
func wantHooked(t *testing.T) {
	t.Helper()
	if hooked() {
		return
	}
	if runtime.GOOS == "linux" {
		t.Fatal("the engine's allocator does not ask")
	}
	t.Skip("the engine's allocator does not ask here")
}

// TestHeapBound lets one user make more than the process may hold, within one step of the engine. The statement ends with KindMemory, the
// engine's allocator stays within its bound, and another user goes on. Without the bound each of them takes all the memory that there is.
func TestHeapBound(t *testing.T) {
	before, space := heapResident(), heapMapped()
	limit := before + 512<<20
	x := open(t, Config{MemoryBytes: 256 << 20, SpillBytes: 64 << 20, ProcessBytes: limit, Threads: 2})
	wantHooked(t)
	for _, bomb := range wide {
		var peak atomic.Int64
		refused := heapRefused()
		done := make(chan error, 1)
		go func() { done <- x.exhaust(t.Context(), "mallory", bomb) }()
		var err error
		for running := true; running; {
			select {
			case err = <-done:
				running = false
			default:
				if got, err := x.rowsAs("bob", "SELECT 40 + i FROM range(3) r(i) WHERE i = 2"); err != nil || !slices.Equal(got, []string{"42"}) {
					t.Fatalf("%s: the other user gets %v, %v (%v); %d of %d MiB", bomb, got, err, cause1(err), heapResident()>>20, limit>>20)
				}
				peak.Store(max(peak.Load(), heapResident()))
			}
		}
		if e, ok := errors.AsType[*executors.Error](err); !ok || e.Kind != executors.KindMemory {
			t.Errorf("%s ends with %v (%v)", bomb, err, cause1(err))
		}
		if got := heapMapped(); got > max(space, limit+limit/4)+128<<20 {
			t.Errorf("%s: the allocator holds %d MiB, bound %d MiB", bomb, got>>20, limit>>20)
		}
		t.Logf("address space %d, peak %d of %d MiB, %d requests refused: %.60s…", heapMapped()>>20, peak.Load()>>20, limit>>20, heapRefused()-refused, bomb)
	}
	// Control: the same function on a small scale, as soon as what was freed is back with the kernel.
	for until := time.Now().Add(time.Minute); ; {
		got, err := x.rowsAs("mallory", "SELECT max(length(replace(s, 'a', s || i))) FROM (SELECT repeat('a', 100) s, i FROM range(100) r(i))")
		if err == nil && slices.Equal(got, []string{"10200"}) {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("control: %v, %v", got, err)
		}
	}
}

// exhaust runs a statement to its end and returns how it ends.
func (x *Executor) exhaust(ctx context.Context, user, text string) error {
	s, err := x.rawAs(user, text, 0)
	if err != nil {
		return err
	}
	defer s.Close()
	r, err := s.Execute(ctx, nil)
	if err != nil {
		return err
	}
	defer r.Release()
	for r.Next() {
	}
	return r.Err()
}

func (x *Executor) rowsAs(user, text string) ([]string, error) {
	s, err := x.rawAs(user, text, 0)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	r, err := s.Execute(context.Background(), nil)
	if err != nil {
		return nil, err
	}
	defer r.Release()
	return drain(r)
}

// TestUserMemory bounds what the statements of one user hold; another user has the same once more.
func TestUserMemory(t *testing.T) {
	x := open(t, Config{MemoryBytes: 1 << 30, UserMemoryBytes: 64 << 20, UserSpillBytes: 1 << 20, Threads: 2})
	const sort = "SELECT i, hash(i)::VARCHAR AS h FROM range(%d) r(i) ORDER BY h DESC"
	err := x.exhaust(t.Context(), "mallory", fmt.Sprintf(sort, 5_000_000))
	if e, ok := errors.AsType[*executors.Error](err); !ok || e.Kind != executors.KindMemory {
		t.Errorf("over the user's memory: %v", err)
	}
	for _, user := range []string{"mallory", "bob"} {
		if err := x.exhaust(t.Context(), user, fmt.Sprintf(sort, 50_000)); err != nil {
			t.Errorf("control, %s: %v (%v)", user, err, cause1(err))
		}
	}
}

// TestGuard ends the statement that got most when the process holds too much, and only that one.
func TestGuard(t *testing.T) {
	x := open(t, Config{MemoryBytes: 1 << 30, Threads: 2})
	wantHooked(t)
	var resident atomic.Int64
	g := newGuard(1<<30, slog.New(slog.DiscardHandler))
	g.resident = resident.Load
	x.guard.close()
	x.guard = g
	started := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		s, err := x.rawAs("mallory", "SELECT count(DISTINCT hash(i)) FROM range(1000000000000) r(i)", 0)
		close(started)
		if err != nil {
			ended <- err
			return
		}
		defer s.Close()
		_, err = s.Execute(t.Context(), nil)
		ended <- err
	}()
	<-started
	// As soon as it holds much, it is the one to end.
	resident.Store(1 << 30)
	err := <-ended
	if e, ok := errors.AsType[*executors.Error](err); !ok || e.Kind != executors.KindMemory {
		t.Errorf("the largest ends with %v", err)
	}
	// Control: who holds little is neither ended nor kept waiting.
	if _, err := x.rowsAs("bob", "SELECT 1"); err != nil {
		t.Errorf("somebody else: %v", err)
	}
}

// TestGuardStuck says that the executor is unwell when what the process holds is nobody's, and only then.
func TestGuardStuck(t *testing.T) {
	var resident atomic.Int64
	var log strings.Builder
	x := &Executor{guard: newGuard(1<<30, slog.New(slog.NewTextHandler(&log, nil)))}
	g := x.guard
	g.resident = resident.Load
	s := &Prepared{conn: &connection{engine: &engine{}}}
	for _, c := range []struct {
		name     string
		resident int64
		running  bool
		full     time.Duration // for how long statements were ended
		want     bool
		logged   int
	}{
		{name: "little, idle", resident: 512 << 20, want: true},
		{name: "too much, idle", resident: 1 << 30, want: false, logged: 1},
		{name: "told once", resident: 1 << 30, want: false, logged: 1},
		{name: "too much, a statement's", resident: 1 << 30, running: true, want: true, logged: 1},
		{name: "too much, ending statements helps", resident: 1 << 30, running: true, full: guardStuck / 2, want: true, logged: 1},
		{name: "too much, ending statements does not help", resident: 1 << 30, running: true, full: 2 * guardStuck, want: false, logged: 2},
		{name: "given back", resident: 512 << 20, running: true, full: 2 * guardStuck, want: true, logged: 2},
	} {
		resident.Store(c.resident)
		clear(g.running)
		if c.running {
			g.running[s] = time.Now()
		}
		g.full, g.since = c.full > 0, time.Now().Add(-c.full)
		if got := x.Healthy(); got != c.want {
			t.Errorf("%s: healthy %v", c.name, got)
		}
		if got := strings.Count(log.String(), "start it again"); got != c.logged {
			t.Errorf("%s: %d lines in the log, want %d", c.name, got, c.logged)
		}
	}
	// Where what is too much is given back when asked, nothing is wrong.
	var asked atomic.Int64
	g.resident = func() int64 {
		if asked.Add(1) == 1 {
			return 1 << 30
		}
		return 512 << 20
	}
	if clear(g.running); !x.Healthy() {
		t.Error("free memory counts")
	}
}

// TestTurns lets a short statement of a user finish while more long ones of the same user run than work at once.
func TestTurns(t *testing.T) {
	x := open(t, Config{Threads: 1})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	for range 4 {
		go func() { done <- x.exhaust(ctx, "mallory", "SELECT count(*) FROM range(1000000000000)") }()
	}
	var longest time.Duration
	for range 20 {
		start := time.Now()
		if got, err := x.rowsAs("mallory", "SELECT 42"); err != nil || !slices.Equal(got, []string{"42"}) {
			t.Errorf("%v, %v", got, err)
		}
		longest = max(longest, time.Since(start))
	}
	cancel()
	for range 4 {
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("a long one ends with %v", err)
		}
	}
	t.Logf("longest wait %v", longest)
}

// TestStatesOfEnded ends statements while they group, by want of spill space and by an interrupt, and finds nothing left behind.
func TestStatesOfEnded(t *testing.T) {
	x := open(t, Config{MemoryBytes: 512 << 20, UserMemoryBytes: 64 << 20, UserSpillBytes: 32 << 20, Threads: 2})
	wantHooked(t)
	const query = `SELECT g, %s FROM (SELECT i // 2 g, i %% 1000 i, 'a text that does not fit in a state ' || i %% 1000 s
		FROM range(5000000) r(i)) GROUP BY g ORDER BY 1 LIMIT 5`
	for _, a := range []string{
		"max(s)", "min(s::BLOB)", "max([s])", "max({'a': s})", "max(DISTINCT s)", "median(i)", "mode(s)", "mad(i)", "entropy(i)", "quantile_cont(i, 0.5)", "histogram(i)",
		"any_value(s)", "first([s])", "last({'a': s})", "arg_max(s, i)", "arg_max([s], s)", "max(s, 1)", "list(s)", "string_agg(s, ',')", "string_agg(s, ',' ORDER BY i)", "last(s)", "max(i)", "count(DISTINCT s)",
	} {
		before := heapResident()
		for range 2 {
			err := x.exhaust(t.Context(), "mallory", fmt.Sprintf(query, a))
			if !isMemory(err) {
				t.Errorf("%s ends with %v (%v)", a, err, cause1(err))
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			_ = x.exhaust(ctx, "mallory", fmt.Sprintf(query, a))
			cancel()
		}
		heapPurge()
		if left := heapResident() - before; left > 64<<20 {
			t.Errorf("%s: %d MiB are left", a, left>>20)
		}
	}
}

// TestStates says which statements may spill: those of which the engine frees all states.
func TestStates(t *testing.T) {
	x := open(t, Config{})
	for text, whole := range map[string]bool{
		"SELECT max(s) FROM t GROUP BY i":                                                 true,
		"SELECT max(i) FROM t GROUP BY i":                                                 false,
		"SELECT max(s) FROM t":                                                            false,
		"SELECT (SELECT max(u.s) FROM t u WHERE u.i = t.i) FROM t":                        true,
		"SELECT sum(i), avg(i), any_value(s), list(s), max(i::DECIMAL) FROM t GROUP BY i": false,
		"SELECT last(s) FROM t GROUP BY i":                                                true,
		"SELECT median(i) FROM t GROUP BY ALL HAVING mode(s) > ''":                        false,
		"SELECT i FROM t GROUP BY ALL HAVING mode(s) > ''":                                true,
		"SELECT approx_quantile(i, 0.5) FROM t GROUP BY i":                                true,
		"SELECT approx_count_distinct(s) FROM t GROUP BY i":                               true,
		"SELECT approx_top_k(s, 3) FROM t GROUP BY i":                                     true,
		"SELECT DISTINCT s FROM t":                                                        false,
	} {
		s, err := x.rawAs("alice", "WITH t AS MATERIALIZED (SELECT i, i::VARCHAR s FROM range(10) r(i)) "+text, 0)
		if err != nil {
			t.Errorf("%s: %v (%v)", text, err, cause1(err))
			continue
		}
		if s.conn.engine.whole != whole {
			t.Errorf("%s: %v, want %v", text, !whole, whole)
		}
		_ = s.Close()
	}
}
