package sql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	icesql "github.com/apache/iceberg-go/catalog/sql"

	"gatehouse/catalog"
)

// row is one row of iceberg_tables.
type row struct {
	schema   string // as shown
	key      string // as stored
	name     string
	location string
	view     bool
}

// queries are the reading statements over the catalog's two tables. The physical layout is that of Iceberg's JdbcCatalog: V1
// has the column iceberg_type, V0 lacks it and has no views.
type queries struct {
	db     *sql.DB
	some   string
	spaces string
	find   func(ctx context.Context, args ...any) *sql.Row // of a catalog, a namespace and a name
}

func newQueries(db *sql.DB, dialect icesql.SupportedDialect) (queries, error) {
	rows, err := db.Query("SELECT * FROM iceberg_tables WHERE 1 = 0")
	if err != nil {
		return queries{}, fmt.Errorf("the database has no Iceberg catalog (table iceberg_tables): %w", err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return queries{}, err
	}
	kind := "NULL"
	if slices.Contains(columns, "iceberg_type") {
		kind = "iceberg_type"
	}
	mark := func(i int) string {
		if dialect == icesql.Postgres {
			return fmt.Sprintf("$%d", i)
		}
		return "?"
	}
	from := fmt.Sprintf("SELECT table_namespace, table_name, metadata_location, %s FROM iceberg_tables WHERE catalog_name = %s AND table_namespace = %s",
		kind, mark(1), mark(2))
	q := queries{
		db:   db,
		some: from + " ORDER BY table_name",
		spaces: fmt.Sprintf("SELECT table_namespace FROM iceberg_tables WHERE catalog_name = %s"+
			" UNION SELECT namespace FROM iceberg_namespace_properties WHERE catalog_name = %s", mark(1), mark(2)),
	}
	text := from + " AND table_name = " + mark(3)
	q.find = func(ctx context.Context, args ...any) *sql.Row { return db.QueryRowContext(ctx, text, args...) }
	if dialect == icesql.SQLite {
		q.spaces = jumping
		// Its driver would compile the text for each table of each statement; PostgreSQL's remembers.
		one, err := db.Prepare(text)
		if err != nil {
			return queries{}, err
		}
		q.find = one.QueryRowContext // it lives as long as db
	}
	return q, nil
}

// jumping lists namespaces on SQLite by a jump from each to the next in the index of the primary key, where UNION would read
// the rows of all tables. Names differ as their bytes do, whatever collation somebody gave the column.
const jumping = `WITH RECURSIVE spaces(name) AS (
	SELECT min(table_namespace COLLATE BINARY) FROM iceberg_tables WHERE catalog_name = ?1
	UNION ALL
	SELECT (SELECT min(table_namespace COLLATE BINARY) FROM iceberg_tables WHERE catalog_name = ?1 AND table_namespace COLLATE BINARY > name)
	FROM spaces WHERE name IS NOT NULL)
SELECT name FROM spaces WHERE name IS NOT NULL
UNION SELECT namespace FROM iceberg_namespace_properties WHERE catalog_name = ?2`

// row returns the row with exactly these names; its location is empty if there is none. The names of the row are those that are stored,
// in case the database compares them in a way of its own.
func (q queries) row(ctx context.Context, cat, schema, name string) (row, error) {
	if strings.HasPrefix(schema, encodedNamespace) {
		return row{}, nil // how a namespace is stored is not its name
	}
	r, err := scan(q.find(ctx, cat, schema, name))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return row{}, nil
	case err != nil:
		return row{}, fmt.Errorf("%w: %w", catalog.ErrUnavailable, err)
	}
	return r, nil
}

// entries returns the rows of one namespace, sorted by name.
func (q queries) entries(ctx context.Context, cat, key string) ([]row, error) {
	rows, err := q.db.QueryContext(ctx, q.some, cat, key)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", catalog.ErrUnavailable, err)
	}
	defer rows.Close()
	var out []row
	for rows.Next() {
		r, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", catalog.ErrUnavailable, err)
		}
		out = append(out, r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", catalog.ErrUnavailable, err)
	}
	// A database's own order depends on its collation.
	slices.SortFunc(out, func(a, b row) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

func scan(s interface{ Scan(...any) error }) (row, error) {
	var r row
	var location, kind sql.NullString
	if err := s.Scan(&r.key, &r.name, &location, &kind); err != nil {
		return row{}, err
	}
	r.schema = strings.Join(decodeNamespace(r.key), ".")
	r.location, r.view = location.String, kind.String == icesql.ViewType
	return r, nil
}

// namespaceKeys maps namespaces as shown to how they are stored.
type namespaceKeys map[string]string

func (k namespaceKeys) shown() []string         { return slices.Sorted(maps.Keys(k)) }
func (k namespaceKeys) key(shown string) string { return k[shown] }

func (q queries) namespaces(ctx context.Context, cat string) (namespaceKeys, error) {
	rows, err := q.db.QueryContext(ctx, q.spaces, cat, cat)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", catalog.ErrUnavailable, err)
	}
	defer rows.Close()
	out := namespaceKeys{}
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			return nil, fmt.Errorf("%w: %w", catalog.ErrUnavailable, err)
		}
		shown := strings.Join(decodeNamespace(key), ".")
		// ["a.b"] and ["a","b"] look alike; the plainly stored one is meant.
		if old, dup := out[shown]; !dup || old != shown {
			out[shown] = key
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", catalog.ErrUnavailable, err)
	}
	return out, nil
}

// encodedNamespace marks a namespace that iceberg-go stores as JSON because one of its levels has a dot.
const encodedNamespace = "__iceberg_namespace_v1__:"

func decodeNamespace(key string) []string {
	if text, ok := strings.CutPrefix(key, encodedNamespace); ok {
		var levels []string
		if json.Unmarshal([]byte(text), &levels) == nil && len(levels) > 0 {
			return levels
		}
	}
	return strings.Split(key, ".")
}
