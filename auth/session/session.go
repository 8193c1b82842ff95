// Package session keeps who is logged in: it issues opaque bearer tokens after a login by password,
// remembers verified tokens of issuers, and ends both by idle and absolute limits.
package session

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"log/slog"
	"sync"
	"time"

	"gatehouse/auth"
)

// ErrTooMany is returned when a user, or all together, have as many sessions as they may. Its text may
// reach a client.
var ErrTooMany = errors.New("too many sessions, close some and try again")

// tokenPrefix marks our own tokens, so that nobody takes one for a JWT and scanners for leaked secrets
// can find it. 32 random bytes follow as base64url.
const tokenPrefix = "ghs_"

// Config says how long sessions live and how many there may be. Zero means the default.
type Config[V any] struct {
	Idle     time.Duration // since the last use; 30 minutes
	Absolute time.Duration // since the login; 12 hours
	PerUser  int           // sessions of one principal; 256
	Total    int           // sessions of all; 10,000
	// Spare is how long a session is unused at least before it has to give way to a new one of the
	// same principal who has PerUser of them; one minute. Pools often drop connections unclosed.
	Spare time.Duration
	// Renew, if set, is asked every RenewEvery (one minute) of use whether the principal is still who
	// they were. It returns the identity as it is now, whole, or ErrUnauthenticated, which ends the
	// session; any other error keeps the session as it is until its limits.
	Renew      func(context.Context, auth.Identity) (auth.Identity, error)
	RenewEvery time.Duration
	// OnClose is called once for each session that ended, after it cannot be found any more. A panic in
	// it is logged and goes no further.
	OnClose func(*Session[V])
	Log     *slog.Logger     // nil: no log
	Now     func() time.Time // nil: the system's clock
}

// Sessions holds all sessions of a process. It may be used at once from many goroutines.
type Sessions[V any] struct {
	cfg  Config[V]
	stop chan struct{}
	done chan struct{}

	mu     sync.Mutex
	closed bool
	all    map[digest]*Session[V]
	owners map[owner]map[digest]*Session[V]
}

// digest is the SHA-256 of a token. Tokens are not kept, and looking up by digest gives no timing
// signal that helps to find one: nobody can steer a digest towards another's.
type digest [sha256.Size]byte

type owner struct{ issuer, subject string }

// Session is one login. Its value and owner never change; its identity may, by renewal, as one value.
type Session[V any] struct {
	// Value is what the caller of Issue or Adopt attached.
	Value V

	in    *Sessions[V]
	key   digest
	owner owner
	born  time.Time

	// Guarded by in.mu.
	identity auth.Identity
	used     time.Time
	renewed  time.Time
	holds    int
	ended    bool
}

// New returns an empty set of sessions. Close ends it.
func New[V any](cfg Config[V]) (*Sessions[V], error) {
	def(&cfg.Idle, 30*time.Minute)
	def(&cfg.Absolute, 12*time.Hour)
	def(&cfg.PerUser, 256)
	def(&cfg.Total, 10_000)
	def(&cfg.Spare, time.Minute)
	def(&cfg.RenewEvery, time.Minute)
	if cfg.Idle < 0 || cfg.Absolute < 0 || cfg.PerUser < 0 || cfg.Total < 0 || cfg.Spare < 0 || cfg.RenewEvery < 0 {
		return nil, errors.New("session: limits must be positive")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Sessions[V]{
		cfg: cfg, stop: make(chan struct{}), done: make(chan struct{}),
		all: map[digest]*Session[V]{}, owners: map[owner]map[digest]*Session[V]{},
	}
	go s.sweepUntilClosed()
	return s, nil
}

func def[T comparable](v *T, d T) {
	if *v == *new(T) {
		*v = d
	}
}

// Issue starts a session for id and returns its token, 256 random bits, to hand to the client. It
// returns ErrTooMany if there are too many.
func (s *Sessions[V]) Issue(id auth.Identity, value V) (auth.Secret, *Session[V], error) {
	var raw [32]byte
	rand.Read(raw[:])
	token := tokenPrefix + base64.RawURLEncoding.EncodeToString(raw[:])
	session, err := s.add(sha256.Sum256([]byte(token)), id, func() V { return value })
	if err != nil {
		return auth.Secret{}, nil, err
	}
	return auth.NewSecret(token), session, nil
}

// Adopt returns the session that belongs to token, an issuer's own token that has just proved id, and
// starts one with the value that make returns if there is none. Two tokens of one user are two
// sessions. It returns ErrUnauthenticated if the session is another principal's, and ErrTooMany.
func (s *Sessions[V]) Adopt(token auth.Secret, id auth.Identity, make func() V) (*Session[V], error) {
	if token.Reveal() == "" {
		return nil, auth.ErrUnauthenticated
	}
	return s.add(sha256.Sum256([]byte(token.Reveal())), id, make)
}

func (s *Sessions[V]) add(key digest, id auth.Identity, value func() V) (*Session[V], error) {
	now := s.cfg.Now()
	if !id.Valid() || (!id.ExpiresAt.IsZero() && !now.Before(id.ExpiresAt)) {
		return nil, auth.ErrUnauthenticated
	}
	var ended []*Session[V]
	defer func() { s.closing(ended) }()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, auth.ErrUnauthenticated
	}
	if old, ok := s.all[key]; ok {
		if !s.over(old, now) {
			if !old.identity.Same(id) {
				return nil, auth.ErrUnauthenticated
			}
			old.identity, old.used, old.renewed = id, now, now
			return old, nil
		}
		ended = append(ended, s.remove(old))
	}
	who := owner{id.Issuer, id.Subject}
	gone, err := s.makeRoom(who, now)
	ended = append(ended, gone...)
	if err != nil {
		return nil, err
	}
	session := &Session[V]{Value: value(), in: s, key: key, owner: who, born: now, identity: id, used: now, renewed: now}
	s.all[key] = session
	if s.owners[who] == nil {
		s.owners[who] = map[digest]*Session[V]{}
	}
	s.owners[who][key] = session
	return session, nil
}

// makeRoom ends what is over or spare, so that one more session of who fits.
func (s *Sessions[V]) makeRoom(who owner, now time.Time) (ended []*Session[V], err error) {
	if len(s.owners[who]) >= s.cfg.PerUser {
		var spare *Session[V]
		for _, one := range s.owners[who] {
			switch {
			case s.over(one, now):
				ended = append(ended, s.remove(one))
			case one.holds == 0 && now.Sub(one.used) >= s.cfg.Spare && (spare == nil || one.used.Before(spare.used)):
				spare = one
			}
		}
		if len(s.owners[who]) >= s.cfg.PerUser {
			if spare == nil {
				return ended, ErrTooMany
			}
			ended = append(ended, s.remove(spare))
		}
	}
	if len(s.all) >= s.cfg.Total {
		ended = append(ended, s.sweepLocked(now)...)
	}
	if len(s.all) >= s.cfg.Total {
		return ended, ErrTooMany // nobody's live session ends because of others
	}
	return ended, nil
}

// Lookup returns the session of token and counts as a use of it. It returns ErrUnauthenticated if there
// is none, or it is over.
func (s *Sessions[V]) Lookup(ctx context.Context, token auth.Secret) (*Session[V], error) {
	now := s.cfg.Now()
	key := digest(sha256.Sum256([]byte(token.Reveal())))
	s.mu.Lock()
	session, ok := s.all[key]
	switch {
	case !ok:
		s.mu.Unlock()
		return nil, auth.ErrUnauthenticated
	case s.over(session, now):
		s.remove(session)
		s.mu.Unlock()
		s.closing([]*Session[V]{session})
		return nil, auth.ErrUnauthenticated
	}
	session.used = now
	renew := s.cfg.Renew != nil && now.Sub(session.renewed) >= s.cfg.RenewEvery
	if renew {
		session.renewed = now // one caller renews, the others go on
	}
	old := session.identity
	s.mu.Unlock()
	if !renew {
		return session, nil
	}
	return s.renew(ctx, session, old)
}

func (s *Sessions[V]) renew(ctx context.Context, session *Session[V], old auth.Identity) (*Session[V], error) {
	id, err := s.cfg.Renew(ctx, old)
	if errors.Is(err, auth.ErrUnauthenticated) || (err == nil && !id.Same(old)) {
		session.Close()
		return nil, auth.ErrUnauthenticated
	}
	if err != nil {
		return session, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if session.ended {
		return nil, auth.ErrUnauthenticated
	}
	session.identity = id
	return session, nil
}

// Identity returns who the session belongs to, as of now.
func (s *Session[V]) Identity() auth.Identity {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	return s.identity
}

// Hold keeps the session from being idle or spare while a statement runs or its rows are read, until
// the returned function is called, once. The absolute limit stays.
func (s *Session[V]) Hold() (release func()) {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	s.holds++
	return sync.OnceFunc(func() {
		now := s.in.cfg.Now()
		s.in.mu.Lock()
		defer s.in.mu.Unlock()
		s.holds--
		s.used = now
	})
}

// Close ends the session at once: its token is worthless from now on. Closing twice does nothing.
func (s *Session[V]) Close() {
	s.in.mu.Lock()
	if s.ended {
		s.in.mu.Unlock()
		return
	}
	s.in.remove(s)
	s.in.mu.Unlock()
	s.in.closing([]*Session[V]{s})
}
