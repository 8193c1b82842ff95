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
		}
		if right.Denied {
			one.Effect = "deny"
		}
		leaf := child(s.root, append(place(right.Object), holding(right.Denied), string(right.Principal), right.Privilege)...)
		one.OptionExcept = texts(leaf["option_except"])
		f.Rights = append(f.Rights, one)
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
	var take, give []policy.Change
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
	return fmt.Sprint(r.key(), list(r.Columns), list(r.Option), list(r.Except), list(r.OptionExcept))
}

// changes returns what makes r, or takes it away.
func (r FileRight) changes(allow, deny policy.RightsOp) []policy.Change {
	c := policy.Change{
		Op: allow, Principal: r.Principal, Privilege: r.Privilege, Columns: r.Columns, Except: r.Except,
		Object: policy.Object{Level: r.Level, Catalog: r.Catalog, Schema: r.Schema, Table: r.Table},
	}
	if r.Effect == "deny" {
		c.Op = deny
	}
	if c.Op == policy.OpRevoke || c.Op == policy.OpUndeny {
		c.Columns = nil
	}
	out := []policy.Change{c}
	if len(r.Option) > 0 {
		c.Option, c.Except = true, r.OptionExcept
		if c.Columns = r.Option; slices.Contains(r.Option, all) {
			c.Columns = nil
		}
		out = append(out, c)
	}
	return out
}
