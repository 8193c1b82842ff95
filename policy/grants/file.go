package grants

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"gatehouse/classify"
	"gatehouse/policy"
)

// File is all rights as YAML, for keeping them under version control.
type File struct {
	Roles   []string     `yaml:"roles"`
	Members []FileMember `yaml:"members,omitempty"`
	Rights  []FileRight  `yaml:"rights,omitempty"`
	Rules   []FileRule   `yaml:"rules,omitempty"`
	Tags    []FileTag    `yaml:"tags,omitempty"`
}

// FileMember is one membership.
type FileMember struct {
	Principal policy.Principal `yaml:"principal"`
	Role      string           `yaml:"role"`
	Admin     bool             `yaml:"admin_option,omitempty"`
}

// FileRight is one grant or denial.
type FileRight struct {
	Principal    policy.Principal `yaml:"principal"`
	Effect       string           `yaml:"effect,omitempty"` // "deny", or nothing for a grant
	Privilege    string           `yaml:"privilege"`
	Level        classify.Level   `yaml:"level"`
	Catalog      string           `yaml:"catalog"`
	Schema       string           `yaml:"schema,omitempty"`
	Table        string           `yaml:"table,omitempty"`
	Columns      []string         `yaml:"columns,omitempty,flow"`       // none: the whole object
	Option       []string         `yaml:"grant_option,omitempty,flow"`  // columns, or "*"
	Except       []string         `yaml:"except,omitempty,flow"`        // future tables: what is none
	OptionExcept []string         `yaml:"option_except,omitempty,flow"` // the same for the grant option
	UUID         string           `yaml:"uuid,omitempty"`               // the table that is meant; none: whichever has the name
	Fields       map[string]int   `yaml:"fields,omitempty,flow"`        // field ids of columns; one without is meant by its name

	Via map[string][]policy.Principal `yaml:"via,omitempty,flow"` // with whose grant option it was granted, by column or "*"
}

// FileRule is one row filter or mask. One by tag has no table.
type FileRule struct {
	Kind        string `yaml:"kind"` // row_filter or mask
	Catalog     string `yaml:"catalog,omitempty"`
	Schema      string `yaml:"schema,omitempty"`
	Table       string `yaml:"table,omitempty"`
	policy.Rule `yaml:",inline"`
}

// FileTag is one tag of a table or, with column, of a column.
type FileTag struct {
	Catalog string `yaml:"catalog"`
	Schema  string `yaml:"schema"`
	Table   string `yaml:"table"`
	Column  string `yaml:"column,omitempty"`
	Field   int    `yaml:"field,omitempty"`
	Key     string `yaml:"key"`
	Value   string `yaml:"value,omitempty"`
	UUID    string `yaml:"uuid,omitempty"`
}

// Export returns all rights as a File, in an order that never changes without reason.
func Export(r policy.Rights) (*File, error) {
	s, ok := r.(*State)
	if !ok {
		return nil, fmt.Errorf("grants: rights of type %T", r)
	}
	f := &File{Roles: []string{}}
	for _, role := range s.Roles() {
		if !s.isAdmin(role) {
			f.Roles = append(f.Roles, role)
		}
	}
	for holder := range child(s.root, "members") {
		roles, admin := s.RolesOf(policy.Principal(holder))
		for _, role := range roles {
			f.Members = append(f.Members, FileMember{policy.Principal(holder), role, slices.Contains(admin, role)})
		}
	}
	slices.SortFunc(f.Members, func(a, b FileMember) int {
		return strings.Compare(string(a.Principal)+"\x00"+a.Role, string(b.Principal)+"\x00"+b.Role)
	})
	for _, right := range s.List(nil, "") {
		one := FileRight{
			Principal: right.Principal, Privilege: right.Privilege, Level: right.Object.Level, Catalog: right.Object.Catalog,
			Schema: right.Object.Schema, Table: right.Object.Table, Columns: right.Columns, Option: right.Option, Except: right.Except,
			UUID: right.UUID, Fields: right.Fields, Via: right.Via,
		}
		if right.Denied {
			one.Effect = "deny"
		}
		leaf := child(s.root, append(place(right.Object), holding(right.Denied), string(right.Principal), right.Privilege)...)
		one.OptionExcept = texts(leaf["option_except"])
		f.Rights = append(f.Rights, one)
	}
	for _, r := range s.Rules(nil) {
		one := FileRule{Kind: "row_filter", Catalog: r.Object.Catalog, Schema: r.Object.Schema, Table: r.Object.Table, Rule: r.Rule}
		if r.Mask {
			one.Kind = "mask"
		}
		f.Rules = append(f.Rules, one)
	}
	for _, t := range s.Tags(nil) {
		f.Tags = append(f.Tags, FileTag{t.Object.Catalog, t.Object.Schema, t.Object.Table, t.Column, t.Field, t.Key, t.Value, t.UUID})
	}
	return f, nil
}

// Write writes f as YAML.
func (f *File) Write(w io.Writer) error {
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	return errors.Join(e.Encode(f), e.Close())
}

// ReadFile reads YAML strictly: a key that does not exist is an error.
func ReadFile(b []byte) (*File, error) {
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	f := &File{}
	if err := d.Decode(f); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("grants: %w", err)
	}
	return f, nil
}

// Plan returns the changes that make r what f says. Changes that take away come first.
func Plan(r policy.Rights, f *File) ([]policy.Change, error) {
	now, err := Export(r)
	if err != nil {
		return nil, err
	}
	take, last, err := planRules(now, f)
	if err != nil {
		return nil, err
	}
	var give []policy.Change
	for _, role := range now.Roles {
		if !slices.Contains(f.Roles, role) {
			take = append(take, policy.Change{Op: policy.OpDropRole, Role: role})
		}
	}
	for _, role := range f.Roles {
		if !slices.Contains(now.Roles, role) {
			give = append(give, policy.Change{Op: policy.OpCreateRole, Role: role})
		}
	}
	for _, m := range now.Members {
		if !slices.Contains(f.Members, m) {
			take = append(take, policy.Change{Op: policy.OpRemoveMember, Role: m.Role, Principal: m.Principal})
		}
	}
	for _, m := range f.Members {
		if !slices.Contains(now.Members, m) {
			give = append(give, policy.Change{Op: policy.OpAddMember, Role: m.Role, Principal: m.Principal, Option: m.Admin})
		}
	}
	old, wanted := index(now.Rights), index(f.Rights)
	for _, right := range now.Rights {
		if w, ok := wanted[right.key()]; !ok || w.String() != right.String() {
			take = append(take, right.changes(policy.OpRevoke, policy.OpUndeny)[0])
		}
	}
	for _, right := range f.Rights {
		if o, ok := old[right.key()]; !ok || o.String() != right.String() {
			give = append(give, right.changes(policy.OpAllow, policy.OpDeny)...)
		}
	}
	give = append(give, last...)
	take = slices.DeleteFunc(take, func(c policy.Change) bool { return dropped(take, c) })
	return append(take, give...), nil
}

// dropped reports whether c goes away with a role that is dropped.
func dropped(all []policy.Change, c policy.Change) bool {
	if c.Op == policy.OpDropRole {
		return false
	}
	return slices.ContainsFunc(all, func(d policy.Change) bool {
		return d.Op == policy.OpDropRole && (c.Role == d.Role || c.Principal == policy.Principal("role:"+d.Role))
	})
}

func index(rs []FileRight) map[string]FileRight {
	out := map[string]FileRight{}
	for _, r := range rs {
		out[r.key()] = r
	}
	return out
}

func (r FileRight) key() string {
	return strings.Join([]string{string(r.Principal), r.Effect, r.Privilege, string(r.Level), r.Catalog, r.Schema, r.Table}, "\x00")
}

// String is equal for rights that are the same.
func (r FileRight) String() string {
	return fmt.Sprint(r.key(), list(r.Columns), list(r.Option), list(r.Except), list(r.OptionExcept), r.UUID, r.Fields, r.Via)
}

// changes returns what makes r, or takes it away.
func (r FileRight) changes(allow, deny policy.RightsOp) []policy.Change {
	c := policy.Change{
		Op: allow, Principal: r.Principal, Privilege: r.Privilege, Columns: r.Columns, Except: r.Except, UUID: r.UUID, Fields: r.Fields,
		Object: policy.Object{Level: r.Level, Catalog: r.Catalog, Schema: r.Schema, Table: r.Table},
	}
	if r.Effect == "deny" {
		c.Op = deny
	}
	if c.Op == policy.OpRevoke || c.Op == policy.OpUndeny {
		c.Columns, c.Fields, c.UUID = nil, nil, ""
		return []policy.Change{c}
	}
	out := r.byVia(c)
	if len(r.Option) > 0 {
		option := c
		option.Option, option.Except = true, r.OptionExcept
		if option.Columns = r.Option; slices.Contains(r.Option, all) {
			option.Columns, option.Fields = nil, nil
		}
		out = append(out, r.byVia(option)...)
	}
	return out
}

// byVia splits a grant into those that were made by the same authority.
func (r FileRight) byVia(c policy.Change) []policy.Change {
	if len(r.Via) == 0 {
		return []policy.Change{c}
	}
	if len(c.Columns) == 0 {
		c.Via = r.Via[all]
		return []policy.Change{c}
	}
	var out []policy.Change
	for _, name := range c.Columns {
		one := c
		one.Columns, one.Via = []string{name}, r.Via[name]
		out = append(out, one)
	}
	return out
}

// planRules returns what takes and what makes the rules and tags of f.
func planRules(now, f *File) (take, give []policy.Change, err error) {
	same := func(a, b any) bool { return fmt.Sprintf("%+v", a) == fmt.Sprintf("%+v", b) }
	for _, r := range f.Rules {
		if r.Kind != "row_filter" && r.Kind != "mask" {
			return nil, nil, fmt.Errorf("grants: rule %q: kind is row_filter or mask, not %q", r.Name, r.Kind)
		}
	}
	for _, r := range now.Rules {
		if !slices.ContainsFunc(f.Rules, func(w FileRule) bool { return same(r.plain(), w.plain()) }) {
			take = append(take, r.change(policy.OpDropFilter, policy.OpDropMask))
		}
	}
	for _, r := range f.Rules {
		if !slices.ContainsFunc(now.Rules, func(o FileRule) bool { return same(r.plain(), o.plain()) }) {
			give = append(give, r.change(policy.OpSetFilter, policy.OpSetMask))
		}
	}
	for _, t := range now.Tags {
		if !slices.Contains(f.Tags, t) {
			take = append(take, t.change(policy.OpUnsetTag))
		}
	}
	for _, t := range f.Tags {
		if !slices.Contains(now.Tags, t) {
			give = append(give, t.change(policy.OpSetTag))
		}
	}
	return take, give, nil
}

// plain is r in one of the ways to write it, for comparisons.
func (r FileRule) plain() FileRule {
	r.To, r.Except = sorted(r.To), sorted(r.Except)
	return r
}

func sorted(ps []policy.Principal) []policy.Principal { return readPrincipals(principals(ps)) }

func (r FileRule) change(filter, mask policy.RightsOp) policy.Change {
	c := policy.Change{Op: mask, Rule: &r.Rule}
	if r.Kind == "row_filter" {
		c.Op = filter
	}
	if r.Table != "" || r.Schema != "" || r.Catalog != "" {
		c.Object = policy.Object{Level: classify.LevelTable, Catalog: r.Catalog, Schema: r.Schema, Table: r.Table}
	}
	return c
}

func (t FileTag) change(op policy.RightsOp) policy.Change {
	c := policy.Change{
		Op: op, Object: policy.Object{Level: classify.LevelTable, Catalog: t.Catalog, Schema: t.Schema, Table: t.Table}, UUID: t.UUID,
		Tag: &policy.Tag{Key: t.Key, Value: t.Value},
	}
	if t.Column != "" {
		c.Columns = []string{t.Column}
		if t.Field > 0 {
			c.Fields = map[string]int{t.Column: t.Field}
		}
	}
	return c
}
