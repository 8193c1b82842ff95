package catalog_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gatehouse/catalog"
	"gatehouse/objects"
	"gatehouse/objects/objectstest"
)

// Objects are read below roots alone, with the credentials of the longest prefix alone, and under the names that they have.
func TestFilesInStores(t *testing.T) {
	server := objectstest.Start(t)
	for _, key := range []string{"wh/a/x", "wh/a/b/x", "wh/ab/x", "wh/region=n%2Fa b+ü/x", "other/x"} {
		server.Put(t, key, []byte(key))
	}
	rooted, err := catalog.NewFiles("s3://lake/wh", t.TempDir())
	if err != nil || !rooted.HasPlaces() {
		t.Fatal(err)
	}
	reader, stranger := server.Store(t, server.Reader), server.Store(t, server.Stranger)
	files, err := rooted.With("scope", catalog.Opened{Prefix: "s3://lake/wh/", Store: stranger}, catalog.Opened{Prefix: "s3a://lake/wh/a", Store: reader}, catalog.Opened{Prefix: "s3://lake/wh/a/b/", Store: stranger})
	if err != nil {
		t.Fatal(err)
	}
	all, err := rooted.With("scope", catalog.Opened{Prefix: "s3", Store: reader})
	if err != nil {
		t.Fatal(err)
	}
	none, err := rooted.With("scope", catalog.Opened{Prefix: "s3://lake/other", Store: reader})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		location           string
		some, whole, other error
	}{
		{"s3://lake/wh/a/x", nil, nil, catalog.ErrNoCredentials},
		{"s3n://lake/wh/a/x", nil, nil, catalog.ErrNoCredentials},
		{"s3://lake/wh/a/b/x", objects.ErrRefused, nil, catalog.ErrNoCredentials},
		{"s3://lake/wh/ab/x", objects.ErrRefused, nil, catalog.ErrNoCredentials},
		{"s3://lake/wh/region=n%2Fa b+ü/x", objects.ErrRefused, nil, catalog.ErrNoCredentials},
		{"s3://lake/wh/none", objects.ErrRefused, objects.ErrNotFound, catalog.ErrNoCredentials},
		{"s3://lake/other/x", catalog.ErrUnreadable, catalog.ErrUnreadable, catalog.ErrUnreadable},
		{"s3://lake/wh/../other/x", catalog.ErrUnreadable, catalog.ErrUnreadable, catalog.ErrUnreadable},
		{"s3://lake/wh/a/../../other/x", catalog.ErrUnreadable, catalog.ErrUnreadable, catalog.ErrUnreadable},
		{"s3://lake/wh", catalog.ErrUnreadable, catalog.ErrUnreadable, catalog.ErrUnreadable},
		{"s3://lake/wh2/x", catalog.ErrUnreadable, catalog.ErrUnreadable, catalog.ErrUnreadable},
		{"s3://lake//wh/a/x", catalog.ErrUnreadable, catalog.ErrUnreadable, catalog.ErrUnreadable},
		{"s3://sea/wh/a/x", catalog.ErrUnreadable, catalog.ErrUnreadable, catalog.ErrUnreadable},
		{"gs://lake/wh/a/x", catalog.ErrUnreadable, catalog.ErrUnreadable, catalog.ErrUnreadable},
	} {
		for f, want := range map[*catalog.Files]error{&files: c.some, &all: c.whole, &none: c.other} {
			data, err := f.ReadFile(t.Context(), c.location)
			if !errors.Is(err, want) || want == nil && err != nil || (err == nil) != (data != nil) {
				t.Errorf("%s: %q, %v, want %v", c.location, data, err, want)
			}
			o, err := f.Objects().Read(t.Context(), objects.Object{Location: c.location, Size: -1}, make([]byte, 1), 0)
			if (err == nil) != (want == nil) || o.Tag == "" != (err != nil) {
				t.Errorf("%s by its store: %v", c.location, err)
			}
			if errors.Is(want, catalog.ErrUnreadable) {
				if err := f.Check(c.location); !errors.Is(err, want) || errors.Is(err, catalog.ErrOutside) && !strings.Contains(err.Error(), c.location) {
					t.Errorf("%s is not refused before it is read: %v", c.location, err)
				}
				if u, err := f.Objects().Presign(t.Context(), c.location, time.Now().Add(time.Minute)); err == nil {
					t.Errorf("%s was signed: %s", c.location, u)
				}
				if _, err := f.Objects().ReadAll(t.Context(), objects.Object{Location: c.location, Size: -1}, 10); !errors.Is(err, objects.ErrRefused) {
					t.Errorf("%s whole by its store: %v", c.location, err)
				}
			}
		}
	}
	if rooted.Objects() != nil || (catalog.Files{}).Objects() != nil {
		t.Error("a store without credentials")
	}
	if _, err := rooted.ReadFile(t.Context(), "s3://lake/wh/a/x"); !errors.Is(err, catalog.ErrNoCredentials) {
		t.Errorf("without credentials: %v", err)
	}
	if _, err := rooted.With("scope", catalog.Opened{Prefix: "gs://x", Store: reader}); !errors.Is(err, catalog.ErrUnreadable) {
		t.Errorf("a prefix of another store: %v", err)
	}
	if _, _, err := all.ReadMetadata(t.Context(), "s3://lake/wh/none"); !errors.Is(err, catalog.ErrUnreadable) {
		t.Errorf("no metadata: %v", err)
	}
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	if _, _, err := all.ReadMetadata(late, "s3://lake/wh/a/x"); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, catalog.ErrUnreadable) {
		t.Errorf("after the deadline: %v", err)
	}
}

// Vended credentials prove themselves; the operator's do not have to.
func TestProven(t *testing.T) {
	server := objectstest.Start(t)
	server.Put(t, "x", []byte("x"))
	rooted, err := catalog.NewFiles("s3://lake", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	stranger, reader := catalog.Opened{Store: server.Store(t, server.Stranger)}, catalog.Opened{Store: server.Store(t, server.Reader)}
	for name, c := range map[string]struct {
		with   func(string, ...catalog.Opened) (catalog.Files, error)
		opened catalog.Opened
		want   error
	}{
		"vended, may": {rooted.WithVended, reader, nil}, "vended, may not": {rooted.WithVended, stranger, objects.ErrRefused},
		"operator, may": {rooted.With, reader, nil}, "operator, may not": {rooted.With, stranger, nil},
	} {
		files, err := c.with("scope", c.opened)
		if err != nil {
			t.Fatal(err)
		}
		if err := files.Proven(t.Context(), "s3://lake/x"); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := files.Proven(t.Context(), "/etc/passwd"); err != nil {
			t.Errorf("%s, a local file: %v", name, err)
		}
	}
}

func TestScopeOf(t *testing.T) {
	seen := map[string][]string{}
	for _, parts := range [][]string{{"a", "b"}, {"ab"}, {"a", "", "b"}, {"1:a1:b"}, {"a1:b"}, {}, {""}, {"b", "a"}} {
		s := catalog.ScopeOf(parts...)
		if old, ok := seen[s]; ok {
			t.Errorf("%q and %q are one", old, parts)
		}
		seen[s] = parts
	}
}
