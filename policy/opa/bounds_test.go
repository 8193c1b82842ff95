package opa

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"

	"gatehouse/auth"
	"gatehouse/classify"
	"gatehouse/policy"
)

// What is kept is bounded in each direction, at the bound and one beside.
func TestBoundsOfKeptAnswers(t *testing.T) {
	if keptUsers != 128 || keptAnswers != 1024 || keptSize != 16<<10 || keptItems != 1<<10 || listingSize != 32 {
		t.Error("the bounds were moved: by intent?")
	}
	text := func(n int) ast.Value { return str(strings.Repeat("x", n)) }
	overhead := len(appendText(nil, "p")) + len(`"`) + 2
	for n, keep := range map[int]bool{keptSize - overhead: true, keptSize - overhead + 1: true, keptSize - overhead - 1: true, keptSize: false} {
		b, err := canonical(appendText(nil, "p"), text(n))
		if err != nil {
			t.Fatal(err)
		}
		if _, kept, err := questionOf("p", text(n)); err != nil || kept != (len(b) <= keptSize) || keep != kept && len(b) != keptSize+1 {
			t.Errorf("%d bytes are kept %v: %v", len(b), kept, err)
		}
	}
	a := &answers{kept: recent[question, answer]{limit: keptAnswers}}
	for i, c := range []struct {
		value any
		err   error
		kept  bool
	}{
		{make([]any, keptItems), nil, true},
		{make([]any, keptItems+1), nil, false},
		{true, nil, true},
		{nil, errUndefined, true},
		{nil, fmt.Errorf("deep: %w", errUndefined), true},
		{nil, errors.New("fault"), false},
		{true, errors.New("fault"), false},
	} {
		q := question{byte(i)}
		a.put(q, c.value, c.err)
		got, ok := a.get(q)
		if ok != c.kept || ok && !errors.Is(got.err, c.err) {
			t.Errorf("answer %d is kept %v as %v", i, ok, got.err)
		}
	}
	for _, other := range []ast.Value{ast.Var("x"), ast.NewArray(ast.VarTerm("x")), ast.NewObject([2]*ast.Term{ast.StringTerm("k"), ast.VarTerm("x")}), ast.NewSet(ast.VarTerm("x"))} {
		if _, keep, err := questionOf("p", other); err == nil || keep || err.Error() != "opa: ast.Var in an input" {
			t.Errorf("%v: kept %v, %v", other, keep, err)
		}
	}
	if q, _, _ := questionOf("p", str("x")); q == (question{}) {
		t.Error("a question has no digest")
	}
	one, _, _ := questionOf("p", str("x"))
	for i, other := range []struct {
		path  string
		input ast.Value
	}{{"q", str("x")}, {"p", str("y")}, {"px", str("")}, {"p", ast.Number("1")}, {"p", ast.Boolean(true)}, {"p", ast.Null{}}, {"p", ast.NewSet(ast.StringTerm("x"))}} {
		if q, _, _ := questionOf(other.path, other.input); q == one {
			t.Errorf("question %d is another one's", i)
		}
	}
	e := &engine{}
	rights := &wordRights{version: 1}
	m := e.memoOf(rights)
	if e.memoOf(rights) != m || e.memoOf(nil) == m || e.memoOf(rights) == m {
		t.Error("a memo is of one version of the rights")
	}
	for i := range keptUsers {
		m.of(auth.Identity{Issuer: "i", Subject: fmt.Sprint(i)})
	}
	first := m.of(auth.Identity{Issuer: "i", Subject: "0"})
	if len(m.users.young) != keptUsers || m.of(auth.Identity{Issuer: "j", Subject: "0"}) == first || m.of(auth.Identity{Issuer: "i", Subject: "0"}) != first || first.kept.limit != keptAnswers {
		t.Errorf("%d users", len(m.users.young))
	}
	for i := range 2 * keptUsers {
		m.of(auth.Identity{Issuer: "k", Subject: fmt.Sprint(i)})
	}
	if m.of(auth.Identity{Issuer: "i", Subject: "0"}) == first {
		t.Error("a user is never forgotten")
	}
	r := recent[int, int]{limit: 2}
	r.put(1, 1)
	r.put(2, 2)
	if r.put(2, 3); len(r.young) != 2 || r.old != nil {
		t.Error("one that is there takes no place")
	}
	r.put(3, 3)
	if v, ok := r.get(2); !ok || v != 3 || len(r.young) != 2 || len(r.old) != 2 {
		t.Errorf("%v %v", r.young, r.old)
	}
	if v, ok := r.get(9); ok || v != 0 || len(r.young) != 2 {
		t.Errorf("%v %v", v, ok)
	}
}

// An answer is a function of what was asked, kept or not, and a policy that cannot answer in time answers nothing.
func TestQuestionsThatAreNotKept(t *testing.T) {
	j := with(t, "package trino\nallow if count(input.action.resource.table.columns) > 0\nrowFilters := []\ncolumnMask := 1 if false", nil)
	long := policy.Resource{Catalog: "c", Schema: "s", Table: "t", Columns: []string{strings.Repeat("x", keptSize)}}
	for range 2 {
		if ok, err := j.Allow(t.Context(), policy.SelectColumns, []policy.Resource{long}); err != nil || !ok[0] || len(j.answers.kept.young) != 0 {
			t.Errorf("%v, %v, %d kept", ok, err, len(j.answers.kept.young))
		}
	}
	if v, err := j.eval(t.Context(), "trino/none", str("x")); v != nil || err == nil || err.Error() != "no rule data.trino.none" {
		t.Error(v, err)
	}
	if v, err := j.eval(t.Context(), "trino/allow", ast.Var("x")); v != nil || err == nil || err.Error() != "opa: ast.Var in an input" {
		t.Error(v, err)
	}
	// An answer that is kept is the answer.
	q, _, err := questionOf("trino/allow", str("asked before"))
	if err != nil {
		t.Fatal(err)
	}
	for _, kept := range []any{true, false} {
		j.answers.put(q, kept, nil)
		if v, err := j.eval(t.Context(), "trino/allow", str("asked before")); v != kept || err != nil {
			t.Errorf("kept is %v, answered %v, %v", kept, v, err)
		}
	}
	traced := with(t, "package trino\nallow := true\nrowFilters := []\ncolumnMask := 1 if false", func(c *Config) { c.Trace = func(Evaluation) {} })
	if traced.answers != nil || traced.e.reads != everything {
		t.Error("a tool is told of questions that are not put")
	}
	slow := with(t, "package trino\nallow if { some i in numbers.range(1, 10000); some k in numbers.range(1, 10000); i * k == -1 }\nrowFilters := []\ncolumnMask := 1 if false", func(c *Config) { c.Timeout = 20 * time.Millisecond })
	if _, err := slow.Allow(t.Context(), policy.ExecuteQuery, []policy.Resource{{}}); err == nil || !strings.Contains(said(t, err), "eval_cancel_error") {
		t.Error(err)
	}
}

// treeRights are rights that are a document.
type treeRights struct {
	policy.Rights
	tree      map[string]any
	elsewhere string
	err       error
}

func (r *treeRights) Current() (policy.Rights, error) { return r, r.err }
func (r *treeRights) Version() uint64                 { return 5 }
func (r *treeRights) Elsewhere(uuid string, n classify.Name) bool {
	return r.elsewhere != "" && uuid == r.elsewhere && n.Table != "home"
}

func (r *treeRights) Read(path []string) (any, bool) {
	var at any = r.tree
	for _, p := range path {
		m, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = m[p]; !ok {
			return nil, false
		}
	}
	return at, true
}

// Policies read the rights below data.gateway.grants and nothing else there, beside their own data.
func TestRightsAsData(t *testing.T) {
	rights := &treeRights{tree: map[string]any{"word": "x", "deep": map[string]any{"er": 1}}}
	for expression, want := range map[string][2]string{ // with a store of rights, and without
		`data.gateway.grants.word == "x"`:                              {"true", "false"},
		`data.gateway.grants.deep.er == 1`:                             {"true", "false"},
		`data.gateway.grants["deep"] == {"er": 1}`:                     {"true", "false"},
		`data.gateway.grants == {"word": "x", "deep": {"er": 1}}`:      {"true", "false"},
		`data.gateway == {"grants": {"word": "x", "deep": {"er": 1}}}`: {"true", "false"},
		`data.gateway.other`:                                           {"false", "false"},
		`data.gateway.grants.none`:                                     {"false", "false"},
		`data.gateway.word`:                                            {"false", "false"},
		`not data.gateway.grants`:                                      {"false", "true"},
		`data.own.key == "mine"`:                                       {"true", "true"},
		`data.grants == {"word": 1}`:                                   {"true", "true"},
		`data.grants.word == 1`:                                        {"true", "true"},
	} {
		for i, source := range []policy.RightsSource{rights, nil} {
			j := with(t, sound[:14]+"allow if "+expression+"\nrowFilters := []\ncolumnMask := 1 if false", func(c *Config) {
				c.Rights, c.Files["data.json"] = source, []byte(`{"own": {"key": "mine"}, "grants": {"word": 1}}`)
			})
			ok, err := j.Allow(t.Context(), policy.ExecuteQuery, []policy.Resource{{}})
			if err != nil || fmt.Sprint(ok[0]) != want[i] {
				t.Errorf("%s with rights %v: %v, %v", expression, source != nil, ok, err)
			}
		}
	}
	j := with(t, sound, func(c *Config) { c.Rights = rights })
	if want := j.e.revision + "+grants.5"; j.Revision() != want || j.Rights() != rights {
		t.Errorf("revision %s, want %s", j.Revision(), want)
	}
	if bare := with(t, sound, nil); bare.Revision() != bare.e.revision || bare.Rights() != nil {
		t.Errorf("revision %s", bare.Revision())
	}
	txn, err := j.e.store.NewTransaction(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/gateway", "/gateway/grants", "/gateway/grants/word"} { // OPA itself pins no rights
		if v, err := j.e.store.Read(t.Context(), txn, storage.MustParsePath(path)); v != nil || !storage.IsNotFound(err) {
			t.Errorf("%s: %v, %v", path, v, err)
		}
	}
	if err := j.e.store.Commit(t.Context(), txn); err != nil {
		t.Error(err)
	}
	if _, err := j.e.store.Read(t.Context(), nil, storage.MustParsePath("/own")); err == nil || err.Error() != "opa: foreign transaction <nil>" {
		t.Error(err)
	}
	rights.err = policy.ErrRightsUnavailable
	_, err = j.d.Judge(t.Context(), policy.Caller{Identity: auth.Identity{Issuer: "i", Subject: "s", User: "u"}})
	if !errors.Is(err, policy.ErrNoPolicy) || !errors.Is(err, policy.ErrRightsUnavailable) {
		t.Error(err)
	}
	_, err = j.d.Judge(t.Context(), policy.Caller{Identity: auth.Identity{Issuer: "i", Subject: "s", User: "u", Claims: map[string]any{"f": func() {}}}})
	var fault *policy.PolicyError
	if !errors.As(err, &fault) || !strings.HasPrefix(fault.Cause.Error(), "claims: ") {
		t.Error(err)
	}
	rights.elsewhere = "u1"
	_, err = j.Table(t.Context(), policy.Table{UUID: "u1", Name: classify.Name{Catalog: "c", Schema: "s", Table: "new"}}, nil)
	if want := ": table c.s.new had another name when filters, masks, tags or denials were made for it, and is closed until these are made for its name"; err == nil || said(t, err) != want {
		t.Error(err)
	}
	for _, other := range []policy.Table{{UUID: "u1", Name: classify.Name{Table: "home"}}, {UUID: "u2", Name: classify.Name{Table: "new"}}} {
		if _, err := j.Table(t.Context(), other, nil); err != nil {
			t.Error(err)
		}
	}
}

// panickyRights fail as nobody expects.
type panickyRights struct{ treeRights }

func (r *panickyRights) Current() (policy.Rights, error) { return r, nil }
func (r *panickyRights) Read([]string) (any, bool)       { panic("canary") }

// A panic below a question is a fault of that question.
func TestPanicIsAFault(t *testing.T) {
	j := with(t, sound[:14]+"allow if data.gateway.grants.word\nrowFilters := []\ncolumnMask := 1 if false", func(c *Config) { c.Rights = &panickyRights{} })
	if v, err := j.eval(t.Context(), "trino/allow", str("x")); v != nil || err == nil || !strings.Contains(err.Error(), "canary") || !strings.HasPrefix(err.Error(), "data.trino.allow: ") {
		t.Error(v, err)
	}
}

// Tags are those of the table and, over them, of the column by name and by field id; those of another table of the name are not.
func TestTagsOfTable(t *testing.T) {
	at := map[string]any{"table": map[string]any{"k": "v", "plain": ""}, "columns": map[string]any{
		"a": map[string]any{"k": "by name", "n": ""}, "#1": map[string]any{"k": "by id"}, "b": map[string]any{"own": "x"}, "#9": map[string]any{"gone": ""},
	}}
	rights := &treeRights{tree: map[string]any{"tags": map[string]any{"c": map[string]any{"s": map[string]any{"t": at}}}}}
	j := with(t, sound, func(c *Config) { c.Rights = rights })
	table := policy.Table{UUID: "u1", Name: classify.Name{Catalog: "c", Schema: "s", Table: "t"}, Columns: []classify.Column{{Name: "a", FieldID: 1}, {Name: "b", FieldID: 2}, {Name: "c", FieldID: 3}}}
	const all = "[k k=v plain] map[1:[k k=by id n plain] 2:[k k=v own own=x plain] 3:[k k=v plain]]"
	tags := func() string {
		got := j.tagged(table)
		return fmt.Sprint(got.Tags, " ", got.FieldTags)
	}
	if got := tags(); got != all {
		t.Errorf("%s, want %s", got, all)
	}
	for uuid, want := range map[string]string{"u1": all, "u2": "[] map[]", "": all} {
		if at["uuid"] = uuid; tags() != want {
			t.Errorf("of %q: %s, want %s", uuid, tags(), want)
		}
	}
	delete(at, "uuid")
	delete(at, "table")
	if got := tags(); got != "[] map[1:[k k=by id n] 2:[own own=x] 3:[]]" {
		t.Error(got)
	}
	table.Name.Table = "u"
	if got := tags(); got != "[] map[]" {
		t.Error(got)
	}
	table.Name.Table = "t"
	asked := with(t, sound[:14]+"allow if \"own=x\" in input.action.resource.table.gateway.columns.b.tags\nrowFilters := []\ncolumnMask := 1 if false", func(c *Config) { c.Rights = rights })
	for detail, want := range map[*policy.Table]bool{&table: true, nil: false} {
		rs := []policy.Resource{{Catalog: "c", Schema: "s", Table: "t", Detail: detail}}
		ok, err := asked.Allow(t.Context(), policy.SelectColumns, rs)
		if err != nil || ok[0] != want || rs[0].Detail != detail {
			t.Errorf("told of the columns %v: %v, %v", want, ok, err)
		}
	}
	if table.Tags != nil || table.FieldTags != nil {
		t.Error("the caller's table was changed")
	}
}

// A long listing is asked where to look first; what that says only saves questions, and if it says nothing sensible all are put.
func TestWhereToLook(t *testing.T) {
	for rule, want := range map[string]string{
		`[["c"]]`:                               "7 of 40 asked 40",
		`[["c", "s"]]`:                          "7 of 40 asked 40",
		`[["c", "s", "t7"], ["c", "s", "t8"]]`:  "1 of 40 asked 2",
		`[["d"], ["c", "x"], ["c", "x", "t7"]]`: "0 of 40 asked 0",
		`set()`:                                 "0 of 40 asked 0",
		`{"c"}`:                                 "7 of 40 asked 40",
		`[[]]`:                                  "7 of 40 asked 40",
		`[["c", "s", "t7", "a"]]`:               "7 of 40 asked 40",
		`[["c", ""]]`:                           "7 of 40 asked 40",
		`[["c", 1]]`:                            "7 of 40 asked 40",
		`"c"`:                                   "7 of 40 asked 40",
		`to_number("x")`:                        "7 of 40 asked 40",
		`[["c"]] if false`:                      "7 of 40 asked 40",
	} {
		asked := 0
		j := with(t, "package trino\nallow if endswith(input.action.resource.table.tableName, \"7\")\nrowFilters := []\ncolumnMask := 1 if false\ngatewayListing := "+rule, func(c *Config) {
			c.Trace = func(e Evaluation) {
				if e.Rule == "data.trino.allow" {
					asked++
				}
			}
		})
		if got := listed(t, j, policy.FilterTables, 40) + fmt.Sprint(" asked ", asked); got != strings.Replace(want, "7 of", "4 of", 1) {
			t.Errorf("%s: %s, want %s", rule, got, want)
		}
	}
	none := with(t, "package trino\nallow := true\nrowFilters := []\ncolumnMask := 1 if false\ngatewayListing := set()", nil)
	for n, want := range map[int]string{listingSize - 1: "31 of 31", listingSize: "0 of 32"} {
		if got := listed(t, none, policy.FilterTables, n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	if got := listed(t, none, policy.SelectColumns, listingSize); got != "32 of 32" {
		t.Errorf("of another operation: %s", got)
	}
	faulty := with(t, "package trino\nallow if to_number(input.action.resource.table.tableName) > 0\nrowFilters := []\ncolumnMask := 1 if false", nil)
	for _, n := range []int{1, listingSize} {
		var rs []policy.Resource
		for i := range n {
			rs = append(rs, policy.Resource{Catalog: "c", Schema: "s", Table: fmt.Sprint("t", i)})
		}
		if ok, err := faulty.Allow(t.Context(), policy.FilterTables, rs); ok != nil || err == nil || !strings.Contains(said(t, err), "to_number") {
			t.Errorf("%d tables: %v, %v", n, ok, err)
		}
	}
}

func listed(t *testing.T, j *judge, op policy.Operation, n int) string {
	t.Helper()
	var rs []policy.Resource
	for i := range n {
		rs = append(rs, policy.Resource{Catalog: "c", Schema: "s", Table: fmt.Sprint("t", i)})
	}
	ok, err := j.Allow(t.Context(), op, rs)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for i := range ok {
		if ok[i] {
			seen++
		}
	}
	return fmt.Sprintf("%d of %d", seen, len(ok))
}
