package session_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"gatehouse/auth"
	"gatehouse/auth/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func identity(user string) auth.Identity {
	return auth.Identity{Issuer: "gatehouse:users", Subject: user, User: user, Method: "basic"}
}

func open(t *testing.T, cfg session.Config[string]) *session.Sessions[string] {
	t.Helper()
	s, err := session.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func issue(t *testing.T, s *session.Sessions[string], user string) auth.Secret {
	t.Helper()
	token, _, err := s.Issue(identity(user), user+"'s")
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// alive says whose session token opens, "" if none.
func alive(s *session.Sessions[string], token auth.Secret) string {
	one, err := s.Lookup(context.Background(), token)
	if err != nil {
		return ""
	}
	return one.Identity().User + "/" + one.Value
}

func TestTokens(t *testing.T) {
	s := open(t, session.Config[string]{})
	defer s.Close()
	a, b := issue(t, s, "alice"), issue(t, s, "alice")
	if a.Reveal() == b.Reveal() || len(a.Reveal()) != len("ghs_")+43 {
		t.Errorf("tokens %q, %q", a.Reveal(), b.Reveal())
	}
	if got := alive(s, a); got != "alice/alice's" {
		t.Errorf("got %q", got)
	}
	for _, wrong := range []string{"", "ghs_", a.Reveal()[:46], a.Reveal() + "x", strings.ToUpper(a.Reveal())} {
		if got := alive(s, auth.NewSecret(wrong)); got != "" {
			t.Errorf("%q opens the session of %s", wrong, got)
		}
	}
	if _, _, err := s.Issue(auth.Identity{}, ""); !errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("nobody got a session: %v", err)
	}
}

func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended []string
		s := open(t, session.Config[string]{Idle: 10 * time.Minute, Absolute: time.Hour, OnClose: func(one *session.Session[string]) { ended = append(ended, one.Value) }})
		defer s.Close()
		idle, busy, held := issue(t, s, "idle"), issue(t, s, "busy"), issue(t, s, "held")
		one, err := s.Lookup(t.Context(), held)
		if err != nil {
			t.Fatal(err)
		}
		release := one.Hold()
		for range 5 {
			time.Sleep(9 * time.Minute)
			if alive(s, busy) == "" {
				t.Fatal("a session in use ended")
			}
		}
		synctest.Wait()
		if alive(s, idle) != "" || len(ended) != 1 || ended[0] != "idle's" {
			t.Errorf("45 minutes idle: alive %q, ended %v", alive(s, idle), ended)
		}
		if alive(s, held) == "" {
			t.Error("a session that runs a statement ended as idle")
		}
		release()
		release()
		time.Sleep(8 * time.Minute)
		if alive(s, busy) == "" || alive(s, held) == "" {
			t.Error("ended before the absolute limit")
		}
		time.Sleep(8 * time.Minute)
		if alive(s, busy) != "" || alive(s, held) != "" {
			t.Error("alive after the absolute limit")
		}
		synctest.Wait()
		if len(ended) != 3 || s.Len() != 0 {
			t.Errorf("ended %v, %d left", ended, s.Len())
		}
	})
}

func TestIdentityExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, session.Config[string]{})
		defer s.Close()
		id := identity("alice")
		id.ExpiresAt = time.Now().Add(5 * time.Minute)
		token, _, err := s.Issue(id, "")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5*time.Minute - time.Second)
		if alive(s, token) == "" {
			t.Error("ended early")
		}
		time.Sleep(time.Second)
		if alive(s, token) != "" {
			t.Error("outlived its identity")
		}
		if _, _, err := s.Issue(id, ""); !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("an expired identity got a session: %v", err)
		}
	})
}

func TestCaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, session.Config[string]{PerUser: 2, Total: 4})
		defer s.Close()
		first, second := issue(t, s, "alice"), issue(t, s, "alice")
		if _, _, err := s.Issue(identity("alice"), ""); !errors.Is(err, session.ErrTooMany) {
			t.Errorf("third session: %v", err)
		}
		other := identity("alice")
		other.Issuer = "https://id.example"
		if _, _, err := s.Issue(other, ""); err != nil {
			t.Errorf("another issuer's alice: %v", err)
		}
		time.Sleep(2 * time.Minute)
		if alive(s, first) == "" { // a use: now the second is the older one
			t.Fatal("gone")
		}
		third := issue(t, s, "alice")
		if alive(s, second) != "" || alive(s, first) == "" || alive(s, third) == "" {
			t.Error("the session that gave way is not the one unused for longest")
		}
		issue(t, s, "bob")
		time.Sleep(2 * time.Minute)
		if _, _, err := s.Issue(identity("carol"), ""); !errors.Is(err, session.ErrTooMany) {
			t.Errorf("over the total: %v", err)
		}
		if alive(s, first) == "" {
			t.Error("somebody lost a session to others")
		}
	})
}

func TestClose(t *testing.T) {
	closed := 0
	s := open(t, session.Config[string]{OnClose: func(*session.Session[string]) { closed++ }})
	a, b, c := issue(t, s, "alice"), issue(t, s, "alice"), issue(t, s, "bob")
	one, err := s.Lookup(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	one.Close()
	one.Close()
	if alive(s, a) != "" || alive(s, b) == "" || closed != 1 {
		t.Errorf("after closing a: %q, %q, %d closed", alive(s, a), alive(s, b), closed)
	}
	if n := s.CloseUser(identity("alice")); n != 1 || alive(s, b) != "" || alive(s, c) == "" {
		t.Errorf("closing alice's ended %d; bob's %q", n, alive(s, c))
	}
	s.Close()
	s.Close()
	if alive(s, c) != "" || closed != 3 {
		t.Errorf("after the end: %q, %d closed", alive(s, c), closed)
	}
	if _, _, err := s.Issue(identity("late"), ""); !errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("a session after the end: %v", err)
	}
}

func TestOnClosePanics(t *testing.T) {
	s := open(t, session.Config[string]{OnClose: func(*session.Session[string]) { panic("broken") }})
	a, b := issue(t, s, "alice"), issue(t, s, "bob")
	one, err := s.Lookup(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	one.Close()
	if alive(s, a) != "" || alive(s, b) == "" {
		t.Errorf("after a panic: %q, %q", alive(s, a), alive(s, b))
	}
	s.Close()
}

func TestAdopt(t *testing.T) {
	s := open(t, session.Config[string]{})
	defer s.Close()
	made := 0
	adopt := func(token, user string) (*session.Session[string], error) {
		return s.Adopt(auth.NewSecret(token), identity(user), func() string { made++; return fmt.Sprint(made) })
	}
	one, err := adopt("a.b.c", "alice")
	if err != nil {
		t.Fatal(err)
	}
	again, err := adopt("a.b.c", "alice")
	if err != nil || again != one || made != 1 {
		t.Errorf("the same token: same session %v, made %d, %v", again == one, made, err)
	}
	two, err := adopt("a.b.d", "alice")
	if err != nil || two == one {
		t.Errorf("another token of the same user shares the session, %v", err)
	}
	if _, err := adopt("a.b.c", "bob"); !errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("another principal took over the session: %v", err)
	}
	if _, err := adopt("", "bob"); !errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("an empty token: %v", err)
	}
	if got := alive(s, auth.NewSecret("a.b.d")); got != "alice/2" {
		t.Errorf("got %q", got)
	}
}

func TestRenew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, next, fail := 0, identity("alice"), error(nil)
		s := open(t, session.Config[string]{Renew: func(_ context.Context, old auth.Identity) (auth.Identity, error) {
			asked++
			if old.Subject != "alice" {
				t.Errorf("asked for %q", old.Subject)
			}
			return next, fail
		}})
		defer s.Close()
		token := issue(t, s, "alice")
		alive(s, token)
		if asked != 0 {
			t.Error("asked at once")
		}
		next.Roles = []string{"new"}
		time.Sleep(time.Minute)
		one, err := s.Lookup(t.Context(), token)
		if err != nil || asked != 1 || fmt.Sprint(one.Identity().Roles) != "[new]" {
			t.Errorf("asked %d times, %v, %v", asked, one, err)
		}
		fail = auth.ErrUnavailable
		time.Sleep(time.Minute)
		if alive(s, token) == "" || asked != 2 {
			t.Error("an issuer that is away ended the session")
		}
		fail, next = nil, identity("bob")
		time.Sleep(time.Minute)
		if got := alive(s, token); got != "" {
			t.Errorf("the session became %s", got)
		}
		token, next = issue(t, s, "alice"), identity("alice")
		fail = auth.ErrUnauthenticated
		time.Sleep(time.Minute)
		if alive(s, token) != "" {
			t.Error("a removed user's session lives")
		}
	})
}

func TestAtOnce(t *testing.T) {
	s := open(t, session.Config[string]{PerUser: 8})
	defer s.Close()
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			token, one, err := s.Issue(identity(fmt.Sprint(i%4)), "")
			if err != nil {
				t.Error(err)
				return
			}
			defer one.Hold()()
			if _, err := s.Lookup(context.Background(), token); err != nil {
				t.Error(err)
			}
			one.Close()
		})
	}
	wg.Wait()
	if s.Len() != 0 {
		t.Errorf("%d left", s.Len())
	}
}
