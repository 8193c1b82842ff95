package classify

import (
	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// test is a comparison with the rows of a subquery, such as x IN (SELECT …), and the query that it stands in.
type test struct {
	link *pgquery.SubLink
	in   *scope
}

// findOuter notes the columns of enclosing queries that become subqueries, (SELECT c), in a rewrite: those that are compared with the rows of a subquery that reads
// no such column itself. DuckDB 1.5 plans the comparison of an enclosing query's column with rows of a CTE, which each governed relation is, to an internal error
// ("Failed to bind column reference"), and the other form rightly. The two mean the same.
func (b *binder) findOuter() {
	b.edits.outer = map[*pgquery.ColumnRef]bool{}
	for _, t := range b.tests {
		if b.correlated(t) {
			continue
		}
		descend(t.link.Testexpr, func(m proto.Message) bool {
			if c, ok := m.(*pgquery.ColumnRef); ok {
				r := b.refs[c]
				b.edits.outer[c] = r != nil && len(r.cols) > 0 && r.row == nil && t.in.up.within(r.in)
			}
			if f, ok := m.(*pgquery.FuncCall); ok && (f.Over != nil || isAggregate(f)) {
				return false // which query it is computed for goes by its columns
			}
			_, ok := m.(*pgquery.SubLink)
			return !ok
		})
	}
}

// correlated reports whether the subquery of t reads a column of the queries around it.
func (b *binder) correlated(t test) bool {
	for _, c := range all[*pgquery.ColumnRef](t.link.Subselect) {
		if r := b.refs[c]; r != nil && t.in.within(r.in) {
			return true
		}
	}
	return false
}

// within reports whether a scope is outer or stands inside of it.
func (s *scope) within(outer *scope) bool {
	for ; s != nil; s = s.up {
		if s == outer {
			return true
		}
	}
	return false
}

// asSubquery is (SELECT c).
func asSubquery(c *pgquery.ColumnRef) *pgquery.Node_SubLink {
	sel := &pgquery.SelectStmt{
		TargetList:  []*pgquery.Node{targetNode("", &pgquery.Node{Node: &pgquery.Node_ColumnRef{ColumnRef: c}})},
		LimitOption: pgquery.LimitOption_LIMIT_OPTION_DEFAULT, Op: pgquery.SetOperation_SETOP_NONE,
	}
	return &pgquery.Node_SubLink{SubLink: &pgquery.SubLink{
		SubLinkType: pgquery.SubLinkType_EXPR_SUBLINK,
		Subselect:   &pgquery.Node{Node: &pgquery.Node_SelectStmt{SelectStmt: sel}},
	}}
}
