package lake

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/apache/iceberg-go"
	sqlcat "github.com/apache/iceberg-go/catalog/sql"
	"github.com/apache/iceberg-go/table"
	"github.com/duckdb/duckdb-go/v2"

	_ "modernc.org/sqlite" // the catalog's database
)

//go:embed names.sql
var namesSQL string

//go:embed values.sql
var valuesSQL string

// builder makes one lakehouse in fs.staging that belongs in fs.final.
type builder struct {
	fs       stagingFS
	engine   *sql.Conn // one connection, since variables live in it
	progress func(string, float64)
	scale    scale
}

// scale is the number of rows to make.
type scale struct{ customers, orders, employees int64 }

func build(ctx context.Context, c Config, final, staging string) error {
	s := scale{customers: 200_600, orders: 1_000_000, employees: 500}
	if c.divisor > 1 {
		s.customers, s.orders = s.customers/int64(c.divisor), s.orders/int64(c.divisor)
	}
	b := &builder{fs: stagingFS{final: final, staging: staging}, progress: c.Progress, scale: s}
	if b.progress == nil {
		b.progress = func(string, float64) {}
	}
	if err := writeMarker(staging, final, false); err != nil {
		return err
	}
	locations, err := b.rows(ctx)
	if err != nil {
		return err
	}
	b.progress("catalog", 0.98)
	if err := b.catalog(ctx, locations); err != nil {
		return err
	}
	if err := writeMarker(staging, final, true); err != nil {
		return err
	}
	b.progress("done", 1)
	return nil
}

// rows computes all values in an engine of its own, in memory, and writes the tables.
func (b *builder) rows(ctx context.Context) (locations map[string]string, err error) {
	err = b.withEngine(ctx, func() error {
		if err := b.values(ctx); err != nil {
			return err
		}
		locations, err = b.tables(ctx)
		return err
	})
	return locations, err
}

// withEngine opens b.engine for the time of f.
func (b *builder) withEngine(ctx context.Context, f func() error) (err error) {
	connector, err := duckdb.NewConnector("", nil)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer func() { err = errors.Join(err, db.Close(), os.RemoveAll(b.spill())) }()
	if b.engine, err = db.Conn(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.engine.Close()) }()
	return f()
}

// spill is where the engine may put what doesn't fit in its memory.
func (b *builder) spill() string { return filepath.Join(b.fs.staging, "spill") }

func (b *builder) values(ctx context.Context) error {
	settings := fmt.Sprintf(`SET autoinstall_known_extensions = false; SET autoload_known_extensions = false;
		SET threads = %d; SET memory_limit = '2GB'; SET temp_directory = %s; SET TimeZone = 'UTC'; SET preserve_insertion_order = true;
		SET VARIABLE customers = %d; SET VARIABLE orders = %d; SET VARIABLE employees = %d;`,
		min(4, runtime.GOMAXPROCS(0)), quote(b.spill()), b.scale.customers, b.scale.orders, b.scale.employees)
	if err := b.run(ctx, settings+namesSQL); err != nil {
		return err
	}
	steps := strings.Split(valuesSQL, "CREATE TABLE ")
	for i, step := range steps {
		if i > 0 {
			name, _, _ := strings.Cut(step, " ")
			b.progress("values of "+name, 0.55*float64(i)/float64(len(steps)))
			step = "CREATE TABLE " + step
		}
		if err := b.run(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) run(ctx context.Context, query string) error {
	if _, err := b.engine.ExecContext(ctx, query); err != nil {
		return fmt.Errorf("lake: %w", err)
	}
	return nil
}

// tables writes all tables and returns the location of each one's metadata.
func (b *builder) tables(ctx context.Context) (map[string]string, error) {
	locations := map[string]string{}
	for i, def := range definitions(b.scale) {
		b.progress("table "+def.name, 0.55+0.43*float64(i)/6)
		loc, err := b.table(ctx, def)
		if err != nil {
			return nil, fmt.Errorf("lake: table %s: %w", def.name, err)
		}
		locations[def.name] = loc
	}
	return locations, nil
}

func (b *builder) table(ctx context.Context, def definition) (string, error) {
	meta, err := table.NewMetadata(def.schema, def.spec, table.UnsortedSortOrder, draftRoot+"/"+Namespace+"/"+def.name, iceberg.Properties{
		table.PropertyFormatVersion:       "2",
		"write.parquet.compression-codec": "zstd",
	})
	if err != nil {
		return "", err
	}
	d := &draft{fs: b.fs, name: table.Identifier{Namespace, def.name}, meta: meta}
	w := &writer{builder: b, draft: d, source: def.name}
	for _, s := range def.steps {
		if err := s(ctx, w); err != nil {
			return "", err
		}
	}
	return d.finish(w.times)
}

// catalog writes the SQL catalog. The library cannot register a table that exists already, so its row is put in
// by hand, in the layout that the Iceberg JDBC catalogs share.
func (b *builder) catalog(ctx context.Context, locations map[string]string) error {
	db, err := sql.Open("sqlite", filepath.Join(b.fs.staging, CatalogFile))
	if err != nil {
		return err
	}
	cat, err := sqlcat.NewCatalog(Catalog, db, sqlcat.SQLite, iceberg.Properties{"warehouse": b.fs.uri()})
	if err != nil {
		return errors.Join(err, db.Close())
	}
	err = cat.CreateNamespace(ctx, table.Identifier{Namespace}, iceberg.Properties{"location": b.fs.uri(Namespace)})
	for name, loc := range locations {
		if err != nil {
			break
		}
		_, err = db.ExecContext(ctx, `INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location, iceberg_type)
			VALUES (?, ?, ?, ?, 'TABLE')`, Catalog, Namespace, name, loc)
	}
	return errors.Join(err, cat.Close(), db.Close())
}

// quote makes an SQL string literal.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
