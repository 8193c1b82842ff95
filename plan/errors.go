package plan

import (
	"errors"
	"fmt"

	"gatehouse/catalog"
	"gatehouse/objects"
)

// ErrInvalid says that what was given to the planner is not one statement with its tables: a zero value, a table too few, an
// identity that is nobody or has expired, two states of one table. It is a fault of the caller, not of the user.
var ErrInvalid = errors.New("plan: not a governed statement with its tables")

// UnreadableError says that a table is there, but is stored in a way that we do not read. Its text is our own and names no
// file, so that it may reach whoever may see the table.
type UnreadableError struct {
	Table string // catalog.schema.table
	Why   string
	Cause error // for the operator's log; may be nil
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("table %s cannot be read: %s", e.Table, e.Why)
}

// Unwrap returns the cause.
func (e *UnreadableError) Unwrap() error { return e.Cause }

// unreadable is an UnreadableError that does not know its table yet.
func unreadable(cause error, format string, args ...any) *UnreadableError {
	return &UnreadableError{Why: fmt.Sprintf(format, args...), Cause: cause}
}

// unread says that a file cannot be read, and why, where it lies in a store that we do not know or have no credentials for.
func unread(err error, otherwise string) *UnreadableError {
	if s, ok := errors.AsType[*objects.SchemeError](err); ok {
		return unreadable(err, "its files lie in %s, which is not read here", s.Store)
	}
	if errors.Is(err, catalog.ErrNoCredentials) {
		return unreadable(err, "there are no credentials for the object store in which its files lie")
	}
	return unreadable(err, "%s", otherwise)
}
