package grants

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gatehouse/classify"
	"gatehouse/policy"
)

var (
	tableT  = policy.Object{Level: classify.LevelTable, Catalog: "c", Schema: "s", Table: "t"}
	futureS = policy.Object{Level: classify.LevelFutureTables, Catalog: "c", Schema: "s"}
	catalog = policy.Object{Level: classify.LevelCatalog, Catalog: "c"}
)

// settled is a state after changes that must all be accepted.
func settled(t *testing.T, changes ...policy.Change) *State {
	t.Helper()
	s, _, err := empty("admin").apply(newEdit(), changes, stamp{"root", time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What the history says of each change, word by word: it is what an auditor reads.
func TestWhatTheHistorySays(t *testing.T) {
	as := func(op policy.RightsOp, c policy.Change) policy.Change { c.Op = op; return c }
	right := func(o policy.Object, cols ...string) policy.Change {
		return policy.Change{Op: policy.OpAllow, Principal: "user:ann", Privilege: "SELECT", Object: o, Columns: cols}
	}
	with := func(c policy.Change, f func(*policy.Change)) policy.Change { f(&c); return c }
	ids := func(c *policy.Change) { c.Fields, c.UUID = map[string]int{"a": 1, "b": 2}, "u1" }
	option := func(c *policy.Change) { c.Option = true }
	rule := func(op policy.RightsOp, r policy.Rule) policy.Change {
		return policy.Change{Op: op, Object: tableT, Rule: &r}
	}
	filter := policy.Rule{Name: "f", Expression: "a > 1", To: []policy.Principal{"user:b", "public"}, Except: []policy.Principal{"user:c"}, UUID: "u1", Fields: map[string]int{"b": 2, "a": 1}}
	mask := policy.Rule{Name: "m", Expression: "NULL", To: []policy.Principal{"public"}, Priority: -2, Columns: map[string]int{"b": 2, "a": 0}}
	single := policy.Rule{Name: "m", Expression: "NULL", To: []policy.Principal{"public"}, Columns: map[string]int{"b": 2}}
	byTag := policy.Rule{Name: "m", Expression: "NULL", To: []policy.Principal{"public"}, Tag: &policy.Tag{Key: "k", Value: "v"}}
	anyTag := policy.Rule{Name: "n", Expression: "NULL", To: []policy.Principal{"public"}, Tag: &policy.Tag{Key: "k", Any: true}}
	onTag := func(op policy.RightsOp, r policy.Rule) policy.Change { return policy.Change{Op: op, Rule: &r} }
	tag := func(op policy.RightsOp, key, value, uuid string, cols ...string) policy.Change {
		return policy.Change{Op: op, Object: tableT, UUID: uuid, Tag: &policy.Tag{Key: key, Value: value}, Columns: cols, Fields: map[string]int{"a": 1}}
	}
	s := empty("admin")
	for _, c := range []struct {
		change        policy.Change
		before, after string
	}{
		{policy.Change{Op: policy.OpCreateRole, Role: "r"}, "", "exists"},
		{policy.Change{Op: policy.OpAddMember, Role: "r", Principal: "user:ann"}, "", "member"},
		{policy.Change{Op: policy.OpAddMember, Role: "r", Principal: "user:ann", Option: true}, "member", "member with admin option"},
		{policy.Change{Op: policy.OpRemoveMember, Role: "r", Principal: "user:ann", Option: true}, "member with admin option", "member"},
		{policy.Change{Op: policy.OpRemoveMember, Role: "r", Principal: "user:ann"}, "member", ""},
		{policy.Change{Op: policy.OpDropRole, Role: "r"}, "exists", ""},
		{with(right(tableT, "b", "a"), ids), "", "allow (a, b) a=#1 b=#2 of table u1"},
		{with(right(tableT, "b"), func(c *policy.Change) { ids(c); option(c) }), "allow (a, b) a=#1 b=#2 of table u1", "allow (a, b) a=#1 b=#2 of table u1 with grant option (#2)"},
		{as(policy.OpRevoke, with(right(tableT, "a"), ids)), "allow (a, b) a=#1 b=#2 of table u1 with grant option (#2)", "allow (b) b=#2 of table u1 with grant option (#2)"},
		{as(policy.OpRevoke, with(right(tableT, "b"), func(c *policy.Change) { ids(c); option(c) })), "allow (b) b=#2 of table u1 with grant option (#2)", "allow (b) b=#2 of table u1"},
		{with(right(tableT), func(c *policy.Change) { c.Via = []policy.Principal{"user:y", "user:x"} }), "allow (b) b=#2 of table u1", "allow (*) * via user:x, user:y"},
		{with(right(tableT), func(c *policy.Change) { c.UUID = "u2" }), "allow (*) * via user:x, user:y", "allow (*) of table u2"},
		{as(policy.OpRevoke, right(tableT)), "allow (*) of table u2", ""},
		{as(policy.OpDeny, right(tableT, "a")), "", "deny (a)"},
		{as(policy.OpUndeny, right(tableT, "a")), "deny (a)", ""},
		{with(right(futureS), func(c *policy.Change) { c.Except = []string{"u", "t"} }), "", "allow (*) except (t, u)"},
		{with(right(futureS), func(c *policy.Change) { c.Except = []string{"u", "t"}; option(c) }), "allow (*) except (t, u)", "allow (*) with grant option (*) except (t, u) option_except (t, u)"},
		{with(right(futureS), func(c *policy.Change) { c.Except = []string{"t", "v"} }), "allow (*) with grant option (*) except (t, u) option_except (t, u)", "allow (*) with grant option (*) except (t) option_except (t, u)"},
		{with(right(futureS), func(c *policy.Change) { c.Except = []string{"t"}; option(c) }), "allow (*) with grant option (*) except (t) option_except (t, u)", "allow (*) with grant option (*) except (t) option_except (t)"},
		{as(policy.OpRevoke, with(right(futureS), option)), "allow (*) with grant option (*) except (t) option_except (t)", "allow (*) except (t)"},
		{rule(policy.OpSetFilter, filter), "", "using (a > 1) to public, user:b except user:c a=#1 b=#2 of table u1"},
		{rule(policy.OpDropFilter, filter), "using (a > 1) to public, user:b except user:c a=#1 b=#2 of table u1", ""},
		{rule(policy.OpSetMask, mask), "", "on (a, b) using (NULL) to public priority -2 (a=a) (b=#2)"},
		{rule(policy.OpSetMask, single), "on (a, b) using (NULL) to public priority -2 (a=a) (b=#2)", "on (b) using (NULL) to public (b=#2)"},
		{rule(policy.OpSetMask, mask), "on (b) using (NULL) to public (b=#2)", "on (a, b) using (NULL) to public priority -2 (a=a) (b=#2)"},
		{rule(policy.OpDropMask, mask), "on (a, b) using (NULL) to public priority -2 (a=a) (b=#2)", ""},
		{onTag(policy.OpSetMask, byTag), "", "on value 'v' using (NULL) to public"},
		{onTag(policy.OpSetMask, anyTag), "", "using (NULL) to public"},
		{onTag(policy.OpDropMask, byTag), "on value 'v' using (NULL) to public", ""},
		{tag(policy.OpSetTag, "k", "v", "u1"), "", "k = 'v', of table u1"},
		{tag(policy.OpSetTag, "k", "w", "u1", "a", "b"), "", "a k = 'w', b k = 'w', of table u1"},
		{tag(policy.OpUnsetTag, "k", "", "", "a"), "a k = 'w', of table u1", ""},
		{tag(policy.OpSetTag, "k", "v", ""), "k = 'v', of table u1", "k = 'v'"},
		{tag(policy.OpUnsetTag, "k", "", ""), "k = 'v'", ""},
	} {
		next, made, err := s.apply(newEdit(), []policy.Change{c.change}, stamp{"root", time.Unix(1, 0)})
		if err != nil || len(made) != 1 || made[0].Before != c.before || made[0].After != c.after {
			t.Fatalf("%+v:\n%+v, %v\nwant %q, then %q", c.change, made, err, c.before, c.after)
		}
		s = next
		if again, made, err := s.apply(newEdit(), []policy.Change{c.change}, stamp{"other", time.Unix(2, 0)}); err != nil || len(made) > 0 || again.List(nil, "") != nil && again.List(nil, "")[0].By != "root" {
			t.Errorf("%+v once more: %+v, %v", c.change, made, err)
		}
	}
	if r := s.Rules(nil)[0]; r.By != "root" || !r.At.Equal(time.Unix(1, 0)) {
		t.Errorf("made by %s at %v", r.By, r.At)
	}
	if left := s.List(nil, ""); len(left) != 1 || len(s.Rules(nil)) != 1 || s.Tags(nil) != nil {
		t.Errorf("left over: %+v", left)
	}
}

// Each refusal says what is wrong, and everything right beside it is accepted.
func TestRefusals(t *testing.T) {
	base := settled(t, policy.Change{Op: policy.OpCreateRole, Role: "r"},
		policy.Change{Op: policy.OpSetFilter, Object: tableT, Rule: &policy.Rule{Name: "kept", Expression: "a", To: []policy.Principal{"public"}, Except: []policy.Principal{"role:r"}}},
		policy.Change{Op: policy.OpAllow, Principal: "user:all", Privilege: "SELECT", Object: tableT},
		policy.Change{Op: policy.OpAllow, Principal: "user:giver", Privilege: "SELECT", Object: tableT, Option: true},
		policy.Change{Op: policy.OpAllow, Principal: "user:given", Privilege: "SELECT", Object: tableT, Via: []policy.Principal{"user:giver"}})
	grant := func(f func(*policy.Change)) policy.Change {
		c := policy.Change{Op: policy.OpAllow, Principal: "user:ann", Privilege: "SELECT", Object: tableT}
		f(&c)
		return c
	}
	object := func(o policy.Object) policy.Change { return grant(func(c *policy.Change) { c.Object = o }) }
	who := func(p policy.Principal) policy.Change { return grant(func(c *policy.Change) { c.Principal = p }) }
	rule := func(op policy.RightsOp, f func(*policy.Change)) policy.Change {
		c := policy.Change{Op: op, Object: tableT, Rule: &policy.Rule{Name: "x", Expression: "1", To: []policy.Principal{"public"}}}
		if op == policy.OpSetMask {
			c.Rule.Columns = map[string]int{"a": 1}
		}
		f(&c)
		return c
	}
	tag := func(f func(*policy.Change)) policy.Change {
		c := policy.Change{Op: policy.OpSetTag, Object: tableT, Tag: &policy.Tag{Key: "k"}}
		f(&c)
		return c
	}
	const where = `"x": a row filter is on a table, a mask on columns of a table or on a tag`
	const parts = "a row filter or mask has no name or no expression"
	const bearer = "a tag has a name, and a table or column that bears it"
	at := func(level classify.Level, c, s, t string) policy.Object {
		return policy.Object{Level: level, Catalog: c, Schema: s, Table: t}
	}
	for _, c := range []struct {
		change policy.Change
		want   string // "": accepted
	}{
		{policy.Change{Op: policy.OpCreateRole}, "a role has no name"},
		{policy.Change{Op: policy.OpDropRole, Role: "admin"}, `the role "admin" is the administrators' and cannot be dropped`},
		{policy.Change{Op: policy.OpDropRole, Role: "r"}, `role "r" is named by row filter "kept" on c.s.t`},
		{policy.Change{Op: policy.OpDropRole, Role: "none"}, ""},
		{policy.Change{Op: policy.OpAddMember, Role: "none", Principal: "user:ann"}, `role "none" does not exist`},
		{policy.Change{Op: policy.OpAddMember, Role: "r", Principal: "role:none"}, `role "none" does not exist`},
		{policy.Change{Op: policy.OpAddMember, Role: "r", Principal: "public"}, "PUBLIC cannot be a member of a role; grant the rights to PUBLIC instead"},
		{policy.Change{Op: policy.OpRemoveMember, Role: "r", Principal: "robot:x"}, `"robot:x" cannot hold rights`},
		{policy.Change{Op: policy.OpAddMember, Role: "admin", Principal: "role:r"}, ""},
		{who("public"), ""},
		{who("group:g"), ""},
		{who("user@https://i ann"), ""},
		{who("role:r"), ""},
		{who("role:none"), `role "none" does not exist`},
		{who("user:"), `"user:" cannot hold rights`},
		{who("group:"), `"group:" cannot hold rights`},
		{who("user:a\x00b"), `"user:a\x00b" cannot hold rights`},
		{who("user@ ann"), `"user@ ann" cannot hold rights`},
		{who("user@i "), `"user@i " cannot hold rights`},
		{who("public "), `"public " cannot hold rights`},
		{grant(func(c *policy.Change) { c.Privilege = "USAGE" }), "there is no privilege USAGE on a table"},
		{grant(func(c *policy.Change) { c.Privilege, c.Object = "USAGE", catalog }), ""},
		{object(at("row", "c", "s", "t")), "there is no privilege SELECT on a row"},
		{object(at(classify.LevelTable, "", "s", "t")), `".s.t" is no table`},
		{object(at(classify.LevelTable, "c", "", "t")), `"c.t" is no table`},
		{object(at(classify.LevelTable, "c", "s", "")), `"c.s" is no table`},
		{object(at(classify.LevelSchema, "c", "", "")), `"c" is no schema`},
		{object(at(classify.LevelSchema, "c", "s", "t")), `"c.s.t" is no schema`},
		{object(at(classify.LevelSchema, "c", "s", "")), ""},
		{object(at(classify.LevelCatalog, "", "", "")), `"" is no catalog`},
		{object(at(classify.LevelCatalog, "c", "s", "")), `"c.s" is no catalog`},
		{object(catalog), ""},
		{grant(func(c *policy.Change) { c.Object, c.Columns = catalog, []string{"a"} }), `"c" is no catalog`},
		{grant(func(c *policy.Change) { c.Columns = []string{"a", "*"} }), `column "*" cannot be meant without its field id`},
		{grant(func(c *policy.Change) { c.Columns = []string{""} }), `column "" cannot be meant without its field id`},
		{grant(func(c *policy.Change) { c.Columns = []string{"#1"} }), `column "#1" cannot be meant without its field id`},
		{grant(func(c *policy.Change) { c.Columns, c.Fields = []string{"#1"}, map[string]int{"#1": 0} }), `column "#1" cannot be meant without its field id`},
		{grant(func(c *policy.Change) { c.Columns, c.Fields = []string{"#1", "*"}, map[string]int{"#1": 1, "*": 2} }), ""},
		{grant(func(c *policy.Change) { c.Op, c.Privilege = policy.OpDeny, "OWNERSHIP" }), "OWNERSHIP cannot be denied; revoke it, or DENY the privileges"},
		{grant(func(c *policy.Change) { c.Op, c.Privilege = policy.OpUndeny, "OWNERSHIP" }), ""},
		{grant(func(c *policy.Change) { c.Op, c.Object = policy.OpDeny, futureS }), "DENY on future tables does not exist; DENY on the schema covers them"},
		{grant(func(c *policy.Change) { c.Op, c.Object = policy.OpUndeny, futureS }), ""},
		{grant(func(c *policy.Change) { c.Op, c.Principal, c.Columns = policy.OpRevoke, "user:all", []string{"a"} }), `SELECT on "c.s.t" is held or denied as a whole: take it back as a whole, or DENY the columns`},
		{grant(func(c *policy.Change) {
			c.Op, c.Principal, c.Columns, c.Option = policy.OpRevoke, "user:all", []string{"a"}, true
		}), ""},
		{grant(func(c *policy.Change) {
			c.Op, c.Principal, c.Columns, c.Option = policy.OpRevoke, "user:giver", []string{"a"}, true
		}), `SELECT on "c.s.t" is held or denied as a whole: take it back as a whole, or DENY the columns`},
		{grant(func(c *policy.Change) { c.Op, c.Principal = policy.OpRevoke, "role:none" }), `role "none" does not exist`},
		{grant(func(c *policy.Change) {
			c.Op, c.Principal, c.Option, c.Dependants = policy.OpRevoke, "user:giver", true, "restrict"
		}), `SELECT on "c.s.t" was granted on with this grant option; CASCADE takes that back, too`},
		{grant(func(c *policy.Change) {
			c.Op, c.Principal, c.Option, c.Dependants = policy.OpRevoke, "user:giver", true, ""
		}), ""},
		{rule(policy.OpSetFilter, func(*policy.Change) {}), ""},
		{rule(policy.OpSetMask, func(*policy.Change) {}), ""},
		{rule(policy.OpSetFilter, func(c *policy.Change) { c.Rule = nil }), parts},
		{rule(policy.OpSetFilter, func(c *policy.Change) { c.Rule.Name = "" }), parts},
		{rule(policy.OpSetFilter, func(c *policy.Change) { c.Rule.Expression = "\t" }), parts},
		{rule(policy.OpDropFilter, func(c *policy.Change) { c.Rule = nil }), "a row filter or mask has no name"},
		{rule(policy.OpDropMask, func(c *policy.Change) { c.Rule.Name = "" }), "a row filter or mask has no name"},
		{rule(policy.OpSetFilter, func(c *policy.Change) { c.Rule.Tag = &policy.Tag{Key: "k"} }), ""},
		{rule(policy.OpSetFilter, func(c *policy.Change) { c.Rule.Tag, c.Object = &policy.Tag{Key: "k"}, policy.Object{} }), where},
		{rule(policy.OpSetFilter, func(c *policy.Change) { c.Object = at(classify.LevelSchema, "c", "s", "t") }), where},
		{rule(policy.OpSetFilter, func(c *policy.Change) { c.Object.Catalog = "" }), where},
		{rule(policy.OpSetFilter, func(c *policy.Change) { c.Object.Schema = "" }), where},
		{rule(policy.OpSetFilter, func(c *policy.Change) { c.Object.Table = "" }), where},
		{rule(policy.OpSetFilter, func(c *policy.Change) { c.Rule.Columns = map[string]int{"a": 1} }), where},
		{rule(policy.OpSetFilter, func(c *policy.Change) { c.Rule.Priority = 1 }), where},
		{rule(policy.OpSetMask, func(c *policy.Change) { c.Rule.Columns = nil }), where},
		{rule(policy.OpSetMask, func(c *policy.Change) { c.Rule.Tag = &policy.Tag{Key: "k"} }), where},
		{rule(policy.OpSetMask, func(c *policy.Change) {
			c.Rule.Tag, c.Object, c.Rule.Columns = &policy.Tag{Key: "k"}, policy.Object{}, nil
		}), ""},
		{rule(policy.OpSetMask, func(c *policy.Change) {
			c.Rule.Tag, c.Object, c.Rule.Columns = &policy.Tag{}, policy.Object{}, nil
		}), where},
		{rule(policy.OpSetMask, func(c *policy.Change) { c.Rule.Tag, c.Object = &policy.Tag{Key: "k"}, policy.Object{} }), where},
		{rule(policy.OpSetFilter, func(c *policy.Change) { c.Rule.To = nil }), `"x" binds nobody`},
		{rule(policy.OpSetFilter, func(c *policy.Change) { c.Rule.Except = []policy.Principal{"role:none"} }), `role "none" does not exist`},
		{rule(policy.OpSetMask, func(c *policy.Change) { c.Rule.Columns = map[string]int{"*": 0} }), `column "*" cannot be meant without its field id`},
		{tag(func(*policy.Change) {}), ""},
		{tag(func(c *policy.Change) { c.Tag.Key = "" }), bearer},
		{tag(func(c *policy.Change) { c.Object.Table = "" }), bearer},
		{tag(func(c *policy.Change) { c.Object.Level = classify.LevelSchema }), bearer},
		{tag(func(c *policy.Change) { c.Columns = []string{"#1"} }), `column "#1" cannot be meant without its field id`},
	} {
		_, made, err := base.apply(newEdit(), []policy.Change{c.change}, stamp{})
		var refused *policy.RightsError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%+v: %v, and should be accepted", c.change, err)
		case c.want != "" && (!errors.As(err, &refused) || refused.Message != c.want):
			t.Errorf("%+v: %v, want %q", c.change, err, c.want)
		case c.want != "" && made != nil:
			t.Errorf("%+v: was refused and made %+v", c.change, made)
		}
	}
	if _, err := base.one(newEdit(), policy.Change{Op: "odd"}, stamp{}); err == nil || err.Error() != `grants: change "odd" is unknown` {
		t.Error(err)
	}
	if _, err := base.tag(newEdit(), policy.Change{Op: policy.OpSetTag, Object: tableT}); err == nil || err.Error() != bearer {
		t.Error(err)
	}
}

// A plan says what it takes before what it gives, and no more of what goes away with a role.
func TestPlan(t *testing.T) {
	s := settled(t, policy.Change{Op: policy.OpCreateRole, Role: "old"}, policy.Change{Op: policy.OpCreateRole, Role: "both"},
		policy.Change{Op: policy.OpAddMember, Role: "old", Principal: "user:ann"}, policy.Change{Op: policy.OpAddMember, Role: "both", Principal: "role:old"},
		policy.Change{Op: policy.OpAddMember, Role: "both", Principal: "user:ann", Option: true},
		policy.Change{Op: policy.OpAllow, Principal: "role:old", Privilege: "SELECT", Object: tableT},
		policy.Change{Op: policy.OpDeny, Principal: "user:ann", Privilege: "SELECT", Object: tableT, Columns: []string{"a"}},
		policy.Change{Op: policy.OpAllow, Principal: "user:ann", Privilege: "INSERT", Object: tableT})
	f := &File{
		Roles: []string{"both", "new"}, Members: []FileMember{{"user:ann", "both", false}, {"user:bob", "new", true}},
		Rights: []FileRight{
			{Principal: "user:ann", Effect: "deny", Privilege: "SELECT", Level: classify.LevelTable, Catalog: "c", Schema: "s", Table: "t", Columns: []string{"a", "b"}},
			{Principal: "user:ann", Privilege: "INSERT", Level: classify.LevelTable, Catalog: "c", Schema: "s", Table: "t"},
			{Principal: "role:new", Privilege: "SELECT", Level: classify.LevelTable, Catalog: "c", Schema: "s", Table: "t", Columns: []string{"a", "b"}, Option: []string{"b"}, Fields: map[string]int{"b": 2}, UUID: "u1", Via: map[string][]policy.Principal{"b": {"user:x"}}},
		},
		Rules: []FileRule{
			{Kind: "row_filter", Catalog: "c", Schema: "s", Table: "t", Rule: policy.Rule{Name: "f", Expression: "a", To: []policy.Principal{"public"}}},
			{Kind: "mask", Rule: policy.Rule{Name: "m", Expression: "1", To: []policy.Principal{"public"}, Tag: &policy.Tag{Key: "k"}}},
			{Kind: "mask", Catalog: "c", Rule: policy.Rule{Name: "in catalog"}},
			{Kind: "mask", Schema: "s", Rule: policy.Rule{Name: "in schema"}},
			{Kind: "mask", Table: "t", Rule: policy.Rule{Name: "on table"}},
		},
		Tags: []FileTag{{Catalog: "c", Schema: "s", Table: "t", Column: "a", Field: 1, Key: "k"}},
	}
	changes, err := Plan(s, f)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range changes {
		line := strings.Join([]string{string(c.Op), c.Role, string(c.Principal), c.Privilege, strings.Join(c.Columns, "+")}, " ")
		if c.Option {
			line += " option"
		}
		if c.Rule != nil {
			line += fmt.Sprintf("%s on %q of %q", c.Rule.Name, c.Object, c.Object.Level)
		}
		if len(c.Via) > 0 {
			line += " via " + string(c.Via[0])
		}
		got = append(got, line)
	}
	want := []string{
		"drop_role old   ", "remove_member both user:ann  ", "undeny  user:ann SELECT ",
		"create_role new   ", "add_member both user:ann  ", "add_member new user:bob   option", "deny  user:ann SELECT a+b",
		"allow  role:new SELECT a", "allow  role:new SELECT b via user:x", "allow  role:new SELECT b option via user:x", `set_row_filter    f on "c.s.t" of "table"`,
		`set_mask    m on "" of ""`, `set_mask    in catalog on "c" of "table"`, `set_mask    in schema on ".s" of "table"`, `set_mask    on table on ".t" of "table"`, "set_tag    a",
	}
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		t.Errorf("%s\nwant\n%s", a, b)
	}
	f.Rules[0].Kind = "filter"
	if _, err := Plan(s, f); err == nil || err.Error() != `grants: rule "f": kind is row_filter or mask, not "filter"` {
		t.Error(err)
	}
	var other struct{ policy.Rights }
	if _, err := Plan(other, f); err == nil || err.Error() != "grants: rights of type struct { policy.Rights }" {
		t.Error(err)
	}
	if f, err := ReadFile(nil); err != nil || f.Roles != nil {
		t.Errorf("an empty file: %+v, %v", f, err)
	}
}
