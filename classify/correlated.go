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

// CountsRows reports whether what a query returns goes by which other rows there are: by aggregates, window functions, LIMIT or a set operation, in itself or in a
// subquery of its FROM.
func CountsRows(sel *pgquery.SelectStmt) bool {
	if sel == nil {
		return false
	}
	if sel.Op != pgquery.SetOperation_SETOP_NONE || sel.LimitCount != nil || sel.LimitOffset != nil || sel.HavingClause != nil {
		return true
	}
	found := false
	descend(sel, func(m proto.Message) bool {
		switch t := m.(type) {
		case *pgquery.SubLink:
			return false
		case *pgquery.FuncCall:
			found = found || t.Over != nil || isAggregate(t)
		case *pgquery.GroupingSet:
			found = true
		case *pgquery.SelectStmt:
			if t != sel {
				found = found || CountsRows(t)
				return false
			}
		}
		return !found
	})
	return found
}
