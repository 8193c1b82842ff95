package printer

import (
	"slices"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"

	"gatehouse/classify"
)

// labels are the names that the parser gives to kinds whose name says nothing more.
var labels = map[pgquery.A_Expr_Kind]string{
	pgquery.A_Expr_Kind_AEXPR_DISTINCT: "=", pgquery.A_Expr_Kind_AEXPR_NOT_DISTINCT: "=", pgquery.A_Expr_Kind_AEXPR_NULLIF: "=",
	pgquery.A_Expr_Kind_AEXPR_BETWEEN: "BETWEEN", pgquery.A_Expr_Kind_AEXPR_NOT_BETWEEN: "NOT BETWEEN",
}

func (p *printer) operator(e *pgquery.A_Expr) {
	if len(e.Name) != 1 {
		p.fail("OPERATOR(…)")
		return
	}
	name := p.str(e.Name[0])
	op := p.d.operators[name]
	if want := labels[e.Kind]; want != "" && name != want {
		p.fail("%v named %q", e.Kind, name)
		return
	}
	switch e.Kind {
	case pgquery.A_Expr_Kind_AEXPR_OP:
		p.alone(e.Lexpr, e.Rexpr)
		if f := p.d.calls[name]; f != "" && e.Lexpr != nil {
			p.args(f, []*pgquery.Node{e.Lexpr, e.Rexpr})
			return
		}
		if f := p.d.calls["~"]; f != "" && name == "!~" && e.Lexpr != nil {
			p.put("NOT ")
			p.args(f, []*pgquery.Node{e.Lexpr, e.Rexpr})
			return
		}
		if op == "" {
			p.fail("an operator")
		}
		if e.Lexpr == nil {
			p.put(op)
			p.wrap(e.Rexpr)
			return
		}
		p.infix(e.Lexpr, op, e.Rexpr)
	case pgquery.A_Expr_Kind_AEXPR_OP_ANY, pgquery.A_Expr_Kind_AEXPR_OP_ALL:
		if op == "" {
			p.fail("an operator")
		}
		p.operand(e.Lexpr)
		if e.Kind == pgquery.A_Expr_Kind_AEXPR_OP_ANY {
			p.put(" ", op, " ANY (")
		} else {
			p.put(" ", op, " ALL (")
		}
		p.expr(e.Rexpr)
		p.put(")")
	case pgquery.A_Expr_Kind_AEXPR_DISTINCT:
		p.infix(e.Lexpr, "IS DISTINCT FROM", e.Rexpr)
	case pgquery.A_Expr_Kind_AEXPR_NOT_DISTINCT:
		p.infix(e.Lexpr, "IS NOT DISTINCT FROM", e.Rexpr)
	case pgquery.A_Expr_Kind_AEXPR_NULLIF:
		p.args("nullif", []*pgquery.Node{e.Lexpr, e.Rexpr})
	case pgquery.A_Expr_Kind_AEXPR_IN:
		p.in(e, name)
	case pgquery.A_Expr_Kind_AEXPR_LIKE:
		p.pattern(e, name, map[string]string{"~~": "LIKE", "!~~": "NOT LIKE"}, "like_escape")
	case pgquery.A_Expr_Kind_AEXPR_ILIKE:
		p.pattern(e, name, map[string]string{"~~*": "ILIKE", "!~~*": "NOT ILIKE"}, "like_escape")
	case pgquery.A_Expr_Kind_AEXPR_SIMILAR:
		if f := p.d.calls["~"]; f != "" {
			p.similar(e, name, f)
			return
		}
		p.pattern(e, name, map[string]string{"~": "SIMILAR TO", "!~": "NOT SIMILAR TO"}, "similar_to_escape")
	case pgquery.A_Expr_Kind_AEXPR_BETWEEN:
		p.between(e, " BETWEEN ")
	case pgquery.A_Expr_Kind_AEXPR_NOT_BETWEEN:
		p.between(e, " NOT BETWEEN ")
	default:
		p.fail("%v", e.Kind)
	}
}

// wrap prints n in parentheses unless it is a plain number: -(a), -5.
func (p *printer) wrap(n *pgquery.Node) {
	if c := n.GetAConst(); c != nil {
		if _, ok := number(c); ok && p.atomic(n) {
			p.expr(n)
			return
		}
	}
	p.put("(")
	p.expr(n)
	p.put(")")
}

func (p *printer) infix(l *pgquery.Node, op string, r *pgquery.Node) {
	p.operand(l)
	p.put(" ", op, " ")
	p.operand(r)
}

func (p *printer) in(e *pgquery.A_Expr, name string) {
	p.operand(e.Lexpr)
	switch name {
	case "=":
		p.put(" IN ")
	case "<>":
		p.put(" NOT IN ")
	default:
		p.fail("IN with %q", name)
	}
	items := e.Rexpr.GetList().GetItems()
	if len(items) == 0 {
		p.fail("IN without a list")
	}
	p.args("", items)
}

// pattern prints LIKE and its kin. PostgreSQL's grammar wraps the pattern in a function when there is an ESCAPE, and
// always for SIMILAR TO.
func (p *printer) pattern(e *pgquery.A_Expr, name string, words map[string]string, wrapper string) {
	word := words[name]
	if word == "" {
		p.fail("a pattern match")
	}
	f := e.Rexpr.GetFuncCall()
	if f == nil || p.nameOf(f) != wrapper {
		p.infix(e.Lexpr, word, e.Rexpr)
		return
	}
	switch {
	case len(f.Args) == 2 && wrapper == "like_escape":
		p.infix(e.Lexpr, word, f.Args[0])
		p.put(" ESCAPE ")
		p.operand(f.Args[1])
	case len(f.Args) == 1 && wrapper == "similar_to_escape":
		p.infix(e.Lexpr, word, f.Args[0])
	default:
		p.fail("ESCAPE of SIMILAR TO")
	}
}

// similar prints SIMILAR TO as a call of the function that the engine has for ~.
func (p *printer) similar(e *pgquery.A_Expr, name, function string) {
	f := e.Rexpr.GetFuncCall()
	if f == nil || p.nameOf(f) != "similar_to_escape" || len(f.Args) != 1 || name != "~" && name != "!~" {
		p.fail("ESCAPE of SIMILAR TO")
		return
	}
	if name == "!~" {
		p.put("NOT ")
	}
	p.args(function, []*pgquery.Node{e.Lexpr, f.Args[0]})
}

func (p *printer) between(e *pgquery.A_Expr, word string) {
	items := e.Rexpr.GetList().GetItems()
	if len(items) != 2 {
		p.fail("BETWEEN")
		return
	}
	p.operand(e.Lexpr)
	p.put(word)
	p.operand(items[0])
	p.put(" AND ")
	p.operand(items[1])
}

func (p *printer) boolean(e *pgquery.BoolExpr) {
	word := ""
	switch e.Boolop {
	case pgquery.BoolExprType_NOT_EXPR:
		if len(e.Args) != 1 {
			p.fail("NOT")
			return
		}
		if l := e.Args[0].GetSubLink(); p.d.closed && l.GetTestexpr() != nil && classify.ReadsOutside(l.Subselect.GetSelectStmt()) {
			p.fail("NOT IN with a subquery that reads a query around it")
		}
		p.put("NOT ")
		p.wrap(e.Args[0])
		return
	case pgquery.BoolExprType_AND_EXPR:
		word = " AND "
	case pgquery.BoolExprType_OR_EXPR:
		word = " OR "
	default:
		p.fail("%v", e.Boolop)
	}
	if len(e.Args) < 2 {
		p.fail("AND or OR of one")
	}
	for i, a := range e.Args {
		if i > 0 {
			p.put(word)
		}
		p.operand(a)
	}
}

func (p *printer) nullTest(t *pgquery.NullTest) {
	p.operand(t.Arg)
	switch t.Nulltesttype {
	case pgquery.NullTestType_IS_NULL:
		p.put(" IS NULL")
	case pgquery.NullTestType_IS_NOT_NULL:
		p.put(" IS NOT NULL")
	default:
		p.fail("%v", t.Nulltesttype)
	}
}

func (p *printer) booleanTest(t *pgquery.BooleanTest) {
	words := map[pgquery.BoolTestType]string{
		pgquery.BoolTestType_IS_TRUE: " IS TRUE", pgquery.BoolTestType_IS_NOT_TRUE: " IS NOT TRUE",
		pgquery.BoolTestType_IS_FALSE: " IS FALSE", pgquery.BoolTestType_IS_NOT_FALSE: " IS NOT FALSE",
		pgquery.BoolTestType_IS_UNKNOWN: " IS UNKNOWN", pgquery.BoolTestType_IS_NOT_UNKNOWN: " IS NOT UNKNOWN",
	}
	word := words[t.Booltesttype]
	if word == "" {
		p.fail("%v", t.Booltesttype)
	}
	p.operand(t.Arg)
	p.put(word)
}

func (p *printer) subLink(s *pgquery.SubLink) {
	if c := columnAlone(s); c != nil && p.d.closed {
		p.columnRef(c)
		return
	}
	if p.d.closed && s.Testexpr != nil && !slices.Contains(p.known, s) {
		p.fail("IN with a subquery in this place") // where it is NULL, it is false there
	}
	if s.SubLinkType == pgquery.SubLinkType_EXPR_SUBLINK && p.d.closed && s.Subselect.GetSelectStmt().GetHavingClause() != nil && classify.ReadsOutside(s.Subselect.GetSelectStmt()) {
		p.fail("a subquery with HAVING that reads a query around it")
	}
	if sel := s.Subselect.GetSelectStmt(); p.d.closed && s.SubLinkType != pgquery.SubLinkType_EXPR_SUBLINK && classify.CountsOutside(sel) {
		p.fail("a subquery with EXISTS, IN or ANY that reads a query around it and counts rows") // it is made a join, whose rows are others
	}
	switch s.SubLinkType {
	case pgquery.SubLinkType_EXISTS_SUBLINK:
		p.put("EXISTS ")
	case pgquery.SubLinkType_ARRAY_SUBLINK:
		p.put("ARRAY")
	case pgquery.SubLinkType_EXPR_SUBLINK:
	case pgquery.SubLinkType_ANY_SUBLINK:
		p.operand(s.Testexpr)
		if len(s.OperName) == 0 {
			p.put(" IN ")
		} else {
			p.comparison(s)
			p.put("ANY ")
		}
	case pgquery.SubLinkType_ALL_SUBLINK:
		p.operand(s.Testexpr)
		p.comparison(s)
		p.put("ALL ")
	default:
		p.fail("%v", s.SubLinkType)
	}
	p.put("(")
	p.selectStmt(s.Subselect.GetSelectStmt())
	p.put(")")
}

// conditions notes the comparisons with rows of subqueries in WHERE or HAVING that may be false where they are NULL: those that are joined by AND and OR alone, and
// NOT IN that all rows have to meet, which DataFusion knows as such.
func (p *printer) conditions(n *pgquery.Node) {
	e := n.GetBoolExpr()
	switch {
	case !p.d.closed:
	case e.GetBoolop() == pgquery.BoolExprType_AND_EXPR:
		for _, a := range e.Args {
			p.conditions(a)
		}
	case e.GetBoolop() == pgquery.BoolExprType_NOT_EXPR:
		if l := e.Args[0].GetSubLink(); l.GetTestexpr() != nil {
			p.known = append(p.known, l)
		}
	default:
		p.positive(n)
	}
}

func (p *printer) positive(n *pgquery.Node) {
	if l := n.GetSubLink(); l != nil {
		p.known = append(p.known, l)
	}
	if e := n.GetBoolExpr(); e.GetBoolop() == pgquery.BoolExprType_AND_EXPR || e.GetBoolop() == pgquery.BoolExprType_OR_EXPR {
		for _, a := range e.Args {
			p.positive(a)
		}
	}
}

// columnAlone returns the column of (SELECT c), which is that column. DuckDB wants the one where DataFusion wants the other.
func columnAlone(s *pgquery.SubLink) *pgquery.ColumnRef {
	sel := s.Subselect.GetSelectStmt()
	if s.SubLinkType != pgquery.SubLinkType_EXPR_SUBLINK || len(sel.GetTargetList()) != 1 {
		return nil
	}
	c := sel.TargetList[0].GetResTarget().GetVal().GetColumnRef()
	alone := &pgquery.SelectStmt{TargetList: sel.TargetList, LimitOption: sel.LimitOption, Op: pgquery.SetOperation_SETOP_NONE}
	if len(c.GetFields()) == 0 || c.Fields[len(c.Fields)-1].GetAStar() != nil || !proto.Equal(sel, alone) {
		return nil
	}
	return c
}

func (p *printer) comparison(s *pgquery.SubLink) {
	if len(s.OperName) == 1 {
		if op := p.d.operators[p.str(s.OperName[0])]; op != "" {
			p.put(" ", op, " ")
			return
		}
	}
	p.fail("an operator with a subquery")
}
