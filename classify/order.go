package classify

import (
	"slices"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// findPlain notes the references that a rewrite qualifies: columns of enclosing queries, so that one sees that they are (see ReadsOutside), and those inside of
// expressions of ORDER BY whose name is that of an output, too. By itself such a name is the output; inside of an expression DuckDB takes the column, and other engines the output: SELECT -id AS id FROM t ORDER BY id + 0.
func (b *binder) findPlain(tree *pgquery.SelectStmt) {
	b.edits.plain = map[*pgquery.ColumnRef]*column{}
	for c, r := range b.refs {
		if r.from != r.in && len(c.Fields) == 1 && len(r.cols) == 1 && r.cols[0].named(r.in.from) && !r.from.hides(r.cols[0], r.in) {
			b.edits.plain[c] = r.cols[0]
		}
	}
	for _, sel := range all[*pgquery.SelectStmt](tree) {
		for _, o := range sel.SortClause {
			if o.GetSortBy().GetNode().GetColumnRef() != nil {
				continue
			}
			for _, c := range all[*pgquery.ColumnRef](o) {
				if r := b.refs[c]; r != nil && r.column != nil && !slices.ContainsFunc(r.cols, r.column.shownAs) && r.column.named(r.in.from) {
					b.edits.plain[c] = r.column
				}
			}
		}
	}
}

// shownAs reports whether an output is the column as it is.
func (c *column) shownAs(out *column) bool {
	v := out.val
	return out != c && (v == c.val || v.table < 0 && v.node == nil && len(v.opaque) == 0 && len(v.plain) == 1 && v.plain[0] == c.val)
}

// hides reports whether the name of a column's relation means another one in a scope than in one around it.
func (s *scope) hides(c *column, around *scope) bool {
	name := c.fields()
	for ; s != around; s = s.up {
		if s.from != nil && len(name) > 1 && s.from.item([]string{name[0].GetString_().GetSval()}) != nil {
			return true
		}
	}
	return false
}
