package main

import (
	"encoding/json"
	"testing"
)

// What would fail when somebody asks is found before, with the line of its rule, whoever would have had to ask.
func TestPolicyCheck(t *testing.T) {
	lake := lakeFolder(t)
	products := func(rules string) string {
		return demoPolicy(t, map[string]string{
			"tables/lake/shop/products.rego": "package tables.lake.shop.products\n\nimport data.lib.gw\n\nread if gw.has_role({\"admin\"})\n\n" + rules + "\n",
		})
	}
	check := func(rules string) []string { return []string{"check", "--warehouse", lake, products(rules)} }
	for _, c := range []policyCase{
		{"the example", []string{"check", demoPolicy(t, nil), "--warehouse", lake}, exitOK, []string{"compiles", "of 6 tables checked"}, []string{"note"}},
		{"without tables", []string{"check", demoPolicy(t, nil)}, exitOK, []string{"compiles", "expressions were not checked"}, nil},
		{"a rare caller", check(`masks.name := {"expression": "upper(name)"} if gw.claims.x == 17`), exitOK, []string{"compiles"}, nil},
		{"a parameter", check(`row_filters contains {"expression": "category IN (:c)", "params": {"c": gw.claims.c}} if gw.claims.c`), exitOK, []string{"compiles"}, nil},
		{"a column", check(`masks.name := {"expression": "nme"} if gw.claims.x == 17`), exitFailure, []string{"products.rego:7: mask of column \"name\"", "nme"}, nil},
		{"a type", check(`masks.price := {"id": "p", "expression": "upper(price) + 1"} if gw.claims.x`), exitFailure, []string{"products.rego:7: mask of column \"price\"", "upper(price)"}, []string{"the statement failed"}},
		{"a function", check(`row_filters contains {"expression": "is_nice(name)"} if gw.claims.x`), exitFailure, []string{"products.rego:7: row filter", "function is_nice is not allowed"}, nil},
		{"no condition", check(`row_filters contains {"expression": "name"} if gw.claims.x`), exitFailure, []string{"products.rego:7", "must be a condition"}, nil},
		{"a parameter that is not given", check(`row_filters contains {"expression": "name = :n"} if gw.claims.x`), exitFailure, []string{"products.rego:7", "no parameter :n"}, nil},
		{"a column of a mask", check(`masks.nam := {"expression": "NULL"}`), exitFailure, []string{`products.rego:7:1: the table has no column "nam"; did you mean "name"?`}, nil},
		{"a misspelt rule", check(`row_filter contains {"expression": "false"}`), exitFailure, []string{"products.rego:7:1", "did you mean row_filters"}, nil},
		{"a text of the caller", check(`row_filters contains {"expression": sprintf("name = '%s'", [gw.user])}`), exitOK, []string{"note: ", "products.rego:7", "put the caller's values into params"}, nil},
		{"a text that is data", check(`row_filters contains {"expression": filters[role]} if some role in gw.roles

filters := {"admin": "name = 'x'", "b": "nme = 'x'"}`), exitFailure, []string{"products.rego:7", "nme"}, nil},
		{"two masks of one column", check(`masks.name := {"expression": "NULL"} if gw.has_role({"admin"})

masks.name := {"expression": "'x'"} if gw.has_role({"support", "admin"})`), exitFailure, []string{"products.rego:", "for somebody (role admin)", "conflict"}, nil},
		{"an unknown built-in", check(`read if nice.function(1)`), exitFailure, []string{"products.rego:7", "nice.function"}, nil},
		{"Trino's own form", []string{"check", "--warehouse", lake, "--rego", "v0", "--lenient", "../../policy/opa/testdata/existing/groups"}, exitOK, []string{"compiles"}, nil},
		{"no such warehouse", []string{"check", "--warehouse", t.TempDir(), demoPolicy(t, nil)}, exitFailure, []string{"gatehouse policy:"}, nil},
		{"a misspelt configuration", []string{"check", "--config", "no-such-file.yaml"}, exitFailure, []string{"no-such-file.yaml"}, nil},
	} {
		c.run(t)
	}
	_, out, _ := invoke(t, nil, append([]string{"policy"}, append(check(`masks.name := {"expression": "nme"}`), "--json")...)...)
	var r checkReport
	if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Faults) != 1 || r.Tables != 6 || r.Expressions < 10 {
		t.Errorf("%v %+v\n%s", err, r, out)
	}
}
