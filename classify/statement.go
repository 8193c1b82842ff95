package classify

import pgquery "github.com/pganalyze/pg_query_go/v6"

// Statement is one classified statement. It is immutable; the zero value is refused by every stage.
type Statement struct {
	text      string
	kind      Kind
	inner     *Statement
	analyze   bool
	tree      *pgquery.SelectStmt // KindSelect only; locations are byte offsets in text
	tables    []TableRef
	nodes     []*pgquery.RangeVar // nodes[i] is the mention tables[i]
	functions []string
	params    int
	sizes     []int // bytes of the parameters' values, if they are known
	name      string
	value     string
	reset     bool
	pattern   string
	target    []string
	hash      string
	rights    *Access // KindAccess, KindSetRole, KindShowAccess
}

// Text returns the statement as the user wrote it.
func (s *Statement) Text() string { return s.text }

// Hash returns the hex SHA-256 of the text with its literals and comments removed, for audit.
func (s *Statement) Hash() string { return s.hash }

// Kind says what the statement does.
func (s *Statement) Kind() Kind { return s.kind }

// Inner returns the statement that a KindExplain explains, else nil.
func (s *Statement) Inner() *Statement { return s.inner }

// Analyze reports whether a KindExplain runs its inner statement.
func (s *Statement) Analyze() bool { return s.analyze }

// Tables returns every mention of a base table in the whole tree.
func (s *Statement) Tables() []TableRef { return append([]TableRef(nil), s.tables...) }

// Functions returns the names of the functions that are called, sorted, lower case, each once.
func (s *Statement) Functions() []string { return append([]string(nil), s.functions...) }

// Params returns the number of parameters.
func (s *Statement) Params() int { return s.params }

// Setting returns what a KindSet or KindShow is about. Reset is true for RESET, and value is then empty.
func (s *Statement) Setting() (name, value string, reset bool) { return s.name, s.value, s.reset }

// Pattern returns the LIKE pattern of a SHOW statement, "" if there is none.
func (s *Statement) Pattern() string { return s.pattern }

// Target returns the identifiers that a KindUse or KindShow… names, as written.
func (s *Statement) Target() []string { return append([]string(nil), s.target...) }

// Tree returns the tree of a KindSelect as the user wrote it, before any policy, for printing it back and for tests; nil for
// other kinds. It must not be changed, and it must never reach an executor: a time travel marker in it does not print.
func (s *Statement) Tree() *pgquery.SelectStmt { return s.tree }
