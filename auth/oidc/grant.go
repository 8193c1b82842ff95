package oidc

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"gatehouse/auth"
)

const (
	maxGrants   = 20_000 // refresh tokens kept
	maxAtOnce   = 16     // logins at the issuer at a time
	maxPassword = 1024
	renewBefore = 90 * time.Second
)

// PasswordGrant lets clients that know only user and password, as most JDBC tools do, log in at the
// issuer (RFC 6749 section 4.3). The gateway sees the password; issuers and users that demand a
// second factor cannot use it.
type PasswordGrant struct {
	ClientID     string
	ClientSecret auth.Secret // unset for a public client
	Scope        string      // "" means "openid"
	Limits       auth.Limits
}

// grants holds the refresh tokens of those who logged in by password, by the digest of the access token
// in their identity. Access tokens live minutes and such clients cannot renew them, so a session
// renews its identity and token together, through Renew.
type grants struct {
	cfg     PasswordGrant
	now     func() time.Time
	limiter *auth.Limiter
	slots   chan struct{}

	mu      sync.Mutex
	refresh map[[sha256.Size]byte]refresh
}

type refresh struct {
	token  auth.Secret
	access time.Time // when the access token expires
	until  time.Time
}

func newGrants(cfg PasswordGrant, now func() time.Time) (*grants, error) {
	if cfg.ClientID == "" {
		return nil, errors.New("oidc: the password grant needs a client_id")
	}
	if !cfg.ClientSecret.IsZero() && cfg.ClientSecret.Reveal() == "" {
		return nil, errors.New("oidc: the client secret is empty; leave it out for a public client")
	}
	if cfg.Scope == "" {
		cfg.Scope = "openid"
	}
	limiter, err := auth.NewLimiter(cfg.Limits, now)
	if err != nil {
		return nil, err
	}
	return &grants{cfg: cfg, now: now, limiter: limiter, slots: make(chan struct{}, maxAtOnce), refresh: map[[sha256.Size]byte]refresh{}}, nil
}

// login asks the issuer for a token and believes it no more than one that a client brings.
func (i *Issuer) login(ctx context.Context, c auth.Credential) (auth.Identity, error) {
	g := i.grants
	user, ok := auth.NormalizeUser(c.User)
	select {
	case g.slots <- struct{}{}:
		defer func() { <-g.slots }()
	case <-ctx.Done():
		return auth.Identity{}, ctx.Err()
	}
	if !g.limiter.Allow(c.Peer, user) {
		return auth.Identity{}, auth.ErrRateLimited
	}
	password := c.Password.Reveal()
	if !ok || password == "" || len(password) > maxPassword {
		g.limiter.Fail(c.Peer, user)
		return auth.Identity{}, auth.ErrUnauthenticated
	}
	id, err := i.grant(ctx, url.Values{"grant_type": {"password"}, "username": {user}, "password": {password}, "scope": {g.cfg.Scope}})
	if errors.Is(err, auth.ErrUnauthenticated) {
		g.limiter.Fail(c.Peer, user)
	}
	return id, err
}

// Renew implements auth.Renewer. A caller's own token is verified again, so that it ends with the key
// that signed it; the token of a login by password is replaced a little before it expires.
func (i *Issuer) Renew(ctx context.Context, id auth.Identity) (auth.Identity, error) {
	if id.Issuer != i.cfg.Issuer {
		return auth.Identity{}, auth.ErrNotApplicable
	}
	g, key := i.grants, sha256.Sum256([]byte(id.Token.Reveal()))
	r, ok := g.refreshFor(key)
	if !ok || g.now().Before(r.access.Add(-renewBefore)) {
		return i.again(ctx, id)
	}
	// An issuer may take a refresh token back once it was used, so a caller who goes away must not cut
	// the exchange short.
	next, err := i.grant(context.WithoutCancel(ctx), url.Values{"grant_type": {"refresh_token"}, "refresh_token": {r.token.Reveal()}})
	if err != nil {
		return auth.Identity{}, err
	}
	if !next.Same(id) {
		return auth.Identity{}, auth.ErrUnauthenticated
	}
	g.mu.Lock()
	delete(g.refresh, key)
	g.mu.Unlock()
	return next, nil
}

// again verifies the token of id once more; how long the login lasts stays.
func (i *Issuer) again(ctx context.Context, id auth.Identity) (auth.Identity, error) {
	t, err := parseToken(id.Token)
	if err != nil {
		return auth.Identity{}, auth.ErrUnauthenticated
	}
	next, err := i.verify(ctx, t)
	if err != nil {
		return auth.Identity{}, err
	}
	if !next.Same(id) {
		return auth.Identity{}, auth.ErrUnauthenticated
	}
	next.ExpiresAt = id.ExpiresAt
	return next, nil
}

func (g *grants) refreshFor(key [sha256.Size]byte) (refresh, bool) {
	if g == nil {
		return refresh{}, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	r, ok := g.refresh[key]
	return r, ok
}

// grant calls the token endpoint. It returns auth.ErrUnauthenticated if the issuer refuses the grant
// itself, and auth.ErrUnavailable if it refuses the client or gives no usable answer; neither carries
// the issuer's text.
func (i *Issuer) grant(ctx context.Context, form url.Values) (auth.Identity, error) {
	status, body, err := i.post(ctx, form)
	if err != nil {
		if ctx.Err() != nil {
			return auth.Identity{}, ctx.Err()
		}
		i.cfg.Log.Warn("token endpoint of the issuer not reached", "issuer", i.cfg.Issuer)
		return auth.Identity{}, auth.ErrUnavailable
	}
	var answer struct {
		Error          string `json:"error"`
		AccessToken    string `json:"access_token"`
		RefreshToken   string `json:"refresh_token"`
		RefreshExpires int64  `json:"refresh_expires_in"`
	}
	bad := json.Unmarshal(body, &answer) != nil
	switch {
	case !bad && status == http.StatusOK && answer.AccessToken != "":
	case !bad && answer.Error == "invalid_grant" && (status == http.StatusBadRequest || status == http.StatusUnauthorized):
		return auth.Identity{}, auth.ErrUnauthenticated
	default:
		i.cfg.Log.Warn("token endpoint of the issuer refused the gateway", "issuer", i.cfg.Issuer, "status", status)
		return auth.Identity{}, auth.ErrUnavailable
	}
	t, err := parseToken(auth.NewSecret(answer.AccessToken))
	if err != nil {
		return auth.Identity{}, auth.ErrUnauthenticated
	}
	id, err := i.verify(ctx, t)
	if err != nil {
		return auth.Identity{}, err
	}
	if answer.RefreshToken != "" && answer.RefreshExpires > 0 {
		id.ExpiresAt = i.grants.keep(id, auth.NewSecret(answer.RefreshToken), time.Duration(min(answer.RefreshExpires, 30*24*3600))*time.Second)
	}
	return id, nil
}

func (i *Issuer) post(ctx context.Context, form url.Values) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	e, err := i.endpoints(ctx)
	if err != nil {
		return 0, nil, err
	}
	if err := i.cfg.checkURL(e.Token); err != nil {
		return 0, nil, err
	}
	cfg := i.grants.cfg
	if cfg.ClientSecret.IsZero() {
		form.Set("client_id", cfg.ClientID)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.Token, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	if !cfg.ClientSecret.IsZero() {
		r.SetBasicAuth(url.QueryEscape(cfg.ClientID), url.QueryEscape(cfg.ClientSecret.Reveal()))
	}
	return i.do(r)
}

// keep remembers a refresh token and returns until when the identity can be renewed. If there is no
// room the login lasts as long as its access token.
func (g *grants) keep(id auth.Identity, token auth.Secret, life time.Duration) time.Time {
	now := g.now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.refresh) >= maxGrants {
		for k, r := range g.refresh {
			if !now.Before(r.until) {
				delete(g.refresh, k)
			}
		}
	}
	until := now.Add(life)
	if len(g.refresh) >= maxGrants || !until.After(id.ExpiresAt) {
		return id.ExpiresAt
	}
	g.refresh[sha256.Sum256([]byte(id.Token.Reveal()))] = refresh{token: token, access: id.ExpiresAt, until: until}
	return until
}
