// Package objects reads immutable objects of object stores by ranges, with the credentials of one caller and one table. It is a plug point:
// each subfolder knows one kind of store, and objectstest is the suite that all of them pass.
package objects

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The kinds of failure that a reader tells apart. Errors of a Store wrap one of them, or the context's error. Their texts name locations
// and may hold words of the store, so they are for the log and never for a client; they hold no credential.
var (
	ErrNotFound    = errors.New("no such object")                          // also where the credentials may not know whether it exists
	ErrRefused     = errors.New("the store refuses these credentials")     // wrong, expired, or of another place
	ErrChanged     = errors.New("the object is not the one it was before") // another size or tag
	ErrUnavailable = errors.New("the store does not answer")               // may go away by itself
)

// ErrExpired is an ErrRefused: the credentials have ended. New ones come when the table is loaded anew.
var ErrExpired = fmt.Errorf("%w: they have ended", ErrRefused)

// Object is one object as metadata or an earlier read has it.
type Object struct {
	Location string // as Iceberg metadata spells it, "s3://bucket/key"; nothing in it is decoded
	Size     int64  // bytes; negative if nobody knows
	Tag      string // what the store calls this very content; empty before the first read
}

// Store reads objects with one set of credentials. It is safe for concurrent use.
type Store interface {
	// Read fills p with the bytes of o from off on, and returns o with its size and tag. It fails if they are not there in full, and with
	// ErrChanged if the object has another size or tag than o says.
	Read(ctx context.Context, o Object, p []byte, off int64) (Object, error)
	// ReadAll returns a whole object of at most limit bytes, which o.Size may say or not.
	ReadAll(ctx context.Context, o Object, limit int64) ([]byte, error)
	// Presign returns a URL with which anybody can GET that one object, whole or by ranges, and nothing else, until then at the latest,
	// or until the credentials end, if that is earlier; if they have ended, it is ErrExpired. Nothing is asked of the store. It is a
	// credential.
	Presign(ctx context.Context, location string, until time.Time) (string, error)
	// Scope names who reads with what rights: bytes that came under one scope are shown under no other. It holds no secret.
	Scope() string
}
