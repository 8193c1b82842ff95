package grants_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gatehouse/classify"
	"gatehouse/policy"
	"gatehouse/policy/grants"
)

var shown = policy.Table{
	Name: classify.Name{Catalog: "c", Schema: "s", Table: "t1"}, UUID: "u1",
	Columns: []classify.Column{{Name: "a", FieldID: 1, Type: "VARCHAR"}, {Name: "b", FieldID: 2, Type: "VARCHAR"}},
}

// hides are the filters and masks that bind a user.
func (w *world) hides(t rapid.TB, user string) map[string]bool {
	out := map[string]bool{}
	d, err := w.judge(t, user).Table(context.Background(), shown, []string{"a", "b"})
	if err != nil {
		out["everything"] = true // masks in conflict
		return out
	}
	for _, f := range d.Filters {
		if f.ID != "not_readable" {
			out["filter "+f.ID] = true
		}
	}
	for c, m := range d.Masks {
		if m.ID != "not_readable" {
			out["mask "+m.ID+" of "+c] = true
			out["text "+m.SQL+" of "+c] = true // of two masks that say the same, either may be the one
		}
	}
	return out
}

// sameText reports whether what stands in place of a column is the same as before.
func sameText(before, after map[string]bool, column string) bool {
	for h := range before {
		if strings.HasPrefix(h, "text ") && strings.HasSuffix(h, " of "+column) && after[h] {
			return true
		}
	}
	return false
}

// drawRule makes a change of a filter, mask or tag, and what the gateway asks about it.
func drawRule(t *rapid.T, w *world, actor string) (policy.Change, policy.Operation, policy.Resource) {
	who := []policy.Principal{"user:ann", "user:bob", "user:cy", "role:r1", "role:r2", "role:r3", "public"}
	some := func(name string, least int) []policy.Principal {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(who), least, 2, rapid.ID[policy.Principal]).Draw(t, name)
	}
	c := policy.Change{Object: policy.Object{Level: classify.LevelTable, Catalog: "c", Schema: "s", Table: "t1"}, UUID: "u1"}
	rule := &policy.Rule{
		Name: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "name"), Expression: rapid.SampledFrom([]string{"a = b", "a <> b"}).Draw(t, "expression"),
		Fields: map[string]int{"a": 1, "b": 2}, To: some("to", 1), Except: some("except", 0), UUID: "u1", Maker: policy.Principal("user:" + actor),
	}
	ask := ""
	switch c.Op = rapid.SampledFrom([]policy.RightsOp{policy.OpSetFilter, policy.OpDropFilter, policy.OpSetMask, policy.OpDropMask, policy.OpSetTag, policy.OpUnsetTag}).Draw(t, "rule"); c.Op {
	case policy.OpSetTag, policy.OpUnsetTag:
		c.Tag, c.Columns, c.Fields = &policy.Tag{Key: "k"}, []string{"a"}, map[string]int{"a": 1}
		ask = map[policy.RightsOp]string{policy.OpSetTag: "SetTag", policy.OpUnsetTag: "UnsetTag"}[c.Op]
	case policy.OpSetFilter, policy.OpDropFilter:
		c.Rule, ask = rule, "RowFilter"
	default:
		c.Rule, ask = rule, "Mask"
		rule.Columns, rule.Priority = map[string]int{"a": 1}, rapid.IntRange(0, 1).Draw(t, "priority")
		if rapid.Bool().Draw(t, "by tag") {
			rule.Columns, rule.UUID, rule.Tag, c.Object = nil, "", &policy.Tag{Key: "k", Any: true}, policy.Object{}
		}
	}
	if c.Rule != nil {
		now, err := w.store.Current()
		if err != nil {
			t.Fatal(err)
		}
		exists := slices.ContainsFunc(now.Rules(nil), func(r policy.PlacedRule) bool {
			return r.Name == rule.Name && r.Mask == (ask == "Mask") && (r.Tag == nil) == (rule.Tag == nil)
		})
		switch {
		case c.Op == policy.OpDropFilter || c.Op == policy.OpDropMask:
			ask = "Drop" + ask
		case exists:
			ask = "Alter" + ask
		default:
			ask = "Create" + ask
		}
	}
	res := policy.Resource{Catalog: c.Object.Catalog, Schema: c.Object.Schema, Table: c.Object.Table, Grant: &policy.GrantRequest{Name: rule.Name, Priority: rule.Priority > 0}}
	if c.Object.Table != "" {
		res.Detail = &shown
	}
	return c, policy.Operation(ask), res
}

// Whatever anybody types, through roles, circles, ownership, tags and priorities: nobody but an administrator takes away what hides
// something from himself, unless he made it.
func TestNobodyShowsMoreThanHeSees(t *testing.T) {
	src, passed, lifted := &source{}, 0, 0
	decider := newDecider(t, src)
	rapid.Check(t, func(t *rapid.T) {
		dir, err := tempDir()
		if err != nil {
			t.Fatal(err)
		}
		defer dir.remove()
		store, err := grants.New(context.Background(), grants.Config{File: filepath.Join(dir.path, "grants.db"), Admin: "admin"})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		src.Store = store
		w := &world{store, decider, newModel()}
		try := func(actor string, c policy.Change, op policy.Operation, res policy.Resource) bool {
			j := w.judge(t, actor)
			if !allowed(t, j, op, res) {
				return false
			}
			_, err := store.Apply(context.Background(), j.(policy.Pinned).Rights(), policy.Author{User: actor}, []policy.Change{c})
			var refused *policy.RightsError
			if err != nil && !errors.As(err, &refused) {
				t.Fatal(err)
			}
			if err == nil {
				w.model.do(c)
			}
			return err == nil
		}
		for _, r := range roleNames[:3] {
			try("root", policy.Change{Op: policy.OpCreateRole, Role: r}, policy.CreateRole, policy.Resource{Grant: &policy.GrantRequest{Role: r}})
		}
		for range rapid.IntRange(6, 16).Draw(t, "setup") {
			if rapid.Bool().Draw(t, "a rule") {
				c, op, res := drawRule(t, w, "root")
				try("root", c, op, res)
				continue
			}
			c, op, res := draw(t, giving)
			c.Op = map[bool]policy.RightsOp{true: policy.OpAllow, false: c.Op}[c.Op == policy.OpDeny] // denials would close it all
			try("root", c, op, res)
		}
		for range rapid.IntRange(5, 25).Draw(t, "steps") {
			actor := rapid.SampledFrom(actors[1:]).Draw(t, "actor")
			admin := w.model.administers(policy.Principal("user:" + actor))
			rights, _ := store.Current()
			mine := map[string]bool{}
			for _, r := range rights.Rules(nil) {
				if r.Maker == policy.Principal("user:"+actor) {
					mine[map[bool]string{true: "mask ", false: "filter "}[r.Mask]+r.Name] = true
				}
			}
			before := map[string]map[string]bool{}
			for _, u := range actors[1:] {
				before[u] = w.hides(t, u)
			}
			c, op, res := drawRule(t, w, actor)
			if rapid.IntRange(0, 2).Draw(t, "kind") == 0 {
				c, op, res = draw(t, []policy.RightsOp{policy.OpAddMember, policy.OpRemoveMember, policy.OpAllow, policy.OpRevoke})
			}
			if !try(actor, c, op, res) || admin {
				continue
			}
			passed++
			for _, u := range actors[1:] {
				after := w.hides(t, u)
				for h := range before[u] {
					name, column, _ := strings.Cut(h, " of ")
					if strings.HasPrefix(h, "text ") || strings.HasPrefix(h, "mask ") && sameText(before[u], after, column) {
						continue
					}
					if after[h] || after["everything"] || mine[name] || !before[actor][h] || h == "everything" {
						if !after[h] {
							lifted++
						}
						continue
					}
					t.Fatalf("%s took %s from %s, which bound himself, by %s of %+v (%+v)", actor, h, u, op, c, c.Rule)
				}
			}
		}
	})
	if passed < 10 || lifted == 0 {
		t.Errorf("others than administrators made %d changes, and lifted %d: the test shows nothing", passed, lifted)
	}
	t.Logf("%d changes by others than administrators, which lifted %d filters and masks", passed, lifted)
}
