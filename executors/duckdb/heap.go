package duckdb

import (
	"math"
	"sync"
)

// The engine's own limit counts what its buffer manager holds. What a function makes for one vector of rows is not in it: a replace of
// each letter by a long text is gigabytes in one step, which no interrupt ends. So the engine's allocator asks us for every
// range of memory (heap_linux.c), and the answer is no above
//
//   - the soft bound, seven eighths of what the process may have resident, for the instance that got most lately;
//   - an eighth above what it may have, for the others. One user has one instance, so what others do goes on.
//
// The statement whose request is refused fails with KindMemory. What does not come from that allocator, and many small requests, are
// the guard's (guard.go).

// heapSlack is what the process may hold beside the engine: the Go heap, results on their way, files' footers.
const heapSlack = 1 << 30

// processLimit is what the process may have resident if nobody said: a quarter above the engine's memory and slack, but not more than
// nine tenths of what there is.
func processLimit(engine, machine int64) int64 {
	return min(machine/10*9, engine+engine/4+heapSlack)
}

// bounds are those of all executors of this process: the lowest counts.
var bounds = struct {
	mu     sync.Mutex
	limits map[*Executor]int64
}{limits: map[*Executor]int64{}}

// setBound adds x's limit, or with 0 takes it away.
func setBound(x *Executor, limit int64) {
	bounds.mu.Lock()
	defer bounds.mu.Unlock()
	if delete(bounds.limits, x); limit > 0 {
		bounds.limits[x] = limit
	}
	lowest := int64(math.MaxInt64)
	for _, n := range bounds.limits {
		lowest = min(lowest, n)
	}
	if len(bounds.limits) == 0 {
		lowest = 0
	}
	heapBounds(softBound(lowest), lowest)
}

func softBound(hard int64) int64 { return hard / 8 * 7 }

// marks gives out the numbers from low up to high.
type marks struct {
	mu        sync.Mutex
	low, high int
	next      int
	free      []int
}

var (
	engineMarks    = &marks{low: 1, high: heapEngines}
	statementMarks = &marks{low: heapEngines, high: heapMarks}
)

// take returns a number, 0 if all are in use: nobody's.
func (m *marks) take() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.free); n > 0 {
		k := m.free[n-1]
		m.free = m.free[:n-1]
		return k
	}
	if m.low+m.next >= m.high {
		return 0
	}
	m.next++
	return m.low + m.next - 1
}

func (m *marks) give(k int) {
	if k == 0 {
		return
	}
	heapForget(k)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free = append(m.free, k)
}
