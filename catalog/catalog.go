// Package catalog finds Iceberg tables, always with the caller's own rights.
package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"gatehouse/auth"
)

// The errors of this package. None carries a text of the catalog server; the cause is wrapped for the operator's log.
var (
	// ErrNoSuchTable: there is no such namespace or table, or the catalog does not show it to this caller.
	ErrNoSuchTable = errors.New("no such table")
	// ErrNoSuchVersion: the table has no such snapshot, branch, tag, or none at that time.
	ErrNoSuchVersion = errors.New("no such table version")
	// ErrUnreadable: the table exists, but its format version, type or metadata is one that we do not read.
	ErrUnreadable = errors.New("table cannot be read")
	// ErrOutside, an ErrUnreadable: a file of the table lies below none of the roots.
	ErrOutside = fmt.Errorf("%w: a file lies outside of the places that may be read", ErrUnreadable)
	// ErrNoCredentials, an ErrUnreadable: the catalog gave none for the object store in which a file of the table lies.
	ErrNoCredentials = fmt.Errorf("%w: there are no credentials for the place of an object", ErrUnreadable)
	// ErrStore, an ErrUnreadable: what the catalog says of the table's object store cannot be used.
	ErrStore = fmt.Errorf("%w: what the catalog says of its object store cannot be used", ErrUnreadable)
	// ErrUnavailable: the catalog did not answer, or answered what we do not understand.
	ErrUnavailable = errors.New("catalog unavailable")
	// ErrRefused: the catalog refused the caller's credential.
	ErrRefused = errors.New("catalog refused the credential")
)

// Catalog is one named Iceberg catalog. Implementations are safe for use by many goroutines at once and
// cache nothing across identities.
type Catalog interface {
	// Table loads the table's current metadata. schema is the namespace with its levels joined by dots. Names match
	// exactly, or else in one case-insensitive way; Table.Schema and Table.Name say which. ErrNoSuchTable otherwise.
	Table(ctx context.Context, id auth.Identity, schema, name string) (*Table, error)
	// List returns the namespaces (schema == "") as Entry{Schema}, or the tables and views of one namespace, sorted.
	// An unknown namespace has no tables; that is not an error.
	List(ctx context.Context, id auth.Identity, schema string) ([]Entry, error)
	// Close releases connections.
	Close() error
}

// Entry is one namespace, table or view.
type Entry struct {
	Schema string
	Name   string // "" for a namespace
	View   bool
}

// Table is one table at one snapshot. It is immutable.
type Table struct {
	Catalog, Schema, Name string // canonical spelling
	UUID                  string
	Iceberg               *table.Table
	Snapshot              *table.Snapshot // nil: the table has no snapshot, hence no rows
	Fields                *iceberg.Schema // schema to read with: the snapshot's for time travel by id or time, the current one else
	Columns               []Column        // Fields, top level, in order
	// Files reads the table's metadata, manifests and data files; it says which locations may be read at all. In an object store it reads with
	// the credentials that the catalog gave for this caller and table, or with the operator's.
	Files Files
	// Restrictions is the REST catalog's read-restrictions object as it came, nil if there is none. It is for policy.Decision's
	// Restrict, and whoever plans a table whose restrictions were not applied must refuse.
	Restrictions []byte
	// Computed tables have no Iceberg table behind them but Rows, texts by column. See the function Computed.
	Computed bool
	Rows     [][]*string
}

// Column is one top-level column.
type Column struct {
	Name    string
	FieldID int
	Type    iceberg.Type
	SQLType string // DuckDB's name for it, see SQLType
	Doc     string
	// Required: the schema says that it holds no NULL.
	Required bool
}

// Version selects a point in history; the zero value is the current snapshot of the main branch.
type Version struct {
	Snapshot int64  // snapshot id
	Micros   *int64 // microseconds since 1970-01-01 UTC
	Ref      string // branch or tag
}
