package classify

import (
	"sort"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// seat is where a table stands in the FROM clause of its SELECT.
type seat struct {
	table    int
	nullable bool // an outer join below may replace its rows by NULLs
}

// where finds the conditions that may be evaluated at the scans of the tables that stand directly in the FROM clause of sel.
func (b *binder) where(sel *pgquery.SelectStmt) {
	var seats []seat
	for _, n := range sel.FromClause {
		seats = append(seats, b.seats(n)...)
	}
	for _, c := range conjuncts(sel.WhereClause) {
		b.push(c, seats)
	}
}

// seats lists the tables of one FROM item and pushes the ON conditions in it: those of an inner join to both sides, those of
// an outer join to the side that it fills with NULLs, since rows of the other side stay whatever ON says.
func (b *binder) seats(n *pgquery.Node) []seat {
	if t := n.GetRangeTableSample(); t != nil {
		n = t.Relation
	}
	if rv := n.GetRangeVar(); rv != nil {
		if i, ok := b.index[rv]; ok {
			return []seat{{table: i}}
		}
		return nil
	}
	j := n.GetJoinExpr()
	if j == nil {
		return nil
	}
	left, right := b.seats(j.Larg), b.seats(j.Rarg)
	var on []seat
	switch j.Jointype {
	case pgquery.JoinType_JOIN_INNER:
		on = append(append(on, left...), right...)
	case pgquery.JoinType_JOIN_LEFT:
		on = append(on, right...)
	case pgquery.JoinType_JOIN_RIGHT:
		on = append(on, left...)
	}
	for _, c := range conjuncts(j.Quals) {
		b.push(c, on)
	}
	fill := func(side []seat) {
		for i := range side {
			side[i].nullable = true
		}
	}
	if j.Jointype != pgquery.JoinType_JOIN_INNER && j.Jointype != pgquery.JoinType_JOIN_LEFT {
		fill(left)
	}
	if j.Jointype != pgquery.JoinType_JOIN_INNER && j.Jointype != pgquery.JoinType_JOIN_RIGHT {
		fill(right)
	}
	return append(left, right...)
}

// push adds c to the conjuncts of the one table that it is about, if it is about one of seats and nothing else.
func (b *binder) push(c *pgquery.Node, seats []seat) {
	table := -1
	columns := map[int]bool{}
	for _, ref := range all[*pgquery.ColumnRef](c) {
		r := b.refs[ref]
		if r == nil || len(r.cols) != 1 || r.fields > 0 || r.row != nil || r.output {
			return
		}
		v := r.cols[0].val
		if v.table < 0 || (table >= 0 && v.table != table) {
			return
		}
		table, columns[v.column] = v.table, true
	}
	if !seated(table, seats) || !movable(c) {
		return
	}
	raises := b.class(c, true) != ClassLeakproof
	if raises && b.class(c, false) == ClassLeakproof {
		return // a cast to BOOLEAN hides at the top, which a reader of the expression alone would not see
	}
	for _, s := range seats {
		if s.table != table || (s.nullable && !rejectsNull(c)) {
			continue
		}
		b.found[table] = append(b.found[table], Conjunct{Expr: c, Columns: columnList(columns), Raises: raises})
	}
}

// conjunct returns a copy of c, which is a part of the tree, that names columns as table i does.
func (b *Bound) conjunct(i int, c Conjunct) Conjunct {
	expr := cloneNode(c.Expr)
	b.edits.castDates(c.Expr, expr) // first, as it goes by the order of all nodes
	from := all[*pgquery.ColumnRef](c.Expr)
	for k, ref := range all[*pgquery.ColumnRef](expr) {
		name := b.rels[i].Columns[b.refs[from[k]].cols[0].val.column].Name
		ref.Fields = []*pgquery.Node{pgquery.MakeStrNode(name)}
	}
	return Conjunct{Expr: expr, Columns: append([]int(nil), c.Columns...), Raises: c.Raises}
}

func seated(table int, seats []seat) bool {
	for _, s := range seats {
		if s.table == table {
			return true
		}
	}
	return false
}

func columnList(set map[int]bool) []int {
	var out []int
	for i := range set {
		out = append(out, i)
	}
	sort.Ints(out)
	return out
}

// movable reports whether n is made of columns, literals, parameters and functions of them only.
func movable(n *pgquery.Node) bool {
	every := func(list ...*pgquery.Node) bool {
		for _, x := range list {
			if x != nil && !movable(x) {
				return false
			}
		}
		return true
	}
	switch e := n.GetNode().(type) {
	case *pgquery.Node_ColumnRef, *pgquery.Node_AConst, *pgquery.Node_ParamRef:
		return true
	case *pgquery.Node_AExpr:
		return every(e.AExpr.Lexpr, e.AExpr.Rexpr)
	case *pgquery.Node_BoolExpr:
		return every(e.BoolExpr.Args...)
	case *pgquery.Node_NullTest:
		return every(e.NullTest.Arg)
	case *pgquery.Node_BooleanTest:
		return every(e.BooleanTest.Arg)
	case *pgquery.Node_List:
		return every(e.List.Items...)
	case *pgquery.Node_TypeCast:
		return every(e.TypeCast.Arg)
	case *pgquery.Node_CoalesceExpr:
		return every(e.CoalesceExpr.Args...)
	case *pgquery.Node_CaseExpr:
		return every(append([]*pgquery.Node{e.CaseExpr.Arg, e.CaseExpr.Defresult}, e.CaseExpr.Args...)...)
	case *pgquery.Node_CaseWhen:
		return every(e.CaseWhen.Expr, e.CaseWhen.Result)
	case *pgquery.Node_FuncCall:
		f := e.FuncCall
		if f.Over != nil || isAggregate(f) || IsSetReturning(funcName(f)) {
			return false
		}
		if c := ClassOf(funcName(f)); c != ClassLeakproof && c != ClassRaising && funcName(f) != MarkerInterval {
			return false
		}
		return every(f.Args...)
	}
	return false
}

// rejectsNull reports whether n is not true when all its columns are NULL.
func rejectsNull(n *pgquery.Node) bool {
	switch e := n.GetNode().(type) {
	case *pgquery.Node_NullTest:
		return e.NullTest.Nulltesttype == pgquery.NullTestType_IS_NOT_NULL && e.NullTest.Arg.GetColumnRef() != nil
	case *pgquery.Node_BoolExpr:
		switch e.BoolExpr.Boolop {
		case pgquery.BoolExprType_AND_EXPR:
			for _, a := range e.BoolExpr.Args {
				if rejectsNull(a) {
					return true
				}
			}
			return false
		case pgquery.BoolExprType_OR_EXPR:
			for _, a := range e.BoolExpr.Args {
				if !rejectsNull(a) {
					return false
				}
			}
			return true
		}
		return false
	case *pgquery.Node_AExpr:
		switch e.AExpr.Kind {
		case pgquery.A_Expr_Kind_AEXPR_OP:
			return isComparison(e.AExpr) && (e.AExpr.Lexpr.GetColumnRef() != nil || e.AExpr.Rexpr.GetColumnRef() != nil)
		case pgquery.A_Expr_Kind_AEXPR_IN, pgquery.A_Expr_Kind_AEXPR_LIKE, pgquery.A_Expr_Kind_AEXPR_ILIKE, pgquery.A_Expr_Kind_AEXPR_BETWEEN:
			return e.AExpr.Lexpr.GetColumnRef() != nil
		}
	}
	return false
}

// isComparison reports whether e is one of the six comparisons.
func isComparison(e *pgquery.A_Expr) bool {
	if e.Kind != pgquery.A_Expr_Kind_AEXPR_OP || len(e.Name) != 1 {
		return false
	}
	switch e.Name[0].GetString_().GetSval() {
	case "=", "<>", "!=", "<", "<=", ">", ">=":
		return true
	}
	return false
}
