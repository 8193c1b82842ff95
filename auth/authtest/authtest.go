// Package authtest is the contract that every auth.Authenticator fulfils, as tests.
package authtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"gatehouse/auth"
)

// Subject is one authenticator under test.
type Subject struct {
	// New returns an authenticator whose rate limits have not been touched.
	New func(t *testing.T) auth.Authenticator
	// Good proves an identity, User says which.
	Good auth.Credential
	User string
	// Bad proves nothing; each has a name.
	Bad map[string]auth.Credential
	// Other is a kind of credential that the authenticator does not handle; nil if it handles all.
	Other *auth.Credential
	// SkipRateLimit says why the authenticator does not slow down guessing; "" if it does.
	SkipRateLimit string
}

// Run runs the contract against s.
func Run(t *testing.T, s Subject) {
	t.Run("good", func(t *testing.T) {
		id := s.good(t, s.New(t))
		if id.User != s.User || id.Method == "" {
			t.Errorf("identity is %q by %q, want %q by some method", id.User, id.Method, s.User)
		}
	})
	t.Run("bad", func(t *testing.T) { s.bad(t) })
	t.Run("nobody", func(t *testing.T) {
		if id, err := s.New(t).Authenticate(t.Context(), auth.Credential{}); err == nil || id.Valid() {
			t.Errorf("no credential gave %q, %v", id.User, err)
		}
	})
	t.Run("other kind", func(t *testing.T) {
		if s.Other == nil {
			t.Skip("handles every kind")
		}
		if _, err := s.New(t).Authenticate(t.Context(), *s.Other); !errors.Is(err, auth.ErrNotApplicable) {
			t.Errorf("another kind of credential gave %v", err)
		}
	})
	t.Run("callers share nothing", func(t *testing.T) { s.apart(t) })
	t.Run("at once", func(t *testing.T) { s.atOnce(t) })
	t.Run("rate limit", func(t *testing.T) { s.rateLimit(t) })
}

func (s Subject) good(t *testing.T, a auth.Authenticator) auth.Identity {
	t.Helper()
	id, err := a.Authenticate(t.Context(), s.Good)
	if err != nil || !id.Valid() {
		t.Fatalf("the good credential gave %+v, %v", id, err)
	}
	return id
}

func (s Subject) bad(t *testing.T) {
	for name, c := range s.Bad {
		t.Run(name, func(t *testing.T) {
			a := s.New(t)
			id, err := a.Authenticate(t.Context(), c)
			if !errors.Is(err, auth.ErrUnauthenticated) || id.Valid() {
				t.Errorf("got %+v, %v", id, err)
			}
			if err != nil && err.Error() != auth.ErrUnauthenticated.Error() {
				t.Errorf("the refusal says more than others do: %q", err)
			}
			s.good(t, a) // the control
		})
	}
}

func (s Subject) apart(t *testing.T) {
	a := s.New(t)
	one := s.good(t, a)
	before := fmt.Sprintf("%v", s.good(t, a))
	for i := range one.Groups {
		one.Groups[i] = "changed"
	}
	for i := range one.Roles {
		one.Roles[i] = "changed"
	}
	for k := range one.Claims {
		one.Claims[k] = "changed"
	}
	if after := fmt.Sprintf("%v", s.good(t, a)); after != before {
		t.Errorf("changing one caller's identity changed another's:\n%s\n%s", before, after)
	}
}

func (s Subject) atOnce(t *testing.T) {
	a := s.New(t)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if id, err := a.Authenticate(context.Background(), s.Good); err != nil || id.User != s.User {
				t.Errorf("got %q, %v", id.User, err)
			}
		})
	}
	wg.Wait()
}

// rateLimit guesses until it is told to wait; another user from another address is not held up.
func (s Subject) rateLimit(t *testing.T) {
	if s.SkipRateLimit != "" {
		t.Skip(s.SkipRateLimit)
	}
	a := s.New(t)
	guess := s.Good
	guess.Peer = "192.0.2.66"
	guess.User = strings.ToUpper(s.Good.User) + "-guess"
	for range 1000 {
		_, err := a.Authenticate(t.Context(), guess)
		if errors.Is(err, auth.ErrRateLimited) {
			s.good(t, a)
			return
		}
		if !errors.Is(err, auth.ErrUnauthenticated) {
			t.Fatalf("a guess gave %v", err)
		}
	}
	t.Error("1000 guesses were not slowed down")
}
