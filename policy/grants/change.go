package grants

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"gatehouse/classify"
	"gatehouse/policy"
)

// stamp is who made a change and when.
type stamp struct {
	by string
	at time.Time
}

// apply returns s after all of changes, and those of them that changed something, with their before and after.
func (s *State) apply(e *edit, changes []policy.Change, by stamp) (*State, []policy.Change, error) {
	out := &State{version: s.version + 1, root: s.root}
	var made []policy.Change
	for _, c := range changes {
		before := out.show(c)
		root, err := out.one(e, c, by)
		if err != nil {
			return nil, nil, err
		}
		next := &State{version: out.version, root: root}
		c.Before, c.After = before, next.show(c)
		if c.Before != c.After {
			made = append(made, c)
			out = next
		}
	}
	out, made, err := out.withDependants(e, changes, made, by)
	if err != nil {
		return nil, nil, err
	}
	out.root = e.set(out.root, 0, int(out.version), "version")
	return out, made, nil
}

// withDependants deals with grants that lost the grant option that they were made with.
func (s *State) withDependants(e *edit, changes, made []policy.Change, by stamp) (*State, []policy.Change, error) {
	what := func(d string) bool {
		return slices.ContainsFunc(changes, func(c policy.Change) bool { return c.Dependants == d })
	}
	if !what("cascade") && !what("restrict") {
		return s, made, nil
	}
	for {
		gone := s.abandoned()
		if len(gone) == 0 {
			return s, made, nil
		}
		if !what("cascade") {
			return nil, nil, &policy.RightsError{Message: fmt.Sprintf("%s on %q was granted on with this grant option; CASCADE takes that back, too", gone[0].Privilege, gone[0].Object.String())}
		}
		for _, c := range gone {
			c.Before = s.show(c)
			root, err := s.one(e, c, by)
			if err != nil {
				return nil, nil, err
			}
			s = &State{version: s.version, root: root}
			c.After = s.show(c)
			made = append(made, c)
		}
	}
}

// one returns the document after a change. One that changes nothing must leave the nodes of e as they are, so that what it
// would say, like who made a right, is not there before the log is read again and gone after.
func (s *State) one(e *edit, c policy.Change, by stamp) (node, error) {
	switch c.Op {
	case policy.OpCreateRole:
		return s.createRole(e, c, by)
	case policy.OpDropRole:
		return s.dropRole(e, c)
	case policy.OpAddMember, policy.OpRemoveMember:
		return s.member(e, c)
	case policy.OpAllow, policy.OpDeny:
		return s.add(e, c, by)
	case policy.OpRevoke, policy.OpUndeny:
		return s.take(e, c, by)
	}
	return s.ruled(e, c, by)
}

func (s *State) hasRole(name string) bool { return child(s.root, "roles", name) != nil }

func (s *State) isAdmin(role string) bool { return s.root["admin"] == "role:"+role }

func (s *State) createRole(e *edit, c policy.Change, by stamp) (node, error) {
	if c.Role == "" {
		return nil, &policy.RightsError{Message: "a role has no name"}
	}
	if s.hasRole(c.Role) {
		return s.root, nil
	}
	root := e.set(s.root, 0, leaf(by, nil), "roles", c.Role)
	return e.set(root, 0, []any{}, "members", "role:"+c.Role), nil
}

// dropRole removes the role, its memberships in both directions, and every right of it.
func (s *State) dropRole(e *edit, c policy.Change) (node, error) {
	if s.isAdmin(c.Role) {
		return nil, &policy.RightsError{Message: fmt.Sprintf("the role %q is the administrators' and cannot be dropped", c.Role)}
	}
	if !s.hasRole(c.Role) {
		return s.root, nil
	}
	p := "role:" + c.Role
	for _, r := range s.Rules(nil) { // a filter that names nobody any more would hide nothing
		if slices.Contains(slices.Concat(r.To, r.Except), policy.Principal(p)) {
			return nil, &policy.RightsError{Message: fmt.Sprintf("role %q is named by %s", c.Role, r.Where())}
		}
	}
	root := e.set(s.root, 1, nil, "roles", c.Role)
	root = e.set(root, 1, nil, "members", p)
	root = e.set(root, 1, nil, "options", p)
	for _, kind := range []string{"members", "options"} {
		for holder, v := range child(root, kind) {
			if roles := texts(v); slices.Contains(roles, p) {
				root = without(e, root, kind, holder, roles, p)
			}
		}
	}
	at := &State{root: root}
	for _, r := range at.List(nil, policy.Principal(p)) {
		root = put(e, root, r.Object, r.Denied, policy.Principal(p), r.Privilege, nil)
	}
	return root, nil
}

// without takes role out of the list of holder. A role keeps its entry of members, which says that it exists.
func without(e *edit, root node, kind, holder string, roles []string, role string) node {
	left := list(slices.DeleteFunc(slices.Clone(roles), func(r string) bool { return r == role }))
	if len(left) == 0 && !(kind == "members" && strings.HasPrefix(holder, "role:")) {
		return e.set(root, 1, nil, kind, holder)
	}
	return e.set(root, 1, left, kind, holder)
}

func (s *State) member(e *edit, c policy.Change) (node, error) {
	if err := s.principal(c.Principal); err != nil {
		return nil, err
	}
	if !s.hasRole(c.Role) {
		return nil, noRole(c.Role)
	}
	if c.Principal == "public" {
		return nil, &policy.RightsError{Message: "PUBLIC cannot be a member of a role; grant the rights to PUBLIC instead"}
	}
	role, holder, root := "role:"+c.Role, string(c.Principal), s.root
	kinds := []string{"members", "options"}
	if c.Op == policy.OpRemoveMember && c.Option || c.Op == policy.OpAddMember && !c.Option {
		kinds = kinds[:1]
		if c.Op == policy.OpRemoveMember {
			kinds = []string{"options"}
		}
	}
	for _, kind := range kinds {
		v, _ := get(root, kind, holder)
		if c.Op == policy.OpAddMember {
			root = e.set(root, 1, list(append(texts(v), role)), kind, holder)
		} else if slices.Contains(texts(v), role) {
			root = without(e, root, kind, holder, texts(v), role)
		}
	}
	return root, nil
}

func noRole(name string) error {
	return &policy.RightsError{Message: fmt.Sprintf("role %q does not exist", name)}
}

// principal checks that p can hold a right.
func (s *State) principal(p policy.Principal) error {
	if p == "public" {
		return nil
	}
	kind, name, issuer := p.Split()
	switch {
	case name == "" || strings.ContainsRune(string(p), 0) || strings.HasPrefix(string(p), "user@") && issuer == "":
	case kind == "role":
		if !s.hasRole(name) {
			return noRole(name)
		}
		return nil
	case kind == "user", kind == "group":
		return nil
	}
	return &policy.RightsError{Message: fmt.Sprintf("%q cannot hold rights", string(p))}
}

// check refuses rights that do not exist.
func (s *State) check(c policy.Change) error {
	if err := s.principal(c.Principal); err != nil {
		return err
	}
	if !slices.Contains(classify.PrivilegesOn(c.Object.Level), c.Privilege) {
		return &policy.RightsError{Message: fmt.Sprintf("there is no privilege %s on a %s", c.Privilege, c.Object.Level)}
	}
	o := c.Object
	tables, schemas := o.Level == classify.LevelTable, o.Level != classify.LevelCatalog
	if o.Catalog == "" || schemas != (o.Schema != "") || tables != (o.Table != "") || len(c.Columns) > 0 && !tables {
		return &policy.RightsError{Message: fmt.Sprintf("%q is no %s", o.String(), o.Level)}
	}
	if err := checkColumns(c.Columns, c.Fields); err != nil {
		return err
	}
	if c.Op == policy.OpDeny && c.Privilege == "OWNERSHIP" {
		return &policy.RightsError{Message: "OWNERSHIP cannot be denied; revoke it, or DENY the privileges"}
	}
	if c.Op == policy.OpDeny && o.Level == classify.LevelFutureTables {
		return &policy.RightsError{Message: "DENY on future tables does not exist; DENY on the schema covers them"}
	}
	return nil
}

func (s *State) add(e *edit, c policy.Change, by stamp) (node, error) {
	if err := s.check(c); err != nil {
		return nil, err
	}
	cols := keys(c)
	old := s.leaf(c)
	if otherTable(old, c) {
		old = nil
	}
	n := leaf(by, nil)
	n["columns"] = columns(append(texts(old["columns"]), cols...))
	option := texts(old["option"])
	if c.Option {
		option = append(option, cols...)
	}
	if len(option) > 0 {
		n["option"] = columns(option)
	}
	if c.Object.Level == classify.LevelFutureTables {
		n["except"] = either(c.Except, old, "except")
		if c.Option {
			n["option_except"] = either(c.Except, old, "option_except")
		} else if e, ok := old["option_except"]; ok {
			n["option_except"] = e
		}
	}
	bound(n, old, c)
	if same(s.leaf(c), n) {
		return s.root, nil
	}
	return put(e, s.root, c.Object, c.Op == policy.OpDeny, c.Principal, c.Privilege, n), nil
}

func (s *State) take(e *edit, c policy.Change, by stamp) (node, error) {
	if err := s.check(c); err != nil {
		return nil, err
	}
	old := s.leaf(c)
	if old == nil {
		return s.root, nil
	}
	denied := c.Op == policy.OpUndeny
	held, option := texts(old["columns"]), texts(old["option"])
	if len(c.Columns) == 0 {
		held, option = nilUnless(c.Option, held), nil
	} else {
		if slices.Contains(held, all) && (!c.Option || slices.Contains(option, all)) {
			return nil, &policy.RightsError{Message: fmt.Sprintf("%s on %q is held or denied as a whole: take it back as a whole, or DENY the columns", c.Privilege, c.Object.String())}
		}
		if otherTable(old, c) {
			return s.root, nil // what is held is not on this table
		}
		gone := func(x string) bool { return slices.Contains(c.Columns, x) || slices.Contains(keys(c), x) }
		option = slices.DeleteFunc(option, gone)
		if !c.Option {
			held = slices.DeleteFunc(held, gone)
		}
	}
	if len(held) == 0 {
		return put(e, s.root, c.Object, denied, c.Principal, c.Privilege, nil), nil
	}
	n := leaf(by, nil)
	n["columns"] = list(held)
	if len(option) > 0 {
		n["option"] = list(option)
	}
	if e, ok := old["except"]; ok {
		n["except"] = e
	}
	if uuid, ok := old["uuid"]; ok {
		n["uuid"] = uuid
	}
	keepColumns(n, "names", child(old, "names"), held)
	keepColumns(n, "via", child(old, "via"), held)
	if e, ok := old["option_except"]; ok && len(option) > 0 {
		n["option_except"] = e
	}
	if same(old, n) {
		return s.root, nil
	}
	return put(e, s.root, c.Object, denied, c.Principal, c.Privilege, n), nil
}

// either returns the exceptions of two grants together: a table is covered if one of them covers it.
func either(except []string, old node, key string) []any {
	if e, ok := old[key]; ok {
		before := texts(e)
		except = slices.DeleteFunc(slices.Clone(except), func(t string) bool { return !slices.Contains(before, t) })
	}
	return list(except)
}

func nilUnless(b bool, ss []string) []string {
	if b {
		return ss
	}
	return nil
}

// columns is list, where "*" swallows all others.
func columns(ss []string) []any {
	if slices.Contains(ss, all) {
		return []any{all}
	}
	return list(ss)
}

func leaf(by stamp, n node) node {
	if n == nil {
		n = node{}
	}
	n["by"], n["at"] = by.by, by.at.UTC().Format(time.RFC3339Nano)
	return n
}

func same(a, b node) bool {
	for _, k := range []string{"columns", "option", "except", "option_except"} {
		if !slices.Equal(texts(a[k]), texts(b[k])) {
			return false
		}
	}
	return a != nil && a["uuid"] == b["uuid"] && reflect.DeepEqual(a["via"], b["via"]) && reflect.DeepEqual(a["names"], b["names"])
}

// leaf returns what c's principal holds of c's privilege now.
func (s *State) leaf(c policy.Change) node {
	return child(s.root, append(place(c.Object), holding(c.Op == policy.OpDeny || c.Op == policy.OpUndeny), string(c.Principal), c.Privilege)...)
}

func holding(denied bool) string {
	if denied {
		return "deny"
	}
	return "allow"
}

// put sets or removes (nil) one right and keeps the index of who has anything where: data.gateway.grants.reach for
// grants, data.gateway.grants.denials for denials.
func put(e *edit, root node, o policy.Object, denied bool, p policy.Principal, priv string, n node) node {
	path := append(place(o), holding(denied), string(p), priv)
	had := child(root, path...) != nil
	if n == nil {
		root = e.set(root, 0, nil, path...)
	} else {
		root = e.set(root, 0, n, path...)
	}
	step := 0
	switch {
	case n != nil && !had:
		step = 1
	case n == nil && had:
		step = -1
	}
	if step == 0 {
		return root
	}
	if denied {
		return count(e, root, step, "denials", string(p), o.Catalog, orAll(o.Schema))
	}
	return count(e, root, step, "reach", string(p), o.Catalog, orAll(o.Schema))
}

func orAll(schema string) string {
	if schema == "" {
		return all
	}
	return schema
}

func count(e *edit, root node, step int, path ...string) node {
	v, _ := get(root, path...)
	n, _ := v.(int)
	if n += step; n <= 0 {
		return e.set(root, 0, nil, path...)
	}
	return e.set(root, 0, n, path...)
}

// show describes what a change is about, for the history: two equal texts are no change.
func (s *State) show(c policy.Change) string {
	switch c.Op {
	case policy.OpCreateRole, policy.OpDropRole:
		if s.hasRole(c.Role) {
			return "exists"
		}
		return ""
	case policy.OpAddMember, policy.OpRemoveMember:
		roles, admin := s.RolesOf(c.Principal)
		switch {
		case slices.Contains(admin, c.Role):
			return "member with admin option"
		case slices.Contains(roles, c.Role):
			return "member"
		}
		return ""
	}
	if c.Rule != nil || c.Tag != nil {
		return s.showRuled(c)
	}
	l := s.leaf(c)
	if l == nil {
		return ""
	}
	names, fields := written(l, texts(l["columns"]))
	out := fmt.Sprint(holding(c.Op == policy.OpDeny || c.Op == policy.OpUndeny), " (", strings.Join(names, ", "), ")")
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		out += fmt.Sprintf(" %s=%s", name, key(name, fields))
	}
	if uuid, ok := l["uuid"].(string); ok {
		out += " of table " + uuid
	}
	for _, k := range slices.Sorted(maps.Keys(child(l, "via"))) {
		out += fmt.Sprintf(" %s via %s", k, strings.Join(texts(child(l, "via")[k]), ", "))
	}
	if o := texts(l["option"]); len(o) > 0 {
		out += " with grant option (" + strings.Join(o, ", ") + ")"
	}
	for _, key := range []string{"except", "option_except"} {
		if e := texts(l[key]); len(e) > 0 {
			out += " " + key + " (" + strings.Join(e, ", ") + ")"
		}
	}
	return out
}
