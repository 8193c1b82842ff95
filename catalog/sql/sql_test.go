package sql_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"gatehouse/auth"
	"gatehouse/catalog"
	"gatehouse/catalog/catalogtest"
	icesql "gatehouse/catalog/sql"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"))
}

var alice = auth.Identity{Issuer: "test", Subject: "alice", User: "alice"}

func openZoo(t testing.TB) *icesql.Catalog {
	t.Helper()
	c, err := icesql.Open(catalogtest.Zoo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestContract(t *testing.T) {
	catalogtest.Run(t, catalogtest.Fixture{Catalog: openZoo(t), Alice: alice})
}

// statements runs statements on a SQLite file, which it makes.
func statements(t *testing.T, file string, texts ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range texts {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// The layouts of Iceberg's JdbcCatalog.
const (
	tablesV0 = `CREATE TABLE iceberg_tables (catalog_name TEXT, table_namespace TEXT, table_name TEXT, metadata_location TEXT,
		previous_metadata_location TEXT, PRIMARY KEY (catalog_name, table_namespace, table_name))`
	tablesV1 = `CREATE TABLE iceberg_tables (catalog_name TEXT, table_namespace TEXT, table_name TEXT, metadata_location TEXT,
		previous_metadata_location TEXT, iceberg_type TEXT, PRIMARY KEY (catalog_name, table_namespace, table_name))`
	properties = `CREATE TABLE iceberg_namespace_properties (catalog_name TEXT, namespace TEXT, property_key TEXT, property_value TEXT)`
)

func insert(catalog, ns, name, location string) string {
	return "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location) VALUES ('" +
		catalog + "', '" + ns + "', '" + name + "', '" + location + "')"
}

// zooLocation returns where a table's metadata is.
func zooLocation(t *testing.T, schema, name string) string {
	t.Helper()
	tbl, err := openZoo(t).Table(t.Context(), alice, schema, name)
	if err != nil {
		t.Fatal(err)
	}
	return tbl.Iceberg.MetadataLocation()
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name  string
		make  func(dir string)
		want  string // name of the catalog
		error string // part of the error
	}{
		{name: "nothing", make: func(string) {}, error: "no Iceberg catalog is there"},
		{name: "another database", make: func(d string) { statements(t, d+"/a.db", "CREATE TABLE x (y)") }, error: "no Iceberg catalog is there"},
		{name: "not a database", make: func(d string) { _ = os.WriteFile(d+"/catalog.db", []byte("hello"), 0o644) }, error: "no Iceberg catalog is there"},
		{name: "one", make: func(d string) { statements(t, d+"/a.db", tablesV1, properties, insert("lake", "s", "t", "x")) }, want: "lake"},
		{name: "odd file name", make: func(d string) { statements(t, d+"/a b#c?d%41.db", tablesV1, properties, insert("lake", "s", "t", "x")) }, want: "lake"},
		{name: "old layout", make: func(d string) { statements(t, d+"/a.db", tablesV0, properties, insert("lake", "s", "t", "x")) }, want: "lake"},
		{name: "two catalogs", make: func(d string) {
			statements(t, d+"/a.db", tablesV1, properties, insert("lake", "s", "t", "x"), insert("pond", "s", "t", "x"))
		}, error: "more than one catalog is there (lake in a.db, pond in a.db)"},
		{name: "two files", make: func(d string) {
			statements(t, d+"/a.db", tablesV1, properties, insert("lake", "s", "t", "x"))
			statements(t, d+"/b.db", tablesV1, properties, insert("lake", "s", "t", "x"))
		}, error: "lake in a.db, lake in b.db"},
		{name: "empty", make: func(d string) { statements(t, d+"/a.db", tablesV1, properties) }, want: "empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), c.name)
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			c.make(dir)
			cat, err := icesql.Open(dir)
			if err != nil {
				if c.error == "" || !strings.Contains(err.Error(), c.error) {
					t.Fatalf("got %v, want an error with %q", err, c.error)
				}
				return
			}
			defer cat.Close()
			if cat.Name() != c.want {
				t.Errorf("found %q, want %q", cat.Name(), c.want)
			}
		})
	}
	if _, err := icesql.Open(filepath.Join(t.TempDir(), "nowhere")); err == nil {
		t.Error("a folder that is not there was opened")
	}
}

// A database of the old layout has no views and no column for them.
func TestOldLayout(t *testing.T) {
	dir := t.TempDir()
	statements(t, dir+"/a.db", tablesV0, properties, insert("lake", "s", "t", zooLocation(t, "spark", "orders")))
	c, err := icesql.New(icesql.Config{Name: "lake", SQLite: dir + "/a.db", Roots: []string{catalogtest.Zoo(t)}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Table(t.Context(), alice, "s", "t"); err != nil {
		t.Error(err)
	}
}

// Metadata is read below the roots only, also where a catalog's row says otherwise.
func TestRoots(t *testing.T) {
	location := zooLocation(t, "spark", "orders")
	for _, c := range []struct {
		location, root string
		ok             bool
	}{
		{location, catalogtest.ZooFolder, true},
		{location, catalogtest.ZooFolder + "/warehouse/spark", true},
		{location, catalogtest.ZooFolder + "/warehouse/py", false},
		{strings.Replace(location, "/spark/", "/py/../spark/", 1), catalogtest.ZooFolder + "/warehouse/py", false},
		{"s3://bucket/t.metadata.json", catalogtest.ZooFolder, false},
		{"file://elsewhere" + strings.TrimPrefix(location, "file:"), catalogtest.ZooFolder, false},
	} {
		dir := t.TempDir()
		statements(t, dir+"/a.db", tablesV1, properties, insert("lake", "s", "t", c.location))
		cat, err := icesql.New(icesql.Config{Name: "lake", SQLite: dir + "/a.db", Roots: []string{c.root}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = cat.Table(t.Context(), alice, "s", "t")
		if c.ok && err != nil || !c.ok && !errors.Is(err, catalog.ErrUnreadable) {
			t.Errorf("%s below %s: %v", c.location, c.root, err)
		}
		_ = cat.Close()
	}
}

// A commit by another program shows at the next call, although metadata is cached.
func TestCommitShows(t *testing.T) {
	dir := t.TempDir()
	statements(t, dir+"/a.db", tablesV1, properties, insert("lake", "s", "t", zooLocation(t, "spark", "orders")))
	c, err := icesql.New(icesql.Config{Name: "lake", SQLite: dir + "/a.db", Roots: []string{catalogtest.Zoo(t)}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	one, err := c.Table(t.Context(), alice, "s", "t")
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Table(t.Context(), alice, "s", "t")
	if err != nil || again != one {
		t.Errorf("not cached: %v", err)
	}
	statements(t, dir+"/a.db", "UPDATE iceberg_tables SET metadata_location = '"+zooLocation(t, "spark", "strings")+"'")
	two, err := c.Table(t.Context(), alice, "s", "t")
	if err != nil || two.UUID == one.UUID {
		t.Errorf("the old table after a commit (%v)", err)
	}
	statements(t, dir+"/a.db", "DELETE FROM iceberg_tables")
	if _, err := c.Table(t.Context(), alice, "s", "t"); !errors.Is(err, catalog.ErrNoSuchTable) {
		t.Errorf("a dropped table: %v", err)
	}
}

// Names that differ in case only are ambiguous unless written exactly.
func TestAmbiguousNames(t *testing.T) {
	dir, location := t.TempDir(), zooLocation(t, "spark", "orders")
	statements(t, dir+"/a.db", tablesV1, properties,
		insert("lake", "S", "Orders", location), insert("lake", "S", "orders", location), insert("lake", "s2", "x", location),
		insert("lake", "S2", "x", location), insert("other", "S", "secret", location),
		insert("lake", `__iceberg_namespace_v1__:["a.b"]`, "dotted", location), insert("lake", "c.d", "deep", location),
		insert("lake", "E.F", "plain", location), insert("lake", `__iceberg_namespace_v1__:["E.F"]`, "encoded", location))
	c, err := icesql.New(icesql.Config{Name: "lake", SQLite: dir + "/a.db", Roots: []string{catalogtest.Zoo(t)}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, x := range []struct {
		schema, name, want string
	}{
		{"S", "Orders", "S.Orders"},
		{"s", "orders", "S.orders"},
		{"s", "ORDERS", ""},
		{"s2", "x", "s2.x"},
		{"S2", "X", "S2.x"},
		{"S", "secret", ""},
		{"A.b", "Dotted", "a.b.dotted"},
		{"C.D", "deep", "c.d.deep"},
		{`__iceberg_namespace_v1__:["a.b"]`, "dotted", ""},
		{"e.f", "plain", "E.F.plain"},
		{"e.f", "encoded", ""},
	} {
		got, err := c.Table(t.Context(), alice, x.schema, x.name)
		switch {
		case x.want == "" && !errors.Is(err, catalog.ErrNoSuchTable):
			t.Errorf("%s.%s: got %v, want ErrNoSuchTable", x.schema, x.name, err)
		case x.want != "" && err != nil:
			t.Errorf("%s.%s: %v", x.schema, x.name, err)
		case x.want != "" && got.Schema+"."+got.Name != x.want:
			t.Errorf("%s.%s is %s.%s", x.schema, x.name, got.Schema, got.Name)
		}
	}
}

func TestConfig(t *testing.T) {
	for name, c := range map[string]icesql.Config{
		"no name":      {SQLite: "x", Roots: []string{"/"}},
		"no database":  {Name: "x", Roots: []string{"/"}},
		"two":          {Name: "x", SQLite: "x", Postgres: auth.NewSecret("postgres://x"), Roots: []string{"/"}},
		"no roots":     {Name: "x", SQLite: catalogtest.Zoo(t) + "/catalog.db"},
		"missing root": {Name: "x", SQLite: catalogtest.Zoo(t) + "/catalog.db", Roots: []string{"/no/such/folder"}},
		"missing file": {Name: "x", SQLite: "/no/such/file.db", Roots: []string{"/"}},
	} {
		if _, err := icesql.New(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func BenchmarkWarmTable(b *testing.B) {
	c := openZoo(b)
	for b.Loop() {
		if _, err := c.Table(b.Context(), alice, "spark", "orders"); err != nil {
			b.Fatal(err)
		}
	}
}

// Every namespace is listed once, whatever collation its column has, and also one without tables.
func TestNamespacesOfAnyCollation(t *testing.T) {
	for _, collation := range []string{"", "COLLATE NOCASE", "COLLATE RTRIM"} {
		dir := t.TempDir()
		statements(t, dir+"/a.db", strings.Replace(tablesV1, "table_namespace TEXT", "table_namespace TEXT "+collation, 1), properties,
			insert("lake", "s", "t", "x"), insert("lake", "S", "u", "x"), insert("lake", "s", "w", "x"), insert("lake", "é", "t", "x"), insert("lake", "a.b", "t", "x"),
			insert("pond", "other", "t", "x"), "INSERT INTO iceberg_namespace_properties VALUES ('lake', 'none', 'exists', 'true'), ('lake', 's', 'exists', 'true')")
		c, err := icesql.New(icesql.Config{Name: "lake", SQLite: dir + "/a.db", Roots: []string{dir}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		entries, err := c.List(t.Context(), alice, "")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Schema)
		}
		if want := []string{"S", "a.b", "none", "s", "é"}; !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", collation, got, want)
		}
	}
}
