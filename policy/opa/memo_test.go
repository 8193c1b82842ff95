package opa

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"
	"pgregory.net/rapid"

	"gatehouse/auth"
	"gatehouse/classify"
	"gatehouse/policies"
	"gatehouse/policy"
)

// looks are the ways in which a rule can look at something that changes from statement to statement.
var looks = []string{
	`"nothing"`,
	`input.context.identity.user`,
	`input.context.identity.groups`,
	`input.context.gateway.roles`,
	`input.context.gateway.authn.expires`,
	`input.context.gateway.claims.tenant`,
	`input.context.queryId`,
	`input["context"]["queryId"]`,
	`input.context.gateway.time`,
	`input.context.gateway.statement.hash`,
	`input.context.gateway.statement[_]`,
	`input.context.gateway.session.properties.purpose`,
	`[[k, v] | some k, v in input.context.gateway.session.properties]`,
	`input.context.gateway.session.client_address`,
	`object.get(input, ["context", "queryId"], "")`,
	`json.marshal(input)`,
	`json.marshal(input.context)`,
	`[v | walk(input, [_, v]); is_string(v)]`,
	`object.keys(input.context.gateway.session.properties)`,
	`time.now_ns()`,
	`data.other.now`,
	`data.other.of(input.context.gateway.session)`,
	`data.other[input.context.gateway.session.properties.purpose]`,
	`data.other.chosen with input.context.queryId as "mine"`,
	`data.gateway.grants.word`,
	`data.gateway.grants`,
	`[x | x := input.action.resource.table.gateway.used]`,
	`input.action.resource.table.columns`,
	`input.action.resource[_].gateway`,
	`[x | every x in [input.context.queryId] { x != "q1" }; x := 1]`,
}

const memoOther = `package other
now := time.now_ns()
of(s) := s.properties.purpose
chosen := [input.context.queryId, input.context.gateway.session.properties.purpose]
audit contains input.context.gateway.statement.hash
night if time.clock(time.now_ns())[0] < 6
`

// memoPolicy makes a policy whose answers show what it looks at: an allow that compares, a filter and a mask that tell.
func memoPolicy(t *rapid.T) map[string][]byte {
	look := func(what string) string { return rapid.SampledFrom(looks).Draw(t, what) }
	text := fmt.Sprintf(`package trino
default allow := false
allow if {
	x := %s
	contains(sprintf("%%v", [x]), %q)
}
allow if input.context.identity.user == %q
allow if {
	input.action.resource.table.tableName == "late"
	data.other.night
}
rowFilters contains {"expression": sprintf("%%v", [x])} if x := %s
columnMask := {"expression": sprintf("%%v", [x])} if {
	x := %s
	input.action.resource.column.columnName != "b"
}
denials contains "nobody" if input.context.identity.user == "nobody"
`, look("allow"), rapid.SampledFrom([]string{"q1", "a", "audit", "7", "x"}).Draw(t, "needle"), rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user"), look("filter"), look("mask"))
	return map[string][]byte{"trino.rego": []byte(text), "other.rego": []byte(memoOther)}
}

// wordRights are rights with one word in them.
type wordRights struct {
	policy.Rights
	version uint64
	word    string
}

func (r *wordRights) Version() uint64 { return r.version }

func (r *wordRights) Elsewhere(string, classify.Name) bool { return false }

func (r *wordRights) Read(path []string) (any, bool) {
	if len(path) == 0 {
		return map[string]any{"word": r.word}, true
	}
	return r.word, len(path) == 1 && path[0] == "word"
}

type memoWorld struct{ rights *wordRights }

func (w *memoWorld) Current() (policy.Rights, error) { return w.rights, nil }

func drawCaller(t *rapid.T) policy.Caller {
	one := func(what string, from ...string) string { return rapid.SampledFrom(from).Draw(t, what) }
	user := one("user", "ann", "bob")
	c := policy.Caller{
		Identity: auth.Identity{
			Issuer: "i", Subject: one("subject", "1", "2"), User: user, Groups: []string{one("group", "g", "h")},
			Roles: []string{one("role", "r", "audit")}, Claims: map[string]any{"tenant": one("tenant", "x", "y")},
			ExpiresAt: time.Unix(int64(rapid.IntRange(1, 2).Draw(t, "expires")), 0),
		},
		Query: one("query", "q1", "q2"), Peer: one("peer", "a", "b"), Hash: one("hash", "7", "8"), Kind: classify.KindSelect,
		Time:    time.Unix(int64(rapid.SampledFrom([]int{1, 1 << 17, 1 << 18}).Draw(t, "time")), 0),
		Session: map[string]string{},
	}
	if p := one("purpose", "", "now", "audit"); p != "" {
		c.Session["purpose"] = p
	}
	return c
}

// story is all that a judge says of one table, with errors but for their ids.
func story(t *rapid.T, d *Decider, c policy.Caller, table policy.Table) []any {
	j, err := d.Judge(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	var out []any
	cause := func(err error) any {
		var fault *policy.PolicyError
		if errors.As(err, &fault) {
			return fault.Cause.Error()
		}
		return err
	}
	ref := policy.Resource{Catalog: "c", Schema: "s", Table: table.Name.Table}
	for _, op := range []policy.Operation{policy.FilterTables, policy.SelectColumns} {
		ok, err := j.Allow(ctx, op, []policy.Resource{ref})
		out = append(out, ok, cause(err))
	}
	ref.Detail, ref.Columns = &table, []string{"a", "b"}
	ok, err := j.Allow(ctx, policy.SelectColumns, []policy.Resource{ref})
	out = append(out, ok, cause(err))
	dec, err := j.Table(ctx, table, []string{"a", "b"})
	slices.SortFunc(dec.Filters, func(a, b policy.Expression) int { return strings.Compare(a.SQL, b.SQL) })
	return append(out, dec.Filters, dec.Masks, cause(err))
}

// Answers that are kept are those that the policy would give now: whatever it looks at, with any caller, after any change of
// policy, of rights and of time. The other decider shows the policy everything and keeps nothing.
func TestKeptAnswers(t *testing.T) {
	differ := 0
	rapid.Check(t, func(t *rapid.T) {
		world := &memoWorld{&wordRights{version: 1, word: "x"}}
		files := memoPolicy(t)
		open := func(trace func(Evaluation)) *Decider {
			d, err := New(Config{Files: files, Rights: world, Lenient: true, Timeout: time.Minute, Trace: trace})
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		kept, fresh := open(nil), open(func(Evaluation) {})
		defer kept.Close()
		defer fresh.Close()
		var last []any
		for range rapid.IntRange(2, 12).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"", "", "", "policy", "rights"}).Draw(t, "change") {
			case "policy":
				files = memoPolicy(t)
				for _, d := range []*Decider{kept, fresh} {
					if err := d.loadFiles(files); err != nil {
						t.Fatal(err)
					}
				}
			case "rights":
				world.rights = &wordRights{version: world.rights.version + 1, word: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "word")}
			}
			c := drawCaller(t)
			table := policy.Table{
				Name:    classify.Name{Catalog: "c", Schema: "s", Table: rapid.SampledFrom([]string{"t", "late"}).Draw(t, "table")},
				Columns: []classify.Column{{Name: "a", FieldID: 1, Type: "BIGINT"}, {Name: "b", FieldID: 2, Type: rapid.SampledFrom([]string{"DATE", "BLOB"}).Draw(t, "type")}},
				Uses:    []classify.ColumnUse{{Column: 0, Roles: rapid.SampledFrom([]classify.Role{classify.RoleOutput, classify.RoleFilter}).Draw(t, "use")}},
			}
			got, want := story(t, kept, c, table), story(t, fresh, c, table)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("kept answers differ:\n%s\n%s", diff, files["trino.rego"])
			}
			if last != nil && !cmp.Equal(last, got) {
				differ++
			}
			last = got
		}
	})
	if differ == 0 {
		t.Fatal("no answer ever changed: the test shows nothing")
	}
}

// Every change of the rights ends what was kept, for the next statement of the same user, too.
func TestRightsEndKeptAnswers(t *testing.T) {
	world := &memoWorld{}
	text := "package trino\nallow if data.gateway.grants.word == \"x\"\nrowFilters contains 1 if false\ncolumnMask := 1 if false"
	d, err := New(Config{Files: map[string][]byte{"p.rego": []byte(text)}, Rights: world, Lenient: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for i, word := range []string{"x", "y", "x", "x", "y"} {
		world.rights = &wordRights{version: uint64(1 + i), word: word}
		j, err := d.Judge(t.Context(), policy.Caller{Identity: auth.Identity{Issuer: "i", Subject: "ann", User: "ann"}})
		if err != nil {
			t.Fatal(err)
		}
		ok, err := j.Allow(t.Context(), policy.SelectColumns, []policy.Resource{{Catalog: "c", Schema: "s", Table: "t"}})
		if err != nil || ok[0] != (word == "x") {
			t.Errorf("rights %d, %s: %v, %v", i, word, ok, err)
		}
	}
}

// The next statement of the same user puts no question again, if the policy does not look at what is new; another user does.
func TestQuestionsArePutOnce(t *testing.T) {
	for _, c := range []struct {
		name, look string
		again      bool // the next statement puts questions again
	}{
		{"identity", `input.context.identity.user`, false},
		{"a setting", `input.context.gateway.session.properties.purpose`, false},
		{"the table's type", `input.action.resource.table.gateway.kind`, false},
		{"the statement", `input.context.gateway.statement.hash`, true},
		{"the query", `input.context.queryId`, true},
		{"the time of the input", `input.context.gateway.time`, true},
		{"all of it", `input`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := New(Config{Files: map[string][]byte{"p.rego": []byte("package trino\nallow if { x := " + c.look + "; x != 7 }\nrowFilters contains 1 if false\ncolumnMask := 1 if false")}, Lenient: true})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			count := func(user, query, use string) (n int) {
				j, err := d.Judge(t.Context(), policy.Caller{
					Identity: auth.Identity{Issuer: "i", Subject: user, User: user, Groups: []string{"same"}},
					Query:    query, Hash: query, Time: time.Unix(int64(len(query)), 0), Session: map[string]string{"purpose": "p", "other": query},
				})
				if err != nil {
					t.Fatal(err)
				}
				tab := policy.Table{Name: classify.Name{Catalog: "c", Schema: "s", Table: "t"}, Columns: []classify.Column{{Name: use}}, Uses: []classify.ColumnUse{{Roles: classify.RoleOutput}}}
				ok, err := j.Allow(t.Context(), policy.SelectColumns, []policy.Resource{{Catalog: "c", Schema: "s", Table: "t", Detail: &tab}})
				if err != nil || !ok[0] {
					t.Fatal(ok, err)
				}
				return len(j.(*judge).answers.kept.young)
			}
			first, second := count("ann", "q", "a"), count("ann", "longer", "b")
			if first == 0 || (second > first) != c.again {
				t.Fatalf("%d questions, then %d; want more: %v", first, second, c.again)
			}
			if other := count("bob", "q", "a"); other != first {
				t.Fatalf("bob has %d answers, want %d of his own", other, first)
			}
		})
	}
}

// What we ship looks at nothing that is new with each statement, so that the next one is not asked about again.
func TestShippedPoliciesLetAnswersBeKept(t *testing.T) {
	for _, set := range []policies.Set{policies.Skeleton, policies.Demo} {
		files, err := policies.Files(set)
		if err != nil {
			t.Fatal(err)
		}
		d, err := New(Config{Files: files})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		looks := func(path string) bool { return d.engine.Load().reads.at(strings.Split(path, "/")...) != nil }
		for _, path := range []string{
			"context/queryId", "context/gateway/time", "context/gateway/statement", "context/gateway/session/client_address",
			"action/resource/table/gateway/used", "action/resource/column/gateway/table/used",
		} {
			if looks(path) {
				t.Errorf("%s: a rule looks at input/%s", set, path)
			}
		}
		if !looks("context/identity/groups") || !looks("action/operation") {
			t.Errorf("%s: nothing is looked at", set)
		}
	}
}

// An answer that depends on the time is kept for nobody; one of another table under the same policy is.
func TestTimeIsNotKept(t *testing.T) {
	d, err := New(Config{Files: map[string][]byte{"p.rego": []byte(`package trino
		allow if input.action.resource.table.tableName == "open"
		allow if { input.action.resource.table.tableName == "hours"; time.clock(time.now_ns())[0] >= 8 }
		rowFilters contains 1 if false
		columnMask := 1 if false`)}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ask := func(table string, hour int) (bool, int) {
		j, err := d.Judge(t.Context(), policy.Caller{Identity: auth.Identity{Issuer: "i", Subject: "s", User: "u"}, Time: time.Unix(int64(hour*3600), 0)})
		if err != nil {
			t.Fatal(err)
		}
		ok, err := j.Allow(t.Context(), policy.FilterTables, []policy.Resource{{Catalog: "c", Schema: "s", Table: table}})
		if err != nil {
			t.Fatal(err)
		}
		return ok[0], len(j.(*judge).answers.kept.young)
	}
	for _, c := range []struct {
		table string
		hour  int
		want  bool
		kept  int
	}{{"hours", 9, true, 0}, {"hours", 7, false, 0}, {"hours", 9, true, 0}, {"open", 7, true, 1}, {"open", 9, true, 1}} {
		if got, kept := ask(c.table, c.hour); got != c.want || kept != c.kept {
			t.Errorf("%s at %d: %v with %d kept, want %v with %d", c.table, c.hour, got, kept, c.want, c.kept)
		}
	}
}

// Two values have one form only if they are the same value.
func TestCanonical(t *testing.T) {
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		leaves := []*rapid.Generator[any]{
			rapid.SampledFrom([]any{nil, true, false, 0, 1, 12, "", "a", "1", "n", "\"", "a\x01b", "{", "[\x01"}),
		}
		if depth > 0 {
			leaves = append(leaves,
				rapid.Custom(func(t *rapid.T) any { return rapid.SliceOfN(value(depth-1), 0, 3).Draw(t, "array") }),
				rapid.Custom(func(t *rapid.T) any {
					return rapid.MapOfN(rapid.SampledFrom([]string{"", "a", "b", "1"}), value(depth-1), 0, 3).Draw(t, "object")
				}))
		}
		return rapid.OneOf(leaves...)
	}
	rapid.Check(t, func(t *rapid.T) {
		seen := map[string]ast.Value{}
		all := []ast.Value{ast.NewSet(ast.StringTerm("a")), ast.NewSet(ast.StringTerm("a"), ast.StringTerm("b"))}
		for _, text := range []string{`[["a"],"b"]`, `[["a","b"]]`, `["a\"b","c"]`, `["a","b\"c"]`, `[["a"],["b"]]`, `[["a",["b"]]]`, `{"a":{"b":1},"c":2}`, `{"a":{"b":1,"c":2}}`} {
			all = append(all, ast.MustParseTerm(text).Value)
		}
		for _, v := range rapid.SliceOfN(value(2), 20, 40).Draw(t, "values") {
			all = append(all, ast.MustInterfaceToValue(v))
		}
		for _, v := range all {
			form, err := canonical(nil, v)
			if err != nil {
				t.Fatal(err)
			}
			if other, ok := seen[string(form)]; ok && other.Compare(v) != 0 {
				t.Fatalf("%v and %v are both %q", other, v, form)
			}
			seen[string(form)] = v
		}
	})
}

// What is kept is bounded, and what was asked last stays.
func TestRecentForgets(t *testing.T) {
	r := recent[int, int]{limit: 10}
	for i := range 1000 {
		r.put(i, i)
		if _, ok := r.get(7); i < 7 == ok {
			t.Fatalf("after %d: %v", i, ok)
		}
		if n := len(r.young) + len(r.old); n > 20 {
			t.Fatal(n)
		}
	}
	if _, ok := r.get(500); ok {
		t.Fatal("never forgotten")
	}
}

// A long listing of a policy that does not look at who asks is like a short one.
func TestLongListing(t *testing.T) {
	d, err := New(Config{Files: map[string][]byte{"p.rego": []byte(`package trino
		allow if endswith(input.action.resource.table.tableName, "7")
		rowFilters contains 1 if false
		columnMask := 1 if false`)}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	j, err := d.Judge(t.Context(), policy.Caller{Identity: auth.Identity{Issuer: "i", Subject: "s", User: "u"}})
	if err != nil {
		t.Fatal(err)
	}
	var rs []policy.Resource
	for i := range 300 {
		rs = append(rs, policy.Resource{Catalog: "c", Schema: "s", Table: fmt.Sprint("t", i)})
	}
	ok, err := j.Allow(t.Context(), policy.FilterTables, rs)
	if err != nil || len(ok) != len(rs) {
		t.Fatal(len(ok), err)
	}
	for i := range ok {
		if ok[i] != (i%10 == 7) {
			t.Errorf("table %d: %v", i, ok[i])
		}
	}
}
