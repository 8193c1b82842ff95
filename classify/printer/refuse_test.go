package printer

import (
	"errors"
	"strings"
	"testing"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"

	"gatehouse/classify"
)

// first returns the expression that a statement selects first.
func first(s *pgquery.SelectStmt) *pgquery.Node { return s.TargetList[0].GetResTarget().Val }

func text(s string) *pgquery.Node { return pgquery.MakeStrNode(s) }

// The printer prints what it knows, and a tree that has one thing more or less is refused: the text would mean something else than the
// tree that policy was applied to.
func TestUnknownTreesAreRefused(t *testing.T) {
	type sel = pgquery.SelectStmt
	aexpr := func(change func(*pgquery.A_Expr)) func(*sel) { return func(s *sel) { change(first(s).GetAExpr()) } }
	call := func(change func(*pgquery.FuncCall)) func(*sel) {
		return func(s *sel) { change(first(s).GetFuncCall()) }
	}
	frame := func(change func(*pgquery.WindowDef)) func(*sel) {
		return func(s *sel) { change(first(s).GetFuncCall().Over) }
	}
	cast := func(change func(*pgquery.TypeCast)) func(*sel) {
		return func(s *sel) { change(first(s).GetTypeCast()) }
	}
	boolean := func(change func(*pgquery.BoolExpr)) func(*sel) {
		return func(s *sel) { change(first(s).GetBoolExpr()) }
	}
	sublink := func(change func(*pgquery.SubLink)) func(*sel) { return func(s *sel) { change(first(s).GetSubLink()) } }
	join := func(change func(*pgquery.JoinExpr)) func(*sel) {
		return func(s *sel) { change(s.FromClause[0].GetJoinExpr()) }
	}
	function := func(change func(*pgquery.RangeFunction)) func(*sel) {
		return func(s *sel) { change(s.FromClause[0].GetRangeFunction()) }
	}
	sort := func(change func(*pgquery.SortBy)) func(*sel) {
		return func(s *sel) { change(s.SortClause[0].GetSortBy()) }
	}
	cte := func(change func(*pgquery.CommonTableExpr)) func(*sel) {
		return func(s *sel) { change(s.WithClause.Ctes[0].GetCommonTableExpr()) }
	}
	star := func(change func(part *pgquery.FuncCall)) func(*sel) {
		return func(s *sel) { change(first(s).GetFuncCall().Args[0].GetFuncCall()) }
	}
	for _, c := range []struct {
		text   string
		change func(*sel)
	}{
		// Statements.
		{"SELECT a FROM t", func(s *sel) { s.IntoClause = &pgquery.IntoClause{} }},
		{"SELECT a FROM t", func(s *sel) { s.LockingClause = []*pgquery.Node{{}} }},
		{"SELECT a FROM t GROUP BY a", func(s *sel) { s.GroupDistinct = true }},
		{"SELECT a FROM t", func(s *sel) { s.TargetList = nil }},
		{"SELECT a FROM t", func(s *sel) { s.TargetList[0] = text("x") }},
		{"SELECT a FROM t", func(s *sel) { s.TargetList[0].GetResTarget().Indirection = []*pgquery.Node{text("x")} }},
		{"SELECT a UNION SELECT b", func(s *sel) { s.Op = 99 }},
		{"SELECT a UNION SELECT b", func(s *sel) { s.Rarg = nil }},
		{"SELECT a UNION SELECT b", func(s *sel) { s.Larg = nil }},
		{"SELECT a FROM t LIMIT 1", func(s *sel) { s.LimitOption = pgquery.LimitOption_LIMIT_OPTION_WITH_TIES }},
		{"WITH x AS (SELECT 1) SELECT a FROM x", cte(func(c *pgquery.CommonTableExpr) { c.SearchClause = &pgquery.CTESearchClause{} })},
		{"WITH x AS (SELECT 1) SELECT a FROM x", cte(func(c *pgquery.CommonTableExpr) { c.CycleClause = &pgquery.CTECycleClause{} })},
		{"WITH x AS (SELECT 1) SELECT a FROM x", cte(func(c *pgquery.CommonTableExpr) { c.Ctequery = text("x") })},
		{"WITH x AS (SELECT 1) SELECT a FROM x", cte(func(c *pgquery.CommonTableExpr) { c.Ctename = "" })},
		{"WITH x(y) AS (SELECT 1) SELECT a FROM x", cte(func(c *pgquery.CommonTableExpr) {
			c.Aliascolnames[0] = first(&sel{TargetList: []*pgquery.Node{pgquery.MakeResTargetNodeWithVal(pgquery.MakeAConstIntNode(1, 0), 0)}})
		})},
		{"WITH x AS (SELECT 1) SELECT a FROM x", func(s *sel) { s.WithClause.Ctes[0] = text("x") }},
		{"SELECT a FROM t QUALIFY a > 1", func(s *sel) { s.WindowClause[0].GetWindowDef().OrderClause = nil }},
		{"SELECT a FROM t QUALIFY a > 1", func(s *sel) {
			w := s.WindowClause[0].GetWindowDef()
			w.OrderClause = append(w.OrderClause, w.OrderClause[0])
		}},
		{"SELECT sum(a) OVER w FROM t WINDOW w AS (ORDER BY b)", func(s *sel) { s.WindowClause[0] = text("x") }},
		{"SELECT a FROM t ORDER BY a", func(s *sel) { s.SortClause[0] = text("x") }},
		{"SELECT a FROM t ORDER BY a", sort(func(s *pgquery.SortBy) { s.UseOp = []*pgquery.Node{text("<")} })},
		{"SELECT a FROM t ORDER BY a", sort(func(s *pgquery.SortBy) { s.SortbyDir = pgquery.SortByDir_SORTBY_USING })},
		{"SELECT a FROM t ORDER BY a", sort(func(s *pgquery.SortBy) { s.SortbyNulls = 99 })},
		// What stands in FROM.
		{"SELECT a FROM t", func(s *sel) { s.FromClause[0].GetRangeVar().Inh = false }},
		{"SELECT a FROM t", func(s *sel) { s.FromClause[0] = text("x") }},
		{"SELECT a FROM (SELECT 1) q", func(s *sel) { s.FromClause[0].GetRangeSubselect().Subquery = text("x") }},
		{"SELECT a FROM range(3) r", function(func(f *pgquery.RangeFunction) { f.IsRowsfrom = true })},
		{"SELECT a FROM range(3) r", function(func(f *pgquery.RangeFunction) { f.Coldeflist = []*pgquery.Node{text("x")} })},
		{"SELECT a FROM range(3) r", function(func(f *pgquery.RangeFunction) { f.Functions = append(f.Functions, f.Functions[0]) })},
		{"SELECT a FROM range(3) r", function(func(f *pgquery.RangeFunction) { f.Functions = nil })},
		{"SELECT a FROM range(3) r", function(func(f *pgquery.RangeFunction) { f.Functions[0].GetList().Items[0] = text("x") })},
		{"SELECT a FROM t JOIN u USING (a)", join(func(j *pgquery.JoinExpr) { j.JoinUsingAlias = &pgquery.Alias{Aliasname: "x"} })},
		{"SELECT a FROM t JOIN u USING (a)", join(func(j *pgquery.JoinExpr) { j.Jointype = pgquery.JoinType_JOIN_SEMI })},
		{"SELECT a FROM t JOIN u USING (a)", join(func(j *pgquery.JoinExpr) { j.UsingClause[0] = pgquery.MakeAConstIntNode(1, 0) })},
		// Calls.
		{"SELECT abs(a)", call(func(f *pgquery.FuncCall) { f.FuncVariadic = true })},
		{"SELECT abs(a)", call(func(f *pgquery.FuncCall) { f.Funcname = nil })},
		{"SELECT abs(a)", call(func(f *pgquery.FuncCall) { f.Funcname = append([]*pgquery.Node{text("main")}, f.Funcname...) })},
		{"SELECT abs(a)", call(func(f *pgquery.FuncCall) { f.Funcname[0] = text("version") })},
		{"SELECT abs(a)", call(func(f *pgquery.FuncCall) { f.Funcname[0] = text("current_schema") })},
		{"SELECT abs(a)", call(func(f *pgquery.FuncCall) { f.Funcname[0] = text("current_catalog") })},
		{"SELECT abs(a)", call(func(f *pgquery.FuncCall) { f.Funcname[0] = text("current_database") })},
		{"SELECT abs(a)", call(func(f *pgquery.FuncCall) { f.Funcname[0] = text(classify.MarkerPrefix + "x") })},
		{"SELECT TRY_CAST(a AS INT)", call(func(f *pgquery.FuncCall) { f.Args = append(f.Args, f.Args[0]) })},
		{"SELECT TRY_CAST(a AS INT)", call(func(f *pgquery.FuncCall) { f.Args[0] = text("x") })},
		{"SELECT list_transform([1], lambda x: x)", func(s *sel) {
			l := first(s).GetFuncCall().Args[1].GetFuncCall()
			l.Args = l.Args[1:]
		}},
		{"SELECT {'a': 1}", call(func(f *pgquery.FuncCall) { f.Args[0].GetFuncCall().Args = f.Args[0].GetFuncCall().Args[:1] })},
		{"SELECT {'a': 1}", call(func(f *pgquery.FuncCall) { f.Args[0] = text("x") })},
		{"SELECT {'a': 1}", call(func(f *pgquery.FuncCall) { f.Args[0].GetFuncCall().Funcname[0] = text(classify.MarkerEntry) })},
		{"SELECT MAP {'a': 1}", call(func(f *pgquery.FuncCall) { f.Args[0].GetFuncCall().Funcname[0] = text(classify.MarkerField) })},
		{"SELECT INTERVAL (a) DAY FROM t", call(func(f *pgquery.FuncCall) { f.Args = f.Args[:1] })},
		{"SELECT INTERVAL (a) DAY FROM t", call(func(f *pgquery.FuncCall) { f.Args[1] = pgquery.MakeAConstStrNode("fortnight", 0) })},
		{"SELECT sum(a) OVER (ROWS CURRENT ROW) FROM t", frame(func(w *pgquery.WindowDef) { w.FrameOptions |= 0x00040 })},
		{"SELECT sum(a) OVER (ROWS CURRENT ROW) FROM t", frame(func(w *pgquery.WindowDef) { w.FrameOptions &^= frameRows })},
		{"SELECT sum(a) OVER (ROWS CURRENT ROW) FROM t", frame(func(w *pgquery.WindowDef) { w.FrameOptions |= frameExcludeGroup | frameExcludeTies })},
		{"SELECT sum(a) OVER (ROWS CURRENT ROW) FROM t", frame(func(w *pgquery.WindowDef) { w.FrameOptions &^= frameStartCurrent })},
		{"SELECT sum(a) OVER (ROWS BETWEEN CURRENT ROW AND CURRENT ROW) FROM t", frame(func(w *pgquery.WindowDef) { w.FrameOptions &^= frameEndCurrent })},
		{"SELECT * EXCLUDE (a) FROM t", star(func(f *pgquery.FuncCall) { f.Args = nil })},
		{"SELECT * EXCLUDE (a) FROM t", star(func(f *pgquery.FuncCall) { f.Funcname[0] = text("abs") })},
		{"SELECT * EXCLUDE (a) FROM t", star(func(f *pgquery.FuncCall) { f.Funcname[0] = text(classify.MarkerReplace) })},
		{"SELECT * REPLACE (a + 1 AS a) FROM t", star(func(f *pgquery.FuncCall) { f.Args[0].GetFuncCall().Args = f.Args[0].GetFuncCall().Args[:1] })},
		{"SELECT * REPLACE (a + 1 AS a) FROM t", star(func(f *pgquery.FuncCall) { f.Args[0].GetFuncCall().Funcname[0] = text("abs") })},
		{"SELECT * REPLACE (a + 1 AS a) FROM t", star(func(f *pgquery.FuncCall) { f.Funcname[0] = text(classify.MarkerExclude) })},
		// Expressions.
		{"SELECT a + $1", func(s *sel) { first(s).GetAExpr().Rexpr.GetParamRef().Number = 0 }},
		{"SELECT a", func(s *sel) { first(s).GetColumnRef().Fields = nil }},
		{"SELECT a", func(s *sel) { first(s).GetColumnRef().Fields[0] = pgquery.MakeAConstIntNode(1, 0) }},
		{"SELECT a", func(s *sel) { first(s).GetColumnRef().Fields[0] = text("") }},
		{"SELECT a", func(s *sel) { first(s).GetColumnRef().Fields[0] = text("a\x00b") }},
		{"SELECT a", func(s *sel) { first(s).GetColumnRef().Fields[0] = text("a\xff") }},
		{"SELECT a", func(s *sel) { first(s).GetColumnRef().Fields[0] = text("\x00") }},
		{"SELECT a", func(s *sel) { first(s).GetColumnRef().Fields[0] = text("a\x00") }},
		{"SELECT 'a'", func(s *sel) { first(s).GetAConst().GetSval().Sval = "\x00" }},
		{"SELECT 'a'", func(s *sel) { first(s).GetAConst().GetSval().Sval = "a\x00b" }},
		{"SELECT a NOT BETWEEN 1 AND 2", aexpr(func(e *pgquery.A_Expr) { e.Name[0] = text("BETWEEN") })},
		{"SELECT a", func(s *sel) { s.TargetList[0].GetResTarget().Val = &pgquery.Node{Node: &pgquery.Node_SetToDefault{}} }},
		{"SELECT 'a'", func(s *sel) { first(s).GetAConst().GetSval().Sval = "a\x00" }},
		{"SELECT 'a'", func(s *sel) { first(s).GetAConst().GetSval().Sval = "\xff" }},
		{"SELECT 'a'", func(s *sel) {
			first(s).GetAConst().Val = &pgquery.A_Const_Bsval{Bsval: &pgquery.BitString{Bsval: "b1"}}
		}},
		{"SELECT 1.5", func(s *sel) { first(s).GetAConst().GetFval().Fval = "" }},
		{"SELECT 1.5", func(s *sel) { first(s).GetAConst().GetFval().Fval = "1.5.5" }},
		{"SELECT 1.5", func(s *sel) { first(s).GetAConst().GetFval().Fval = "inf" }},
		{"SELECT 1.5", func(s *sel) { first(s).GetAConst().GetFval().Fval = "1-1" }},
		{"SELECT a + b", aexpr(func(e *pgquery.A_Expr) { e.Name = append(e.Name, text("+")) })},
		{"SELECT a + b", aexpr(func(e *pgquery.A_Expr) { e.Name[0] = text("+-") })},
		{"SELECT a + b", aexpr(func(e *pgquery.A_Expr) { e.Kind = 99 })},
		{"SELECT - a", aexpr(func(e *pgquery.A_Expr) { e.Name[0] = text("-- ") })},
		{"SELECT a = ANY (b)", aexpr(func(e *pgquery.A_Expr) { e.Name[0] = text("??") })},
		{"SELECT a IS DISTINCT FROM b", aexpr(func(e *pgquery.A_Expr) { e.Name[0] = text("<>") })},
		{"SELECT nullif(a, b)", aexpr(func(e *pgquery.A_Expr) { e.Name[0] = text("<>") })},
		{"SELECT a IN (1)", aexpr(func(e *pgquery.A_Expr) { e.Name[0] = text("<") })},
		{"SELECT a IN (1)", aexpr(func(e *pgquery.A_Expr) { e.Rexpr.GetList().Items = nil })},
		{"SELECT a LIKE 'x'", aexpr(func(e *pgquery.A_Expr) { e.Name[0] = text("~") })},
		{"SELECT a LIKE 'x' ESCAPE 'y'", aexpr(func(e *pgquery.A_Expr) { e.Rexpr.GetFuncCall().Args = e.Rexpr.GetFuncCall().Args[:1] })},
		{"SELECT a SIMILAR TO 'x'", aexpr(func(e *pgquery.A_Expr) { e.Rexpr.GetFuncCall().Args = append(e.Rexpr.GetFuncCall().Args, text("y")) })},
		{"SELECT a BETWEEN 1 AND 2", aexpr(func(e *pgquery.A_Expr) { e.Rexpr.GetList().Items = e.Rexpr.GetList().Items[:1] })},
		{"SELECT a BETWEEN 1 AND 2", aexpr(func(e *pgquery.A_Expr) { e.Name[0] = text("NOT BETWEEN") })},
		{"SELECT NOT a", boolean(func(b *pgquery.BoolExpr) { b.Args = append(b.Args, b.Args[0]) })},
		{"SELECT NOT a", boolean(func(b *pgquery.BoolExpr) { b.Args = nil })},
		{"SELECT a AND b", boolean(func(b *pgquery.BoolExpr) { b.Args = b.Args[:1] })},
		{"SELECT a AND b", boolean(func(b *pgquery.BoolExpr) { b.Boolop = 99 })},
		{"SELECT a IS NULL", func(s *sel) { first(s).GetNullTest().Nulltesttype = 99 }},
		{"SELECT a IS TRUE", func(s *sel) { first(s).GetBooleanTest().Booltesttype = 99 }},
		{"SELECT a IN (SELECT 1)", sublink(func(l *pgquery.SubLink) { l.SubLinkType = pgquery.SubLinkType_ROWCOMPARE_SUBLINK })},
		{"SELECT a IN (SELECT 1)", sublink(func(l *pgquery.SubLink) { l.Subselect = text("x") })},
		{"SELECT a = ANY (SELECT 1)", sublink(func(l *pgquery.SubLink) { l.OperName[0] = text("??") })},
		{"SELECT a = ALL (SELECT 1)", sublink(func(l *pgquery.SubLink) { l.OperName = append(l.OperName, text("=")) })},
		{"SELECT a = ALL (SELECT 1)", sublink(func(l *pgquery.SubLink) { l.OperName = nil })},
		{"SELECT a::INT", cast(func(c *pgquery.TypeCast) { c.TypeName = nil })},
		{"SELECT a::INT", cast(func(c *pgquery.TypeCast) { c.TypeName.Setof = true })},
		{"SELECT a::INT", cast(func(c *pgquery.TypeCast) { c.TypeName.PctType = true })},
		{"SELECT a::INT", cast(func(c *pgquery.TypeCast) { c.TypeName.Names = append(c.TypeName.Names, text("x")) })},
		{"SELECT a::INT", cast(func(c *pgquery.TypeCast) { c.TypeName.Names[0] = text("regclass") })},
		{"SELECT a::INT[3]", cast(func(c *pgquery.TypeCast) { c.TypeName.ArrayBounds[0].GetInteger().Ival = 0 })},
		{"SELECT a::INT[3]", cast(func(c *pgquery.TypeCast) { c.TypeName.ArrayBounds[0] = text("3") })},
		{"SELECT a::DECIMAL(5, 2)", cast(func(c *pgquery.TypeCast) { c.TypeName.Typmods[0] = text("5") })},
		{"SELECT a::STRUCT(x INT)", cast(func(c *pgquery.TypeCast) { c.TypeName.Typmods[0].GetFuncCall().Args = nil })},
		{"SELECT a::STRUCT(x INT)", cast(func(c *pgquery.TypeCast) {
			c.TypeName.Typmods[0].GetFuncCall().Args[1].GetTypeCast().Arg = pgquery.MakeAConstIntNode(1, 0)
		})},
		{"SELECT CASE WHEN a THEN b END", func(s *sel) { first(s).GetCaseExpr().Args[0] = text("x") }},
		{"SELECT greatest(a, b)", func(s *sel) { first(s).GetMinMaxExpr().Op = 99 }},
		{"SELECT current_date", func(s *sel) { first(s).GetSqlvalueFunction().Op = pgquery.SQLValueFunctionOp_SVFOP_CURRENT_ROLE }},
		{"SELECT a FROM t GROUP BY ROLLUP (a)", func(s *sel) { s.GroupClause[0].GetGroupingSet().Kind = 99 }},
		{"SELECT a COLLATE nocase", func(s *sel) {
			c := first(s).GetCollateClause()
			c.Collname = append(c.Collname, c.Collname[0])
		}},
		{"SELECT a[1]", func(s *sel) { first(s).GetAIndirection().Indirection[0] = pgquery.MakeAConstIntNode(1, 0) }},
	} {
		s, err := classify.Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if out, err := PrintSelect(s.Tree(), DuckDB()); err != nil {
			t.Errorf("the control %s: %s, %v", c.text, out, err)
		}
		tree := proto.CloneOf(s.Tree())
		c.change(tree)
		if proto.Equal(tree, s.Tree()) {
			t.Errorf("%s: nothing was changed", c.text)
		}
		out, err := PrintSelect(tree, DuckDB())
		if _, ok := errors.AsType[*UnknownError](err); !ok || out != "" || !strings.HasPrefix(err.Error(), "can't print ") {
			t.Errorf("%s, changed: %q, %v", c.text, out, err)
		}
	}
	if out, err := PrintSelect(nil, DuckDB()); err == nil {
		t.Errorf("no statement is %q", out)
	}
	if out, err := PrintExpr(pgquery.MakeAConstIntNode(1, 0), Dialect{}); err == nil {
		t.Errorf("in no dialect: %q", out)
	}
	if out, err := PrintExprs([]*pgquery.Node{pgquery.MakeAConstIntNode(1, 0), pgquery.MakeAConstIntNode(2, 0)}, DuckDB()); err != nil || strings.Join(out, ";") != "1;2" {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := PrintExprs([]*pgquery.Node{pgquery.MakeAConstIntNode(1, 0), {}}, DuckDB()); err == nil || out != nil {
		t.Errorf("%q, %v", out, err)
	}
}

// A tree is printed to its bound on depth and not beyond: what is deeper would take the stack along.
func TestDepth(t *testing.T) {
	deep := func(n int) *pgquery.Node {
		e := pgquery.MakeAConstIntNode(1, 0)
		for range n {
			e = &pgquery.Node{Node: &pgquery.Node_AArrayExpr{AArrayExpr: &pgquery.A_ArrayExpr{Elements: []*pgquery.Node{e}}}}
		}
		return e
	}
	if _, err := PrintExpr(deep(maxDepth-1), DuckDB()); err != nil {
		t.Error(err)
	}
	if _, err := PrintExpr(deep(maxDepth), DuckDB()); err == nil {
		t.Error("deeper than it may be")
	}
	wide := &pgquery.Node{Node: &pgquery.Node_AArrayExpr{AArrayExpr: &pgquery.A_ArrayExpr{}}}
	for range 2 * maxDepth {
		wide.GetAArrayExpr().Elements = append(wide.GetAArrayExpr().Elements, deep(2))
	}
	if _, err := PrintExpr(wide, DuckDB()); err != nil {
		t.Errorf("what is wide is not deep: %v", err)
	}
}

// Text that does not read back as its tree is refused, whether it is another statement or none.
func TestVerifyRefuses(t *testing.T) {
	s, err := classify.Parse("SELECT a FROM t WHERE b = 1")
	if err != nil {
		t.Fatal(err)
	}
	if err := Verify(s.Tree(), "SELECT a FROM t WHERE b = 1"); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"SELECT a FROM t", "SELECT a FROM t WHERE b = 2", "SELECT a FROM u WHERE b = 1", "SELECT a FROM", "", "SELECT a FROM t WHERE b = 1; SELECT 1"} {
		if err := Verify(s.Tree(), text); !errors.Is(err, ErrNotTheSame) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// What is printed bare, and what is quoted.
func TestQuoting(t *testing.T) {
	for in, want := range map[string]string{
		"a": "a", "_a9": "_a9", "z": "z", "a_": "a_", "9a": `"9a"`, "A": `"A"`, "aZ": `"aZ"`, "a b": `"a b"`, `a"b`: `"a""b"`, "select": `"select"`, "é": `"é"`, "a-": `"a-"`, "a0": "a0", "a/": `"a/"`, "a:": `"a:"`, "a`": "\"a`\"", "a{": `"a{"`,
	} {
		if got, err := QuoteIdent(in, DuckDB()); err != nil || got != want {
			t.Errorf("%s is %s, %v", in, got, err)
		}
	}
	if got, _ := QuoteIdent("a", Dialect{}); got != `"a"` {
		t.Errorf("without a list of words: %s", got)
	}
	for in, want := range map[string]string{"": "''", "a": "'a'", "it's": "'it''s'", `a\'`: `'a\'''`} {
		if got, err := QuoteLiteral(in); err != nil || got != want {
			t.Errorf("%s is %s, %v", in, got, err)
		}
	}
	if n := DuckDB().Name(); n != "duckdb" {
		t.Error(n)
	}
}
