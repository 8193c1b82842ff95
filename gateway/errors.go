package gateway

import (
	"context"
	"errors"
	"fmt"

	"gatehouse/catalog"
	"gatehouse/classify"
	"gatehouse/executors"
	"gatehouse/policy"
)

// The errors of this package. Besides them a Gateway returns *classify.SyntaxError, *classify.UnsupportedError,
// *classify.NameError (also for a table that does not exist or that the caller may not see), *policy.DeniedError,
// *policy.PolicyError, *executors.Error and *InternalError, and nothing else: whatever has another type becomes an
// InternalError that carries only the query id.
var (
	ErrClosing     = errors.New("the gateway is shutting down")
	ErrCancelled   = errors.New("the statement was cancelled")
	ErrTimeout     = errors.New("limit reached: the time of one statement") // the gateway's limit or the session's
	ErrDeadline    = errors.New("the call took longer than its own deadline")
	ErrNoSuchQuery = errors.New("no such statement")
	ErrUnavailable = errors.New("the catalog is not available, try again later")
	ErrRefused     = errors.New("the catalog refused the credential, sign in again")
	ErrAudit       = errors.New("the statement could not be recorded, so it was not run")
	ErrUsed        = errors.New("this result has been read already")
)

// LimitError says which limit is reached. It may reach a client.
type LimitError struct{ What string }

func (e *LimitError) Error() string { return "limit reached: " + e.What }

// SettingError says what is wrong with a session setting. It may reach a client.
type SettingError struct{ Name, Why string }

func (e *SettingError) Error() string { return fmt.Sprintf("setting %q %s", e.Name, e.Why) }

// UnreadableError says that a table that the caller may see cannot be read. It may reach a client.
type UnreadableError struct {
	Table, Why string
	cause      error // for the operator's log; may be nil
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("table %q cannot be read: %s", e.Table, e.Why)
}

// Unwrap returns the cause, for the log.
func (e *UnreadableError) Unwrap() error { return e.cause }

// InternalError hides a fault whose text must not get out. The log has it under the query id.
type InternalError struct {
	Query string
	cause error
}

func (e *InternalError) Error() string { return "internal error (query " + e.Query + ")" }

// Unwrap returns the cause, for the log and for tests.
func (e *InternalError) Unwrap() error { return e.cause }

// public turns err into one of the errors that may leave the gateway.
func public(ctx context.Context, query string, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		switch {
		case errors.Is(cause, ErrCancelled), errors.Is(cause, ErrClosing), errors.Is(cause, ErrTimeout):
			return cause
		case errors.Is(cause, context.DeadlineExceeded): // the client's: ours has a cause of its own
			return ErrDeadline
		case errors.Is(cause, context.Canceled):
			return ErrCancelled
		}
	}
	if known(err) {
		return err
	}
	switch {
	case errors.Is(err, catalog.ErrUnavailable):
		return ErrUnavailable
	case errors.Is(err, catalog.ErrRefused):
		return ErrRefused
	case errors.Is(err, context.Canceled):
		return ErrCancelled
	case errors.Is(err, context.DeadlineExceeded):
		return ErrTimeout
	}
	return &InternalError{Query: query, cause: err}
}

// known reports whether err itself, not something that it wraps, is an error whose text is ours.
func known(err error) bool {
	switch err.(type) {
	case *classify.SyntaxError, *classify.UnsupportedError, *classify.NameError, *policy.DeniedError, *policy.PolicyError,
		*executors.Error, *LimitError, *SettingError, *UnreadableError, *InternalError,
		*policy.RightsError:
		return true
	}
	for _, e := range []error{ErrClosing, ErrCancelled, ErrTimeout, ErrDeadline, ErrNoSuchQuery, ErrUnavailable, ErrRefused, ErrAudit, ErrUsed} {
		if err == e {
			return true
		}
	}
	return false
}

// class names the kind of err for audit and metrics, from a closed set.
func class(err error) string {
	switch e := err.(type) {
	case nil:
		return ""
	case *classify.SyntaxError:
		return "syntax"
	case *classify.UnsupportedError:
		if e.Limit {
			return "limit"
		}
		return "unsupported"
	case *classify.NameError:
		return "no_such_" + e.Kind
	case *policy.DeniedError:
		return "denied"
	case *policy.PolicyError:
		return "policy"
	case *executors.Error:
		return "executor_" + executorClass[e.Kind]
	case *LimitError:
		return "limit"
	case *SettingError:
		return "setting"
	case *policy.RightsError:
		return "rights"
	case *UnreadableError:
		return "unreadable"
	}
	switch err {
	case ErrClosing:
		return "closing"
	case ErrCancelled:
		return "cancelled"
	case ErrTimeout:
		return "timeout"
	case ErrDeadline:
		return "deadline"
	case ErrUnavailable, ErrRefused:
		return "catalog"
	case ErrAudit:
		return "audit"
	}
	return "internal"
}

var executorClass = map[executors.Kind]string{
	executors.KindInternal: "internal", executors.KindBind: "bind", executors.KindConversion: "conversion",
	executors.KindRange: "range", executors.KindDivision: "division", executors.KindCardinality: "cardinality",
	executors.KindArgument: "argument", executors.KindMemory: "memory", executors.KindUnsupported: "unsupported",
	executors.KindData: "data", executors.KindCredential: "credential",
	executors.KindRefused: "refused", executors.KindUnavailable: "unavailable",
}
