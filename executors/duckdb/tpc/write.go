package tpc

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	sqlcat "github.com/apache/iceberg-go/catalog/sql"
	"github.com/apache/iceberg-go/table"
	"github.com/duckdb/duckdb-go/v2"

	_ "modernc.org/sqlite" // the catalog's database
)

// relation is one table to write: a name and the SELECT that has its rows.
type relation struct{ name, query string }

// writer writes relations into one catalog.
type writer struct {
	dir     string
	engine  *sql.Conn
	catalog *sqlcat.Catalog
}

// write makes the set's folder, with copies for eve if they are wanted. The rows that a generator made are in rows.
func write(ctx context.Context, s Set, rows, dir string, copied bool) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	db, conn, err := openEngine(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(), db.Close()) }()
	catalogDB, err := sql.Open("sqlite", filepath.Join(dir, CatalogFile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, catalogDB.Close()) }()
	cat, err := sqlcat.NewCatalog(string(s), catalogDB, sqlcat.SQLite, iceberg.Properties{"warehouse": "file://" + dir})
	if err != nil {
		return err
	}
	w := &writer{dir: dir, engine: conn, catalog: cat}
	all, err := relations(s, rows)
	if err != nil {
		return err
	}
	if err := w.namespace(ctx, string(s), all); err != nil || s == Wide || !copied {
		return err
	}
	eve, err := evesCopies(s, all, func(query string) (map[string]string, error) {
		names, types, err := describe(ctx, conn, query)
		out := map[string]string{}
		for i := range names {
			out[names[i]] = types[i]
		}
		return out, err
	})
	if err != nil {
		return err
	}
	return w.namespace(ctx, s.Eve(), eve)
}

// openEngine starts an engine in memory. threads 0: one for each processor.
func openEngine(ctx context.Context, threads int) (*sql.DB, *sql.Conn, error) {
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	connector, err := duckdb.NewConnector("", nil)
	if err != nil {
		return nil, nil, err
	}
	db := sql.OpenDB(connector)
	conn, err := db.Conn(ctx)
	if err == nil {
		_, err = conn.ExecContext(ctx, `SET autoinstall_known_extensions = false; SET autoload_known_extensions = false;
			SET TimeZone = 'UTC'; SET threads = `+strconv.Itoa(threads))
	}
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, conn, nil
}

// relations are the tables of a set with all rows.
func relations(s Set, rows string) ([]relation, error) {
	switch s {
	case TPCH:
		files, err := filepath.Glob(filepath.Join(rows, "*.parquet"))
		var out []relation
		for _, f := range files {
			out = append(out, relation{strings.TrimSuffix(filepath.Base(f), ".parquet"), "SELECT * FROM read_parquet(" + quote(f) + ")"})
		}
		return out, err
	case TPCDS:
		var out []relation
		for line := range strings.Lines(columnsTPCDS) {
			name, columns, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(line), ")"), "(")
			out = append(out, relation{name, readTPCDS(filepath.Join(rows, name+".dat"), columns)})
		}
		return out, nil
	}
	return wideTables, nil
}

// readTPCDS reads the generator's text format: | after every column, nothing for NULL, in Latin-1.
func readTPCDS(file, columns string) string {
	var types, names []string
	for _, c := range strings.Split(columns, ", ") {
		name, typ, _ := strings.Cut(c, " ")
		types = append(types, fmt.Sprintf("%s: %s", quote(name), quote(typ)))
		names = append(names, name)
	}
	types = append(types, "'last': 'VARCHAR'")
	return fmt.Sprintf("SELECT %s FROM read_csv(%s, delim = '|', header = false, quote = '', escape = '', encoding = 'latin-1', auto_detect = false, columns = {%s})",
		strings.Join(names, ", "), quote(file), strings.Join(types, ", "))
}

func (w *writer) namespace(ctx context.Context, name string, all []relation) error {
	if err := w.catalog.CreateNamespace(ctx, table.Identifier{name}, nil); err != nil {
		return err
	}
	for _, r := range all {
		if err := w.table(ctx, name, r); err != nil {
			return fmt.Errorf("tpc: %s.%s: %w", name, r.name, err)
		}
	}
	return nil
}

func (w *writer) table(ctx context.Context, namespace string, r relation) error {
	schema, err := w.schema(ctx, r.query)
	if err != nil {
		return err
	}
	t, err := w.catalog.CreateTable(ctx, table.Identifier{namespace, r.name}, schema,
		catalog.WithLocation("file://"+filepath.Join(w.dir, namespace, r.name)), catalog.WithProperties(iceberg.Properties{table.PropertyFormatVersion: "2"}))
	if err != nil {
		return err
	}
	file := dataFile(w.dir, namespace, r.name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	var ids []string
	for _, f := range t.Schema().Fields() {
		ids = append(ids, fmt.Sprintf("%s: %d", f.Name, f.ID))
	}
	if _, err := w.engine.ExecContext(ctx, fmt.Sprintf("COPY (%s) TO %s (FORMAT parquet, COMPRESSION snappy, FIELD_IDS {%s})",
		r.query, quote(file), strings.Join(ids, ", "))); err != nil {
		return err
	}
	fs, err := t.FS(ctx)
	if err != nil {
		return err
	}
	described, err := table.FileToDataFile(ctx, fs, "file://"+file, t.Schema(), t.Spec(), 0, nil)
	if err != nil {
		return err
	}
	tx := t.NewTransaction()
	if err := tx.AddDataFiles(ctx, []iceberg.DataFile{described}, nil); err != nil {
		return err
	}
	_, err = tx.Commit(ctx)
	return err
}

// dataFile is the one data file of a table.
func dataFile(dir, namespace, name string) string {
	return filepath.Join(dir, namespace, name, "data", name+".parquet")
}

// schema is the Iceberg schema of a query's result.
func (w *writer) schema(ctx context.Context, query string) (*iceberg.Schema, error) {
	names, types, err := describe(ctx, w.engine, query)
	if err != nil {
		return nil, err
	}
	var fields []iceberg.NestedField
	for i, name := range names {
		t, err := icebergType(types[i])
		if err != nil {
			return nil, err
		}
		fields = append(fields, iceberg.NestedField{ID: i + 1, Name: name, Type: t})
	}
	return iceberg.NewSchema(0, fields...), nil
}

// describe returns the names of a query's columns and their types, as the engine spells them.
func describe(ctx context.Context, engine *sql.Conn, query string) (names, types []string, err error) {
	rows, err := engine.QueryContext(ctx, "SELECT column_name, column_type FROM (DESCRIBE "+query+")")
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var name, typ string
		if err := rows.Scan(&name, &typ); err != nil {
			return nil, nil, err
		}
		names, types = append(names, name), append(types, typ)
	}
	return names, types, rows.Err()
}

func icebergType(text string) (iceberg.Type, error) {
	switch text {
	case "BIGINT":
		return iceberg.PrimitiveTypes.Int64, nil
	case "INTEGER":
		return iceberg.PrimitiveTypes.Int32, nil
	case "DOUBLE":
		return iceberg.PrimitiveTypes.Float64, nil
	case "VARCHAR":
		return iceberg.PrimitiveTypes.String, nil
	case "DATE":
		return iceberg.PrimitiveTypes.Date, nil
	case "TIMESTAMP":
		return iceberg.PrimitiveTypes.Timestamp, nil
	}
	var precision, scale int
	if n, err := fmt.Sscanf(text, "DECIMAL(%d,%d)", &precision, &scale); n != 2 || err != nil {
		return nil, fmt.Errorf("no Iceberg type for %s", text)
	}
	return iceberg.DecimalTypeOf(precision, scale), nil
}

// quote makes an SQL string literal.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
