// Package auth says who is calling.
package auth

import (
	"context"
	"errors"
	"time"
)

// Identity is one authenticated caller. The zero value is nobody and every stage refuses it.
// Two identities are the same principal only if Issuer and Subject are equal: a user name alone
// never identifies anybody, because two issuers may use the same one.
type Identity struct {
	Issuer    string // who vouches: the "iss" of a token, or "gatehouse:users" for the users file
	Subject   string // stable within Issuer
	User      string // the name that policy and audit see, NFC
	Principal string // full name as the issuer gives it; User if it gives none
	Groups    []string
	Roles     []string
	// Claims are the allow-listed claims of the token; numbers are json.Number. Never nil-checked: may be nil.
	Claims    map[string]any
	Method    string    // "basic" or "oidc"
	ExpiresAt time.Time // zero: the session's limits alone decide
	// Proof is a digest of the stored secret that the login was checked against, "" if there is none: a session ends when
	// it is another one. It is not for policies.
	Proof string
	// Token is the caller's own bearer token for catalogs; unset for users of a users file.
	Token Secret
}

// Valid reports whether i is somebody.
func (i Identity) Valid() bool { return i.Issuer != "" && i.Subject != "" && i.User != "" }

// Same reports whether i and o are the same principal.
func (i Identity) Same(o Identity) bool {
	return i.Valid() && i.Issuer == o.Issuer && i.Subject == o.Subject
}

// Credential is what a client presented: a user and password, or a bearer token.
type Credential struct {
	User     string
	Password Secret
	Bearer   Secret
	Peer     string // network address of the client without port, for rate limits
}

// Authenticator turns a credential into an identity.
//
// Authenticate returns ErrUnauthenticated for anything that does not prove an identity (always the
// same error, after the same work, whatever the cause), ErrRateLimited when this peer or user has
// to wait, ErrUnavailable when the issuer cannot be reached, and ErrNotApplicable when this kind of
// credential is not its business, so that a Chain may ask the next. It may be called at once from many
// goroutines.
type Authenticator interface {
	Authenticate(ctx context.Context, c Credential) (Identity, error)
}

// The errors of this package. Their texts may reach a client.
var (
	ErrUnauthenticated = errors.New("authentication failed")
	ErrRateLimited     = errors.New("too many attempts, wait and try again")
	ErrUnavailable     = errors.New("the identity provider cannot be reached")
	ErrNotApplicable   = errors.New("credential kind not handled")

	// ErrBadTask is what a Verifier returns, whatever was wrong.
	ErrBadTask = errors.New("bad task credential")
)
