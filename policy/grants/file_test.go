package grants_test

import (
	"bytes"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gatehouse/policy"
	"gatehouse/policy/grants"
)

func export(t rapid.TB, r policy.Rights) string {
	f, err := grants.Export(r)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func planOf(t rapid.TB, r policy.Rights, text string) []policy.Change {
	f, err := grants.ReadFile([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	changes, err := grants.Plan(r, f)
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

// What one store exports makes any other store the same, and then there is nothing left to do.
func TestExportPlanApply(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := tempDir()
		if err != nil {
			rt.Fatal(err)
		}
		defer dir.remove()
		var texts [2]string
		var stores [2]*grants.Store
		for i := range stores {
			s, err := grants.New(t.Context(), grants.Config{File: filepath.Join(dir.path, []string{"a", "b"}[i]), Admin: "admin"})
			if err != nil {
				rt.Fatal(err)
			}
			defer s.Close()
			stores[i] = s
			for range rapid.IntRange(0, 15).Draw(rt, "changes") {
				c, _, _ := draw(rt, everything)
				base, _ := s.Current()
				_, _ = s.Apply(t.Context(), base, policy.Author{}, []policy.Change{c}) // some make no sense
			}
			now, _ := s.Current()
			texts[i] = export(rt, now)
			if left := planOf(rt, now, texts[i]); len(left) > 0 {
				rt.Fatalf("a store differs from its own export: %+v\n%s", left, texts[i])
			}
		}
		base, _ := stores[1].Current()
		now, err := stores[1].Apply(t.Context(), base, policy.Author{}, planOf(rt, base, texts[0]))
		if err != nil {
			rt.Fatalf("%v\nfrom\n%s\nto\n%s", err, texts[1], texts[0])
		}
		if got := export(rt, now); got != texts[0] {
			rt.Fatalf("after apply:\n%s\nwant:\n%s", got, texts[0])
		}
	})
}

// Two rights that differ only in where their tables are do not stand in for each other.
func TestPlanKeepsApart(t *testing.T) {
	file := func(columns string) string {
		text := "roles: []\nrights:\n"
		for _, at := range []string{"c, schema: s, table: t", "c, schema: s2, table: t", "c, schema: s, table: t2", "c2, schema: s, table: t"} {
			text += "- {principal: user:a, privilege: SELECT, level: table, catalog: " + at + columns + "}\n"
			columns = ""
		}
		return text
	}
	s := open(t, filepath.Join(t.TempDir(), "grants.db"), nil)
	base, err := s.Current()
	if err != nil {
		t.Fatal(err)
	}
	r := apply(t, s, planOf(t, base, file(""))...)
	changes := planOf(t, r, file(", columns: [x]"))
	if len(changes) != 2 || changes[0].Op != policy.OpRevoke || changes[0].Object != table || changes[1].Op != policy.OpAllow || changes[1].Object != table {
		t.Errorf("one of four rights is changed by %+v", changes)
	}
}

// In whatever order a file names whom a rule is for, it is the same rule.
func TestPlanKnowsARule(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "grants.db"), nil)
	c := filter("f", "a > 1", "user:a", "user:b")
	c.Rule.Except = []policy.Principal{"user:c", "user:d"}
	f, err := grants.Export(apply(t, s, c))
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Current()
	if err != nil {
		t.Fatal(err)
	}
	for _, lists := range []*[]policy.Principal{&f.Rules[0].To, &f.Rules[0].Except} {
		slices.Reverse(*lists)
		if changes, err := grants.Plan(r, f); err != nil || len(changes) > 0 {
			t.Errorf("to %v except %v: %+v, %v", f.Rules[0].To, f.Rules[0].Except, changes, err)
		}
	}
	f.Rules[0].To = f.Rules[0].To[:1]
	if changes, err := grants.Plan(r, f); err != nil || len(changes) != 2 {
		t.Errorf("for one of them only: %+v, %v", changes, err)
	}
}

// A tag of a column whose field id a file does not give is one of whichever column has the name.
func TestPlanOfATag(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "grants.db"), nil)
	base, err := s.Current()
	if err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]map[string]int{"": nil, ", field: 1": {"a": 1}} {
		changes := planOf(t, base, "roles: []\ntags:\n- {catalog: c, schema: s, table: t, column: a, key: k"+given+"}\n")
		if len(changes) != 1 || !maps.Equal(changes[0].Fields, want) || (changes[0].Fields == nil) != (want == nil) {
			t.Errorf("%q: %+v", given, changes)
		}
	}
}

// Objects that are written alike, since names may hold dots, have one order in an export.
func TestExportHasOneOrder(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "grants.db"), nil)
	for _, o := range []policy.Object{{Catalog: "c.s", Schema: "s", Table: "t"}, {Catalog: "c", Schema: "s", Table: "s.t"}} {
		o.Level = table.Level
		apply(t, s, policy.Change{Op: policy.OpAllow, Principal: "user:a", Privilege: "SELECT", Object: o}, policy.Change{Op: policy.OpSetTag, Object: o, Tag: &policy.Tag{Key: "k"}})
	}
	r, err := s.Current()
	if err != nil {
		t.Fatal(err)
	}
	for range 50 { // a map has another order each time
		if rights, tags := r.List(nil, ""), r.Tags(nil); rights[0].Object.Catalog != "c" || tags[0].Object.Catalog != "c" {
			t.Fatalf("%+v\n%+v", rights, tags)
		}
	}
}

func TestFileIsStrict(t *testing.T) {
	for _, bad := range []string{"roles: [a]\nright: []\n", "rights:\n- principal: user:a\n  privilige: SELECT\n", "roles: {"} {
		if _, err := grants.ReadFile([]byte(bad)); err == nil || !strings.HasPrefix(err.Error(), "grants: ") {
			t.Errorf("%q was read: %v", bad, err)
		}
	}
}
