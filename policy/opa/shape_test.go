package opa_test

import (
	"slices"
	"strings"
	"testing"

	"gatehouse/policies"
	"gatehouse/policy/opa"
)

// What compiles and would yet never do what its author meant is found, with line and column.
func TestShape(t *testing.T) {
	columns := func(c, s, table string) ([]string, bool) {
		if c == "c" && s == "s" && table == "t" {
			return []string{"id", "Card", "region"}, true
		}
		return nil, false
	}
	for _, c := range []struct{ name, text, want string }{
		{"nothing wrong", "read if helper\n\nhelper if true\n\nhidden contains \"ID\"\n\nmasks.card := {\"expression\": \"NULL\"}", ""},
		{"several masks", "masks.card := {{\"expression\": \"NULL\"}, {\"expression\": \"id\", \"priority\": 1}}", ""},
		{"a column that is computed", "masks[c] := {\"expression\": \"NULL\"} if some c in {\"x\"}", ""},
		{"misspelt rule", "row_filter contains {\"expression\": \"true\"}", ":3:1: nobody asks the rule row_filter; did you mean row_filters?"},
		{"misspelt mask", "mask.card := {\"expression\": \"NULL\"}", ":3:1: nobody asks the rule mask; did you mean masks?"},
		{"a helper with such a name", "reads := true\n\nread if reads", ""},
		{"no such column", "masks.crd := {\"expression\": \"NULL\"}", `:3:1: the table has no column "crd"; did you mean "Card"?`},
		{"no such hidden column", "hidden contains \"margin\"", `:3:17: the table has no column "margin"`},
		{"not an object", "row_filters contains \"true\"", `:3:22: a filter or mask is an object with the key "expression"`},
		{"a filter that is no set", "row_filters := {\"expression\": \"true\"}", `:3:1: row_filters is a set of expressions`},
		{"a misspelt key", "masks.card := {\"expresion\": \"NULL\"}", `:3:16: a filter or mask has no key "expresion"`},
		{"a wrong type", "masks.card := {\"expression\": \"NULL\", \"priority\": \"high\"}", `:3:50: priority has the wrong type`},
		{"params that are a list", "row_filters contains {\"expression\": \"id = :a\", \"params\": [1]}", `:3:58: params has the wrong type`},
		{"read that is a text", "read := \"yes\"", `:3:9: read is true or false`},
		{"masks as a set", "masks contains \"card\"", `masks is an object`},
		{"empty", "masks.card := {\"expression\": \"\"}", `:3:30: the expression is empty`},
	} {
		t.Run(c.name, func(t *testing.T) {
			files, err := policies.Files(policies.Skeleton)
			if err != nil {
				t.Fatal(err)
			}
			files["t.rego"] = []byte("package tables.c.s.t\n\n" + c.text + "\n")
			x, err := opa.NewExplorer(opa.Config{Files: files})
			if err != nil {
				t.Fatal(err)
			}
			faults, absent := x.Shape(columns)
			var got []string
			for _, f := range faults {
				got = append(got, f.Error())
			}
			if c.want == "" && len(got) > 0 || !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, c.want) }) && c.want != "" {
				t.Errorf("%q, want %q", got, c.want)
			}
			if len(absent) > 0 {
				t.Errorf("absent: %v", absent)
			}
		})
	}
}

// A package of a table that does not exist is said, and is no fault; one at another depth is.
func TestShapeOfPackages(t *testing.T) {
	files, err := policies.Files(policies.Demo)
	if err != nil {
		t.Fatal(err)
	}
	files["deep.rego"] = []byte("package tables.lake.deep\n\nread := true\n")
	x, err := opa.NewExplorer(opa.Config{Files: files})
	if err != nil {
		t.Fatal(err)
	}
	faults, absent := x.Shape(func(_, _, table string) ([]string, bool) {
		return []string{"tax_id", "email", "phone", "birth_date", "credit_limit", "salary"}, table != "payroll"
	})
	if len(faults) != 1 || faults[0].Error() != "deep.rego:1:1: a table's package is tables.CATALOG.SCHEMA.TABLE" {
		t.Errorf("%v", faults)
	}
	if len(absent) != 1 || absent[0].Text != "there is no table lake.shop.payroll" || absent[0].File != "tables/lake/shop/payroll.rego" {
		t.Errorf("%v", absent)
	}
}
