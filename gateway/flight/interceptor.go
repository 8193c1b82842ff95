package flight

import (
	"context"
	"log/slog"
	"runtime/debug"

	"google.golang.org/grpc"
)

// handshakeMethod is the one call that makes a session rather than needing one.
const handshakeMethod = "/arrow.flight.protocol.FlightService/Handshake"

type loginKey struct{}

// loginOf returns whose call it is; the interceptors have put it there. Without one the call ends, whatever it is.
func loginOf(ctx context.Context) (*login, error) {
	l, _ := ctx.Value(loginKey{}).(*login)
	if l == nil {
		return nil, errSignIn
	}
	return l, nil
}

// unary authenticates a call, runs it, and turns a panic and every error into a status of ours.
func (s *Server) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (resp any, err error) {
	defer s.recover(info.FullMethod, &err)
	c, out, err := s.signIn(ctx, false)
	if err != nil {
		return nil, s.status(info.FullMethod, err)
	}
	defer c.done()
	if err := out.send(func(h md) error { return grpc.SetHeader(ctx, h) }, func(h md) { _ = grpc.SetTrailer(ctx, h) }); err != nil {
		return nil, toStatus(err)
	}
	resp, err = next(context.WithValue(ctx, loginKey{}, c.login), req)
	if err != nil {
		return nil, s.status(info.FullMethod, err)
	}
	return resp, nil
}

// stream is unary for the streaming calls.
func (s *Server) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	defer s.recover(info.FullMethod, &err)
	c, out, err := s.signIn(ss.Context(), info.FullMethod == handshakeMethod)
	if err != nil {
		return toStatus(err)
	}
	defer c.done()
	if err := out.send(ss.SetHeader, ss.SetTrailer); err != nil {
		return toStatus(err)
	}
	ctx := context.WithValue(ss.Context(), loginKey{}, c.login)
	return s.status(info.FullMethod, next(srv, &identified{ServerStream: ss, ctx: ctx}))
}

// status is toStatus, and tells the operator of errors that are in no table. Their text may hold data, so only the type
// is kept.
func (s *Server) status(method string, err error) error {
	if err == nil {
		return nil
	}
	if _, text := describe(err); text == textUnknown && err != errPanic {
		s.cfg.Log.Error("a call failed with an unknown error", slog.String("method", method), slog.String("kind", kindOf(err)))
	}
	return toStatus(err)
}

// identified is a stream whose context knows the login.
type identified struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements grpc.ServerStream.
func (i *identified) Context() context.Context { return i.ctx }

// recover ends a call that panicked with a status; the process and the other calls go on.
func (s *Server) recover(method string, err *error) {
	p := recover()
	if p == nil {
		return
	}
	s.logPanic(method, p)
	*err = toStatus(errPanic)
}

// logPanic tells the operator where it happened. The panic's own text may hold data, so only its type is kept.
func (s *Server) logPanic(where string, p any) {
	s.cfg.Log.Error("panic in a call", slog.String("method", where), slog.String("kind", kindOf(p)), slog.String("stack", string(debug.Stack())))
}
