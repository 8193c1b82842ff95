package oidc

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"gatehouse/auth"
	"gatehouse/auth/authtest"
)

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
		{true, "aud", "gatehouse"},
		{true, "aud", []string{"other", "gatehouse"}},
		{false, "aud", "gatehouse2"},
		{false, "aud", "gate"},
		{false, "aud", "Gatehouse"},
		{false, "aud", []string{}},
		{false, "aud", []string{"other"}},
		{false, "aud", nil},
		{false, "aud", ""},
		{false, "aud", []any{"gatehouse", 1}},
		{false, "aud", map[string]any{"gatehouse": true}},
		{false, "aud", "other gatehouse"},
		{false, "iss", nil},
		{false, "iss", b.URL + "/"},
		{false, "iss", "https://other.example"},
		{false, "iss", []string{b.URL}},
		{true, "exp", now + 1},
		{true, "exp", now - 29},
		{false, "exp", now - 30},
		{false, "exp", now - 31},
		{false, "exp", nil},
		{false, "exp", fmt.Sprint(now + 300)},
		{true, "exp", json.Number(fmt.Sprintf("%d.5", now+300))},
		{false, "exp", json.Number("1e400")},
		{false, "exp", json.Number("-1")},
		{false, "exp", json.Number("1e12")},
		{false, "exp", []int64{now + 300}},
		{false, "exp", true},
		{true, "nbf", now},
		{true, "nbf", now + 30},
		{false, "nbf", now + 31},
		{false, "nbf", "0"},
		{false, "nbf", json.Number("-5")},
		{true, "nbf", nil},
		{true, "iat", now + 30},
		{false, "iat", now + 31},
		{false, "iat", "x"},
		{true, "iat", nil},
		{false, "typ", "ID"},
		{false, "typ", "Refresh"},
		{true, "typ", nil},
		{false, "nonce", "x"},
		{false, "at_hash", "x"},
		{false, "cnf", map[string]any{"jkt": "x"}},
		{false, "sub", nil},
		{false, "sub", ""},
		{false, "sub", 5},
		{false, "sub", "a\x00"},
		{false, "sub", strings.Repeat("a", 600)},
		{false, "preferred_username", nil},
		{false, "preferred_username", ""},
		{false, "preferred_username", 5},
		{false, "preferred_username", "alice\u200b"},
		{false, "preferred_username", "\u202eecila"},
		{false, "preferred_username", strings.Repeat("a", 64<<10)},
		{true, "preferred_username", "ＥＶＥ"},
		{true, "groups", "one"},
		{true, "groups", []string{}},
		{false, "groups", 5},
		{false, "groups", []any{"a", 1}},
		{false, "groups", []string{""}},
		{false, "groups", map[string]any{}},
		{true, "realm_access", map[string]any{}},
		{false, "realm_access", map[string]any{"roles": 1}},
		{false, "name", 5},
		{false, "_claim_names", map[string]any{"groups": "src1"}},
		{false, "_claim_names", map[string]any{"realm_access": "src1"}},
		{true, "_claim_names", map[string]any{"other": "src1"}},
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
