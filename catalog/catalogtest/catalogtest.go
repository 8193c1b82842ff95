// Package catalogtest is the contract that every implementation of catalog.Catalog keeps, as a test over the same tables.
package catalogtest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"gatehouse/auth"
	"gatehouse/catalog"
)

// Fixture is one implementation, open over the tables of Zoo.
type Fixture struct {
	Catalog catalog.Catalog
	Alice   auth.Identity // may see all
	// Stranger is somebody whom the catalog refuses. The zero value skips what needs one: the catalog knows no users.
	Stranger auth.Identity
}

// Run runs the suite.
func Run(t *testing.T, f Fixture) {
	t.Run("names", func(t *testing.T) { names(t, f) })
	t.Run("list", func(t *testing.T) { list(t, f) })
	t.Run("versions", func(t *testing.T) { versions(t, f) })
	t.Run("callers", func(t *testing.T) { callers(t, f) })
	t.Run("content", func(t *testing.T) { content(t, f) })
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := f.Catalog.Table(ctx, f.Alice, "spark", "orders"); !errors.Is(err, catalog.ErrUnavailable) {
			t.Errorf("got %v, want ErrUnavailable", err)
		}
	})
}

func names(t *testing.T, f Fixture) {
	for _, c := range []struct {
		schema, name string
		canonical    string // "": no such table
	}{
		{"spark", "orders", "spark.orders"},
		{"SPARK", "Orders", "spark.orders"},
		{"spark", "odd table [1]", "spark.odd table [1]"},
		{"spark", "odd table 1", "spark.odd table 1"},
		{"spark", "Ünïcöde_🦆", "spark.Ünïcöde_🦆"},
		{"Spark", "ünïcÖde_🦆", "spark.Ünïcöde_🦆"},
		{"spark", "orders2", ""},
		{"spark", "order_", ""}, // not a pattern
		{"spark", "%", ""},
		{"spar", "orders", ""},
		{"spark.x", "orders", ""},
		{"", "orders", ""},
		{"spark", "", ""},
		{"spark' OR '1'='1", "orders", ""},
		{"../spark", "orders", ""},
		{"spark", "../spark/orders", ""},
	} {
		got, err := f.Catalog.Table(t.Context(), f.Alice, c.schema, c.name)
		if c.canonical == "" {
			if !errors.Is(err, catalog.ErrNoSuchTable) {
				t.Errorf("%q.%q: got %v, want ErrNoSuchTable", c.schema, c.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q.%q: %v", c.schema, c.name, err)
			continue
		}
		if s := got.Schema + "." + got.Name; s != c.canonical {
			t.Errorf("%q.%q is %q, want %q", c.schema, c.name, s, c.canonical)
		}
	}
}

func list(t *testing.T, f Fixture) {
	all, err := f.Catalog.List(t.Context(), f.Alice, "")
	if err != nil {
		t.Fatal(err)
	}
	var schemas []string
	for _, e := range all {
		if e.Name != "" {
			t.Errorf("a namespace with a name: %v", e)
		}
		schemas = append(schemas, e.Schema)
	}
	if !slices.IsSorted(schemas) || !slices.Contains(schemas, "spark") || !slices.Contains(schemas, "py") {
		t.Errorf("namespaces: %q", schemas)
	}
	for _, ns := range []string{"spark", "SPARK"} {
		entries, err := f.Catalog.List(t.Context(), f.Alice, ns)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		views := 0
		for _, e := range entries {
			names = append(names, e.Name)
			if e.Schema != "spark" {
				t.Errorf("List(%q) holds %v", ns, e)
			}
			if e.View != strings.HasPrefix(e.Name, "v_") {
				t.Errorf("%v: wrong kind", e)
			}
			if e.View {
				views++
			}
		}
		if !slices.IsSorted(names) || !slices.Contains(names, "orders") || views != 3 {
			t.Errorf("List(%q): %q", ns, names)
		}
	}
	if entries, err := f.Catalog.List(t.Context(), f.Alice, "nowhere"); err != nil || len(entries) != 0 {
		t.Errorf("an unknown namespace: %v, %v", entries, err)
	}
}

func versions(t *testing.T, f Fixture) {
	tbl, err := f.Catalog.Table(t.Context(), f.Alice, "spark", "branches_tags")
	if err != nil {
		t.Fatal(err)
	}
	if same, err := tbl.At(catalog.Version{}); err != nil || same.Snapshot.SnapshotID != tbl.Snapshot.SnapshotID {
		t.Errorf("no version: %v", err)
	}
	columns := func(v catalog.Version) string {
		t.Helper()
		at, err := tbl.At(v)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, c := range at.Columns {
			out = append(out, c.Name)
		}
		return strings.Join(out, " ")
	}
	now := columns(catalog.Version{})
	tag := columns(catalog.Version{Ref: "v1"})
	if branch := columns(catalog.Version{Ref: "dev"}); branch != now {
		t.Errorf("a branch is read with %q, want the table's current %q", branch, now)
	}
	if tag == now {
		t.Errorf("the tag is of an older schema, but reads with %q", tag)
	}
	var first int64
	for e := range tbl.Iceberg.Metadata().SnapshotLogs() {
		first = e.TimestampMs
		break
	}
	micros := first * 1000
	if got := columns(catalog.Version{Micros: &micros}); got != tag {
		t.Errorf("at the first snapshot's time: %q, want %q", got, tag)
	}
	micros--
	for name, v := range map[string]catalog.Version{
		"before the first": {Micros: &micros},
		"no such id":       {Snapshot: 42},
		"no such ref":      {Ref: "V1"},
		"two ways":         {Ref: "v1", Snapshot: 42},
	} {
		if _, err := tbl.At(v); !errors.Is(err, catalog.ErrNoSuchVersion) {
			t.Errorf("%s: got %v, want ErrNoSuchVersion", name, err)
		}
	}
}

func callers(t *testing.T, f Fixture) {
	if _, err := f.Catalog.Table(t.Context(), auth.Identity{}, "spark", "orders"); !errors.Is(err, catalog.ErrRefused) {
		t.Errorf("nobody: got %v, want ErrRefused", err)
	}
	if _, err := f.Catalog.List(t.Context(), auth.Identity{}, ""); !errors.Is(err, catalog.ErrRefused) {
		t.Errorf("nobody lists: got %v, want ErrRefused", err)
	}
	if !f.Stranger.Valid() {
		t.Skip("the catalog knows no users: whoever is somebody may see all")
	}
	if _, err := f.Catalog.Table(t.Context(), f.Stranger, "spark", "orders"); !errors.Is(err, catalog.ErrRefused) {
		t.Errorf("a stranger: got %v, want ErrRefused", err)
	}
	if _, err := f.Catalog.List(t.Context(), f.Stranger, "spark"); !errors.Is(err, catalog.ErrRefused) {
		t.Errorf("a stranger lists: got %v, want ErrRefused", err)
	}
	if _, err := f.Catalog.Table(t.Context(), f.Alice, "spark", "orders"); err != nil {
		t.Errorf("alice, after all that: %v", err)
	}
}

// content checks what a table says of itself, and that all tables of the zoo load or are refused as their class allows.
func content(t *testing.T, f Fixture) {
	for _, z := range ZooTables(t) {
		tbl, err := f.Catalog.Table(t.Context(), f.Alice, z.Namespace, z.Table)
		switch {
		case z.Class == "view":
			if !errors.Is(err, catalog.ErrUnreadable) && !errors.Is(err, catalog.ErrNoSuchTable) {
				t.Errorf("%s, a view: got %v", z.ID, err)
			}
			continue
		case errors.Is(err, catalog.ErrUnreadable) && strings.Contains(z.Class, "unsupported"):
			continue
		case err != nil:
			t.Errorf("%s: %v", z.ID, err)
			continue
		}
		if z.Class == "error" {
			if _, err := tbl.At(catalog.Version{Snapshot: z.SnapshotID}); !errors.Is(err, catalog.ErrNoSuchVersion) {
				t.Errorf("%s: got %v, want ErrNoSuchVersion", z.ID, err)
			}
			continue
		}
		at, err := tbl.At(catalog.Version{Snapshot: z.SnapshotID, Ref: z.Ref})
		if err != nil {
			t.Errorf("%s: %v", z.ID, err)
			continue
		}
		var names []string
		for _, c := range at.Columns {
			names = append(names, c.Name)
		}
		if !strings.HasSuffix(z.ID, "@lineage") && !slices.Equal(names, z.Columns) {
			t.Errorf("%s has columns %q, want %q", z.ID, names, z.Columns)
		}
		if z.Format != 0 && at.Iceberg.Metadata().Version() != z.Format {
			t.Errorf("%s has format %d, want %d", z.ID, at.Iceberg.Metadata().Version(), z.Format)
		}
	}
}
