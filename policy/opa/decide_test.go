package opa_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gatehouse/auth"
	"gatehouse/classify"
	"gatehouse/policies"
	"gatehouse/policy"
	"gatehouse/policy/opa"
	"gatehouse/policy/policytest"
)

// base holds what a policy needs so that one rule of it can be tried.
const base = `package trino
default allow := true
rowFilters contains {"expression": "a = 1"} if false
columnMask := {"expression": "1"} if false
`

func newWith(t testing.TB, text string, change func(*opa.Config)) (*opa.Decider, error) {
	t.Helper()
	cfg := opa.Config{Files: map[string][]byte{"policy.rego": []byte(text)}}
	if change != nil {
		change(&cfg)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 30 * time.Second // tests share their machine
	}
	d, err := opa.New(cfg)
	if err == nil {
		t.Cleanup(func() { _ = d.Close() })
	}
	return d, err
}

// A policy that could reach outside, lacks an entry rule, or misreads the input never comes into force.
func TestRefusedPolicies(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"http.send", base + `x := http.send({"method": "get", "url": "http://127.0.0.1/"})`, "http.send"},
		{"http.send through a mock", base + `x if count("a") == 1 with count as http.send`, "http"},
		{"lookup", base + `x := net.lookup_ip_addr("localhost")`, "lookup_ip_addr"},
		{"runtime", base + `x := opa.runtime()`, "opa.runtime"},
		{"random", base + `x := rand.intn("a", 5)`, "rand.intn"},
		{"uuid", base + `x := uuid.rfc4122("a")`, "uuid.rfc4122"},
		{"parse_module", base + `x := rego.parse_module("a", "b")`, "rego.parse_module"},
		{"trace", base + `x := trace("a")`, "trace"},
		{"aws", base + `x := providers.aws.sign_req({}, {}, 1)`, "sign_req"},
		{"no allow", "package trino\nrowFilters contains 1 if false\ncolumnMask := 1 if false", "data.trino.allow"},
		{"no row filters", "package trino\ndefault allow := false\ncolumnMask := 1 if false", "data.trino.rowFilters"},
		{"no masks", "package trino\ndefault allow := false\nrowFilters contains 1 if false", "data.trino.columnMask"},
		{"other package", strings.Replace(base, "package trino", "package other", 1), "data.trino.allow"},
		{"reserved root", "package gateway.x\ny := 1", "reserved"},
		{"misspelt input", base + `x if input.action.resource.table.tablename == "t"`, "undefined ref"},
		{"batch resource not nested", base + `batchColumnMasks contains i if { some i; input.action.filterResources[i].columnName == "c" }`, "undefined ref"},
		{"whole resource compared, which misses what the gateway adds", base + `x if input.action.resource.column == {"catalogName": "c", "schemaName": "s", "tableName": "t", "columnName": "c", "columnType": "varchar"}`, "match error"},
		{"does not parse", base + `x if {`, "parse_error"},
		{"recursion", base + "x if y\ny if x", "recursive"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := newWith(t, c.text, nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v; want %q", err, c.want)
			}
		})
	}
	if _, err := newWith(t, base, nil); err != nil {
		t.Fatal("control: ", err)
	}
	if _, err := newWith(t, "package trino\ndefault allow := false", func(c *opa.Config) {
		c.Entry = opa.EntryPoints{RowFilters: opa.None, ColumnMask: opa.None, BatchColumnMasks: opa.None}
	}); err != nil {
		t.Fatal("control, a site without filters and masks that says so: ", err)
	}
}

func TestReservedData(t *testing.T) {
	_, err := opa.New(opa.Config{Files: map[string][]byte{"p.rego": []byte(base), "data.json": []byte(`{"gateway": {"grants": {}}}`)}})
	if err == nil || !strings.Contains(err.Error(), "reserved") {
		t.Fatal(err)
	}
}

// Every answer that is not exactly what it should be denies.
func TestWrongAnswersDeny(t *testing.T) {
	rest := "rowFilters contains 1 if false\ncolumnMask := 1 if false\n"
	for _, c := range []struct{ name, allow string }{
		{"text", `allow := "true"`},
		{"number", `allow := 1`},
		{"null", `allow := null`},
		{"object", `allow := {"allow": true}`},
		{"set", `allow contains true`},
		{"conflict", "allow := true if input.action\nallow := false if input.context"},
		{"error", `allow if to_number("x") == 1`},
		{"error behind a default", "default allow := true\nallow := false if to_number(\"x\") == 1"},
		{"undefined", `allow if 1 == 2`},
		{"denial", "default allow := true\ndenials contains {\"code\": \"no\"}"},
		{"denials undefined", "default allow := true\ndenials := {} if false"},
		{"denials wrong", "default allow := true\ndenials := \"none\""},
		{"constraint", "default allow := true\nconstraints contains {\"type\": \"min_group_size\", \"k\": 10}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := newWith(t, "package trino\n"+rest+c.allow, nil)
			if err != nil {
				t.Fatal(err)
			}
			if ask(t, d) {
				t.Fatal("allowed")
			}
		})
	}
	for _, allow := range []string{"allow := true", "default allow := true\ndenials contains 1 if false\nconstraints contains 1 if false"} {
		if d, err := newWith(t, "package trino\n"+rest+allow, nil); err != nil || !ask(t, d) {
			t.Fatal("control: ", err)
		}
	}
}

func ask(t *testing.T, d *opa.Decider) bool {
	t.Helper()
	j, err := d.Judge(t.Context(), policytest.Caller(policytest.Ann))
	if err != nil {
		t.Fatal(err)
	}
	got, err := j.Allow(t.Context(), policy.SelectColumns, []policy.Resource{{Catalog: "c", Schema: "s", Table: "t", Columns: []string{"a"}}})
	return err == nil && len(got) == 1 && got[0]
}

func TestWrongExpressionsDeny(t *testing.T) {
	for _, c := range []struct{ name, rule, want string }{
		{"filters undefined", `rowFilters := [] if false`, "undefined"},
		{"filters an object", `rowFilters := {"expression": "true"}`, "not a list"},
		{"filter a text", `rowFilters contains "true"`, "not an object"},
		{"filter without expression", `rowFilters contains {"id": "x"}`, "empty"},
		{"filter with blank expression", `rowFilters contains {"expression": "  "}`, "empty"},
		{"unknown key", `rowFilters contains {"expression": "true", "only_if": 1}`, "only_if"},
		{"params a list", `rowFilters contains {"expression": "true", "params": []}`, "params"},
		{"priority a text", `rowFilters contains {"expression": "true", "priority": "1"}`, "priority"},
		{"priority too large", `rowFilters contains {"expression": "true", "priority": 99999999999}`, "priority"},
		{"error", `rowFilters contains {"expression": to_number("x")}`, "to_number"},
		{"mask null", "rowFilters contains 1 if false\ncolumnMask := null", "not an object"},
		{"mask a text", "rowFilters contains 1 if false\ncolumnMask := \"NULL\"", "not an object"},
		{"masks conflict in Rego", "rowFilters contains 1 if false\ncolumnMask := {\"expression\": \"1\"} if input.action\ncolumnMask := {\"expression\": \"2\"} if input.context", "conflict"},
		{"masks conflict in priority", "rowFilters contains 1 if false\ncolumnMask := {{\"expression\": \"1\"},\n{\"expression\": \"2\"}}", "mask_conflict: column \"id\" is masked by policy.rego:4 and by policy.rego:5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "package trino\ndefault allow := true\n" + c.rule
			if !strings.Contains(c.rule, "columnMask") {
				text += "\ncolumnMask := 1 if false"
			}
			d, err := newWith(t, text, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = table(t, d, policytest.Ann)
			fault, ok := errors.AsType[*policy.PolicyError](err)
			if !ok || fault.Decision == "" || !strings.Contains(fault.Cause.Error(), c.want) {
				t.Fatalf("%v (%v); want %q", err, errors.Unwrap(err), c.want)
			}
			if strings.Contains(err.Error(), c.want) {
				t.Fatalf("the text for the client names the cause: %v", err)
			}
		})
	}
}

func table(t *testing.T, d *opa.Decider, id auth.Identity) (policy.Decision, error) {
	t.Helper()
	j, err := d.Judge(t.Context(), policytest.Caller(id))
	if err != nil {
		t.Fatal(err)
	}
	return j.Table(t.Context(), policytest.Table("t"), []string{"id"})
}

func TestMasksByPriority(t *testing.T) {
	d, err := newWith(t, `package trino
default allow := true
rowFilters contains 1 if false
columnMask contains {"id": "weak", "expression": "1", "priority": 1}
columnMask contains {"id": "strong", "expression": "2", "priority": 2}
columnMask contains {"id": "also strong", "expression": "2", "priority": 2}`, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := table(t, d, policytest.Ann)
	if err != nil || got.Masks["id"].ID != "also strong" {
		t.Fatalf("%+v, %v", got, err)
	}
}

// A policy that does not end is cut off and denies.
func TestTimeout(t *testing.T) {
	d, err := newWith(t, base+"allow if { some i in numbers.range(1, 100000); some j in numbers.range(1, 100000); i * j == -1 }", func(c *opa.Config) {
		c.Timeout = 20 * time.Millisecond
	})
	if err != nil {
		t.Fatal(err)
	}
	if ask(t, d) {
		t.Fatal("allowed")
	}
}

// Numbers of claims stay exact, beyond what a float64 holds.
func TestExactNumbers(t *testing.T) {
	d, err := newWith(t, `package trino
default allow := true
rowFilters contains {"expression": "tenant = :t", "params": {"t": input.context.gateway.claims.tenant}}
columnMask := 1 if false`, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := policytest.Ann
	id.Claims = map[string]any{"tenant": json.Number("9007199254740993")}
	got, err := table(t, d, id)
	if err != nil || fmt.Sprint(got.Filters[0].Params["t"]) != "9007199254740993" {
		t.Fatalf("%+v, %v", got, err)
	}
}

// A value of the caller that holds a quote and is pasted into the text, instead of given as a parameter, denies.
func TestSuspectedInjection(t *testing.T) {
	const text = `package trino
import data.lib.gw
default allow := true
columnMask := 1 if false
rowFilters contains {"expression": %s}`
	lib, err := policies.Files(policies.Skeleton)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, expression, claim string
		ok                      bool
	}{
		{"pasted, hostile", `sprintf("tenant = '%s'", [gw.claims.tenant])`, "x' OR '1'='1", false},
		{"pasted, harmless", `sprintf("tenant = '%s'", [gw.claims.tenant])`, "acme", true},
		{"quoted, hostile", `gw.eq("tenant", gw.claims.tenant)`, "x' OR '1'='1", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := decider(t, opa.Config{Files: map[string][]byte{
				"lib/gw.rego": lib["lib/gw.rego"], "p.rego": []byte(fmt.Sprintf(text, c.expression)),
			}})
			id := policytest.Ann
			id.Claims = map[string]any{"tenant": c.claim}
			if _, err := table(t, d, id); (err == nil) != c.ok {
				t.Fatal(err)
			}
		})
	}
}

// time.now_ns is the admission time, so that a statement is decided as of one instant.
func TestAdmissionTime(t *testing.T) {
	d, err := newWith(t, `package trino
default allow := false
allow if {
	time.now_ns() == time.parse_rfc3339_ns("2026-01-02T03:04:05Z")
	input.context.gateway.time == "2026-01-02T03:04:05Z"
}
rowFilters contains 1 if false
columnMask := 1 if false`, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !ask(t, d) {
		t.Fatal("denied")
	}
}

// The example policy, asked by Go as the gateway does.
func TestDemo(t *testing.T) {
	files, err := policies.Files(policies.Demo)
	if err != nil {
		t.Fatal(err)
	}
	d := decider(t, opa.Config{Files: files})
	customers := policy.Table{Name: classify.Name{Catalog: "lake", Schema: "shop", Table: "customers"}}
	for i, c := range strings.Fields("id name email phone country region birth_date tax_id credit_limit signed_up_at note") {
		customers.Columns = append(customers.Columns, classify.Column{Name: c, FieldID: i + 1, Type: "VARCHAR"})
	}
	for _, c := range []struct{ role, filters, masks string }{
		{"analyst_eu", "eu_only", "birth_date=birth_year email=keyed_hash phone=no_phone tax_id=last_four"},
		{"support", "", "credit_limit=no_credit_limit tax_id=no_tax_id"},
		{"admin", "", ""},
	} {
		id := auth.Identity{Issuer: "test", Subject: c.role, User: c.role, Roles: []string{c.role}}
		j, err := d.Judge(t.Context(), policytest.Caller(id))
		if err != nil {
			t.Fatal(err)
		}
		got, err := j.Table(t.Context(), customers, strings.Fields("birth_date credit_limit email id name phone region tax_id"))
		if err != nil {
			t.Fatal(err)
		}
		var filters, masks []string
		for _, f := range got.Filters {
			filters = append(filters, f.ID)
			if !strings.HasPrefix(f.Rule, "tables/lake/shop/customers.rego:") {
				t.Errorf("rule %q", f.Rule)
			}
		}
		for _, col := range strings.Fields("birth_date credit_limit email id name phone region tax_id") {
			if m, ok := got.Masks[col]; ok {
				masks = append(masks, col+"="+m.ID)
			}
		}
		if strings.Join(filters, " ") != c.filters || strings.Join(masks, " ") != c.masks {
			t.Errorf("%s: filters %v, masks %v", c.role, filters, masks)
		}
	}
}

func BenchmarkTable(b *testing.B) {
	files, err := policies.Files(policies.Demo)
	if err != nil {
		b.Fatal(err)
	}
	d := decider(b, opa.Config{Files: files})
	tab := policy.Table{Name: classify.Name{Catalog: "lake", Schema: "shop", Table: "customers"}}
	names := strings.Fields("id name email phone country region birth_date tax_id credit_limit signed_up_at note")
	for i, c := range names {
		tab.Columns = append(tab.Columns, classify.Column{Name: c, FieldID: i + 1, Type: "VARCHAR"})
	}
	id := auth.Identity{Issuer: "test", Subject: "a", User: "alice", Roles: []string{"analyst_eu"}}
	for b.Loop() {
		j, err := d.Judge(b.Context(), policytest.Caller(id))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := j.Table(b.Context(), tab, names); err != nil {
			b.Fatal(err)
		}
	}
}
