package session

import (
	"runtime/debug"
	"time"

	"gatehouse/auth"
)

// over reports whether a limit of one has passed: idle, absolute, or the expiry of its identity.
func (s *Sessions[V]) over(one *Session[V], now time.Time) bool {
	if exp := one.identity.ExpiresAt; !exp.IsZero() && !now.Before(exp) {
		return true
	}
	return now.Sub(one.born) >= s.cfg.Absolute || (one.holds == 0 && now.Sub(one.used) >= s.cfg.Idle)
}

// remove takes one out; the caller hands it to closing after unlocking.
func (s *Sessions[V]) remove(one *Session[V]) *Session[V] {
	one.ended = true
	delete(s.all, one.key)
	delete(s.owners[one.owner], one.key)
	if len(s.owners[one.owner]) == 0 {
		delete(s.owners, one.owner)
	}
	return one
}

func (s *Sessions[V]) closing(ended []*Session[V]) {
	if s.cfg.OnClose == nil {
		return
	}
	for _, one := range ended {
		func() {
			defer func() {
				if p := recover(); p != nil {
					s.cfg.Log.Error("ending a session panicked", "panic", p, "stack", string(debug.Stack()))
				}
			}()
			s.cfg.OnClose(one)
		}()
	}
}

func (s *Sessions[V]) sweepLocked(now time.Time) (ended []*Session[V]) {
	for _, one := range s.all {
		if s.over(one, now) {
			ended = append(ended, s.remove(one))
		}
	}
	return ended
}

// sweepUntilClosed ends what is over even if nobody asks for it, so that its resources are freed.
func (s *Sessions[V]) sweepUntilClosed() {
	defer close(s.done)
	tick := time.NewTicker(max(min(s.cfg.Idle, s.cfg.Absolute)/4, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
		}
		s.mu.Lock()
		ended := s.sweepLocked(s.cfg.Now())
		s.mu.Unlock()
		s.closing(ended)
	}
}

// Len returns how many sessions there are.
func (s *Sessions[V]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// CloseUser ends all sessions of the principal of id and returns how many there were.
func (s *Sessions[V]) CloseUser(id auth.Identity) int {
	s.mu.Lock()
	var ended []*Session[V]
	for _, one := range s.owners[owner{id.Issuer, id.Subject}] {
		ended = append(ended, s.remove(one))
	}
	s.mu.Unlock()
	s.closing(ended)
	return len(ended)
}

// Close ends all sessions and waits for the sweeping to stop. Closing twice does nothing.
func (s *Sessions[V]) Close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		<-s.done
		return
	}
	s.closed = true
	var ended []*Session[V]
	for _, one := range s.all {
		ended = append(ended, s.remove(one))
	}
	s.mu.Unlock()
	close(s.stop)
	s.closing(ended)
	<-s.done
}
