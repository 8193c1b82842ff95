package grants_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gatehouse/classify"
	"gatehouse/policy"
	"gatehouse/policy/opa"
)

func filter(name, expression string, to ...policy.Principal) policy.Change {
	return policy.Change{Op: policy.OpSetFilter, Object: table, Rule: &policy.Rule{
		Name: name, Expression: expression, Fields: map[string]int{"a": 1}, To: to, UUID: "u1", Maker: "user:root",
	}}
}

func mask(name string, tag *policy.Tag) policy.Change {
	c := policy.Change{Op: policy.OpSetMask, Object: table, Rule: &policy.Rule{
		Name: name, Expression: "left(value, 1)", Reads: true, To: []policy.Principal{"public"}, Except: []policy.Principal{"user:boss"}, Priority: 3, Maker: "user:root",
	}}
	if tag != nil {
		c.Object, c.Rule.Tag = policy.Object{}, tag
	} else {
		c.Rule.Columns, c.Rule.UUID = map[string]int{"a": 1, "b": 2}, "u1"
	}
	return c
}

func tagged(op policy.RightsOp, key, value, uuid string, columns ...string) policy.Change {
	c := policy.Change{Op: op, Object: table, UUID: uuid, Tag: &policy.Tag{Key: key, Value: value}, Columns: columns}
	for i, name := range columns {
		if c.Fields == nil {
			c.Fields = map[string]int{}
		}
		c.Fields[name] = i + 1
	}
	return c
}

// Row filters, masks and tags are kept as they were said, with before and after, over a restart, and for every day of the past.
func TestRulesAreKept(t *testing.T) {
	file, now := filepath.Join(t.TempDir(), "grants.db"), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { now = now.Add(24 * time.Hour); return now }
	s := open(t, file, clock)
	apply(t, s, filter("f", "a > 1", "public"), mask("m", nil), mask("t", &policy.Tag{Key: "pii", Any: true}))
	apply(t, s, tagged(policy.OpSetTag, "pii", "x", "u1", "a", "b"), tagged(policy.OpSetTag, "team", "", "u1"))
	v := apply(t, s, filter("f", "a > 2", "user:ann"), tagged(policy.OpUnsetTag, "pii", "", "u1", "a"))
	if same := apply(t, s, filter("f", "a > 2", "user:ann"), tagged(policy.OpSetTag, "team", "", "u1")); same.Version() != v.Version() {
		t.Errorf("what changes nothing made version %d", same.Version())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, file, clock)
	r, err := s.Current()
	if err != nil {
		t.Fatal(err)
	}
	rules, tags := r.Rules(nil), r.Tags(&table)
	if len(rules) != 3 || len(r.Rules(&table)) != 2 || len(tags) != 2 || tags[0].Key != "team" || tags[1].Column != "b" || tags[1].Field != 2 || tags[1].UUID != "u1" {
		t.Fatalf("%+v\n%+v", rules, tags)
	}
	if f := rules[1]; f.Mask || f.Expression != "a > 2" || f.Fields["a"] != 1 || !slices.Equal(f.To, []policy.Principal{"user:ann"}) || f.UUID != "u1" || f.By != "root" {
		t.Errorf("the filter is %+v", f)
	}
	if m := rules[2]; !m.Mask || len(m.Columns) != 2 || m.Columns["b"] != 2 || !m.Reads || m.Priority != 3 || m.Except[0] != "user:boss" {
		t.Errorf("the mask is %+v", m)
	}
	if m := rules[0]; m.Tag == nil || m.Tag.Key != "pii" || !m.Tag.Any || m.Object != (policy.Object{}) {
		t.Errorf("the mask by tag is %+v", m)
	}
	past, err := s.At(t.Context(), time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	if err != nil || past.Rules(&table)[0].Expression != "a > 1" || len(past.Tags(nil)) != 0 {
		t.Errorf("the past is %+v, %v", past.Rules(nil), err)
	}
	h, err := s.History(t.Context(), 1)
	if err != nil || len(h[0].Changes) != 2 || !strings.Contains(h[0].Changes[0].Before, "a > 1") || !strings.Contains(h[0].Changes[0].After, "(a > 2) to user:ann") {
		t.Errorf("the history is %+v, %v", h, err)
	}
	// Another table under the name: its tags begin anew.
	r = apply(t, s, tagged(policy.OpSetTag, "team", "new", "u2"))
	if tags := r.Tags(nil); len(tags) != 1 || tags[0].UUID != "u2" {
		t.Errorf("the new table bears %+v", tags)
	}
	r = apply(t, s, policy.Change{Op: policy.OpDropFilter, Object: table, Rule: &policy.Rule{Name: "f"}}, policy.Change{Op: policy.OpDropMask, Object: table, Rule: &policy.Rule{Name: "m"}},
		policy.Change{Op: policy.OpDropMask, Rule: &policy.Rule{Name: "t", Tag: &policy.Tag{Key: "pii"}}}, tagged(policy.OpUnsetTag, "team", "", "u2"))
	if len(r.Rules(nil)) != 0 || len(r.Tags(nil)) != 0 {
		t.Errorf("left over: %+v %+v", r.Rules(nil), r.Tags(nil))
	}
}

// A tag that a column bears already is not set again under another name of the column: the log would not know of it.
func TestTagThatIsBorne(t *testing.T) {
	file := filepath.Join(t.TempDir(), "grants.db")
	again := tagged(policy.OpSetTag, "pii", "x", "u1", "A")
	r := apply(t, open(t, file, nil), tagged(policy.OpSetTag, "pii", "x", "u1", "a"), again)
	after, err := open(t, file, nil).Current()
	if err != nil {
		t.Fatal(err)
	}
	for when, tags := range map[string][]policy.PlacedTag{"in force": r.Tags(nil), "after a restart": after.Tags(nil)} {
		if len(tags) != 1 || tags[0].Column != "a" || tags[0].Field != 1 {
			t.Errorf("%s: %+v", when, tags)
		}
	}
}

// Rules that could not hold are refused, and a role that a rule names cannot go away under it.
func TestRulesThatCannotHold(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "grants.db"), nil)
	apply(t, s, policy.Change{Op: policy.OpCreateRole, Role: "r"}, filter("f", "a > 1", "role:r"))
	change := func(c policy.Change, f func(*policy.Change)) policy.Change { f(&c); return c }
	for name, c := range map[string]policy.Change{
		"a role that is named": {Op: policy.OpDropRole, Role: "r"},
		"no expression":        filter("g", " ", "public"),
		"nobody":               filter("g", "true"),
		"unknown role":         filter("g", "true", "role:none"),
		"filter on a tag":      change(filter("g", "true", "public"), func(c *policy.Change) { c.Rule.Tag = &policy.Tag{Key: "k"}; c.Object = policy.Object{} }),
		"mask on nothing":      change(mask("g", nil), func(c *policy.Change) { c.Rule.Columns = nil }),
		"mask on two things":   change(mask("g", nil), func(c *policy.Change) { c.Rule.Tag = &policy.Tag{Key: "k"} }),
		"name like an id":      change(mask("g", nil), func(c *policy.Change) { c.Rule.Columns = map[string]int{"#1": 0} }),
		"tag without a name":   tagged(policy.OpSetTag, "", "x", "u1"),
		"user of no issuer":    filter("g", "true", "user@ ann"),
	} {
		if refusal(t, s, c) == "" {
			t.Errorf("%s: was accepted", name)
		}
	}
}

func refusal(t *testing.T, s interface {
	policy.RightsStore
}, changes ...policy.Change,
) string {
	t.Helper()
	base, err := s.Current()
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Apply(t.Context(), base, policy.Author{}, changes)
	if err == nil {
		return ""
	}
	return err.Error()
}

// A REVOKE of an option minds what was granted with it, through any number of hands; what an administrator also granted stays.
func TestDependants(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "grants.db"), nil)
	chain := func(to, via policy.Principal, columns ...string) policy.Change {
		c := allow(to, "SELECT", columns...)
		c.Option = true
		if via != "" {
			c.Via = []policy.Principal{via}
		}
		return c
	}
	r := apply(t, s, chain("user:ann", ""), chain("user:bob", "user:ann", "a", "b"), chain("user:cy", "user:bob", "a"), chain("user:cy", "", "b"), chain("user:dan", "user:cy", "a", "b"))
	if got := r.Passing([]policy.Principal{"user:ann", "user:cy", "user:eve"}, allow("user:x", "SELECT", "b")); !slices.Equal(got, []policy.Principal{"user:ann", "user:cy"}) {
		t.Errorf("%v may pass b on", got)
	}
	take := revoke(allow("user:ann", "SELECT"))
	take.Option, take.Dependants = true, "restrict"
	if text := refusal(t, s, take); !strings.Contains(text, "CASCADE") {
		t.Errorf("RESTRICT: %q", text)
	}
	take.Dependants = "cascade"
	r = apply(t, s, take)
	held := map[policy.Principal][]string{}
	for _, right := range r.List(&table, "") {
		held[right.Principal] = right.Columns
	}
	if len(held) != 3 || held["user:ann"] != nil || !slices.Equal(held["user:cy"], []string{"b"}) || !slices.Equal(held["user:dan"], []string{"b"}) {
		t.Errorf("left: %v", held)
	}
	h, err := s.History(t.Context(), 1)
	if err != nil || len(h[0].Changes) != 4 {
		t.Errorf("the history has %+v, %v", h, err)
	}
	text := export(t, r)
	other := open(t, filepath.Join(t.TempDir(), "grants.db"), nil)
	base, _ := other.Current()
	if got := export(t, apply(t, other, planOf(t, base, text)...)); got != text {
		t.Errorf("after apply:\n%s\nwant:\n%s", got, text)
	}
}

// Policies find the tags of a table and its columns in their input.
func TestTagsInTheInput(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "grants.db"), nil)
	decider, err := opa.New(opa.Config{Rights: s, Files: map[string][]byte{"p.rego": []byte(`package trino
allow if true
rowFilters contains {"expression": "true", "id": concat(",", input.action.resource.table.gateway.tags)}
columnMask := {"expression": "NULL", "id": concat(",", input.action.resource.column.gateway.tags)}
`)}})
	if err != nil {
		t.Fatal(err)
	}
	defer decider.Close()
	apply(t, s, tagged(policy.OpSetTag, "team", "x", "u1"), tagged(policy.OpSetTag, "pii", "", "u1", "a"), tagged(policy.OpSetTag, "team", "y", "u1", "b2", "b"))
	about := policy.Table{Name: classify.Name{Catalog: "c", Schema: "s", Table: "t"}, UUID: "u1", Columns: []classify.Column{{Name: "renamed", FieldID: 1}, {Name: "c", FieldID: 3}, {Name: "b", FieldID: 2}}}
	ask := func() policy.Decision {
		j, err := decider.Judge(t.Context(), policy.Caller{Identity: identity("ann")})
		if err != nil {
			t.Fatal(err)
		}
		d, err := j.Table(t.Context(), about, []string{"renamed", "b", "c"})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := ask()
	if d.Filters[0].ID != "team,team=x" || d.Masks["renamed"].ID != "pii,team,team=y" || d.Masks["b"].ID != "team,team=y" || d.Masks["c"].ID != "team,team=x" {
		t.Errorf("%+v", d)
	}
	about.UUID = "u2"
	if d := ask(); d.Filters[0].ID != "" || d.Masks["b"].ID != "" {
		t.Errorf("of another table: %+v", d)
	}
}
