package gateway

import (
	"errors"
	"slices"
	"strings"

	"gatehouse/auth"
	"gatehouse/catalog"
	"gatehouse/classify"
	"gatehouse/policy"
)

// target is one object of a statement about rights, under its canonical name.
type target struct {
	object  policy.Object
	written string
	except  []string                          // future tables: those that exist
	load    func() ([]classify.Column, error) // the columns that the caller may know of
	table   func() (*catalog.Table, error)    // of a table, what its catalog has
}

// columns resolves a list of columns as queries do.
func (t target) columns(written []string) ([]string, error) {
	if len(written) == 0 {
		return nil, nil
	}
	known, err := t.load()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, w := range written {
		name, ok := fold(w, known, func(c classify.Column) string { return c.Name })
		if !ok {
			return nil, &classify.NameError{Kind: "column", Name: w, Why: "does not exist", Pos: -1}
		}
		out = append(out, name)
	}
	return out, nil
}

// detail describes a table to the policy; nil above tables.
func (t target) detail() (*policy.Table, error) {
	if t.table == nil {
		return nil, nil
	}
	now, err := t.table()
	if err != nil {
		return nil, err
	}
	name := classify.Name{Catalog: t.object.Catalog, Schema: t.object.Schema, Table: t.object.Table}
	return &policy.Table{Name: name, UUID: now.UUID, Columns: columns(now)}, nil
}

// administers reports whether the caller may change every right, and so may name what he cannot read.
func (r *run) administers() (bool, error) {
	ok, err := r.judge.Allow(r.ctx, policy.Administer, []policy.Resource{{Grant: &policy.GrantRequest{}}})
	return len(ok) == 1 && ok[0], err
}

// targets resolves the objects of a statement. What the caller may not see does not exist.
func (r *run) targets(a *classify.Access) ([]target, error) {
	admin, err := r.administers()
	if err != nil {
		return nil, err
	}
	var out []target
	for i, parts := range a.Objects {
		n := naming{r, admin, parts, a.Positions[i]}
		var found []target
		switch a.Level {
		case classify.LevelCatalog:
			found, err = n.catalog()
		case classify.LevelTable:
			found, err = n.table()
		default:
			found, err = n.schema(a.Level)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// naming resolves one name.
type naming struct {
	r     *run
	admin bool
	parts []string
	pos   int
}

func (n naming) written() string { return strings.Join(n.parts, ".") }

func (n naming) missing(kind string) error {
	return &classify.NameError{Kind: kind, Name: n.written(), Why: "does not exist", Pos: n.pos}
}

func (n naming) catalog() ([]target, error) {
	cat, name := n.r.g.catalog(n.parts[0])
	if !n.admin {
		seen, err := n.r.catalogs()
		if err != nil {
			return nil, err
		}
		if !slices.Contains(seen, name) {
			return nil, n.missing("catalog")
		}
	}
	if cat == nil {
		return nil, n.missing("catalog")
	}
	return []target{{object: policy.Object{Level: classify.LevelCatalog, Catalog: name}, written: n.written()}}, nil
}

// schema finds a namespace, and for ALL and FUTURE TABLES lists what is in it.
func (n naming) schema(level classify.Level) ([]target, error) {
	ns, schema := n.r.session.Namespace(), n.parts[0]
	if len(n.parts) > 1 {
		ns.Catalog, schema = n.parts[0], strings.Join(n.parts[1:], ".")
	}
	cat, name := n.r.g.catalog(ns.Catalog)
	var seen []Schema
	var err error
	if n.admin && cat != nil {
		var entries []catalog.Entry
		entries, err = cat.List(n.r.ctx, n.r.session.identity, "")
		for _, e := range entries {
			seen = append(seen, Schema{name, e.Schema})
		}
	} else {
		seen, err = n.r.schemas(&name, nil)
	}
	if err != nil {
		return nil, err
	}
	schema, ok := fold(schema, seen, func(s Schema) string { return s.Schema })
	if !ok || cat == nil {
		return nil, n.missing("schema")
	}
	o := policy.Object{Level: level, Catalog: name, Schema: schema}
	if level == classify.LevelSchema {
		return []target{{object: o, written: n.written()}}, nil
	}
	entries, err := cat.List(n.r.ctx, n.r.session.identity, schema)
	if err != nil {
		return nil, err
	}
	if level == classify.LevelFutureTables {
		t := target{object: o, written: n.written(), except: []string{}}
		for _, e := range entries {
			t.except = append(t.except, e.Name)
		}
		return []target{t}, nil
	}
	return n.every(cat, o, entries)
}

// every makes targets of the tables that the caller sees.
func (n naming) every(cat catalog.Catalog, o policy.Object, entries []catalog.Entry) ([]target, error) {
	var out []target
	for _, e := range entries {
		name := classify.Name{Catalog: o.Catalog, Schema: o.Schema, Table: e.Name}
		ok, err := n.r.seesTable(name)
		if err != nil {
			return nil, err
		}
		if ok || n.admin {
			out = append(out, n.found(cat, name))
		}
	}
	return out, nil
}

// table finds a table or view. One that is absent and one that the caller may not see give the same error, after the same
// look at the listings.
func (n naming) table() ([]target, error) {
	ref := classify.TableRef{Parts: n.parts}
	name := ref.Resolve(n.r.session.Namespace())
	cat, canonical := n.r.g.catalog(name.Catalog)
	name.Catalog = canonical
	seen, err := n.r.seesTable(name)
	if err != nil {
		return nil, err
	}
	found, ok := name, false
	if cat != nil {
		if found, ok, err = n.listed(cat, name); err != nil {
			return nil, err
		}
	}
	if found != name {
		if seen, err = n.r.seesTable(found); err != nil {
			return nil, err
		}
	}
	if !ok || !seen && !n.admin {
		return nil, n.missing("table")
	}
	return []target{n.found(cat, found)}, nil
}

// listed looks a table up in the listings of its catalog.
func (n naming) listed(cat catalog.Catalog, name classify.Name) (classify.Name, bool, error) {
	schemas, err := cat.List(n.r.ctx, n.r.session.identity, "")
	if err != nil {
		return name, false, err
	}
	schema, ok := fold(name.Schema, schemas, func(e catalog.Entry) string { return e.Schema })
	if !ok {
		return name, false, nil
	}
	tables, err := cat.List(n.r.ctx, n.r.session.identity, schema)
	if err != nil {
		return name, false, err
	}
	table, ok := fold(name.Table, tables, func(e catalog.Entry) string { return e.Name })
	if !ok {
		return name, false, nil
	}
	return classify.Name{Catalog: name.Catalog, Schema: schema, Table: table}, true, nil
}

func (n naming) found(cat catalog.Catalog, name classify.Name) target {
	var loaded *catalog.Table
	load := func() (*catalog.Table, error) {
		if loaded != nil {
			return loaded, nil
		}
		now, err := cat.Table(n.r.ctx, n.r.session.identity, name.Schema, name.Table)
		if errors.Is(err, catalog.ErrNoSuchTable) { // and yet it is listed
			return nil, &UnreadableError{Table: name.Table, Why: "it is a view, or has just been dropped", cause: err}
		}
		if err != nil {
			return nil, unreadable([]*table{{written: name.Table}}, err)
		}
		loaded = now
		return loaded, nil
	}
	return target{
		object:  policy.Object{Level: classify.LevelTable, Catalog: name.Catalog, Schema: name.Schema, Table: name.Table},
		written: name.Table,
		table:   load,
		load: func() ([]classify.Column, error) {
			loaded, err := load()
			if err != nil {
				return nil, err
			}
			if n.admin {
				return columns(loaded), nil
			}
			return n.r.seesColumns(name, loaded.UUID, columns(loaded))
		},
	}
}

// own returns the principals that id is without any role of a role, as lib/grants.rego has them.
func own(base policy.Rights, id auth.Identity, home string) []policy.Principal {
	out := []policy.Principal{"public", policy.UserPrincipal(id, home)}
	for _, g := range id.Groups {
		out = append(out, policy.Principal("group:"+g))
	}
	roles := base.Roles()
	for _, r := range id.Roles {
		if slices.Contains(roles, r) {
			out = append(out, policy.Principal("role:"+r))
		}
	}
	return out
}

// reachable returns the roles that start leads to, sorted.
func reachable(base policy.Rights, start []policy.Principal) []string {
	seen := map[string]bool{}
	for queue := slices.Clone(start); len(queue) > 0; queue = queue[1:] {
		if name, ok := strings.CutPrefix(string(queue[0]), "role:"); ok {
			if seen[name] {
				continue
			}
			seen[name] = true
		}
		roles, _ := base.RolesOf(queue[0])
		for _, r := range roles {
			queue = append(queue, policy.Principal("role:"+r))
		}
	}
	var out []string
	for name := range seen {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
