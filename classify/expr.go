package classify

import pgquery "github.com/pganalyze/pg_query_go/v6"

// ExprColumn is one column reference of an expression.
type ExprColumn struct {
	Parts []string
	Pos   int
}

func ParseExpr(text string) (*pgquery.Node, error) {
	return nil, &UnsupportedError{Construct: "everything", Pos: -1}
}
func ExprColumns(n *pgquery.Node) []ExprColumn { return nil }

// TypeOf returns DuckDB's name of the type of a column reference, "" if it is not known.
type TypeOf func(c *pgquery.ColumnRef) string

// ExprClass returns the class of n when nothing is known about the types of its columns, so that a comparison
// of two columns, or of a column with a typed constant, counts as raising (it may hide a cast).
func ExprClass(n *pgquery.Node) Class { return ExprClassTyped(n, nil) }

// ExprClassTyped returns the worst class of anything in n, given the types of its columns.
func ExprClassTyped(n *pgquery.Node, types TypeOf) Class { return ClassForbidden }
