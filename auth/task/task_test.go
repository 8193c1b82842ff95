package task_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"gatehouse/auth"
	"gatehouse/auth/task"
)

var start = time.Unix(1_800_000_000, 0)

func claims() auth.TaskClaims {
	return auth.TaskClaims{
		Issuer: "gatehouse", Subject: "alice", UserIss: "https://id.example", Query: "q1", Relation: "lake.shop.orders", Digest: "abc",
		Expires: start.Add(time.Minute),
	}
}

func key(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	k, err := task.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func minter(t *testing.T, k ed25519.PrivateKey) *task.Minter {
	t.Helper()
	m, err := task.NewMinter(task.MinterConfig{Key: k, Issuer: "gatehouse", Now: func() time.Time { return start }})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func verifier(t *testing.T, now time.Time, keys ...ed25519.PublicKey) *task.Verifier {
	t.Helper()
	v, err := task.NewVerifier(task.VerifierConfig{Keys: keys, Issuer: "gatehouse", Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func mint(t *testing.T, m *task.Minter) auth.Secret {
	t.Helper()
	token, err := m.Mint(claims())
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestRoundTrip(t *testing.T) {
	m := minter(t, key(t))
	token := mint(t, m)
	got, err := verifier(t, start, m.Public()).Verify(token, claims())
	if err != nil {
		t.Fatal(err)
	}
	if got.ID == "" {
		t.Error("no ID")
	}
	want := claims()
	want.ID = got.ID
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if again, _ := verifier(t, start, m.Public()).Verify(mint(t, m), claims()); again.ID == got.ID {
		t.Error("two tokens have one ID")
	}
}

func TestWantMustMatch(t *testing.T) {
	m := minter(t, key(t))
	token, v := mint(t, m), verifier(t, start, m.Public())
	for name, change := range map[string]func(*auth.TaskClaims){
		"subject":  func(c *auth.TaskClaims) { c.Subject = "bob" },
		"user iss": func(c *auth.TaskClaims) { c.UserIss = "gatehouse:users" },
		"query":    func(c *auth.TaskClaims) { c.Query = "q2" },
		"relation": func(c *auth.TaskClaims) { c.Relation = "lake.shop.payroll" },
		"digest":   func(c *auth.TaskClaims) { c.Digest = "abd" },
		"id":       func(c *auth.TaskClaims) { c.ID = "other" },
		"issuer":   func(c *auth.TaskClaims) { c.Issuer = "other" },
		"nothing":  func(c *auth.TaskClaims) { *c = auth.TaskClaims{} },
		"prefix":   func(c *auth.TaskClaims) { c.Digest = "ab" },
	} {
		want := claims()
		change(&want)
		if got, err := v.Verify(token, want); !errors.Is(err, auth.ErrBadTask) || got != (auth.TaskClaims{}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := v.Verify(token, claims()); err != nil {
		t.Errorf("control: %v", err)
	}
}

func TestTimes(t *testing.T) {
	m := minter(t, key(t))
	token := mint(t, m)
	for after, ok := range map[time.Duration]bool{-time.Second: false, 0: true, 59 * time.Second: true, time.Minute: false, time.Hour: false} {
		_, err := verifier(t, start.Add(after), m.Public()).Verify(token, claims())
		if ok != (err == nil) || (err != nil && !errors.Is(err, auth.ErrBadTask)) {
			t.Errorf("%v after the start: %v", after, err)
		}
	}
	for _, expires := range []time.Time{start, start.Add(-time.Second), start.Add(2 * time.Hour), {}} {
		c := claims()
		c.Expires = expires
		if _, err := m.Mint(c); err == nil {
			t.Errorf("minted for %v", expires)
		}
	}
}

func TestMintRefusesHoles(t *testing.T) {
	m := minter(t, key(t))
	for name, change := range map[string]func(*auth.TaskClaims){
		"subject":  func(c *auth.TaskClaims) { c.Subject = "" },
		"user iss": func(c *auth.TaskClaims) { c.UserIss = "" },
		"query":    func(c *auth.TaskClaims) { c.Query = "" },
		"relation": func(c *auth.TaskClaims) { c.Relation = "" },
		"digest":   func(c *auth.TaskClaims) { c.Digest = "" },
		"issuer":   func(c *auth.TaskClaims) { c.Issuer = "other" },
	} {
		c := claims()
		change(&c)
		if _, err := m.Mint(c); err == nil {
			t.Errorf("minted without %s", name)
		}
	}
}

func TestRotation(t *testing.T) {
	old, young := minter(t, key(t)), minter(t, key(t))
	both := verifier(t, start, old.Public(), young.Public())
	for _, m := range []*task.Minter{old, young} {
		if _, err := both.Verify(mint(t, m), claims()); err != nil {
			t.Error(err)
		}
	}
	if _, err := verifier(t, start, young.Public()).Verify(mint(t, old), claims()); !errors.Is(err, auth.ErrBadTask) {
		t.Errorf("a retired key still counts: %v", err)
	}
}

// TestForms signs with the right key what Mint would never write; the control is signed in the same way.
func TestForms(t *testing.T) {
	k := key(t)
	m := minter(t, k)
	v := verifier(t, start, m.Public())
	token := mint(t, m).Reveal()
	parts := strings.Split(token, ".")
	dec := func(s string) string { b, _ := base64.RawURLEncoding.DecodeString(s); return string(b) }
	head, body := dec(parts[0]), dec(parts[1])
	sign := func(head, body string) string {
		text := base64.RawURLEncoding.EncodeToString([]byte(head)) + "." + base64.RawURLEncoding.EncodeToString([]byte(body))
		sig, err := jwt.SigningMethodEdDSA.Sign(text, k)
		if err != nil {
			t.Fatal(err)
		}
		return text + "." + base64.RawURLEncoding.EncodeToString(sig)
	}
	edit := func(s, from, to string) string {
		out := strings.Replace(s, from, to, 1)
		if out == s {
			t.Fatalf("%q is not in %q", from, s)
		}
		return out
	}
	if _, err := v.Verify(auth.NewSecret(sign(head, body)), claims()); err != nil {
		t.Fatalf("control: %v", err)
	}
	hmac, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{}).SignedString([]byte(m.Public()))
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"empty":            "",
		"two parts":        parts[0] + "." + parts[1],
		"four parts":       token + "." + parts[2],
		"no signature":     parts[0] + "." + parts[1] + ".",
		"alg none":         sign(edit(head, "EdDSA", "none"), body),
		"alg HS256":        hmac,
		"typ JWT":          sign(edit(head, "gatehouse-task+jwt", "JWT"), body),
		"no kid":           sign(`{"alg":"EdDSA","typ":"gatehouse-task+jwt"}`, body),
		"jwk in header":    sign(edit(head, "{", `{"jwk":{},`), body),
		"crit":             sign(edit(head, "{", `{"crit":["b64"],"b64":false,`), body),
		"claim twice":      sign(head, edit(body, `"sub":"alice"`, `"sub":"bob","sub":"alice"`)),
		"claim unknown":    sign(head, edit(body, "{", `{"x":1,`)),
		"claim other case": sign(head, edit(body, `"dig"`, `"DIG"`)),
		"space":            sign(head, body+" "),
		"exp text":         sign(head, edit(body, `"exp":1800000060`, `"exp":"1800000060"`)),
		"exp float":        sign(head, edit(body, `"exp":1800000060`, `"exp":1.80000006e9`)),
		"exp far":          sign(head, edit(body, `"exp":1800000060`, `"exp":9000000000`)),
		"other body":       parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(edit(body, "alice", "mallo"))) + "." + parts[2],
		"padded":           parts[0] + "." + parts[1] + "." + parts[2] + "==",
		"line break":       token[:len(token)-3] + "\n" + token[len(token)-3:],
		"long":             sign(head, edit(body, "alice", strings.Repeat("a", 10<<10))),
	} {
		if _, err := v.Verify(auth.NewSecret(bad), claims()); !errors.Is(err, auth.ErrBadTask) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLoadKey(t *testing.T) {
	k := key(t)
	write := func(name, kind string, der []byte, mode os.FileMode) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	private, _ := x509.MarshalPKCS8PrivateKey(k)
	public, _ := x509.MarshalPKIXPublicKey(k.Public())
	if got, err := task.LoadKey(write("k", "PRIVATE KEY", private, 0o600)); err != nil || !got.Equal(k) {
		t.Errorf("private: %v", err)
	}
	if got, err := task.LoadPublicKey(write("k", "PUBLIC KEY", public, 0o644)); err != nil || !got.Equal(k.Public()) {
		t.Errorf("public: %v", err)
	}
	for name, path := range map[string]string{
		"readable by all": write("k", "PRIVATE KEY", private, 0o644),
		"public":          write("k", "PUBLIC KEY", public, 0o600),
		"junk":            write("k", "PRIVATE KEY", []byte("junk"), 0o600),
		"absent":          filepath.Join(t.TempDir(), "k"),
	} {
		if _, err := task.LoadKey(path); err == nil {
			t.Errorf("%s: loaded", name)
		}
	}
}

func FuzzVerify(f *testing.F) {
	k, _ := task.NewKey()
	m, _ := task.NewMinter(task.MinterConfig{Key: k, Issuer: "gatehouse", Now: func() time.Time { return start }})
	v, _ := task.NewVerifier(task.VerifierConfig{Keys: []ed25519.PublicKey{m.Public()}, Issuer: "gatehouse", Now: func() time.Time { return start }})
	good, _ := m.Mint(claims())
	f.Add(good.Reveal())
	f.Fuzz(func(t *testing.T, token string) {
		if _, err := v.Verify(auth.NewSecret(token), claims()); err == nil && token != good.Reveal() {
			t.Errorf("%q passed", token)
		}
	})
}
