package printer

import (
	"slices"

	pgquery "github.com/pganalyze/pg_query_go/v6"

	"gatehouse/classify"
)

func (p *printer) selectStmt(s *pgquery.SelectStmt) {
	if s == nil {
		p.fail("no statement")
	}
	if !p.enter() {
		return
	}
	defer p.leave()
	if s.IntoClause != nil || len(s.LockingClause) > 0 || s.GroupDistinct {
		p.fail("SELECT INTO, FOR UPDATE or GROUP BY DISTINCT")
	}
	p.with(s.WithClause)
	switch {
	case s.Op == pgquery.SetOperation_SETOP_UNION, s.Op == pgquery.SetOperation_SETOP_INTERSECT, s.Op == pgquery.SetOperation_SETOP_EXCEPT:
		p.setOperation(s)
	case s.Op != pgquery.SetOperation_SETOP_NONE:
		p.fail("set operation %v", s.Op)
	case len(s.ValuesLists) > 0:
		p.columnsAlone(s.ValuesLists)
		p.put("VALUES ")
		p.list(s.ValuesLists, func(n *pgquery.Node) {
			p.put("(")
			p.list(n.GetList().GetItems(), p.expr)
			p.put(")")
		})
	default:
		p.core(s)
	}
	p.tail(s)
}

// tail prints what follows a whole query: ORDER BY, LIMIT, OFFSET.
func (p *printer) tail(s *pgquery.SelectStmt) {
	if len(s.SortClause) > 0 {
		p.put(" ORDER BY ")
		p.list(s.SortClause, p.sortBy)
	}
	if o := s.LimitOption; o != pgquery.LimitOption_LIMIT_OPTION_DEFAULT && o != pgquery.LimitOption_LIMIT_OPTION_COUNT && o != 0 {
		p.fail("limit option %v", o)
	}
	if s.LimitCount != nil && !s.LimitCount.GetAConst().GetIsnull() { // LIMIT ALL is NULL
		p.put(" LIMIT ")
		p.count(s.LimitCount)
	}
	if s.LimitOffset != nil {
		p.put(" OFFSET ")
		p.count(s.LimitOffset)
	}
}

// count prints a number of rows.
func (p *printer) count(n *pgquery.Node) {
	if n.GetAConst() != nil {
		p.place(n)
		return
	}
	p.operand(n)
}

func (p *printer) with(w *pgquery.WithClause) {
	if w == nil {
		return
	}
	p.put("WITH ")
	if w.Recursive {
		p.put("RECURSIVE ")
	}
	p.list(w.Ctes, func(n *pgquery.Node) {
		c := n.GetCommonTableExpr()
		if c == nil || c.SearchClause != nil || c.CycleClause != nil {
			p.fail("a WITH item")
			return
		}
		p.ident(c.Ctename)
		if len(c.Aliascolnames) > 0 {
			p.idents(c.Aliascolnames)
		}
		switch c.Ctematerialized {
		case pgquery.CTEMaterialize_CTEMaterializeAlways:
			p.put(" AS MATERIALIZED (")
		case pgquery.CTEMaterialize_CTEMaterializeNever:
			p.put(" AS NOT MATERIALIZED (")
		default:
			p.put(" AS (")
		}
		p.selectStmt(c.Ctequery.GetSelectStmt())
		p.put(")")
	})
	p.put(" ")
}

func (p *printer) setOperation(s *pgquery.SelectStmt) {
	words := map[pgquery.SetOperation]string{
		pgquery.SetOperation_SETOP_UNION: " UNION ", pgquery.SetOperation_SETOP_INTERSECT: " INTERSECT ", pgquery.SetOperation_SETOP_EXCEPT: " EXCEPT ",
	}
	p.arm(s.Larg, s.Op, true)
	p.put(words[s.Op])
	if s.All {
		p.put("ALL ")
	}
	p.arm(s.Rarg, s.Op, false)
}

// arm prints one side of a set operation. Set operations bind to the left, and INTERSECT binds tighter than the others.
func (p *printer) arm(s *pgquery.SelectStmt, op pgquery.SetOperation, left bool) {
	if s == nil {
		p.fail("a set operation with one side")
		return
	}
	bare := s.WithClause == nil && len(s.SortClause) == 0 && s.LimitCount == nil && s.LimitOffset == nil
	if s.Op != pgquery.SetOperation_SETOP_NONE {
		bare = bare && left && (op != pgquery.SetOperation_SETOP_INTERSECT || s.Op == op)
	}
	if bare {
		p.selectStmt(s)
		return
	}
	p.put("(")
	p.selectStmt(s)
	p.put(")")
}

// core prints SELECT … up to QUALIFY.
func (p *printer) core(s *pgquery.SelectStmt) {
	p.put("SELECT ")
	if len(s.DistinctClause) > 0 {
		p.put("DISTINCT ")
		if len(s.DistinctClause) > 1 || s.DistinctClause[0].GetNode() != nil {
			p.put("ON (")
			p.list(s.DistinctClause, p.expr)
			p.put(") ")
		}
	}
	if len(s.TargetList) == 0 {
		p.fail("SELECT without targets")
	}
	if p.d.closed && slices.ContainsFunc(s.TargetList, isStar) && slices.ContainsFunc(s.FromClause, merges) {
		p.fail("a star over USING or NATURAL") // its columns come in another order there, or from the other side
	}
	p.list(s.TargetList, p.target)
	if len(s.FromClause) > 0 {
		p.put(" FROM ")
		p.list(s.FromClause, p.from)
	}
	p.conditions(s.WhereClause)
	p.conditions(s.HavingClause)
	if s.WhereClause != nil {
		p.put(" WHERE ")
		p.expr(s.WhereClause)
	}
	if len(s.GroupClause) > 0 {
		p.put(" GROUP BY ")
		p.list(s.GroupClause, p.place)
	}
	if s.HavingClause != nil {
		p.put(" HAVING ")
		p.expr(s.HavingClause)
	}
	p.windows(s.WindowClause)
}

// isStar reports whether a target is * without the name of a relation.
func isStar(n *pgquery.Node) bool {
	fields := n.GetResTarget().GetVal().GetColumnRef().GetFields()
	return len(fields) == 1 && fields[0].GetAStar() != nil
}

// merges reports whether an item of FROM makes one column of two.
func merges(n *pgquery.Node) bool {
	j := n.GetJoinExpr()
	return j != nil && (j.IsNatural || len(j.UsingClause) > 0 || merges(j.Larg) || merges(j.Rarg))
}

// windows prints the WINDOW clause and, from its marker, the QUALIFY clause.
func (p *printer) windows(ns []*pgquery.Node) {
	if n := len(ns); n > 0 && ns[n-1].GetWindowDef().GetName() == classify.QualifyWindow {
		w := ns[n-1].GetWindowDef()
		p.windows(ns[:n-1])
		if len(w.OrderClause) != 1 {
			p.fail("QUALIFY without one condition")
			return
		}
		p.put(" QUALIFY ")
		p.expr(w.OrderClause[0].GetSortBy().GetNode())
		return
	}
	if len(ns) == 0 {
		return
	}
	p.put(" WINDOW ")
	p.list(ns, func(n *pgquery.Node) {
		w := n.GetWindowDef()
		if w == nil {
			p.fail("a window")
			return
		}
		p.ident(w.Name)
		p.put(" AS ")
		p.window(w)
	})
}

func (p *printer) target(n *pgquery.Node) {
	t := n.GetResTarget()
	if t == nil || len(t.Indirection) > 0 {
		p.fail("a target")
		return
	}
	if f := t.Val.GetFuncCall(); f != nil && p.nameOf(f) == classify.MarkerStar {
		p.star(f)
		return
	}
	p.alone(t.Val)
	p.expr(t.Val)
	if t.Name != "" {
		p.put(" AS ")
		p.ident(t.Name)
	}
}

func (p *printer) sortBy(n *pgquery.Node) {
	s := n.GetSortBy()
	if s == nil || len(s.UseOp) > 0 {
		p.fail("an ORDER BY item")
		return
	}
	p.place(s.Node)
	switch s.SortbyDir {
	case pgquery.SortByDir_SORTBY_DEFAULT:
	case pgquery.SortByDir_SORTBY_ASC:
		p.put(" ASC")
	case pgquery.SortByDir_SORTBY_DESC:
		p.put(" DESC")
	default:
		p.fail("sort direction %v", s.SortbyDir)
	}
	switch s.SortbyNulls {
	case pgquery.SortByNulls_SORTBY_NULLS_DEFAULT:
	case pgquery.SortByNulls_SORTBY_NULLS_FIRST:
		p.put(" NULLS FIRST")
	case pgquery.SortByNulls_SORTBY_NULLS_LAST:
		p.put(" NULLS LAST")
	default:
		p.fail("null order %v", s.SortbyNulls)
	}
}

// star prints * or q.* with its parts.
func (p *printer) star(f *pgquery.FuncCall) {
	args := f.Args
	if len(args) > 0 && args[0].GetColumnRef() != nil {
		p.expr(args[0])
		args = args[1:]
	} else {
		p.put("*")
	}
	for _, a := range args {
		part := a.GetFuncCall()
		words := map[string]string{
			classify.MarkerExclude: " EXCLUDE (", classify.MarkerReplace: " REPLACE (", classify.MarkerRename: " RENAME (",
		}
		word := words[p.nameOf(part)]
		if word == "" || len(part.GetArgs()) == 0 {
			p.fail("a part of *")
			return
		}
		p.put(word)
		p.list(part.Args, func(n *pgquery.Node) {
			as := n.GetFuncCall()
			if n.GetColumnRef() != nil && p.nameOf(part) == classify.MarkerExclude {
				p.expr(n)
				return
			}
			if as == nil || p.nameOf(as) != classify.MarkerAs || p.nameOf(part) == classify.MarkerExclude {
				p.fail("an item of a part of *")
				return
			}
			if len(as.Args) != 2 {
				p.fail("AS inside *")
				return
			}
			p.expr(as.Args[0])
			p.put(" AS ")
			p.expr(as.Args[1])
		})
		p.put(")")
	}
}
