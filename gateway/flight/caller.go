package flight

import (
	"context"
	"errors"

	"gatehouse/auth"
	"gatehouse/gateway"
)

// Caller says who sends a call of another protocol with these authorization headers, by the rules of this one: a password, an issuer's
// token, or a token that this server gave out. It makes no session. The caller calls done once the call is over.
func (s *Server) Caller(ctx context.Context, authorization []string, peer, agent string) (session *gateway.Session, done func(), err error) {
	cred, err := auth.ParseAuthorization(authorization)
	if errors.Is(err, auth.ErrNotApplicable) {
		return nil, nil, errSignIn
	}
	if err != nil {
		return nil, nil, auth.ErrUnauthenticated
	}
	if isOwnToken(cred.Bearer) {
		c, err := s.logins.byToken(ctx, cred.Bearer)
		if err != nil {
			return nil, nil, err
		}
		return c.session(), c.done, nil
	}
	cred.Peer = peer
	id, err := s.authenticate(ctx, cred)
	if err != nil {
		return nil, nil, err
	}
	session, err = s.cfg.Gateway.NewSession(id, peer, clipAgent(agent))
	return session, func() {}, err
}
