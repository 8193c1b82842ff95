package opa

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"

	"gatehouse/auth"
	"gatehouse/classify"
	"gatehouse/policy"
)

// is compares a part of an input with JSON, in which order and space do not matter; "" is nothing.
func is(t *testing.T, what string, v ast.Value, want string) {
	t.Helper()
	if v == nil || want == "" {
		if v != nil || want != "" {
			t.Errorf("%s is %v, want %q", what, v, want)
		}
		return
	}
	got, err := inputJSON(v)
	if err != nil {
		t.Fatal(what, err)
	}
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Fatal(what, err)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(what, err)
	}
	if diff := cmp.Diff(b, a); diff != "" {
		t.Errorf("%s:\n%s", what, diff)
	}
}

// What a policy is told of who asks, key by key: policies are written against it.
func TestContextOfInput(t *testing.T) {
	full := policy.Caller{
		Identity: auth.Identity{
			Issuer: "https://issuer", Subject: "s1", User: "ann", Principal: "ann@example", Groups: []string{"g2", "both", "g1"}, Roles: []string{"r2", "both", "r1"},
			Claims: map[string]any{"tenant": json.Number("7"), "list": []any{"x"}}, Method: "oidc", ExpiresAt: time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("east", 3600)), Proof: "proof",
		},
		Query: "q1", Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("east", 3600)), Peer: "10.0.0.1", Client: "app", Hash: "h1", Kind: classify.KindSelect,
		Session: map[string]string{"purpose": "audit", "ticket": "T-1", "other": "o"},
	}
	for name, c := range map[string]struct {
		caller policy.Caller
		home   string
		want   string
	}{
		"everything": {full, "https://home", `{
			"identity": {"user": "ann", "principal": "ann@example", "groups": ["both", "g1", "g2", "r1", "r2"]}, "queryId": "q1",
			"softwareStack": {"trinoVersion": "476", "gateway": {"version": "v1", "contract": 1}},
			"gateway": {
				"roles": ["both", "r1", "r2"], "groups": ["both", "g1", "g2"], "claims": {"tenant": 7, "list": ["x"]}, "principal": "user@https://issuer ann",
				"authn": {"method": "oidc", "issuer": "https://issuer", "subject": "s1", "expires": "2026-01-02T02:04:05Z"},
				"session": {"client_address": "10.0.0.1", "application": "app", "purpose": "audit", "ticket": "T-1", "properties": {"purpose": "audit", "ticket": "T-1", "other": "o"}},
				"time": "2026-01-02T02:04:05.000000006Z", "statement": {"kind": "select", "hash": "h1"}
			}}`},
		"no more than must be": {policy.Caller{Identity: auth.Identity{Issuer: "i", Subject: "s", User: "bob"}}, "", `{
			"identity": {"user": "bob", "principal": "bob", "groups": []}, "softwareStack": {"trinoVersion": "476", "gateway": {"version": "v1", "contract": 1}},
			"gateway": {
				"roles": [], "groups": [], "claims": {}, "principal": "user:bob", "authn": {"issuer": "i", "subject": "s"},
				"session": {"properties": {}}, "time": "0001-01-01T00:00:00Z", "statement": {"kind": "none"}
			}}`},
	} {
		got, err := inputContext(c.caller, Config{Trino: "476", Version: "v1", HomeIssuer: c.home})
		if err != nil {
			t.Fatal(err)
		}
		is(t, name, got, c.want)
	}
	if full.Identity.Roles[0] != "r2" || full.Identity.Groups[0] != "g2" {
		t.Error("the caller's lists were sorted")
	}
	if _, err := inputContext(policy.Caller{Identity: auth.Identity{Claims: map[string]any{"f": func() {}}}}, Config{}); err == nil {
		t.Error("a claim that is no value of JSON was taken")
	}
	for name, kinds := range map[string][]classify.Kind{
		"select": {classify.KindSelect}, "explain": {classify.KindExplain}, "transaction": {classify.KindTransaction},
		"metadata": {classify.KindShowCatalogs, classify.KindShowSchemas, classify.KindShowTables, classify.KindShowColumns},
		"session":  {classify.KindSet, classify.KindShow, classify.KindUse, classify.KindSetRole}, "access": {classify.KindAccess, classify.KindShowAccess},
		"none": {classify.KindInvalid, classify.KindShowAccess + 100},
	} {
		for _, k := range kinds {
			if got := kindName(k); got != name {
				t.Errorf("kind %v is %q, want %q", k, got, name)
			}
		}
	}
}

// What a policy is told of what is asked for, by operation.
func TestResourceOfInput(t *testing.T) {
	table := policy.Table{
		Name: classify.Name{Catalog: "c", Schema: "s", Table: "t"}, UUID: "u1", Version: "tag1", Tags: []string{"k", "k=v"}, FieldTags: map[int][]string{2: {"pii"}},
		Columns: []classify.Column{{Name: "a", FieldID: 1, Type: "BIGINT"}, {Name: "b", FieldID: 2, Type: "VARCHAR[]"}},
		Uses: []classify.ColumnUse{
			{Column: 0, Roles: classify.RoleOutput | classify.RoleJoin}, {Column: 1, Roles: classify.RoleFilter | classify.RoleGroup | classify.RoleOrder}, {Column: 2, Roles: classify.RoleOutput}, {Column: -1, Roles: classify.RoleOutput},
		},
	}
	const detail = `{"name": "c.s.t", "kind": "table", "uuid": "u1", "version": "tag1", "tags": ["k", "k=v"],
		"columns": {"a": {"type": "BIGINT", "field_id": 1, "tags": []}, "b": {"type": "VARCHAR[]", "field_id": 2, "tags": ["pii"]}},
		"used": {"output": ["a"], "filter": ["b"], "join": ["a"], "group": ["b"], "order": ["b"]}}`
	all := policy.Resource{Catalog: "c", Schema: "s", Table: "t", Columns: []string{"a", "b"}, Setting: "set", Detail: &table}
	bare := policy.Resource{Catalog: "c", Schema: "s", Table: "t", Columns: []string{"a"}}
	const inCatalog, inSchema = `{"catalog": {"name": "c"}}`, `{"schema": {"catalogName": "c", "schemaName": "s"}}`
	const bareDetail = `"gateway": {"name": "c.s.t", "kind": "table", "tags": []}`
	whole := `{"table": {"catalogName": "c", "schemaName": "s", "tableName": "t", "columns": ["a", "b"], "gateway": ` + detail + `}}`
	for _, c := range []struct {
		ops  []policy.Operation
		r    policy.Resource
		want string
	}{
		{[]policy.Operation{
			policy.ExecuteQuery, policy.Administer, policy.ShowRoles, policy.CreateRole, policy.DropRole, policy.GrantRoles, policy.RevokeRoles,
		}, all, ""},
		{[]policy.Operation{policy.GrantCatalog, policy.AccessCatalog, policy.FilterCatalogs}, all, inCatalog},
		{[]policy.Operation{policy.GrantSchema, policy.GrantFuture, policy.FilterSchemas}, all, inSchema},
		{[]policy.Operation{policy.SetSession}, all, `{"systemSessionProperty": {"name": "set"}}`},
		{[]policy.Operation{policy.FilterTables}, all, strings.Replace(whole, `"columns": ["a", "b"], `, "", 1)},
		{[]policy.Operation{
			policy.SelectColumns, policy.FilterColumns, policy.GrantTable, policy.CheckAccess, policy.Revoke, policy.Deny, policy.CreateRowFilter, policy.SetTag, "Unheard of",
		}, all, whole},
		{[]policy.Operation{policy.SelectColumns, policy.Revoke, policy.Deny}, bare, `{"table": {"catalogName": "c", "schemaName": "s", "tableName": "t", "columns": ["a"], ` + bareDetail + `}}`},
		{[]policy.Operation{policy.Revoke, policy.Deny}, policy.Resource{Catalog: "c", Schema: "s"}, inSchema},
		{[]policy.Operation{policy.Revoke, policy.Deny}, policy.Resource{Catalog: "c"}, inCatalog},
		{[]policy.Operation{policy.SelectColumns}, policy.Resource{Catalog: "c", Schema: "s", Table: "t"}, `{"table": {"catalogName": "c", "schemaName": "s", "tableName": "t", "columns": [], ` + bareDetail + `}}`},
	} {
		for _, op := range c.ops {
			is(t, string(op), resource(op, c.r, everything), c.want)
		}
	}
	table.Columns, table.Uses = table.Columns[:1], nil
	is(t, "of one column", tableDetail(table, everything), `{"name": "c.s.t", "kind": "table", "uuid": "u1", "version": "tag1", "tags": ["k", "k=v"],
		"columns": {"a": {"type": "BIGINT", "field_id": 1, "tags": []}}, "used": {"output": [], "filter": [], "join": [], "group": [], "order": []}}`)
	table.Columns = table.Columns[:2]
	about := &reads{}
	about.note(ast.MustParseRef("input.table.gateway.columns")[1:])
	is(t, "cut to what is looked at", resource(policy.SelectColumns, all, about), `{"table": {"catalogName": "c", "schemaName": "s", "tableName": "t", "columns": ["a", "b"], "gateway": {"columns": {
		"a": {"type": "BIGINT", "field_id": 1, "tags": []}, "b": {"type": "VARCHAR[]", "field_id": 2, "tags": ["pii"]}}}}}`)
	is(t, "cut to nothing", resource(policy.SelectColumns, bare, nil), `{"table": {"catalogName": "c", "schemaName": "s", "tableName": "t", "columns": ["a"]}}`)
	is(t, "a column", columnResource(table, table.Columns[1], str("detail")), `{"column": {"catalogName": "c", "schemaName": "s", "tableName": "t", "columnName": "b", "columnType": "array(varchar)",
		"gateway": {"field_id": 2, "tags": ["pii"], "table": "detail"}}}`)
	is(t, "one", document(str("who"), "Op", str("what"), field{"more", str("m")}), `{"context": "who", "action": {"operation": "Op", "resource": "what", "more": "m"}}`)
	is(t, "without a resource", document(str("who"), "Op", nil), `{"context": "who", "action": {"operation": "Op"}}`)
	is(t, "many", batchDocument(str("who"), "Op", []ast.Value{str("a"), str("b")}), `{"context": "who", "action": {"operation": "Op", "filterResources": ["a", "b"]}}`)
	grant := grantOperation(policy.Resource{Grant: &policy.GrantRequest{Privilege: "SELECT", Option: true, Principal: "user:ann", Role: "r", Except: []string{"t"}, Name: "f", Priority: true}})
	is(t, "of a grant", object(grant...), `{"gateway": {"privilege": "SELECT", "option": true, "principal": "user:ann", "role": "r", "except": ["t"], "name": "f", "priority": true}}`)
	is(t, "of an empty grant", object(grantOperation(policy.Resource{Grant: &policy.GrantRequest{}})...), `{"gateway": {"option": false, "except": []}}`)
	is(t, "of no grant", object(grantOperation(policy.Resource{})...), `{}`)
}

// What is looked at of an input is found in compiled rules, and no more of an input is shown.
func TestReads(t *testing.T) {
	for text, want := range map[string]string{
		`a := input.x.y`:                                                "x.y",
		`a := input.x.y if input.x.y == "n"`:                            "x.y",
		`a := [input.x.y, input.x, input.z]`:                            "x z",
		`a := input.x[b].c if b := data.names[_]`:                       "x",
		`a := input.x[_].c`:                                             "x",
		`a := input.x[input.z.key].c`:                                   "x z.key",
		`a := input.x[0].c`:                                             "x",
		`a := input[b] if b := "x"`:                                     "*",
		`a := input`:                                                    "*",
		`a := object.get(input, ["x"], 1)`:                              "*",
		`a := 1`:                                                        "",
		`a[input.x.key] := input.y`:                                     "x.key y",
		`a contains input.x.y if true`:                                  "x.y",
		"f(x) := x.y\na := f(input.z)":                                  "z",
		`a := b if { b := input.x.z } else := input.other`:              "other x.z",
		`a := data.names[input.x.key]`:                                  "x.key",
		`a := {"k": 1}[input.x.key]`:                                    "x.key",
		`a := [v | v := data.rest[input.x.key].of[input.z]]`:            "x.key z",
		"a := 1\nx.b[input.x.key].c := 1":                               "x.key",
		"a := 1\nx.b[input.x.key] contains input.z":                     "x.key z",
		`a := data.inputs.x.y`:                                          "",
		`a := [k | some k, _ in input.x.y]`:                             "x.y",
		`a if { every v in input.x { v == input.y.z } }`:                "x y.z",
		`a := b if b := data.rest.of with input.x.y as input.z.v`:       "x.y z.v",
		"default a := 1\na := 2 if not input.x.y == input.x[\"z\"]":     "x.y x.z",
		`a := {"k": input.x.y, input.z.w: 1}`:                           "x.y z.w",
		`a := sprintf("%s", [input.x.y]) if startswith(input.q.w, "n")`: "q.w x.y",
	} {
		e, err := compileFiles(map[string][]byte{"p.rego": []byte("package p\n" + text), "q.rego": []byte("package rest\nof := 1")}, Config{
			Rego: "v1", Lenient: true, MaxBytes: 1 << 20, Entry: EntryPoints{Allow: "p/a", Batch: None, RowFilters: None, ColumnMask: None, BatchColumnMasks: None, Denials: None, Constraints: None},
		})
		if err != nil {
			t.Fatal(text, err)
		}
		if got := strings.Join(e.reads.paths(""), " "); got != want {
			t.Errorf("%s\nlooks at %q, want %q", text, got, want)
		}
	}
	r := &reads{}
	for _, ref := range []string{"input.a.b", "input.c"} {
		r.note(ast.MustParseRef(ref)[1:])
	}
	input := ast.MustParseTerm(`{"a": {"b": {"x": 1}, "other": 2}, "c": {"y": 1}, "d": 3, 7: 8}`).Value
	if got, want := r.cut(input), ast.MustParseTerm(`{"a": {"b": {"x": 1}}, "c": {"y": 1}, 7: 8}`).Value; got.Compare(want) != 0 {
		t.Errorf("shown is %v, want %v", got, want)
	}
	for path, want := range map[string]string{"a": "b", "a/b": "*", "a/b/x": "*", "c": "*", "d": "nothing", "a/other/x": "nothing"} {
		got := "nothing"
		if at := r.at(strings.Split(path, "/")...); at != nil {
			got = strings.Join(at.paths(""), " ")
		}
		if got != want {
			t.Errorf("of %s is looked at %q, want %q", path, got, want)
		}
	}
	if shown(input, nil) != nil || shown(input, everything).Compare(input) != 0 || r.cut(str("text")).Compare(str("text")) != 0 {
		t.Error("all, nothing or a text")
	}
}

// paths lists what is looked at, for tests.
func (r *reads) paths(below string) []string {
	if r.all {
		if below == "" {
			return []string{"*"}
		}
		return []string{below[1:]}
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(r.below)) {
		out = append(out, r.below[k].paths(below+"."+k)...)
	}
	return out
}
