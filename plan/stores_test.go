package plan

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gatehouse/auth"
	"gatehouse/catalog"
	"gatehouse/catalog/catalogtest"
	"gatehouse/catalog/sql"
	"gatehouse/objects"
	"gatehouse/objects/objectstest"
)

// counted is a store that notes what is asked of it.
type counted struct {
	objects.Store
	scope string
	mu    sync.Mutex
	asked []string
}

func (c *counted) note(location string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, location)
}

// taken returns what was asked since the last call.
func (c *counted) taken() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.asked
	c.asked = nil
	return out
}

func (c *counted) Scope() string { return c.scope }

func (c *counted) Read(ctx context.Context, o objects.Object, p []byte, off int64) (objects.Object, error) {
	c.note(o.Location)
	return c.Store.Read(ctx, o, p, off)
}

func (c *counted) ReadAll(ctx context.Context, o objects.Object, limit int64) ([]byte, error) {
	c.note(o.Location)
	return c.Store.ReadAll(ctx, o, limit)
}

// What one caller's credentials brought in is not planned with for another, nor with credentials that may not read any more, nor where a file
// lies outside of their prefix.
func TestPlansOfStores(t *testing.T) {
	server := objectstest.Start(t)
	database := catalogtest.Stored(t, server)
	c, err := sql.New(sql.Config{Name: "lake", SQLite: database, Roots: []string{"s3://lake/warehouse"}, Objects: server.Store(t, server.Reader)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tbl, err := c.Table(t.Context(), auth.Identity{Issuer: "i", Subject: "s", User: "u"}, "shop", "orders")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	roots, err := catalog.NewFiles("s3://lake/warehouse", folder)
	if err != nil {
		t.Fatal(err)
	}
	as := func(scope, prefix string, keys objectstest.Keys, vended bool) (*catalog.Table, *counted) {
		store := &counted{Store: server.Store(t, keys), scope: scope}
		with := roots.With
		if vended {
			with = roots.WithVended
		}
		out := *tbl
		if out.Files, err = with(scope, catalog.Opened{Prefix: prefix, Store: store}); err != nil {
			t.Fatal(err)
		}
		return &out, store
	}
	p := newPlanner(t)
	plan := func(t *testing.T, tbl *catalog.Table) (Scan, error) {
		t.Helper()
		return p.scan(t.Context(), tbl, whole(tbl), nil)
	}
	const warehouse = "s3://lake/warehouse/"
	alice, asked := as("alice", warehouse, server.Reader, true)
	scan, err := plan(t, alice)
	if err != nil || len(scan.Files) != 1 || len(scan.Deletes) != 1 || scan.Objects == nil || scan.Objects.Scope() != "alice" {
		t.Fatalf("%+v, %v", scan, err)
	}
	if got := asked.taken(); len(got) != 3 {
		t.Errorf("a cold plan asked for %q", got)
	}
	if data, err := scan.Objects.ReadAll(t.Context(), objects.Object{Location: scan.Files[0].Path, Size: scan.Files[0].Size}, 1<<20); err != nil || !strings.HasPrefix(string(data), "PAR1") {
		t.Errorf("its file: %v", err)
	}
	asked.taken()
	if _, err := plan(t, alice); err != nil {
		t.Fatal(err)
	}
	if got := asked.taken(); len(got) != 1 || got[0] != tbl.Snapshot.ManifestList {
		t.Errorf("a warm plan asked for %q, want the proof alone", got)
	}
	operator, asked := as("operator", "", server.Reader, false)
	for n, want := range []int{3, 0} {
		if _, err := plan(t, operator); err != nil {
			t.Fatal(err)
		}
		if got := asked.taken(); len(got) != want {
			t.Errorf("plan %d with the operator's keys asked for %q", n, got)
		}
	}
	for name, c := range map[string]struct {
		scope, prefix string
		keys          objectstest.Keys
		want          error
	}{
		"another caller who may not":   {"bob", warehouse, server.Stranger, objects.ErrRefused},
		"one who may not any more":     {"alice", warehouse, server.Stranger, objects.ErrRefused},
		"a prefix without its files":   {"alice", warehouse + "shop/orders/metadata/", server.Reader, catalog.ErrNoCredentials},
		"a prefix of another table":    {"alice", warehouse + "shop/customers", server.Reader, catalog.ErrNoCredentials},
		"a prefix that ends in a word": {"alice", warehouse + "shop/ord", server.Reader, catalog.ErrNoCredentials},
	} {
		tbl, _ := as(c.scope, c.prefix, c.keys, true)
		scan, err := plan(t, tbl)
		var unreadable *UnreadableError
		if !errors.Is(err, c.want) || !errors.As(err, &unreadable) || scan.Objects != nil || len(scan.Files) > 0 {
			t.Errorf("%s: %+v, %v", name, scan, err)
		}
		if err != nil && strings.Contains(err.Error(), "s3://") {
			t.Errorf("%s: the words name a place: %v", name, err)
		}
	}
	// Where the list of manifests is no object, it is no proof.
	list, err := operator.Files.ReadFile(t.Context(), tbl.Snapshot.ManifestList)
	if err != nil {
		t.Fatal(err)
	}
	local := *tbl.Snapshot
	local.ManifestList = filepath.Join(folder, "list.avro")
	if err := os.WriteFile(local.ManifestList, list, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		keys objectstest.Keys
		want error
	}{{server.Reader, nil}, {server.Reader, nil}, {server.Stranger, objects.ErrRefused}} {
		tbl, _ := as("dave", warehouse, c.keys, true)
		tbl.Snapshot = &local
		if scan, err := plan(t, tbl); !errors.Is(err, c.want) || (err == nil) != (len(scan.Files) > 0) {
			t.Errorf("a local list: %+v, %v, want %v", scan, err, c.want)
		}
	}
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	carol, _ := as("carol", warehouse, server.Reader, true)
	if _, err := p.scan(late, carol, whole(carol), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the deadline: %v", err)
	}
}
