package classify

import (
	"fmt"
	"strings"
	"testing"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// TestEdges: what a limit on one construct lets pass to the unit, and what one more is refused with.
func TestEdges(t *testing.T) {
	type edge struct{ within, over, refusal string }
	edges := []edge{
		{"SELECT 1 FROM t WHERE a IN (" + strings.Repeat("?,", 999) + "?)", "SELECT 1 FROM t WHERE a IN (" + strings.Repeat("?,", 1000) + "?)", "limit reached: more than 1000 parameters (at character 2029)"},
		{"SELECT CAST(a AS int[][][][])", "SELECT CAST(a AS int[][][][][])", "unsupported: type int4 (at character 18)"},
		{"SELECT CAST(a AS " + strings.Repeat("STRUCT(a ", 64) + "int" + strings.Repeat(")", 64) + ")", "SELECT CAST(a AS " + strings.Repeat("STRUCT(a ", 65) + "int" + strings.Repeat(")", 65) + ")", "limit reached: nesting that deep (at character 603)"},
		{"SELECT range(10000)", "SELECT range(10001)", "unsupported: range outside of FROM, but for up to 10000 numbers given as literals (at character 8)"},
		{"SELECT generate_series(1, 10001)", "SELECT generate_series(1, 10002)", "unsupported: generate_series outside of FROM, but for up to 10000 numbers given as literals (at character 8)"},
		{"SELECT range(5, 20005, 2)", "SELECT range(5, 20007, 2)", "unsupported: range outside of FROM, but for up to 10000 numbers given as literals (at character 8)"},
		{"SELECT range(0, -10000, -1)", "SELECT range(0, -10001, -1)", "unsupported: range outside of FROM, but for up to 10000 numbers given as literals (at character 8)"},
		{"SELECT range(0, 100000, 0)", "SELECT range(0, 1, 1, 1)", "unsupported: range outside of FROM, but for up to 10000 numbers given as literals (at character 8)"},
		{"SELECT range(1)", "SELECT range()", "unsupported: range outside of FROM, but for up to 10000 numbers given as literals (at character 8)"},
		{"SELECT range(-(5))", "SELECT range(+a)", "unsupported: range outside of FROM, but for up to 10000 numbers given as literals (at character 8)"},
		{"SELECT range(10)", "SELECT range(10.0)", "unsupported: range outside of FROM, but for up to 10000 numbers given as literals (at character 8)"},
		{"SELECT printf('%999d', 1)", "SELECT printf('%1000d', 1)", "unsupported: a template of printf that is not a literal, or has a width above 999 (at character 8)"},
		{"SELECT printf('%999d%999d', 1, 2)", "SELECT printf('%0999d', 1, 2)", "unsupported: a template of printf that is not a literal, or has a width above 999 (at character 8)"},
		{"SELECT format('{} {} {:5}', 1, 2, 3)", "SELECT format('{:{}}', 1, 2)", "unsupported: a template of format that is not a literal, or has a width above 999 (at character 8)"},
		{"SELECT format('{}{}', 1, 2)", "SELECT format('{{}}', 1, 2)", "unsupported: a template of format that is not a literal, or has a width above 999 (at character 8)"},
		{"SELECT a LIKE '_%" + strings.Repeat("x", 254) + "'", "SELECT a LIKE '_%" + strings.Repeat("x", 254) + "%x'", "unsupported: a pattern of LIKE with _ or ESCAPE and % that is longer than 256 bytes (at character 10)"},
		{"SELECT a LIKE '_%%" + strings.Repeat("x", 252) + "%'", "SELECT a LIKE '_%%" + strings.Repeat("x", 253) + "%'", "unsupported: a pattern of LIKE with _ or ESCAPE and % that is longer than 256 bytes (at character 10)"},
		{"SELECT a LIKE '" + strings.Repeat("%x", 500) + "'", "SELECT a LIKE '_" + strings.Repeat("%x", 500) + "'", "unsupported: a pattern of LIKE with _ or ESCAPE and % that is longer than 256 bytes (at character 10)"},
		{"SELECT a LIKE 'x' ESCAPE '!'", "SELECT a LIKE 'x' ESCAPE '!!'", "unsupported: ESCAPE of more than one ASCII character (at character 10)"},
		{"SELECT a LIKE 'x' ESCAPE ''", "SELECT a LIKE 'x' ESCAPE 'é'", "unsupported: ESCAPE of more than one ASCII character (at character 10)"},
		{"SELECT a LIKE '%x%!!' ESCAPE '!'", "SELECT a LIKE '%x%!' ESCAPE '!'", "unsupported: a pattern that ends with its escape character (at character 10)"},
		{"SELECT a ILIKE '%x%' ESCAPE '!'", "SELECT a ILIKE '%é%' ESCAPE '!'", "unsupported: ILIKE with ESCAPE and letters that are not ASCII (at character 10)"},
		{"SELECT a LIKE b", "SELECT a LIKE b ESCAPE '!'", "unsupported: ESCAPE, or a pattern with ESCAPE, that is not a literal (at character 10)"},
		{"SELECT a LIKE NULL ESCAPE '!'", "SELECT a LIKE 'x' ESCAPE b", "unsupported: ESCAPE, or a pattern with ESCAPE, that is not a literal (at character 10)"},
		{"SELECT a LIKE '_x%', b COLLATE nocase = 'x'", "SELECT a LIKE '_%x%', b COLLATE nocase = 'x'", "unsupported: COLLATE beside LIKE with several % and _, or with a pattern that is not a literal"},
		{"WITH a AS NOT MATERIALIZED (SELECT 1) SELECT 1 FROM a" + strings.Repeat(", a", 255), "", ""},
		{"WITH a AS NOT MATERIALIZED (SELECT 1 FROM t) SELECT 1 FROM a" + strings.Repeat(", a", 255), "WITH a AS NOT MATERIALIZED (SELECT 1 FROM t) SELECT 1 FROM a" + strings.Repeat(", a", 256), "limit reached: CTEs AS NOT MATERIALIZED that become more than 256 tables"},
		{"WITH a AS NOT MATERIALIZED (SELECT 1 FROM t" + strings.Repeat(", t", 255) + ") SELECT 1 FROM a", "WITH a AS NOT MATERIALIZED (SELECT 1 FROM t" + strings.Repeat(", t", 256) + ") SELECT 1", "limit reached: CTEs AS NOT MATERIALIZED that become more than 256 tables (at character 6)"},
		{"WITH RECURSIVE a AS NOT MATERIALIZED (SELECT 1 UNION ALL SELECT 1 FROM a" + strings.Repeat(", a", 14) + ") SELECT 1 FROM a", "WITH RECURSIVE a AS NOT MATERIALIZED (SELECT 1 UNION ALL SELECT 1 FROM a" + strings.Repeat(", a", 15) + ") SELECT 1 FROM a", "limit reached: CTEs AS NOT MATERIALIZED that become more than 256 tables"},
	}
	for name, at := range map[string]int{"repeat": 1, "lpad": 1, "rpad": 1, "list_resize": 1, "array_resize": 1, "bitstring": 1, "to_base": 2} {
		args := func(i int, size string) string {
			out := []string{"a", "b", "c"}
			if i < 2 && name == "to_base" {
				out[2] = "5"
			} else if i != at {
				out[at] = "5"
			}
			out[i] = size
			return "SELECT " + name + "(" + strings.Join(out, ", ") + ")"
		}
		refusal := "unsupported: a size in " + name + " that is not a number up to 10000 (at character 8)"
		edges = append(edges, edge{args(at, "10000"), args(at, "10001"), refusal}, edge{args(at, "-10001"), args(at, "d"), refusal}, edge{args(0, "10001"), args(at, "'1'"), refusal}, edge{args((at+1)%3, "10001"), args(at, "?"), refusal})
	}
	for _, name := range []string{"levenshtein", "editdist3", "damerau_levenshtein", "jaro_similarity", "jaro_winkler_similarity"} {
		edges = append(edges, edge{
			"SELECT " + name + "(a, '" + strings.Repeat("x", 256) + "')", "SELECT " + name + "(a, '" + strings.Repeat("x", 257) + "')",
			"unsupported: " + name + " of two texts of which none is a literal of up to 256 bytes (at character 8)",
		}, edge{"SELECT " + name + "('', a)", "SELECT " + name + "(1, a)", "unsupported: " + name + " of two texts of which none is a literal of up to 256 bytes (at character 8)"})
	}
	for _, name := range []string{"like_escape", "ilike_escape", "not_like_escape", "not_ilike_escape"} {
		edges = append(edges, edge{"SELECT a LIKE 'x'", "SELECT " + name + "(a, 'x', '!')", "unsupported: LIKE called as a function (at character 8)"})
	}
	for _, e := range edges {
		if _, err := Parse(e.within); err != nil && !strings.Contains(err.Error(), "does not exist") {
			t.Errorf("%.80s: %v", e.within, err)
		}
		if e.over == "" {
			continue
		}
		_, err := Parse(e.over)
		if err == nil || err.Error() != e.refusal {
			t.Errorf("%.80s: %v, want %s", e.over, err, e.refusal)
			continue
		}
		wantOurError(t, e.over, err)
	}
}

// TestReparseLimits: our own text may have more than a user's, and names of governed relations; nothing else that begins with our prefix.
func TestReparseLimits(t *testing.T) {
	for _, c := range []struct{ within, over, refusal string }{
		{"SELECT " + strings.Repeat("(", 2000) + "1" + strings.Repeat(")", 2000), "SELECT " + strings.Repeat("(", 2001) + "1" + strings.Repeat(")", 2001), "nesting that deep"},
		{"SELECT a" + strings.Repeat(",a.b", (32_000-2)/3), "SELECT a" + strings.Repeat(",a.b", (32_000-2)/3) + ",a", "that many tokens"},
		{`SELECT __gw_1."a" FROM "__gw_20" AS __gw_300`, `SELECT 1 FROM __gw_1x`, "starts with __gw_"},
		{`SELECT 1 FROM __gw_0`, `SELECT 1 FROM "__gw_"`, "starts with __gw_"},
		{`SELECT 1 FROM "` + strings.Repeat("x", 63) + `"`, `SELECT 1 FROM "` + strings.Repeat("x", 64) + `"`, "longer than 63 bytes"},
		{`SELECT 1`, `SELECT 'x`, "unterminated string"},
		{`SELECT 1`, `SELECT 1; SELECT 2`, "more than one statement"},
		{`SELECT 1`, `SELECT 1;`, "more than one statement"},
		{`SELECT`, ``, "more than one statement"},
	} {
		if sel, err := Reparse(c.within); err != nil || sel == nil {
			t.Errorf("%.60s: %v", c.within, err)
		}
		if _, err := Reparse(c.over); err == nil || !strings.Contains(err.Error(), c.refusal) {
			t.Errorf("%.60s: %v", c.over, err)
		}
	}
}

// without are the fields that mean nothing in a tree.
var without = map[protoreflect.Name]bool{"location": true, "funcformat": true, "relpersistence": true, "typemod": true, "limit_option": true}

// TestEqualTreesSeesEveryChange changes one thing of a statement at a time: each value, each list, each node. The tree is then another one,
// unless only a field is changed that means nothing.
func TestEqualTreesSeesEveryChange(t *testing.T) {
	changes := 0
	for text, tree := range trees(t) {
		same := proto.CloneOf(tree)
		if !EqualTrees(tree, same) {
			t.Errorf("not equal to itself: %s", text)
		}
		eachPlace(tree, namedCall("nosuch", 1), func(_, _ *pgquery.Node) {
			if changes++; EqualTrees(tree, same) || EqualTrees(same, tree) {
				t.Errorf("another node is not seen: %s", text)
			}
		})
		descend(tree, func(m proto.Message) bool {
			r := m.ProtoReflect()
			if r.Descriptor().Name() == "BoolExpr" {
				return true // grouping is ignored, see below
			}
			r.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
				if f.Kind() == protoreflect.MessageKind && !f.IsList() && f.ContainingOneof() != nil {
					return true
				}
				if f.IsList() {
					v = protoreflect.ValueOfList(v.List())
					last := v.List().Get(v.List().Len() - 1)
					v.List().Truncate(v.List().Len() - 1)
					if changes++; EqualTrees(tree, same) {
						t.Errorf("a shorter list in %s is not seen: %s", f.FullName(), text)
					}
					v.List().Append(last)
					return true
				}
				r.Clear(f)
				if changes++; EqualTrees(tree, same) != without[f.Name()] || EqualTrees(same, tree) != without[f.Name()] {
					t.Errorf("%s without its value: %s", f.FullName(), text)
				}
				r.Set(f, v)
				return true
			})
			return true
		})
	}
	if changes < 20_000 {
		t.Errorf("only %d changes", changes)
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"a AND b AND c", "(a AND b) AND c", true},
		{"a AND b AND c", "a AND (b AND c)", false},
		{"a OR b OR c", "(a OR b) OR c", true},
		{"a OR b AND c", "(a OR b) AND c", false},
		{"a AND b", "b AND a", false},
		{"a AND b", "a OR b", false},
		{"NOT (NOT a)", "NOT a", false},
		{"NOT (NOT a)", "NOT NOT a", true},
		{"a AND b", "a AND b AND b", false},
		{"1", "1.0", false},
		{"1", "'1'", false},
		{"NULL", "false", false},
		{"true", "false", false},
		{"1", "2", false},
		{"1.5", "1.50", false},
		{"'x'", "'y'", false},
		{"1", "NULL", false},
	} {
		a, errA := Parse("SELECT " + c.a)
		b, errB := Parse("SELECT " + c.b)
		if errA != nil || errB != nil || EqualTrees(a.tree, b.tree) != c.same || EqualTrees(b.tree, a.tree) != c.same {
			t.Errorf("%s and %s: want %v; %v %v", c.a, c.b, c.same, errA, errB)
		}
	}
	nested, err := Parse("SELECT a AND b AND c")
	if err != nil {
		t.Fatal(err)
	}
	grouped := proto.CloneOf(nested.tree)
	args := grouped.TargetList[0].GetResTarget().Val.GetBoolExpr()
	for _, op := range []pgquery.BoolExprType{pgquery.BoolExprType_AND_EXPR, pgquery.BoolExprType_OR_EXPR} {
		inner := &pgquery.Node{Node: &pgquery.Node_BoolExpr{BoolExpr: &pgquery.BoolExpr{Boolop: op, Args: nested.tree.TargetList[0].GetResTarget().Val.GetBoolExpr().Args[:2]}}}
		args.Args = []*pgquery.Node{inner, nested.tree.TargetList[0].GetResTarget().Val.GetBoolExpr().Args[2]}
		if same := op == pgquery.BoolExprType_AND_EXPR; EqualTrees(nested.tree, grouped) != same || EqualTrees(grouped, nested.tree) != same {
			t.Errorf("grouped on the left by %v: want %v", op, same)
		}
	}
	bits := func(s string) *pgquery.SelectStmt {
		return selectOf(&pgquery.Node{Node: &pgquery.Node_AConst{AConst: &pgquery.A_Const{Val: &pgquery.A_Const_Bsval{Bsval: &pgquery.BitString{Bsval: s}}}}}, nil)
	}
	if EqualTrees(bits("b1"), bits("b1")) {
		t.Error("what nobody knows is equal")
	}
	if EqualTrees(nil, nil) || EqualTrees(nil, &pgquery.SelectStmt{}) {
		t.Error("nothing is equal to something")
	}
}

// TestIgnoreNulls: the window functions that know it take it, and no other function does; the comparisons go with ANY and ALL, and no
// other operator does.
func TestIgnoreNulls(t *testing.T) {
	for _, name := range []string{"lag", "lead", "first_value", "last_value", "nth_value", "sum", "rank", "first", "max", "ntile"} {
		takes := strings.HasSuffix(name, "_value") || name[0] == 'l'
		for _, text := range []string{"SELECT " + name + "(a, 2 IGNORE NULLS) OVER (ORDER BY b)", "SELECT " + name + "(a, 2) IGNORE NULLS OVER (ORDER BY b)"} {
			_, err := Parse(text)
			if takes && err != nil || !takes && (err == nil || !strings.Contains(err.Error(), "IGNORE NULLS in another place")) {
				t.Errorf("%s: %v", text, err)
			}
		}
		if _, err := Parse("SELECT " + name + "(a, 2 IGNORE NULLS)"); err == nil {
			t.Errorf("%s takes it without OVER", name)
		}
	}
	for _, op := range []string{"=", "<>", "!=", "<", "<=", ">", ">=", "+", "||", "~", "@>", "~~", "^@"} {
		compares := strings.Trim(op, "=<>!") == ""
		for _, form := range []string{"a %s ANY (b)", "a %s ALL (b)", "a %s ANY (SELECT b)", "a %s ALL (SELECT b)"} {
			text := "SELECT " + fmt.Sprintf(form, op)
			_, err := Parse(text)
			if compares && err != nil || !compares && (err == nil || !strings.Contains(err.Error(), "operator "+op+" with ")) {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

// TestLambdaFunctions: an arrow is a lambda where a function takes one, and a look into a document elsewhere.
func TestLambdaFunctions(t *testing.T) {
	for _, name := range []string{
		"list_transform", "transform", "list_apply", "apply", "array_apply", "array_transform", "list_filter", "filter", "array_filter", "list_reduce", "reduce", "array_reduce",
	} {
		sel, err := pgqueryTree("SELECT " + name + "(a, x -> x), lower(x -> y)")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var calls []string
		for _, f := range all[*pgquery.FuncCall](sel) {
			calls = append(calls, nameOf(f))
		}
		if got := strings.Join(calls, " "); got != name+" "+MarkerLambda+" lower" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestIn: each function about the session or the engine gives way to what we know, with its own name for the column.
func TestIn(t *testing.T) {
	for call, want := range map[string]string{
		"version()": "'PostgreSQL 17.0 (Gatehouse)' AS version", "current_schema()": "'s' AS \"current_schema\"", "current_schema": "'s' AS \"current_schema\"", "current_catalog": "'c' AS \"current_catalog\"",
		"current_database()": "'c' AS current_database", "current_user": "'ann' AS \"current_user\"", "session_user": "'ann' AS \"session_user\"", "user": "'ann' AS \"user\"",
		"current_role, 1": "'boss' AS \"current_role\", 1", "current_user AS x": "'ann' AS x", "1": "1", "lower(version())": "lower('PostgreSQL 17.0 (Gatehouse)')",
	} {
		for _, text := range []string{"SELECT " + call, "EXPLAIN SELECT " + call} {
			s, err := Parse(text)
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			before := s.Tree()
			got := s.In(Namespace{"c", "s"}, "ann", "boss")
			if s.Tree() != before || got.Text() != text || got.Kind() != s.Kind() {
				t.Errorf("%s: the statement itself changed", text)
			}
			if got.Kind() == KindExplain {
				got = got.Inner()
			}
			if said := strings.TrimPrefix(deparse(t, got.Tree()), "SELECT "); said != want {
				t.Errorf("%s: %s, want %s", text, said, want)
			}
		}
	}
	for _, text := range []string{"SELECT current_schema(true)", "SELECT version(1)", "SELECT current_database(a)"} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), "an argument of ") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if (*Statement)(nil).In(Namespace{}, "", "") != nil {
		t.Error("no statement became one")
	}
	show, err := Parse("SHOW TABLES")
	if err != nil || show.In(Namespace{}, "", "") != show {
		t.Error(err)
	}
}

// TestWithoutBacktracking writes down what becomes of each kind of LIKE.
func TestWithoutBacktracking(t *testing.T) {
	var out strings.Builder
	out.WriteString("# Patterns of LIKE, and what the engine matches instead. See edges_test.go.\n")
	for _, escape := range []string{"", " ESCAPE '!'", " ESCAPE ''"} {
		for _, pattern := range []string{"''", "'x'", "'%'", "'x%'", "'%x%'", "'%x%y%'", "'_'", "'x_'", "'_%'", "'%_x%'", "'%%_'", "'_%%x%%%'", "'!%_x%'", "'!!_%x%'", "'_%.+*?()|[]{}^$\\%é'", "'_%É%X%'", "NULL", "b", "b || '%'", "1"} {
			for _, op := range []string{"LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE"} {
				sayLinear(t, &out, "a "+op+" "+pattern+escape)
			}
		}
	}
	for _, pattern := range []string{"'x'", "'.*'", "'.*.*'", "'x.{2}.*'", "'.{1}.{2}'", "'*.*'", "'+.*.*'", "'?.*.*'", "'{.*.*'", "'(.*.*)'", "''", "b", "'x*y*'", "NULL"} {
		sayLinear(t, &out, "regexp_matches(a, "+pattern+")")
		sayLinear(t, &out, "regexp_full_match(a, "+pattern+")")
	}
	sayLinear(t, &out, "regexp_matches(a)")
	sayLinear(t, &out, "regexp_matches(a, '.*.*', 's') AND a LIKE '_%x%'")
	golden(t, "testdata/like.txt", out.String())
}

func sayLinear(t *testing.T, out *strings.Builder, text string) {
	t.Helper()
	s, err := Parse("SELECT " + text)
	if err != nil {
		fmt.Fprintf(out, "%s: %v\n", text, err)
		return
	}
	before := proto.CloneOf(s.tree)
	linear := WithoutBacktracking(s.tree)
	if !proto.Equal(before, s.tree) {
		t.Errorf("%s: the tree itself was changed", text)
	}
	if linear == s.tree {
		fmt.Fprintf(out, "%s: as it is\n", text)
		return
	}
	fmt.Fprintf(out, "%s: %s\n", text, strings.TrimPrefix(deparse(t, linear), "SELECT "))
}

// TestArguments writes down, for a parameter in each kind of place, which kinds of values take its place.
func TestArguments(t *testing.T) {
	var out strings.Builder
	out.WriteString("# Parameters with values of each kind: what the statement becomes, and which are left to bind. See edges_test.go.\n")
	values := []any{
		nil, true, int64(7), int64(-7), int64(5_000_000_000), int64(-2147483648), int64(2147483648), uint64(8), uint64(1 << 63), 1.5, "x", "", "a_b%", "x\x00", "\xff", strings.Repeat("x", maxPattern), strings.Repeat("_", maxPattern), strings.Repeat("_", maxPattern+1),
		strings.Repeat("x", maxPattern+1), strings.Repeat("x", maxNeedle), strings.Repeat("x", maxNeedle+1), strings.Repeat("_", maxNeedle), Date("2020-01-31"), Date("0000-01-31"), Date("2020-02-30"), Date("0001-01-01"), []byte("x"), int32(1),
	}
	for _, place := range []string{
		"a = ?", "? = a", "a < ?", "? >= a", "a <> ?", "a + 1 = ?", "? = 1", "a + ? = 1", "a IN (?, 1)", "a + 1 IN (?)", "a BETWEEN ? AND 2", "a NOT BETWEEN 1 AND ?", "? BETWEEN 1 AND 2", "a LIKE ?", "a ILIKE ?", "lower(a) LIKE ?", "? LIKE ?", "? LIKE 'x'", "CAST(? AS VARCHAR) = a", "lower(?) = 'x'",
		"a = $1 OR b + $1 = 1", "a = $2 AND b = $1", "a = $1 AND b + $2 > 1 AND c = $1", "a IS DISTINCT FROM ?", "a || ? = 'x'", "a = ANY (SELECT ?)", "a = $2",
	} {
		groups, order := map[string][]string{}, []string{}
		s, err := Parse("SELECT 1 FROM t WHERE " + place)
		if err != nil {
			fmt.Fprintf(&out, "\n%s: %v\n", place, err)
			continue
		}
		for _, v := range values {
			args := []any{v, "other"}[:s.Params()]
			before := proto.CloneOf(s.tree)
			bound, left, err := s.WithArgs(args)
			if err != nil {
				t.Fatalf("%s: %v", place, err)
			}
			if !proto.Equal(before, s.tree) || bound.Params() != len(left) {
				t.Errorf("%s, %v: the statement itself changed, or %d are left of %v", place, v, bound.Params(), left)
			}
			text := deparse(t, bound.tree)
			said := fmt.Sprintf("%s %v", strings.TrimPrefix(text, "SELECT 1 FROM t WHERE "), left)
			value := fmt.Sprintf("%T %.12q", v, fmt.Sprint(v))
			if len(fmt.Sprint(v)) > 12 {
				value += fmt.Sprintf(" of %d", len(fmt.Sprint(v)))
			}
			said = strings.ReplaceAll(said, strings.Repeat("x", maxPattern), "x…")
			said = strings.ReplaceAll(said, strings.Repeat("_", maxPattern), "_…")
			if groups[said] == nil {
				order = append(order, said)
			}
			groups[said] = append(groups[said], value)
		}
		fmt.Fprintf(&out, "\n%s\n", place)
		for _, said := range order {
			fmt.Fprintf(&out, "  %s: %s\n", said, strings.Join(groups[said], ", "))
		}
	}
	golden(t, "testdata/args.txt", out.String())
	for _, text := range []string{"SELECT ?", "EXPLAIN SELECT ?", "SHOW TABLES"} {
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.WithArgs(make([]any, s.Params()+1)); err == nil {
			t.Errorf("%s: one value too many passes", text)
		}
		if bound, left, err := s.WithArgs(make([]any, s.Params())); err != nil || s.Kind() != KindSelect && (bound != s || len(left) != s.Params()) {
			t.Errorf("%s: %v %v", text, left, err)
		}
	}
	if _, _, err := (*Statement)(nil).WithArgs(nil); err == nil {
		t.Error("no statement took values")
	}
}

// TestFillParams: what stands in for parameters is a copy, and those without a value stay.
func TestFillParams(t *testing.T) {
	s, err := Parse("SELECT a FROM t WHERE b = $1 AND c = $2 AND d IN (SELECT $1)")
	if err != nil {
		t.Fatal(err)
	}
	one := pgquery.MakeAConstIntNode(5, -1)
	filled := FillParams(s.tree, func(n int) *pgquery.Node {
		if n == 1 {
			return one
		}
		return nil
	})
	if got, want := deparse(t, filled), "SELECT a FROM t WHERE b = 5 AND c = $2 AND d IN (SELECT 5::\"varchar\")"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if !strings.Contains(deparse(t, s.tree), "$1") {
		t.Error("the tree itself was changed")
	}
}
