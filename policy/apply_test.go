package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	pgquery "github.com/pganalyze/pg_query_go/v6"

	"gatehouse/classify"
)

// orders is the second table of the cases.
var orders = Table{
	Name: classify.Name{Catalog: "lake", Schema: "shop", Table: "orders"},
	Columns: []classify.Column{
		{Name: "id", FieldID: 1, Type: "BIGINT"},
		{Name: "customer_id", FieldID: 2, Type: "BIGINT"},
		{Name: "region", FieldID: 3, Type: "VARCHAR"},
		{Name: "total", FieldID: 4, Type: "DECIMAL(12,2)"},
	},
}

// policyText is what a case says: one demand a line, before the statement.
type policyText struct {
	decisions map[string]*Decision
	hidden    map[string]bool // "table.column"
	sql       string
}

func parseCase(t testing.TB, input string) policyText {
	p := policyText{decisions: map[string]*Decision{}, hidden: map[string]bool{}}
	for line := range strings.Lines(input) {
		line = strings.TrimSpace(line)
		words := strings.SplitN(line, " ", 3)
		switch words[0] {
		case "filter", "mask":
			name, column, _ := strings.Cut(words[1], ".")
			d := p.decisions[name]
			if d == nil {
				d = &Decision{ID: "d-" + name, Masks: map[string]Expression{}}
				p.decisions[name] = d
			}
			e := Expression{SQL: words[2], ID: fmt.Sprintf("%s%d", words[0][:1], len(d.Filters)+len(d.Masks))}
			if sql, params, ok := strings.Cut(words[2], " :: "); ok {
				dec := json.NewDecoder(strings.NewReader(params))
				dec.UseNumber()
				e.SQL = sql
				if err := dec.Decode(&e.Params); err != nil {
					t.Fatal(err)
				}
			}
			if words[0] == "filter" {
				d.Filters = append(d.Filters, e)
			} else {
				d.Masks[column] = e
			}
		case "steady":
			d := p.decisions[words[1]]
			if d == nil {
				d = &Decision{ID: "d-" + words[1]}
				p.decisions[words[1]] = d
			}
			d.Steady = true
		case "hide":
			p.hidden[words[1]] = true
		default:
			p.sql += line + " "
		}
	}
	return p
}

// apply runs the stages up to Apply.
func apply(t testing.TB, p policyText) (*Governed, error) {
	t.Helper()
	s, err := classify.Parse(strings.TrimSpace(p.sql))
	if err != nil {
		t.Fatal(err)
	}
	var tables []Table
	var decisions []Decision
	var rels []classify.Relation
	for _, ref := range s.Tables() {
		full := customers
		if n := ref.Parts[len(ref.Parts)-1]; n == "orders" {
			full = orders
		}
		rel := classify.Relation{Name: full.Name}
		for _, c := range full.Columns {
			if !p.hidden[full.Name.Table+"."+c.Name] {
				rel.Columns = append(rel.Columns, c)
			}
		}
		d := Decision{ID: "d"}
		if got := p.decisions[full.Name.Table]; got != nil {
			d = *got
		}
		tables, decisions, rels = append(tables, full), append(decisions, d), append(rels, rel)
	}
	b, err := s.Bind(rels)
	if err != nil {
		return nil, err
	}
	return Apply(b, "rev1", tables, decisions)
}

// TestApply reads a policy and a statement and prints the governed statement.
func TestApply(t *testing.T) {
	datadriven.RunTest(t, "testdata/apply.dd", func(t *testing.T, d *datadriven.TestData) string {
		g, err := apply(t, parseCase(t, d.Input))
		if err != nil {
			if fault, ok := errors.AsType[*PolicyError](err); ok {
				return fmt.Sprintf("%v\noperator: %v\n", err, fault.Cause)
			}
			return err.Error() + "\n"
		}
		return printGoverned(t, g)
	})
}

func printGoverned(t testing.TB, g *Governed) string {
	var out strings.Builder
	for _, r := range g.Relations() {
		fmt.Fprintf(&out, "%s = %s", r.CTE, r.Name)
		for _, is := range []struct {
			so   bool
			what string
		}{{r.Barrier, ", barrier"}, {r.Raises, ", raises"}, {r.MaskFails, ", a mask fails unseen"}, {r.Steady, ", steady"}} {
			if is.so {
				out.WriteString(is.what)
			}
		}
		out.WriteString("\n")
		for _, c := range r.Columns {
			fmt.Fprintf(&out, "  %s (%d) %s", c.Name, c.FieldID, c.Type)
			if c.Mask != nil {
				fmt.Fprintf(&out, " = %s, reads %v", show(t, ShowHash(c.Mask)), c.Reads)
			}
			out.WriteString("\n")
		}
		if r.Filter != nil {
			fmt.Fprintf(&out, "  where %s\n", show(t, r.Filter))
		}
		for _, n := range r.Pushed {
			fmt.Fprintf(&out, "  pushed %s\n", show(t, n))
		}
		if len(r.Filters)+len(r.Masks) > 0 {
			fmt.Fprintf(&out, "  audit %v %v %s\n", r.Filters, r.Masks, r.Decision)
		}
	}
	text, err := pgquery.Deparse(&pgquery.ParseResult{Version: 170007, Stmts: []*pgquery.RawStmt{{Stmt: &pgquery.Node{Node: &pgquery.Node_SelectStmt{SelectStmt: g.Tree()}}}}})
	if err != nil {
		t.Fatal(err)
	}
	return out.String() + text + "\n"
}

// The order in which a policy gives filters, and Go walks maps, is no part of the result.
func TestOrderDoesNotMatter(t *testing.T) {
	filters := []Expression{
		{SQL: "region = 'EU'", ID: "a"},
		{SQL: "active", ID: "b"},
		{SQL: "email = :e", ID: "c", AnyOf: "self", Params: map[string]any{"e": "x", "f": 1}},
		{SQL: "id = 7", ID: "d", AnyOf: "self"},
		{SQL: "active", ID: "b"},
	}
	want := ""
	permute(filters, func(fs []Expression) {
		n, ids, err := rowFilter(customers, Decision{Filters: fs})
		if err != nil {
			t.Fatal(err)
		}
		got := show(t, n) + fmt.Sprint(ids)
		if want == "" {
			want = got
		}
		if got != want {
			t.Fatalf("%s\n%s", got, want)
		}
	})
	masks := []Expression{{SQL: "1", ID: "a"}, {SQL: "2", ID: "b", Priority: 2}, {SQL: "2", ID: "c", Priority: 2}, {SQL: "3", ID: "d", Priority: 1}}
	permute(masks, func(ms []Expression) {
		if got, err := CombineMasks("c", ms); err != nil || got.ID != "b" {
			t.Fatal(got, err)
		}
	})
	conflict := []Expression{{SQL: "1", Rule: "x.rego:1"}, {SQL: "2", Rule: "x.rego:2"}, {SQL: "1", Rule: "x.rego:3", Priority: -1}}
	permute(conflict, func(ms []Expression) {
		_, err := CombineMasks("c", ms)
		c, ok := errors.AsType[*MaskConflict](err)
		if !ok || c.A != "x.rego:1" || c.B != "x.rego:2" {
			t.Fatal(err)
		}
	})
}

func permute(es []Expression, f func([]Expression)) {
	var walk func(k int)
	walk = func(k int) {
		if k == len(es) {
			f(slices.Clone(es))
			return
		}
		for i := k; i < len(es); i++ {
			es[k], es[i] = es[i], es[k]
			walk(k + 1)
			es[k], es[i] = es[i], es[k]
		}
	}
	walk(0)
}

func TestLimits(t *testing.T) {
	many := Decision{ID: "d"}
	for i := range maxFilters + 1 {
		many.Filters = append(many.Filters, Expression{SQL: fmt.Sprintf("id <> %d", i)})
	}
	if _, _, err := rowFilter(customers, many); err == nil {
		t.Error("too many filters")
	}
	many.Filters = many.Filters[:maxFilters]
	if _, _, err := rowFilter(customers, many); err != nil {
		t.Error("control: ", err)
	}
	for _, c := range []struct {
		name, sql string
		ok        bool
	}{
		{"long", "region <> '" + strings.Repeat("x", maxExpression) + "'", false},
		{"long control", "region <> '" + strings.Repeat("x", maxExpression-20) + "'", true},
		{"tokens", strings.Repeat("1+", maxTokens/2) + "1", false},
		{"tokens control", strings.Repeat("1+", maxTokens/2-1) + "1", true},
		{"brackets", strings.Repeat("(", maxBrackets+1) + "1" + strings.Repeat(")", maxBrackets+1), false},
		{"brackets control", strings.Repeat("(", maxBrackets) + "1" + strings.Repeat(")", maxBrackets), true},
		{"identifier", strings.Repeat("x", 64), false},
		{"empty", "", false},
		{"blank", " \n", false},
		{"NUL", "region = 'a\x00b'", false},
		{"not UTF-8", "region = '\xff'", false},
	} {
		if _, _, err := expression(Expression{SQL: c.sql}, customers); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestApplyRefusesWhatDoesNotFit(t *testing.T) {
	if _, err := Apply(nil, "r", nil, nil); err == nil {
		t.Error("no statement")
	}
	s, err := classify.Parse("SELECT id FROM orders")
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Bind([]classify.Relation{{Name: orders.Name, Columns: orders.Columns}})
	if err != nil {
		t.Fatal(err)
	}
	other := orders
	other.Name.Table = "other"
	lacking := orders
	lacking.Columns = orders.Columns[1:]
	for _, c := range []struct {
		name string
		ts   []Table
		ds   []Decision
	}{
		{"no decision", []Table{orders}, nil},
		{"no table", nil, []Decision{{}}},
		{"two decisions", []Table{orders, orders}, []Decision{{}, {}}},
		{"another table", []Table{other}, []Decision{{}}},
		{"a table without the column", []Table{lacking}, []Decision{{}}},
		{"a mask for a column that is not there", []Table{orders}, []Decision{{Masks: map[string]Expression{"nope": {SQL: "NULL"}}}}},
	} {
		if g, err := Apply(b, "r", c.ts, c.ds); err == nil || g != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := Apply(b, "r", []Table{orders}, []Decision{{}}); err != nil {
		t.Error("control: ", err)
	}
}
