package executors

import (
	"errors"

	"gatehouse/objects"
)

// StoreError gives a failure to read an object store our own words. It is nil if err is none.
func StoreError(err error) *Error {
	switch {
	case errors.Is(err, objects.ErrExpired):
		return &Error{Kind: KindUnavailable, Hint: "the credentials for the table's files have ended; run the statement again to get new ones", Cause: err}
	case errors.Is(err, objects.ErrRefused):
		return &Error{Kind: KindRefused, Cause: err}
	case errors.Is(err, objects.ErrUnavailable):
		return &Error{Kind: KindUnavailable, Cause: err}
	case errors.Is(err, objects.ErrNotFound), errors.Is(err, objects.ErrChanged):
		return &Error{Kind: KindData, Cause: err}
	}
	return nil
}
