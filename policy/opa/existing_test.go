package opa_test

import (
	"fmt"
	"testing"
	"time"

	"gatehouse/auth"
	"gatehouse/classify"
	"gatehouse/policy"
	"gatehouse/policy/opa"
	"gatehouse/policy/policytest"
)

// Policies that were written for Trino run as they are: the same answers by single and by batch rules, in Rego v0
// and v1.
func TestExistingPolicies(t *testing.T) {
	for _, c := range []struct{ dir, rego, admin string }{
		{"first-match", "v1", "root"}, {"first-match", "auto", "root"}, {"groups", "v0", "admins"}, {"groups", "auto", "admins"},
	} {
		for _, prefer := range []string{"", "batch"} {
			t.Run(fmt.Sprint(c.dir, " ", c.rego, " ", prefer), func(t *testing.T) {
				d := decider(t, opa.Config{Folder: "testdata/existing/" + c.dir, Rego: c.rego, Prefer: prefer, Timeout: 10 * time.Second, Log: quiet})
				staff := auth.Identity{Issuer: "i", Subject: "1", User: "ann", Groups: []string{"staff"}}
				admin := auth.Identity{Issuer: "i", Subject: "2", User: c.admin, Groups: []string{c.admin}}
				if c.dir == "groups" {
					admin.User = "someone"
				}
				existing(t, d, staff, admin)
			})
		}
	}
}

func existing(t *testing.T, d *opa.Decider, staff, admin auth.Identity) {
	people := policy.Table{Name: classify.Name{Catalog: "lake", Schema: "hr", Table: "people"}}
	for i, c := range []string{"name", "phone", "salary", "country"} {
		people.Columns = append(people.Columns, classify.Column{Name: c, FieldID: i + 1, Type: "VARCHAR"})
	}
	column := func(name string) policy.Resource {
		return policy.Resource{Catalog: "lake", Schema: "hr", Table: "people", Columns: []string{name}}
	}
	for _, c := range []struct {
		op          policy.Operation
		rs          []policy.Resource
		staff, root string
	}{
		{policy.ExecuteQuery, []policy.Resource{{}}, "[true]", "[true]"},
		{policy.FilterCatalogs, []policy.Resource{{Catalog: "lake"}}, "[true]", "[true]"},
		{policy.FilterTables, []policy.Resource{{Catalog: "lake", Schema: "hr", Table: "payroll"}, {Catalog: "lake", Schema: "hr", Table: "people"}}, "[false true]", "[true true]"},
		{policy.FilterColumns, []policy.Resource{column("name"), column("salary"), column("phone")}, "[true false true]", "[true true true]"},
		{policy.SelectColumns, []policy.Resource{column("name"), column("salary")}, "[true false]", "[true true]"},
	} {
		for id, want := range map[*auth.Identity]string{&staff: c.staff, &admin: c.root} {
			j, err := d.Judge(t.Context(), policytest.Caller(*id))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := j.Allow(t.Context(), c.op, c.rs); fmt.Sprint(got) != want || err != nil {
				t.Errorf("%s, %s: %v, %v; want %s", id.User, c.op, got, err, want)
			}
		}
	}
	for id, want := range map[*auth.Identity]string{&staff: "1 filters, masks '***'", &admin: "0 filters, masks "} {
		j, err := d.Judge(t.Context(), policytest.Caller(*id))
		if err != nil {
			t.Fatal(err)
		}
		got, err := j.Table(t.Context(), people, []string{"name", "phone"})
		if err != nil {
			t.Fatal(err)
		}
		if s := fmt.Sprintf("%d filters, masks %s", len(got.Filters), got.Masks["phone"].SQL); s != want || len(got.Masks) > 1 {
			t.Errorf("%s: %s; want %s", id.User, s, want)
		}
	}
}
