package policy

import (
	pgquery "github.com/pganalyze/pg_query_go/v6"

	"gatehouse/classify"
)

// Governed is an allowed statement with its policy merged in. Only Apply makes one; the zero value is refused by the planner.
type Governed struct {
	statement *classify.Statement
	tree      *pgquery.SelectStmt
	relations []Relation
	revision  string
}

// Relation is one governed table reference: what the statement sees in place of the table.
type Relation struct {
	CTE     string // the name that Tree uses for it, "__gw_1", …
	Table   int    // index into Statement.Tables
	Name    classify.Name
	Columns []Output        // what is projected, in schema order; never empty (see RowMarker)
	Filter  *pgquery.Node   // row filter over raw columns; nil: all rows
	Pushed  []*pgquery.Node // leakproof user conjuncts on unmasked columns, to be evaluated beside Filter
	// Barrier: user expressions that may raise could otherwise run on hidden rows, so the relation must be computed in
	// full before anything of the user's is evaluated on it. Also set if a condition reads a mask that may raise.
	Barrier bool
	// Raises: user expressions that may raise could run on rows of the relation before something takes these out. Without a policy
	// that matters once the table has deletes, since a deleted row is hidden as well.
	Raises bool
	// MaskFails: a mask may fail on some value without the engine's knowing, so masks must be computed on rows that nothing
	// takes out any more.
	MaskFails bool
	// Steady: see Decision. Where the table has deletes, which hide rows as well, the planner does what Apply does for filters and masks.
	Steady   bool
	Filters  []string // ids, for audit
	Masks    []string // "column=id", for audit
	Decision string
	// Restricted is what the catalog demands of readers, as it was applied: see Decision.
	Restricted string
}

// Output is one projected column.
type Output struct {
	Name    string
	FieldID int
	Type    string        // DuckDB's name of the column's type
	Mask    *pgquery.Node // over raw columns, to be cast to Type; nil: the raw column. See ExpandHash
	Reads   []int         // field ids that Mask reads; just FieldID without a mask
}

// Statement returns the statement that was governed.
func (g *Governed) Statement() *classify.Statement { return g.statement }

// Tree returns the rewritten statement, which reads only the relations' CTE names. It must not be changed.
func (g *Governed) Tree() *pgquery.SelectStmt { return g.tree }

// Relations returns the governed relations, by table reference.
func (g *Governed) Relations() []Relation { return g.relations }

// Revision names the policy revision that decided.
func (g *Governed) Revision() string { return g.revision }
