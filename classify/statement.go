package classify

import pgquery "github.com/pganalyze/pg_query_go/v6"

// Statement is one classified statement. It is immutable; the zero value is refused by every stage.
type Statement struct {
	text   string
	kind   Kind
	tables []TableRef
}

// Parse classifies text.
func Parse(text string) (*Statement, error) {
	return nil, &UnsupportedError{Construct: "everything", Pos: -1}
}

func (s *Statement) Text() string                              { return s.text }
func (s *Statement) Hash() string                              { return "" }
func (s *Statement) Kind() Kind                                { return s.kind }
func (s *Statement) Inner() *Statement                         { return nil }
func (s *Statement) Analyze() bool                             { return false }
func (s *Statement) Tables() []TableRef                        { return s.tables }
func (s *Statement) Functions() []string                       { return nil }
func (s *Statement) Params() int                               { return 0 }
func (s *Statement) Raises() bool                              { return true }
func (s *Statement) Setting() (name, value string, reset bool) { return }
func (s *Statement) Pattern() string                           { return "" }
func (s *Statement) Target() []string                          { return nil }

// Bound is a statement whose names are resolved.
type Bound struct{ statement *Statement }

func (s *Statement) Bind(rels []Relation) (*Bound, error) { return &Bound{s}, nil }

func (b *Bound) Statement() *Statement                      { return b.statement }
func (b *Bound) Relations() []Relation                      { return nil }
func (b *Bound) Uses(i int) []ColumnUse                     { return nil }
func (b *Bound) Conjuncts(i int) []Conjunct                 { return nil }
func (b *Bound) Rewrite(names []string) *pgquery.SelectStmt { return nil }

// ExprColumn is one column reference of an expression.
type ExprColumn struct {
	Parts []string
	Pos   int
}

func ParseExpr(text string) (*pgquery.Node, error) {
	return nil, &UnsupportedError{Construct: "everything", Pos: -1}
}
func ExprColumns(n *pgquery.Node) []ExprColumn { return nil }
func ClassOf(function string) Class            { return ClassForbidden }
func ExprClass(n *pgquery.Node) Class          { return ClassForbidden }
