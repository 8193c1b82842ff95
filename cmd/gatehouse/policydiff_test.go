package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatehouse/policies"
)

// Who gains and loses what is counted on the real rows.
func TestPolicyDiff(t *testing.T) {
	lake, before := lakeFolder(t), demoPolicy(t, nil)
	after := demoPolicy(t, map[string]string{
		"tables/lake/shop/products.rego":  "package tables.lake.shop.products\n\nimport data.lib.gw\n\nread if gw.has_role({\"admin\", \"analyst_eu\", \"auditor\"})\n",
		"tables/lake/shop/employees.rego": "package tables.lake.shop.employees\n\nimport data.lib.gw\n\nread if gw.has_role({\"admin\", \"analyst_eu\"})\n\nmasks.salary := {\"expression\": \"round(salary, -4)\"} if not gw.has_role({\"admin\"})\n",
	})
	moved, err := os.ReadFile(filepath.Join(after, "tables/lake/shop/customers.rego"))
	if err != nil {
		t.Fatal(err)
	}
	writePolicy(t, after, map[string]string{"tables/lake/shop/customers.rego": strings.Replace(string(moved), `{"region": "EU"}`, `{"region": "APAC"}`, 1)})
	eu := customersOf(t, lake, "analyst_eu", "SELECT count(*) FROM lake.shop.customers")
	apac := customersOf(t, lake, "admin", "SELECT count(*) FROM lake.shop.customers WHERE region = 'APAC'")
	diff := []string{"diff", before, after, "--warehouse", lake}
	for _, c := range []policyCase{
		{
			"everybody", diff, exitOK,
			[]string{
				"somebody (role analyst_eu), lake.shop.customers\n  rows: " + eu + ", then " + apac + ": gains " + apac + ", loses " + eu + "\n",
				"lake.shop.employees\n  gains column salary, masked by round(salary, -4)",
				"somebody (role support), lake.shop.products\n  rows: 1000, then 0: gains 0, loses 1000\n  loses the table",
				"somebody (role auditor), lake.shop.products\n  rows: 0, then 1000: gains 1000, loses 0\n  gains the table",
				"4 differences among 5 callers and 6 tables",
			},
			[]string{"role admin", "orders"},
		},
		{"one caller", append(diff, "--user", "zoe", "--role", "admin"), exitOK, []string{"0 differences among 1 caller"}, nil},
		{"for a pipeline", append(diff, "--exit-code"), exitFailure, []string{"the policies differ"}, nil},
		{"the same", []string{"diff", before, before, "--warehouse", lake, "--exit-code"}, exitOK, []string{"0 differences"}, nil},
		{"no tables", []string{"diff", before, after}, exitUsage, []string{"--warehouse"}, nil},
		{"no policy", []string{"diff", before, after + "x", "--warehouse", lake}, exitFailure, []string{after + "x: "}, nil},
		{"one policy", []string{"diff", before}, exitUsage, []string{"an argument is missing"}, nil},
	} {
		c.run(t)
	}
	_, out, _ := invoke(t, nil, append([]string{"policy"}, append(diff, "--json")...)...)
	var report struct{ Differences []difference }
	if err := json.Unmarshal([]byte(out), &report); err != nil || len(report.Differences) != 4 {
		t.Errorf("%v %s", err, out)
	}
}

// A candidate in the shadow is asked, and neither its answers nor its faults reach a user.
func TestServeShadow(t *testing.T) {
	home := t.TempDir()
	emergency := map[string]string{
		"tables/lake/shop/order_items.rego": "package tables.lake.shop.order_items\n\nimport data.lib.access\n\nread if access.break_glass\n\nrow_filters contains access.alarm\n",
		"break_glass/data.yaml":             "rights: [{user: ann, table: lake.shop.order_items, until: \"2099-01-01T00:00:00Z\", reason: INC-7}]\n",
	}
	for _, dir := range []string{"policy", "next"} {
		if err := policies.Write(filepath.Join(home, dir), policies.Demo); err != nil {
			t.Fatal(err)
		}
		writePolicy(t, filepath.Join(home, dir), emergency)
	}
	writePolicy(t, filepath.Join(home, "next"), map[string]string{
		"tables/lake/shop/products.rego": "package tables.lake.shop.products\n\nread := false\n",
		"tables/lake/shop/payroll.rego":  "package tables.lake.shop.payroll\n\nread := true\n",
	})
	first := serveFolder(t, home)
	addTestUser(t, home, "ann", "analyst_eu")
	if code := first.end(t); code != exitOK {
		t.Fatal(code)
	}
	config := filepath.Join(home, "gatehouse.yaml")
	b, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte(strings.Replace(string(b), "  dir: policy\n", "  dir: policy\n  shadow: next\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveFolder(t, home)
	ask := func(sql string) string {
		_, out, errs := invoke(t, map[string]string{"GATEHOUSE_PASSWORD": "ann"}, "sql", "--url", "grpc://"+s.flight, "--user", "ann", "-c", sql)
		return out + errs
	}
	if text := ask("SELECT count(*) FROM lake.shop.products"); !strings.Contains(text, "1000") {
		t.Errorf("the live policy allows it, and ann is told %q", text)
	}
	if text := ask("SELECT count(*) FROM lake.shop.payroll"); !strings.Contains(text, "does not exist") {
		t.Errorf("the live policy denies it, and ann is told %q", text)
	}
	if text := ask("SELECT count(*) > 0 FROM lake.shop.order_items"); !strings.Contains(text, "true") {
		t.Errorf("ann has an emergency right, and is told %q", text)
	}
	if _, body := get(t, s, "/metrics"); !strings.Contains(body, "gatehouse_break_glass_total 1\n") {
		t.Error("the emergency was not counted")
	}
	for deadline := time.Now().Add(time.Minute); ; {
		if _, body := get(t, s, "/metrics"); !strings.Contains(body, `gatehouse_policy_shadow_total{result="different"} 0`) && strings.Contains(body, `result="different"`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no difference was counted")
		}
	}
	if code := s.end(t); code != exitOK {
		t.Fatal(code)
	}
	for _, want := range []string{
		`"msg":"break-glass access"`, `"user":"ann","table":"lake.shop.order_items","reason":"INC-7"`, `"msg":"shadow policy differs"`, `"object":"lake.shop.products","live":"allowed","candidate":"denied"`,
	} {
		if !strings.Contains(s.errs.String(), want) {
			t.Errorf("the log does not say %s:\n%s", want, s.errs.String())
		}
	}
	if err := os.WriteFile(filepath.Join(home, "next", "bad.rego"), []byte("package"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, errs := invoke(t, nil, "serve", "--config", config, "--listen", "127.0.0.1:0", "--http", "off")
	if code != exitFailure || !strings.Contains(errs, "policy.shadow: ") || !strings.Contains(errs, "bad.rego:1") {
		t.Errorf("a candidate that does not compile: %d %s", code, errs)
	}
}
