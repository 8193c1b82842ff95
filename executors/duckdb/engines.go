package duckdb

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"gatehouse/executors"
)

// maxIdleEngines is how many instances without a statement stay open. One holds some 3 MB and its threads, and takes some 10 ms to open.
const maxIdleEngines = 16

// owner says whose an instance is, and which of his: what is whole does not spill, see states.go, and what is serial has one thread, see serial.
type owner struct {
	name          string
	whole, serial bool
}

// engines holds one instance for each user who has statements, so that its memory, spill space, threads and caches are that user's alone.
type engines struct {
	config Config // with defaults
	root   string

	mu     sync.Mutex
	users  map[owner]*engine
	made   int
	closed bool
}

func newEngines(c Config, root string) (*engines, error) {
	if err := os.Mkdir(filepath.Join(root, spillFolder), 0o700); err != nil {
		return nil, err
	}
	return &engines{config: c, root: root, users: map[owner]*engine{}}, nil
}

// take returns the user's instance, and opens it if there is none. The caller gives it back.
func (s *engines) take(user owner) (*engine, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, executors.ErrClosed
	}
	e := s.users[user]
	if e == nil {
		s.made++
		e = &engine{
			owner: user, spill: filepath.Join(s.root, spillFolder, fmt.Sprint(s.made)), mark: engineMarks.take(),
			turns: s.turns(user), opened: make(chan struct{}),
		}
		s.users[user] = e
		go func() {
			defer close(e.opened)
			e.err = e.open(s.config, s.root)
		}()
	}
	e.users++
	idle := s.idle()
	s.mu.Unlock()
	for _, old := range idle {
		old.close()
	}
	<-e.opened
	if e.err != nil {
		s.drop(e)
		s.give(e)
		return nil, &executors.Error{Kind: executors.KindInternal, Cause: fmt.Errorf("duckdb: an instance did not open: %w", e.err)}
	}
	return e, nil
}

// turns are the same for all instances of a user. It needs mu.
func (s *engines) turns(user owner) *turns {
	for _, whole := range []bool{false, true} {
		for _, serial := range []bool{false, true} {
			if other := s.users[owner{name: user.name, whole: whole, serial: serial}]; other != nil {
				return other.turns
			}
		}
	}
	return newTurns(s.config.Threads)
}

// give says that one statement of e is through.
func (s *engines) give(e *engine) {
	s.mu.Lock()
	e.users--
	e.used = time.Now()
	last := e.users == 0 && s.users[e.owner] != e
	s.mu.Unlock()
	if last {
		e.close()
	}
}

// drop makes the user's next statement open a new instance: this one is damaged.
func (s *engines) drop(e *engine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users[e.owner] == e {
		delete(s.users, e.owner)
	}
}

// idle takes away the instance that was not used for the longest time if too many are idle. It needs mu.
func (s *engines) idle() []*engine {
	var oldest *engine
	n := 0
	for _, e := range s.users {
		if e.users > 0 {
			continue
		}
		if n++; oldest == nil || e.used.Before(oldest.used) {
			oldest = e
		}
	}
	if n <= maxIdleEngines {
		return nil
	}
	delete(s.users, oldest.owner)
	return []*engine{oldest}
}

// close needs all statements to have ended.
func (s *engines) close() {
	s.mu.Lock()
	s.closed = true
	users := s.users
	s.users = nil
	s.mu.Unlock()
	for _, e := range users {
		<-e.opened
		e.close()
	}
}
