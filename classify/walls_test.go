package classify

import (
	"fmt"
	"strings"
	"testing"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// TestWalls changes the tree of a statement to what the grammar, or the allow-list, lets nobody write. Bind stands behind those and
// does not pass anything over either.
func TestWalls(t *testing.T) {
	name := func(s ...string) []*pgquery.Node {
		var out []*pgquery.Node
		for _, n := range s {
			out = append(out, pgquery.MakeStrNode(n))
		}
		return out
	}
	star := &pgquery.Node{Node: &pgquery.Node_ColumnRef{ColumnRef: &pgquery.ColumnRef{Fields: []*pgquery.Node{{Node: &pgquery.Node_AStar{AStar: &pgquery.A_Star{}}}}, Location: 5}}}
	insert := &pgquery.Node{Node: &pgquery.Node_InsertStmt{InsertStmt: &pgquery.InsertStmt{}}}
	for _, c := range []struct {
		text   string
		change func(s *pgquery.SelectStmt)
		want   string
	}{
		{"SELECT a FROM t", func(s *pgquery.SelectStmt) { s.IntoClause = &pgquery.IntoClause{} }, "unsupported: INTO or FOR UPDATE"},
		{"SELECT a FROM t", func(s *pgquery.SelectStmt) { s.LockingClause = []*pgquery.Node{insert} }, "unsupported: INTO or FOR UPDATE"},
		{"SELECT a FROM t", func(s *pgquery.SelectStmt) { s.TargetList[0] = star }, "unsupported: this kind of target"},
		{"SELECT a FROM t", func(s *pgquery.SelectStmt) { s.TargetList[0].GetResTarget().Indirection = name("x") }, "unsupported: this kind of target"},
		{"SELECT a FROM t", func(s *pgquery.SelectStmt) { s.TargetList[0].GetResTarget().Val = insert }, "unsupported: InsertStmt"},
		{"SELECT a FROM t", func(s *pgquery.SelectStmt) { s.WhereClause = star }, "unsupported: * outside a target list (at character 6)"},
		{"SELECT a FROM t", func(s *pgquery.SelectStmt) { s.TargetList[0].GetResTarget().GetVal().GetColumnRef().Fields = nil }, "unsupported: * outside a target list (at character 8)"},
		{"SELECT a FROM t", func(s *pgquery.SelectStmt) { s.FromClause[0] = insert }, "unsupported: InsertStmt in FROM"},
		{"SELECT a FROM t", func(s *pgquery.SelectStmt) { s.FromClause[0] = &pgquery.Node{} }, "unsupported: empty expression in FROM"},
		{"SELECT a FROM t", func(s *pgquery.SelectStmt) { s.WhereClause = s.FromClause[0]; s.FromClause = nil }, `column "a" does not exist (at character 8)`},
		{"SELECT 1 FROM t", func(s *pgquery.SelectStmt) { s.WhereClause = s.FromClause[0]; s.FromClause = nil }, "unsupported: RangeVar"},
		{"SELECT a FROM t WHERE (a).b = 1", func(s *pgquery.SelectStmt) {
			s.WhereClause.GetAExpr().Lexpr.GetAIndirection().Indirection = star.GetColumnRef().Fields
		}, "unsupported: (expression).*"},
		{"SELECT a FROM t WHERE EXISTS (SELECT 1)", func(s *pgquery.SelectStmt) { s.WhereClause.GetSubLink().Subselect = insert }, "unsupported: subquery that is no SELECT (at character 23)"},
		{"SELECT a FROM t WHERE EXISTS (SELECT 1)", func(s *pgquery.SelectStmt) {
			s.WhereClause.GetSubLink().SubLinkType = pgquery.SubLinkType_ROWCOMPARE_SUBLINK
		}, "unsupported: row comparison with a subquery (at character 23)"},
		{"SELECT a FROM t WHERE lower(a)", func(s *pgquery.SelectStmt) { s.WhereClause.GetFuncCall().Funcname = name(MarkerAll) }, "unsupported: * or ALL outside its place (at character 23)"},
		{"SELECT a FROM t WHERE lower(a)", func(s *pgquery.SelectStmt) { s.WhereClause.GetFuncCall().Funcname = name(MarkerStar) }, "unsupported: * or ALL outside its place (at character 23)"},
		{"SELECT a FROM t WHERE lower(a)", func(s *pgquery.SelectStmt) { s.WhereClause.GetFuncCall().Funcname = name(MarkerExclude) }, "unsupported: * or ALL outside its place (at character 23)"},
		{"SELECT a FROM t WHERE lower(a)", func(s *pgquery.SelectStmt) { s.WhereClause.GetFuncCall().Funcname = name(MarkerReplace) }, "unsupported: * or ALL outside its place (at character 23)"},
		{"SELECT a FROM t WHERE lower(a)", func(s *pgquery.SelectStmt) { s.WhereClause.GetFuncCall().Funcname = name(MarkerRename) }, "unsupported: * or ALL outside its place (at character 23)"},
		{"SELECT a FROM t WHERE lower(a)", func(s *pgquery.SelectStmt) { s.WhereClause.GetFuncCall().Funcname = name(MarkerAs) }, "unsupported: * or ALL outside its place (at character 23)"},
		{"SELECT a FROM t WHERE lower(a)", func(s *pgquery.SelectStmt) { s.WhereClause.GetFuncCall().Funcname = name(MarkerLambda) }, "unsupported: lambda (at character 23)"},
		{"SELECT a FROM t WHERE f(t.a, a)", func(s *pgquery.SelectStmt) { s.WhereClause.GetFuncCall().Funcname = name(MarkerLambda) }, "unsupported: lambda parameter (at character 23)"},
		{"SELECT a FROM (SELECT a FROM t) s", func(s *pgquery.SelectStmt) { s.FromClause[0].GetRangeSubselect().Subquery = insert }, "unsupported: subquery that is no SELECT"},
		{"SELECT a FROM t FOR VERSION AS OF 1", func(s *pgquery.SelectStmt) { s.FromClause[0].GetRangeTableSample().Method = name("bernoulli") }, "unsupported: TABLESAMPLE (at character 17)"},
		{"SELECT a FROM t FOR VERSION AS OF 1", func(s *pgquery.SelectStmt) {
			m := s.FromClause[0].GetRangeTableSample()
			m.Method = append(m.Method, m.Method[0])
		}, "unsupported: TABLESAMPLE (at character 17)"},
		{"SELECT a FROM t FOR VERSION AS OF 1", func(s *pgquery.SelectStmt) {
			s.FromClause[0].GetRangeTableSample().Repeatable = pgquery.MakeAConstIntNode(1, -1)
		}, "unsupported: TABLESAMPLE (at character 17)"},
		{"SELECT a FROM t FOR VERSION AS OF 1", func(s *pgquery.SelectStmt) { s.FromClause[0].GetRangeTableSample().Relation = insert }, "unsupported: TABLESAMPLE (at character 17)"},
		{"WITH t AS (SELECT 1 AS a) SELECT 1 FROM t, u FOR VERSION AS OF 1", func(s *pgquery.SelectStmt) {
			s.FromClause[1].GetRangeTableSample().Relation.GetRangeVar().Relname = "t"
		}, "unsupported: TABLESAMPLE (at character 46)"},
		{"SELECT unnest FROM unnest([1])", func(s *pgquery.SelectStmt) { s.FromClause[0].GetRangeFunction().IsRowsfrom = true }, "unsupported: ROWS FROM"},
		{"SELECT unnest FROM unnest([1])", func(s *pgquery.SelectStmt) { s.FromClause[0].GetRangeFunction().Coldeflist = name("x") }, "unsupported: ROWS FROM"},
		{"SELECT unnest FROM unnest([1])", func(s *pgquery.SelectStmt) { s.FromClause[0].GetRangeFunction().Functions = nil }, "unsupported: ROWS FROM"},
		{"SELECT unnest FROM unnest([1])", func(s *pgquery.SelectStmt) { s.FromClause[0].GetRangeFunction().Functions[0].GetList().Items = nil }, "unsupported: table function"},
		{"SELECT unnest FROM unnest([1])", func(s *pgquery.SelectStmt) {
			s.FromClause[0].GetRangeFunction().Functions[0].GetList().Items[0].GetFuncCall().Funcname = name("read_csv")
		}, `function "read_csv" does not exist (at character 20)`},
		{"SELECT unnest FROM unnest([1])", func(s *pgquery.SelectStmt) {
			s.FromClause[0].GetRangeFunction().Functions[0].GetList().Items[0] = star
		}, `function "" does not exist (at character 1)`},
		{"SELECT a FROM t JOIN u ON true", func(s *pgquery.SelectStmt) {
			s.FromClause[0].GetJoinExpr().Jointype = pgquery.JoinType_JOIN_SEMI
		}, "unsupported: this kind of join"},
		{"SELECT a FROM t JOIN u ON true", func(s *pgquery.SelectStmt) {
			s.FromClause[0].GetJoinExpr().Alias = &pgquery.Alias{Aliasname: "x"}
		}, "unsupported: alias of a join"},
		{"SELECT a FROM t JOIN u ON true", func(s *pgquery.SelectStmt) {
			s.FromClause[0].GetJoinExpr().JoinUsingAlias = &pgquery.Alias{Aliasname: "x"}
		}, "unsupported: alias of a join"},
		{"WITH c AS (SELECT 1) SELECT a FROM t", func(s *pgquery.SelectStmt) { s.WithClause.Ctes[0].GetCommonTableExpr().Ctequery = insert }, "unsupported: data-modifying WITH (at character 6)"},
		{"WITH c AS (SELECT 1) SELECT a FROM t", func(s *pgquery.SelectStmt) { s.WithClause.Ctes[0] = insert }, "unsupported: WITH item (at character 1)"},
		{"WITH c AS (SELECT 1) SELECT a FROM t", func(s *pgquery.SelectStmt) {
			s.WithClause.Ctes[0].GetCommonTableExpr().SearchClause = &pgquery.CTESearchClause{}
		}, "unsupported: SEARCH or CYCLE (at character 6)"},
		{"WITH c AS (SELECT 1) SELECT a FROM t", func(s *pgquery.SelectStmt) {
			s.WithClause.Ctes[0].GetCommonTableExpr().CycleClause = &pgquery.CTECycleClause{}
		}, "unsupported: SEARCH or CYCLE (at character 6)"},
		{"SELECT a FROM t, u", func(s *pgquery.SelectStmt) {
			s.WhereClause = &pgquery.Node{Node: &pgquery.Node_WithClause{WithClause: &pgquery.WithClause{Location: 3}}}
		}, "unsupported: WITH outside SELECT (at character 4)"},
		{"SELECT lower(a) FROM t", func(s *pgquery.SelectStmt) {
			s.TargetList[0].GetResTarget().Val.GetFuncCall().Args[0].GetColumnRef().Location = 4
			s.TargetList[0].GetResTarget().Val = &pgquery.Node{Node: &pgquery.Node_SqlvalueFunction{SqlvalueFunction: &pgquery.SQLValueFunction{Xpr: s.TargetList[0].GetResTarget().Val}}}
		}, "unsupported: column in that place (at character 5)"},
		{"SELECT a FROM t", func(s *pgquery.SelectStmt) {
			s.TargetList[0].GetResTarget().Val = &pgquery.Node{Node: &pgquery.Node_SqlvalueFunction{SqlvalueFunction: &pgquery.SQLValueFunction{Xpr: table("u")}}}
		}, "unsupported: table in that place (at character 1)"},
		{"SELECT * EXCLUDE (a) FROM t", func(s *pgquery.SelectStmt) {
			s.TargetList[0].GetResTarget().Val.GetFuncCall().Args[0].GetFuncCall().Funcname = name("lower")
		}, "unsupported: part of an edited *"},
		{"SELECT * EXCLUDE (a) FROM t", func(s *pgquery.SelectStmt) {
			s.TargetList[0].GetResTarget().Val.GetFuncCall().Args[0].GetFuncCall().Args[0].GetColumnRef().Fields = nil
		}, "unsupported: item of an edited *"},
		{"SELECT * RENAME (a AS b) FROM t", func(s *pgquery.SelectStmt) {
			s.TargetList[0].GetResTarget().Val.GetFuncCall().Args[0].GetFuncCall().Args[0].GetFuncCall().Args[1].GetColumnRef().Fields = name("x", "y")
		}, "unsupported: item of an edited *"},
		{"SELECT * RENAME (a AS b) FROM t", func(s *pgquery.SelectStmt) {
			f := s.TargetList[0].GetResTarget().Val.GetFuncCall().Args[0].GetFuncCall().Args[0].GetFuncCall()
			f.Args = f.Args[:1]
		}, "unsupported: item of an edited *"},
		{"SELECT * RENAME (a AS b) FROM t", func(s *pgquery.SelectStmt) {
			s.TargetList[0].GetResTarget().Val.GetFuncCall().Args[0].GetFuncCall().Args[0].GetFuncCall().Funcname = name("lower")
		}, "unsupported: item of an edited *"},
	} {
		sel, err := pgqueryTree(c.text)
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		rel := func(sel *pgquery.SelectStmt) (rels []Relation) {
			walk, err := walkTables(sel)
			if err != nil {
				return nil
			}
			for range walk.bases {
				rels = append(rels, Relation{Columns: []Column{{Name: "a", Type: "BIGINT"}}[:min(1, 1-min(1, len(rels)))]})
			}
			return rels
		}
		if _, err := (&Statement{kind: KindSelect, tree: sel}).Bind(rel(sel)); err != nil && !strings.Contains(c.text, "f(t.a") {
			t.Errorf("control: %s: %v", c.text, err)
		}
		c.change(sel)
		_, err = (&Statement{kind: KindSelect, tree: sel}).Bind(rel(sel))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
			continue
		}
		wantOurError(t, c.text, err)
	}
}

// pgqueryTree parses without the allow-list.
func pgqueryTree(text string) (*pgquery.SelectStmt, error) {
	toks, err := guard(text)
	if err != nil {
		return nil, err
	}
	sel, _, err := parseSelect(text, toks)
	return sel, err
}

// TestClassWalls: of what no statement has, the class is the worst.
func TestClassWalls(t *testing.T) {
	parse := func(text string) *pgquery.Node {
		s, err := Parse("SELECT " + text)
		if err != nil {
			t.Fatal(err)
		}
		return s.tree.TargetList[0].GetResTarget().Val
	}
	for _, c := range []struct {
		text   string
		change func(n *pgquery.Node)
	}{
		{"a + 1", func(n *pgquery.Node) { n.GetAExpr().Name = append(n.GetAExpr().Name, n.GetAExpr().Name[0]) }},
		{"a + 1", func(n *pgquery.Node) { n.GetAExpr().Name = nil }},
		{"a + 1", func(n *pgquery.Node) { n.GetAExpr().Name[0] = pgquery.MakeStrNode("nosuch") }},
		{"a + 1", func(n *pgquery.Node) { n.GetAExpr().Kind = pgquery.A_Expr_Kind_AEXPR_BETWEEN_SYM }},
		{"a + 1", func(n *pgquery.Node) { n.Node = table("t").Node }},
		{"lower(a)", func(n *pgquery.Node) { n.GetFuncCall().Funcname[0] = pgquery.MakeStrNode("getenv") }},
		{"lower(a)", func(n *pgquery.Node) { n.GetFuncCall().Funcname = nil }},
		{"lower(a)", func(n *pgquery.Node) { n.GetFuncCall().Args[0] = table("t") }},
		{"count(*) FILTER (WHERE a)", func(n *pgquery.Node) { n.GetFuncCall().AggFilter = table("t") }},
		{"list(a ORDER BY b)", func(n *pgquery.Node) { n.GetFuncCall().AggOrder[0].GetSortBy().Node = table("t") }},
		{"CASE a WHEN 1 THEN 2 ELSE 3 END", func(n *pgquery.Node) { n.GetCaseExpr().Arg = table("t") }},
		{"CASE a WHEN 1 THEN 2 ELSE 3 END", func(n *pgquery.Node) { n.GetCaseExpr().Defresult = table("t") }},
		{"CASE a WHEN 1 THEN 2 ELSE 3 END", func(n *pgquery.Node) { n.GetCaseExpr().Args[0].GetCaseWhen().Expr = table("t") }},
		{"CASE a WHEN 1 THEN 2 ELSE 3 END", func(n *pgquery.Node) { n.GetCaseExpr().Args[0].GetCaseWhen().Result = table("t") }},
		{"a[1:2]", func(n *pgquery.Node) { n.GetAIndirection().Indirection[0].GetAIndices().Lidx = table("t") }},
		{"a[1:2]", func(n *pgquery.Node) { n.GetAIndirection().Indirection[0].GetAIndices().Uidx = table("t") }},
		{"a[1:2]", func(n *pgquery.Node) { n.GetAIndirection().Arg = table("t") }},
		{"a = ANY (SELECT 1)", func(n *pgquery.Node) { n.GetSubLink().Testexpr = table("t") }},
	} {
		n := parse(c.text)
		if ExprClass(n) == ClassForbidden {
			t.Errorf("control: %s is forbidden", c.text)
		}
		c.change(n)
		if got := ExprClass(n); got != ClassForbidden {
			t.Errorf("%s, changed: class %d", c.text, got)
		}
		if got := ExprClassTyped(n, columnType); got != ClassForbidden {
			t.Errorf("%s, changed, with types: class %d", c.text, got)
		}
	}
	for text, want := range map[string]Class{"a = 1": ClassRaising, "a = b": ClassRaising, "a = '2020-01-01'": ClassRaising, "1 = 2": ClassLeakproof, "a IS NULL": ClassLeakproof, "a + 1": ClassRaising, "chr(a)": ClassDictionary, "chr(a) = a + 1": ClassDictionary, "-'5'": ClassLeakproof, "-a": ClassRaising, "-NULL": ClassLeakproof, "-(-5)": ClassLeakproof} {
		if got := ExprClass(parse(text)); got != want {
			t.Errorf("%s: class %d, want %d", text, got, want)
		}
	}
}

// TestMoreWalls: what the grammar cannot give is refused by the allow-list and by normalize, too.
func TestMoreWalls(t *testing.T) {
	for _, c := range []struct {
		text   string
		change func(s *pgquery.SelectStmt)
		want   string
	}{
		{"SELECT a FROM t", func(s *pgquery.SelectStmt) { s.All = true }, "unsupported: SELECT … ALL"},
		{"SELECT a FROM t", func(s *pgquery.SelectStmt) { s.GroupDistinct = true }, "unsupported: GROUP BY DISTINCT"},
		{"SELECT a FROM t QUALIFY a", func(s *pgquery.SelectStmt) {
			s.WindowClause = append(s.WindowClause, &pgquery.Node{Node: &pgquery.Node_WindowDef{WindowDef: &pgquery.WindowDef{Name: "w"}}})
		}, "unsupported: WINDOW after QUALIFY"},
		{"SELECT lag(a IGNORE NULLS) OVER ()", func(s *pgquery.SelectStmt) {
			s.TargetList[0].GetResTarget().Val.GetFuncCall().Args[1].GetFuncCall().Args = []*pgquery.Node{pgquery.MakeAConstIntNode(1, -1)}
		}, "unsupported: IGNORE NULLS in another place (at character 14)"},
		{"SELECT a = ANY (SELECT 1)", func(s *pgquery.SelectStmt) {
			s.TargetList[0].GetResTarget().Val.GetSubLink().OperName = []*pgquery.Node{pgquery.MakeStrNode("="), pgquery.MakeStrNode("=")}
		}, "unsupported: operator = with a subquery (at character 10)"},
		{"SELECT a FROM unnest(b)", func(s *pgquery.SelectStmt) { s.FromClause[0].GetRangeFunction().Functions = nil }, "unsupported: ROWS FROM"},
		{"SELECT a FROM unnest(b)", func(s *pgquery.SelectStmt) { s.FromClause[0].GetRangeFunction().Functions[0] = table("t") }, "unsupported: a table function"},
		{"SELECT a FROM unnest(b)", func(s *pgquery.SelectStmt) { s.FromClause[0].GetRangeFunction().Functions[0].GetList().Items = nil }, "unsupported: a table function"},
		{"SELECT a FROM unnest(b)", func(s *pgquery.SelectStmt) {
			s.FromClause[0].GetRangeFunction().Functions[0].GetList().Items[0] = table("t")
		}, "unsupported: a table function"},
		{"SELECT a FROM unnest(b)", func(s *pgquery.SelectStmt) {
			l := s.FromClause[0].GetRangeFunction().Functions[0].GetList()
			l.Items = append(l.Items, table("t"))
		}, "unsupported: a column definition list"},
		{"SELECT a FROM t FOR VERSION AS OF 1", func(s *pgquery.SelectStmt) { s.FromClause[0].GetRangeTableSample().Relation = nil }, "unsupported: TABLESAMPLE (at character 17)"},
		{"SELECT a FROM t FOR VERSION AS OF 1", func(s *pgquery.SelectStmt) { s.FromClause[0].GetRangeTableSample().Method = nil }, "unsupported: TABLESAMPLE (at character 17)"},
		{"SELECT a FROM t FOR VERSION AS OF 1", func(s *pgquery.SelectStmt) { s.FromClause[0].GetRangeTableSample().Args = nil }, "unsupported: TABLESAMPLE (at character 17)"},
		{"SELECT a FROM t FOR VERSION AS OF 1", func(s *pgquery.SelectStmt) { s.FromClause[0].GetRangeTableSample().Args[0] = table("t") }, "unsupported: TABLESAMPLE (at character 17)"},
		{"SELECT a FROM t FOR VERSION AS OF 1", func(s *pgquery.SelectStmt) {
			s.FromClause[0].GetRangeTableSample().Method[0] = pgquery.MakeStrNode("system")
		}, "unsupported: TABLESAMPLE (at character 17)"},
		{"SELECT a FROM t FOR VERSION AS OF 1", func(s *pgquery.SelectStmt) {
			s.FromClause[0].GetRangeTableSample().Args[0].GetAConst().Val = &pgquery.A_Const_Boolval{Boolval: &pgquery.Boolean{Boolval: true}}
		}, "syntax error: time travel needs a snapshot id, a branch or a tag (at character 17)"},
		{"SELECT a FROM t", func(s *pgquery.SelectStmt) {
			s.TargetList[0].GetResTarget().Val = &pgquery.Node{Node: &pgquery.Node_AConst{AConst: &pgquery.A_Const{Location: 7, Val: &pgquery.A_Const_Bsval{Bsval: &pgquery.BitString{}}}}}
		}, "unsupported: a bit string (at character 8)"},
	} {
		sel, err := pgqueryTree(c.text)
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		if err := newAllow().check(sel); err != nil {
			t.Errorf("control: %s: %v", c.text, err)
		}
		c.change(sel)
		err = newAllow().check(sel)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
			continue
		}
		wantOurError(t, c.text, err)
	}
	str := func(s string) *pgquery.Node { return pgquery.MakeStrNode(s) }
	null := &pgquery.Node{Node: &pgquery.Node_TypeCast{TypeCast: &pgquery.TypeCast{Arg: &pgquery.Node{Node: &pgquery.Node_AConst{AConst: &pgquery.A_Const{Isnull: true}}}}}}
	field := func(name string, args ...*pgquery.Node) *pgquery.Node {
		return callNode(name, args...)
	}
	for what, c := range map[string]struct {
		n    *pgquery.TypeName
		want string
	}{
		"two names":             {&pgquery.TypeName{Names: []*pgquery.Node{str("x"), str("int4")}}, "unsupported: type x.int4 (at character 1)"},
		"set":                   {&pgquery.TypeName{Names: []*pgquery.Node{str("int4")}, Setof: true}, "unsupported: type int4 (at character 1)"},
		"percent":               {&pgquery.TypeName{Names: []*pgquery.Node{str("int4")}, PctType: true}, "unsupported: type int4 (at character 1)"},
		"struct":                {&pgquery.TypeName{Names: []*pgquery.Node{str("struct")}}, "unsupported: type struct (at character 1)"},
		"struct of a type":      {&pgquery.TypeName{Names: []*pgquery.Node{str("struct")}, Typmods: []*pgquery.Node{null}}, "unsupported: type struct (at character 1)"},
		"struct of a call":      {&pgquery.TypeName{Names: []*pgquery.Node{str("struct")}, Typmods: []*pgquery.Node{field("lower", textNode("a"), null)}}, "unsupported: type struct (at character 1)"},
		"struct of names":       {&pgquery.TypeName{Names: []*pgquery.Node{str("struct")}, Typmods: []*pgquery.Node{field(MarkerField, textNode("a"))}}, "unsupported: type struct (at character 1)"},
		"struct without a name": {&pgquery.TypeName{Names: []*pgquery.Node{str("struct")}, Typmods: []*pgquery.Node{field(MarkerField, textNode(""), null)}}, "unsupported: type struct (at character 1)"},
		"struct of a value":     {&pgquery.TypeName{Names: []*pgquery.Node{str("struct")}, Typmods: []*pgquery.Node{field(MarkerField, textNode("a"), textNode("b"))}}, "unsupported: type struct (at character 1)"},
		"struct of a cast": {&pgquery.TypeName{Names: []*pgquery.Node{str("struct")}, Typmods: []*pgquery.Node{
			field(MarkerField, textNode("a"), &pgquery.Node{Node: &pgquery.Node_TypeCast{TypeCast: &pgquery.TypeCast{Arg: textNode("b")}}}),
		}}, "unsupported: type struct (at character 1)"},
		"struct twice": {&pgquery.TypeName{Names: []*pgquery.Node{str("struct")}, Typmods: []*pgquery.Node{field(MarkerField, textNode("a"), null), field(MarkerField, textNode("A"), null)}}, "unsupported: type struct (at character 1)"},
		"a good one":   {&pgquery.TypeName{Names: []*pgquery.Node{str("struct")}, Typmods: []*pgquery.Node{field(MarkerField, textNode("a"), null), field(MarkerField, textNode("b"), null)}}, ""},
		"map":          {&pgquery.TypeName{Names: []*pgquery.Node{str("map")}, Typmods: []*pgquery.Node{null}}, "unsupported: type map (at character 1)"},
		"map of three": {&pgquery.TypeName{Names: []*pgquery.Node{str("map")}, Typmods: []*pgquery.Node{null, null, null}}, "unsupported: type map (at character 1)"},
		"map of a text": {&pgquery.TypeName{Names: []*pgquery.Node{str("map")}, Typmods: []*pgquery.Node{
			null, textNode("a"),
		}}, "unsupported: type map (at character 1)"},
		"a good map": {&pgquery.TypeName{Names: []*pgquery.Node{str("map")}, Typmods: []*pgquery.Node{null, null}}, ""},
	} {
		err := canonicalTypeName(c.n)
		if err == nil && c.want != "" || err != nil && err.Error() != c.want {
			t.Errorf("%s: %v, want %s", what, err, c.want)
		} else if err != nil {
			wantOurError(t, what, err)
		}
	}
}

// TestPlaces writes down where a star, and each marker, may stand: in place of which nodes of each statement they pass.
func TestPlaces(t *testing.T) {
	star := &pgquery.Node{Node: &pgquery.Node_ColumnRef{ColumnRef: &pgquery.ColumnRef{Fields: []*pgquery.Node{{Node: &pgquery.Node_AStar{AStar: &pgquery.A_Star{}}}}}}}
	var out strings.Builder
	out.WriteString("# In place of which nodes of a statement * and the markers pass. See walls_test.go.\n")
	for _, text := range every {
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "\n%s\n", text)
		say := func(what string, n *pgquery.Node) {
			passes := []string{}
			eachPlace(s.tree, n, func(_, was *pgquery.Node) {
				if newAllow().check(s.tree) == nil {
					passes = append(passes, strings.TrimPrefix(fmt.Sprintf("%T", was.Node), "*pg_query.Node_"))
				}
			})
			if len(passes) > 0 {
				fmt.Fprintf(&out, "  %s: %s\n", what, strings.Join(passes, " "))
			}
		}
		say("*", star)
		for _, part := range []string{
			MarkerAll, MarkerExclude, MarkerReplace, MarkerRename, MarkerAs, MarkerField, MarkerEntry, MarkerAsof, MarkerIgnore, MarkerStar, MarkerTry, MarkerList, MarkerStruct, MarkerMap, MarkerLambda, MarkerInterval, MarkerPrefix + "nosuch",
		} {
			say(part, namedCall(part, -1))
			n := namedCall(part, -1)
			n.GetFuncCall().Args = []*pgquery.Node{pgquery.MakeAConstIntNode(1, -1)}
			n.GetFuncCall().AggDistinct = true
			say("DISTINCT in "+part, n)
		}
	}
	golden(t, "testdata/places.txt", out.String())
}

// TestDescendOfNothing: there is nothing below nothing.
func TestDescendOfNothing(t *testing.T) {
	for _, m := range []proto.Message{nil, (*pgquery.Node)(nil), (*pgquery.SelectStmt)(nil)} {
		descend(m, func(proto.Message) bool {
			t.Errorf("%T has something below", m)
			return false
		})
	}
	calls := 0
	descend(nots(3), func(proto.Message) bool {
		calls++
		return calls < 3
	})
	if calls != 3 {
		t.Errorf("%d calls, though the third one said not to go deeper", calls)
	}
}

// TestEqual: the text that a column must be equal to is found on either side of the sign, for that column of that table alone.
func TestEqual(t *testing.T) {
	tables := shapes{}
	tables.declare("t(a VARCHAR, b VARCHAR, n BIGINT)")
	tables.declare("u(a VARCHAR, b VARCHAR)")
	for where, want := range map[string]string{
		"t.a = 'x'": "x", "'x' = t.a": "x", "t.a = 'x' AND t.b = 'y'": "x", "t.b = 'y' AND t.a = 'x'": "x", "t.b = 'x'": "-", "u.a = 'x'": "-", "t.a <> 'x'": "-", "t.a < 'x'": "-", "t.a = 'x' OR t.b = 'y'": "-", "t.a = t.b": "-", "t.a IN ('x')": "-", "NOT t.a = 'x'": "-", "t.a LIKE 'x'": "-",
		"t.a IS NULL": "-", "lower(t.a) = 'x'": "-", "'x' = 'x'": "-", "t.a = NULL": "-", "t.n = 1 AND T.A = ''": "", "t.a = 'x' AND t.a = 'y'": "x",
	} {
		b, err := tables.bind("SELECT 1 FROM t, u WHERE " + where)
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		got, ok := b.Equal(0, "a")
		if !ok {
			got = "-"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", where, got, want)
		}
		if _, ok := b.Equal(0, "A"); ok {
			t.Errorf("%s: a column of another name", where)
		}
	}
}
