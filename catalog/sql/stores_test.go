package sql_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gatehouse/catalog"
	icesql "gatehouse/catalog/sql"
	"gatehouse/objects"
	"gatehouse/objects/objectstest"
	"gatehouse/objects/s3"
)

// Metadata files in an object store are read with the operator's keys below the roots; one whose name may come again is looked at each
// time.
func TestStores(t *testing.T) {
	server := objectstest.Start(t)
	metadata, err := os.ReadFile(strings.TrimPrefix(strings.TrimPrefix(zooLocation(t, "spark", "orders"), "file:"), "//"))
	if err != nil {
		t.Fatal(err)
	}
	const unique = "wh/metadata/00001-0a0b0c0d-0102-0304-0506-0708090a0b0c.metadata.json"
	for _, key := range []string{"wh/v1.metadata.json", unique, "other/v1.metadata.json"} {
		server.Put(t, key, metadata)
	}
	database := filepath.Join(t.TempDir(), "catalog.db")
	statements(t, database, tablesV1, properties,
		insert("lake", "shop", "named", server.Location("wh/v1.metadata.json")), insert("lake", "shop", "unique", server.Location(unique)),
		insert("lake", "shop", "outside", server.Location("other/v1.metadata.json")), insert("lake", "shop", "none", server.Location("wh/none.json")),
		insert("lake", "shop", "google", "gs://lake/wh/v1.metadata.json"))
	opened := func(keys objectstest.Keys) *icesql.Catalog {
		c := server.Config(keys, "operator")
		transport := s3.NewTransport(nil)
		t.Cleanup(transport.CloseIdleConnections)
		c.Transport = transport
		store, err := s3.New(c)
		if err != nil {
			t.Fatal(err)
		}
		out, err := icesql.New(icesql.Config{Name: "lake", SQLite: database, Roots: []string{"s3://lake/wh"}, Objects: store})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = out.Close() })
		return out
	}
	c := opened(server.Reader)
	for name, want := range map[string]error{"named": nil, "unique": nil, "outside": catalog.ErrUnreadable, "none": catalog.ErrUnreadable, "google": catalog.ErrUnreadable} {
		tbl, err := c.Table(t.Context(), alice, "shop", name)
		if !errors.Is(err, want) || want == nil && (err != nil || tbl.Files.Scope() != "operator" || tbl.Files.Objects() == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := opened(server.Stranger).Table(t.Context(), alice, "shop", "named"); !errors.Is(err, objects.ErrRefused) || !errors.Is(err, catalog.ErrUnreadable) {
		t.Errorf("with keys that may not read: %v", err)
	}
	changed := bytes.Replace(metadata, uuidOf(t, metadata), []byte("12345678-0000-4000-8000-000000000000"), 1)
	server.Put(t, "wh/v1.metadata.json", changed)
	for name, renewed := range map[string]bool{"named": true, "unique": false} {
		tbl, err := c.Table(t.Context(), alice, "shop", name)
		if err != nil || (tbl.UUID == "12345678-0000-4000-8000-000000000000") != renewed {
			t.Errorf("%s: %v", name, err)
		}
	}
	server.Remove(t, unique) // nobody looks at it any more
	if _, err := c.Table(t.Context(), alice, "shop", "unique"); err != nil {
		t.Errorf("what is kept: %v", err)
	}
}

// uuidOf returns the UUID that a metadata file gives its table.
func uuidOf(t *testing.T, metadata []byte) []byte {
	t.Helper()
	m := regexp.MustCompile(`"table-uuid"\s*:\s*"([^"]+)"`).FindSubmatch(metadata)
	if m == nil {
		t.Fatal("the metadata has no UUID")
	}
	return m[1]
}
