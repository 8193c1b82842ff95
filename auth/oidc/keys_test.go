package oidc

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"gatehouse/auth"
	"gatehouse/auth/authtest"
)

func TestRotation(t *testing.T) {
	b := newBench(t)
	i := open(t, b.config())
	young := keyOf(t, "two", "ES256")
	sign := func(k authtest.SigningKey) string { return authtest.Sign(t, k, b.Standard("alice")) }
	good(t, i, sign(b.key))
	b.clock.add(time.Minute)
	b.Publish(b.key, young)
	good(t, i, sign(young)) // an unknown kid fetches
	good(t, i, sign(b.key)) // grace: both
	if n := b.Calls("/keys"); n != 2 {
		t.Errorf("%d fetches, want 2", n)
	}
	b.Publish(young)
	b.clock.add(16 * time.Minute) // keys are old: fetched again, the retired one is gone
	refused(t, i, "retired key", sign(b.key))
	good(t, i, sign(young))
	if n := b.Calls("/keys"); n != 3 {
		t.Errorf("%d fetches, want 3", n)
	}
}

func TestUnknownKidFlood(t *testing.T) {
	b := newBench(t)
	i := open(t, b.config())
	good(t, i, authtest.Sign(t, b.key, b.Standard("alice")))
	flood := func() {
		for n := range 50 {
			k := b.key
			k.ID = fmt.Sprint("unknown", n)
			refused(t, i, k.ID, authtest.Sign(t, k, b.Standard("alice")))
		}
		good(t, i, authtest.Sign(t, b.key, b.Standard("alice")))
	}
	flood()
	if n := b.Calls("/keys"); n != 1 {
		t.Errorf("%d fetches during the cool-down, want 1", n)
	}
	b.clock.add(31 * time.Second)
	flood()
	if n := b.Calls("/keys"); n != 2 {
		t.Errorf("%d fetches after it, want 2", n)
	}
}

func TestIssuerAway(t *testing.T) {
	b := newBench(t)
	i := open(t, b.config())
	token := func() string { return authtest.Sign(t, b.key, b.Standard("alice")) }
	good(t, i, token())
	b.Stop()
	b.clock.add(23 * time.Hour)
	good(t, i, token()) // old keys count a day
	b.clock.add(2 * time.Hour)
	if _, err := ask(t, i, token()); !errors.Is(err, auth.ErrUnavailable) {
		t.Errorf("keys of two days ago: %v", err)
	}
	if _, err := ask(t, open(t, b.config()), token()); !errors.Is(err, auth.ErrUnavailable) {
		t.Errorf("never reached: %v", err)
	}
}

func TestDiscovery(t *testing.T) {
	elsewhere := newBench(t)
	fetched := func() int { return elsewhere.Calls("/keys") + elsewhere.Calls("/.well-known/openid-configuration") }
	for name, answer := range map[string]func(b *bench, w http.ResponseWriter, r *http.Request) bool{
		"another issuer": func(b *bench, w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/keys" {
				authtest.Answer(w, 200, map[string]any{"issuer": b.URL + "/other", "jwks_uri": b.URL + "/keys"})
			}
			return r.URL.Path != "/keys"
		},
		"keys over http": func(b *bench, w http.ResponseWriter, r *http.Request) bool {
			authtest.Answer(w, 200, map[string]any{"issuer": b.URL, "jwks_uri": "http://keys.example/keys"})
			return true
		},
		"keys in a file": func(b *bench, w http.ResponseWriter, r *http.Request) bool {
			authtest.Answer(w, 200, map[string]any{"issuer": b.URL, "jwks_uri": "file:///etc/passwd"})
			return true
		},
		"redirect of discovery": func(_ *bench, w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusFound)
			return true
		},
		"redirect of keys": func(_ *bench, w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/keys" {
				http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
			}
			return r.URL.Path == "/keys"
		},
		"endless": func(_ *bench, w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Content-Type", "application/json")
			for range 3 << 10 {
				w.Write([]byte(strings.Repeat(" ", 1<<10)))
			}
			return true
		},
		"html": func(_ *bench, w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "{}")
			return true
		},
		"error": func(_ *bench, w http.ResponseWriter, r *http.Request) bool {
			authtest.Answer(w, 500, map[string]any{"error": "secret detail"})
			return true
		},
		"no keys": func(_ *bench, w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/keys" {
				authtest.Answer(w, 200, map[string]any{"keys": []any{map[string]any{"kty": "oct", "k": "AA", "kid": "one"}}})
			}
			return r.URL.Path == "/keys"
		},
	} {
		b := newBench(t)
		b.Override = func(w http.ResponseWriter, r *http.Request) bool { return answer(b, w, r) }
		i := open(t, b.config())
		if _, err := ask(t, i, authtest.Sign(t, b.key, b.Standard("alice"))); !errors.Is(err, auth.ErrUnavailable) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
		if i.Ready(t.Context()) == nil {
			t.Errorf("%s: ready", name)
		}
	}
	if n := fetched(); n != 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
	b := newBench(t)
	if err := open(t, b.config()).Ready(t.Context()); err != nil {
		t.Errorf("control: %v", err)
	}
}

func TestKeysWithoutKid(t *testing.T) {
	b := newBench(t)
	payload, _ := json.Marshal(b.Standard("alice"))
	token := authtest.SignText(t, b.key, `{"alg":"RS256"}`, string(payload))
	good(t, open(t, b.config()), token)
	b.Publish(b.key, keyOf(t, "two", "RS256"))
	refused(t, open(t, b.config()), "two keys to choose from", token)
}
