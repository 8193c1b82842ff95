package grants

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"gatehouse/classify"
	"gatehouse/policy"
)

// all stands for every column in lists of columns.
const all = "*"

// State is every right at one version: the document data.gateway.grants, which policies/lib/grants.rego describes.
type State struct {
	version uint64
	root    node

	homesOnce sync.Once
	homes     map[string]map[classify.Name]bool // see Elsewhere
}

var _ policy.Rights = (*State)(nil)

// empty is the state before the first change. The administrators' role always exists and is never anybody else's.
func empty(admin string) *State {
	root := node{"members": node{}, "options": node{}, "roles": node{}, "version": 0}
	if admin != "" {
		root["admin"] = "role:" + admin
		root["members"] = node{"role:" + admin: []any{}}
		root["roles"] = node{admin: node{"by": "", "at": ""}}
	}
	return &State{root: root}
}

// Version implements policy.Rights.
func (s *State) Version() uint64 { return s.version }

// Read implements policy.Rights.
func (s *State) Read(path []string) (any, bool) { return get(s.root, path...) }

// Roles implements policy.Rights.
func (s *State) Roles() []string { return slices.Sorted(maps.Keys(child(s.root, "roles"))) }

// RolesOf implements policy.Rights.
func (s *State) RolesOf(p policy.Principal) (roles, admin []string) {
	m, _ := get(s.root, "members", string(p))
	o, _ := get(s.root, "options", string(p))
	for _, r := range texts(m) {
		roles = append(roles, strings.TrimPrefix(r, "role:"))
	}
	for _, r := range texts(o) {
		admin = append(admin, strings.TrimPrefix(r, "role:"))
	}
	return roles, admin
}

// List implements policy.Rights.
func (s *State) List(o *policy.Object, p policy.Principal) []policy.Right {
	var out []policy.Right
	s.each(o, func(at policy.Object, n node) {
		for _, list := range []string{"allow", "deny"} {
			holders := child(n, list)
			if p != "" {
				out = append(out, rights(at, p, child(holders, string(p)), list == "deny")...)
				continue
			}
			for name := range holders {
				out = append(out, rights(at, policy.Principal(name), child(holders, name), list == "deny")...)
			}
		}
	})
	slices.SortFunc(out, func(a, b policy.Right) int {
		return strings.Compare(rightKey(a), rightKey(b))
	})
	return out
}

func rightKey(r policy.Right) string {
	return fmt.Sprint(objectKey(r.Object), "\x00", r.Principal, "\x00", r.Denied, "\x00", r.Privilege)
}

// objectKey sorts objects as they are written; those that are written alike, since names may hold dots, keep apart.
func objectKey(o policy.Object) string {
	return strings.Join([]string{o.String(), string(o.Level), o.Catalog, o.Schema}, "\x00")
}

// each visits the node of o, or of every object.
func (s *State) each(o *policy.Object, visit func(policy.Object, node)) {
	if o != nil {
		if n := child(s.root, place(*o)...); n != nil {
			visit(*o, n)
		}
		return
	}
	for c, n := range child(s.root, "catalogs") {
		visit(policy.Object{Level: classify.LevelCatalog, Catalog: c}, n.(node))
	}
	for kind, level := range map[string]classify.Level{"schemas": classify.LevelSchema, "futures": classify.LevelFutureTables} {
		for c, schemas := range child(s.root, kind) {
			for sc, n := range schemas.(node) {
				visit(policy.Object{Level: level, Catalog: c, Schema: sc}, n.(node))
			}
		}
	}
	for c, schemas := range child(s.root, "tables") {
		for sc, tables := range schemas.(node) {
			for t, n := range tables.(node) {
				visit(policy.Object{Level: classify.LevelTable, Catalog: c, Schema: sc, Table: t}, n.(node))
			}
		}
	}
}

// place is where an object's node lies.
func place(o policy.Object) []string {
	switch o.Level {
	case classify.LevelCatalog:
		return []string{"catalogs", o.Catalog}
	case classify.LevelSchema:
		return []string{"schemas", o.Catalog, o.Schema}
	case classify.LevelFutureTables:
		return []string{"futures", o.Catalog, o.Schema}
	default:
		return []string{"tables", o.Catalog, o.Schema, o.Table}
	}
}

func rights(o policy.Object, p policy.Principal, held node, denied bool) []policy.Right {
	var out []policy.Right
	for priv, v := range held {
		leaf := v.(node)
		r := policy.Right{Principal: p, Privilege: priv, Object: o, Denied: denied, Except: texts(leaf["except"])}
		cols, option := texts(leaf["columns"]), texts(leaf["option"])
		every := slices.Concat(cols, slices.DeleteFunc(slices.Clone(option), func(k string) bool { return slices.Contains(cols, k) }))
		names, fields := written(leaf, every)
		if r.Fields = fields; !slices.Contains(cols, all) {
			r.Columns = names[:len(cols):len(cols)]
		}
		for i, k := range every {
			if slices.Contains(option, k) {
				r.Option = append(r.Option, names[i])
			}
		}
		r.Via = viaOf(leaf, cols)
		r.UUID, _ = leaf["uuid"].(string)
		r.By, _ = leaf["by"].(string)
		at, _ := leaf["at"].(string)
		r.At, _ = time.Parse(time.RFC3339Nano, at)
		out = append(out, r)
	}
	return out
}

// texts returns a list of the document as strings.
func texts(v any) []string {
	list, _ := v.([]any)
	out := make([]string, len(list))
	for i, x := range list {
		out[i], _ = x.(string)
	}
	return out
}

// list is texts backwards: sorted, each once.
func list(ss []string) []any {
	ss = slices.Clone(ss)
	slices.Sort(ss)
	ss = slices.Compact(ss)
	out := make([]any, len(ss))
	for i, s := range ss {
		out[i] = s
	}
	return out
}
