package flight

import (
	"context"
	"errors"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"gatehouse/auth"
	"gatehouse/auth/session"
	"gatehouse/classify"
	"gatehouse/executors"
	"gatehouse/gateway"
	"gatehouse/policy"
)

// callError is a refusal by this door itself.
type callError struct {
	code codes.Code
	text string
}

func (e *callError) Error() string { return e.text }

// textUnknown is all that a client learns of a fault that has no query id.
const textUnknown = "internal error"

// The refusals that say nothing about a particular call.
var (
	// errHandle is the one answer to a handle or ticket that is forged, expired, closed, or of another user or session.
	errHandle  = &callError{codes.NotFound, "no such statement handle, or it has expired"}
	errCommand = &callError{codes.InvalidArgument, "the command cannot be read"}
	errSession = &callError{codes.Unauthenticated, "no such session, or it has expired: sign in again"}
	errSignIn  = &callError{codes.Unauthenticated, "sign in first: no user and password or bearer token came with the call"}
	errPanic   = &callError{codes.Internal, textUnknown}
)

// toStatus turns err into a fresh status with a text of ours. It never passes on a status that something below made, since
// that would carry its text out.
func toStatus(err error) error {
	if err == nil {
		return nil
	}
	code, text := describe(err)
	return status.Error(code, clip(text))
}

func describe(err error) (codes.Code, string) {
	switch e := err.(type) {
	case *callError:
		return e.code, e.text
	case *classify.SyntaxError:
		return codes.InvalidArgument, e.Error()
	case *classify.UnsupportedError:
		if e.Limit {
			return codes.ResourceExhausted, e.Error()
		}
		return codes.Unimplemented, e.Error()
	case *classify.NameError:
		if e.Kind == "table" || e.Kind == "version of table" {
			return codes.NotFound, e.Error()
		}
		return codes.InvalidArgument, e.Error()
	case *policy.DeniedError:
		return codes.PermissionDenied, e.Error()
	case *policy.PolicyError:
		return codes.PermissionDenied, e.Error()
	case *executors.Error:
		return executorCode(e.Kind), e.Error()
	case *gateway.LimitError:
		return codes.ResourceExhausted, e.Error()
	case *gateway.SettingError:
		return codes.InvalidArgument, e.Error()
	case *policy.RightsError:
		return codes.InvalidArgument, e.Error()
	case *gateway.UnreadableError:
		return codes.FailedPrecondition, e.Error()
	case *gateway.InternalError:
		return codes.Internal, e.Error()
	}
	for _, s := range sentinels {
		if err == s.err {
			return s.code, s.err.Error()
		}
	}
	switch {
	case errors.Is(err, context.Canceled):
		return codes.Canceled, "the call was cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded, "the call took longer than it may"
	}
	return codes.Internal, textUnknown
}

// sentinels are matched by identity: a wrapping error might have another text.
var sentinels = []struct {
	err  error
	code codes.Code
}{
	{auth.ErrUnauthenticated, codes.Unauthenticated},
	{auth.ErrNotApplicable, codes.Unauthenticated},
	{auth.ErrRateLimited, codes.ResourceExhausted},
	{auth.ErrUnavailable, codes.Unavailable},
	{session.ErrTooMany, codes.ResourceExhausted},
	{gateway.ErrClosing, codes.Unavailable},
	{gateway.ErrCancelled, codes.Canceled},
	{gateway.ErrTimeout, codes.ResourceExhausted},
	{gateway.ErrDeadline, codes.DeadlineExceeded},
	{gateway.ErrNoSuchQuery, codes.NotFound},
	{gateway.ErrUnavailable, codes.Unavailable},
	{gateway.ErrRefused, codes.Unauthenticated},
	{gateway.ErrAudit, codes.Unavailable},
	{gateway.ErrUsed, codes.FailedPrecondition},
}

func executorCode(k executors.Kind) codes.Code {
	switch k {
	case executors.KindBind, executors.KindConversion, executors.KindRange, executors.KindDivision,
		executors.KindCardinality, executors.KindArgument:
		return codes.InvalidArgument
	case executors.KindMemory:
		return codes.ResourceExhausted
	case executors.KindUnsupported:
		return codes.Unimplemented
	case executors.KindData:
		return codes.DataLoss
	case executors.KindRefused:
		return codes.PermissionDenied
	case executors.KindUnavailable:
		return codes.Unavailable
	}
	return codes.Internal
}

// maxText bounds a message as it goes over the wire, where a byte that is not printable ASCII takes three: several
// clients limit the trailers of a call to 8 KiB.
const maxText = 2 << 10

func clip(s string) string {
	const mark = " …"
	size, end := 0, 0
	for i, r := range s {
		n := 1
		if r < ' ' || r > '~' || r == '%' {
			n = 3 * utf8.RuneLen(r)
			if r == utf8.RuneError {
				n = 9
			}
		}
		if size += n; size > maxText {
			return s[:end] + mark
		}
		if size <= maxText-3*len(mark) {
			end = i + utf8.RuneLen(r)
			if r == utf8.RuneError {
				end = i
			}
		}
	}
	return s
}
