package duckdb

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"gatehouse/executors"
)

const (
	guardEvery = 10 * time.Millisecond
	// guardPatience is how long a new statement waits for memory before it is refused.
	guardPatience = 10 * time.Second
	// guardSpares is what the instance of one user may get without being held back or ended: it is not the reason.
	guardSpares = 64 << 20
	// guardStuck is how long the process may stay above the soft bound, although statements are ended for it, before the executor is unwell.
	guardStuck = time.Minute
)

// guard watches what the process has resident while statements run. Above the soft bound it gives free memory back, and where that is
// not enough ends the statement that got most, one at a time, until it is below; new statements wait meanwhile.
type guard struct {
	soft     int64
	log      *slog.Logger
	resident func() int64

	mu      sync.Mutex
	running map[*Prepared]time.Time // since when
	full    bool
	since   time.Time     // when full became true
	told    bool          // the log says that it is stuck
	below   chan struct{} // closed when full becomes false
	ended   sync.WaitGroup
}

func newGuard(hard int64, log *slog.Logger) *guard {
	return &guard{soft: softBound(hard), log: log, resident: heapResident, running: map[*Prepared]time.Time{}, below: make(chan struct{})}
}

// overMemory is the error of a statement that the guard ends or does not admit.
func overMemory(why string) error {
	return &executors.Error{Kind: executors.KindMemory, Cause: errors.New(why)}
}

// admit waits until there is memory, registers s and watches while it runs. leave undoes it.
func (g *guard) admit(ctx context.Context, s *Prepared) error {
	patience := time.NewTimer(guardPatience)
	defer patience.Stop()
	for {
		g.mu.Lock()
		if !g.full || g.spared(s) {
			g.running[s] = time.Now()
			if len(g.running) == 1 {
				g.ended.Go(g.watch)
			}
			g.mu.Unlock()
			return nil
		}
		below := g.below
		g.mu.Unlock()
		select {
		case <-below:
		case <-ctx.Done():
			return ctx.Err()
		case <-patience.C:
			return overMemory("the process holds as much memory as it may")
		}
	}
}

// leave undoes admit. What a user's statements got is forgotten with the last of them.
func (g *guard) leave(s *Prepared) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.running, s)
	for other := range g.running {
		if other.conn.engine == s.conn.engine {
			return
		}
	}
	heapForget(s.conn.engine.mark)
}

// close waits for the watcher. No statement may run any more.
func (g *guard) close() { g.ended.Wait() }

// stuck reports whether the process is above the soft bound for what it cannot give back: nothing runs, or ending what got most has not
// helped for a while. An aggregate that ends early can leave states behind that the engine has lost, see docs/security.md.
func (g *guard) stuck() bool {
	over := g.soft > 0 && g.resident() > g.soft && g.helpless()
	if over {
		debug.FreeOSMemory()
		heapPurge()
		over = g.resident() > g.soft && g.helpless()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if over && !g.told {
		g.log.Error("the process holds too much memory that no statement has: start it again", slog.Int64("resident", g.resident()), slog.Int64("bound", g.soft))
	}
	g.told = over
	return over
}

// helpless reports whether there is no statement to end, or ending them has not helped.
func (g *guard) helpless() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.running) == 0 || g.full && time.Since(g.since) > guardStuck
}

// watch looks until nothing runs.
func (g *guard) watch() {
	tick := time.NewTicker(guardEvery)
	defer tick.Stop()
	for range tick.C {
		over := g.soft > 0 && g.resident() > g.soft
		if over {
			heapPurge()
			over = g.resident() > g.soft
		} else if g.soft > 0 && g.resident() < g.soft/2 {
			heapCalm()
		}
		if !g.look(over) {
			return
		}
	}
}

// look acts on one reading. It returns false if nothing runs, which ends the watch.
func (g *guard) look(over bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.running) == 0 {
		over = false
	}
	if g.full && !over {
		close(g.below)
		g.below = make(chan struct{})
	}
	if over && !g.full {
		g.since = time.Now()
	}
	g.full = over
	if over {
		if s := g.largest(); s != nil {
			g.log.Warn("statement ended: the process holds as much memory as it may", slog.Int64("granted", heapGranted(s.mark)))
			s.stop(overMemory("ended by the guard of the process's memory"))
		}
	}
	return len(g.running) > 0
}

// largest returns the statement to end: of the instance that got most, the one that got most, or else the youngest. It is nil while
// one that was told to end still does, and if no user got much.
func (g *guard) largest() *Prepared {
	var victim *Prepared
	for s := range g.running {
		if s.verdict.Load() != nil {
			return nil
		}
		if g.spared(s) {
			continue
		}
		if victim == nil || g.compare(s, victim) > 0 {
			victim = s
		}
	}
	return victim
}

// spared reports whether the statement's user got little. Where the allocator does not say, nobody did.
func (g *guard) spared(s *Prepared) bool {
	return hooked() && heapGranted(s.conn.engine.mark) < guardSpares
}

func (g *guard) compare(a, b *Prepared) int {
	return cmp.Or(
		cmp.Compare(heapGranted(a.conn.engine.mark), heapGranted(b.conn.engine.mark)),
		cmp.Compare(heapGranted(a.mark), heapGranted(b.mark)),
		g.running[a].Compare(g.running[b]),
	)
}
