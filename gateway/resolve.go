package gateway

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatehouse/audit"
	"gatehouse/catalog"
	"gatehouse/classify"
	"gatehouse/executors"
	"gatehouse/plan"
	"gatehouse/policy"
)

// table is one table reference of a statement, loaded and cut to what the caller may see.
type table struct {
	ref      classify.TableRef
	name     classify.Name     // canonical spelling
	current  *catalog.Table    // as it is now
	loaded   *catalog.Table    // the version that the reference asks for
	all      []classify.Column // all columns, for policy expressions
	known    []string          // what the policy calls them, nil: the same
	visible  []classify.Column // those that the caller may know of
	written  string            // the name as the user wrote it
	position int
}

// resolve finds the tables of stmt. A table that does not exist and one that the caller may not see give the same error
// after the same work: the policy is asked by name before any look-up, and its "no" and the catalog's "no" both go
// through one look at the namespace's listing.
func (r *run) resolve(stmt *classify.Statement) ([]*table, error) {
	ns := r.session.Namespace()
	out := make([]*table, 0, len(stmt.Tables()))
	mentions := stmt.Mentions()
	known := map[classify.Name]*table{}
	for _, ref := range stmt.Tables() {
		t := &table{ref: ref, name: ref.Resolve(ns), written: strings.Join(ref.Parts, "."), position: ref.Pos}
		computed, err := r.findInformation(t)
		if err != nil {
			return nil, err
		}
		if computed {
			r.event.Objects = append(r.event.Objects, audit.Object{Name: t.name.String()})
			out = append(out, t)
			continue
		}
		key := t.name
		if k, ok := known[key]; ok {
			t.name, t.current = k.name, k.current
		} else {
			r.event.Objects = append(r.event.Objects, audit.Object{Name: t.name.String()}) // also of a refused statement
			if err := r.find(t); err != nil {
				return nil, err
			}
			known[key] = t
		}
		if err := r.shape(t, mentions); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// find loads t under its canonical name if the caller may see it.
func (r *run) find(t *table) error {
	cat, canonical := r.g.catalog(t.name.Catalog)
	t.name.Catalog = canonical
	enters, err := r.entersCatalog(canonical)
	if err != nil {
		return err
	}
	if !enters {
		cat = nil // it is not asked either: what it says of this caller would show that it is there
	}
	ok, err := r.seesTable(t.name)
	if err != nil {
		return err
	}
	if ok && cat != nil {
		loaded, err := cat.Table(r.ctx, r.session.identity, t.name.Schema, t.name.Table)
		if err == nil {
			return r.accept(t, loaded)
		}
		if !errors.Is(err, catalog.ErrNoSuchTable) {
			return r.faulty(cat, t, err)
		}
	}
	// Denied and absent meet here: look for another spelling of the same name.
	name, found, err := r.respell(cat, t.name)
	if err != nil {
		return err
	}
	if found {
		if ok, err = r.seesTable(name); err != nil {
			return err
		}
		if ok {
			loaded, err := cat.Table(r.ctx, r.session.identity, name.Schema, name.Table)
			if err == nil {
				return r.accept(t, loaded)
			}
			if !errors.Is(err, catalog.ErrNoSuchTable) {
				return unreadable([]*table{t}, err)
			}
		}
	}
	return t.missing()
}

// faulty says what is wrong with a table that its catalog found and could not load. The catalog may have found it under another
// spelling of the name, which the policy has not been asked about yet.
func (r *run) faulty(cat catalog.Catalog, t *table, fault error) error {
	name, found, err := r.respell(cat, t.name)
	if err != nil {
		return err
	}
	if found {
		ok, err := r.seesTable(name)
		if err != nil {
			return err
		}
		if !ok {
			return t.missing()
		}
	}
	return unreadable([]*table{t}, fault)
}

// accept takes loaded as t if it, too, under its canonical name and as the table that it is now, is one that the caller may see.
func (r *run) accept(t *table, loaded *catalog.Table) error {
	name := classify.Name{Catalog: t.name.Catalog, Schema: loaded.Schema, Table: loaded.Name}
	if name != t.name || r.g.cfg.Grants != nil {
		ok, err := r.seesLoaded(name, loaded)
		if err != nil {
			return err
		}
		if !ok {
			return t.missing()
		}
	}
	t.name, t.current = name, loaded
	return nil
}

// respell looks for the one table whose name differs from n in case only.
func (r *run) respell(cat catalog.Catalog, n classify.Name) (classify.Name, bool, error) {
	if cat == nil {
		return n, false, nil
	}
	schemas, err := cat.List(r.ctx, r.session.identity, "")
	if err != nil {
		return n, false, err
	}
	schema, ok := fold(n.Schema, schemas, func(e catalog.Entry) string { return e.Schema })
	if !ok {
		schema = n.Schema
	}
	tables, err := cat.List(r.ctx, r.session.identity, schema)
	if err != nil {
		return n, false, err
	}
	name, ok := fold(n.Table, tables, func(e catalog.Entry) string { return e.Name })
	found := classify.Name{Catalog: n.Catalog, Schema: schema, Table: name}
	return found, ok && found != n, nil
}

// fold returns the entry whose name is want, or else the only one that differs from it in case only.
func fold[T any](want string, entries []T, name func(T) string) (string, bool) {
	var hit string
	hits := 0
	for _, e := range entries {
		switch {
		case name(e) == want:
			return want, true
		case strings.EqualFold(name(e), want):
			hit = name(e)
			hits++
		}
	}
	return hit, hits == 1
}

// seesTable asks whether the caller may know that the table exists.
func (r *run) seesTable(n classify.Name) (bool, error) {
	enters, err := r.entersCatalog(n.Catalog)
	if err != nil {
		return false, err
	}
	sees, err := r.judge.Allow(r.ctx, policy.SelectColumns, []policy.Resource{{Catalog: n.Catalog, Schema: n.Schema, Table: n.Table}})
	if err != nil {
		return false, err
	}
	return enters && len(sees) == 1 && sees[0], nil
}

// seesLoaded is seesTable for a table of which it is known which one it is: rights can be about another one of that name.
func (r *run) seesLoaded(n classify.Name, loaded *catalog.Table) (bool, error) {
	detail := &policy.Table{Name: n, UUID: loaded.UUID, Columns: columns(loaded)}
	sees, err := r.judge.Allow(r.ctx, policy.SelectColumns, []policy.Resource{{Catalog: n.Catalog, Schema: n.Schema, Table: n.Table, Detail: detail}})
	if err != nil || len(sees) != 1 || !sees[0] {
		return false, err
	}
	return r.entersCatalog(n.Catalog)
}

// entersCatalog asks whether the caller may use a catalog, once in a run: a judge's answers do not change.
func (r *run) entersCatalog(name string) (bool, error) {
	if enters, asked := r.entered[name]; asked {
		return enters, nil
	}
	ok, err := r.judge.Allow(r.ctx, policy.AccessCatalog, []policy.Resource{{Catalog: name}})
	if err != nil {
		return false, err
	}
	if r.entered == nil {
		r.entered = map[string]bool{}
	}
	r.entered[name] = len(ok) == 1 && ok[0]
	return r.entered[name], nil
}

// shape pins the version that the reference asks for and drops the columns that the caller may not know of. The policy is not asked
// about columns of the current version that the statement cannot mean; they are dropped, too.
func (r *run) shape(t *table, mentions func(string) bool) error {
	version, err := t.current.At(catalog.Version(t.ref.Travel))
	if errors.Is(err, catalog.ErrNoSuchVersion) {
		return &classify.NameError{Kind: "version of table", Name: t.written, Why: "does not exist", Pos: t.position}
	}
	if err != nil {
		return unreadable([]*table{t}, err)
	}
	now := columns(t.current)
	lineage := false
	// Only a statement that names such a column and has no * can mean it: * never does.
	if !mentions("*") && (mentions(catalog.RowIDName) || mentions(catalog.LastUpdatedName)) {
		version, lineage = version.WithLineage()
	}
	t.loaded = version
	t.all = columns(version)
	if lineage || t.ref.Travel != (classify.Travel{}) {
		return r.shapePast(t, now)
	}
	meant := make([]classify.Column, 0, len(t.all))
	for _, c := range t.all {
		if mentions(c.Name) {
			meant = append(meant, c)
		}
	}
	t.visible, err = r.seesColumns(t.name, t.current.UUID, meant)
	return err
}

// shapePast cuts an older version of a table to what the caller may see. Policies know columns by the names that they have
// now, so each old column is asked for under the name that its field id has today. A column that was dropped since, or of which a
// part was, is unknown to any policy: only who sees all of the table as it is now and as it was then, unfiltered and unmasked, sees it
// in the past.
func (r *run) shapePast(t *table, now []classify.Column) error {
	dropped := false
	t.known = make([]string, len(t.all))
	for i, c := range t.all {
		if at := indexOf(now, c.FieldID); at >= 0 && !t.current.Columns[at].Lost(t.loaded.Columns[i]) {
			t.known[i] = now[at].Name
		} else {
			dropped = true
		}
	}
	seen, err := r.seesColumns(t.name, t.current.UUID, now)
	if err != nil {
		return err
	}
	everything := false
	if dropped {
		if everything, err = r.seesEverything(t, now, seen); err != nil {
			return err
		}
	}
	for i, c := range t.all {
		if t.known[i] != "" && indexOf(seen, c.FieldID) >= 0 || t.known[i] == "" && everything {
			t.visible = append(t.visible, c)
		}
	}
	return nil
}

// seesEverything reports whether the policy hides nothing of the table from the caller, neither as it is now nor as it was then: rights
// outlive a column that they are about.
func (r *run) seesEverything(t *table, now, seen []classify.Column) (bool, error) {
	if len(seen) != len(now) || len(t.loaded.Restrictions) > 0 {
		return false, nil
	}
	then := slices.DeleteFunc(slices.Clone(t.all), func(c classify.Column) bool {
		return c.FieldID == catalog.RowIDField || c.FieldID == catalog.LastUpdatedField
	})
	seen, err := r.seesColumns(t.name, t.current.UUID, then)
	if err != nil || len(seen) != len(then) {
		return false, err
	}
	for _, all := range [][]classify.Column{now, then} {
		names := make([]string, len(all))
		for i, c := range all {
			names[i] = c.Name
		}
		d, err := r.judge.Table(r.ctx, policy.Table{Name: t.name, UUID: t.loaded.UUID, Columns: all}, names)
		if err != nil || len(d.Filters) > 0 || len(d.Masks) > 0 {
			return false, err
		}
	}
	return true, nil
}

// seesColumns returns the columns that the caller may know of.
func (r *run) seesColumns(n classify.Name, uuid string, all []classify.Column) ([]classify.Column, error) {
	rs := make([]policy.Resource, len(all))
	for i, c := range all {
		detail := &policy.Table{Name: n, UUID: uuid, Columns: all[i : i+1]}
		rs[i] = policy.Resource{Catalog: n.Catalog, Schema: n.Schema, Table: n.Table, Columns: []string{c.Name}, Detail: detail}
	}
	ok, err := r.judge.Allow(r.ctx, policy.FilterColumns, rs)
	if err != nil {
		return nil, err
	}
	visible := make([]classify.Column, 0, len(all))
	for i, c := range all {
		if i < len(ok) && ok[i] {
			visible = append(visible, c)
		}
	}
	return visible, nil
}

// govern asks for the rights and obligations of every table and merges them into the statement.
func (r *run) govern(b *classify.Bound, tables []*table) (*policy.Governed, error) {
	decisions := make([]policy.Decision, len(tables))
	described := make([]policy.Table, len(tables))
	for i, t := range tables {
		if t.loaded.Computed {
			described[i], decisions[i] = policy.Table{Name: t.name, Columns: t.all}, policy.Decision{ID: r.id}
			continue
		}
		described[i] = policy.Table{Name: t.name, UUID: t.loaded.UUID, Columns: t.all, Known: t.known, Version: travelName(t.ref.Travel)}
		var used []string
		for _, u := range b.Uses(i) {
			at := indexOf(t.all, t.visible[u.Column].FieldID)
			described[i].Uses = append(described[i].Uses, classify.ColumnUse{Column: at, Roles: u.Roles})
			if name := described[i].KnownName(at); name != "" {
				used = append(used, name)
			}
		}
		asked := described[i].AsKnown()
		ok, err := r.judge.Allow(r.ctx, policy.SelectColumns, []policy.Resource{{
			Catalog: t.name.Catalog, Schema: t.name.Schema, Table: t.name.Table, Columns: used, Detail: &asked,
		}})
		if err != nil {
			return nil, err
		}
		if len(ok) != 1 || !ok[0] {
			return nil, r.denied("columns of table \"" + t.written + "\" together")
		}
		if decisions[i], err = r.judge.Table(r.ctx, asked, used); err != nil {
			return nil, err
		}
		if err := r.restrict(&decisions[i], described[i], t); err != nil {
			return nil, err
		}
		decisions[i].Steady = r.g.cfg.Steady
	}
	r.decisions = decisions
	return policy.Apply(b, r.judge.Revision(), described, decisions)
}

// note copies what the audit event has to say about p.
func (r *run) note(p *plan.Plan) {
	r.event.Objects = nil
	for _, rel := range p.Relations() {
		o := audit.Object{
			Name: rel.Name.String(), Snapshot: rel.Scan.Snapshot, Filters: rel.Filters, Masks: rel.Masks,
			Decision: rel.Decision, Rules: placesOf(r.decisions[rel.Table], rel),
		}
		for _, c := range rel.Columns {
			if c.Name != policy.RowMarker {
				o.Columns = append(o.Columns, c.Name)
			}
		}
		r.event.Objects = append(r.event.Objects, o)
		r.event.Tasks = append(r.event.Tasks, rel.Task.ID)
		r.event.Decision = rel.Decision
	}
}

func (t *table) missing() error {
	return &classify.NameError{Kind: "table", Name: t.written, Why: "does not exist", Pos: t.position}
}

// catalog returns the catalog of that name and its canonical spelling; nil if there is none.
func (g *Gateway) catalog(name string) (catalog.Catalog, string) {
	if c, ok := g.cfg.Catalogs[name]; ok {
		return c, name
	}
	for n, c := range g.cfg.Catalogs {
		if strings.EqualFold(n, name) {
			return c, n
		}
	}
	return nil, name
}

// unreadable gives a fault of a visible table's data our own words.
func unreadable(ts []*table, err error) error {
	var p *plan.UnreadableError
	planned := errors.As(err, &p)
	if e := executors.StoreError(err); e != nil && e.Kind != executors.KindData { // what is missing is said of the table below
		if planned {
			e.Cause = p.Cause
		}
		return e
	}
	if planned {
		return &UnreadableError{Table: p.Table, Why: p.Why, cause: p.Cause}
	}
	if errors.Is(err, catalog.ErrUnreadable) && len(ts) == 1 {
		u := plan.Unread(err, "its metadata is missing, or uses something that is not supported here")
		return &UnreadableError{Table: ts[0].written, Why: u.Why, cause: err}
	}
	return err
}

func relations(ts []*table) []classify.Relation {
	out := make([]classify.Relation, len(ts))
	for i, t := range ts {
		out[i] = classify.Relation{Name: t.name, Columns: t.visible}
	}
	return out
}

func loaded(ts []*table) []*catalog.Table {
	out := make([]*catalog.Table, len(ts))
	for i, t := range ts {
		out[i] = t.loaded
	}
	return out
}

func columns(t *catalog.Table) []classify.Column {
	out := make([]classify.Column, len(t.Columns))
	for i, c := range t.Columns {
		out[i] = classify.Column{Name: c.Name, FieldID: c.FieldID, Type: c.SQLType}
	}
	return out
}

func indexOf(cs []classify.Column, id int) int {
	for i, c := range cs {
		if c.FieldID == id {
			return i
		}
	}
	return -1
}

// travelName names a version for the policy.
func travelName(t classify.Travel) string {
	switch {
	case t.Ref != "":
		return t.Ref
	case t.Snapshot != 0:
		return strconv.FormatInt(t.Snapshot, 10)
	case t.Micros != nil:
		return "@" + time.UnixMicro(*t.Micros).UTC().Format(time.RFC3339Nano)
	}
	return ""
}
