package classify

import (
	"strconv"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// constantOf returns what can stand for n, as far as its class matters, if n is computed from literals alone: the engine
// does that once, before it sees a row. It returns nil for anything else.
func constantOf(n *pgquery.Node, types map[*pgquery.ColumnRef]string) *pgquery.Node_ColumnRef {
	if t := constantType(n); t != "" {
		return placeholder(types, t)
	}
	return nil
}

// constantType returns the type of what is computed from literals alone, "" for anything else.
func constantType(n *pgquery.Node) string {
	if e := n.GetAExpr(); e != nil {
		if t := arithmetic(n); t != "" {
			return t
		}
		if instant(e) {
			return "TIMESTAMP"
		}
	}
	if c := n.GetTypeCast(); c != nil && c.Arg.GetAExpr() != nil && instant(c.Arg.GetAExpr()) {
		if names := c.TypeName.GetNames(); len(names) == 1 && names[0].GetString_().GetSval() == "date" {
			return "DATE"
		}
	}
	return ""
}

// arithmetic returns the type of sums, differences, products and quotients of short number literals, "" for anything else.
func arithmetic(n *pgquery.Node) string {
	switch c := n.GetAConst(); {
	case c.GetIval() != nil:
		return "number"
	case c.GetFval() != nil && len(c.GetFval().Fval) <= 8:
		return "fraction"
	}
	e := n.GetAExpr()
	if e == nil || e.Kind != pgquery.A_Expr_Kind_AEXPR_OP || len(e.Name) != 1 {
		return ""
	}
	right := arithmetic(e.Rexpr)
	if right == "" {
		return ""
	}
	op := e.Name[0].GetString_().GetSval()
	if e.Lexpr == nil {
		if op == "-" {
			return right
		}
		return ""
	}
	left := arithmetic(e.Lexpr)
	// More than two literals could make a wide decimal.
	if left == "" || (left != right || left == "fraction") && (e.Lexpr.GetAExpr() != nil || e.Rexpr.GetAExpr() != nil) {
		return ""
	}
	switch op {
	case "+", "-", "*":
		if left == "number" && right == "number" {
			return "number"
		}
		return "fraction"
	case "/":
		return "double"
	}
	return ""
}

// instant reports whether e is a date or timestamp literal plus or minus one or two interval literals, all of them valid and
// too short to lead out of range.
func instant(e *pgquery.A_Expr) bool {
	if inner := e.Lexpr.GetAExpr(); inner != nil {
		return shift(e) && shift(inner) && instantLiteral(inner.Lexpr)
	}
	return shift(e) && instantLiteral(e.Lexpr)
}

// shift reports whether e adds an interval literal to something, or takes it away.
func shift(e *pgquery.A_Expr) bool {
	if e.Kind != pgquery.A_Expr_Kind_AEXPR_OP || len(e.Name) != 1 {
		return false
	}
	if op := e.Name[0].GetString_().GetSval(); op != "+" && op != "-" {
		return false
	}
	if f := e.Rexpr.GetFuncCall(); f != nil {
		return funcName(f) == MarkerInterval && len(f.Args) == 2 && f.Args[0].GetAConst().GetIval() != nil &&
			shortNumber(strconv.Itoa(int(f.Args[0].GetAConst().GetIval().GetIval())))
	}
	return isInterval(literalOf(e.Rexpr, "interval"))
}

func instantLiteral(n *pgquery.Node) bool {
	return converts(literalOf(n, "date"), "date") || converts(literalOf(n, "timestamp"), "timestamp")
}
