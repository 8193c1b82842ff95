package classify

import (
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// DuckDB evaluates a function of one column on the dictionary of a column chunk if that is shorter than the vector, also
// on entries that only rows have which a filter has taken out, and so wherever the function stands: a target list
// is no safer than a condition. It spares functions that are marked as able to fail, and casts. Many that can fail
// are not marked, and of a lambda it looks at the arguments only. Thus whatever may fail and is not known to be spared counts as
// a reason for the barrier. Which are spared was measured on DuckDB 1.5.6, and a test of the executor measures it again.

// spared are functions that may fail and that the engine knows to.
var spared = map[string]bool{"abs": true, "add": true, "subtract": true, "multiply": true, "sqrt": true, "ln": true}

// sparedOperators are operators that may fail and that the engine knows to, or that can't fail on one value. A sum or
// difference counts only without what zoned says.
var sparedOperators = map[string]bool{"+": true, "-": true, "*": true, "/": true, "//": true, "%": true}

// steady are functions that can fail by the constants that they are given only, if all arguments but the first are constants.
var steady = map[string]bool{
	"round": true, "ceil": true, "ceiling": true, "floor": true, "trunc": true, "replace": true, "split_part": true,
	"regexp_matches": true, "regexp_full_match": true, "regexp_replace": true, "regexp_extract": true, "strftime": true,
}

// dictionaries marks the tables on whose hidden values something may be evaluated that may fail, wherever it stands.
func (b *binder) dictionaries(tree *pgquery.SelectStmt, out []bool) {
	zones := b.hasTemporal(tree)
	descend(tree, func(m proto.Message) bool {
		n, ok := m.(*pgquery.Node)
		if !ok || !unspared(n) && !(zones && b.zoned(n)) {
			return true
		}
		for _, ref := range all[*pgquery.ColumnRef](n) {
			r := b.refs[ref]
			if r == nil {
				continue
			}
			for _, c := range r.cols {
				rowwise([]*value{c.val}, func(v *value) {
					if v.table >= 0 {
						out[v.table] = true
					}
				})
			}
		}
		return false // whatever is below reads no other columns
	})
}

// FailsUnseen reports whether n, an expression over raw columns, holds something that may fail without the engine's
// knowing, so that the engine may evaluate it on values of rows that a filter below takes out.
func FailsUnseen(n *pgquery.Node, types TypeOf) bool {
	found := false
	descend(n, func(m proto.Message) bool {
		switch x := m.(type) {
		case *pgquery.Node:
			found = found || unspared(x)
		case *pgquery.SQLValueFunction:
			found = true
		case *pgquery.TypeCast:
			names := x.TypeName.GetNames()
			found = found || len(names) != 1 || temporal(names[0].GetString_().GetSval(), x.Arg.GetAConst() != nil)
		case *pgquery.ColumnRef:
			found = found || temporal(types(x), false)
		}
		return !found
	})
	return found
}

// zoned reports whether n is a sum or a difference with something in it that has a time zone, or is an interval or a time of
// the values of a column. Those can fail, and the engine does not know.
func (b *binder) zoned(n *pgquery.Node) bool {
	e := n.GetAExpr()
	if e == nil || e.Kind != pgquery.A_Expr_Kind_AEXPR_OP || len(e.Name) != 1 {
		return false
	}
	if op := e.Name[0].GetString_().GetSval(); op != "+" && op != "-" {
		return false
	}
	return b.hasTemporal(e)
}

// hasTemporal reports whether there is something in m of the types that zoned means.
func (b *binder) hasTemporal(m proto.Message) bool {
	found := false
	descend(m, func(m proto.Message) bool {
		switch x := m.(type) {
		case *pgquery.SQLValueFunction:
			found = true
		case *pgquery.TypeCast:
			t := x.TypeName.GetNames()
			found = found || len(t) != 1 || temporal(t[0].GetString_().GetSval(), x.Arg.GetAConst() != nil)
		case *pgquery.ColumnRef:
			r := b.refs[x]
			if r == nil {
				break
			}
			for _, c := range r.cols {
				rowwise([]*value{c.val}, func(v *value) {
					found = found || v.table >= 0 && temporal(v.typ, false)
				})
			}
		}
		return !found
	})
	return found
}

// temporal reports whether a type is one of those that zoned means. An interval that is a literal is not.
func temporal(typ string, literal bool) bool {
	f := family(typ)
	return f == "timestamptz" || f == "timetz" || f == "time" || f == "interval" && !literal
}

// unspared reports whether n, apart from what it is applied to, may fail without the engine's knowing.
func unspared(n *pgquery.Node) bool {
	switch t := n.GetNode().(type) {
	case *pgquery.Node_FuncCall:
		return unsparedCall(t.FuncCall)
	case *pgquery.Node_AExpr:
		return unsparedOperator(t.AExpr)
	case *pgquery.Node_AIndirection:
		for _, i := range t.AIndirection.Indirection {
			if x := i.GetAIndices(); x != nil && (x.IsSlice || x.Uidx.GetAConst() == nil) {
				return true
			}
		}
	}
	return false
}

func unsparedCall(f *pgquery.FuncCall) bool {
	name := funcName(f)
	switch name {
	case MarkerMap, MarkerInterval:
		return true
	}
	if strings.HasPrefix(name, MarkerPrefix) || name == "similar_to_escape" {
		return false
	}
	fn := functions()[name]
	if fn.kind == "aggregate" || fn.kind == "window" || fn.class == ClassLeakproof || spared[name] {
		return false // aggregates and windows are fed with rows
	}
	if name == "date_part" {
		return len(f.Args) != 2 || f.Args[0].GetAConst() == nil
	}
	return !cuts(f) && !(steady[name] && oneOperand(f.Args))
}

// oneOperand reports whether all of ns but the first are constants.
func oneOperand(ns []*pgquery.Node) bool {
	for i, n := range ns {
		if _, ok := plainConstant(n); i > 0 && !ok {
			return false
		}
	}
	return len(ns) > 0
}

// plainConstant returns a constant that may have a sign.
func plainConstant(n *pgquery.Node) (*pgquery.A_Const, bool) {
	if e := n.GetAExpr(); e != nil && e.Kind == pgquery.A_Expr_Kind_AEXPR_OP && e.Lexpr == nil && len(e.Name) == 1 && e.Name[0].GetString_().GetSval() == "-" {
		n = e.Rexpr
	}
	c := n.GetAConst()
	return c, c != nil
}

// cuts reports whether f takes a part of a text at places that are short constants, which works for every text.
func cuts(f *pgquery.FuncCall) bool {
	switch funcName(f) {
	case "substring", "substr", "left", "right":
	default:
		return false
	}
	if len(f.Args) < 2 {
		return false
	}
	for _, a := range f.Args[1:] {
		if c, ok := plainConstant(a); !ok || c.GetIval() == nil {
			return false
		}
	}
	return true
}

func unsparedOperator(e *pgquery.A_Expr) bool {
	switch e.Kind {
	case pgquery.A_Expr_Kind_AEXPR_OP:
		op := ""
		if len(e.Name) == 1 {
			op = e.Name[0].GetString_().GetSval()
		}
		if op == "~" || op == "!~" {
			return e.Rexpr.GetAConst() == nil || e.Lexpr == nil
		}
		return !sparedOperators[op] && ClassOfOperator(op) != ClassLeakproof
	case pgquery.A_Expr_Kind_AEXPR_LIKE, pgquery.A_Expr_Kind_AEXPR_ILIKE:
		return e.Rexpr.GetAConst() == nil
	case pgquery.A_Expr_Kind_AEXPR_SIMILAR:
		args := e.Rexpr.GetFuncCall().GetArgs()
		return len(args) != 1 || args[0].GetAConst() == nil
	case pgquery.A_Expr_Kind_AEXPR_OP_ANY, pgquery.A_Expr_Kind_AEXPR_OP_ALL:
		return true
	}
	return false
}
