package opa

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"

	"gatehouse/auth"
	"gatehouse/classify"
	"gatehouse/policy"
)

// with makes a decider of one file, and a judge of it for a caller that every test has.
func with(t *testing.T, text string, change func(*Config)) *judge {
	t.Helper()
	cfg := Config{Files: map[string][]byte{"p.rego": []byte(text)}, Lenient: true, Timeout: time.Minute}
	if change != nil {
		change(&cfg)
	}
	d, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	j, err := d.Judge(t.Context(), policy.Caller{Identity: auth.Identity{Issuer: "i", Subject: "s", User: "ann's"}})
	if err != nil {
		t.Fatal(err)
	}
	return j.(*judge)
}

// said is an error's cause and the place that is blamed for it.
func said(t *testing.T, err error) string {
	t.Helper()
	var fault *policy.PolicyError
	if !errors.As(err, &fault) || len(fault.Decision) != 32 {
		t.Fatalf("%v is no fault of a policy with an id", err)
	}
	return fault.Rule + ": " + fault.Cause.Error()
}

// number is what Rego returns for numbers.
func number(s string) json.Number { return json.Number(s) }

// Answers are taken to the letter, and what is one beside is refused with a word why.
func TestAnswersToTheLetter(t *testing.T) {
	undefined := fmt.Errorf("somewhere: %w", errUndefined)
	for _, c := range []struct {
		v    any
		err  error
		want string
	}{{true, nil, "true"}, {false, nil, "false"}, {nil, undefined, "false"}, {true, undefined, "false"}, {nil, nil, "false not a boolean"}, {"true", nil, "false not a boolean"}} {
		got, err := boolean(c.v, c.err)
		if text := strings.TrimSuffix(fmt.Sprint(got, " ", err), " <nil>"); text != c.want {
			t.Errorf("boolean %v: %s, want %s", c.v, text, c.want)
		}
	}
	for _, c := range []struct {
		v    any
		want string
	}{
		{[]any{}, "[]"},
		{[]any{number("2"), number("0")}, "[2 0]"},
		{[]any{number("3")}, "index 3 is not below 3"},
		{[]any{number("-1")}, "index -1 is not below 3"},
		{[]any{number("1.5")}, "index 1.5 is not below 3"},
		{[]any{number("1"), number("1")}, "index 1 twice"},
		{[]any{"1"}, "an index is not a number"},
		{map[string]any{}, "not a list or set"},
		{nil, "not a list or set"},
	} {
		got, err := indices(c.v, 3)
		if text := fmt.Sprint(got); err != nil && err.Error() != c.want || err == nil && text != c.want || err != nil && got != nil {
			t.Errorf("indices %v: %v, %v; want %s", c.v, got, err, c.want)
		}
	}
	for _, c := range []struct {
		v    any
		want string
	}{
		{map[string]any{"index": number("1"), "viewExpression": "x"}, "1 x <nil>"},
		{map[string]any{"index": number("2"), "viewExpression": "x"}, "0 x index 2 is not below 2"},
		{map[string]any{"index": number("1"), "viewExpression": nil}, "0 <nil> not an object of index and viewExpression"},
		{map[string]any{"index": number("1")}, "0 <nil> not an object of index and viewExpression"},
		{map[string]any{"viewExpression": "x"}, "0 <nil> not an object of index and viewExpression"},
		{map[string]any{"index": number("1"), "viewExpression": "x", "more": 1}, "0 <nil> not an object of index and viewExpression"},
		{[]any{}, "0 <nil> not an object of index and viewExpression"},
	} {
		i, body, err := indexed(c.v, 2)
		if text := fmt.Sprint(i, body, err); strings.ReplaceAll(text, " ", "") != strings.ReplaceAll(c.want, " ", "") {
			t.Errorf("indexed %v: %s, want %s", c.v, text, c.want)
		}
	}
	for _, c := range []struct {
		v    any
		want string
	}{
		{7, "7 <nil>"},
		{number("-2147483648"), "-2147483648 <nil>"},
		{number("2147483647"), "2147483647 <nil>"},
		{number("2147483648"), "0 not a 32-bit integer"},
		{number("-2147483649"), "0 not a 32-bit integer"},
		{number("1.5"), "0 not a 32-bit integer"},
		{"1", "0 not a number"},
		{nil, "0 not a number"},
	} {
		if n, err := integer(c.v); fmt.Sprint(n, " ", err) != c.want {
			t.Errorf("integer %v: %d, %v; want %s", c.v, n, err, c.want)
		}
	}
	for _, c := range []struct {
		v    any
		want string
	}{{map[string]any{"a": number("1"), "b": 2}, "map[a:1 b:2] <nil>"}, {map[string]any{}, "map[] <nil>"}, {map[string]any{"a": "1"}, "map[] not a number"}, {nil, "map[] not an object"}} {
		if m, err := fields(c.v); fmt.Sprint(m, " ", err) != c.want || err == nil && m == nil {
			t.Errorf("fields %v: %v, %v; want %s", c.v, m, err, c.want)
		}
	}
}

// An expression keeps every key that there is, and each key has one type.
func TestExpressionKeys(t *testing.T) {
	j := with(t, "package trino\nallow := true\nrowFilters contains {\"expression\": \"here\"}\ncolumnMask := 1 if false", nil)
	whole := map[string]any{
		"expression": "a > :n", "id": "i", "any_of": "or", "params": map[string]any{"n": number("1")}, "priority": number("3"),
		"fields": map[string]any{"a": number("1")}, "origin": "file:1", "reason": "why", "identity": "who",
	}
	got, err := j.expression(whole, "trino/rowFilters", policy.Table{})
	want := policy.Expression{SQL: "a > :n", ID: "i", AnyOf: "or", Params: map[string]any{"n": number("1")}, Priority: 3, Fields: map[string]int{"a": 1}, Rule: "file:1"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for key := range whole {
		one := map[string]any{"expression": "x", "id": "y"}
		one[key] = true
		if _, err := j.expression(one, "trino/rowFilters", policy.Table{}); err == nil || err.Error() != "data.trino.rowFilters: "+key+" has the wrong type" {
			t.Errorf("%s: %v", key, err)
		}
	}
	for _, c := range []struct {
		v    any
		want string
	}{
		{"x", "data.trino.rowFilters: an expression is not an object"},
		{map[string]any{"expression": "x", "when": 1}, `data.trino.rowFilters: unknown key "when" in an expression`},
		{map[string]any{"expression": "\n"}, "data.trino.rowFilters: an expression is empty"},
		{map[string]any{"expression": "name = ann's'"}, "p.rego:3: suspected_injection: a value of the caller stands in the text, use params"},
		{map[string]any{"expression": "name = ann's'", "origin": "o:1"}, "o:1: suspected_injection: a value of the caller stands in the text, use params"},
	} {
		if _, err := j.expression(c.v, "trino/rowFilters", policy.Table{}); err == nil || err.Error() != c.want {
			t.Errorf("%v: %v, want %s", c.v, err, c.want)
		}
	}
	quoted := ast.MustParseTerm(`{"a": "plain", "b": ["don't", {"say \"x\"": 1}], "c": 7}`).Value
	if got := strings.Join(quotes(quoted), "|"); got != `don't|say "x"` && got != `say "x"|don't` {
		t.Errorf("texts with quotes: %s", got)
	}
}

// The place of an expression is found by its text, by its id, and by the table; failing that it is the entry rule's.
func TestPlacesOfExpressions(t *testing.T) {
	files := map[string][]byte{
		"p.rego":           []byte("package trino\nallow := true\n\nrowFilters contains 1 if false\nrowFilters contains 2 if false\ncolumnMask := 1 if false"),
		"tables/one.rego":  []byte("package tables.c.s.one\nf := {\"expression\": \"same\", \"id\": \"by id\"}\ng := \"alone\"\nempty := \"\""),
		"tables/two.rego":  []byte("package tables.c.s.two\n\nf := \"same\""),
		"tables/zwei.rego": []byte("package tables.c.s.zwei\n\n\nf := \"computed\"\ng := \"by id\""),
	}
	e, err := compileFiles(files, Config{Rego: "v1", Lenient: true, MaxBytes: 1 << 20, Entry: func() EntryPoints { var p EntryPoints; p.defaults(); return p }()})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ sql, id, path, table, want string }{
		{"same", "", "trino/rowFilters", "one", "tables/one.rego:2"},
		{"same", "", "trino/rowFilters", "two", "tables/two.rego:3"},
		{"same", "", "trino/rowFilters", "other", "tables/one.rego:2"},
		{"same", "by id", "trino/rowFilters", "two", "tables/two.rego:3"},
		{"alone", "by id", "trino/rowFilters", "zwei", "tables/one.rego:3"},
		{"made", "by id", "trino/rowFilters", "zwei", "tables/zwei.rego:5"},
		{"made", "by id", "trino/rowFilters", "one", "tables/one.rego:2"},
		{"made", "", "trino/rowFilters", "one", "p.rego:4"},
		{"made", "none", "trino/columnMask", "one", "p.rego:6"},
		{"made", "none", "trino/batchColumnMasks", "one", "data.trino.batchColumnMasks"},
	} {
		if got := e.places.of(policy.Expression{SQL: c.sql, ID: c.id}, c.path, policy.Table{Name: classify.Name{Table: c.table}}); got != c.want {
			t.Errorf("%+v is at %s", c, got)
		}
	}
}

// What is wrong with an answer is said to the operator with the place of the rule, for each rule that is asked.
func TestFaultsAreBlamed(t *testing.T) {
	const rest = "\nrowFilters contains 1 if false\ncolumnMask := 1 if false"
	res := policy.Resource{Catalog: "c", Schema: "s", Table: "t", Columns: []string{"a"}}
	for _, c := range []struct {
		text, prefer string
		op           policy.Operation
		want         string
	}{
		{"allow := 1" + rest, "", policy.SelectColumns, "p.rego:2: data.trino.allow: not a boolean"},
		{"allow := to_number(\"x\")" + rest, "", policy.SelectColumns, "p.rego:2: data.trino.allow: p.rego:2: eval_builtin_error: to_number: strconv.ParseFloat: parsing \"x\": invalid syntax"},
		{"allow := true\ndenials := {}" + rest, "", policy.SelectColumns, "p.rego:2: data.trino.denials is not a set"},
		{"allow := true\ndenials := {1} if false" + rest, "", policy.SelectColumns, "p.rego:2: undefined"},
		{"allow := true\nconstraints := 1" + rest, "", policy.ExecuteQuery, "p.rego:2: data.trino.constraints is not a set"},
		{"allow := true\nbatch := 1" + rest, "batch", policy.FilterTables, "p.rego:2: data.trino.batch: not a list or set"},
		{"allow := true\nbatch := to_number(\"x\")" + rest, "batch", policy.FilterColumns, "p.rego:3: data.trino.batch: p.rego:3: eval_builtin_error: to_number: strconv.ParseFloat: parsing \"x\": invalid syntax"},
		{"allow := true\nbatch := [1]" + rest, "batch", policy.FilterTables, "p.rego:2: data.trino.batch: index 1 is not below 1"},
		{"allow := true\nbatch := [0]\ndenials := 1" + rest, "batch", policy.FilterTables, "p.rego:2: data.trino.denials is not a set"},
	} {
		j := with(t, "package trino\n"+c.text, func(cfg *Config) { cfg.Prefer = c.prefer })
		ok, err := j.Allow(t.Context(), c.op, []policy.Resource{res})
		if got := strings.ReplaceAll(said(t, err), "/p.rego", "p.rego"); ok != nil || got != c.want {
			t.Errorf("%s\n%v, %s\nwant %s", c.text, ok, got, c.want)
		}
	}
	tab := policy.Table{Name: classify.Name{Catalog: "c", Schema: "s", Table: "t"}, Columns: []classify.Column{{Name: "a", FieldID: 1}, {Name: "b", FieldID: 2}}}
	for _, c := range []struct{ text, prefer, want string }{
		{"rowFilters := 1", "", "p.rego:3: data.trino.rowFilters is not a list or set"},
		{"rowFilters := [1]", "", "p.rego:3: data.trino.rowFilters: an expression is not an object"},
		{"rowFilters := [] if false", "", "p.rego:3: data.trino.rowFilters: undefined"},
		{"rowFilters := []\ncolumnMask := 1", "", "p.rego:4: data.trino.columnMask: an expression is not an object"},
		{"rowFilters := []\ncolumnMask := [{\"expression\": \"1\"}, 2]", "", "p.rego:4: data.trino.columnMask: an expression is not an object"},
		{"rowFilters := []\ncolumnMask := to_number(\"x\")", "", "p.rego:4: data.trino.columnMask: p.rego:4: eval_builtin_error: to_number: strconv.ParseFloat: parsing \"x\": invalid syntax"},
		{"rowFilters := []\ncolumnMask := [{\"expression\": \"1\", \"id\": \"x\"}, {\"expression\": \"2\", \"id\": \"y\"}]", "", "p.rego:4: mask_conflict: column \"a\" is masked by p.rego:4 and by p.rego:4 with the same priority"},
		{"rowFilters := []\nbatchColumnMasks := [] if false", "", ": data.trino.batchColumnMasks: undefined"},
		{"rowFilters := []\nbatchColumnMasks := 1", "", ": data.trino.batchColumnMasks is not a list or set"},
		{"rowFilters := []\nbatchColumnMasks := [{\"index\": 2, \"viewExpression\": {\"expression\": \"1\"}}]", "", ": data.trino.batchColumnMasks: index 2 is not below 2"},
		{"rowFilters := []\nbatchColumnMasks := [{\"index\": 1, \"viewExpression\": {\"expression\": \"\"}}]", "", ": data.trino.batchColumnMasks: an expression is empty"},
		{"rowFilters := []\ncolumnMask := 1 if false\nbatchColumnMasks := 1", "batch", "p.rego:4: data.trino.batchColumnMasks is not a list or set"},
	} {
		j := with(t, "package trino\nallow := true\n"+c.text+"\n"+map[bool]string{true: "columnMask := 1 if false"}[!strings.Contains(c.text, "olumnMask")], func(cfg *Config) { cfg.Prefer = c.prefer })
		d, err := j.Table(t.Context(), tab, []string{"a", "b"})
		if got := strings.ReplaceAll(said(t, err), "/p.rego", "p.rego"); d.ID != "" || d.Masks != nil || got != c.want {
			t.Errorf("%s\n%+v, %s\nwant %s", c.text, d, got, c.want)
		}
	}
	if _, err := with(t, "package trino\nallow := true\nrowFilters := []\ncolumnMask := 1 if false", nil).Table(t.Context(), tab, []string{"a", "c"}); said(t, err) != `p.rego:4: table c.s.t has no column "c"` {
		t.Error(said(t, err))
	}
}

// Which rule is asked is up to what there is and what is preferred, and both forms say the same.
func TestSingleAndBatch(t *testing.T) {
	const single = `columnMask := {"expression": "single"} if input.action.resource.column.columnName == "b"`
	const batch = `batchColumnMasks contains {"index": i, "viewExpression": {"expression": "batch"}} if input.action.filterResources[i].column.columnName == "b"`
	tab := policy.Table{Name: classify.Name{Catalog: "c", Schema: "s", Table: "t"}, Columns: []classify.Column{{Name: "a", FieldID: 1}, {Name: "b", FieldID: 2}}}
	for _, c := range []struct {
		text, prefer string
		entry        EntryPoints
		want         string
	}{
		{single, "", EntryPoints{}, "single"},
		{single, "batch", EntryPoints{}, "single"},
		{batch, "", EntryPoints{}, "batch"},
		{single + "\n" + batch, "", EntryPoints{}, "single"},
		{single + "\n" + batch, "batch", EntryPoints{}, "batch"},
		{single + "\n" + batch, "", EntryPoints{ColumnMask: None}, "batch"},
		{single + "\n" + batch, "batch", EntryPoints{BatchColumnMasks: None}, "single"},
		{single + "\n" + batch, "batch", EntryPoints{ColumnMask: None, BatchColumnMasks: None}, ""},
	} {
		j := with(t, "package trino\nallow := true\nrowFilters contains {\"expression\": \"f\"}\n"+c.text, func(cfg *Config) { cfg.Prefer, cfg.Entry = c.prefer, c.entry })
		d, err := j.Table(t.Context(), tab, []string{"b", "a"})
		if err != nil || d.Masks["b"].SQL != c.want || (len(d.Masks) == 1) != (c.want != "") || len(d.Filters) != 1 {
			t.Errorf("%+v: %+v, %v", c, d, err)
		}
		if d, err := j.Table(t.Context(), tab, nil); err != nil || len(d.Masks) > 0 {
			t.Errorf("%+v, no column: %+v, %v", c, d, err)
		}
	}
	none := with(t, "package trino\nallow := true", func(cfg *Config) { cfg.Entry = EntryPoints{RowFilters: None, ColumnMask: None, BatchColumnMasks: None} })
	if d, err := none.Table(t.Context(), tab, []string{"a"}); err != nil || d.Filters != nil || len(d.Masks) > 0 {
		t.Errorf("%+v, %v", d, err)
	}

	// The columns of one table are one question, those of another table the next one.
	var asked []string
	listing := with(t, `package trino
allow := false
batch contains i if { some i, c in input.action.filterResources[0].table.columns; c != "hidden"; input.action.operation == "FilterColumns" }
batch contains i if { some i, r in input.action.filterResources; r.table.tableName != "hidden"; input.action.operation == "FilterTables" }
denials contains 1 if input.action.filterResources[_].table.schemaName == "denied"
rowFilters := []
columnMask := 1 if false`, func(cfg *Config) {
		cfg.Prefer = "batch"
		cfg.Trace = func(e Evaluation) {
			if e.Rule == "data.trino.batch" {
				asked = append(asked, string(e.Input[strings.Index(string(e.Input), `"filterResources"`):]))
			}
		}
	})
	rs := []policy.Resource{}
	for _, n := range []string{"c.s.t.a", "c.s.t.hidden", "c.s.u.a", "c.s2.u.a", "d.s2.u.hidden", "c.denied.u.a", "c.denied.u.b"} {
		p := strings.Split(n, ".")
		detail := policy.Table{Name: classify.Name{Catalog: p[0], Schema: p[1], Table: p[2]}, Columns: []classify.Column{{Name: p[3], FieldID: len(rs)}}, FieldTags: map[int][]string{len(rs): {n}}}
		rs = append(rs, policy.Resource{Catalog: p[0], Schema: p[1], Table: p[2], Columns: p[3:], Detail: &detail})
	}
	rs[3].Detail = nil
	ok, err := listing.Allow(t.Context(), policy.FilterColumns, rs)
	if err != nil || fmt.Sprint(ok) != "[true false true true false false false]" || len(asked) != 5 {
		t.Errorf("%v, %v, %d questions", ok, err, len(asked))
	}
	if want := `"columns":{"a":{"field_id":0,"tags":["c.s.t.a"],"type":""},"hidden":{"field_id":1,"tags":["c.s.t.hidden"],"type":""}}`; !strings.Contains(asked[0], want) || !strings.Contains(asked[0], `"columns":["a","hidden"]`) {
		t.Errorf("%s\nlacks %s", asked[0], want)
	}
	if len(rs[0].Detail.Columns) != 1 || len(rs[0].Detail.FieldTags) != 1 {
		t.Error("the caller's table was changed")
	}
	rs[1].Columns = []string{"a", "b"}
	if _, err := listing.Allow(t.Context(), policy.FilterColumns, rs); err == nil || !strings.HasSuffix(said(t, err), ": FilterColumns takes one column a resource") {
		t.Error(err)
	}
	asked = nil
	tables := []policy.Resource{{Catalog: "c", Schema: "s", Table: "t"}, {Catalog: "c", Schema: "s", Table: "hidden"}}
	if ok, err := listing.Allow(t.Context(), policy.FilterTables, tables); err != nil || fmt.Sprint(ok) != "[true false]" || len(asked) != 1 {
		t.Errorf("%v, %v, %d questions", ok, err, len(asked))
	}
	if ok, err := listing.Allow(t.Context(), policy.SelectColumns, tables); err != nil || fmt.Sprint(ok) != "[false false]" || len(asked) != 1 {
		t.Errorf("%v, %v, %d questions", ok, err, len(asked))
	}
	undefined := with(t, "package trino\nallow := true\nbatch := [0] if false\nrowFilters := []\ncolumnMask := 1 if false", func(cfg *Config) { cfg.Prefer = "batch" })
	for _, op := range []policy.Operation{policy.FilterCatalogs, policy.FilterSchemas, policy.FilterTables} {
		if ok, err := undefined.Allow(t.Context(), op, tables); err != nil || fmt.Sprint(ok) != "[false false]" {
			t.Errorf("%s of an undefined rule: %v, %v", op, ok, err)
		}
	}
}

// What may be done may be forbidden, for every operation by denials, and by constraints where data are read.
func TestDenialsAndConstraints(t *testing.T) {
	const text = "package trino\nallow := true\nrowFilters := []\ncolumnMask := 1 if false\n"
	for _, op := range []policy.Operation{policy.ExecuteQuery, policy.SelectColumns, policy.FilterTables, policy.AccessCatalog} {
		for rule, want := range map[string]bool{"": true, "denials": false, "constraints": op != policy.ExecuteQuery && op != policy.SelectColumns} {
			add := ""
			if rule != "" {
				add = rule + " contains {\"code\": 1}"
			}
			ok, err := with(t, text+add, nil).Allow(t.Context(), op, []policy.Resource{{Catalog: "c", Schema: "s", Table: "t"}})
			if err != nil || ok[0] != want {
				t.Errorf("%s with %q: %v, %v", op, rule, ok, err)
			}
		}
	}
}

// A decision without a random id is none.
func TestNoDecisionWithoutID(t *testing.T) {
	broken := func(cfg *Config) { cfg.Rand = iotest.ErrReader(io.ErrUnexpectedEOF) }
	j := with(t, "package trino\nallow := 1\nrowFilters := []\ncolumnMask := 1 if false", broken)
	if _, err := j.Table(t.Context(), policy.Table{}, nil); err == nil || err.Error() != "opa: decision id: unexpected EOF" {
		t.Error(err)
	}
	if _, err := j.Allow(t.Context(), policy.ExecuteQuery, []policy.Resource{{}}); err == nil || err.Error() != "opa: decision id: unexpected EOF" {
		t.Error(err)
	}
}
