package classify

import pgquery "github.com/pganalyze/pg_query_go/v6"

// Raises reports whether some expression of the user could raise on a row that a policy hides.
func (s *Statement) Raises() bool { return true }

// Bound is a statement whose names are resolved.
type Bound struct{ statement *Statement }

func (s *Statement) Bind(rels []Relation) (*Bound, error) { return &Bound{s}, nil }

func (b *Bound) Statement() *Statement                      { return b.statement }
func (b *Bound) Relations() []Relation                      { return nil }
func (b *Bound) Uses(i int) []ColumnUse                     { return nil }
func (b *Bound) Conjuncts(i int) []Conjunct                 { return nil }
func (b *Bound) Rewrite(names []string) *pgquery.SelectStmt { return nil }
