package opa_test

import (
	"fmt"
	"strings"
	"testing"

	"gatehouse/classify"
	"gatehouse/policies"
	"gatehouse/policy"
	"gatehouse/policy/opa"
)

// What a policy can return is found for every caller, whatever the condition.
func TestExplorer(t *testing.T) {
	files, err := policies.Files(policies.Demo)
	if err != nil {
		t.Fatal(err)
	}
	files["tables/lake/shop/extra.rego"] = []byte(`package tables.lake.shop.extra

import data.lib.gw

read if gw.claims.level > 3

row_filters contains {"id": "own", "expression": "owner = :me", "params": {"me": gw.user, "n": 7}} if gw.user != "root"

row_filters contains {"id": "text", "expression": sprintf("owner = '%s'", [gw.user])} if gw.has_role({"x"})

masks.a := {"expression": concat("", ["left(", "a", ", 2)"])} if not gw.has_role({"x"})
`)
	x, err := opa.NewExplorer(opa.Config{Files: files})
	if err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string]string{
		"orders": `entry/trino.rego:131 "" false: false map[]
tables/lake/shop/orders.rego:13 "" false: order_date >= CAST(:since AS DATE) map[since:2025-04-01]
tables/lake/shop/orders.rego:9 "" false: region = 'EU' map[]`,
		"extra": `entry/trino.rego:131 "" false: false map[]
entry/trino.rego:160 "a" false: NULL map[]
tables/lake/shop/extra.rego:11 "a" false: left(a, 2) map[]
tables/lake/shop/extra.rego:7 "" false: owner = :me map[me:<nil> n:7]
tables/lake/shop/extra.rego:9 "" true:  map[]`,
	} {
		tab := policy.Table{Name: classify.Name{Catalog: "lake", Schema: "shop", Table: table}}
		if table == "extra" {
			tab.Columns = []classify.Column{{Name: "a", FieldID: 1, Type: "VARCHAR"}}
		}
		found, err := x.Expressions(t.Context(), tab)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range found {
			got = append(got, fmt.Sprintf("%s %q %v: %s %v", p.Rule, p.Column, p.Computed, p.SQL, p.Params))
		}
		if text := strings.Join(got, "\n"); text != want {
			t.Errorf("%s:\n%s\nwant\n%s", table, text, want)
		}
	}
}

// Policies that were written for Trino are explored as well: batch rules in Rego v0 are found, and where the rules' texts are data
// that is chosen by the caller, that is said.
func TestExplorerOfExistingPolicies(t *testing.T) {
	people := policy.Table{Name: classify.Name{Catalog: "lake", Schema: "hr", Table: "people"}}
	for i, c := range []string{"name", "phone"} {
		people.Columns = append(people.Columns, classify.Column{Name: c, FieldID: i + 1, Type: "VARCHAR"})
	}
	for _, c := range []struct{ dir, version, want string }{
		{"first-match", "v1", ` "" true, "name" true, "phone" true`},
		{"groups", "v0", `country = 'DE' "" false,'***' "phone" false`},
	} {
		x, err := opa.NewExplorer(opa.Config{Folder: "testdata/existing/" + c.dir, Rego: c.version, Lenient: true})
		if err != nil {
			t.Fatal(err)
		}
		found, err := x.Expressions(t.Context(), people)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range found {
			got = append(got, fmt.Sprintf("%s %q %v", p.SQL, p.Column, p.Computed))
		}
		if text := strings.Join(got, ","); text != c.want {
			t.Errorf("%s: %s, want %s", c.dir, text, c.want)
		}
	}
}
