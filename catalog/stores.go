package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gatehouse/objects"
)

// Opened is a store with credentials for the locations below Prefix.
type Opened struct {
	// Prefix is "s3://bucket/…", which ends at a slash; "", "s3" and "s3://" stand for everything.
	Prefix string
	Store  objects.Store
}

// opened is an Opened whose prefix is understood; a zero prefix is everything.
type opened struct {
	prefix objects.Location
	store  objects.Store
}

// With returns Files that reads objects through these stores, each below its prefix, the one with the longest first. scope is what the
// Scope of Objects returns: who reads with what rights.
func (f Files) With(scope string, stores ...Opened) (Files, error) {
	out := Files{roots: f.roots, places: f.places, scope: scope, vended: f.vended}
	for _, o := range stores {
		var prefix objects.Location
		if o.Prefix != "" && o.Prefix != "s3" && o.Prefix != "s3://" {
			var err error
			if prefix, err = objects.Parse(o.Prefix); err != nil {
				return Files{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
			}
		}
		out.opened = append(out.opened, opened{prefix, o.Store})
	}
	slices.SortStableFunc(out.opened, func(a, b opened) int { return len(b.prefix.String()) - len(a.prefix.String()) })
	return out, nil
}

// WithVended is With for credentials that were given for one caller and one statement. What is known of a table from an earlier statement does not
// show that these may read it, too; see Proven.
func (f Files) WithVended(scope string, stores ...Opened) (Files, error) {
	f.vended = true
	return f.With(scope, stores...)
}

// Proven returns nil if the credentials may read an object now. The store is asked where they are vended; the operator's are trusted, and so are
// local files. The error is like ReadMetadata's.
func (f Files) Proven(ctx context.Context, location string) error {
	if !f.vended || !objects.IsObject(location) {
		return nil
	}
	_, err := f.Tag(ctx, location)
	return err
}

// HasPlaces reports whether some root lies in an object store.
func (f Files) HasPlaces() bool { return len(f.places) > 0 }

// Scope says under whose rights objects are read; it is empty where none are.
func (f Files) Scope() string { return f.scope }

// choose returns the store that opens an object.
func (f Files) choose(location string) (objects.Store, error) {
	l, err := objects.Parse(location)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if !slices.ContainsFunc(f.places, l.Below) {
		return nil, fmt.Errorf("%w: %s", ErrOutside, location)
	}
	for _, o := range f.opened {
		if o.prefix == (objects.Location{}) || l.Below(o.prefix) {
			return o.store, nil
		}
	}
	return nil, fmt.Errorf("%w: %s", ErrNoCredentials, location)
}

// Tag asks the store of an object for its tag. The error is like ReadMetadata's.
func (f Files) Tag(ctx context.Context, location string) (string, error) {
	store, err := f.choose(location)
	if err != nil {
		return "", err
	}
	o, err := store.Read(ctx, objects.Object{Location: location, Size: -1}, nil, 0)
	if err != nil {
		return "", faulty("object", err)
	}
	return o.Tag, nil
}

// Objects returns a store that reads whatever f may read of object stores and nothing else, nil if that is nothing.
func (f Files) Objects() objects.Store {
	if len(f.places) == 0 || len(f.opened) == 0 {
		return nil
	}
	return rooted{f}
}

// rooted is the store of Files.Objects.
type rooted struct{ files Files }

var _ objects.Store = rooted{}

func (r rooted) choose(location string) (objects.Store, error) {
	store, err := r.files.choose(location)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", objects.ErrRefused, err)
	}
	return store, nil
}

// Read implements objects.Store.
func (r rooted) Read(ctx context.Context, o objects.Object, p []byte, off int64) (objects.Object, error) {
	store, err := r.choose(o.Location)
	if err != nil {
		return o, err
	}
	return store.Read(ctx, o, p, off)
}

// ReadAll implements objects.Store.
func (r rooted) ReadAll(ctx context.Context, o objects.Object, limit int64) ([]byte, error) {
	store, err := r.choose(o.Location)
	if err != nil {
		return nil, err
	}
	return store.ReadAll(ctx, o, limit)
}

// Presign implements objects.Store.
func (r rooted) Presign(ctx context.Context, location string, until time.Time) (string, error) {
	store, err := r.choose(location)
	if err != nil {
		return "", err
	}
	return store.Presign(ctx, location, until)
}

// Scope implements objects.Store.
func (r rooted) Scope() string { return r.files.scope }

// ScopeOf joins the parts of a scope so that no two lists of parts are one.
func ScopeOf(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		fmt.Fprintf(&b, "%d:%s", len(p), p)
	}
	return b.String()
}

// faulty gives a failure to read a file its class: ErrUnavailable if a store does not answer, the context's error as it is, ErrUnreadable else.
func faulty(what string, err error) error {
	switch {
	case errors.Is(err, objects.ErrUnavailable):
		return fmt.Errorf("%w: %s: %w", ErrUnavailable, what, err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%w: %s: %w", ErrUnreadable, what, err)
}
