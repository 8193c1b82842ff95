package printer

import (
	"slices"
	"strconv"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"

	"gatehouse/classify"
)

// operand prints n so that it can stand beside any operator.
func (p *printer) operand(n *pgquery.Node) {
	if p.atomic(n) {
		p.expr(n)
		return
	}
	p.put("(")
	p.expr(n)
	p.put(")")
}

func (p *printer) atomic(n *pgquery.Node) bool {
	switch t := n.GetNode().(type) {
	case *pgquery.Node_ColumnRef, *pgquery.Node_ParamRef, *pgquery.Node_TypeCast, *pgquery.Node_CoalesceExpr, *pgquery.Node_MinMaxExpr,
		*pgquery.Node_CaseExpr, *pgquery.Node_GroupingFunc, *pgquery.Node_RowExpr:
		return true
	case *pgquery.Node_AConst:
		s, ok := number(t.AConst)
		return !ok || !strings.HasPrefix(s, "-")
	case *pgquery.Node_FuncCall:
		switch p.nameOf(t.FuncCall) {
		case classify.MarkerLambda, classify.MarkerInterval:
			return false
		}
		return true
	case *pgquery.Node_SubLink:
		return t.SubLink.SubLinkType == pgquery.SubLinkType_EXPR_SUBLINK
	}
	return false
}

func (p *printer) expr(n *pgquery.Node) {
	if !p.enter() {
		return
	}
	defer p.leave()
	switch t := n.GetNode().(type) {
	case *pgquery.Node_ColumnRef:
		p.columnRef(t.ColumnRef)
	case *pgquery.Node_AConst:
		if text, ok := number(t.AConst); ok && p.d.number != nil {
			p.number(text, slices.Contains(p.wide, t.AConst))
			return
		}
		p.constant(t.AConst)
	case *pgquery.Node_ParamRef:
		if t.ParamRef.Number < 1 {
			p.fail("a parameter without number")
		}
		p.put("$", strconv.Itoa(int(t.ParamRef.Number)))
	case *pgquery.Node_AExpr:
		p.operator(t.AExpr)
	case *pgquery.Node_BoolExpr:
		p.boolean(t.BoolExpr)
	case *pgquery.Node_NullTest:
		p.nullTest(t.NullTest)
	case *pgquery.Node_BooleanTest:
		p.booleanTest(t.BooleanTest)
	case *pgquery.Node_FuncCall:
		p.call(t.FuncCall)
	case *pgquery.Node_NamedArgExpr:
		p.ident(t.NamedArgExpr.Name)
		p.put(" := ")
		p.expr(t.NamedArgExpr.Arg)
	case *pgquery.Node_TypeCast:
		p.cast("CAST", t.TypeCast)
	case *pgquery.Node_CaseExpr:
		p.caseExpr(t.CaseExpr)
	case *pgquery.Node_CoalesceExpr:
		p.alone(t.CoalesceExpr.Args...)
		p.args("coalesce", t.CoalesceExpr.Args)
	case *pgquery.Node_MinMaxExpr:
		p.minMax(t.MinMaxExpr)
	case *pgquery.Node_SqlvalueFunction:
		s := p.d.values[t.SqlvalueFunction.Op.String()]
		if s == "" {
			p.fail("%v", t.SqlvalueFunction.Op)
		}
		p.put(s)
	case *pgquery.Node_SubLink:
		p.subLink(t.SubLink)
	case *pgquery.Node_GroupingSet:
		p.groupingSet(t.GroupingSet)
	case *pgquery.Node_GroupingFunc:
		p.grouping(t.GroupingFunc)
	case *pgquery.Node_AIndirection:
		p.indirection(t.AIndirection)
	case *pgquery.Node_AArrayExpr:
		p.put("ARRAY[")
		p.list(t.AArrayExpr.Elements, p.expr)
		p.put("]")
	case *pgquery.Node_RowExpr:
		p.row(t.RowExpr)
	case *pgquery.Node_CollateClause:
		p.operand(t.CollateClause.Arg)
		p.put(" COLLATE ")
		if len(t.CollateClause.Collname) != 1 {
			p.fail("a collation")
			return
		}
		p.ident(p.str(t.CollateClause.Collname[0]))
	default:
		p.fail("%T", n.GetNode())
	}
}

func (p *printer) columnRef(c *pgquery.ColumnRef) {
	for i, f := range c.Fields {
		if i > 0 {
			p.put(".")
		}
		if f.GetAStar() != nil && i == len(c.Fields)-1 {
			p.put("*")
		} else {
			p.ident(p.str(f))
		}
	}
	if len(c.Fields) == 0 {
		p.fail("a column without name")
	}
}

// number returns a numeric constant's text.
func number(c *pgquery.A_Const) (string, bool) {
	switch v := c.Val.(type) {
	case *pgquery.A_Const_Ival:
		return strconv.Itoa(int(v.Ival.GetIval())), true
	case *pgquery.A_Const_Fval:
		return v.Fval.GetFval(), true
	}
	return "", false
}

// number prints a numeric literal with the type that it has in a classified tree.
func (p *printer) number(text string, wide bool) {
	out, ok := p.d.number(text)
	if wide {
		out = text
	}
	if !ok || strings.Trim(text, "0123456789.eE+-") != "" {
		p.fail("a number")
	}
	p.put(out)
}

// place prints a number that is no value: a column's place, or how many rows. Anything else is an expression.
func (p *printer) place(n *pgquery.Node) {
	if c := n.GetAConst(); c != nil {
		p.constant(c)
		return
	}
	p.expr(n)
}

func (p *printer) constant(c *pgquery.A_Const) {
	if c.Isnull {
		p.put("NULL")
		return
	}
	if s, ok := number(c); ok {
		if _, err := strconv.ParseFloat(s, 64); s == "" || strings.Trim(s, "0123456789.eE+-") != "" || err != nil && !strings.Contains(err.Error(), "range") {
			p.fail("a number")
			return
		}
		p.put(s)
		return
	}
	switch v := c.Val.(type) {
	case *pgquery.A_Const_Sval:
		p.literal(v.Sval.GetSval())
	case *pgquery.A_Const_Boolval:
		p.put(strings.ToUpper(strconv.FormatBool(v.Boolval.GetBoolval())))
	default:
		p.fail("a constant %T", c.Val)
	}
}

func (p *printer) cast(word string, t *pgquery.TypeCast) {
	if names := t.TypeName.GetNames(); p.d.quoted && len(names) == 1 && p.str(names[0]) == "interval" {
		p.castInterval(t)
		return
	}
	if form := p.castForm(t.TypeName); form != "" {
		p.put(strings.ReplaceAll(form, "{x}", p.part(func(inner *printer) { inner.expr(t.Arg) })))
		return
	}
	p.put(word, "(")
	p.expr(t.Arg)
	p.put(" AS ")
	p.typeName(t.TypeName)
	p.put(")")
}

// castForm is how a cast to a type without name is spelled.
func (p *printer) castForm(t *pgquery.TypeName) string {
	if len(t.GetNames()) != 1 || t.Setof || t.PctType || len(t.Typmods) > 0 || len(t.ArrayBounds) > 0 {
		return ""
	}
	return p.d.casts[p.str(t.Names[0])]
}

func (p *printer) typeName(t *pgquery.TypeName) {
	if t == nil || len(t.Names) != 1 || t.Setof || t.PctType {
		p.fail("a type")
		return
	}
	name := p.d.types[p.str(t.Names[0])]
	if name == "" {
		p.fail("a type")
	}
	p.put(name)
	if len(t.Typmods) > 0 {
		p.put("(")
		p.list(t.Typmods, func(n *pgquery.Node) {
			p.modifier(n)
		})
		p.put(")")
	} else {
		p.put(p.d.defaults[p.str(t.Names[0])])
	}
	if p.d.closed && len(t.ArrayBounds) > 0 {
		p.fail("a type")
	}
	for _, b := range t.ArrayBounds {
		if i := b.GetInteger(); i == nil || i.Ival == 0 {
			p.fail("an array's bound")
		} else if i.Ival < 0 {
			p.put("[]")
		} else {
			p.put("[", strconv.Itoa(int(i.Ival)), "]")
		}
	}
}

// modifier prints a number, or a part of a nested type.
func (p *printer) modifier(n *pgquery.Node) {
	if c := n.GetAConst(); c != nil {
		p.constant(c)
		return
	}
	if f := n.GetFuncCall(); f != nil && p.nameOf(f) == classify.MarkerField && len(f.Args) == 2 {
		p.ident(f.Args[0].GetAConst().GetSval().GetSval())
		p.put(" ")
		n = f.Args[1]
	}
	c := n.GetTypeCast()
	if c == nil || !c.Arg.GetAConst().GetIsnull() || !p.enter() {
		p.fail("a type's modifier")
		return
	}
	defer p.leave()
	p.typeName(c.TypeName)
}

func (p *printer) caseExpr(c *pgquery.CaseExpr) {
	values := []*pgquery.Node{c.Defresult} // is the first one
	for _, a := range c.Args {
		values = append(values, a.GetCaseWhen().GetResult())
	}
	p.alone(values...)
	p.put("CASE ")
	if c.Arg != nil {
		p.operand(c.Arg)
		p.put(" ")
	}
	for _, a := range c.Args {
		w := a.GetCaseWhen()
		if w == nil {
			p.fail("a CASE branch")
			return
		}
		p.put("WHEN ")
		p.expr(w.Expr)
		p.put(" THEN ")
		p.expr(w.Result)
		p.put(" ")
	}
	if c.Defresult != nil {
		p.put("ELSE ")
		p.expr(c.Defresult)
		p.put(" ")
	}
	p.put("END")
}

func (p *printer) grouping(g *pgquery.GroupingFunc) {
	if p.d.grouping == "" {
		p.args("GROUPING", g.Args)
		return
	}
	p.put(strings.ReplaceAll(p.d.grouping, "{x}", p.part(func(inner *printer) { inner.list(g.Args, inner.expr) })))
}

func (p *printer) minMax(m *pgquery.MinMaxExpr) {
	name := func(n string) string {
		if f := p.d.functions[n]; f != "" {
			return f
		}
		return n
	}
	switch m.Op {
	case pgquery.MinMaxOp_IS_GREATEST:
		p.alone(m.Args...)
		p.args(name("greatest"), m.Args)
	case pgquery.MinMaxOp_IS_LEAST:
		p.alone(m.Args...)
		p.args(name("least"), m.Args)
	default:
		p.fail("%v", m.Op)
	}
}

// args prints a call of a function whose name is ours.
func (p *printer) args(name string, args []*pgquery.Node) {
	p.put(name, "(")
	p.list(args, p.expr)
	p.put(")")
}

func (p *printer) row(r *pgquery.RowExpr) {
	if r.RowFormat == pgquery.CoercionForm_COERCE_EXPLICIT_CALL || len(r.Args) < 2 {
		p.put("ROW")
	}
	p.args("", r.Args)
}

func (p *printer) groupingSet(g *pgquery.GroupingSet) {
	switch g.Kind {
	case pgquery.GroupingSetKind_GROUPING_SET_EMPTY:
		p.put("()")
	case pgquery.GroupingSetKind_GROUPING_SET_ROLLUP:
		p.args("ROLLUP", g.Content)
	case pgquery.GroupingSetKind_GROUPING_SET_CUBE:
		p.args("CUBE", g.Content)
	case pgquery.GroupingSetKind_GROUPING_SET_SETS:
		p.args("GROUPING SETS ", g.Content)
	default:
		p.fail("%v", g.Kind)
	}
}

func (p *printer) indirection(a *pgquery.A_Indirection) {
	first := len(a.Indirection) > 0 && a.Indirection[0].GetAIndices() != nil
	if c := a.Arg.GetColumnRef() != nil || a.Arg.GetFuncCall() != nil && p.atomic(a.Arg); c && first {
		p.expr(a.Arg)
	} else {
		p.put("(")
		p.expr(a.Arg)
		p.put(")")
	}
	for _, n := range a.Indirection {
		switch t := n.GetNode().(type) {
		case *pgquery.Node_String_:
			p.put(".")
			p.ident(t.String_.GetSval())
		case *pgquery.Node_AIndices:
			p.put("[")
			if t.AIndices.Lidx != nil {
				p.operand(t.AIndices.Lidx)
			}
			if t.AIndices.IsSlice {
				p.put(":")
			}
			if t.AIndices.Uidx != nil {
				p.operand(t.AIndices.Uidx)
			}
			p.put("]")
		default:
			p.fail("%T after a value", n.GetNode())
		}
	}
}
