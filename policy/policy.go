// Package policy turns an allowed statement into a governed one or refuses it.
package policy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gatehouse/auth"
	"gatehouse/classify"
)

// Operation is what is to be allowed, in the words of Trino's access control interface.
type Operation string

// The operations asked of a policy today.
const (
	ExecuteQuery   Operation = "ExecuteQuery"
	AccessCatalog  Operation = "AccessCatalog"
	SelectColumns  Operation = "SelectFromColumns"
	FilterCatalogs Operation = "FilterCatalogs"
	FilterSchemas  Operation = "FilterSchemas"
	FilterTables   Operation = "FilterTables"
	FilterColumns  Operation = "FilterColumns"
	SetSession     Operation = "SetSystemSessionProperty"
)

// Resource is what an operation is about; the zero value for ExecuteQuery.
type Resource struct {
	Catalog string
	Schema  string
	Table   string
	Columns []string // FilterColumns: exactly one; SelectFromColumns: all that are used, possibly none
	Setting string
	Detail  *Table        // set once the table is loaded
	Grant   *GrantRequest // for operations about rights
}

// Table describes a loaded table to the policy.
type Table struct {
	Name    classify.Name
	UUID    string
	Columns []classify.Column
	// Known are the names by which the policy knows Columns, one each: for an older version of a table, the names that its
	// columns, by field id, have now. "" is a column that the policy cannot know. Nil: the columns' own names.
	Known   []string
	Uses    []classify.ColumnUse
	Version string // "" for the current snapshot, else the snapshot id, branch or tag
	// Tags are those of the table, and FieldTags those of its columns by field id, each as KEY and, with a value, KEY=VALUE. The judge
	// fills them in.
	Tags      []string
	FieldTags map[int][]string
}

// KnownName returns the policy's name of column i, "" if it knows none.
func (t Table) KnownName(i int) string {
	if t.Known == nil {
		return t.Columns[i].Name
	}
	return t.Known[i]
}

// AsKnown returns t as the policy knows it: by its names, without the columns that it cannot know.
func (t Table) AsKnown() Table {
	if t.Known == nil {
		return t
	}
	out := Table{Name: t.Name, UUID: t.UUID, Version: t.Version, Tags: t.Tags, FieldTags: t.FieldTags}
	at := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		at[i] = len(out.Columns)
		if name := t.Known[i]; name != "" {
			c.Name = name
			out.Columns = append(out.Columns, c)
		}
	}
	for _, u := range t.Uses {
		if u.Column >= 0 && u.Column < len(t.Known) && t.Known[u.Column] != "" {
			out.Uses = append(out.Uses, classify.ColumnUse{Column: at[u.Column], Roles: u.Roles})
		}
	}
	return out
}

// Caller is who asks, and in which circumstances.
type Caller struct {
	Identity auth.Identity
	Query    string    // query id
	Time     time.Time // admission time: constant for the whole statement
	Peer     string
	Client   string            // user agent, as asserted
	Session  map[string]string // user-asserted session properties
	Kind     classify.Kind
	Hash     string // statement hash
}

// ErrNoPolicy says that no policy may be used now: none was loaded yet, or the last one is too old. Everything is denied.
var ErrNoPolicy = errors.New("no policy is in force")

// Decider is a source of policy.
type Decider interface {
	// Judge pins the policy revision in force now for one statement. ErrNoPolicy if there is none that may be used.
	Judge(ctx context.Context, c Caller) (Judge, error)
}

// Judge answers for one caller, one statement and one policy revision. Every error means deny.
type Judge interface {
	// Revision names the policy revision, for audit.
	Revision() string
	// Allow answers op for each resource, in order. Anything undefined is false.
	Allow(ctx context.Context, op Operation, rs []Resource) ([]bool, error)
	// Table returns the row filters and the masks of the named columns (names from t.Columns).
	Table(ctx context.Context, t Table, columns []string) (Decision, error)
}

// Decision is what a policy demands of one table for one caller.
type Decision struct {
	ID      string                // decision id, for audit and for the user
	Filters []Expression          // all ANDed; those that share AnyOf are ORed first
	Masks   map[string]Expression // by column name; no entry: the column is shown. See CombineMasks
	// Restricted is the catalog's read-restrictions object that Restrict has added, "" if none.
	Restricted string
	// Steady: nothing that the statement asks for may decide how much is read or computed where rows or values are hidden, so that
	// time does not tell of single ones either. It costs pruning and look-ups on such tables.
	Steady bool
}

// Expression is one SQL expression that a policy returned, as text. It is never pasted into a statement: Apply parses,
// checks, binds and merges it as a tree.
type Expression struct {
	ID       string // for audit; made from the rule's place if the policy gave none
	SQL      string
	Params   map[string]any // values for :name in SQL, merged as typed literals
	AnyOf    string
	Priority int
	Rule     string // file:line of the rule, for the operator only
	// Fields says by field id what the names of columns in SQL mean, so that a renamed column keeps its meaning. Nil: they
	// are the table's names.
	Fields map[string]int
}

// Name is what audit calls e: its id, or else its rule.
func (e Expression) Name() string { return identify(e) }

// DeniedError is a refusal of something that the caller may know about. Its text may reach the client.
type DeniedError struct {
	Decision string // decision id
	What     string // what was refused, in the user's own words: a visible table or column, "the statement"
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("access denied to %s (decision %s)", e.What, e.Decision)
}

// PolicyError is a fault of the policy itself: an expression that does not parse, bind or cast, a conflict of masks, an
// evaluation error. The caller learns only the decision id; Cause, Rule are for the operator.
type PolicyError struct {
	Decision string
	Rule     string
	Cause    error
}

func (e *PolicyError) Error() string {
	return fmt.Sprintf("the policy could not be applied (decision %s)", e.Decision)
}

// Unwrap returns the cause.
func (e *PolicyError) Unwrap() error { return e.Cause }
