package opa

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"

	"gatehouse/classify"
	"gatehouse/policy"
)

// The kind of a statement as policies know it.
func TestKindName(t *testing.T) {
	for want, kinds := range map[string][]classify.Kind{
		"select": {classify.KindSelect}, "explain": {classify.KindExplain}, "transaction": {classify.KindTransaction},
		"metadata": {classify.KindShowCatalogs, classify.KindShowSchemas, classify.KindShowTables, classify.KindShowColumns},
		"session":  {classify.KindSet, classify.KindShow, classify.KindUse, classify.KindSetRole},
		"access":   {classify.KindAccess, classify.KindShowAccess}, "none": {0},
	} {
		for _, k := range kinds {
			if got := kindName(k); got != want {
				t.Errorf("kind %d is %s, want %s", k, got, want)
			}
		}
	}
}

// What a policy reads of each operation's resource.
func TestResources(t *testing.T) {
	r := policy.Resource{Catalog: "c", Schema: "s", Table: "t", Columns: []string{"a"}, Setting: "x"}
	table := `{"table":{"catalogName":"c","schemaName":"s","tableName":"t","columns":["a"]}}`
	schema := `{"schema":{"catalogName":"c","schemaName":"s"}}`
	catalog := `{"catalog":{"name":"c"}}`
	for op, want := range map[policy.Operation]string{
		policy.ExecuteQuery: "", policy.Administer: "", policy.ShowRoles: "", policy.CreateRole: "", policy.DropRole: "",
		policy.GrantRoles: "", policy.RevokeRoles: "",
		policy.AccessCatalog: catalog, policy.FilterCatalogs: catalog, policy.GrantCatalog: catalog,
		policy.FilterSchemas: schema, policy.GrantSchema: schema, policy.GrantFuture: schema,
		policy.FilterTables: strings.Replace(table, `,"columns":["a"]`, "", 1),
		policy.SetSession:   `{"systemSessionProperty":{"name":"x"}}`,
		policy.GrantTable:   table, policy.FilterColumns: table, policy.Operation("SelectFromColumns"): table,
	} {
		v := resource(op, r, nil)
		if (v == nil) != (want == "") {
			t.Errorf("%s: %v", op, v)
			continue
		}
		if v == nil {
			continue
		}
		parsed, err := ast.ParseTerm(want)
		if err != nil {
			t.Fatal(err)
		}
		if parsed.Value.Compare(v) != 0 {
			t.Errorf("%s: %s, want %s", op, v, want)
		}
	}
	for _, c := range []struct{ r, want string }{
		{"c", catalog}, {"c s", schema}, {"c s t", strings.Replace(table, `["a"]`, "[]", 1)},
	} {
		parts := append(strings.Fields(c.r), "", "")
		v := levelResource(policy.Resource{Catalog: parts[0], Schema: parts[1], Table: parts[2]}, nil)
		parsed, err := ast.ParseTerm(c.want)
		if err != nil {
			t.Fatal(err)
		}
		if parsed.Value.Compare(v) != 0 {
			t.Errorf("%s: %s, want %s", c.r, v, c.want)
		}
	}
}

// Used columns are listed with each role that they have, and with no other.
func TestUses(t *testing.T) {
	roles := map[string]classify.Role{
		"output": classify.RoleOutput, "filter": classify.RoleFilter, "join": classify.RoleJoin, "group": classify.RoleGroup, "order": classify.RoleOrder,
	}
	for name, role := range roles {
		table := policy.Table{Columns: []classify.Column{{Name: "a"}, {Name: "b"}}, Uses: []classify.ColumnUse{{Column: 1, Roles: role}, {Column: 2, Roles: role}, {Column: -1, Roles: role}}}
		used, ok := uses(table).(ast.Object)
		if !ok || used.Len() != len(roles) {
			t.Fatalf("%s: %v", name, uses(table))
		}
		used.Foreach(func(k, v *ast.Term) {
			want := "[]"
			if string(k.Value.(ast.String)) == name {
				want = `["b"]`
			}
			if v.String() != want {
				t.Errorf("used for %s: %s lists %s", name, k, v)
			}
		})
	}
}

// Columns are asked about together only if all of their table's name is the same.
func TestSameTable(t *testing.T) {
	one := policy.Resource{Catalog: "c", Schema: "s", Table: "t"}
	for _, other := range []policy.Resource{{Catalog: "x", Schema: "s", Table: "t"}, {Catalog: "c", Schema: "x", Table: "t"}, {Catalog: "c", Schema: "s", Table: "x"}, {Catalog: "x", Schema: "x", Table: "t"}} {
		if sameTable(one, other) || sameTable(other, one) {
			t.Errorf("%+v is the same", other)
		}
	}
	if !sameTable(one, policy.Resource{Catalog: "c", Schema: "s", Table: "t", Columns: []string{"a"}}) {
		t.Error("control")
	}
}

// No two values share a form, sets and what is nested included.
func TestCanonicalTellsApart(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{
		`null`, `true`, `false`, `0`, `1`, `10`, `""`, `"0"`, `"n"`, `[]`, `[[]]`, `[null]`, `[1]`, `["1"]`, `[1, 2]`, `[2, 1]`, `[[1], 2]`, `[[1, 2]]`,
		`set()`, `{1}`, `{2}`, `{1, 2}`, `{{1}, 2}`, `{[1]}`, `{"1"}`, `{}`, `{"a": 1}`, `{"a": 2}`, `{"b": 1}`, `{"a": {1}}`, `{"a": {2}}`, `{"a": {}}`, `{"a": 1, "b": 2}`, `{"a": {"b": 1}}`,
	} {
		term, err := ast.ParseTerm(text)
		if err != nil {
			t.Fatal(text, err)
		}
		b, err := canonical(nil, term.Value)
		if err != nil {
			t.Fatal(text, err)
		}
		if other, dup := seen[string(b)]; dup {
			t.Errorf("%s and %s have one form", text, other)
		}
		seen[string(b)] = text
	}
	for _, bad := range []ast.Value{ast.Var("x"), ast.NewArray(ast.VarTerm("x")), ast.NewSet(ast.VarTerm("x")), ast.NewObject([2]*ast.Term{ast.StringTerm("a"), ast.VarTerm("x")})} {
		if _, err := canonical(nil, bad); err == nil {
			t.Errorf("%v has a form", bad)
		}
	}
}

// Answers that are not exactly what was asked for are errors.
func TestAnswers(t *testing.T) {
	number := func(n string) any { return json.Number(n) }
	for _, c := range []struct {
		v  any
		ok bool
	}{
		{[]any{}, true},
		{[]any{number("0"), number("2")}, true},
		{[]any{number("3")}, false},
		{[]any{number("-1")}, false},
		{[]any{number("1.5")}, false},
		{[]any{"0"}, false},
		{[]any{true}, false},
		{[]any{number("1"), number("1")}, false},
		{nil, false},
		{map[string]any{}, false},
		{true, false},
	} {
		if got, err := indices(c.v, 3); (err == nil) != c.ok || c.ok && len(got) != len(c.v.([]any)) {
			t.Errorf("indices %v: %v, %v", c.v, got, err)
		}
	}
	expression := map[string]any{"expression": "a"}
	for _, c := range []struct {
		v  any
		ok bool
	}{
		{map[string]any{"index": number("1"), "viewExpression": expression}, true},
		{map[string]any{"index": number("3"), "viewExpression": expression}, false},
		{map[string]any{"index": number("1"), "viewExpression": expression, "more": true}, false},
		{map[string]any{"index": number("1"), "viewexpression": expression}, false},
		{map[string]any{"index": number("1")}, false},
		{map[string]any{"viewExpression": expression}, false},
		{[]any{}, false},
		{nil, false},
	} {
		if i, v, err := indexed(c.v, 3); (err == nil) != c.ok || c.ok && (i != 1 || fmt.Sprint(v) != fmt.Sprint(expression)) {
			t.Errorf("indexed %v: %d, %v, %v", c.v, i, v, err)
		}
	}
	for _, c := range []struct {
		v  any
		ok bool
	}{
		{[]any{}, true},
		{[]any{[]any{"c"}, []any{"c", "s"}, []any{"c", "s", "t"}}, true},
		{[]any{[]any{}}, false},
		{[]any{[]any{"c", "s", "t", "x"}}, false},
		{[]any{[]any{"c", ""}}, false},
		{[]any{[]any{"c", true}}, false},
		{[]any{"c"}, false},
		{nil, false},
		{true, false},
	} {
		got, ok := spots(c.v)
		if ok != c.ok || ok && len(got) != len(c.v.([]any)) {
			t.Errorf("spots %v: %v, %v", c.v, got, ok)
		}
	}
	for _, c := range []struct {
		v    any
		err  error
		want bool
		ok   bool
	}{{true, nil, true, true}, {false, nil, false, true}, {nil, errUndefined, false, true}, {"true", nil, false, false}, {nil, nil, false, false}} {
		if got, err := boolean(c.v, c.err); (err == nil) != c.ok || err == nil && got != c.want {
			t.Errorf("boolean %v, %v: %v, %v", c.v, c.err, got, err)
		}
	}
}

// A source has to be said, and only one; versions and preferences are those that there are.
func TestConfigIsChecked(t *testing.T) {
	files := map[string][]byte{"p.rego": nil}
	for what, c := range map[string]struct {
		cfg Config
		ok  bool
	}{
		"files": {Config{Files: files}, true}, "a folder": {Config{Folder: "x"}, true}, "nothing": {Config{}, false},
		"two": {Config{Files: files, Folder: "x"}, false}, "v0": {Config{Files: files, Rego: "v0"}, true}, "auto": {Config{Files: files, Rego: "auto"}, true},
		"v2": {Config{Files: files, Rego: "v2"}, false}, "batch": {Config{Files: files, Prefer: "batch"}, true}, "other": {Config{Files: files, Prefer: "single"}, false},
		"no allow": {Config{Files: files, Entry: EntryPoints{Allow: None}}, false},
	} {
		if _, err := withDefaults(c.cfg); (err == nil) != c.ok {
			t.Errorf("%s: %v", what, err)
		}
	}
}
