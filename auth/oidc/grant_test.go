package oidc

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"gatehouse/auth"
	"gatehouse/auth/authtest"
)

func (b *bench) grantConfig() Config {
	cfg := b.config()
	cfg.PasswordGrant = &PasswordGrant{ClientID: "cli"}
	return cfg
}

func login(t *testing.T, i *Issuer, user, password string) (auth.Identity, error) {
	return i.Authenticate(t.Context(), auth.Credential{User: user, Password: auth.NewSecret(password), Peer: "192.0.2.1"})
}

func TestPasswordGrant(t *testing.T) {
	b := newBench(t)
	b.Claims["alice"] = map[string]any{"groups": []string{"emea"}}
	i := open(t, b.grantConfig())
	id, err := login(t, i, "alice", "alice-pw")
	if err != nil {
		t.Fatal(err)
	}
	if id.User != "alice" || len(id.Groups) != 1 || id.Token.Reveal() == "" || id.Method != "oidc" {
		t.Errorf("got %+v", id)
	}
	if _, err := ask(t, i, id.Token.Reveal()); err != nil {
		t.Errorf("the token that the login gave is no good: %v", err)
	}
	if got := id.ExpiresAt.Sub(epoch); got != 30*time.Minute {
		t.Errorf("the login can be renewed for %v, want 30m", got)
	}
	if _, err := login(t, open(t, b.config()), "alice", "alice-pw"); !errors.Is(err, auth.ErrNotApplicable) {
		t.Errorf("without the option: %v", err)
	}
}

// TestPasswordGrantBelievesNothing: a token from the token endpoint is checked like any other.
func TestPasswordGrantBelievesNothing(t *testing.T) {
	for name, claims := range map[string]map[string]any{
		"other audience": {"aud": "account"},
		"ID token":       {"typ": "ID"},
		"expired":        {"exp": epoch.Unix() - 100},
		"other issuer":   {"iss": "https://other.example"},
		"no user":        {"preferred_username": ""},
	} {
		b := newBench(t)
		b.Claims["alice"] = claims
		if id, err := login(t, open(t, b.grantConfig()), "alice", "alice-pw"); !errors.Is(err, auth.ErrUnauthenticated) || id.Valid() {
			t.Errorf("%s: %q, %v", name, id.User, err)
		}
	}
}

func TestPasswordGrantFaults(t *testing.T) {
	elsewhere := newBench(t)
	for name, c := range map[string]struct {
		want   error
		answer http.HandlerFunc
	}{
		"server error": {auth.ErrUnavailable, func(w http.ResponseWriter, _ *http.Request) { authtest.Answer(w, 503, map[string]any{}) }},
		"our client refused": {auth.ErrUnavailable, func(w http.ResponseWriter, _ *http.Request) {
			authtest.Answer(w, 401, map[string]any{"error": "invalid_client", "error_description": "secret"})
		}},
		"user refused": {auth.ErrUnauthenticated, func(w http.ResponseWriter, _ *http.Request) {
			authtest.Answer(w, 400, map[string]any{"error": "invalid_grant", "error_description": "secret"})
		}},
		"opaque token": {auth.ErrUnauthenticated, func(w http.ResponseWriter, _ *http.Request) {
			authtest.Answer(w, 200, map[string]any{"access_token": "opaque"})
		}},
		"no token": {auth.ErrUnavailable, func(w http.ResponseWriter, _ *http.Request) { authtest.Answer(w, 200, map[string]any{}) }},
		"redirect": {auth.ErrUnavailable, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/token", http.StatusTemporaryRedirect)
		}},
		"redirect at home": {auth.ErrUnavailable, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/moved", http.StatusTemporaryRedirect)
		}},
	} {
		b := newBench(t)
		i := open(t, b.grantConfig())
		if _, err := login(t, i, "alice", "alice-pw"); err != nil {
			t.Fatal(err)
		}
		b.Override = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/token" {
				c.answer(w, r)
			}
			return r.URL.Path == "/token"
		}
		if _, err := login(t, i, "alice", "alice-pw"); !errors.Is(err, c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if b.Calls("/moved") != 0 {
			t.Errorf("%s: a password went to another address", name)
		}
	}
	if n := elsewhere.Calls("/token"); n != 0 {
		t.Error("a password went to another host")
	}
}

func TestRenew(t *testing.T) {
	b := newBench(t)
	i := open(t, b.grantConfig())
	id, err := login(t, i, "alice", "alice-pw")
	if err != nil {
		t.Fatal(err)
	}
	calls := b.Calls("/token")
	same, err := i.Renew(t.Context(), id)
	if err != nil || same.Token.Reveal() != id.Token.Reveal() || b.Calls("/token") != calls {
		t.Errorf("a fresh token was replaced: %v", err)
	}
	b.Claims["alice"] = map[string]any{"groups": []string{"new"}}
	b.clock.add(6 * time.Minute)
	next, err := i.Renew(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if next.Token.Reveal() == id.Token.Reveal() || len(next.Groups) != 1 || !next.ExpiresAt.After(id.ExpiresAt) || !next.Same(id) {
		t.Errorf("token, groups and expiry did not change together: %+v", next)
	}
	if len(i.grants.refresh) != 1 {
		t.Errorf("%d refresh tokens are kept", len(i.grants.refresh))
	}
	b.Claims["alice"] = map[string]any{"sub": "somebody else"}
	b.clock.add(6 * time.Minute)
	if _, err := i.Renew(t.Context(), next); !errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("the principal changed: %v", err)
	}
	if _, err := i.Renew(t.Context(), auth.Identity{Issuer: "https://other.example", Subject: "a", User: "a"}); !errors.Is(err, auth.ErrNotApplicable) {
		t.Errorf("another issuer's identity: %v", err)
	}
}

// TestRenewWithdrawnKey: a session of a caller's own token ends with the key that signed it.
func TestRenewWithdrawnKey(t *testing.T) {
	b := newBench(t)
	b.Life = time.Hour
	i := open(t, b.config())
	id := good(t, i, authtest.Sign(t, b.key, b.Standard("alice")))
	b.clock.add(16 * time.Minute)
	if next, err := i.Renew(t.Context(), id); err != nil || !next.Same(id) || !next.ExpiresAt.Equal(id.ExpiresAt) {
		t.Errorf("control: %+v, %v", next, err)
	}
	b.Publish(keyOf(t, "two", "ES256"))
	b.clock.add(16 * time.Minute)
	if _, err := i.Renew(t.Context(), id); !errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("withdrawn key: %v", err)
	}
}

func TestRenewRefused(t *testing.T) {
	b := newBench(t)
	i := open(t, b.grantConfig())
	id, err := login(t, i, "alice", "alice-pw")
	if err != nil {
		t.Fatal(err)
	}
	b.clock.add(6 * time.Minute)
	b.Override = func(w http.ResponseWriter, r *http.Request) bool {
		authtest.Answer(w, 400, map[string]any{"error": "invalid_grant"})
		return true
	}
	if _, err := i.Renew(t.Context(), id); !errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("a session that the issuer ended: %v", err)
	}
}
