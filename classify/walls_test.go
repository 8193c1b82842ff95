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
