package grants

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gatehouse/classify"
	"gatehouse/policy"
)

// What a cascade takes is in the history, sorted.
func TestCascadeIsSorted(t *testing.T) {
	give := policy.Change{Op: policy.OpAllow, Principal: "user:a", Privilege: "SELECT", Object: catalog, Option: true}
	var changes []policy.Change
	for _, privilege := range []string{"SELECT", "INSERT", "DELETE"} {
		give.Privilege = privilege
		changes = append(changes, give)
	}
	takes := slices.Clone(changes)
	for _, p := range []policy.Principal{"user:z", "group:y", "user:x"} {
		for _, o := range []policy.Object{tableT, futureS, {Level: classify.LevelSchema, Catalog: "c", Schema: "s"}, {Level: classify.LevelTable, Catalog: "c", Schema: "r", Table: "t"}} {
			for _, privilege := range []string{"SELECT", "INSERT", "DELETE"} {
				changes = append(changes, policy.Change{Op: policy.OpAllow, Principal: p, Privilege: privilege, Object: o, Via: []policy.Principal{"user:a"}})
			}
		}
	}
	for i := range takes {
		takes[i].Op, takes[i].Dependants = policy.OpRevoke, "cascade"
	}
	_, made, err := settled(t, changes...).apply(newEdit(), takes, stamp{})
	if err != nil || len(made) != len(changes) {
		t.Fatalf("%+v, %v", made, err)
	}
	var got []string
	for _, c := range made[len(takes):] {
		got = append(got, fmt.Sprint(c.Object, " ", c.Object.Level, " ", c.Principal, " ", c.Privilege, ": ", c.Before, c.After))
	}
	if !slices.IsSorted(got) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

// What is done and undone leaves the document to the letter as it was, and a cascade says what it left.
func TestThereAndBack(t *testing.T) {
	base := []policy.Change{
		{Op: policy.OpCreateRole, Role: "r"},
		{Op: policy.OpCreateRole, Role: "q"},
		{Op: policy.OpAllow, Principal: "role:r", Privilege: "SELECT", Object: tableT, Columns: []string{"a"}},
		{Op: policy.OpAllow, Principal: "role:r", Privilege: "SELECT", Object: futureS, Except: []string{"t"}},
	}
	want := settled(t, base...)
	undo := func(op policy.RightsOp, c policy.Change) policy.Change { c.Op = op; return c }
	member := policy.Change{Op: policy.OpAddMember, Role: "r", Principal: "role:q", Option: true}
	column := policy.Change{Op: policy.OpAllow, Principal: "role:r", Privilege: "SELECT", Object: tableT, Columns: []string{"b"}, Fields: map[string]int{"b": 2}, Via: []policy.Principal{"user:x"}, Option: true}
	option := policy.Change{Op: policy.OpAllow, Principal: "role:r", Privilege: "SELECT", Object: tableT, Columns: []string{"a"}, Option: true}
	future := policy.Change{Op: policy.OpAllow, Principal: "role:r", Privilege: "SELECT", Object: futureS, Except: []string{"t"}, Option: true}
	plain := func(c policy.Change) policy.Change { c.Option = false; return c }
	for _, c := range [][]policy.Change{
		{member, undo(policy.OpRemoveMember, plain(member))},
		{member, undo(policy.OpRemoveMember, member), undo(policy.OpRemoveMember, plain(member))},
		{{Op: policy.OpAddMember, Role: "r", Principal: "user:x"}, {Op: policy.OpRemoveMember, Role: "r", Principal: "user:x"}},
		{column, undo(policy.OpRevoke, plain(column))},
		{column, undo(policy.OpRevoke, column), undo(policy.OpRevoke, plain(column))},
		{option, undo(policy.OpRevoke, option)},
		{future, undo(policy.OpRevoke, future)},
		{{Op: policy.OpDeny, Principal: "public", Privilege: "SELECT", Object: catalog}, {Op: policy.OpUndeny, Principal: "public", Privilege: "SELECT", Object: catalog}},
		{{Op: policy.OpCreateRole, Role: "p"}, {Op: policy.OpAddMember, Role: "p", Principal: "role:q", Option: true}, {Op: policy.OpDropRole, Role: "p"}},
		{{Op: policy.OpCreateRole, Role: "p"}, {Op: policy.OpAddMember, Role: "q", Principal: "role:p"}, {Op: policy.OpAllow, Principal: "role:p", Privilege: "SELECT", Object: catalog}, {Op: policy.OpDropRole, Role: "p"}},
	} {
		got := settled(t, slices.Concat(base, c)...)
		if !reflect.DeepEqual(got.root, want.root) {
			a, _ := json.Marshal(got.root)
			b, _ := json.Marshal(want.root)
			t.Errorf("%+v:\n%s\nwant\n%s", c, a, b)
		}
	}
	giver := policy.Change{Op: policy.OpAllow, Principal: "user:x", Privilege: "SELECT", Object: tableT, Option: true}
	taken := undo(policy.OpRevoke, giver)
	taken.Dependants = "cascade"
	_, made, err := settled(t, slices.Concat(base, []policy.Change{giver, column})...).apply(newEdit(), []policy.Change{taken}, stamp{})
	if err != nil || len(made) != 2 || made[1].Before != "allow (b, a) b=#2 #2 via user:x with grant option (#2)" || made[1].After != "allow (a)" {
		t.Errorf("%+v, %v", made, err)
	}
}

// The document that the shipped Rego decides with, to the letter: a key that is not there, or is there and empty, is another document.
func TestDocument(t *testing.T) {
	tables := policy.Principal("role:r")
	s := settled(t,
		policy.Change{Op: policy.OpCreateRole, Role: "r"}, policy.Change{Op: policy.OpAddMember, Role: "r", Principal: "user:ann", Option: true},
		policy.Change{Op: policy.OpAllow, Principal: tables, Privilege: "SELECT", Object: tableT, Columns: []string{"b", "a"}, Fields: map[string]int{"a": 1}, UUID: "u1", Via: []policy.Principal{"user:b", "user:a"}, Option: true},
		policy.Change{Op: policy.OpAllow, Principal: tables, Privilege: "SELECT", Object: futureS, Except: []string{"u", "t"}},
		policy.Change{Op: policy.OpDeny, Principal: "public", Privilege: "INSERT", Object: catalog},
		policy.Change{Op: policy.OpSetFilter, Object: tableT, Rule: &policy.Rule{Name: "f", Expression: "a", To: []policy.Principal{"public"}, Maker: "user:m"}},
		policy.Change{Op: policy.OpSetMask, Object: tableT, Rule: &policy.Rule{Name: "m", Expression: "value", Reads: true, To: []policy.Principal{"public"}, Except: []policy.Principal{"user:b"}, Columns: map[string]int{"a": 1, "b": 0}, Fields: map[string]int{"c": 3}, UUID: "u1", Priority: 2}},
		policy.Change{Op: policy.OpSetMask, Rule: &policy.Rule{Name: "m", Expression: "1", To: []policy.Principal{"public"}, Tag: &policy.Tag{Key: "k", Value: "v"}}},
		policy.Change{Op: policy.OpSetTag, Object: tableT, UUID: "u1", Tag: &policy.Tag{Key: "k", Value: "v"}},
		policy.Change{Op: policy.OpSetTag, Object: tableT, UUID: "u1", Tag: &policy.Tag{Key: "k"}, Columns: []string{"a", "b"}, Fields: map[string]int{"a": 1}},
	)
	const by = `"at":"1970-01-01T00:00:01Z","by":"root"`
	want := `{"admin":"role:admin",
		"catalogs":{"c":{"deny":{"public":{"INSERT":{` + by + `,"columns":["*"]}}}}},
		"denials":{"public":{"c":{"*":1}}},
		"filters":{"c":{"s":{"t":{"f":{` + by + `,"except":[],"expression":"a","maker":"user:m","to":["public"],"uuid":"","value":false}}}}},
		"futures":{"c":{"s":{"allow":{"role:r":{"SELECT":{` + by + `,"columns":["*"],"except":["t","u"]}}}}}},
		"masks":{"c":{"s":{"t":{"m":{` + by + `,"columns":{"#1":"a","b":"b"},"except":["user:b"],"expression":"value","fields":{"c":3},"maker":"","priority":2,"to":["public"],"uuid":"u1","value":true}}}}},
		"members":{"role:admin":[],"role:r":[],"user:ann":["role:r"]},
		"options":{"user:ann":["role:r"]},
		"reach":{"role:r":{"c":{"s":2}}},
		"roles":{"admin":{"at":"","by":""},"r":{` + by + `}},
		"tables":{"c":{"s":{"t":{"allow":{"role:r":{"SELECT":{` + by + `,"columns":["#1","b"],"names":{"#1":"a"},"option":["#1","b"],"uuid":"u1","via":{"#1":["user:a","user:b"],"b":["user:a","user:b"]}}}}}}}},
		"tag_masks":{"k":{"m":{"any":false,` + by + `,"except":[],"expression":"1","maker":"","priority":0,"tag":"v","to":["public"],"uuid":"","value":false}}},
		"tags":{"c":{"s":{"t":{"columns":{"#1":{"k":""},"b":{"k":""}},"names":{"#1":"a","b":"b"},"table":{"k":"v"},"uuid":"u1"}}}},
		"version":1}`
	want = strings.NewReplacer("\n", "", "\t", "").Replace(want)
	if got, err := json.Marshal(s.root); err != nil || string(got) != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	for admin, want := range map[string]string{"": `{"members":{},"options":{},"roles":{},"version":0}`, "a": `{"admin":"role:a","members":{"role:a":[]},"options":{},"roles":{"a":{"at":"","by":""}},"version":0}`} {
		if got, err := json.Marshal(empty(admin).root); err != nil || string(got) != want {
			t.Errorf("before the first change: %s, want %s", got, want)
		}
	}
}

// The file of all rights, to the letter: it lies under version control, where every line that changes is looked at.
func TestFileToTheLetter(t *testing.T) {
	s := settled(t,
		policy.Change{Op: policy.OpCreateRole, Role: "z"}, policy.Change{Op: policy.OpCreateRole, Role: "b"},
		policy.Change{Op: policy.OpAddMember, Role: "z", Principal: "user:bob"}, policy.Change{Op: policy.OpAddMember, Role: "b", Principal: "user:bob", Option: true},
		policy.Change{Op: policy.OpAddMember, Role: "admin", Principal: "user:ann"}, policy.Change{Op: policy.OpAddMember, Role: "b", Principal: "role:z"},
		policy.Change{Op: policy.OpAllow, Principal: "role:z", Privilege: "SELECT", Object: tableT, Columns: []string{"b", "a"}, Fields: map[string]int{"a": 1}, UUID: "u1", Via: []policy.Principal{"user:b", "user:a"}},
		policy.Change{Op: policy.OpAllow, Principal: "role:z", Privilege: "SELECT", Object: tableT, Columns: []string{"b"}, UUID: "u1", Option: true},
		policy.Change{Op: policy.OpAllow, Principal: "role:b", Privilege: "SELECT", Object: futureS, Except: []string{"u", "t"}},
		policy.Change{Op: policy.OpAllow, Principal: "role:b", Privilege: "SELECT", Object: futureS, Except: []string{"u", "t", "v"}, Option: true},
		policy.Change{Op: policy.OpDeny, Principal: "public", Privilege: "INSERT", Object: catalog}, policy.Change{Op: policy.OpAllow, Principal: "public", Privilege: "INSERT", Object: catalog},
		policy.Change{Op: policy.OpSetFilter, Object: tableT, Rule: &policy.Rule{Name: "f", Expression: "a", To: []policy.Principal{"public"}, Maker: "user:m"}},
		policy.Change{Op: policy.OpSetMask, Object: tableT, Rule: &policy.Rule{Name: "m", Expression: "value", Reads: true, To: []policy.Principal{"public"}, Except: []policy.Principal{"user:b"}, Columns: map[string]int{"a": 1, "b": 0}, Fields: map[string]int{"c": 3}, UUID: "u1", Priority: 2}},
		policy.Change{Op: policy.OpSetMask, Rule: &policy.Rule{Name: "m", Expression: "1", To: []policy.Principal{"public"}, Tag: &policy.Tag{Key: "k", Value: "v"}}},
		policy.Change{Op: policy.OpSetTag, Object: tableT, UUID: "u1", Tag: &policy.Tag{Key: "k", Value: "v"}},
		policy.Change{Op: policy.OpSetTag, Object: tableT, UUID: "u1", Tag: &policy.Tag{Key: "k"}, Columns: []string{"a", "b"}, Fields: map[string]int{"a": 1}},
	)
	f, err := Export(s)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	const want = `roles:
  - b
  - z
members:
  - principal: role:z
    role: b
  - principal: user:ann
    role: admin
  - principal: user:bob
    role: b
    admin_option: true
  - principal: user:bob
    role: z
rights:
  - principal: public
    privilege: INSERT
    level: catalog
    catalog: c
  - principal: public
    effect: deny
    privilege: INSERT
    level: catalog
    catalog: c
  - principal: role:b
    privilege: SELECT
    level: future tables in schema
    catalog: c
    schema: s
    grant_option: ['*']
    except: [t, u]
    option_except: [t, u, v]
  - principal: role:z
    privilege: SELECT
    level: table
    catalog: c
    schema: s
    table: t
    columns: [a, b]
    grant_option: [b]
    uuid: u1
    fields: {a: 1}
    via: {a: ['user:a', 'user:b']}
rules:
  - kind: mask
    name: m
    expression: "1"
    tag:
      key: k
      value: v
    to: [public]
  - kind: row_filter
    catalog: c
    schema: s
    table: t
    name: f
    expression: a
    to: [public]
    maker: user:m
  - kind: mask
    catalog: c
    schema: s
    table: t
    name: m
    expression: value
    fields: {c: 3}
    columns: {a: 1, b: 0}
    to: [public]
    except: ['user:b']
    priority: 2
    uuid: u1
    value: true
tags:
  - catalog: c
    schema: s
    table: t
    key: k
    value: v
    uuid: u1
  - catalog: c
    schema: s
    table: t
    column: a
    field: 1
    key: k
    uuid: u1
  - catalog: c
    schema: s
    table: t
    column: b
    key: k
    uuid: u1
`
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
	if err := f.Write(failing{}); err == nil {
		t.Error("written to nowhere")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no room") }
