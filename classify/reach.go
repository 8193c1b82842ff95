package classify

import (
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// of returns a bound of the length of n's values, where columns of tables count as naturally. Of a list it is that of all elements.
func (l *lengths) of(n *pgquery.Node) int64 {
	if n == nil || n.Node == nil {
		return 0
	}
	if k, ok := l.known[n]; ok {
		return k
	}
	l.known[n] = anyLength // for what is computed from itself, as in a recursive query
	k := min(l.expr(n), anyLength)
	l.known[n] = k
	return k
}

func (l *lengths) expr(n *pgquery.Node) int64 {
	switch e := n.Node.(type) {
	case *pgquery.Node_AConst:
		if text := e.AConst.GetSval(); text != nil {
			return int64(len(text.Sval))
		}
		return 8
	case *pgquery.Node_ParamRef:
		if i := int(e.ParamRef.Number) - 1; i >= 0 && i < len(l.sizes) {
			return max(naturally, int64(l.sizes[i]))
		}
		return naturally
	case *pgquery.Node_ColumnRef:
		return l.column(e.ColumnRef, l.of)
	case *pgquery.Node_AExpr:
		if k := e.AExpr.Kind; k != pgquery.A_Expr_Kind_AEXPR_OP && k != pgquery.A_Expr_Kind_AEXPR_NULLIF || isComparison(e.AExpr) {
			return naturally
		}
		return l.sum(e.AExpr.Lexpr, e.AExpr.Rexpr)
	case *pgquery.Node_BoolExpr, *pgquery.Node_NullTest, *pgquery.Node_BooleanTest, *pgquery.Node_SqlvalueFunction, *pgquery.Node_GroupingFunc:
		return naturally
	case *pgquery.Node_CaseExpr:
		k := l.of(e.CaseExpr.Defresult)
		for _, w := range e.CaseExpr.Args {
			k = max(k, l.of(w.GetCaseWhen().GetResult()))
		}
		return k
	case *pgquery.Node_CoalesceExpr:
		return l.max(e.CoalesceExpr.Args)
	case *pgquery.Node_MinMaxExpr:
		return l.max(e.MinMaxExpr.Args)
	case *pgquery.Node_TypeCast:
		return max(naturally, l.of(e.TypeCast.Arg))
	case *pgquery.Node_CollateClause:
		return l.of(e.CollateClause.Arg)
	case *pgquery.Node_NamedArgExpr:
		return l.of(e.NamedArgExpr.Arg)
	case *pgquery.Node_AArrayExpr:
		return l.sum(e.AArrayExpr.Elements...)
	case *pgquery.Node_RowExpr:
		return l.sum(e.RowExpr.Args...)
	case *pgquery.Node_List:
		return l.sum(e.List.Items...)
	case *pgquery.Node_AIndirection:
		return l.indirection(e.AIndirection)
	case *pgquery.Node_SubLink:
		switch e.SubLink.SubLinkType {
		case pgquery.SubLinkType_EXPR_SUBLINK:
			if sub := l.b.subs[e.SubLink]; sub.val != nil {
				return l.value(sub.val, l.of)
			}
		case pgquery.SubLinkType_EXISTS_SUBLINK, pgquery.SubLinkType_ANY_SUBLINK, pgquery.SubLinkType_ALL_SUBLINK:
			return naturally
		}
	case *pgquery.Node_FuncCall:
		return l.made(e.FuncCall)
	}
	return anyLength
}

func (l *lengths) indirection(a *pgquery.A_Indirection) int64 {
	if x := a.Indirection[0].GetAIndices(); x != nil && !x.IsSlice {
		return l.element(a.Arg)
	}
	return l.of(a.Arg)
}

func (l *lengths) sum(list ...*pgquery.Node) int64 {
	k := int64(0)
	for _, n := range list {
		k = min(k+l.of(n), anyLength)
	}
	return k
}

func (l *lengths) max(list []*pgquery.Node) int64 {
	k := int64(0)
	for _, n := range list {
		k = max(k, l.of(n))
	}
	return k
}

func product(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	if a >= anyLength/b {
		return anyLength
	}
	return a * b
}

// column asks of for what c means.
func (l *lengths) column(c *pgquery.ColumnRef, of func(*pgquery.Node) int64) int64 {
	if lists, ok := l.params[c]; ok {
		k := int64(0)
		for _, n := range lists {
			k = max(k, l.element(n))
		}
		if lists == nil {
			k = anyLength
		}
		return k
	}
	r := l.b.refs[c]
	switch {
	case r == nil, len(r.cols) == 0 && r.row == nil:
		return anyLength
	case r.row != nil:
		k := int64(0)
		for _, col := range r.row.cols {
			k += l.value(col.val, of)
		}
		return k
	}
	k := int64(0)
	for _, col := range r.cols {
		k = max(k, l.value(col.val, of))
	}
	return k
}

// value asks of for all expressions that v may be.
func (l *lengths) value(v *value, of func(*pgquery.Node) int64) int64 {
	k, seen := int64(naturally), map[*value]bool{}
	var walk func(v *value)
	walk = func(v *value) {
		if seen[v] || v.table >= 0 || isNumeric(v.typ) {
			return
		}
		seen[v] = true
		for _, n := range v.rows {
			k = max(k, of(n))
		}
		if v.node != nil {
			k = max(k, of(v.node))
			return
		}
		for _, d := range v.plain {
			walk(d)
		}
		for _, d := range v.opaque {
			walk(d)
		}
	}
	walk(v)
	return k
}

func isNumeric(typ string) bool {
	switch family(typ) {
	case "", "varchar":
		return false
	}
	return !strings.ContainsAny(typ, "[(") && !strings.Contains(typ, "BLOB") && !strings.Contains(typ, "BIT")
}

// element bounds one element of a list; of any other value it is of.
func (l *lengths) element(n *pgquery.Node) int64 {
	if k, ok := l.elements[n]; ok {
		return k
	}
	l.elements[n] = anyLength
	k := l.member(n)
	l.elements[n] = k
	return k
}

func (l *lengths) member(n *pgquery.Node) int64 {
	if c := n.GetColumnRef(); c != nil {
		if _, param := l.params[c]; !param {
			return l.column(c, l.element)
		}
	}
	if a := n.GetAArrayExpr(); a != nil {
		return l.max(a.Elements)
	}
	f := n.GetFuncCall()
	if f == nil || len(f.Args) == 0 {
		return l.of(n)
	}
	switch name := nameOf(f); name {
	case MarkerList, "list_value", "list_pack", "list", "array_agg":
		return l.max(f.Args)
	case "range", "generate_series":
		return naturally
	case "unnest", "list_filter", "filter", "array_filter", "list_sort", "array_sort", "list_distinct", "array_distinct", "list_reverse", "list_slice", "array_slice", "list_unique":
		return l.element(f.Args[0])
	case "list_transform", "list_apply", "apply", "array_transform", "array_apply":
		return l.of(f.Args[len(f.Args)-1])
	default:
		return l.of(n)
	}
}
