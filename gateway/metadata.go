package gateway

import (
	"context"
	"errors"
	"log/slog"
	"sort"
	"strings"

	"gatehouse/catalog"
	"gatehouse/classify"
	"gatehouse/policy"
)

// Schema is one namespace of one catalog.
type Schema struct{ Catalog, Schema string }

// TableFilter selects tables. Nil means all; patterns are SQL LIKE patterns with % and _ and \ as escape.
type TableFilter struct {
	Catalog       *string // exact
	SchemaPattern *string
	TablePattern  *string
	Types         []string // "TABLE" and "BASE TABLE" are the same; empty: all
	Columns       bool     // fill Table.Columns
}

// Table is one table that the caller may see.
type Table struct {
	Catalog, Schema, Name string
	Type                  string // "BASE TABLE" or "VIEW"
	Columns               []Column
}

// Column is one column that the caller may see, with the type that queries return.
type Column struct {
	classify.Column
	Nullable bool
	Masked   bool // a mask of the policy applies for this caller
	Doc      string
}

// Catalogs lists the catalogs that the caller may see, sorted.
func (g *Gateway) Catalogs(ctx context.Context, s *Session) (out []string, err error) {
	err = g.metadata(ctx, s, "catalogs", func(r *run) error {
		out, err = r.catalogs()
		return err
	})
	return out, err
}

// Schemas lists namespaces that the caller may see, sorted. A nil argument means all.
func (g *Gateway) Schemas(ctx context.Context, s *Session, cat, pattern *string) (out []Schema, err error) {
	err = g.metadata(ctx, s, "schemas", func(r *run) error {
		out, err = r.schemas(cat, pattern)
		return err
	})
	return out, err
}

// Tables lists tables that the caller may see, sorted.
func (g *Gateway) Tables(ctx context.Context, s *Session, f TableFilter) (out []Table, err error) {
	err = g.metadata(ctx, s, "tables", func(r *run) error {
		out, err = r.tables(f)
		return err
	})
	return out, err
}

// metadata runs f as one audited metadata call.
func (g *Gateway) metadata(ctx context.Context, s *Session, kind string, f func(*run) error) error {
	r, err := g.begin(ctx, s, "metadata")
	if err != nil {
		return err
	}
	r.event.Kind = kind
	err = r.decide(classify.KindInvalid, "")
	if err == nil {
		err = f(r)
	}
	return r.finish(err)
}

// keep returns the items that op is allowed for.
func keep[T any](r *run, op policy.Operation, items []T, resource func(T) policy.Resource) ([]T, error) {
	rs := make([]policy.Resource, len(items))
	for i, it := range items {
		rs[i] = resource(it)
	}
	ok, err := r.judge.Allow(r.ctx, op, rs)
	if err != nil {
		return nil, err
	}
	var out []T
	for i, it := range items {
		if i < len(ok) && ok[i] {
			out = append(out, it)
		}
	}
	return out, nil
}

func (r *run) catalogs() ([]string, error) {
	var names []string
	for n := range r.g.cfg.Catalogs {
		names = append(names, n)
	}
	sort.Strings(names)
	names, err := keep(r, policy.AccessCatalog, names, func(n string) policy.Resource { return policy.Resource{Catalog: n} })
	if err != nil {
		return nil, err
	}
	return keep(r, policy.FilterCatalogs, names, func(n string) policy.Resource { return policy.Resource{Catalog: n} })
}

func (r *run) schemas(cat, pattern *string) ([]Schema, error) {
	names, err := r.catalogs()
	if err != nil {
		return nil, err
	}
	match := like(pattern)
	var all []Schema
	for _, n := range names {
		if cat != nil && *cat != n {
			continue
		}
		entries, err := r.g.cfg.Catalogs[n].List(r.ctx, r.session.identity, "")
		if errors.Is(err, catalog.ErrRefused) && cat == nil {
			continue // it does not know this caller, who sees nothing in it; who names it is told
		}
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if match(e.Schema) {
				all = append(all, Schema{n, e.Schema})
			}
		}
	}
	return keep(r, policy.FilterSchemas, all, func(s Schema) policy.Resource {
		return policy.Resource{Catalog: s.Catalog, Schema: s.Schema}
	})
}

func (r *run) tables(f TableFilter) ([]Table, error) {
	schemas, err := r.schemas(f.Catalog, f.SchemaPattern)
	if err != nil {
		return nil, err
	}
	match := like(f.TablePattern)
	var all []Table
	for _, s := range schemas {
		entries, err := r.g.cfg.Catalogs[s.Catalog].List(r.ctx, r.session.identity, s.Schema)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			t := Table{Catalog: s.Catalog, Schema: s.Schema, Name: e.Name, Type: "BASE TABLE"}
			if e.View {
				t.Type = "VIEW"
			}
			if match(e.Name) && wanted(t.Type, f.Types) {
				all = append(all, t)
			}
		}
	}
	resource := func(t Table) policy.Resource {
		return policy.Resource{Catalog: t.Catalog, Schema: t.Schema, Table: t.Name}
	}
	if all, err = keep(r, policy.FilterTables, all, resource); err != nil {
		return nil, err
	}
	// What a listing shows is what a query finds: no more, no less.
	if all, err = keep(r, policy.SelectColumns, all, resource); err != nil || !f.Columns {
		return all, err
	}
	for i := range all {
		if all[i].Columns, err = r.columnsOf(all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// columnsOf returns the visible columns of a visible table. A table that cannot be read, or whose masks the policy gives no one
// answer for, is listed without columns: one broken table must not hide the others.
func (r *run) columnsOf(t Table) ([]Column, error) {
	if t.Type == "VIEW" {
		return nil, nil
	}
	loaded, err := r.g.cfg.Catalogs[t.Catalog].Table(r.ctx, r.session.identity, t.Schema, t.Name)
	if errors.Is(err, catalog.ErrUnreadable) || errors.Is(err, catalog.ErrNoSuchTable) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	name := classify.Name{Catalog: t.Catalog, Schema: loaded.Schema, Table: loaded.Name}
	all := columns(loaded)
	visible, err := r.seesColumns(name, loaded.UUID, all)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(visible))
	for i, c := range visible {
		names[i] = c.Name
	}
	d, err := r.judge.Table(r.ctx, policy.Table{Name: name, UUID: loaded.UUID, Columns: all}, names)
	if fault, ok := errors.AsType[*policy.PolicyError](err); ok {
		r.g.cfg.Log.Error("policy fault, a table is listed without columns", slog.String("query", r.id), slog.String("table", name.String()),
			slog.String("decision", fault.Decision), slog.String("rule", fault.Rule), slog.String("cause", scrub(fault.Cause)))
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(loaded.Restrictions) > 0 {
		if err := d.Restrict(loaded.Restrictions, policy.Table{Name: name, UUID: loaded.UUID, Columns: all}); err != nil {
			return nil, nil // nothing of it can be read: see restrict
		}
	}
	out := make([]Column, len(visible))
	for i, c := range visible {
		_, masked := d.Masks[c.Name]
		full := loaded.Columns[indexOf(all, c.FieldID)]
		out[i] = Column{Column: c, Nullable: masked || !full.Required, Masked: masked, Doc: full.Doc}
	}
	return out, nil
}

func wanted(typ string, types []string) bool {
	if len(types) == 0 {
		return true
	}
	for _, t := range types {
		t = strings.ToUpper(t)
		if t == "TABLE" {
			t = "BASE TABLE"
		}
		if t == typ {
			return true
		}
	}
	return false
}
