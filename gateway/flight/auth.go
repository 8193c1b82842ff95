package flight

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"gatehouse/auth"
)

// cookieName is the cookie that the protocol's session actions are specified with.
const cookieName = "arrow_flight_session_id"

type md = metadata.MD

// answer is what a call's headers and trailers carry back. Some drivers read the token in one, some in the other.
type answer struct {
	token  auth.Secret
	cookie string
}

func (a answer) send(header func(md) error, trailer func(md)) error {
	out := md{}
	if !a.token.IsZero() {
		out.Set("authorization", "Bearer "+a.token.Reveal())
	}
	if a.cookie != "" {
		out.Set("set-cookie", (&http.Cookie{Name: cookieName, Value: a.cookie, HttpOnly: true}).String())
	}
	if len(out) == 0 {
		return nil
	}
	trailer(out)
	return header(out)
}

// signIn says whose call it is. A handshake always makes a session; another call uses the session of its token, or the
// one that belongs to its credential. The caller calls done once the call is over.
func (s *Server) signIn(ctx context.Context, handshake bool) (call, answer, error) {
	headers, _ := metadata.FromIncomingContext(ctx)
	cred, err := auth.ParseAuthorization(headers.Get("authorization"))
	if errors.Is(err, auth.ErrNotApplicable) {
		return call{}, answer{}, errSignIn
	}
	if err != nil {
		return call{}, answer{}, auth.ErrUnauthenticated
	}
	cred.Peer = peerOf(ctx)
	agent := strings.Join(headers.Get("user-agent"), " ")
	if isOwnToken(cred.Bearer) {
		return s.resume(ctx, cred.Bearer, handshake, cookies(headers))
	}
	if handshake {
		id, err := s.authenticate(ctx, cred)
		if err != nil {
			return call{}, answer{}, err
		}
		c, err := s.logins.open(ctx, id, cred.Peer, agent)
		if err != nil {
			return call{}, answer{}, err
		}
		return c, answer{token: c.token, cookie: c.id}, nil
	}
	return s.implicit(ctx, cred, agent, cookies(headers))
}

// resume uses the session of a token that this server gave out.
func (s *Server) resume(ctx context.Context, token auth.Secret, handshake bool, cookies []string) (call, answer, error) {
	c, err := s.logins.byToken(ctx, token)
	if err != nil {
		return call{}, answer{}, err
	}
	if handshake {
		return c, answer{token: c.token, cookie: c.id}, nil
	}
	if err := c.checkCookie(cookies); err != nil {
		c.done()
		return call{}, answer{}, err
	}
	return c, answer{}, nil
}

// implicit finds the session of a call that brings its credential along each time: the one that its cookie names, if
// that is the same principal's, or else the one that all calls with this credential share.
func (s *Server) implicit(ctx context.Context, cred auth.Credential, agent string, cookies []string) (call, answer, error) {
	if !cred.Bearer.IsZero() && len(cookies) == 0 {
		// An issuer's token that has been verified before.
		if c, err := s.logins.byToken(ctx, cred.Bearer); err == nil {
			return c, answer{}, nil
		}
	}
	id, err := s.authenticate(ctx, cred)
	if err != nil {
		return call{}, answer{}, err
	}
	if len(cookies) > 0 {
		c, err := s.logins.byCookie(ctx, cookies, id)
		return c, answer{}, err
	}
	c, err := s.logins.shared(ctx, id, cred, agent)
	if err != nil {
		return call{}, answer{}, err
	}
	return c, answer{token: c.token}, nil
}

func (s *Server) authenticate(ctx context.Context, cred auth.Credential) (auth.Identity, error) {
	id, err := s.cfg.Auth.Authenticate(ctx, cred)
	if err != nil {
		return auth.Identity{}, signInError(err)
	}
	if !id.Valid() {
		return auth.Identity{}, auth.ErrUnauthenticated
	}
	return id, nil
}

// signInError lets only errors of package auth through.
func signInError(err error) error {
	for _, known := range []error{auth.ErrRateLimited, auth.ErrUnavailable} {
		if errors.Is(err, known) {
			return known
		}
	}
	if errors.Is(err, context.Canceled) {
		return context.Canceled
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return auth.ErrUnauthenticated
}

// cookies returns the values of the session cookie, of which a client sends at most one.
func cookies(headers md) []string {
	var out []string
	for _, line := range headers.Get("cookie") {
		parsed, err := http.ParseCookie(line)
		if err != nil {
			continue
		}
		for _, c := range parsed {
			if c.Name == cookieName {
				out = append(out, c.Value)
			}
		}
	}
	return out
}

// peerOf returns the client's address without its port.
func peerOf(ctx context.Context) string {
	p, ok := peer.FromContext(ctx)
	if !ok || p.Addr == nil {
		return ""
	}
	host, _, err := net.SplitHostPort(p.Addr.String())
	if err != nil {
		return p.Addr.String()
	}
	return host
}

// Handshake answers with the session's token; the interceptor has authenticated the call by its headers. What the client
// puts into the payload is read and ignored, so that a client which waits for its turn to send does not hang.
func (s *Server) Handshake(stream flight.FlightService_HandshakeServer) error {
	l, err := loginOf(stream.Context())
	if err != nil {
		return err
	}
	if err := stream.Send(&flight.HandshakeResponse{Payload: []byte(l.token.Reveal())}); err != nil {
		return err
	}
	for range maxHandshake {
		if _, err := stream.Recv(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return errCommand
}

// maxHandshake is how many payloads a client may send in one handshake.
const maxHandshake = 16

func kindOf(p any) string {
	if err, ok := p.(error); ok {
		return fmt.Sprintf("%T", err)
	}
	return fmt.Sprintf("%T", p)
}
