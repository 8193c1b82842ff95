package classify

import (
	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// expr binds one expression and returns what it is computed from. A node of a type that is not listed here is
// refused, never passed over.
func (b *binder) expr(n *pgquery.Node, s *scope) (need, error) {
	b.depth++
	defer func() { b.depth-- }()
	if b.depth > maxDepth {
		return need{}, overLimit("nesting that deep", -1)
	}
	if n == nil || n.Node == nil {
		return need{}, nil
	}
	switch e := n.Node.(type) {
	case *pgquery.Node_AConst, *pgquery.Node_ParamRef, *pgquery.Node_SqlvalueFunction, *pgquery.Node_String_, *pgquery.Node_Integer:
		return need{}, nil
	case *pgquery.Node_ColumnRef:
		return b.columnRef(e.ColumnRef, s)
	case *pgquery.Node_AExpr:
		return b.exprs(s, e.AExpr.Lexpr, e.AExpr.Rexpr)
	case *pgquery.Node_BoolExpr:
		return b.exprs(s, e.BoolExpr.Args...)
	case *pgquery.Node_NullTest:
		return b.expr(e.NullTest.Arg, s)
	case *pgquery.Node_BooleanTest:
		return b.expr(e.BooleanTest.Arg, s)
	case *pgquery.Node_CaseExpr:
		return b.exprs(s, append([]*pgquery.Node{e.CaseExpr.Arg, e.CaseExpr.Defresult}, e.CaseExpr.Args...)...)
	case *pgquery.Node_CaseWhen:
		return b.exprs(s, e.CaseWhen.Expr, e.CaseWhen.Result)
	case *pgquery.Node_CoalesceExpr:
		return b.exprs(s, e.CoalesceExpr.Args...)
	case *pgquery.Node_MinMaxExpr:
		return b.exprs(s, e.MinMaxExpr.Args...)
	case *pgquery.Node_TypeCast:
		return b.expr(e.TypeCast.Arg, s)
	case *pgquery.Node_CollateClause:
		return b.expr(e.CollateClause.Arg, s)
	case *pgquery.Node_AArrayExpr:
		return b.exprs(s, e.AArrayExpr.Elements...)
	case *pgquery.Node_RowExpr:
		return b.exprs(s, e.RowExpr.Args...)
	case *pgquery.Node_List:
		return b.exprs(s, e.List.Items...)
	case *pgquery.Node_NamedArgExpr:
		return b.expr(e.NamedArgExpr.Arg, s)
	case *pgquery.Node_GroupingFunc:
		return b.opaque(s, e.GroupingFunc.Args...)
	case *pgquery.Node_AIndirection:
		return b.indirection(e.AIndirection, s)
	case *pgquery.Node_AIndices:
		return b.exprs(s, e.AIndices.Lidx, e.AIndices.Uidx)
	case *pgquery.Node_SubLink:
		found, err := b.subLink(e.SubLink, s)
		if t := e.SubLink.SubLinkType; t == pgquery.SubLinkType_ANY_SUBLINK || t == pgquery.SubLinkType_ALL_SUBLINK {
			b.filter(n, found) // the engine makes it a join, wherever it stands
		}
		return found, err
	case *pgquery.Node_FuncCall:
		return b.call(e.FuncCall, s)
	}
	return need{}, &UnsupportedError{Construct: nodeName(n), Pos: -1}
}

func nodeName(n *pgquery.Node) string {
	if c := content(n); c != nil {
		return string(c.ProtoReflect().Descriptor().Name())
	}
	return "empty expression"
}

func (b *binder) exprs(s *scope, list ...*pgquery.Node) (need, error) {
	var all need
	for _, n := range list {
		one, err := b.expr(n, s)
		if err != nil {
			return need{}, err
		}
		all.add(one)
	}
	return all, nil
}

func (b *binder) columnRef(c *pgquery.ColumnRef, s *scope) (need, error) {
	r, err := b.resolve(c, s)
	if err != nil {
		return need{}, err
	}
	if r.row != nil {
		b.all(r.row)
	}
	var n need
	for _, col := range r.cols {
		n.plain = append(n.plain, dep{col.val, r.in})
	}
	return n, nil
}

// all says that the shape of a relation can be seen, so that every visible column of it must be there.
func (b *binder) all(it *item) {
	for _, c := range it.cols {
		demand(c.val, RoleOutput)
	}
}

// indirection binds (e).field and e[i]. A field of a whole row is a column and must exist.
func (b *binder) indirection(a *pgquery.A_Indirection, s *scope) (need, error) {
	n, err := b.expr(a.Arg, s)
	if err != nil {
		return need{}, err
	}
	if r := b.refs[a.Arg.GetColumnRef()]; r != nil && r.row != nil && len(a.Indirection) > 0 {
		if f := a.Indirection[0].GetString_(); f != nil && len(pick(r.row.cols, f.Sval)) == 0 {
			return need{}, noColumn([]string{r.row.name, f.Sval}, int(a.Arg.GetColumnRef().Location))
		}
	}
	for _, i := range a.Indirection {
		if i.GetAStar() != nil {
			return need{}, &UnsupportedError{Construct: "(expression).*", Pos: -1}
		}
		m, err := b.expr(i, s)
		if err != nil {
			return need{}, err
		}
		n.add(m)
	}
	return n, nil
}

// opaque binds the arguments of an aggregate or window function: conditions above can't move below it. Columns of
// an enclosing query are not behind that wall.
func (b *binder) opaque(s *scope, args ...*pgquery.Node) (need, error) {
	n, err := b.exprs(s, args...)
	if err != nil {
		return need{}, err
	}
	out := need{opaque: n.opaque}
	for _, d := range n.plain {
		if d.in == s && !hasSubLink(args) {
			out.opaque = append(out.opaque, d.val)
		} else {
			out.plain = append(out.plain, d)
		}
	}
	if len(out.plain) > 0 {
		for _, a := range args {
			b.filter(a, out)
		}
	}
	return out, nil
}

// subLink binds a subquery in an expression.
func (b *binder) subLink(l *pgquery.SubLink, s *scope) (need, error) {
	sel := l.Subselect.GetSelectStmt()
	if sel == nil {
		return need{}, &UnsupportedError{Construct: "subquery that is no SELECT", Pos: int(l.Location)}
	}
	exists := l.SubLinkType == pgquery.SubLinkType_EXISTS_SUBLINK
	cols, err := b.query(sel, s, shape{named: exists})
	if err != nil {
		return need{}, err
	}
	n, err := b.expr(l.Testexpr, s)
	if err != nil {
		return need{}, err
	}
	if l.Testexpr != nil && s.up != nil {
		b.tests = append(b.tests, test{l, s})
	}
	switch l.SubLinkType {
	case pgquery.SubLinkType_EXISTS_SUBLINK:
	case pgquery.SubLinkType_ANY_SUBLINK, pgquery.SubLinkType_ALL_SUBLINK, pgquery.SubLinkType_EXPR_SUBLINK, pgquery.SubLinkType_ARRAY_SUBLINK:
		for _, c := range cols {
			n.plain = append(n.plain, dep{c.val, nil})
		}
		if len(cols) == 1 {
			b.subs[l] = subquery{typ: cols[0].val.typ, val: cols[0].val, single: singleRow(sel)}
		}
	default:
		return need{}, &UnsupportedError{Construct: "row comparison with a subquery", Pos: int(l.Location)}
	}
	return n, nil
}

// call binds a function call, an aggregate, a window function or a marker.
func (b *binder) call(f *pgquery.FuncCall, s *scope) (need, error) {
	name := funcName(f)
	switch name {
	case MarkerLambda:
		return b.lambda(f, s)
	case MarkerAsof:
		return need{}, nil
	case MarkerAll, MarkerStar, MarkerExclude, MarkerReplace, MarkerRename, MarkerAs:
		return need{}, &UnsupportedError{Construct: "* or ALL outside its place", Pos: int(f.Location)}
	}
	if !f.AggStar && f.Over == nil && !isAggregate(f) {
		if err := firstValue(f); err != nil {
			return need{}, err
		}
		return b.exprs(s, f.Args...)
	}
	n, err := b.opaque(s, f.Args...)
	if err != nil {
		return need{}, err
	}
	for _, o := range f.AggOrder {
		m, err := b.opaque(s, o.GetSortBy().GetNode())
		if err != nil {
			return need{}, err
		}
		m.demand(RoleOrder)
		n.add(m)
	}
	if f.AggFilter != nil {
		m, err := b.opaque(s, f.AggFilter)
		if err != nil {
			return need{}, err
		}
		m.demand(RoleFilter)
		b.predicate(f.AggFilter, need{plain: append(opaqueDeps(m, s), m.plain...)})
		n.add(m)
	}
	if f.Over != nil {
		m, err := b.window(f.Over, s)
		if err != nil {
			return need{}, err
		}
		n.add(m)
	}
	return n, nil
}

func opaqueDeps(n need, s *scope) []dep {
	var out []dep
	for _, v := range n.opaque {
		out = append(out, dep{v, s})
	}
	return out
}

// lambda binds a lambda: its parameters hide every other name inside its body.
func (b *binder) lambda(f *pgquery.FuncCall, s *scope) (need, error) {
	if len(f.Args) < 2 {
		return need{}, &UnsupportedError{Construct: "lambda", Pos: int(f.Location)}
	}
	open := len(s.lambdas)
	defer func() { s.lambdas = s.lambdas[:open] }()
	for _, p := range f.Args[:len(f.Args)-1] {
		names, _ := parts(p.GetColumnRef())
		if len(names) != 1 {
			return need{}, &UnsupportedError{Construct: "lambda parameter", Pos: int(f.Location)}
		}
		s.lambdas = append(s.lambdas, fold(names[0]))
		b.record(p.GetColumnRef(), &resolved{in: s})
	}
	body := f.Args[len(f.Args)-1]
	n, err := b.expr(body, s)
	if err != nil {
		return need{}, err
	}
	return n, b.nestedLists(body, s.lambdas[open:])
}

// window binds a window definition or checks the name of one. PARTITION BY can be moved over by conditions.
func (b *binder) window(w *pgquery.WindowDef, s *scope) (need, error) {
	for _, name := range []string{w.Refname, w.Name} {
		if name != "" && w != b.defining && !s.windows[fold(name)] {
			return need{}, &NameError{Kind: "window", Name: name, Why: "does not exist", Pos: int(w.Location)}
		}
	}
	var all need
	for _, p := range w.PartitionClause {
		n, err := b.expr(p, s)
		if err != nil {
			return need{}, err
		}
		n.demand(RoleGroup)
		b.filter(p, n)
		all.opaque = append(all.opaque, n.values()...)
		all.opaque = append(all.opaque, n.opaque...)
	}
	for _, o := range w.OrderClause {
		n, err := b.opaque(s, o.GetSortBy().GetNode())
		if err != nil {
			return need{}, err
		}
		n.demand(RoleOrder)
		all.add(n)
	}
	n, err := b.opaque(s, w.StartOffset, w.EndOffset)
	all.add(n)
	return all, err
}

func funcName(f *pgquery.FuncCall) string {
	if len(f.GetFuncname()) == 0 {
		return ""
	}
	return fold(f.Funcname[len(f.Funcname)-1].GetString_().GetSval())
}
