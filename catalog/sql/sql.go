// Package sql reads Iceberg tables through a SQL catalog, the JDBC catalog of Iceberg's other implementations, on SQLite or
// PostgreSQL.
//
// Such a catalog has no users of its own: whoever may read its database may read all of it. What a caller sees is therefore up to
// policy alone.
package sql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"

	"github.com/apache/iceberg-go"
	icesql "github.com/apache/iceberg-go/catalog/sql"
	"github.com/apache/iceberg-go/table"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"gatehouse/auth"
	"gatehouse/catalog"
	"gatehouse/objects"
)

// Config says where a catalog is.
type Config struct {
	Name     string      // what statements call it; required
	Catalog  string      // its catalog_name in the database; Name if empty
	SQLite   string      // path of a SQLite database; this or Postgres is required
	Postgres auth.Secret // connection string or URL of a PostgreSQL database
	// Roots are the local folders and the prefixes of object stores, "s3://bucket/prefix", from which metadata, manifests and data files may
	// be read; at least one.
	Roots []string
	// Objects reads what lies in object stores, for every caller with the same rights; nil if nothing does.
	Objects objects.Store
	// MaxConns bounds the connections to the database; 0 means 8.
	MaxConns int
	// CacheBytes bounds the cached table metadata, by the size of the metadata files; 0 means 64 MiB.
	CacheBytes int
}

// Catalog is one SQL catalog. Every Table call reads the table's metadata location anew, so that a commit shows at once; what
// is cached is the parsed content of metadata files, which never change.
type Catalog struct {
	name    string // in statements
	catalog string // in the database
	db      *sql.DB
	queries queries
	commits table.CatalogIO
	files   catalog.Files
	cache   *cache
}

var _ catalog.Catalog = (*Catalog)(nil)

// New opens a catalog. The database must have the catalog's tables: New makes nothing.
func New(c Config) (*Catalog, error) {
	if c.Name == "" {
		return nil, errors.New("sql catalog: no name is set")
	}
	if (c.SQLite == "") == c.Postgres.IsZero() {
		return nil, fmt.Errorf("sql catalog %q: set either a SQLite file or a PostgreSQL connection", c.Name)
	}
	if len(c.Roots) == 0 {
		return nil, fmt.Errorf("sql catalog %q: no folder is set from which tables may be read", c.Name)
	}
	files, err := catalog.NewFiles(c.Roots...)
	if err != nil {
		return nil, fmt.Errorf("sql catalog %q: %w", c.Name, err)
	}
	if files.HasPlaces() != (c.Objects != nil) {
		return nil, fmt.Errorf("sql catalog %q: roots in an object store and a store to read them belong together", c.Name)
	}
	if c.Objects != nil {
		if files, err = files.With(c.Objects.Scope(), catalog.Opened{Store: c.Objects}); err != nil {
			return nil, fmt.Errorf("sql catalog %q: %w", c.Name, err)
		}
	}
	out := &Catalog{name: c.Name, catalog: c.Catalog, files: files}
	if out.catalog == "" {
		out.catalog = c.Name
	}
	if c.CacheBytes == 0 {
		c.CacheBytes = 64 << 20
	}
	if out.cache, err = newCache(c.CacheBytes); err != nil {
		return nil, fmt.Errorf("sql catalog %q: %w", c.Name, err)
	}
	if err := out.connect(c); err != nil {
		return nil, fmt.Errorf("sql catalog %q: %w", c.Name, err)
	}
	return out, nil
}

func (c *Catalog) connect(cfg Config) (err error) {
	dialect := icesql.SQLite
	if cfg.SQLite != "" {
		c.db, err = sql.Open("sqlite", sqliteName(cfg.SQLite))
	} else {
		dialect = icesql.Postgres
		c.db, err = sql.Open("pgx", cfg.Postgres.Reveal())
	}
	if err != nil {
		// The driver's text may quote the connection string.
		return errors.New("the database's address is not understood")
	}
	conns := cfg.MaxConns
	if conns == 0 {
		conns = 8
	}
	c.db.SetMaxOpenConns(conns)
	c.db.SetMaxIdleConns(conns)
	if c.queries, err = newQueries(c.db, dialect); err != nil {
		_ = c.db.Close()
		return err
	}
	c.commits, err = icesql.NewCatalog(c.catalog, c.db, dialect, iceberg.Properties{"init_catalog_tables": "false"})
	if err != nil {
		_ = c.db.Close()
	}
	return err
}

// sqliteName returns the driver's name of an existing database file, whatever characters its path has.
func sqliteName(path string) string {
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: "mode=rw&_pragma=busy_timeout(5000)"}
	if path[0] != '/' {
		u.Opaque, u.Path = url.PathEscape(path), ""
	}
	return u.String()
}

// Table implements catalog.Catalog. A view is catalog.ErrUnreadable.
func (c *Catalog) Table(ctx context.Context, id auth.Identity, schema, name string) (*catalog.Table, error) {
	if !id.Valid() {
		return nil, catalog.ErrRefused
	}
	row, err := c.find(ctx, schema, name)
	if err != nil {
		return nil, err
	}
	if row.view {
		return nil, fmt.Errorf("%w: it is a view", catalog.ErrUnreadable)
	}
	return c.cache.table(ctx, row, func() (*catalog.Table, int, error) { return c.load(ctx, row) }, c.files)
}

// find reads the table's row: by the exact names, or else by the only names that differ in case alone.
func (c *Catalog) find(ctx context.Context, schema, name string) (row, error) {
	r, err := c.queries.row(ctx, c.catalog, schema, name)
	if err != nil || r.location != "" {
		return r, err
	}
	keys, err := c.queries.namespaces(ctx, c.catalog)
	if err != nil {
		return row{}, err
	}
	ns, ok := catalog.Match(keys.shown(), schema)
	if !ok {
		return row{}, catalog.ErrNoSuchTable
	}
	entries, err := c.queries.entries(ctx, c.catalog, keys.key(ns))
	if err != nil {
		return row{}, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.name
	}
	exact, ok := catalog.Match(names, name)
	if !ok {
		return row{}, catalog.ErrNoSuchTable
	}
	for _, e := range entries {
		if e.name == exact && e.location != "" {
			return e, nil
		}
	}
	return row{}, catalog.ErrNoSuchTable
}

func (c *Catalog) load(ctx context.Context, r row) (*catalog.Table, int, error) {
	md, size, err := c.files.ReadMetadata(ctx, r.location)
	if err != nil {
		return nil, 0, err
	}
	ident := append(decodeNamespace(r.key), r.name)
	t, err := catalog.NewTable(c.name, r.schema, r.name, table.New(ident, md, r.location, c.files.IO, c.commits), c.files, nil)
	return t, size, err
}

// List implements catalog.Catalog.
func (c *Catalog) List(ctx context.Context, id auth.Identity, schema string) ([]catalog.Entry, error) {
	if !id.Valid() {
		return nil, catalog.ErrRefused
	}
	keys, err := c.queries.namespaces(ctx, c.catalog)
	if err != nil {
		return nil, err
	}
	if schema == "" {
		var out []catalog.Entry
		for _, ns := range keys.shown() {
			out = append(out, catalog.Entry{Schema: ns})
		}
		return out, nil
	}
	ns, ok := catalog.Match(keys.shown(), schema)
	if !ok {
		return nil, nil
	}
	rows, err := c.queries.entries(ctx, c.catalog, keys.key(ns))
	if err != nil {
		return nil, err
	}
	var out []catalog.Entry
	for _, r := range rows {
		out = append(out, catalog.Entry{Schema: ns, Name: r.name, View: r.view})
	}
	return out, nil
}

// Name returns what statements call the catalog.
func (c *Catalog) Name() string { return c.name }

// Close implements catalog.Catalog.
func (c *Catalog) Close() error { return c.db.Close() }
