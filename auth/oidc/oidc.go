// Package oidc authenticates callers by access tokens of an OpenID Connect issuer.
package oidc

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"gatehouse/auth"
)

// algorithms are the ones that may be configured: signatures only. With "none" and HS* a token would
// prove nothing, or whoever has the public key could sign.
var algorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// Config describes one issuer. Zero means the default where one is named.
type Config struct {
	Issuer    string   // the "iss" of its tokens, letter by letter; required
	Audiences []string // a token must be for one of these; at least one is required
	// Algorithms that signatures may have; nil means RS256, PS256, ES256 and EdDSA.
	Algorithms []string
	// AuthorizedParties, if not empty, are the clients ("azp") whose tokens count.
	AuthorizedParties []string
	// AcceptIDTokens lets ID tokens in as well, for issuers that give no other JWT. An audience is
	// then a client's id.
	AcceptIDTokens bool
	Mapping        Mapping
	// KeysURL is where the keys are; "" means wherever the discovery document says.
	KeysURL string
	// InsecureLoopback allows http for addresses on 127.0.0.0/8 and ::1.
	InsecureLoopback bool
	RootCAs          *x509.CertPool // nil: the system's
	Skew             time.Duration  // how far clocks may differ; 30 seconds, at most 5 minutes; negative: none
	KeysRefresh      time.Duration  // age at which keys are fetched again; 15 minutes
	KeysMaxAge       time.Duration  // age beyond which keys do not count while the issuer is away; 24 hours
	KeysCooldown     time.Duration  // between two fetches; 30 seconds
	// PasswordGrant, if set, also logs in users by password, at the issuer.
	PasswordGrant *PasswordGrant
	Log           *slog.Logger     // nil: no log
	Now           func() time.Time // nil: the system's clock
}

// Issuer authenticates by tokens of one issuer. It may be used at once from many goroutines; several
// stand in an auth.Chain.
type Issuer struct {
	cfg    Config
	http   *http.Client
	keys   *keySet
	found  atomic.Pointer[discovered]
	grants *grants // nil without PasswordGrant
}

var (
	_ auth.Authenticator = (*Issuer)(nil)
	_ auth.Renewer       = (*Issuer)(nil)
)

// New checks the configuration; it calls nobody. See Ready.
func New(cfg Config) (*Issuer, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	i := &Issuer{cfg: cfg, http: cfg.client()}
	i.keys = &keySet{
		fetch: i.fetchKeys, refresh: cfg.KeysRefresh, maxAge: cfg.KeysMaxAge, cooldown: cfg.KeysCooldown,
		now: cfg.Now, turn: make(chan struct{}, 1),
	}
	if cfg.PasswordGrant != nil {
		var err error
		if i.grants, err = newGrants(*cfg.PasswordGrant, cfg.Now); err != nil {
			return nil, err
		}
	}
	return i, nil
}

func (c *Config) complete() error {
	if c.Issuer == "" || len(c.Audiences) == 0 || slices.Contains(c.Audiences, "") {
		return errors.New("oidc: an issuer and at least one audience are required")
	}
	for _, u := range []string{c.Issuer, c.KeysURL} {
		if u == "" {
			continue
		}
		if err := c.checkURL(u); err != nil {
			return err
		}
	}
	if c.Algorithms == nil {
		c.Algorithms = []string{"RS256", "PS256", "ES256", "EdDSA"}
	}
	for _, a := range c.Algorithms {
		if !slices.Contains(algorithms, a) {
			return fmt.Errorf("oidc: algorithm %q is none of %v", a, algorithms)
		}
	}
	if len(c.Algorithms) == 0 || slices.Contains(c.AuthorizedParties, "") {
		return errors.New("oidc: an empty algorithm list or authorized party lets nobody in")
	}
	if c.Mapping.User == "" {
		c.Mapping.User = "preferred_username"
	}
	for name, path := range c.Mapping.Claims {
		if name == "" || path == "" {
			return errors.New("oidc: a mapped claim has an empty name or path")
		}
	}
	for _, d := range []struct {
		v   *time.Duration
		def time.Duration
	}{{&c.Skew, 30 * time.Second}, {&c.KeysRefresh, 15 * time.Minute}, {&c.KeysMaxAge, 24 * time.Hour}, {&c.KeysCooldown, 30 * time.Second}} {
		if *d.v == 0 {
			*d.v = d.def
		}
	}
	c.Skew = max(c.Skew, 0)
	if c.Skew > 5*time.Minute || c.KeysRefresh < 0 || c.KeysMaxAge < c.KeysRefresh || c.KeysCooldown < 0 {
		return errors.New("oidc: the skew is at most 5 minutes, ages are positive, and keys_max_age is not below keys_refresh")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return nil
}

// Ready fetches the issuer's keys, so that a wrong address shows at the start.
func (i *Issuer) Ready(ctx context.Context) error {
	select {
	case i.keys.turn <- struct{}{}:
		defer func() { <-i.keys.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return i.keys.load(ctx)
}

// Authenticate implements auth.Authenticator for bearer tokens that name this issuer, and for users
// with a password if there is a PasswordGrant.
func (i *Issuer) Authenticate(ctx context.Context, c auth.Credential) (auth.Identity, error) {
	switch {
	case c.Bearer.Reveal() != "":
		t, err := parseToken(c.Bearer)
		if err != nil {
			return auth.Identity{}, auth.ErrNotApplicable // of no issuer: a Chain refuses it in the end
		}
		if t.claims["iss"] != i.cfg.Issuer {
			return auth.Identity{}, auth.ErrNotApplicable
		}
		return i.verify(ctx, t)
	case !c.Password.IsZero() && c.Bearer.IsZero() && i.grants != nil:
		return i.login(ctx, c)
	}
	return auth.Identity{}, auth.ErrNotApplicable
}

// verify checks everything about a token, the signature before what it says.
func (i *Issuer) verify(ctx context.Context, t *token) (auth.Identity, error) {
	if !slices.Contains(i.cfg.Algorithms, t.alg) {
		return auth.Identity{}, auth.ErrUnauthenticated
	}
	keys, err := i.keys.find(ctx, t.alg, t.kid)
	if err != nil {
		return auth.Identity{}, err
	}
	method := jwt.GetSigningMethod(t.alg)
	if method == nil || !slices.ContainsFunc(keys, func(k key) bool { return method.Verify(t.signed, t.sig, k.public) == nil }) {
		return auth.Identity{}, auth.ErrUnauthenticated
	}
	expires, err := i.check(t)
	if err != nil {
		return auth.Identity{}, auth.ErrUnauthenticated
	}
	id, err := i.identity(t, expires)
	if err != nil {
		return auth.Identity{}, auth.ErrUnauthenticated
	}
	return id, nil
}
