package opa_test

import (
	"encoding/json"
	"strings"
	"testing"

	"gatehouse/auth"
	"gatehouse/classify"
	"gatehouse/policies"
	"gatehouse/policy"
	"gatehouse/policy/opa"
	"gatehouse/policy/policytest"
)

// A trace names each rule that held, with its place, and no rule that did not.
func TestTrace(t *testing.T) {
	files, err := policies.Files(policies.Demo)
	if err != nil {
		t.Fatal(err)
	}
	var seen []opa.Evaluation
	d := decider(t, opa.Config{Files: files, Log: quiet, Trace: func(e opa.Evaluation) { seen = append(seen, e) }})
	j, err := d.Judge(t.Context(), policytest.Caller(auth.Identity{Issuer: "i", Subject: "bob", User: "bob", Roles: []string{"support"}}))
	if err != nil {
		t.Fatal(err)
	}
	orders := policy.Table{Name: classify.Name{Catalog: "lake", Schema: "shop", Table: "orders"}}
	if _, err := j.Table(t.Context(), orders, nil); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 1 || seen[0].Rule != "data.trino.rowFilters" || !strings.Contains(string(seen[0].Input), `"operation":"GetRowFilters"`) {
		t.Fatalf("%+v", seen)
	}
	var fired []string
	for _, f := range seen[0].Fired {
		fired = append(fired, f.String())
	}
	all := strings.Join(fired, "\n")
	for _, want := range []string{"orders.rego:13 tables.lake.shop.orders.row_filters", "orders.rego:26 tables.lake.shop.orders.oldest_for_support", "entry/trino.rego:"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not among\n%s", want, all)
		}
	}
	for _, not := range []string{"orders.rego:9 ", "orders.rego:21 "} {
		if strings.Contains(all, not) {
			t.Errorf("%q did not hold:\n%s", not, all)
		}
	}
	if text, err := json.Marshal(seen[0].Value); err != nil || !strings.Contains(string(text), `"id":"recent"`) {
		t.Errorf("%s %v", text, err)
	}
}
