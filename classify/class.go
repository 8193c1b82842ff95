package classify

import (
	"strconv"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// TypeOf returns DuckDB's name of the type of a column reference, "" if it is not known.
type TypeOf func(c *pgquery.ColumnRef) string

// ExprClass returns the class of n when nothing is known about the types of its columns, so that a comparison
// of two columns, or of a column with a typed constant, counts as raising: it may hide a cast.
func ExprClass(n *pgquery.Node) Class { return ExprClassTyped(n, nil) }

// ExprClassTyped returns the worst class of anything in n, given the types of its columns; types may be nil. The order
// from best to worst is leakproof, raising, dictionary, forbidden. A subquery is raising: it may return two rows.
func ExprClassTyped(n *pgquery.Node, types TypeOf) Class {
	c := &classifier{types: types}
	return c.expr(n)
}

type classifier struct {
	types TypeOf
	depth int
}

// worse returns the worst of classes.
func worse(classes ...Class) Class {
	rank := map[Class]int{ClassLeakproof: 0, ClassRaising: 1, ClassDictionary: 2}
	w := ClassLeakproof
	for _, c := range classes {
		if _, ok := rank[c]; !ok {
			return ClassForbidden
		}
		if rank[c] > rank[w] {
			w = c
		}
	}
	return w
}

func (c *classifier) list(ns []*pgquery.Node) Class {
	w := ClassLeakproof
	for _, n := range ns {
		w = worse(w, c.expr(n))
	}
	return w
}

func (c *classifier) expr(n *pgquery.Node) Class {
	if c.depth++; c.depth > maxDepth {
		return ClassForbidden
	}
	defer func() { c.depth-- }()
	switch t := n.GetNode().(type) {
	case nil, *pgquery.Node_ColumnRef, *pgquery.Node_AConst, *pgquery.Node_ParamRef, *pgquery.Node_SqlvalueFunction, *pgquery.Node_GroupingFunc:
		return ClassLeakproof
	case *pgquery.Node_List:
		return c.list(t.List.Items)
	case *pgquery.Node_BoolExpr:
		return worse(c.list(t.BoolExpr.Args), c.truth(t.BoolExpr.Args))
	case *pgquery.Node_NullTest:
		return c.expr(t.NullTest.Arg)
	case *pgquery.Node_BooleanTest:
		return worse(c.expr(t.BooleanTest.Arg), c.truth([]*pgquery.Node{t.BooleanTest.Arg}))
	case *pgquery.Node_CoalesceExpr:
		return worse(c.list(t.CoalesceExpr.Args), c.alike(t.CoalesceExpr.Args...))
	case *pgquery.Node_MinMaxExpr:
		return worse(c.list(t.MinMaxExpr.Args), c.alike(t.MinMaxExpr.Args...))
	case *pgquery.Node_CaseExpr:
		return c.caseExpr(t.CaseExpr)
	case *pgquery.Node_TypeCast:
		return c.cast(t.TypeCast)
	case *pgquery.Node_AExpr:
		return c.operator(t.AExpr)
	case *pgquery.Node_FuncCall:
		return c.call(t.FuncCall)
	case *pgquery.Node_NamedArgExpr:
		return c.expr(t.NamedArgExpr.Arg)
	case *pgquery.Node_RowExpr:
		return c.list(t.RowExpr.Args)
	case *pgquery.Node_CollateClause:
		return c.expr(t.CollateClause.Arg)
	case *pgquery.Node_AArrayExpr:
		return worse(ClassRaising, c.list(t.AArrayExpr.Elements))
	case *pgquery.Node_AIndirection:
		return worse(ClassRaising, c.indirection(t.AIndirection))
	case *pgquery.Node_SubLink:
		return worse(ClassRaising, c.expr(t.SubLink.Testexpr))
	}
	return ClassForbidden
}

func (c *classifier) indirection(n *pgquery.A_Indirection) Class {
	w := c.expr(n.Arg)
	for _, i := range n.Indirection {
		if x := i.GetAIndices(); x != nil {
			w = worse(w, c.expr(x.Lidx), c.expr(x.Uidx))
		}
	}
	return w
}

func (c *classifier) caseExpr(n *pgquery.CaseExpr) Class {
	w := c.expr(n.Arg)
	results := []*pgquery.Node{}
	for _, a := range n.Args {
		when := a.GetCaseWhen()
		w = worse(w, c.expr(when.GetExpr()), c.expr(when.GetResult()))
		if n.Arg != nil {
			w = worse(w, c.alike(n.Arg, when.GetExpr()))
		} else {
			w = worse(w, c.truth([]*pgquery.Node{when.GetExpr()}))
		}
		results = append(results, when.GetResult())
	}
	if n.Defresult != nil {
		results = append(results, n.Defresult)
	}
	return worse(w, c.expr(n.Defresult), c.alike(results...))
}

// cast: of a constant that surely converts it does not depend on any row; to VARCHAR it is total.
func (c *classifier) cast(n *pgquery.TypeCast) Class {
	if k := n.Arg.GetAConst(); k != nil && constantConverts(k, writtenType(n.TypeName)) {
		return ClassLeakproof
	}
	w := c.expr(n.Arg)
	to := ""
	if names := n.TypeName.GetNames(); len(names) == 1 && len(n.TypeName.ArrayBounds) == 0 {
		to = names[0].GetString_().GetSval()
	}
	if to == "varchar" || to != "" && to == family(c.typeOf(n.Arg)) && to != "decimal" {
		return w
	}
	return worse(ClassRaising, w)
}

// truth asks whether every argument is a boolean by its own form or type, so that no cast to BOOLEAN hides.
func (c *classifier) truth(ns []*pgquery.Node) Class {
	for _, n := range ns {
		switch t := n.GetNode().(type) {
		case *pgquery.Node_BoolExpr, *pgquery.Node_NullTest, *pgquery.Node_BooleanTest, *pgquery.Node_SubLink:
		case *pgquery.Node_AConst:
			if text := t.AConst.GetSval(); text != nil && !converts(text.Sval, "boolean") {
				return ClassRaising
			}
		case *pgquery.Node_AExpr:
			if k := t.AExpr.Kind; k == pgquery.A_Expr_Kind_AEXPR_NULLIF || k == pgquery.A_Expr_Kind_AEXPR_OP && !boolean(t.AExpr) {
				return ClassRaising
			}
		default:
			if family(c.typeOf(n)) != "boolean" {
				return ClassRaising
			}
		}
	}
	return ClassLeakproof
}

func boolean(e *pgquery.A_Expr) bool {
	op := e.Name[0].GetString_().GetSval()
	return comparison[op] || op == "^@"
}

func (c *classifier) operator(e *pgquery.A_Expr) Class {
	if len(e.Name) != 1 {
		return ClassForbidden
	}
	w := worse(c.expr(e.Lexpr), c.expr(e.Rexpr))
	switch e.Kind {
	case pgquery.A_Expr_Kind_AEXPR_OP:
		op := e.Name[0].GetString_().GetSval()
		if op == "-" && e.Lexpr == nil && e.Rexpr.GetAConst() != nil {
			return w // a negative number
		}
		w = worse(w, ClassOfOperator(op))
		switch {
		case comparison[op]:
			return worse(w, c.alike(e.Lexpr, e.Rexpr))
		case op == "||":
			return worse(w, c.text([]*pgquery.Node{e.Lexpr, e.Rexpr}))
		}
		return w
	case pgquery.A_Expr_Kind_AEXPR_DISTINCT, pgquery.A_Expr_Kind_AEXPR_NOT_DISTINCT, pgquery.A_Expr_Kind_AEXPR_NULLIF:
		return worse(w, c.alike(e.Lexpr, e.Rexpr))
	case pgquery.A_Expr_Kind_AEXPR_IN, pgquery.A_Expr_Kind_AEXPR_BETWEEN, pgquery.A_Expr_Kind_AEXPR_NOT_BETWEEN:
		return worse(w, c.alike(append([]*pgquery.Node{e.Lexpr}, e.Rexpr.GetList().GetItems()...)...))
	case pgquery.A_Expr_Kind_AEXPR_LIKE, pgquery.A_Expr_Kind_AEXPR_ILIKE:
		if e.Rexpr.GetAConst() == nil {
			return worse(w, ClassRaising)
		}
		return w
	case pgquery.A_Expr_Kind_AEXPR_OP_ANY, pgquery.A_Expr_Kind_AEXPR_OP_ALL, pgquery.A_Expr_Kind_AEXPR_SIMILAR:
		return worse(w, ClassRaising)
	}
	return ClassForbidden
}

func (c *classifier) call(f *pgquery.FuncCall) Class {
	w := c.list(f.Args)
	w = worse(w, c.expr(f.AggFilter))
	for _, o := range f.AggOrder {
		w = worse(w, c.expr(o.GetSortBy().GetNode()))
	}
	if f.Over != nil {
		w = worse(w, ClassRaising)
	}
	name := nameOf(f)
	switch name {
	case MarkerTry, MarkerList, MarkerMap, MarkerLambda, MarkerInterval, "similar_to_escape":
		return worse(w, ClassRaising)
	case MarkerStruct, MarkerField, MarkerEntry:
		return w
	}
	class := ClassOf(name)
	if cuts(f) && family(c.typeOf(f.Args[0])) == "varchar" {
		class = ClassLeakproof
	}
	if class != ClassLeakproof || IsAggregate(name) {
		return worse(w, class)
	}
	switch name {
	case "coalesce", "ifnull", "nullif", "list_value":
		return worse(w, c.alike(f.Args...))
	case "list_contains", "list_has", "array_contains", "array_has", "contains":
		return worse(w, c.member(f.Args))
	case "concat":
		return worse(w, c.text(f.Args))
	case "year", "month", "day", "sign", "isfinite", "isinf", "isnan":
		if len(f.Args) == 1 && f.Args[0].GetAConst().GetSval() != nil {
			return ClassRaising
		}
	}
	return w
}

// oneWithLiterals reports whether all of ns but one are string literals or NULL. Those take the type of the one, whatever it is.
func (c *classifier) oneWithLiterals(ns []*pgquery.Node) bool {
	others := 0
	for _, n := range ns {
		if k := n.GetAConst(); k == nil || !k.Isnull && c.typeOf(n) != "literal" {
			others++
			if c.types != nil && c.typeOf(n) == "" {
				return false // a caller who knows types does not know this one: it may be nested
			}
		}
	}
	return others <= 1
}

// alike returns ClassLeakproof if values of ns can be compared without a cast that could raise on a column's value.
func (c *classifier) alike(ns ...*pgquery.Node) Class {
	if !c.literalsFit(ns) {
		return ClassRaising
	}
	if c.oneWithLiterals(ns) {
		return ClassLeakproof
	}
	if some, class := c.decimals(ns); some {
		return class
	}
	kind := ""
	for _, n := range ns {
		if c := n.GetAConst(); c != nil && c.Isnull {
			continue
		}
		f := family(c.typeOf(n))
		switch {
		case f == "":
			return ClassRaising
		case f == "literal" || kind == f:
			// A string literal takes the other side's type, once, when the statement is bound.
		case kind == "" || kind == "literal":
			kind = f
		case numeric[kind] && numeric[f] && !(kind == "fraction" && f == "hugeint" || f == "fraction" && kind == "hugeint"):
			kind = wider(kind, f)
		default:
			return ClassRaising
		}
	}
	return ClassLeakproof
}

// numeric holds the types between which a comparison casts to the wider without loss.
var numeric = map[string]bool{
	"number": true, "fraction": true, "tinyint": true, "smallint": true, "integer": true, "bigint": true, "hugeint": true,
	"utinyint": true, "usmallint": true, "uinteger": true, "ubigint": true, "real": true, "double": true,
}

func rank(t string) int {
	return strings.Index(" number fraction tinyint utinyint smallint usmallint integer uinteger bigint ubigint hugeint real double ", " "+t+" ")
}

func wider(a, b string) string {
	if rank(a) > rank(b) {
		return a
	}
	return b
}

// family folds the spelling of a type: lower case, no width. "literal" is an untyped string literal, "number" an integer
// and "fraction" a short number with a point. DECIMAL counts only up to 18 digits: two of those, or one and a short number, have
// a common type that holds both.
func family(t string) string {
	t = strings.ToLower(t)
	if strings.ContainsAny(t, "[<") || strings.HasPrefix(t, "struct") || strings.HasPrefix(t, "map") || strings.HasPrefix(t, "union") {
		return ""
	}
	switch t {
	case "literal", "number", "fraction":
		return t
	case "timestamp with time zone":
		return "timestamptz"
	case "time with time zone":
		return "timetz"
	case "float":
		return "real"
	}
	name, mods, _ := strings.Cut(t, "(")
	if typeNames[name] == "decimal" {
		width, err := strconv.Atoi(strings.TrimSpace(strings.FieldsFunc(mods+" ", func(r rune) bool { return r == ',' || r == ')' })[0]))
		if err != nil || width > 18 {
			return ""
		}
	}
	return typeNames[name]
}

// typeOf returns the type of n as far as its own form says it.
func (c *classifier) typeOf(n *pgquery.Node) string {
	switch t := n.GetNode().(type) {
	case *pgquery.Node_ColumnRef:
		if c.types != nil {
			return c.types(t.ColumnRef)
		}
	case *pgquery.Node_AConst:
		switch t.AConst.Val.(type) {
		case *pgquery.A_Const_Sval:
			return "literal"
		case *pgquery.A_Const_Ival:
			return "number"
		case *pgquery.A_Const_Fval:
			if v := t.AConst.GetFval().GetFval(); len(v) <= 18 && strings.Trim(v, ".0123456789") == "" {
				return "fraction"
			}
		case *pgquery.A_Const_Boolval:
			return "boolean"
		}
	case *pgquery.Node_TypeCast:
		return writtenType(t.TypeCast.TypeName)
	case *pgquery.Node_CoalesceExpr:
		return c.coalesced(t.CoalesceExpr.Args)
	case *pgquery.Node_AExpr:
		if e := t.AExpr; e.Kind == pgquery.A_Expr_Kind_AEXPR_OP && len(e.Name) == 1 {
			switch op := e.Name[0].GetString_().GetSval(); {
			case op == "-" && e.Lexpr == nil:
				return c.typeOf(e.Rexpr)
			case op == "||": // or of another class, see text
				return "varchar"
			}
		}
	case *pgquery.Node_FuncCall:
		switch nameOf(t.FuncCall) {
		case "lower", "upper", "lcase", "ucase", "trim", "ltrim", "rtrim", "md5", "sha256", "sha1", "concat", "concat_ws", "typeof", "left", "right",
			"substring", "substr", "replace":
			return "varchar"
		case "length", "char_length", "character_length", "len", "strlen", "bit_length", "instr", "strpos", "position", "year", "month", "day":
			return "bigint"
		case "starts_with", "ends_with", "prefix", "suffix", "contains", "isnan", "isinf", "isfinite", "json_valid":
			return "boolean"
		}
	}
	return ""
}
