package grants

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"gatehouse/classify"
	"gatehouse/policy"
)

// agree compares all that the state tells with the ledger.
func (l *ledger) agree(t *rapid.T, s *State) {
	same := func(what string, got, want any) {
		t.Helper()
		if a, b := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); a != b {
			t.Fatalf("%s\nis   %s\nwant %s", what, a, b)
		}
	}
	if v, ok := s.Read([]string{"version"}); !ok || v != int(s.version) || s.Version() != s.version {
		t.Fatalf("version %v", v)
	}
	same("the roles", s.Roles(), slices.Sorted(maps.Keys(l.roles)))
	var all []policy.Right
	for h, e := range l.held {
		r := e.right(h)
		r.At = madeAt(e.by)
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b policy.Right) int { return strings.Compare(order(a), order(b)) })
	same("all rights", s.List(nil, ""), all)
	for _, p := range everybody {
		var roles, admin []string
		for _, r := range slices.Sorted(maps.Keys(l.members[p])) {
			roles = append(roles, r)
			if l.members[p][r] {
				admin = append(admin, r)
			}
		}
		gotRoles, gotAdmin := s.RolesOf(p)
		same("roles of "+string(p), [][]string{gotRoles, gotAdmin}, [][]string{roles, admin})
	}
	for _, o := range objects[2:] {
		for _, p := range []policy.Principal{"", "user:ann"} {
			want := slices.DeleteFunc(slices.Clone(all), func(r policy.Right) bool { return r.Object != o || p != "" && r.Principal != p })
			same(fmt.Sprint("rights on ", o, " of ", p), s.List(&o, p), want)
		}
		for _, privilege := range []string{"SELECT", "INSERT"} {
			c := policy.Change{Object: o, Privilege: privilege, Columns: []string{"a"}, Fields: map[string]int{"a": 1}}
			if o.Level != classify.LevelTable {
				c.Columns = nil
			}
			var want []policy.Principal
			for _, p := range everybody {
				if l.passes(p, o, privilege, columnKeys(c)[0]) {
					want = append(want, p)
				}
			}
			same(fmt.Sprint("who passes on ", c), s.Passing(everybody, c), want)
		}
	}
	l.agreeOnRules(same, s)
	l.agreeOnIndex(same, s, all)
}

func madeAt(by string) time.Time {
	var n int64
	if _, err := fmt.Sscanf(by, "u%d", &n); err != nil {
		return time.Time{}
	}
	return time.Unix(n, 5).UTC()
}

// order is that of List: what is on one object lies together.
func order(r policy.Right) string {
	return fmt.Sprint(r.Object, "\x00", r.Object.Level, "\x00", r.Object.Catalog, "\x00", r.Object.Schema, "\x00", r.Principal, "\x00", r.Denied, "\x00", r.Privilege)
}

func (l *ledger) agreeOnRules(same func(string, any, any), s *State) {
	plain := func(rules []policy.PlacedRule) (out []string) {
		for _, r := range rules {
			tag := "none"
			if r.Tag != nil {
				tag, r.Tag = fmt.Sprintf("%+v", *r.Tag), nil
			}
			r.By, r.At = "", time.Time{}
			out = append(out, fmt.Sprintf("%+v %s", r, tag))
		}
		slices.Sort(out)
		return out
	}
	on := func(o *policy.Object) (out []policy.PlacedRule) {
		for mask, kind := range map[bool]map[policy.Object]map[string]policy.Rule{false: l.filters, true: l.masks} {
			for at, rules := range kind {
				for _, r := range rules {
					if o == nil || at == *o {
						out = append(out, policy.PlacedRule{Rule: r, Mask: mask, Object: at})
					}
				}
			}
		}
		for _, rules := range l.tagMasks {
			for _, r := range rules {
				if o == nil {
					out = append(out, policy.PlacedRule{Rule: r, Mask: true})
				}
			}
		}
		return out
	}
	same("the rules", plain(s.Rules(nil)), plain(on(nil)))
	inOrder := slices.IsSortedFunc(s.Rules(nil), func(a, b policy.PlacedRule) int {
		key := func(r policy.PlacedRule) string {
			tag := ""
			if r.Tag != nil {
				tag = r.Tag.Key
			}
			return fmt.Sprint(r.Object, "\x00", r.Object.Schema, "\x00", r.Mask, "\x00", r.Name, "\x00", tag)
		}
		return strings.Compare(key(a), key(b))
	})
	same("the rules are in order", inOrder, true)
	homes := map[string]map[policy.Object]bool{"u1": {}, "u2": {}, "": {}}
	for _, r := range on(nil) {
		homes[r.UUID][r.Object] = true
	}
	var tags []policy.PlacedTag
	for o, b := range l.tags {
		homes[b.uuid][o] = true
		for k, of := range b.tags {
			for key, value := range of {
				one := policy.PlacedTag{Tag: policy.Tag{Key: key, Value: value}, Object: o, UUID: b.uuid, Column: b.names[k]}
				if strings.HasPrefix(k, "#") {
					one.Field = int(k[1] - '0')
				}
				tags = append(tags, one)
			}
		}
	}
	slices.SortFunc(tags, func(a, b policy.PlacedTag) int {
		key := func(t policy.PlacedTag) string {
			return fmt.Sprint(t.Object, "\x00", t.Object.Schema, "\x00", t.Column, "\x00", t.Key, "\x00", t.Field)
		}
		return strings.Compare(key(a), key(b))
	})
	same("the tags", s.Tags(nil), tags)
	for _, o := range objects[2:6] {
		same(fmt.Sprint("the rules of ", o), plain(s.Rules(&o)), plain(on(&o)))
		same(fmt.Sprint("the tags of ", o), s.Tags(&o), slices.DeleteFunc(slices.Clone(tags), func(t policy.PlacedTag) bool { return t.Object != o }))
	}
	for h, e := range l.held {
		if h.denied {
			homes[e.uuid][h.object] = true
		}
	}
	for uuid, at := range homes {
		for _, o := range objects[2:6] {
			want := uuid != "" && (len(at) > 1 || len(at) == 1 && !at[o])
			same(fmt.Sprint(uuid, " is elsewhere than ", o), s.Elsewhere(uuid, classify.Name{Catalog: o.Catalog, Schema: o.Schema, Table: o.Table}), want)
		}
	}
}

// agreeOnIndex checks the counts by which the Rego finds whether anybody has anything somewhere.
func (l *ledger) agreeOnIndex(same func(string, any, any), s *State, all []policy.Right) {
	for name, denied := range map[string]bool{"reach": false, "denials": true} {
		want := map[string]map[string]map[string]int{}
		for _, r := range all {
			if r.Denied != denied {
				continue
			}
			p, schema := string(r.Principal), r.Object.Schema
			if schema == "" {
				schema = "*"
			}
			if want[p] == nil {
				want[p] = map[string]map[string]int{}
			}
			if want[p][r.Object.Catalog] == nil {
				want[p][r.Object.Catalog] = map[string]int{}
			}
			want[p][r.Object.Catalog][schema]++
		}
		got, _ := s.Read([]string{name})
		if got == nil {
			got = map[string]int{}
		}
		same(name, got, want)
	}
}
