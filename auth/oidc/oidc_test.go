package oidc

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
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
	return Config{Issuer: b.URL, Audiences: []string{"gatehouse"}, InsecureLoopback: true, Now: b.clock.now,
		Mapping: Mapping{Groups: "groups", Roles: "realm_access.roles", Principal: "name", Claims: map[string]string{"department": "department", "level": "level"}}}
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

// TestAlgorithms: every allowed algorithm is read, with a key of its kind only.
func TestAlgorithms(t *testing.T) {
	b := newBench(t)
	cfg := b.config()
	cfg.Algorithms = algorithms
	rsaKey := keyOf(t, "rsa", "RS256")
	for _, alg := range algorithms {
		k := keyOf(t, "key-"+alg, alg[:2]+alg[2:])
		if alg[1] == 'S' && alg[0] != 'E' {
			k = authtest.SigningKey{ID: "rsa-" + alg, Alg: alg, Private: rsaKey.Private}
		}
		b.Publish(k)
		i := open(t, cfg)
		good(t, i, authtest.Sign(t, k, b.Standard("alice")))
		if alg == "RS256" { // the same RSA key under an algorithm that the issuer did not name
			refused(t, i, "a key for RS256 used for PS256", authtest.Sign(t, authtest.SigningKey{ID: k.ID, Alg: "PS256", Private: k.Private}, b.Standard("alice")))
		}
		narrow := b.config()
		narrow.Algorithms = []string{"RS256"}
		if alg == "RS256" {
			narrow.Algorithms = []string{"ES256"}
		}
		refused(t, open(t, narrow), alg+" not allowed", authtest.Sign(t, k, b.Standard("alice")))
	}
}

func TestForgedAlgorithms(t *testing.T) {
	b := newBench(t)
	i := open(t, b.config())
	payload, _ := json.Marshal(b.Standard("alice"))
	b64 := base64.RawURLEncoding.EncodeToString
	pub, _ := json.Marshal(b.key.Private.Public())
	hs, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims(b.Standard("alice"))).SignedString(pub)
	if err != nil {
		t.Fatal(err)
	}
	good(t, i, authtest.Sign(t, b.key, b.Standard("alice")))
	for name, token := range map[string]string{
		"none":           b64([]byte(`{"alg":"none"}`)) + "." + b64(payload) + ".",
		"None with sig":  b64([]byte(`{"alg":"None"}`)) + "." + b64(payload) + ".AA",
		"HS256":          hs,
		"RS256 as PS256": authtest.SignText(t, b.key, `{"alg":"PS256","kid":"one"}`, string(payload)),
		"RS256 as ES256": authtest.SignText(t, b.key, `{"alg":"ES256","kid":"one"}`, string(payload)),
		"lower case":     authtest.SignText(t, b.key, `{"alg":"rs256","kid":"one"}`, string(payload)),
		"no alg":         authtest.SignText(t, b.key, `{"kid":"one"}`, string(payload)),
		"alg number":     authtest.SignText(t, b.key, `{"alg":256,"kid":"one"}`, string(payload)),
	} {
		refused(t, i, name, token)
	}
}

// TestHeaders signs with the right key; only the header is wrong.
func TestHeaders(t *testing.T) {
	b := newBench(t)
	i := open(t, b.config())
	payload, _ := json.Marshal(b.Standard("alice"))
	with := func(members string) string {
		return authtest.SignText(t, b.key, `{"alg":"RS256",`+members+`}`, string(payload))
	}
	for _, ok := range []string{`"kid":"one"`, `"typ":"JWT"`, `"typ":"at+jwt","kid":"one"`, `"typ":"application/AT+JWT"`, `"kid":"one","x5t":"abc"`} {
		good(t, i, with(ok))
	}
	for _, bad := range []string{
		`"kid":"../../dev/null"`, `"kid":"' OR 1=1 --"`, `"kid":"http://127.0.0.1/key"`, `"kid":""`, `"kid":1`, `"kid":null`, `"kid":"` + strings.Repeat("a", 300) + `"`,
		`"jku":"http://127.0.0.1:1/keys"`, `"x5u":"http://127.0.0.1:1/cert"`, `"jwk":{"kty":"oct","k":"AA"}`, `"x5c":["AA"]`, `"JKU":"x"`,
		`"crit":["exp"]`, `"crit":[]`, `"b64":false`, `"b64":true`, `"zip":"DEF"`, `"enc":"A128GCM"`,
		`"alg":"RS256"`, `"kid":"two","kid":"one"`, `"typ":"JWE"`, `"typ":"gatehouse-task+jwt"`, `"typ":"logout+jwt"`, `"typ":"dpop+jwt"`, `"typ":1`,
		`"x":"` + strings.Repeat("a", 5000) + `"`,
	} {
		refused(t, i, bad, with(bad))
	}
	if n := b.Calls("/keys"); n > 1 {
		t.Errorf("keys were fetched %d times within the cool-down", n)
	}
}

func TestForms(t *testing.T) {
	b := newBench(t)
	i := open(t, b.config())
	token := authtest.Sign(t, b.key, b.Standard("alice"))
	p := strings.Split(token, ".")
	good(t, i, token)
	body := func(text string) string { return authtest.SignText(t, b.key, `{"alg":"RS256","kid":"one"}`, text) }
	payload, _ := json.Marshal(b.Standard("alice"))
	inside := strings.TrimSuffix(string(payload), "}")
	good(t, i, body(string(payload)))
	last := p[2][len(p[2])-1] // its lower bits are spare in a signature of 256 bytes
	for name, bad := range map[string]string{
		"two parts": p[0] + "." + p[1], "four parts": token + ".x", "no signature": p[0] + "." + p[1] + ".", "padded": token + "==",
		"changed body": p[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(payload), "alice", "admin", 1))) + "." + p[2],
		"spare bits":   token[:len(token)-1] + string(last+1), "line break": p[0] + "." + p[1][:8] + "\n" + p[1][8:] + "." + p[2],
		"std alphabet": p[0] + "." + p[1] + "." + strings.NewReplacer("-", "+", "_", "/").Replace(p[2]) + "+",
		"claim twice":  body(inside + `,"sub":"other"}`), "nested twice": body(inside + `,"x":{"a":1,"a":2}}`), "escaped twice": body(inside + `,"\u0073ub":"other"}`),
		"two objects": body(string(payload) + "{}"), "array": body("[" + string(payload) + "]"), "not json": body("x"), "cut": body(inside),
		"not utf-8": body(inside + ",\"x\":\"\xff\"}"), "deep": body(inside + `,"x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}"),
		"long": body(inside + `,"x":"` + strings.Repeat("a", 70<<10) + `"}`), "empty": "..", "one": "x",
	} {
		refused(t, i, name, bad)
	}
}

func TestClaims(t *testing.T) {
	b := newBench(t)
	i := open(t, b.config())
	now := epoch.Unix()
	for _, c := range []struct {
		ok   bool
		name string
		v    any // nil takes the claim out
	}{
		{true, "aud", "gatehouse"}, {true, "aud", []string{"other", "gatehouse"}},
		{false, "aud", "gatehouse2"}, {false, "aud", "gate"}, {false, "aud", "Gatehouse"}, {false, "aud", []string{}}, {false, "aud", []string{"other"}},
		{false, "aud", nil}, {false, "aud", ""}, {false, "aud", []any{"gatehouse", 1}}, {false, "aud", map[string]any{"gatehouse": true}}, {false, "aud", "other gatehouse"},
		{false, "iss", nil}, {false, "iss", b.URL + "/"}, {false, "iss", "https://other.example"}, {false, "iss", []string{b.URL}},
		{true, "exp", now + 1}, {true, "exp", now - 29}, {false, "exp", now - 30}, {false, "exp", now - 31}, {false, "exp", nil}, {false, "exp", fmt.Sprint(now + 300)},
		{true, "exp", json.Number(fmt.Sprintf("%d.5", now+300))}, {false, "exp", json.Number("1e400")}, {false, "exp", json.Number("-1")}, {false, "exp", json.Number("1e12")}, {false, "exp", []int64{now + 300}}, {false, "exp", true},
		{true, "nbf", now}, {true, "nbf", now + 30}, {false, "nbf", now + 31}, {false, "nbf", "0"}, {false, "nbf", json.Number("-5")}, {true, "nbf", nil},
		{true, "iat", now + 30}, {false, "iat", now + 31}, {false, "iat", "x"}, {true, "iat", nil},
		{false, "typ", "ID"}, {false, "typ", "Refresh"}, {true, "typ", nil}, {false, "nonce", "x"}, {false, "at_hash", "x"}, {false, "cnf", map[string]any{"jkt": "x"}},
		{false, "sub", nil}, {false, "sub", ""}, {false, "sub", 5}, {false, "sub", "a\x00"}, {false, "sub", strings.Repeat("a", 600)},
		{false, "preferred_username", nil}, {false, "preferred_username", ""}, {false, "preferred_username", 5}, {false, "preferred_username", "alice\u200b"},
		{false, "preferred_username", "\u202eecila"}, {false, "preferred_username", strings.Repeat("a", 64<<10)}, {true, "preferred_username", "ＥＶＥ"},
		{true, "groups", "one"}, {true, "groups", []string{}}, {false, "groups", 5}, {false, "groups", []any{"a", 1}}, {false, "groups", []string{""}}, {false, "groups", map[string]any{}},
		{true, "realm_access", map[string]any{}}, {false, "realm_access", map[string]any{"roles": 1}},
		{false, "name", 5}, {false, "_claim_names", map[string]any{"groups": "src1"}}, {false, "_claim_names", map[string]any{"realm_access": "src1"}}, {true, "_claim_names", map[string]any{"other": "src1"}},
	} {
		claims := b.Standard("alice")
		if claims[c.name] = c.v; c.v == nil {
			delete(claims, c.name)
		}
		_, err := ask(t, i, authtest.Sign(t, b.key, claims))
		if (err == nil) != c.ok || (err != nil && !errors.Is(err, auth.ErrUnauthenticated)) {
			t.Errorf("%s = %.60v: %v", c.name, c.v, err)
		}
	}
}

func TestAuthorizedPartiesAndIDTokens(t *testing.T) {
	b := newBench(t)
	cfg := b.config()
	cfg.AuthorizedParties = []string{"cli"}
	i := open(t, cfg)
	c := b.Standard("alice")
	refused(t, i, "no azp", authtest.Sign(t, b.key, c))
	c["azp"] = "other"
	refused(t, i, "other azp", authtest.Sign(t, b.key, c))
	c["azp"] = "cli"
	good(t, i, authtest.Sign(t, b.key, c))
	cfg.AcceptIDTokens = true
	c["typ"], c["nonce"] = "ID", "n"
	refused(t, i, "ID token", authtest.Sign(t, b.key, c))
	good(t, open(t, cfg), authtest.Sign(t, b.key, c))
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

func FuzzParseToken(f *testing.F) {
	k := authtest.NewKey(f, "k", "EdDSA")
	f.Add(authtest.SignText(f, k, `{"alg":"EdDSA","kid":"k"}`, `{"sub":"a","n":1.5,"l":[{}]}`))
	f.Add("e30.e30.AA")
	f.Fuzz(func(t *testing.T, s string) {
		tok, err := parseToken(auth.NewSecret(s))
		if err != nil {
			return
		}
		if strings.Count(s, ".") != 2 || tok.alg == "" && !strings.Contains(s, ".") {
			t.Errorf("%q parsed", s)
		}
		// What we read is what any other reader reads.
		var std map[string]any
		payload, _ := base64.RawURLEncoding.DecodeString(strings.Split(s, ".")[1])
		if err := json.Unmarshal(payload, &std); err != nil || len(std) != len(tok.claims) {
			t.Errorf("%q: encoding/json reads %v, %v", payload, std, err)
		}
	})
}
