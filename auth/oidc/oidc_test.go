package oidc

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatehouse/auth"
	"gatehouse/auth/authtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var epoch = time.Unix(1_800_000_000, 0)

// clock is a clock that tests move.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

type bench struct {
	*authtest.Issuer
	clock *clock
	key   authtest.SigningKey
}

// keys are made once; RSA takes its time.
var keys sync.Map

func keyOf(t testing.TB, id, alg string) authtest.SigningKey {
	if k, ok := keys.Load(id + alg); ok {
		return k.(authtest.SigningKey)
	}
	k := authtest.NewKey(t, id, alg)
	keys.Store(id+alg, k)
	return k
}

func newBench(t testing.TB) *bench {
	k := keyOf(t, "one", "RS256")
	b := &bench{Issuer: authtest.NewIssuer(t, k), clock: &clock{t: epoch}, key: k}
	b.Now = b.clock.now
	b.Password["alice"] = "alice-pw"
	return b
}

func (b *bench) config() Config {
	return Config{
		Issuer: b.URL, Audiences: []string{"gatehouse"}, InsecureLoopback: true, Now: b.clock.now,
		Mapping: Mapping{Groups: "groups", Roles: "realm_access.roles", Principal: "name", Claims: map[string]string{"department": "department", "level": "level"}},
	}
}

func open(t testing.TB, cfg Config) *Issuer {
	t.Helper()
	i, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.http.CloseIdleConnections)
	return i
}

func ask(t testing.TB, i *Issuer, token string) (auth.Identity, error) {
	return auth.Chain{i}.Authenticate(t.Context(), auth.Credential{Bearer: auth.NewSecret(token)})
}

func good(t testing.TB, i *Issuer, token string) auth.Identity {
	t.Helper()
	id, err := ask(t, i, token)
	if err != nil {
		t.Fatalf("the control was refused: %v", err)
	}
	return id
}

func refused(t testing.TB, i *Issuer, name, token string) {
	t.Helper()
	if id, err := ask(t, i, token); !errors.Is(err, auth.ErrUnauthenticated) || id.Valid() {
		t.Errorf("%s: %q, %v", name, id.User, err)
	}
}

func TestContract(t *testing.T) {
	b := newBench(t)
	now := b.Standard("alice")
	bearer := func(s string) auth.Credential { return auth.Credential{Bearer: auth.NewSecret(s), Peer: "192.0.2.1"} }
	late := maps.Clone(now)
	late["exp"] = epoch.Unix() - 3600
	authtest.Run(t, authtest.Subject{
		New:  func(t *testing.T) auth.Authenticator { return open(t, b.config()) },
		Good: bearer(authtest.Sign(t, b.key, now)), User: "alice",
		Bad: map[string]auth.Credential{
			"expired":   bearer(authtest.Sign(t, b.key, late)),
			"other key": bearer(authtest.Sign(t, keyOf(t, "two", "RS256"), now)),
		},
		Other:         &auth.Credential{User: "alice", Password: auth.NewSecret("alice-pw")},
		SkipRateLimit: "a token cannot be guessed",
	})
	t.Run("password grant", func(t *testing.T) {
		cfg := b.config()
		cfg.PasswordGrant = &PasswordGrant{ClientID: "cli", Limits: auth.Limits{PeerUser: auth.Rate{Burst: 20, Every: time.Second}}}
		cred := func(user, password string) auth.Credential {
			return auth.Credential{User: user, Password: auth.NewSecret(password), Peer: "192.0.2.1"}
		}
		// The token of each login is another, so the identities are not equal; one thing less to compare.
		authtest.Run(t, authtest.Subject{
			New:  func(t *testing.T) auth.Authenticator { return open(t, cfg) },
			Good: cred("alice", "alice-pw"), User: "alice",
			Bad: map[string]auth.Credential{
				"wrong password": cred("alice", "bob"), "unknown user": cred("mallory", "alice-pw"), "empty password": cred("alice", ""),
				"control": cred("alice\x00", "alice-pw"), "long": cred("alice", strings.Repeat("x", 5000)),
			},
		})
	})
}

func TestIdentity(t *testing.T) {
	b := newBench(t)
	i := open(t, b.config())
	c := b.Standard("Jose\u0301")
	c["groups"] = []string{"emea", "payroll"}
	c["realm_access"] = map[string]any{"roles": []string{"analyst"}}
	c["name"], c["department"], c["level"], c["secret"] = "José Example", "finance", json.Number("12345678901234567890"), "x"
	raw := authtest.Sign(t, b.key, c)
	id := good(t, i, raw)
	got := fmt.Sprintf("%+q|%+q|%q|%v|%v|%v|%s|%v|%v", id.Subject, id.User, id.Principal, id.Groups, id.Roles, id.Claims, id.Method, id.Token.Reveal() == raw, id.ExpiresAt.Sub(epoch))
	want := `"id-of-Jose\u0301"|"Jos\u00e9"|"José Example"|[emea payroll]|[analyst]|map[department:finance level:12345678901234567890]|oidc|true|5m30s`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if _, ok := id.Claims["level"].(json.Number); !ok || id.Issuer != b.URL {
		t.Errorf("level is %T, issuer %q", id.Claims["level"], id.Issuer)
	}
	plain := good(t, i, authtest.Sign(t, b.key, b.Standard("bob")))
	if plain.Groups != nil || plain.Roles != nil || plain.Principal != "bob" || plain.Claims != nil {
		t.Errorf("a token without the claims gave %+v", plain)
	}
}

func TestTwoIssuers(t *testing.T) {
	a, b := newBench(t), newBench(t)
	bKey := keyOf(t, "one", "ES256") // the same kid, another key
	b.Publish(bKey)
	ia, ib := open(t, a.config()), open(t, b.config())
	chain := auth.Chain{ia, ib}
	try := func(token string) (auth.Identity, error) {
		return chain.Authenticate(t.Context(), auth.Credential{Bearer: auth.NewSecret(token)})
	}
	one, err := try(authtest.Sign(t, a.key, a.Standard("alice")))
	if err != nil {
		t.Fatal(err)
	}
	two, err := try(authtest.Sign(t, bKey, b.Standard("alice")))
	if err != nil {
		t.Fatal(err)
	}
	if one.Same(two) {
		t.Error("the alices of two issuers are the same")
	}
	for name, token := range map[string]string{
		"a's claims by b's key": authtest.Sign(t, bKey, a.Standard("alice")),
		"b's claims by a's key": authtest.Sign(t, a.key, b.Standard("alice")),
	} {
		if _, err := try(token); !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConfig(t *testing.T) {
	ok := Config{Issuer: "https://id.example/realms/x", Audiences: []string{"gatehouse"}}
	if _, err := New(ok); err != nil {
		t.Fatalf("control: %v", err)
	}
	for name, change := range map[string]func(*Config){
		"no issuer":          func(c *Config) { c.Issuer = "" },
		"no audience":        func(c *Config) { c.Audiences = nil },
		"empty audience":     func(c *Config) { c.Audiences = []string{""} },
		"http":               func(c *Config) { c.Issuer = "http://id.example" },
		"http with switch":   func(c *Config) { c.Issuer, c.InsecureLoopback = "http://id.example", true },
		"loopback no switch": func(c *Config) { c.Issuer = "http://127.0.0.1:8080" },
		"localhost by name":  func(c *Config) { c.Issuer, c.InsecureLoopback = "http://localhost:8080", true },
		"loopback look":      func(c *Config) { c.Issuer, c.InsecureLoopback = "http://127.0.0.1.example", true },
		"user in URL":        func(c *Config) { c.Issuer = "https://u:p@id.example" },
		"keys over http":     func(c *Config) { c.KeysURL = "http://id.example/keys" },
		"alg none":           func(c *Config) { c.Algorithms = []string{"none"} },
		"alg HS256":          func(c *Config) { c.Algorithms = []string{"RS256", "HS256"} },
		"no algs":            func(c *Config) { c.Algorithms = []string{} },
		"skew":               func(c *Config) { c.Skew = time.Hour },
		"empty path":         func(c *Config) { c.Mapping.Claims = map[string]string{"a": ""} },
		"no client":          func(c *Config) { c.PasswordGrant = &PasswordGrant{} },
		"empty secret":       func(c *Config) { c.PasswordGrant = &PasswordGrant{ClientID: "x", ClientSecret: auth.NewSecret("")} },
	} {
		cfg := ok
		change(&cfg)
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
