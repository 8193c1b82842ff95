// Package classify says what a statement is and what it touches, once, for the whole tree.
//
// Parse turns text into a Statement or refuses it; Bind resolves the names of a Statement against the
// relations that the caller may see and says which columns are used, and how. Nothing here decides
// who may do what, and nothing here runs anything.
package classify

import (
	"fmt"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// Kind is what a statement does.
type Kind int

// The kinds. The zero value is no statement and every stage refuses it.
const (
	KindInvalid Kind = iota
	KindSelect       // SELECT, VALUES, TABLE t, WITH … SELECT
	KindExplain      // EXPLAIN [ANALYZE] of an inner KindSelect; see Statement.Inner
	KindShowCatalogs
	KindShowSchemas
	KindShowTables
	KindShowColumns // SHOW COLUMNS FROM t, DESCRIBE t
	KindSet         // SET name = value, RESET name
	KindShow        // SHOW name
	KindUse         // USE catalog.schema
	KindTransaction // BEGIN, COMMIT, ROLLBACK: no-ops in autocommit mode
	KindAccess      // GRANT, REVOKE, DENY, CREATE ROLE, DROP ROLE; see Statement.Access
	KindSetRole     // SET ROLE
	KindShowAccess  // SHOW GRANTS and the like, CHECK ACCESS
)

// Name is a table's full name. Schema is a namespace of any depth, its levels joined with dots.
type Name struct{ Catalog, Schema, Table string }

// String returns the name with dots, unquoted, for policy and audit.
func (n Name) String() string { return n.Catalog + "." + n.Schema + "." + n.Table }

// Namespace is where unqualified names resolve.
type Namespace struct{ Catalog, Schema string }

// Travel is a point in a table's history; the zero value is the current snapshot. At most one field is set.
type Travel struct {
	Snapshot int64  // snapshot id
	Micros   *int64 // microseconds since 1970-01-01 UTC: the snapshot current at that instant
	Ref      string // branch or tag
}

// TableRef is one mention of a base table in the statement's tree. Each mention has its own entry,
// also when two name the same table.
type TableRef struct {
	Index  int      // position in Statement.Tables
	Parts  []string // as written, 1 to 3 identifiers, quotes removed, case as written
	Alias  string   // "" if none
	Travel Travel
	Pos    int // byte offset in the statement's text
}

// Resolve returns the full name of r, with the parts that were not written taken from ns.
func (r TableRef) Resolve(ns Namespace) Name {
	p := r.Parts
	switch len(p) {
	case 1:
		return Name{ns.Catalog, ns.Schema, p[0]}
	case 2:
		return Name{ns.Catalog, p[0], p[1]}
	default:
		return Name{p[0], strings.Join(p[1:len(p)-1], "."), p[len(p)-1]}
	}
}

// Column is one column that the caller may see.
type Column struct {
	Name    string // exact, from the table's schema
	FieldID int    // Iceberg field id
	Type    string // DuckDB's name of the type, e.g. "BIGINT", "DECIMAL(12,2)", "STRUCT(a INTEGER)[]"
}

// Relation is the visible shape of one base table for this caller: hidden columns are simply not in it,
// so a use of one is the same error as a use of a column that does not exist.
type Relation struct {
	Name    Name
	Columns []Column
}

// Role says how a column is used; a column may have several.
type Role uint8

// The roles.
const (
	RoleOutput Role = 1 << iota // its value can reach the result
	RoleFilter                  // WHERE, HAVING, QUALIFY, FILTER
	RoleJoin                    // ON, USING, NATURAL
	RoleGroup                   // GROUP BY, DISTINCT, PARTITION BY
	RoleOrder                   // ORDER BY
)

// ColumnUse is one used column of one TableRef. Uses may be over-approximated, never under-approximated.
type ColumnUse struct {
	Column int // index into Relation.Columns
	Roles  Role
}

// Conjunct is one AND-ed condition on a single table reference that may be evaluated at the scan without
// changing the result, because the statement applies it again above.
type Conjunct struct {
	Expr    *pgquery.Node // column references are one-part names, exact as in Relation.Columns; not shared with the tree
	Columns []int         // the columns it reads, indexes into Relation.Columns
	Raises  bool          // it may raise, also through a cast that the engine adds: never to be evaluated on hidden rows
}

// SyntaxError says that the text is not one statement of our dialect. It may reach a client.
type SyntaxError struct {
	Message string // our own words
	Pos     int    // byte offset in the text, -1 if unknown
}

func (e *SyntaxError) Error() string { return withPos("syntax error: "+e.Message, e.Pos) }

// UnsupportedError says that a construct is understood but not accepted. It may reach a client.
type UnsupportedError struct {
	Construct string // the name of the construct as the SQL standard or the dialect's manual calls it
	Pos       int
	Limit     bool // there is only too much of it: a smaller statement of the kind is accepted
}

func (e *UnsupportedError) Error() string {
	if e.Limit {
		return withPos("limit reached: "+e.Construct, e.Pos)
	}
	return withPos("unsupported: "+e.Construct, e.Pos)
}

// NameError says that a name does not resolve, or resolves twice. It may reach a client.
type NameError struct {
	Kind string // "column", "table", "function", "window", "alias"
	Name string // as written
	Why  string // "does not exist" or "is ambiguous"
	Pos  int
}

func (e *NameError) Error() string {
	return withPos(fmt.Sprintf("%s %q %s", e.Kind, e.Name, e.Why), e.Pos)
}

func withPos(s string, pos int) string {
	if pos < 0 {
		return s
	}
	return fmt.Sprintf("%s (at character %d)", s, pos+1)
}

// Class says what evaluating a function, operator or cast may give away about rows that are filtered later.
type Class int

// The classes. Unknown functions are ClassForbidden.
const (
	ClassForbidden  Class = iota // reads files, settings, sessions, clocks; changes state; unbounded
	ClassLeakproof               // total: never raises, never reads anything but its arguments
	ClassRaising                 // may raise on some value
	ClassDictionary              // may be evaluated on values of rows that no plan node lets through (Parquet dictionaries)
)
