package classify

import (
	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// Raises reports whether some expression of the user could raise on a row that a policy hides, as far as can be told
// without the types of columns: mostly it says yes. Bound.Raises knows the types and the table reference.
func (s *Statement) Raises() bool {
	if s.kind == KindExplain && s.inner != nil {
		return s.inner.Raises()
	}
	if s.kind != KindSelect || s.tree == nil {
		return true
	}
	b := &binder{classes: map[classed]Class{}}
	unsafe := func(list ...*pgquery.Node) bool {
		for _, n := range list {
			if n != nil && b.class(n, false) != ClassLeakproof {
				return true
			}
		}
		return false
	}
	condition := func(n *pgquery.Node) bool { return n != nil && b.class(n, true) != ClassLeakproof }
	raises := false
	descend(s.tree, func(m proto.Message) bool {
		switch x := m.(type) {
		case *pgquery.SelectStmt:
			raises = raises || condition(x.WhereClause) || condition(x.HavingClause) || x.Op == pgquery.SetOperation_SETOP_INTERSECT ||
				x.Op == pgquery.SetOperation_SETOP_EXCEPT || unsafeTargets(x, x == s.tree, unsafe)
		case *pgquery.JoinExpr:
			raises = raises || x.IsNatural || len(x.UsingClause) > 0 || condition(x.Quals)
		case *pgquery.RangeFunction:
			raises = raises || len(all[*pgquery.ColumnRef](x)) > 0
		case *pgquery.WindowDef:
			raises = raises || unsafe(x.PartitionClause...)
			if x.Name == QualifyWindow {
				for _, o := range x.OrderClause {
					raises = raises || condition(o.GetSortBy().GetNode())
				}
			}
		case *pgquery.FuncCall:
			c := ClassOf(funcName(x))
			marker := len(funcName(x)) > len(MarkerPrefix) && funcName(x)[:len(MarkerPrefix)] == MarkerPrefix
			raises = raises || condition(x.AggFilter) || (!marker && c != ClassLeakproof && c != ClassRaising)
		case *pgquery.List: // a row of VALUES, among others
			raises = raises || (len(all[*pgquery.ColumnRef](x)) > 0 && unsafe(x.Items...))
		}
		return !raises
	})
	return raises
}

// unsafeTargets reports whether a target that a condition could use may raise. Nothing stands above the outermost
// target list; conditions beside it reach its targets by their names only.
func unsafeTargets(sel *pgquery.SelectStmt, outermost bool, unsafe func(...*pgquery.Node) bool) bool {
	for _, n := range sel.TargetList {
		t := n.GetResTarget()
		reachable := !outermost || (t.GetName() != "" && (sel.WhereClause != nil || sel.HavingClause != nil || len(sel.WindowClause) > 0))
		if c := t.GetVal().GetColumnRef(); c == nil && reachable && unsafe(t.GetVal()) {
			return true
		}
	}
	return false
}
