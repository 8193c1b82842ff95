package authtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
)

// Issuer is a small OpenID Connect issuer on a loopback port with real keys: discovery, key set, and a
// token endpoint for the password and refresh grants.
type Issuer struct {
	URL string // the "iss"; plain http
	// Password of each user for the token endpoint.
	Password map[string]string
	// Claims of each user's tokens beside those of Standard.
	Claims map[string]map[string]any
	// Override, if it returns true, has answered the request.
	Override func(w http.ResponseWriter, r *http.Request) bool
	// Life of the tokens that the token endpoint gives.
	Life time.Duration
	Now  func() time.Time

	server *httptest.Server

	mu      sync.Mutex
	keys    map[string]SigningKey // published
	calls   map[string]int
	refresh map[string]string // token → user
	serial  int
}

// SigningKey is one key of an Issuer.
type SigningKey struct {
	ID      string
	Alg     string
	Private crypto.Signer
}

// NewKey makes a key for alg: one of RS…, PS…, ES… or EdDSA.
func NewKey(t testing.TB, id, alg string) SigningKey {
	t.Helper()
	var signer crypto.Signer
	var err error
	switch alg {
	case "ES256":
		signer, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "ES384":
		signer, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case "ES512":
		signer, err = ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	case "EdDSA":
		_, signer, err = ed25519.GenerateKey(rand.Reader)
	default:
		signer, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	if err != nil {
		t.Fatal(err)
	}
	return SigningKey{ID: id, Alg: alg, Private: signer}
}

// NewIssuer starts an issuer that publishes keys, and stops it with the test.
func NewIssuer(t testing.TB, keys ...SigningKey) *Issuer {
	t.Helper()
	i := &Issuer{
		Password: map[string]string{}, Claims: map[string]map[string]any{}, Life: 5 * time.Minute, Now: time.Now,
		calls: map[string]int{}, refresh: map[string]string{},
	}
	i.Publish(keys...)
	i.server = httptest.NewServer(i)
	i.URL = i.server.URL
	t.Cleanup(i.server.Close)
	return i
}

// Publish replaces the published keys.
func (i *Issuer) Publish(keys ...SigningKey) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = map[string]SigningKey{}
	for _, k := range keys {
		i.keys[k.ID] = k
	}
}

// Calls returns how often path was asked for.
func (i *Issuer) Calls(path string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.calls[path]
}

// Stop ends the issuer before the test does.
func (i *Issuer) Stop() { i.server.Close() }

// Standard returns the claims of a good access token for user.
func (i *Issuer) Standard(user string) map[string]any {
	now := i.Now().Unix()
	claims := map[string]any{
		"iss": i.URL, "sub": "id-of-" + user, "aud": "gatehouse", "preferred_username": user,
		"iat": now, "exp": now + int64(i.Life/time.Second), "typ": "Bearer",
	}
	for k, v := range i.Claims[user] {
		claims[k] = v
	}
	return claims
}

// Sign returns a token with the usual header.
func Sign(t testing.TB, k SigningKey, claims map[string]any) string {
	t.Helper()
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return SignText(t, k, fmt.Sprintf(`{"alg":%q,"kid":%q,"typ":"JWT"}`, k.Alg, k.ID), string(payload))
}

// SignText signs any header and payload, by k's algorithm whatever the header says.
func SignText(t testing.TB, k SigningKey, header, payload string) string {
	t.Helper()
	b64 := base64.RawURLEncoding
	text := b64.EncodeToString([]byte(header)) + "." + b64.EncodeToString([]byte(payload))
	sig, err := jwt.GetSigningMethod(k.Alg).Sign(text, k.Private)
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + b64.EncodeToString(sig)
}

// ServeHTTP implements http.Handler.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	i.calls[r.URL.Path]++
	override := i.Override
	i.mu.Unlock()
	if override != nil && override(w, r) {
		return
	}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		Answer(w, http.StatusOK, map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "token_endpoint": i.URL + "/token"})
	case "/keys":
		Answer(w, http.StatusOK, i.keySet())
	case "/token":
		i.token(w, r)
	default:
		http.NotFound(w, r)
	}
}

// Answer writes v as JSON.
func Answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (i *Issuer) keySet() jwkset.JWKSMarshal {
	i.mu.Lock()
	defer i.mu.Unlock()
	var set jwkset.JWKSMarshal
	for _, k := range i.keys {
		jwk, err := jwkset.NewJWKFromKey(k.Private.Public(), jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{KID: k.ID, ALG: jwkset.ALG(k.Alg), USE: jwkset.UseSig}})
		if err == nil {
			set.Keys = append(set.Keys, jwk.Marshal())
		}
	}
	return set
}

// token answers the password and refresh grants of the public client "cli".
func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	user := ""
	switch r.PostFormValue("grant_type") {
	case "password":
		if want, ok := i.Password[r.PostFormValue("username")]; ok && want == r.PostFormValue("password") {
			user = r.PostFormValue("username")
		}
	case "refresh_token":
		user = i.refresh[r.PostFormValue("refresh_token")]
		delete(i.refresh, r.PostFormValue("refresh_token"))
	}
	if r.PostFormValue("client_id") != "cli" {
		Answer(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	if user == "" {
		Answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant", "error_description": "Invalid user credentials"})
		return
	}
	i.serial++
	next := fmt.Sprintf("refresh-%d", i.serial)
	i.refresh[next] = user
	claims := i.Standard(user)
	claims["jti"] = next
	for _, k := range i.keys {
		payload, _ := json.Marshal(claims)
		b64 := base64.RawURLEncoding
		text := b64.EncodeToString(fmt.Appendf(nil, `{"alg":%q,"kid":%q,"typ":"JWT"}`, k.Alg, k.ID)) + "." + b64.EncodeToString(payload)
		sig, err := jwt.GetSigningMethod(k.Alg).Sign(text, k.Private)
		if err != nil {
			continue
		}
		Answer(w, http.StatusOK, map[string]any{
			"access_token": text + "." + b64.EncodeToString(sig), "token_type": "Bearer",
			"expires_in": int(i.Life / time.Second), "refresh_token": next, "refresh_expires_in": 1800,
		})
		return
	}
}
