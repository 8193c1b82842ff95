package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// binder checks a parsed expression and replaces its names: columns become the table's own, parameters literals, and
// Trino's spellings DuckDB's.
type binder struct {
	table  Table
	params map[string]any
	fields map[string]int // Expression.Fields
	reads  map[int]bool   // field ids
	named  map[string]int // if not nil, filled with what each name was found to mean
}

// node binds n and everything below it. The tree must be the caller's own.
func (b *binder) node(n *pgquery.Node) (*pgquery.Node, error) {
	if err := checkShape(n.ProtoReflect()); err != nil {
		return nil, err
	}
	return b.bind(n)
}

func (b *binder) bind(n *pgquery.Node) (*pgquery.Node, error) {
	if n == nil {
		return nil, nil
	}
	var err error
	switch x := n.Node.(type) {
	case *pgquery.Node_AConst:
		return n, nil
	case *pgquery.Node_ColumnRef:
		return b.column(x.ColumnRef)
	case *pgquery.Node_AExpr:
		return b.operation(n, x.AExpr)
	case *pgquery.Node_BoolExpr:
		return n, b.all(x.BoolExpr.Args)
	case *pgquery.Node_NullTest:
		x.NullTest.Arg, err = b.bind(x.NullTest.Arg)
		return n, err
	case *pgquery.Node_BooleanTest:
		x.BooleanTest.Arg, err = b.bind(x.BooleanTest.Arg)
		return n, err
	case *pgquery.Node_CaseExpr:
		return n, b.choice(x.CaseExpr)
	case *pgquery.Node_CoalesceExpr:
		return n, b.all(x.CoalesceExpr.Args)
	case *pgquery.Node_MinMaxExpr:
		return n, b.all(x.MinMaxExpr.Args)
	case *pgquery.Node_TypeCast:
		spelledInterval(x.TypeCast)
		if err := canonicalType(x.TypeCast.TypeName); err != nil {
			return nil, err
		}
		x.TypeCast.Arg, err = b.bind(x.TypeCast.Arg)
		return n, err
	case *pgquery.Node_FuncCall:
		return b.call(x.FuncCall)
	case *pgquery.Node_SqlvalueFunction:
		return b.caller(x.SqlvalueFunction.Op)
	default:
		return nil, fmt.Errorf("%T is not allowed here", n.Node)
	}
}

// all binds a list in place.
func (b *binder) all(ns []*pgquery.Node) error {
	var err error
	for i := range ns {
		if ns[i], err = b.bind(ns[i]); err != nil {
			return err
		}
	}
	return nil
}

// column replaces a reference by the table's own name, or by a parameter's value.
func (b *binder) column(c *pgquery.ColumnRef) (*pgquery.Node, error) {
	parts := make([]string, len(c.Fields))
	for i, f := range c.Fields {
		s := f.GetString_()
		if s == nil {
			return nil, errors.New("* is not a column")
		}
		parts[i] = s.Sval
	}
	if name, ok := paramName(parts); ok {
		v, ok := b.params[name]
		if !ok {
			return nil, fmt.Errorf("no parameter :%s", name)
		}
		return literal(v)
	}
	col, err := b.find(parts)
	if err != nil {
		return nil, err
	}
	b.reads[col.FieldID] = true
	if b.named != nil {
		b.named[parts[len(parts)-1]] = col.FieldID
	}
	return columnNode(col.Name), nil
}

func paramName(parts []string) (string, bool) {
	if len(parts) != 1 {
		return "", false
	}
	return strings.CutPrefix(parts[0], paramPrefix)
}

// operation binds an operator's operands; the list of IN may be one list parameter.
func (b *binder) operation(n *pgquery.Node, x *pgquery.A_Expr) (*pgquery.Node, error) {
	if err := checkOperator(x); err != nil {
		return nil, err
	}
	var err error
	if x.Lexpr, err = b.bind(x.Lexpr); err != nil {
		return nil, err
	}
	list := x.Rexpr.GetList()
	if list == nil {
		x.Rexpr, err = b.bind(x.Rexpr)
		return n, err
	}
	if list.Items, err = b.items(list.Items); err != nil {
		return nil, err
	}
	if x.Kind != pgquery.A_Expr_Kind_AEXPR_IN {
		if len(list.Items) != 2 {
			return nil, errors.New("BETWEEN takes two values")
		}
		return n, nil
	}
	if len(list.Items) == 0 { // only an empty list parameter; SQL has no "IN ()"
		return boolConst(x.Name[0].GetString_().GetSval() == "<>"), nil
	}
	return n, nil
}

// items binds the members of a list and spreads list parameters into it.
func (b *binder) items(in []*pgquery.Node) ([]*pgquery.Node, error) {
	out := make([]*pgquery.Node, 0, len(in))
	for _, item := range in {
		if name, ok := listParam(item); ok {
			values, isList := b.params[name].([]any)
			if isList {
				if len(values) > maxList {
					return nil, fmt.Errorf("parameter :%s has more than %d values", name, maxList)
				}
				for _, v := range values {
					l, err := literal(v)
					if err != nil {
						return nil, err
					}
					out = append(out, l)
				}
				continue
			}
		}
		bound, err := b.bind(item)
		if err != nil {
			return nil, err
		}
		out = append(out, bound)
	}
	return out, nil
}

func listParam(n *pgquery.Node) (string, bool) {
	c := n.GetColumnRef()
	if c == nil || len(c.Fields) != 1 || c.Fields[0].GetString_() == nil {
		return "", false
	}
	return paramName([]string{c.Fields[0].GetString_().Sval})
}

func (b *binder) choice(x *pgquery.CaseExpr) error {
	var err error
	if x.Arg, err = b.bind(x.Arg); err != nil {
		return err
	}
	for _, a := range x.Args {
		w := a.GetCaseWhen()
		if w == nil {
			return errors.New("CASE without WHEN")
		}
		if w.Expr, err = b.bind(w.Expr); err != nil {
			return err
		}
		if w.Result, err = b.bind(w.Result); err != nil {
			return err
		}
	}
	x.Defresult, err = b.bind(x.Defresult)
	return err
}

// call checks and binds a function call and maps Trino's spelling to DuckDB's.
func (b *binder) call(f *pgquery.FuncCall) (*pgquery.Node, error) {
	names := f.Funcname
	if len(names) == 2 && names[0].GetString_().GetSval() == "pg_catalog" {
		names = names[1:] // trim(), substring() and others with a syntax of their own
	}
	if len(names) != 1 {
		return nil, errors.New("qualified functions are not allowed")
	}
	name := strings.ToLower(names[0].GetString_().GetSval())
	if name == roleFunction {
		return b.inRole(f.Args)
	}
	arity, ok := functions[name]
	if !ok {
		return nil, fmt.Errorf("function %s is not allowed in a policy expression", name)
	}
	if len(f.Args) < arity[0] || len(f.Args) > arity[1] {
		return nil, fmt.Errorf("function %s takes %d to %d arguments", name, arity[0], arity[1])
	}
	if err := b.all(f.Args); err != nil {
		return nil, err
	}
	return rewriteCall(name, f.Args)
}

// isBoolean reports whether n is surely a condition.
func isBoolean(n *pgquery.Node, t Table) bool {
	switch x := n.Node.(type) {
	case *pgquery.Node_AConst:
		return x.AConst.GetBoolval() != nil || x.AConst.Isnull
	case *pgquery.Node_ColumnRef:
		c, ok := columnNamed(t.Columns, x.ColumnRef.Fields[0].GetString_().GetSval())
		return ok && c.Type == "BOOLEAN"
	case *pgquery.Node_BoolExpr:
		return !slices.ContainsFunc(x.BoolExpr.Args, func(a *pgquery.Node) bool { return !isBoolean(a, t) })
	case *pgquery.Node_NullTest, *pgquery.Node_BooleanTest:
		return true
	case *pgquery.Node_AExpr:
		switch x.AExpr.Kind {
		case pgquery.A_Expr_Kind_AEXPR_NULLIF:
			return isBoolean(x.AExpr.Lexpr, t)
		case pgquery.A_Expr_Kind_AEXPR_OP:
			return slices.Contains(conditions, x.AExpr.Name[0].GetString_().GetSval())
		}
		return true
	case *pgquery.Node_CaseExpr:
		for _, a := range x.CaseExpr.Args {
			if !isBoolean(a.GetCaseWhen().Result, t) {
				return false
			}
		}
		return x.CaseExpr.Defresult == nil || isBoolean(x.CaseExpr.Defresult, t)
	case *pgquery.Node_CoalesceExpr:
		return !slices.ContainsFunc(x.CoalesceExpr.Args, func(a *pgquery.Node) bool { return !isBoolean(a, t) })
	case *pgquery.Node_TypeCast:
		return x.TypeCast.TypeName.Names[0].GetString_().GetSval() == "boolean"
	case *pgquery.Node_FuncCall:
		return slices.Contains(predicates, x.FuncCall.Funcname[0].GetString_().GetSval())
	default:
		return false
	}
}
