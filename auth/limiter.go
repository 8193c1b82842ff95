package auth

import (
	"errors"
	"hash/maphash"
	"sync"
	"time"
)

// Rate allows Burst failures at once, and one more each Every.
type Rate struct {
	Burst int
	Every time.Duration
}

// Limits are the rates at which logins may fail. Zero means the default.
type Limits struct {
	Peer     Rate // from one network address, whatever the user
	PeerUser Rate // from one network address for one user
	User     Rate // for one user, from anywhere: higher, because others can use it up
}

// Limiter slows down guessing. Only failures count, so that a pool of connections may log in as often
// as it likes. Its memory is fixed, whatever clients send: names share hashed slots, and it takes the
// most generous of several; sharing can only delay somebody, and a flood of names cannot push a count
// out. It may be used at once from many goroutines.
type Limiter struct {
	now  func() time.Time
	seed maphash.Seed

	mu       sync.Mutex
	peer     table
	peerUser table
	user     table
}

const (
	limiterRows  = 3
	limiterWidth = 4096
)

// table holds, per slot, the time at which the slot's bucket is full again (the generic cell rate
// algorithm); the zero time is a full bucket.
type table struct {
	rate  Rate
	slots [limiterRows][limiterWidth]time.Time
}

// NewLimiter returns a limiter with these limits; a nil clock is the system's.
func NewLimiter(l Limits, now func() time.Time) (*Limiter, error) {
	if now == nil {
		now = time.Now
	}
	def := func(r, d Rate) Rate {
		if r == (Rate{}) {
			return d
		}
		return r
	}
	l.Peer = def(l.Peer, Rate{Burst: 30, Every: 2 * time.Second})
	l.PeerUser = def(l.PeerUser, Rate{Burst: 8, Every: 5 * time.Second})
	l.User = def(l.User, Rate{Burst: 60, Every: 2 * time.Second})
	for _, r := range []Rate{l.Peer, l.PeerUser, l.User} {
		if r.Burst < 1 || r.Every <= 0 {
			return nil, errors.New("auth: a rate needs a burst of at least 1 and a positive interval")
		}
	}
	return &Limiter{now: now, seed: maphash.MakeSeed(), peer: table{rate: l.Peer}, peerUser: table{rate: l.PeerUser}, user: table{rate: l.User}}, nil
}

// Allow reports whether an attempt for user from peer may go on. Ask it again right before the work
// that decides, so that attempts which came together cannot pass together.
func (l *Limiter) Allow(peer, user string) bool {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.peer.allows(l.slots(peer), now) && l.user.allows(l.slots(user), now) &&
		l.peerUser.allows(l.slots(pair(peer, user)), now)
}

// Fail counts a failed attempt.
func (l *Limiter) Fail(peer, user string) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.peer.book(l.slots(peer), now)
	l.user.book(l.slots(user), now)
	l.peerUser.book(l.slots(pair(peer, user)), now)
}

// pair joins both with a separator that cannot be part of an address, so no two pairs make one key.
func pair(peer, user string) string { return peer + "\x00" + user }

func (l *Limiter) slots(key string) [limiterRows]int {
	h := maphash.String(l.seed, key)
	var s [limiterRows]int
	for i := range s {
		s[i] = int(h>>(16*i)) & (limiterWidth - 1)
	}
	return s
}

func (t *table) allows(slots [limiterRows]int, now time.Time) bool {
	limit := now.Add(time.Duration(t.rate.Burst-1) * t.rate.Every)
	for row, s := range slots {
		if !t.slots[row][s].After(limit) {
			return true
		}
	}
	return false
}

func (t *table) book(slots [limiterRows]int, now time.Time) {
	for row, s := range slots {
		if p := &t.slots[row][s]; p.Before(now) {
			*p = now.Add(t.rate.Every)
		} else {
			*p = p.Add(t.rate.Every)
		}
	}
}
