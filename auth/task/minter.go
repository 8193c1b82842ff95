// Package task signs and checks the credentials that executors demand: short-lived EdDSA JWTs, each
// bound to one payload of one query of one user.
package task

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"gatehouse/auth"
)

// typ is the media type of a task credential (RFC 8725 section 3.11): no other token of ours or of an
// issuer has it, so none can be mistaken for one.
const typ = "gatehouse-task+jwt"

// DefaultMaxLife is how far ahead an expiry may lie unless a Config says otherwise.
const DefaultMaxLife = time.Hour

// MinterConfig says who signs.
type MinterConfig struct {
	Key     ed25519.PrivateKey // required
	Issuer  string             // "iss" of what it mints; required
	MaxLife time.Duration      // longest life it gives; 0 means DefaultMaxLife
	Now     func() time.Time   // nil: the system's clock
}

// Minter signs with one key.
type Minter struct {
	cfg MinterConfig
	kid string
}

var _ auth.Minter = (*Minter)(nil)

// NewMinter returns a minter that signs with cfg.Key.
func NewMinter(cfg MinterConfig) (*Minter, error) {
	if len(cfg.Key) != ed25519.PrivateKeySize {
		return nil, errors.New("task: no signing key")
	}
	if cfg.Issuer == "" {
		return nil, errors.New("task: no issuer")
	}
	if cfg.MaxLife == 0 {
		cfg.MaxLife = DefaultMaxLife
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	m := &Minter{cfg: cfg}
	m.kid = thumbprint(m.Public())
	return m, nil
}

// Public returns the key with which a Verifier checks what m signs.
func (m *Minter) Public() ed25519.PublicKey { return m.cfg.Key.Public().(ed25519.PublicKey) }

// Mint implements auth.Minter. The issuer of c is m's own whatever c says unless it differs, which is
// an error, as are a missing subject, user issuer, query, relation or digest, and an expiry that has
// passed or lies further ahead than MaxLife.
func (m *Minter) Mint(c auth.TaskClaims) (auth.Secret, error) {
	if c.Issuer == "" {
		c.Issuer = m.cfg.Issuer
	}
	if c.Issuer != m.cfg.Issuer {
		return auth.Secret{}, fmt.Errorf("task: cannot sign as another issuer")
	}
	if c.Subject == "" || c.UserIss == "" || c.Query == "" || c.Relation == "" || c.Digest == "" {
		return auth.Secret{}, errors.New("task: a claim is missing")
	}
	now := m.cfg.Now()
	if left := c.Expires.Sub(now); left <= 0 || left > m.cfg.MaxLife {
		return auth.Secret{}, errors.New("task: the expiry has passed or is too far ahead")
	}
	if c.ID == "" {
		c.ID = rand.Text()
	}
	t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, &claims{
		ID: c.ID, Issuer: c.Issuer, Subject: c.Subject, UserIss: c.UserIss,
		Query: c.Query, Relation: c.Relation, Digest: c.Digest, Issued: now.Unix(), Expires: c.Expires.Unix(),
	})
	t.Header["typ"], t.Header["kid"] = typ, m.kid
	signed, err := t.SignedString(m.cfg.Key)
	if err != nil {
		return auth.Secret{}, fmt.Errorf("task: sign: %w", err)
	}
	return auth.NewSecret(signed), nil
}

// claims is the payload of a task credential, whole.
type claims struct {
	ID       string `json:"jti"`
	Issuer   string `json:"iss"`
	Subject  string `json:"sub"`
	UserIss  string `json:"uiss"`
	Query    string `json:"qid"`
	Relation string `json:"rel"`
	Digest   string `json:"dig"`
	Issued   int64  `json:"iat"`
	Expires  int64  `json:"exp"`
}

// The times are checked by the Verifier, strictly; these methods only make claims a jwt.Claims.
func (c *claims) GetExpirationTime() (*jwt.NumericDate, error) {
	return jwt.NewNumericDate(time.Unix(c.Expires, 0)), nil
}

func (c *claims) GetIssuedAt() (*jwt.NumericDate, error) {
	return jwt.NewNumericDate(time.Unix(c.Issued, 0)), nil
}

func (c *claims) GetNotBefore() (*jwt.NumericDate, error)      { return nil, nil }
func (c *claims) GetIssuer() (string, error)                   { return c.Issuer, nil }
func (c *claims) GetSubject() (string, error)                  { return c.Subject, nil }
func (c *claims) GetAudience() (aud jwt.ClaimStrings, e error) { return nil, nil }
