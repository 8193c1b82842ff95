package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"

	"gatehouse/auth"
	"gatehouse/classify"
	"gatehouse/classify/printer"
)

// customers is the table of this package's tests. It has two columns whose names differ in case only.
var customers = Table{
	Name: classify.Name{Catalog: "lake", Schema: "shop", Table: "customers"},
	Columns: []classify.Column{
		{Name: "id", FieldID: 1, Type: "BIGINT"},
		{Name: "email", FieldID: 2, Type: "VARCHAR"},
		{Name: "region", FieldID: 3, Type: "VARCHAR"},
		{Name: "birth_date", FieldID: 4, Type: "DATE"},
		{Name: "active", FieldID: 5, Type: "BOOLEAN"},
		{Name: "Note", FieldID: 6, Type: "VARCHAR"},
		{Name: "twin", FieldID: 7, Type: "VARCHAR"},
		{Name: "Twin", FieldID: 8, Type: "VARCHAR"},
		{Name: "tax_id", FieldID: 9, Type: "VARCHAR"},
	},
}

// show prints a tree as the executor does, with the marker of gw_hash as authors write it.
func show(t fataler, n *pgquery.Node) string {
	t.Helper()
	expanded, err := ExpandHash(n, auth.NewSecret("key"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := printer.PrintExpr(expanded, printer.DuckDB()); err != nil {
		t.Fatalf("an accepted expression cannot be printed: %v", err)
	}
	d := printer.DuckDB()
	if proto.Equal(n, expanded) {
		text, err := printer.PrintExpr(n, d)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	// What stands for the hash is printed as another function of one argument, because gw_hash is none of the engine's.
	text, err := printer.PrintExpr(edit(proto.CloneOf(ShowHash(n)), func(n *pgquery.Node) *pgquery.Node {
		if f := n.GetFuncCall(); f != nil && f.Funcname[0].GetString_().Sval == HashFunction {
			return call("md5", f.Args...)
		}
		return n
	}), d)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(text, "md5(", HashFunction+"(")
}

// TestExpressions reads expressions as policies return them and prints what is merged, with the fields that it reads.
func TestExpressions(t *testing.T) {
	datadriven.RunTest(t, "testdata/expressions.dd", func(t *testing.T, d *datadriven.TestData) string {
		params := map[string]any{}
		input := d.Input
		if strings.HasPrefix(input, "{") { // parameters stand on the first line
			text, rest, _ := strings.Cut(input, "\n")
			dec := json.NewDecoder(strings.NewReader(text))
			dec.UseNumber()
			if err := dec.Decode(&params); err != nil {
				t.Fatal(err)
			}
			input = rest
		}
		switch d.Cmd {
		case "expr":
			n, reads, err := expression(Expression{SQL: input, Params: params}, customers)
			if err != nil {
				return "refused: " + err.Error() + "\n"
			}
			return fmt.Sprintf("%s\nreads %v\n", show(t, n), reads)
		case "filter":
			var e []Expression
			for line := range strings.Lines(input) {
				group, sql, _ := strings.Cut(strings.TrimSpace(line), "|")
				e = append(e, Expression{SQL: sql, AnyOf: strings.TrimSpace(group), ID: sql, Params: params})
			}
			n, _, err := rowFilter(customers, Decision{ID: "d", Filters: e})
			if err != nil {
				return "refused: " + errors.Unwrap(err).Error() + "\n"
			}
			return show(t, n) + "\n"
		default:
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		}
	})
}

// fataler is what testing and rapid have in common.
type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}
