package auth

import (
	"context"
	"errors"
)

// Renewer says who an identity is now, for sessions that live longer than a look at a users file or an
// access token. Renew returns the identity as it is now, whole, ErrUnauthenticated if there is no such
// principal any more, ErrNotApplicable if another issuer vouches for it, and any other error if it
// cannot tell.
type Renewer interface {
	Renew(ctx context.Context, id Identity) (Identity, error)
}

var _ Renewer = Chain(nil)

// Renew implements Renewer with those members that are Renewers. An identity that none of them knows is
// gone: its issuer was taken out.
func (c Chain) Renew(ctx context.Context, id Identity) (Identity, error) {
	for _, a := range c {
		r, ok := a.(Renewer)
		if !ok {
			continue
		}
		next, err := r.Renew(ctx, id)
		if errors.Is(err, ErrNotApplicable) {
			continue
		}
		return next, err
	}
	return Identity{}, ErrUnauthenticated
}
