package duckdb

import (
	"slices"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"

	"gatehouse/classify"
)

// The engine gives aggregates their values in the order in which its threads come by them. That order is up to how raw rows lie in files
// and row groups, hidden ones among them, and to the schedule. So an aggregate whose value hangs on it does not go to the engine as it is:
//
//   - sums, averages and dispersions of floating-point numbers are aggregates of ours, see exact.c and dispersion.c, and so are sums and averages
//     of integers and decimals of 128 bits, which would fail by the order in which they come, see wide.c;
//   - others get their arguments sorted: product(x) becomes product(x ORDER BY x);
//   - any_value(x) becomes min(x).
//
// A sum of smaller whole numbers or decimals stays the engine's. Which type an argument has the engine says itself: a first shape, in which each
// such call has a tag, is planned, and its plan has the types. The plan of the last shape must have no loose aggregate any more. What
// remains open is listed in docs/security.md.

// form is how a call is printed.
type form int

const (
	asWritten form = iota
	exact          // one of ours
	sorted         // of its arguments in their own order
	least          // min
)

// summing are the sums and averages, and the dispersions, which are made of sums, and which one of ours takes the place of each.
var summing = map[string]string{
	"sum": exactSum, "fsum": exactSum, "kahan_sum": exactSum, "sumkahan": exactSum, "avg": exactAvg, "mean": exactAvg, "favg": exactAvg,
	"stddev": exactStddevSamp, "stddev_samp": exactStddevSamp, "stddev_pop": exactStddevPop, "variance": exactVarSamp, "var_samp": exactVarSamp,
	"var_pop": exactVarPop, "sem": exactSem,
}

// swaying are further aggregates whose value hangs on the order of their input: most of them compute in floating point, and the others take
// the first of equal ones, or keep what fits.
var swaying = set(
	"skewness", "kurtosis", "kurtosis_pop", "entropy", "product",
	"corr", "covar_samp", "covar_pop", "regr_avgx", "regr_avgy", "regr_intercept", "regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy",
	"mode", "approx_quantile", "approx_top_k",
)

// orderly holds the calls of a statement that need a form.
type orderly struct {
	tree     *pgquery.SelectStmt           // a copy
	calls    []*pgquery.FuncCall           // outer ones first
	keys     []int                         // by call: equal ones have one key
	unnamed  map[*pgquery.ResTarget]string // SELECTs of such columns
	expanded map[*pgquery.ResTarget]bool   // has what was a macro
}

// needsForms reports whether there are such calls in tree.
func needsForms(tree *pgquery.SelectStmt) bool {
	for _, f := range classify.All[*pgquery.FuncCall](tree) {
		if needsForm(f) || macros[callName(f)] != nil {
			return true
		}
	}
	return false
}

// newOrderly finds the calls in tree.
func newOrderly(tree *pgquery.SelectStmt) (*orderly, error) {
	o := &orderly{tree: proto.CloneOf(tree), unnamed: map[*pgquery.ResTarget]string{}, expanded: map[*pgquery.ResTarget]bool{}}
	if err := o.collectNames(); err != nil {
		return nil, err
	}
	o.expandMacros()
	known := map[string]int{}
	for _, f := range classify.All[*pgquery.FuncCall](o.tree) {
		if !needsForm(f) {
			continue
		}
		text, err := printExpr(&pgquery.Node{Node: &pgquery.Node_FuncCall{FuncCall: f}})
		if err != nil {
			return nil, internal("printing a call: %w", err)
		}
		key, ok := known[text]
		if !ok {
			key = len(known)
			known[text] = key
		}
		o.calls, o.keys = append(o.calls, f), append(o.keys, key)
	}
	return o, nil
}

func callName(f *pgquery.FuncCall) string {
	if len(f.GetFuncname()) != 1 {
		return ""
	}
	return f.Funcname[0].GetString_().GetSval()
}

func needsForm(f *pgquery.FuncCall) bool {
	name := callName(f)
	return len(f.Args) > 0 && !f.AggWithinGroup && (summing[name] != "" || swaying[name] || name == "any_value" && len(f.AggOrder) == 0)
}

// typed reports whether some call's form is up to the type of its argument.
func (o *orderly) typed() bool {
	for _, f := range o.calls {
		if summing[callName(f)] != "" {
			return true
		}
	}
	return false
}

// collectNames notes what the engine would call each output column without a name that has such a call: its own text.
func (o *orderly) collectNames() error {
	for _, sel := range classify.All[*pgquery.SelectStmt](o.tree) {
		for _, n := range sel.TargetList {
			t := n.GetResTarget()
			if t == nil || t.Name != "" {
				continue
			}
			needed := false
			for _, f := range classify.All[*pgquery.FuncCall](t.Val) {
				needed = needed || needsForm(f) || macros[callName(f)] != nil
			}
			if !needed {
				continue
			}
			only := &pgquery.SelectStmt{
				TargetList: []*pgquery.Node{n}, Op: pgquery.SetOperation_SETOP_NONE, LimitOption: pgquery.LimitOption_LIMIT_OPTION_DEFAULT,
			}
			for _, w := range sel.WindowClause {
				if w.GetWindowDef().GetName() != classify.QualifyWindow {
					only.WindowClause = append(only.WindowClause, w)
				}
			}
			text, err := printSelect(only)
			if err != nil {
				return internal("printing a column: %w", err)
			}
			o.unnamed[t] = text
		}
	}
	return nil
}

// tagged returns the tree with a condition in each sum's FILTER that says which call it is.
func (o *orderly) tagged() *pgquery.SelectStmt {
	return o.rewrite(func(i int, f *pgquery.FuncCall) {
		if summing[callName(f)] == "" {
			return
		}
		tag := &pgquery.Node{Node: &pgquery.Node_AExpr{AExpr: &pgquery.A_Expr{
			Kind: pgquery.A_Expr_Kind_AEXPR_OP, Name: []*pgquery.Node{pgquery.MakeStrNode("=")},
			Lexpr: pgquery.MakeAConstIntNode(int64(o.keys[i]), -1), Rexpr: pgquery.MakeAConstIntNode(int64(o.keys[i]), -1),
		}}}
		if f.AggFilter != nil {
			tag = &pgquery.Node{Node: &pgquery.Node_BoolExpr{BoolExpr: &pgquery.BoolExpr{
				Boolop: pgquery.BoolExprType_AND_EXPR, Args: []*pgquery.Node{f.AggFilter, tag},
			}}}
		}
		f.AggFilter = tag
	}, nil)
}

// settled returns the tree with each call in its form. types are what the plan of the tagged tree says of each key; nil: nothing is known. names
// are the engine's names of columns that have no others, see unnamed.
func (o *orderly) settled(types map[int]string, constant bool, names map[string]string) *pgquery.SelectStmt {
	targets, changed := classify.All[*pgquery.ResTarget](o.tree), o.changed(types)
	return o.rewrite(func(i int, f *pgquery.FuncCall) {
		switch o.formOf(i, types) {
		case exact:
			f.Funcname, f.AggOrder = []*pgquery.Node{pgquery.MakeStrNode(ours(callName(f), types[o.keys[i]]))}, nil
		case sorted:
			f.AggOrder = sortKeys(f.Args, constant)
		case least:
			f.Funcname = []*pgquery.Node{pgquery.MakeStrNode("min")}
		}
	}, func(i int) string {
		if t := targets[i]; o.unnamed[t] != "" && o.renames(t, changed) {
			return names[o.unnamed[t]]
		}
		return ""
	})
}

// settles reports whether all calls stay as they are written.
func (o *orderly) settles(types map[int]string) bool {
	for i := range o.calls {
		if o.formOf(i, types) != asWritten {
			return false
		}
	}
	return len(o.expanded) == 0 && len(o.calls) > 0
}

// trusts reports whether some sum stays as it is because of its type.
func (o *orderly) trusts(types map[int]string) bool {
	for i := range o.calls {
		if o.formOf(i, types) == asWritten {
			return true
		}
	}
	return false
}

func (o *orderly) formOf(i int, types map[int]string) form {
	name := callName(o.calls[i])
	switch {
	case name == "any_value":
		return least
	case summing[name] == "":
		return sorted
	}
	switch t := types[o.keys[i]]; {
	case isExact(name, t):
		return asWritten
	case ours(name, t) != "":
		return exact
	}
	return sorted
}

// changed are the calls that get another form.
func (o *orderly) changed(types map[int]string) map[*pgquery.FuncCall]bool {
	out := map[*pgquery.FuncCall]bool{}
	for i, f := range o.calls {
		if o.formOf(i, types) != asWritten {
			out[f] = true
		}
	}
	return out
}

// renames reports whether the text of t changes.
func (o *orderly) renames(t *pgquery.ResTarget, changed map[*pgquery.FuncCall]bool) bool {
	return o.expanded[t] || slices.ContainsFunc(classify.All[*pgquery.FuncCall](t.Val), func(f *pgquery.FuncCall) bool { return changed[f] })
}

// rewrite returns a copy of the tree in which change was called for each call, inner ones first, and columns have the names that name gives.
func (o *orderly) rewrite(change func(i int, f *pgquery.FuncCall), name func(i int) string) *pgquery.SelectStmt {
	place := map[*pgquery.FuncCall]int{}
	for i, f := range o.calls {
		place[f] = i
	}
	originals := classify.All[*pgquery.FuncCall](o.tree)
	tree := proto.CloneOf(o.tree)
	targets := classify.All[*pgquery.ResTarget](tree)
	copies := classify.All[*pgquery.FuncCall](tree)
	for i := len(originals) - 1; i >= 0; i-- {
		if k, ok := place[originals[i]]; ok {
			change(k, copies[i])
		}
	}
	for i, t := range targets {
		if name == nil {
			break
		}
		if n := name(i); n != "" {
			t.Name = n
		}
	}
	return tree
}

// sortKeys sorts by the arguments. A literal gives no order; the engine drops a key that the rows are grouped by, and then does not sort at
// all, which constant keeps it from.
func sortKeys(args []*pgquery.Node, constant bool) []*pgquery.Node {
	var keys []*pgquery.Node
	by := func(n *pgquery.Node) {
		keys = append(keys, &pgquery.Node{Node: &pgquery.Node_SortBy{SortBy: &pgquery.SortBy{
			Node: n, SortbyDir: pgquery.SortByDir_SORTBY_DEFAULT, SortbyNulls: pgquery.SortByNulls_SORTBY_NULLS_DEFAULT,
		}}})
	}
	for _, a := range args {
		if !isLiteral(a) {
			by(withoutCollation(a))
		}
	}
	if len(keys) == 0 || constant {
		by(pgquery.MakeAConstIntNode(1, -1))
	}
	return keys
}

// isLiteral reports whether n is a constant as the engine's parser sees it, once it has values of parameters.
func isLiteral(n *pgquery.Node) bool {
	if e := n.GetAExpr(); e != nil && e.Kind == pgquery.A_Expr_Kind_AEXPR_OP && e.Lexpr == nil {
		return isLiteral(e.Rexpr)
	}
	return n.GetAConst() != nil || n.GetParamRef() != nil
}

// withoutCollation keeps texts apart that a collation takes for equal.
func withoutCollation(n *pgquery.Node) *pgquery.Node {
	n = proto.CloneOf(n)
	for _, x := range classify.All[*pgquery.Node](n) {
		for c := x.GetCollateClause(); c != nil; c = x.GetCollateClause() {
			x.Node = c.Arg.Node
		}
	}
	return n
}

// macros are those of the engine over sums. A macro takes neither FILTER nor DISTINCT nor OVER.
var macros = map[string]func(args []*pgquery.Node) *pgquery.Node{
	"geomean": geometricMean, "geometric_mean": geometricMean, "wavg": weightedAverage, "weighted_avg": weightedAverage,
}

func geometricMean(args []*pgquery.Node) *pgquery.Node {
	if len(args) != 1 {
		return nil
	}
	return function("exp", function("avg", function("ln", args[0])))
}

func weightedAverage(args []*pgquery.Node) *pgquery.Node {
	if len(args) != 2 {
		return nil
	}
	value, weight := args[0], args[1]
	counted := &pgquery.Node{Node: &pgquery.Node_CaseExpr{CaseExpr: &pgquery.CaseExpr{
		Args: []*pgquery.Node{{Node: &pgquery.Node_CaseWhen{CaseWhen: &pgquery.CaseWhen{
			Expr: &pgquery.Node{Node: &pgquery.Node_NullTest{NullTest: &pgquery.NullTest{
				Arg: proto.CloneOf(value), Nulltesttype: pgquery.NullTestType_IS_NOT_NULL,
			}}},
			Result: proto.CloneOf(weight),
		}}}},
		Defresult: pgquery.MakeAConstIntNode(0, -1),
	}}}
	return operation("/", function("sum", operation("*", value, weight)), function("sum", counted))
}

func function(name string, arg *pgquery.Node) *pgquery.Node {
	return &pgquery.Node{Node: &pgquery.Node_FuncCall{FuncCall: &pgquery.FuncCall{
		Funcname: []*pgquery.Node{pgquery.MakeStrNode(name)}, Args: []*pgquery.Node{arg}, Funcformat: pgquery.CoercionForm_COERCE_EXPLICIT_CALL,
	}}}
}

func operation(op string, left, right *pgquery.Node) *pgquery.Node {
	return &pgquery.Node{Node: &pgquery.Node_AExpr{AExpr: &pgquery.A_Expr{
		Kind: pgquery.A_Expr_Kind_AEXPR_OP, Name: []*pgquery.Node{pgquery.MakeStrNode(op)}, Lexpr: left, Rexpr: right,
	}}}
}

// expandMacros puts what macros stand for in their places.
func (o *orderly) expandMacros() {
	above := map[*pgquery.Node][]*pgquery.ResTarget{}
	for t := range o.unnamed {
		for _, n := range classify.All[*pgquery.Node](t.Val) {
			above[n] = append(above[n], t)
		}
	}
	nodes := classify.All[*pgquery.Node](o.tree)
	for i := len(nodes) - 1; i >= 0; i-- {
		f := nodes[i].GetFuncCall()
		expand := macros[callName(f)]
		if expand == nil || f.AggDistinct || f.AggFilter != nil || f.Over != nil || len(f.AggOrder) > 0 {
			continue
		}
		if x := expand(f.Args); x != nil {
			nodes[i].Node = x.Node
			for _, t := range above[nodes[i]] {
				o.expanded[t] = true
			}
		}
	}
}

// whole are the integers of which the engine adds any number without passing a bound.
var whole = set("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")

// several stands for types of which each is exact and none could hold the others' numbers.
const several = "several"

// isExact reports whether the engine adds values of a type without rounding and without a bound that could be passed on the way.
func isExact(name, typ string) bool {
	if disperses(name) {
		return false
	}
	switch typ {
	case "BOOLEAN", "BIGNUM", several:
		return true
	case "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIME", "TIME WITH TIME ZONE":
		return name != "sum"
	}
	width, _, ok := decimal(typ)
	return whole[typ] || ok && width <= safeDigits
}
