package classify

import (
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// In DuckDB, date '1998-12-01' - interval '90' day is a TIMESTAMP, so that comparing a DATE column with it casts the
// column, and that cast raises on far dates: a condition which could tell about hidden rows, and that no scan can use. Such
// a constant is at midnight whatever the interval, as long as it is of whole days, so it can be a DATE without changing
// the result. That is what a rewrite makes it.

// findDates takes note of the constants of the tree that become dates.
func (b *binder) findDates(tree *pgquery.SelectStmt) {
	b.edits.dates = map[*pgquery.A_Expr]bool{}
	mark := func(n *pgquery.Node) {
		if e := n.GetAExpr(); e != nil && wholeDays(e) {
			b.edits.dates[e] = true
		}
	}
	isDate := func(n *pgquery.Node) bool {
		if isCastToDate(n) {
			return true
		}
		r := b.refs[n.GetColumnRef()]
		return r != nil && strings.EqualFold(r.typ, "DATE")
	}
	for _, e := range all[*pgquery.A_Expr](tree) {
		between := e.Kind == pgquery.A_Expr_Kind_AEXPR_BETWEEN || e.Kind == pgquery.A_Expr_Kind_AEXPR_NOT_BETWEEN
		switch {
		case isComparison(e) && isDate(e.Lexpr):
			mark(e.Rexpr)
		case isComparison(e) && isDate(e.Rexpr):
			mark(e.Lexpr)
		case between && isDate(e.Lexpr):
			for _, n := range e.Rexpr.GetList().GetItems() {
				mark(n)
			}
		}
	}
}

// isCastToDate reports whether n is a cast to DATE, as generated statements put around columns that are dates already.
func isCastToDate(n *pgquery.Node) bool {
	t := n.GetTypeCast().GetTypeName()
	names := t.GetNames()
	return len(names) > 0 && len(t.ArrayBounds) == 0 && names[len(names)-1].GetString_().GetSval() == "date"
}

// wholeDays reports whether e is a date literal plus or minus interval literals of days or more.
func wholeDays(e *pgquery.A_Expr) bool {
	if !instant(e) || !wholeInterval(e.Rexpr) {
		return false
	}
	if inner := e.Lexpr.GetAExpr(); inner != nil {
		return wholeDays(inner)
	}
	return literalOf(e.Lexpr, "date") != ""
}

// literalOf returns the text of a typed string literal.
func literalOf(n *pgquery.Node, typ string) string {
	c := n.GetTypeCast()
	names := c.GetTypeName().GetNames()
	if len(names) == 0 || names[len(names)-1].GetString_().GetSval() != typ {
		return ""
	}
	return c.Arg.GetAConst().GetSval().GetSval()
}

// wholeInterval reports whether n, an interval that shift has found valid, has one number and one unit of days or more.
func wholeInterval(n *pgquery.Node) bool {
	number, unit := "", ""
	if f := n.GetFuncCall(); f != nil && funcName(f) == MarkerInterval && len(f.Args) == 2 {
		number, unit = "1", f.Args[1].GetAConst().GetSval().GetSval()
	} else if words := strings.Fields(literalOf(n, "interval")); len(words) == 2 && len(n.GetTypeCast().TypeName.Typmods) == 0 {
		number, unit = words[0], words[1]
	}
	if number == "" || strings.Trim(number, "0123456789") != "" {
		return false
	}
	switch strings.TrimSuffix(fold(unit), "s") {
	case "day", "week", "month", "year":
		return true
	}
	return false
}

// castDates casts the noted constants of tree from in its copy to.
func (e *edits) castDates(from, to proto.Message) {
	if len(e.dates) == 0 {
		return
	}
	nodes := all[*pgquery.Node](to)
	for i, n := range all[*pgquery.Node](from) {
		if a := n.GetAExpr(); a != nil && e.dates[a] {
			nodes[i].Node = &pgquery.Node_TypeCast{TypeCast: &pgquery.TypeCast{
				Arg:      &pgquery.Node{Node: nodes[i].Node},
				TypeName: &pgquery.TypeName{Names: []*pgquery.Node{pgquery.MakeStrNode("date")}, Typemod: -1},
				Location: -1,
			}}
		}
	}
}
