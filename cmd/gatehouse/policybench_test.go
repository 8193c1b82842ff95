package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatehouse/policies"
)

// demoPolicy writes the example policy, with further files, into a folder of the test's own.
func demoPolicy(t testing.TB, more map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "policy")
	if err := policies.Write(dir, policies.Demo); err != nil {
		t.Fatal(err)
	}
	writePolicy(t, dir, more)
	return dir
}

func writePolicy(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// policyCase is one call of "gatehouse policy" and what it prints.
type policyCase struct {
	name string
	args []string
	code int
	want []string // in what is printed
	not  []string // not in it
}

func (c policyCase) run(t *testing.T) {
	t.Run(c.name, func(t *testing.T) {
		code, out, errs := invoke(t, nil, append([]string{"policy"}, c.args...)...)
		if code != c.code {
			t.Errorf("ends with %d, want %d", code, c.code)
		}
		for _, w := range c.want {
			if !strings.Contains(out+errs, w) {
				t.Errorf("does not say %q", w)
			}
		}
		for _, n := range c.not {
			if strings.Contains(out+errs, n) {
				t.Errorf("says %q", n)
			}
		}
		if t.Failed() {
			t.Logf("gatehouse policy %q\n%s%s", c.args, out, errs)
		}
	})
}

func TestPolicyEval(t *testing.T) {
	dir, lake := demoPolicy(t, map[string]string{
		"tables/lake/shop/products.rego": "package tables.lake.shop.products\n\nread := true\n\nrow_filters contains 7\n",
	}), lakeFolder(t)
	customers := []string{"eval", dir, "--warehouse", lake, "--table", "lake.shop.customers", "--user", "alice"}
	for _, c := range []policyCase{
		{
			"an analyst", append(customers, "--role", "analyst_eu"), exitOK,
			[]string{"alice (role analyst_eu)", `eu_only: region = :region  with {"region":"EU"}`, "customers.rego:12", "column  tax_id  mask    last_four", "customers.rego:16 tables.lake.shop.customers.masks.tax_id"},
			[]string{"does not exist", "masks.credit_limit"},
		},
		{"an administrator", append(customers, "--role", "admin"), exitOK, []string{"all rows", "column  tax_id  shown"}, []string{"mask  ", "filter  "}},
		{"nobody", customers, exitOK, []string{"alice (no roles)", "does not exist for this caller"}, []string{"eu_only"}},
		{
			"a hidden column",
			[]string{"eval", dir, "--warehouse", lake, "--table", "lake.shop.employees", "--user", "a", "--role", "analyst_eu"},
			exitOK,
			[]string{"column  salary  hidden", "column  name  shown"},
			nil,
		},
		{
			"one column without tables",
			[]string{"eval", dir, "--table", "lake.shop.customers", "--column", "phone", "--user", "a", "--role", "analyst_eu"},
			exitOK,
			[]string{"column  phone  mask    no_phone"},
			[]string{"column  email"},
		},
		{
			"an answer of another shape",
			[]string{"eval", dir, "--warehouse", lake, "--table", "lake.shop.products", "--user", "a"},
			exitFailure,
			[]string{"everything is denied", "not an object"},
			nil,
		},
		{"no such table", []string{"eval", dir, "--warehouse", lake, "--table", "lake.shop.nothing", "--user", "a"}, exitFailure, []string{"no table shop.nothing"}, nil},
		{"no table", []string{"eval", dir, "--user", "a"}, exitUsage, []string{"--table CATALOG.SCHEMA.TABLE"}, nil},
		{"no caller", []string{"eval", dir, "--table", "lake.shop.customers"}, exitUsage, []string{"--user NAME"}, nil},
		{"no policy", []string{"eval", "--user", "a", "--table", "a.b.c"}, exitUsage, []string{"policy folder"}, nil},
		{"two places", append(customers, "--config", "x"), exitUsage, []string{"two places"}, nil},
	} {
		c.run(t)
	}
}

func TestPolicyEvalJSON(t *testing.T) {
	dir, lake := demoPolicy(t, nil), lakeFolder(t)
	code, out, errs := invoke(t, nil, "policy", "eval", dir, "--json", "--warehouse", lake, "--table", "lake.shop.customers", "--user", "alice",
		"--role", "analyst_eu", "--claim", "level=3", "--claim", "tenant=t1")
	var v tableView
	dec := json.NewDecoder(strings.NewReader(out))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil || code != exitOK {
		t.Fatal(code, err, errs)
	}
	if !v.Exists || !v.Together || len(v.Filters) != 1 || v.Filters[0].Rule != "tables/lake/shop/customers.rego:12" || len(v.Columns) != 11 || len(v.Rules) < 5 {
		t.Errorf("%+v", v)
	}
	if v.Claims["level"] != float64(3) || v.Claims["tenant"] != "t1" {
		t.Errorf("claims %v", v.Claims)
	}
}

func TestPolicyExplain(t *testing.T) {
	dir, lake := demoPolicy(t, map[string]string{
		"tables/lake/shop/products.rego": "package tables.lake.shop.products\n\nread := true\n\nmasks.name := {\"id\": \"wrong\", \"expression\": \"no_such_column\"}\n",
	}), lakeFolder(t)
	explain := func(role, sql string) []string {
		return []string{"explain", dir, "--warehouse", lake, "--user", "alice", "--role", role, sql}
	}
	for _, c := range []policyCase{
		{
			"an analyst", explain("analyst_eu", "SELECT max(email) FROM lake.shop.customers WHERE CAST(tax_id AS INT) > 0"), exitOK,
			[]string{"allowed", "filter  eu_only", "mask    email  keyed_hash", "customers.rego:12", `gw_hash(email) AS VARCHAR) AS "email"`, `"lake"."shop"."customers" WHERE region = 'EU'`, "AS MATERIALIZED", "barrier"},
			[]string{"told", "sha256"},
		},
		{"an administrator", explain("admin", "SELECT max(email) FROM lake.shop.customers"), exitOK, []string{"allowed", "all rows, no masks", "files     "}, []string{"WHERE", "mask "}},
		{"a closed table", explain("analyst_eu", "SELECT * FROM lake.shop.payroll"), exitOK, []string{"denied", "does not exist"}, []string{"governed SQL"}},
		{"a hidden column", explain("analyst_eu", "SELECT salary FROM lake.shop.employees"), exitOK, []string{"denied", "salary"}, nil},
		{
			"a fault of the policy", explain("admin", "SELECT name FROM lake.shop.products"), exitFailure,
			[]string{"failed", "could not be applied (decision ", "rule: tables/lake/shop/products.rego:5", "no_such_column", "the statement would fail"},
			nil,
		},
		{"a fault of the statement", explain("admin", "SELEC 1"), exitFailure, []string{"failed", "told: "}, nil},
		{"no tables", []string{"explain", dir, "--user", "a", "SELECT 1"}, exitUsage, []string{"--warehouse"}, nil},
		{"no statement", []string{"explain"}, exitUsage, []string{"an argument is missing"}, nil},
	} {
		c.run(t)
	}
}

// A gateway's configuration gives the tools its policy, tables, users and names.
func TestPolicyByConfiguration(t *testing.T) {
	home := t.TempDir()
	if err := policies.Write(filepath.Join(home, "policy"), policies.Demo); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(home, "gatehouse.yaml")
	text := "auth:\n  users_file: users.yaml\ncatalogs:\n  lake:\n    type: sql\n    uri: " + filepath.Join(lakeFolder(t), "catalog.db") +
		"\npolicy:\n  dir: policy\nsession:\n  catalog: lake\n  schema: shop\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	addTestUser(t, home, "ann", "analyst_eu")
	for _, c := range []policyCase{
		{"roles of the users file", []string{"explain", "--config", config, "--user", "ann", "SELECT count(*) FROM orders"}, exitOK, []string{"ann (role analyst_eu)", "allowed", "eu_only"}, nil},
		{"other roles", []string{"explain", "--config", config, "--user", "ann", "--role", "admin", "SELECT count(*) FROM orders"}, exitOK, []string{"all rows"}, nil},
		{"somebody else", []string{"explain", "--config", config, "--user", "zoe", "SELECT count(*) FROM orders"}, exitOK, []string{"denied"}, nil},
		{"all users", []string{"diff", filepath.Join(home, "policy"), demoPolicy(t, nil), "--config", config}, exitOK, []string{"0 differences among 5 callers"}, nil},
		{"another policy", []string{"eval", demoPolicy(t, map[string]string{"tables/lake/shop/orders.rego": "package tables.lake.shop.orders\n\nread := true\n"}), "--config", config, "--user", "ann", "--table", "lake.shop.orders"}, exitOK, []string{"all rows"}, nil},
	} {
		c.run(t)
	}
	elsewhere := filepath.Join(t.TempDir(), "elsewhere.yaml")
	if err := os.WriteFile(elsewhere, []byte(strings.NewReplacer("catalog.db\n", "catalog.db\n    roots: [.]\n", "users.yaml", filepath.Join(home, "users.yaml"), "dir: policy", "dir: "+filepath.Join(home, "policy")).Replace(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	policyCase{
		"tables that cannot be read",
		[]string{"check", "--config", elsewhere},
		exitOK,
		[]string{"table lake.shop.orders was not checked", "outside of the places", filepath.Join(lakeFolder(t), "shop", "orders", "metadata")},
		[]string{"there is no table"},
	}.run(t)
	if err := os.WriteFile(config, []byte(text+"polcy: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	policyCase{"a misspelt key", []string{"check", "--config", config}, exitUsage, []string{"polcy"}, nil}.run(t)
	if _, err := os.Stat(filepath.Join(home, "audit.jsonl")); !os.IsNotExist(err) {
		t.Errorf("a tool wrote into the gateway's audit log: %v", err)
	}
}
