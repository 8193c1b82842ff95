package opa_test

import (
	"testing"

	"gatehouse/auth"
	"gatehouse/classify"
	"gatehouse/policy"
	"gatehouse/policy/opa"
)

// TestFoldNames: a policy in Trino's lower-case names finds a table and columns that the catalog spells otherwise. The control is the
// same policy asked in the catalog's names, which would show the column.
func TestFoldNames(t *testing.T) {
	const text = `package trino

default allow := false

allow if input.action.resource.table.tableName == "people"

allow if input.action.operation == "AccessCatalog"

rowFilters contains {"expression": "region = 'EU'"} if input.action.resource.table.tableName == "people"

columnMask := {"expression": "NULL"} if {
	input.action.resource.column.tableName == "people"
	input.action.resource.column.columnName == "tax_id"
}
`
	people := policy.Table{
		Name:    classify.Name{Catalog: "Lake", Schema: "HR", Table: "People"},
		Columns: []classify.Column{{Name: "Region", FieldID: 1, Type: "VARCHAR"}, {Name: "Tax_ID", FieldID: 2, Type: "VARCHAR"}},
	}
	for _, fold := range []bool{false, true} {
		d, err := newWith(t, text, func(c *opa.Config) { c.FoldNames, c.Lenient = fold, true })
		if err != nil {
			t.Fatal(err)
		}
		j, err := d.Judge(t.Context(), policy.Caller{Identity: auth.Identity{Issuer: "i", Subject: "ann", User: "ann"}})
		if err != nil {
			t.Fatal(err)
		}
		ok, err := j.Allow(t.Context(), policy.SelectColumns, []policy.Resource{{Catalog: "Lake", Schema: "HR", Table: "People", Columns: []string{"Tax_ID"}, Detail: &people}})
		if err != nil || ok[0] != fold {
			t.Errorf("fold %v: allowed %v, %v", fold, ok, err)
		}
		got, err := j.Table(t.Context(), people, []string{"Region", "Tax_ID"})
		if err != nil {
			t.Fatal(err)
		}
		if mask, masked := got.Masks["Tax_ID"]; masked != fold || fold && mask.SQL != "NULL" {
			t.Errorf("fold %v: masks %v", fold, got.Masks)
		}
		if _, masked := got.Masks["Region"]; masked || (len(got.Filters) == 1) != fold {
			t.Errorf("fold %v: %+v", fold, got)
		}
	}
	if people.Columns[1].Name != "Tax_ID" {
		t.Error("the caller's table was changed")
	}
}
