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

// Unread says that a file of a table cannot be read, and why: where it lies, if that is the reason, or else what otherwise says.
func Unread(err error, otherwise string) *UnreadableError {
	if s, ok := errors.AsType[*objects.SchemeError](err); ok {
		return unreadable(err, "its files lie in %s, which is not read here", s.Store)
	}
	switch {
	case errors.Is(err, catalog.ErrNoCredentials):
		otherwise = "there are no credentials for the object store in which its files lie"
	case errors.Is(err, catalog.ErrStore):
		otherwise = "its catalog says of its object store what is not accepted here"
	case errors.Is(err, catalog.ErrOutside):
		otherwise = "a file lies where files may not be read"
	}
	return unreadable(err, "%s", otherwise)
}
