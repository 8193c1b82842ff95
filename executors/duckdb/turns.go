package duckdb

import (
	"context"
	"sync"
	"time"
)

// turnTime is how long a statement may work before another one of the same user that waits has its turn.
const turnTime = 10 * time.Millisecond

// turns lets so many statements of one user work at once; the others wait in line. Without it a user with 32 statements would have 32
// threads on the processors against one of somebody with a single statement.
type turns struct {
	requests chan struct{} // one for each of the user's requests to object stores that is under way

	mu    sync.Mutex
	free  int
	queue []chan struct{} // closed when it is that one's turn
}

func newTurns(n int) *turns { return &turns{requests: make(chan struct{}, userRequests), free: n} }

// enter waits for a turn, or for the end of ctx. Who enters leaves.
func (t *turns) enter(ctx context.Context) error {
	t.mu.Lock()
	if t.free > 0 && len(t.queue) == 0 {
		t.free--
		t.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	t.queue = append(t.queue, turn)
	t.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	for i, other := range t.queue {
		if other == turn {
			t.queue = append(t.queue[:i], t.queue[i+1:]...)
			t.mu.Unlock()
			return ctx.Err()
		}
	}
	t.mu.Unlock()
	t.leave() // it was given in the meantime
	return ctx.Err()
}

// leave hands the turn to the next in line.
func (t *turns) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) > 0 {
		close(t.queue[0])
		t.queue = t.queue[1:]
		return
	}
	t.free++
}

// turn is a place among the statements that work.
type turn struct {
	of   *turns
	held bool
}

// take is enter with something to end.
func (t *turns) take(ctx context.Context) (*turn, error) {
	if err := t.enter(ctx); err != nil {
		return nil, err
	}
	return &turn{of: t, held: true}, nil
}

// pass lets others go first if they wait.
func (u *turn) pass(ctx context.Context) error {
	u.of.mu.Lock()
	waited := len(u.of.queue) > 0
	u.of.mu.Unlock()
	if !waited {
		return nil
	}
	u.end()
	if err := u.of.enter(ctx); err != nil {
		return err
	}
	u.held = true
	return nil
}

func (u *turn) end() {
	if u.held {
		u.held = false
		u.of.leave()
	}
}
