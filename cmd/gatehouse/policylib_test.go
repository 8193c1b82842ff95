package main

import "testing"

// What each line of the library gives on real rows.
func TestPolicyLibrary(t *testing.T) {
	lake := lakeFolder(t)
	eu := customersOf(t, lake, "admin", "SELECT count(*) FROM lake.shop.customers WHERE region = 'EU'")
	more := customersOf(t, lake, "admin", "SELECT count(*) FROM lake.shop.customers WHERE region IN ('EU', 'US')")
	dir := demoPolicy(t, map[string]string{
		"tables/lake/shop/customers.rego": `package tables.lake.shop.customers

import data.lib.access
import data.lib.gw
import data.lib.mask

read if gw.has_role({"masked", "short", "regional", "analyst", "auditor"})

row_filters contains access.matches("region", "region") if gw.has_role({"regional"})

row_filters contains filter if {
	not gw.has_role({"masked", "short", "regional"})
	some filter in access.by_role({"analyst": "region = 'EU'", "lead": "region = 'US'"})
}

masks.tax_id := mask.keep_last("tax_id", 4) if gw.has_role({"masked"})

masks.phone := mask.redact("phone") if gw.has_role({"masked"})

masks.email := mask.hash("email") if gw.has_role({"masked"})

masks.birth_date := mask.year("birth_date") if gw.has_role({"masked"})

masks.credit_limit := mask.bucket("credit_limit", 1000) if gw.has_role({"masked"})

masks.name := mask.as_null("name") if gw.has_role({"masked"})

masks.region := mask.keep_last("region", 4) if gw.has_role({"short"})
`,
		"tables/lake/shop/payroll.rego": `package tables.lake.shop.payroll

import data.lib.access

read if access.break_glass

row_filters contains access.alarm
`,
		"tests/shop_test.rego": "package tests.shop\n", // the example's own are about its own rules
		"global.rego": `package global

import data.lib.mask

mask := mask.redact(mask.column) if mask.tagged("pii")
`,
		"tags/data.yaml":        "lake: {shop: {employees: {Name: [pii]}}}\n",
		"break_glass/data.yaml": "rights:\n  - {user: eve, table: lake.shop.payroll, until: \"2099-01-01T00:00:00Z\", reason: INC-7}\n  - {user: dan, table: lake.shop.payroll, until: \"2020-01-01T00:00:00Z\", reason: INC-1}\n",
		"tests/library_test.yaml": `
- as: mia
  roles: [masked]
  sql: SELECT tax_id, phone, length(email), birth_date, credit_limit, name FROM lake.shop.customers WHERE id = 1
  rows: [["****6190", "***", 64, 1970-01-01, "7000.00", null]]
  hides: [900-06, "713", susan, 06-02, "7200"]
- {as: mia, roles: [masked], sql: "SELECT count(DISTINCT email) = count(*) FROM lake.shop.customers", gives: true}
- {as: sid, roles: [short], sql: "SELECT DISTINCT region FROM lake.shop.customers", gives: "****"}
- {as: ann, roles: [regional], claims: {region: EU}, sql: SELECT count(*) FROM lake.shop.customers, gives: ` + eu + `}
- {as: ann, roles: [regional], claims: {region: [EU, US]}, sql: SELECT count(*) FROM lake.shop.customers, gives: ` + more + `}
- {as: ann, roles: [regional], sql: SELECT count(*) FROM lake.shop.customers, gives: 0}
- {as: bob, roles: [analyst], sql: SELECT count(*) FROM lake.shop.customers, gives: ` + eu + `}
- {as: bob, roles: [analyst, lead], sql: SELECT count(*) FROM lake.shop.customers, gives: ` + more + `}
- {as: bob, roles: [auditor], sql: SELECT count(*) FROM lake.shop.customers, gives: 0}
- {as: pat, roles: [analyst_eu], sql: SELECT DISTINCT name FROM lake.shop.employees, gives: "***"}
- {as: eve, roles: [], sql: SELECT count(*) > 0 FROM lake.shop.payroll, gives: true}
- {as: dan, roles: [], sql: SELECT count(*) > 0 FROM lake.shop.payroll, error: does not exist}
`,
	})
	policyCase{"on real rows", []string{"test", dir, "--warehouse", lake}, exitOK, []string{"12 data tests run, 0 failed"}, []string{"FAIL"}}.run(t)
	policyCase{"on real columns", []string{"check", dir, "--warehouse", lake}, exitOK, []string{"compiles", "of 6 tables"}, []string{"note"}}.run(t)
}
