package main

import (
	"encoding/json"
	"testing"
)

// A data test is a statement through the whole pipeline, on the real tables.
func TestPolicyDataTests(t *testing.T) {
	lake := lakeFolder(t)
	with := func(tests string) []string {
		return []string{"test", "--warehouse", lake, demoPolicy(t, map[string]string{"tests/shop_test.yaml": tests})}
	}
	const analyst = "- {as: alice, roles: [analyst_eu], sql: \"SELECT region, count(*) FROM lake.shop.customers GROUP BY 1\", "
	eu := customersOf(t, lake, "analyst_eu", "SELECT count(*) FROM lake.shop.customers")
	all := customersOf(t, lake, "admin", "SELECT count(*) FROM lake.shop.customers")
	if eu == all {
		t.Fatal("the filter hides nothing, so this test shows nothing")
	}
	for _, c := range []policyCase{
		{
			"all hold", with(`
- name: analysts see the EU
  as: alice
  roles: [analyst_eu]
  sql: SELECT count(*) FROM lake.shop.customers
  gives: ` + eu + `
- name: administrators see all
  as: root
  roles: [admin]
  sql: SELECT count(*) FROM lake.shop.customers
  gives: ` + all + `
- {as: alice, roles: [analyst_eu], sql: "SELECT phone, 1 FROM lake.shop.customers WHERE id = (SELECT min(id) FROM lake.shop.customers)", rows: [[null, 1]]}
- {as: gus, roles: [], sql: "SELECT * FROM lake.shop.customers", error: does not exist}
- {as: alice, roles: [analyst_eu], sql: "SELECT region FROM lake.shop.customers WHERE region = 'APAC'", rows: [], hides: [APAC]}
`), exitOK, []string{"5 data tests run, 0 failed; they do not count for coverage", "coverage"}, []string{"FAIL"},
		},
		{"a wrong number", with(analyst + "rows: [[EU, 1]]}"), exitFailure, []string{"FAIL alice: SELECT region", "tests/shop_test.yaml:1", `["EU","` + eu + `"], not ["EU","1"]`}, nil},
		{"no error", with(analyst + "error: does not exist}"), exitFailure, []string{"not an error with"}, nil},
		{"an error", with(`- {as: gus, roles: [], sql: SELECT 1 FROM lake.shop.customers, gives: 1}`), exitFailure, []string{"is told", "does not exist"}, nil},
		{"what must not show", with(analyst + "rows: [[EU, " + eu + "]], hides: [EU]}"), exitFailure, []string{`the answer holds "EU"`}, nil},
		{"a misspelt key", with(analyst + "give: 1}"), exitFailure, []string{"tests/shop_test.yaml", "give"}, nil},
		{"no expectation", with("- {as: a, sql: SELECT 1}"), exitFailure, []string{"tests/shop_test.yaml:1: a data test has"}, nil},
		{"without tables", []string{"test", demoPolicy(t, map[string]string{"a_test.yaml": "- {as: a, sql: SELECT 1, gives: 1}"})}, exitOK, []string{"1 data test NOT run"}, nil},
	} {
		c.run(t)
	}
	_, out, _ := invoke(t, nil, append([]string{"policy"}, append(with(analyst+"gives: 1}"), "--json")...)...)
	var r testReport
	if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Data) != 1 || r.DataRun != 1 || r.Passed == 0 || r.Data[0].Place != "tests/shop_test.yaml:1" {
		t.Errorf("%v %+v\n%s", err, r, out)
	}
}

// customersOf runs a statement by the example policy.
func customersOf(t *testing.T, lake, role, sql string) string {
	t.Helper()
	b, err := openBench(t.Context(), benchOptions{policy: demoPolicy(t, nil), warehouse: lake})
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	d, err := b.decider(b.cfg.Policy.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := b.gatewayFor(d)
	if err != nil {
		t.Fatal(err)
	}
	id, err := callerOptions{user: "x", roles: list{role}}.caller(nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := rowsOf(t.Context(), g, id, sql)
	var cells []string
	if err != nil || len(rows) != 1 || json.Unmarshal([]byte(rows[0]), &cells) != nil {
		t.Fatal(rows, err)
	}
	return cells[0]
}
