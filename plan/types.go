// Package plan adds what an executor needs to run a governed statement: the files and deletes of every scan, pinned to one
// snapshot per table, and a signed credential for every task.
package plan

import (
	"time"

	pgquery "github.com/pganalyze/pg_query_go/v6"

	"gatehouse/auth"
	"gatehouse/objects"
	"gatehouse/policy"
)

// Plan is what an executor runs. Only Planner makes one; the zero value is refused by executors. It is immutable.
type Plan struct {
	query     string
	identity  auth.Identity
	governed  *policy.Governed
	relations []Relation
	deadline  time.Time
}

// Query returns the query id.
func (p *Plan) Query() string { return p.query }

// Identity returns the caller.
func (p *Plan) Identity() auth.Identity { return p.identity }

// Tree returns the rewritten statement. It must not be changed.
func (p *Plan) Tree() *pgquery.SelectStmt { return p.governed.Tree() }

// Params returns how many parameters the statement has.
func (p *Plan) Params() int { return p.governed.Statement().Params() }

// Relations returns the governed relations with their scans.
func (p *Plan) Relations() []Relation { return p.relations }

// Deadline is when the statement and its task credentials end.
func (p *Plan) Deadline() time.Time { return p.deadline }

// Relation is one governed relation with its scan and its credential.
type Relation struct {
	policy.Relation
	Scan Scan
	Task Task
}

// Task is the credential for one relation's scan: a signed token over Digest.
type Task struct {
	ID     string
	Token  auth.Secret
	Digest string // see Relation.PayloadDigest
}

// Scan says what to read of one table at one snapshot.
type Scan struct {
	Catalog, Schema, Table string
	UUID                   string
	Snapshot               int64   // 0: the table is empty
	Fields                 []Field // what has to be read: all that columns, masks, filter and equality deletes need, by field id
	Files                  []File  // never a file twice
	Deletes                []DeleteFile
	Rows                   int64 // upper bound from the manifests
	FilesTotal             int   // before pruning
	// Rough is what to plan with in place of Rows where a filter or deletes hide rows, 0 where nothing does: a number that does not
	// depend on what the statement asks for, and on hidden rows by the order of magnitude alone.
	Rough int64
	// Computed: there are no files. The rows are Values, texts by Fields; nil is NULL. An executor that cannot read such a scan refuses it.
	Computed bool
	Values   [][]*string
	// Objects reads the files and deletes that lie in an object store, with the caller's credentials for this table; nil where all are
	// local. It is no part of the digest.
	Objects objects.Store
}

// Field is one top-level column to read.
type Field struct {
	ID      int
	Name    string  // current name; "__gw_dropped_ID" for a delete's key that is no column any more
	Type    string  // DuckDB's name of the current type
	Default *string // v3 initial default as DuckDB text, nil: NULL
	NaN     bool    // floating point: files may hold NaN outside their bounds
	// Nested is set when the type has fields inside: the tree of current names and ids, so that a file that was
	// written with other nested names is mapped or refused.
	Nested []Field
}

// File is one data file.
type File struct {
	Path     string // as the metadata has it, scheme and all; see LocalPath
	Size     int64
	Rows     int64
	Seq      int64  // data sequence number
	FirstRow *int64 // v3 row lineage
	// Constants are identity-partition values by field id, as DuckDB text; used when the file lacks the column.
	Constants map[int]*string
	// Mapping is the table's name mapping (name → field id, nested names dotted), for files without field ids;
	// nil if the table has none, or one that is ambiguous: such files can then not be read.
	Mapping map[string]int
	Deletes []int // indexes into Scan.Deletes: those that apply to this file
}

// DeleteKind is the kind of a delete file.
type DeleteKind int

// The kinds that we read.
const (
	PositionDeletes DeleteKind = iota + 1
	DeletionVector
	EqualityDeletes
)

// DeleteFile is one delete file, or one deletion vector inside a Puffin file.
type DeleteFile struct {
	Kind     DeleteKind
	Path     string
	Size     int64
	Rows     int64
	Offset   int64   // DeletionVector: where its blob starts in the file
	Length   int64   // DeletionVector: blob length
	Equality []Field // EqualityDeletes: the key columns with their current types
}
