package task

import (
	"crypto/ed25519"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"gatehouse/auth"
)

// maxToken is the longest credential that is looked at, in bytes.
const maxToken = 8 << 10

// VerifierConfig says whose credentials count.
type VerifierConfig struct {
	Keys    []ed25519.PublicKey // at least one; two while a key is rotated
	Issuer  string              // the gateway's name; required
	MaxLife time.Duration       // longest distance of "exp" from "iat"; 0 means DefaultMaxLife
	Skew    time.Duration       // how far the gateway's clock may be off; 0 means none
	Now     func() time.Time    // nil: the system's clock
}

// Verifier checks credentials with public keys only.
type Verifier struct {
	cfg  VerifierConfig
	keys map[string]ed25519.PublicKey // by thumbprint
}

var _ auth.Verifier = (*Verifier)(nil)

// NewVerifier returns a verifier that accepts what the holders of cfg.Keys sign.
func NewVerifier(cfg VerifierConfig) (*Verifier, error) {
	if len(cfg.Keys) == 0 || cfg.Issuer == "" {
		return nil, errors.New("task: a verifier needs keys and an issuer")
	}
	if cfg.Skew < 0 || cfg.Skew > time.Minute {
		return nil, errors.New("task: the skew must be between 0 and one minute")
	}
	if cfg.MaxLife == 0 {
		cfg.MaxLife = DefaultMaxLife
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	v := &Verifier{cfg: cfg, keys: make(map[string]ed25519.PublicKey, len(cfg.Keys))}
	for _, k := range cfg.Keys {
		if len(k) != ed25519.PublicKeySize {
			return nil, errors.New("task: a public key has the wrong size")
		}
		v.keys[thumbprint(k)] = k
	}
	return v, nil
}

// Verify implements auth.Verifier. Query, Relation, Subject, UserIss and Digest of want must all be
// given and equal the token's; ID, if given, too.
func (v *Verifier) Verify(token auth.Secret, want auth.TaskClaims) (auth.TaskClaims, error) {
	got, ok := v.open(token.Reveal())
	if !ok || !v.timely(got) || got.Issuer != v.cfg.Issuer {
		return auth.TaskClaims{}, auth.ErrBadTask
	}
	for _, p := range [][2]string{
		{got.Query, want.Query},
		{got.Relation, want.Relation},
		{got.Subject, want.Subject},
		{got.UserIss, want.UserIss},
		{got.Digest, want.Digest},
	} {
		if p[0] == "" || subtle.ConstantTimeCompare([]byte(p[0]), []byte(p[1])) != 1 {
			return auth.TaskClaims{}, auth.ErrBadTask
		}
	}
	if got.ID == "" || (want.ID != "" && want.ID != got.ID) || (want.Issuer != "" && want.Issuer != got.Issuer) {
		return auth.TaskClaims{}, auth.ErrBadTask
	}
	return auth.TaskClaims{
		ID: got.ID, Issuer: got.Issuer, Subject: got.Subject, UserIss: got.UserIss, Query: got.Query,
		Relation: got.Relation, Digest: got.Digest, Expires: time.Unix(got.Expires, 0),
	}, nil
}

// timely reports whether now lies between issue and expiry, and the life is not too long.
func (v *Verifier) timely(c *claims) bool {
	now := v.cfg.Now()
	issued, expires := time.Unix(c.Issued, 0), time.Unix(c.Expires, 0)
	return c.Issued > 0 && c.Expires > c.Issued && expires.Sub(issued) <= v.cfg.MaxLife+time.Second &&
		!now.Before(issued.Add(-v.cfg.Skew)) && now.Before(expires.Add(v.cfg.Skew))
}

// open checks form and signature. The header has to be byte for byte the one that Mint writes with
// that key, which leaves no room for another algorithm, a key in the header or a critical extension.
func (v *Verifier) open(token string) (*claims, bool) {
	if len(token) > maxToken || strings.ContainsAny(token, "\r\n") { // Go's base64 decoder skips line breaks
		return nil, false
	}
	head, rest, ok := strings.Cut(token, ".")
	if !ok {
		return nil, false
	}
	key, ok := v.keyOf(head)
	if !ok {
		return nil, false
	}
	// Mint writes claims in one way only; a payload that reads back otherwise (another key, a key
	// twice, another order) was not written by it.
	body, _, _ := strings.Cut(rest, ".")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(body)
	if err != nil {
		return nil, false
	}
	c := new(claims)
	parser := jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}), jwt.WithStrictDecoding(), jwt.WithoutClaimsValidation())
	if _, err := parser.ParseWithClaims(token, c, func(*jwt.Token) (any, error) { return key, nil }); err != nil {
		return nil, false
	}
	again, err := json.Marshal(c)
	return c, err == nil && string(again) == string(raw)
}

func (v *Verifier) keyOf(head string) (ed25519.PublicKey, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(head)
	if err != nil {
		return nil, false
	}
	for kid, key := range v.keys {
		if string(raw) == `{"alg":"EdDSA","kid":"`+kid+`","typ":"`+typ+`"}` {
			return key, true
		}
	}
	return nil, false
}
