package auth

import (
	"context"
	"errors"
)

// Chain asks its members in order; the first that handles the kind of credential decides. A member
// that refuses or cannot tell ends the search: a later one must not let in who was refused before it.
// So a chain has one source of passwords: a users file or one issuer with a password grant. An empty
// chain refuses everybody.
type Chain []Authenticator

var _ Authenticator = Chain(nil)

// Authenticate implements Authenticator. It never returns ErrNotApplicable, and any error that is
// none of this package becomes ErrUnauthenticated.
func (c Chain) Authenticate(ctx context.Context, cred Credential) (Identity, error) {
	for _, a := range c {
		id, err := a.Authenticate(ctx, cred)
		switch {
		case err == nil && id.Valid():
			return id, nil
		case err == nil:
			return Identity{}, ErrUnauthenticated
		case errors.Is(err, ErrNotApplicable):
			continue
		case errors.Is(err, ErrRateLimited), errors.Is(err, ErrUnavailable), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
			return Identity{}, err
		default:
			return Identity{}, ErrUnauthenticated
		}
	}
	return Identity{}, ErrUnauthenticated
}
