package grants

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"gatehouse/classify"
	"gatehouse/policy"
)

// keys are the columns of a change as the document writes them.
func keys(c policy.Change) []string {
	if len(c.Columns) == 0 {
		return []string{all}
	}
	out := make([]string, len(c.Columns))
	for i, name := range c.Columns {
		out[i] = key(name, c.Fields)
	}
	return out
}

// otherTable reports whether a leaf was made for a table that has been replaced by the one that c is about.
func otherTable(l node, c policy.Change) bool {
	uuid, _ := l["uuid"].(string)
	return uuid != "" && c.UUID != "" && uuid != c.UUID
}

// bound notes in n what table and which columns are meant, and with whose grant option they were granted.
func bound(n, old node, c policy.Change) {
	cols, had := texts(n["columns"]), texts(old["columns"])
	if c.UUID != "" {
		n["uuid"] = c.UUID
	}
	names := maps.Clone(child(old, "names"))
	if names == nil {
		names = node{}
	}
	for _, name := range c.Columns {
		if k := key(name, c.Fields); k != name {
			names[k] = name
		}
	}
	keepColumns(n, "names", names, cols)
	via := maps.Clone(child(old, "via"))
	if via == nil {
		via = node{}
	}
	for _, k := range keys(c) {
		switch before, dependent := via[k]; {
		case len(c.Via) == 0:
			delete(via, k) // now it also stands by itself
		case !slices.Contains(had, k) && !slices.Contains(had, all):
			via[k] = principals(c.Via)
		case dependent:
			via[k] = list(append(texts(before), texts(principals(c.Via))...))
		}
	}
	keepColumns(n, "via", via, cols)
}

// keepColumns sets the part of what is said of columns that is about cols.
func keepColumns(n node, what string, said node, cols []string) {
	kept := node{}
	for k, v := range said {
		if slices.Contains(cols, k) {
			kept[k] = v
		}
	}
	if len(kept) > 0 {
		n[what] = kept
	}
}

// written returns the names of columns, as they were when they were granted, and their field ids. Two columns of one name, of
// which one was renamed or dropped, keep apart, and so does one that is meant by its name.
func written(l node, cols []string) (names []string, fields map[string]int) {
	for _, k := range cols {
		name, _ := child(l, "names")[k].(string)
		id := fieldOf(k)
		if name == "" || slices.Contains(names, name) || slices.Contains(texts(l["columns"]), name) {
			name = k
		}
		names = append(names, name)
		if id > 0 {
			if fields == nil {
				fields = map[string]int{}
			}
			fields[name] = id
		}
	}
	return names, fields
}

// viaOf is the list of each column whose grant came from a grant option, by the names of written.
func viaOf(l node, cols []string) map[string][]policy.Principal {
	var out map[string][]policy.Principal
	names, _ := written(l, cols)
	for i, k := range cols {
		if v, ok := child(l, "via")[k]; ok {
			if out == nil {
				out = map[string][]policy.Principal{}
			}
			out[names[i]] = readPrincipals(v)
		}
	}
	return out
}

// Passing implements policy.Rights.
func (s *State) Passing(ps []policy.Principal, c policy.Change) []policy.Principal {
	var out []policy.Principal
	for _, p := range ps {
		if slices.ContainsFunc(keys(c), func(k string) bool { return s.passes(p, c.Object, c.Privilege, k) }) {
			out = append(out, p)
		}
	}
	return out
}

// passes reports whether p itself holds what lets it grant a privilege on, as lib/grants.rego has it.
func (s *State) passes(p policy.Principal, o policy.Object, privilege, col string) bool {
	held := func(path ...string) node { return child(s.root, append(path, "allow", string(p))...) }
	option := func(n node) bool {
		for _, priv := range []string{privilege, "OWNERSHIP"} {
			l := child(n, priv)
			cols := texts(l["option"])
			if (slices.Contains(cols, all) || slices.Contains(cols, col)) && !slices.Contains(texts(l["option_except"]), o.Table) {
				return true
			}
		}
		return false
	}
	catalog := held("catalogs", o.Catalog)
	if option(catalog) || catalog["OWNERSHIP"] != nil {
		return true
	}
	if o.Level == classify.LevelCatalog {
		return false
	}
	schema := held("schemas", o.Catalog, o.Schema)
	if option(schema) || schema["OWNERSHIP"] != nil {
		return true
	}
	if o.Level == classify.LevelSchema {
		return false
	}
	if option(held("futures", o.Catalog, o.Schema)) {
		return true
	}
	table := held("tables", o.Catalog, o.Schema, o.Table)
	return o.Level == classify.LevelTable && (option(table) || table["OWNERSHIP"] != nil)
}

// abandoned are the grants that were made with a grant option that nobody of those who made them has any more.
func (s *State) abandoned() []policy.Change {
	var out []policy.Change
	s.each(nil, func(o policy.Object, n node) {
		for p, privileges := range child(n, "allow") {
			for privilege, l := range privileges.(node) {
				leaf := l.(node)
				var gone []string
				for _, k := range slices.Sorted(maps.Keys(child(leaf, "via"))) {
					still := func(q policy.Principal) bool { return s.passes(q, o, privilege, k) }
					if !slices.ContainsFunc(readPrincipals(leaf["via"].(node)[k]), still) {
						gone = append(gone, k)
					}
				}
				if len(gone) == 0 {
					continue
				}
				c := policy.Change{Op: policy.OpRevoke, Object: o, Principal: policy.Principal(p), Privilege: privilege}
				if gone[0] != all {
					c.Columns, c.Fields = written(leaf, gone)
				}
				c.UUID, _ = leaf["uuid"].(string)
				out = append(out, c)
			}
		}
	})
	slices.SortFunc(out, func(a, b policy.Change) int {
		return cmp.Or(strings.Compare(objectKey(a.Object), objectKey(b.Object)), cmp.Compare(a.Principal, b.Principal), strings.Compare(a.Privilege, b.Privilege))
	})
	return out
}
