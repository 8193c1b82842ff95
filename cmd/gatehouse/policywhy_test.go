package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gatehouse/policies"
)

// From the id in what a user was told, an operator gets to the rule.
func TestPolicyWhy(t *testing.T) {
	home := t.TempDir()
	if err := policies.Write(filepath.Join(home, "policy"), policies.Demo); err != nil {
		t.Fatal(err)
	}
	writePolicy(t, filepath.Join(home, "policy"), map[string]string{
		"tables/lake/shop/products.rego":    "package tables.lake.shop.products\n\nread := true\n\nrow_filters contains {\"id\": \"broken\", \"expression\": \"no_such_column = 1\"}\n",
		"tables/lake/shop/order_items.rego": "package tables.lake.shop.order_items\n\nread := true\n\nrow_filters contains {\"expression\": x} if x := to_number(input.context.identity.user)\n",
	})
	s := serveFolder(t, home)
	addTestUser(t, home, "ann", "analyst_eu")
	ask := func(sql string) string {
		_, out, errs := invoke(t, map[string]string{"GATEHOUSE_PASSWORD": "ann"}, "sql", "--url", "grpc://"+s.flight, "--user", "ann", "-c", sql)
		return out + errs
	}
	ask("SELECT count(*), max(tax_id) FROM lake.shop.customers")
	told := map[string]string{}
	for _, table := range []string{"products", "order_items"} {
		text := ask("SELECT count(*) FROM lake.shop." + table)
		m := regexp.MustCompile(`decision ([0-9a-f]{32})`).FindStringSubmatch(text)
		if m == nil || strings.Contains(text, "no_such_column") || strings.Contains(text, ".rego") || strings.Contains(text, "broken") {
			t.Fatalf("the user is told %q", text)
		}
		told[table] = m[1]
	}
	if code := s.end(t); code != exitOK {
		t.Fatal(code)
	}
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte("not JSON\n"+s.errs.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	audit := filepath.Join(home, "audit.jsonl")
	lines, err := os.ReadFile(audit)
	if err != nil {
		t.Fatal(err)
	}
	var first struct {
		Query string `json:"query_id"`
	}
	for _, line := range bytes.Split(lines, []byte("\n")) {
		if bytes.Contains(line, []byte("eu_only")) {
			if err := json.Unmarshal(line, &first); err != nil {
				t.Fatal(err)
			}
		}
	}
	why := func(id string, more ...string) []string {
		return append([]string{"why", id, "--audit", audit}, more...)
	}
	for _, c := range []policyCase{
		{
			"an answer", why(first.Query), exitOK,
			[]string{"ann (ann of gatehouse:users)", "table     lake.shop.customers", "filter eu_only  tables/lake/shop/customers.rego:12", "mask tax_id=last_four  tables/lake/shop/customers.rego:16", "outcome   ok", "1 row"},
			nil,
		},
		{"an expression that does not bind", why(told["products"]), exitOK, []string{"outcome   denied", "rule      tables/lake/shop/products.rego:5", "decision  " + told["products"], "table     lake.shop.products"}, []string{"no_such_column"}},
		{"with its cause", why(told["products"], "--log", log), exitOK, []string{"cause     tables/lake/shop/products.rego:5: ", "no_such_column"}, nil},
		{"a rule that fails", why(told["order_items"]), exitOK, []string{"rule      tables/lake/shop/order_items.rego:5"}, nil},
		{"by the configuration", []string{"why", told["products"], "--config", filepath.Join(home, "gatehouse.yaml"), "--json"}, exitOK, []string{`"rule": "tables/lake/shop/products.rego:5"`}, nil},
		{"unknown", why("00000000000000000000000000000000"), exitFailure, []string{"has no decision or statement"}, nil},
		{"no log", []string{"why", told["products"], "--audit", audit + ".no"}, exitFailure, []string{"no such file"}, nil},
		{"nothing named", []string{"why", told["products"]}, exitUsage, []string{"--audit FILE"}, nil},
	} {
		c.run(t)
	}
}

func TestPolicyFmt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "policy")
	writePolicy(t, dir, map[string]string{"tables/x.rego": "package tables.a.b.x\nread   :=   true\n"})
	file := filepath.Join(dir, "tables/x.rego")
	for _, c := range []policyCase{
		{"dry", []string{"fmt", dir, "--dry"}, exitFailure, []string{file, "1 file would change"}, nil},
		{"for good", []string{"fmt", dir, "--json"}, exitOK, []string{`"changed"`, "x.rego"}, nil},
		{"again", []string{"fmt", dir, "--dry"}, exitOK, nil, []string{"rego"}},
		{"nowhere", []string{"fmt", dir + "x"}, exitFailure, []string{"no such file"}, nil},
	} {
		c.run(t)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "package tables.a.b.x\n\nread := true\n" {
		t.Errorf("%q %v", b, err)
	}
	writePolicy(t, dir, map[string]string{"tables/x.rego": "package tables.a.b.x\nread := {\n"})
	policyCase{"no Rego", []string{"fmt", dir}, exitFailure, []string{"x.rego:"}, nil}.run(t)
}
