package printer

import (
	pgquery "github.com/pganalyze/pg_query_go/v6"

	"gatehouse/classify"
)

func (p *printer) from(n *pgquery.Node) {
	if !p.enter() {
		return
	}
	defer p.leave()
	switch t := n.GetNode().(type) {
	case *pgquery.Node_RangeVar:
		p.table(t.RangeVar)
	case *pgquery.Node_RangeSubselect:
		p.lateral(t.RangeSubselect.Lateral)
		p.put("(")
		p.selectStmt(t.RangeSubselect.Subquery.GetSelectStmt())
		p.put(")")
		p.alias(t.RangeSubselect.Alias)
	case *pgquery.Node_RangeFunction:
		p.tableFunction(t.RangeFunction)
	case *pgquery.Node_JoinExpr:
		p.join(t.JoinExpr)
	default:
		p.fail("%T in FROM", n.GetNode())
	}
}

func (p *printer) lateral(yes bool) {
	if yes {
		p.put("LATERAL ")
	}
}

func (p *printer) table(t *pgquery.RangeVar) {
	if !t.Inh {
		p.fail("ONLY")
	}
	for _, s := range []string{t.Catalogname, t.Schemaname} {
		if s != "" {
			p.ident(s)
			p.put(".")
		}
	}
	p.ident(t.Relname)
	p.alias(t.Alias)
}

func (p *printer) alias(a *pgquery.Alias) {
	if a == nil {
		return
	}
	p.put(" AS ")
	p.ident(a.Aliasname)
	if len(a.Colnames) > 0 {
		p.idents(a.Colnames)
	}
}

func (p *printer) tableFunction(f *pgquery.RangeFunction) {
	items := []*pgquery.Node(nil)
	if len(f.Functions) == 1 {
		items = f.Functions[0].GetList().GetItems()
	}
	if len(items) == 0 || f.IsRowsfrom || len(f.Coldeflist) > 0 || items[0].GetFuncCall() == nil {
		p.fail("a table function")
		return
	}
	p.lateral(f.Lateral)
	p.expr(items[0])
	if f.Ordinality {
		p.put(" WITH ORDINALITY")
	}
	p.alias(f.Alias)
}

func (p *printer) join(j *pgquery.JoinExpr) {
	if j.Alias != nil {
		p.put("(")
	}
	p.from(j.Larg)
	if j.IsNatural {
		p.put(" NATURAL")
	}
	conditions := classify.AsofConditions(j)
	if conditions != nil {
		p.put(" ASOF")
	}
	if outer := j.Jointype == pgquery.JoinType_JOIN_RIGHT || j.Jointype == pgquery.JoinType_JOIN_FULL; outer && p.d.closed && (j.IsNatural || len(j.UsingClause) > 0) {
		p.fail("a RIGHT or FULL JOIN with USING or NATURAL") // its columns are those of the left side there, and NULL where that has no row
	}
	plain := j.Quals == nil && len(j.UsingClause) == 0 && !j.IsNatural
	switch j.Jointype {
	case pgquery.JoinType_JOIN_INNER:
		if plain {
			p.put(" CROSS")
		} else {
			p.put(" INNER")
		}
	case pgquery.JoinType_JOIN_LEFT:
		p.put(" LEFT")
	case pgquery.JoinType_JOIN_RIGHT:
		p.put(" RIGHT")
	case pgquery.JoinType_JOIN_FULL:
		p.put(" FULL")
	default:
		p.fail("join type %v", j.Jointype)
	}
	p.put(" JOIN ")
	if r := j.Rarg.GetJoinExpr(); r != nil && r.Alias == nil {
		p.put("(")
		p.from(j.Rarg)
		p.put(")")
	} else {
		p.from(j.Rarg)
	}
	switch {
	case j.JoinUsingAlias != nil:
		p.fail("an alias of USING")
	case len(j.UsingClause) > 0:
		p.put(" USING ")
		p.idents(j.UsingClause)
	case conditions != nil:
		for i, c := range conditions { // no brackets around them: they are ANDed with the marker when they are read again
			p.put([]string{" ON ", " AND "}[min(i, 1)])
			p.operand(c)
		}
	case j.Quals != nil:
		p.put(" ON ")
		p.operand(j.Quals)
	}
	if j.Alias != nil {
		p.put(")")
		p.alias(j.Alias)
	}
}
