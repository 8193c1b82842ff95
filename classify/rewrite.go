package classify

import (
	"strconv"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// edits is what a rewrite changes in the tree, other than the tables.
type edits struct {
	drop  map[*pgquery.ColumnRef]int          // qualifiers that only a table has
	plain map[*pgquery.ColumnRef]*column      // columns that are qualified, see order.go
	outer map[*pgquery.ColumnRef]bool         // columns that become subqueries, see outer.go
	stars map[proto.Message][]starColumn      // stars that become columns, see stars.go
	dates map[*pgquery.A_Expr]bool            // constants that become dates, see dates.go
	names map[*pgquery.CommonTableExpr]string // new names of CTEs that hide one another
	index map[*pgquery.RangeVar]int           // which table a mention is
	ctes  map[*pgquery.RangeVar]*pgquery.CommonTableExpr
}

func (b *binder) collectEdits(tree *pgquery.SelectStmt) {
	b.edits.index, b.edits.ctes = b.index, b.walk.ctes
	b.edits.drop = map[*pgquery.ColumnRef]int{}
	for c, r := range b.refs {
		if r.drop > 0 {
			b.edits.drop[c] = r.drop
		}
	}
	b.findOuter()
	b.findPlain(tree)
	b.edits.stars = b.stars
	b.edits.names = map[*pgquery.CommonTableExpr]string{}
	taken := map[string]bool{}
	for _, d := range b.walk.decls {
		taken[fold(d.Ctename)] = true
	}
	seen := map[string]bool{}
	for _, d := range b.walk.decls {
		if !seen[fold(d.Ctename)] {
			seen[fold(d.Ctename)] = true
			continue
		}
		for k := 2; ; k++ {
			if name := d.Ctename + "_" + strconv.Itoa(k); !taken[fold(name)] {
				taken[fold(name)] = true
				b.edits.names[d] = name
				break
			}
		}
	}
}

// Rewrite returns a copy of the statement's tree in which table reference i reads names[i]. The alias stays, or becomes the
// table's own name, so that every reference still means the same; schema.table.column becomes table.column, time travel
// goes, CTEs that hide one another get names of their own, and columns of enclosing queries may become subqueries, and some stars
// become their columns.
func (b *Bound) Rewrite(names []string) *pgquery.SelectStmt {
	tree := proto.Clone(b.tree).(*pgquery.SelectStmt)
	if len(names) != len(b.rels) {
		return nil
	}
	b.edits.castDates(b.tree, tree) // first, as it goes by the order of all nodes
	stars := map[proto.Message][]starColumn{}
	refs, outer := all[*pgquery.ColumnRef](tree), map[*pgquery.ColumnRef]bool{}
	for i, c := range all[*pgquery.ColumnRef](b.tree) {
		outer[refs[i]] = b.edits.outer[c]
		stars[refs[i]] = b.edits.stars[c]
		if k := b.edits.drop[c]; k > 0 {
			refs[i].Fields = refs[i].Fields[k:]
		}
		if col := b.edits.plain[c]; col != nil {
			refs[i].Fields = col.fields()
		}
	}
	calls, copies := all[*pgquery.FuncCall](tree), map[*pgquery.FuncCall]*pgquery.FuncCall{}
	for i, f := range all[*pgquery.FuncCall](b.tree) {
		copies[f] = calls[i]
		stars[calls[i]] = b.edits.stars[f]
	}
	decls := all[*pgquery.CommonTableExpr](tree)
	for i, d := range all[*pgquery.CommonTableExpr](b.tree) {
		if name := b.edits.names[d]; name != "" {
			decls[i].Ctename = name
		}
	}
	vars := all[*pgquery.RangeVar](tree)
	for i, rv := range all[*pgquery.RangeVar](b.tree) {
		b.edits.rename(rv, vars[i], names)
	}
	for _, n := range all[*pgquery.Node](tree) {
		if t := n.GetRangeTableSample(); t != nil {
			n.Node = t.Relation.Node
		}
		if c := n.GetColumnRef(); outer[c] {
			n.Node = asSubquery(c)
		}
	}
	spellStars(tree, stars, copies)
	return tree
}

// rename makes a mention read a governed relation, or a CTE by its new name.
func (e *edits) rename(old, rv *pgquery.RangeVar, names []string) {
	to := ""
	if i, ok := e.index[old]; ok {
		to = names[i]
	} else if to = e.names[e.ctes[old]]; to == "" {
		return
	}
	if rv.Alias == nil {
		rv.Alias = &pgquery.Alias{Aliasname: old.Relname}
	}
	rv.Catalogname, rv.Schemaname, rv.Relname = "", "", to
}
