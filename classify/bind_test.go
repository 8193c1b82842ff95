package classify

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// shapes are the tables that a test file declares, by full name in lower case.
type shapes map[string]Relation

var testNamespace = Namespace{Catalog: "lake", Schema: "main"}

// declare reads "[schema.]table(column TYPE, …)".
func (s shapes) declare(line string) {
	name, rest, _ := strings.Cut(line, "(")
	full := Name{testNamespace.Catalog, testNamespace.Schema, name}
	if schema, table, ok := strings.Cut(name, "."); ok {
		full.Schema, full.Table = schema, table
	}
	rel := Relation{Name: full}
	depth, start := 0, 0
	rest = strings.TrimSuffix(rest, ")") + ","
	for i, c := range rest {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth > 0 {
				continue
			}
			column, typ, _ := strings.Cut(strings.TrimSpace(rest[start:i]), " ")
			rel.Columns = append(rel.Columns, Column{Name: column, FieldID: len(rel.Columns) + 1, Type: typ})
			start = i + 1
		}
	}
	s[fold(full.String())] = rel
}

// bind parses and binds text; a table that is not declared is an error of its own.
func (s shapes) bind(text string) (*Bound, error) {
	st, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if st.Kind() == KindExplain {
		st = st.Inner()
	}
	var rels []Relation
	for _, t := range st.Tables() {
		rel, ok := s[fold(t.Resolve(testNamespace).String())]
		if !ok {
			return nil, fmt.Errorf("no table %s", t.Resolve(testNamespace))
		}
		rels = append(rels, rel)
	}
	return st.Bind(rels)
}

func cteNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s%d", MarkerPrefix, i+1)
	}
	return names
}

func deparse(t *testing.T, sel *pgquery.SelectStmt) string {
	t.Helper()
	text, err := pgquery.Deparse(&pgquery.ParseResult{Version: 170007, Stmts: []*pgquery.RawStmt{{
		Stmt: &pgquery.Node{Node: &pgquery.Node_SelectStmt{SelectStmt: sel}},
	}}})
	if err != nil {
		return "not printable: " + err.Error()
	}
	return text
}

func deparseExpr(t *testing.T, n *pgquery.Node) string {
	t.Helper()
	return strings.TrimPrefix(deparse(t, &pgquery.SelectStmt{
		TargetList:  []*pgquery.Node{{Node: &pgquery.Node_ResTarget{ResTarget: &pgquery.ResTarget{Val: n}}}},
		LimitOption: pgquery.LimitOption_LIMIT_OPTION_DEFAULT, Op: pgquery.SetOperation_SETOP_NONE,
	}), "SELECT ")
}

// describe prints all that a Bound says.
func describe(t *testing.T, b *Bound, uses, text bool) string {
	t.Helper()
	var out strings.Builder
	for i, rel := range b.Relations() {
		fmt.Fprintf(&out, "%s:", rel.Name.Table)
		for _, u := range b.Uses(i) {
			fmt.Fprintf(&out, " %s", rel.Columns[u.Column].Name)
			if uses {
				out.WriteString("/" + roleLetters(u.Roles))
			}
		}
		if b.Raises(i) {
			out.WriteString(" RAISES")
		}
		out.WriteString("\n")
		for _, c := range b.Conjuncts(i) {
			fmt.Fprintf(&out, "  where %s", deparseExpr(t, c.Expr))
			if c.Raises {
				out.WriteString("  RAISES")
			}
			out.WriteString("\n")
		}
	}
	tree := b.Rewrite(cteNames(len(b.Relations())))
	checkRewrite(t, b, tree)
	if text {
		out.WriteString(deparse(t, tree) + "\n")
	}
	return out.String()
}

func roleLetters(r Role) string {
	s := ""
	for i, letter := range []string{"o", "f", "j", "g", "s"} {
		if r&(1<<i) != 0 {
			s += letter
		}
	}
	return s
}

// checkRewrite holds the law of a rewrite: it reads the given names and CTEs of the statement, and nothing else.
func checkRewrite(t *testing.T, b *Bound, tree *pgquery.SelectStmt) {
	t.Helper()
	given := map[string]bool{}
	for _, n := range cteNames(len(b.Relations())) {
		given[n] = true
	}
	walk, err := walkTables(tree)
	if err != nil {
		t.Fatalf("the rewritten tree can't be walked: %v", err)
	}
	if len(walk.bases) != len(given) {
		t.Fatalf("%d tables after the rewrite, %d before", len(walk.bases), len(given))
	}
	for _, rv := range walk.bases {
		if !given[rv.Relname] || rv.Schemaname != "" || rv.Catalogname != "" {
			t.Errorf("%s.%s survived the rewrite", rv.Schemaname, rv.Relname)
		}
		if rv.Alias == nil {
			t.Errorf("%s has no alias", rv.Relname)
		}
		delete(given, rv.Relname)
	}
	if samples := all[*pgquery.RangeTableSample](tree); len(samples) > 0 {
		t.Error("time travel survived the rewrite")
	}
}

// TestBind runs the files in testdata/bind. Commands: schema declares tables, bind prints everything, columns prints the used
// columns without their roles.
func TestBind(t *testing.T) {
	datadriven.Walk(t, "testdata/bind", func(t *testing.T, path string) {
		tables := shapes{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "schema" {
				for line := range strings.Lines(d.Input) {
					tables.declare(strings.TrimSpace(line))
				}
				return ""
			}
			b, err := tables.bind(d.Input)
			if err != nil {
				return err.Error() + "\n"
			}
			before := proto.Clone(b.tree)
			out := describe(t, b, d.Cmd == "bind", d.Cmd == "bind")
			if !proto.Equal(before, b.tree) {
				t.Error("the statement's own tree was changed")
			}
			return out
		})
	})
}

// TestBindRefuses shows what Bind answers when it is called for something that it is not for.
func TestBindRefuses(t *testing.T) {
	s, err := Parse("SELECT id FROM customers")
	if err != nil {
		t.Fatal(err)
	}
	rel := Relation{Name: Name{"lake", "main", "customers"}, Columns: []Column{{"id", 1, "BIGINT"}}}
	show, err := Parse("SHOW TABLES")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		s    *Statement
		rels []Relation
	}{
		{"zero statement", &Statement{}, nil},
		{"nil statement", nil, nil},
		{"not a query", show, nil},
		{"too few relations", s, nil},
		{"too many relations", s, []Relation{rel, rel}},
	} {
		if b, err := c.s.Bind(c.rels); err == nil || b != nil {
			t.Errorf("%s: bound", c.name)
		}
	}
	b, err := s.Bind([]Relation{rel})
	if err != nil {
		t.Fatal(err)
	}
	if b.Statement() != s || len(b.Relations()) != 1 {
		t.Error("the bound statement is another one")
	}
	if tree := b.Rewrite(nil); tree != nil {
		t.Error("a rewrite without names gave a tree")
	}
}

// TestBoundIsImmutable shows that what a caller does to its copies has no effect on the next one.
func TestBoundIsImmutable(t *testing.T) {
	tables := shapes{}
	tables.declare("customers(id BIGINT, region VARCHAR)")
	b, err := tables.bind("SELECT id FROM customers WHERE region = 'EU'")
	if err != nil {
		t.Fatal(err)
	}
	want := describe(t, b, true, true)
	b.Conjuncts(0)[0].Expr.Reset()
	b.Conjuncts(0)[0].Columns[0] = 9
	b.Rewrite(cteNames(1)).Reset()
	b.Relations()[0].Columns = nil
	b.Uses(0)[0].Column = 9
	if got := describe(t, b, true, true); got != want {
		t.Errorf("changed to\n%s\nfrom\n%s", got, want)
	}
}
