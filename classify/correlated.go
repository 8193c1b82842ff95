package classify

import (
	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// ReadsOutside reports whether a subquery of a rewritten tree reads a column of the queries around it. A rewrite qualifies such columns.
func ReadsOutside(sel *pgquery.SelectStmt) bool {
	return sel != nil && readsOutside(sel, map[string]bool{})
}

func readsOutside(sel *pgquery.SelectStmt, around map[string]bool) bool {
	names, found := map[string]bool{}, false
	for n := range around {
		names[n] = true
	}
	for _, f := range sel.FromClause {
		descend(f, func(m proto.Message) bool {
			switch t := m.(type) {
			case *pgquery.RangeVar:
				names[fold(t.Relname)] = true
			case *pgquery.Alias:
				names[fold(t.Aliasname)] = true
			case *pgquery.RangeSubselect:
				names[fold(t.GetAlias().GetAliasname())] = true
				return false
			case *pgquery.RangeFunction:
				if calls := all[*pgquery.FuncCall](t); len(calls) > 0 {
					names[fold(nameOf(calls[0]))] = true
				}
				names[fold(t.GetAlias().GetAliasname())] = true
				return false
			}
			_, ok := m.(*pgquery.SelectStmt)
			return !ok
		})
	}
	descend(sel, func(m proto.Message) bool {
		switch t := m.(type) {
		case *pgquery.ColumnRef:
			found = found || len(t.Fields) > 1 && !names[fold(t.Fields[0].GetString_().GetSval())]
		case *pgquery.SelectStmt:
			if t != sel {
				found = found || readsOutside(t, names)
				return false
			}
		}
		return !found
	})
	return found
}

// CountsOutside reports whether a subquery of a rewritten tree counts rows of which the queries around it say which they are: in itself or in a subquery of its FROM,
// by aggregates, window functions, LIMIT or a set operation. Rows of a subquery that is counted for itself, and compared then, are none.
func CountsOutside(sel *pgquery.SelectStmt) bool {
	if sel == nil {
		return false
	}
	counts := sel.Op != pgquery.SetOperation_SETOP_NONE || sel.LimitCount != nil || sel.LimitOffset != nil || sel.HavingClause != nil
	found := false
	descend(sel, func(m proto.Message) bool {
		switch t := m.(type) {
		case *pgquery.SubLink:
			return false
		case *pgquery.FuncCall:
			counts = counts || t.Over != nil || isAggregate(t)
		case *pgquery.GroupingSet:
			counts = true
		case *pgquery.SelectStmt:
			if t != sel {
				found = found || CountsOutside(t)
				return false
			}
		}
		return !found
	})
	return found || counts && ReadsOutside(sel)
}
