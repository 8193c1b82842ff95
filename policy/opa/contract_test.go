package opa_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatehouse/policies"
	"gatehouse/policy"
	"gatehouse/policy/opa"
	"gatehouse/policy/policytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scenario is policytest's policy, in the words of the router that we ship.
var scenario = map[string]string{
	"tables/lake/s/open.rego": `package tables.lake.s.open
		import data.lib.gw
		read if "analysts" in gw.groups`,
	"tables/lake/s/governed.rego": `package tables.lake.s.governed
		import data.lib.gw
		read if "analysts" in gw.groups
		hidden contains "secret"
		row_filters contains {"id": "eu", "expression": "region = 'EU'"}
		masks.name := {"id": "stars", "expression": "'***'"}`,
	"tables/lake/s/broken.rego": `package tables.lake.s.broken
		import data.lib.gw
		read if "analysts" in gw.groups
		row_filters contains {"expression": sprintf("%d", [to_number("x")])}`,
}

// withRouter adds the router and library to files.
func withRouter(t testing.TB, files map[string]string) map[string][]byte {
	t.Helper()
	all, err := policies.Files(policies.Skeleton)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		all[name] = []byte(text)
	}
	return all
}

func decider(t testing.TB, cfg opa.Config) *opa.Decider {
	t.Helper()
	if cfg.Timeout == 0 {
		cfg.Timeout = 30 * time.Second // tests share their machine
	}
	d, err := opa.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestContract(t *testing.T) {
	t.Run("router", func(t *testing.T) {
		policytest.Run(t, policytest.Scenario{New: func(t *testing.T) policy.Decider {
			return decider(t, opa.Config{Files: withRouter(t, scenario)})
		}})
	})
	t.Run("batch rules", func(t *testing.T) {
		policytest.Run(t, policytest.Scenario{New: func(t *testing.T) policy.Decider {
			return decider(t, opa.Config{Files: map[string][]byte{"p.rego": []byte(batchPolicy)}, Prefer: "batch"})
		}})
	})
	t.Run("rego v0", func(t *testing.T) {
		policytest.Run(t, policytest.Scenario{New: func(t *testing.T) policy.Decider {
			return decider(t, opa.Config{Files: map[string][]byte{"p.rego": []byte(v0Policy)}, Rego: "auto", Entry: opa.EntryPoints{BatchColumnMasks: opa.None}})
		}})
	})
}

// batchPolicy is a policy in the style of sites whose Trino asks the batch rules.
const batchPolicy = `package trino

analyst if "analysts" in input.context.identity.groups

readable := {"open", "governed", "broken"}

sees(table) if {
	analyst
	table.catalogName == "lake"
	table.schemaName == "s"
	table.tableName in readable
}

default allow := false
allow if input.action.operation == "ExecuteQuery"
allow if {
	analyst
	input.action.operation == "AccessCatalog"
	input.action.resource.catalog.name == "lake"
}
allow if {
	input.action.operation == "SelectFromColumns"
	sees(input.action.resource.table)
	not "secret" in input.action.resource.table.columns
}

batch contains i if {
	analyst
	some i
	input.action.operation == "FilterCatalogs"
	input.action.filterResources[i].catalog.name == "lake"
}
batch contains i if {
	analyst
	some i
	input.action.operation == "FilterSchemas"
	input.action.filterResources[i].schema.catalogName == "lake"
	input.action.filterResources[i].schema.schemaName == "s"
}
batch contains i if {
	some i
	input.action.operation == "FilterTables"
	sees(input.action.filterResources[i].table)
}
batch contains i if {
	some i
	input.action.operation == "FilterColumns"
	sees(input.action.filterResources[0].table)
	input.action.filterResources[0].table.columns[i] != "secret"
}

rowFilters contains {"expression": "region = 'EU'"} if input.action.resource.table.tableName == "governed"
rowFilters contains {"expression": to_number("x")} if input.action.resource.table.tableName == "broken"

batchColumnMasks contains {"index": i, "viewExpression": {"expression": "'***'"}} if {
	some i
	input.action.filterResources[i].column.tableName == "governed"
	input.action.filterResources[i].column.columnName == "name"
}
`

// v0Policy is a policy in the style of Trino's own manual: Rego v0, complete rules, single questions.
const v0Policy = `package trino

default allow = false

analyst { input.context.identity.groups[_] == "analysts" }

allow { input.action.operation == "ExecuteQuery" }

allow {
	analyst
	catalogOps[input.action.operation]
	input.action.resource.catalog.name == "lake"
}

catalogOps = {"AccessCatalog", "FilterCatalogs"}

allow {
	analyst
	input.action.operation == "FilterSchemas"
	input.action.resource.schema.catalogName == "lake"
	input.action.resource.schema.schemaName == "s"
}

tableOps = {"FilterTables", "SelectFromColumns", "FilterColumns"}

allow {
	analyst
	tableOps[input.action.operation]
	input.action.resource.table.catalogName == "lake"
	readable[input.action.resource.table.tableName]
	not secret
}

readable = {"open", "governed", "broken"}

secret { input.action.resource.table.columns[_] == "secret" }

rowFilters[{"expression": "region = 'EU'"}] { input.action.resource.table.tableName == "governed" }

rowFilters[{"expression": to_number("x")}] { input.action.resource.table.tableName == "broken" }

columnMask = {"expression": "'***'"} {
	input.action.resource.column.tableName == "governed"
	input.action.resource.column.columnName == "name"
}
`
