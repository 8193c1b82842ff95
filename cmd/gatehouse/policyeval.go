package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gatehouse/auth"
	"gatehouse/catalog"
	"gatehouse/classify"
	"gatehouse/policy"
	"gatehouse/policy/opa"
)

// expressionView is a row filter or a mask as a policy gave it.
type expressionView struct {
	ID         string         `json:"id,omitempty"`
	Expression string         `json:"expression"`
	Params     map[string]any `json:"params,omitempty"`
	AnyOf      string         `json:"any_of,omitempty"`
	Rule       string         `json:"rule"` // file:line
}

func viewOf(e policy.Expression) expressionView {
	return expressionView{ID: e.ID, Expression: e.SQL, Params: e.Params, AnyOf: e.AnyOf, Rule: e.Rule}
}

func (e expressionView) String() string {
	out := e.Expression
	if e.ID != "" {
		out = e.ID + ": " + out
	}
	if len(e.Params) > 0 {
		b, _ := json.Marshal(e.Params)
		out += "  with " + string(b)
	}
	if e.AnyOf != "" {
		out += "  any of " + e.AnyOf
	}
	return out + "  (" + e.Rule + ")"
}

// columnView is one column for one caller.
type columnView struct {
	Name    string          `json:"name"`
	Type    string          `json:"type,omitempty"`
	Visible bool            `json:"visible"`
	Mask    *expressionView `json:"mask,omitempty"`
}

// tableView is what a policy decides about one table for one caller.
type tableView struct {
	User     string           `json:"user"`
	Roles    []string         `json:"roles"`
	Groups   []string         `json:"groups"`
	Claims   map[string]any   `json:"claims"`
	Table    string           `json:"table"`
	Revision string           `json:"policy_revision"`
	Exists   bool             `json:"exists"`   // for the caller
	Together bool             `json:"together"` // all visible columns may be used in one statement
	Filters  []expressionView `json:"filters"`
	Columns  []columnView     `json:"columns"`
	Rules    []opa.Fired      `json:"rules"` // that held
}

// evalPolicy is "gatehouse policy eval".
func evalPolicy(ctx context.Context, o policyOptions, env environment) error {
	if len(o.args) == 1 {
		o.bench.policy = o.args[0]
	}
	name, err := tableName(o.table)
	if err != nil {
		return err
	}
	b, err := openBench(ctx, o.bench)
	if err != nil {
		return err
	}
	defer b.close()
	id, err := o.who.caller(b.users)
	if err != nil {
		return err
	}
	columns, err := b.columns(ctx, id, &name, o.column)
	if err != nil {
		return err
	}
	trace := &traceLog{}
	d, err := b.decider(b.cfg.Policy.Dir, trace)
	if err != nil {
		return err
	}
	view, err := tableFor(ctx, d, id, name, columns)
	if err != nil {
		return evaluationFault(err)
	}
	view.Rules = firedRules(trace.take())
	if o.json {
		return printJSON(env.stdout, view)
	}
	view.print(env.stdout, describe(id))
	return nil
}

// evaluationFault words an error of a decision for the policy's author.
func evaluationFault(err error) error {
	rule, cause := causeOf(err)
	if rule != "" {
		return fmt.Errorf("the policy could not be applied, so that everything is denied: %s: %w", rule, cause)
	}
	return fmt.Errorf("the policy could not be applied, so that everything is denied: %w", cause)
}

// tableName reads CATALOG.SCHEMA.TABLE; a schema may have dots.
func tableName(text string) (classify.Name, error) {
	first, last := strings.Index(text, "."), strings.LastIndex(text, ".")
	if first <= 0 || first == last || last == len(text)-1 {
		return classify.Name{}, &usageError{"name the table: --table CATALOG.SCHEMA.TABLE"}
	}
	return classify.Name{Catalog: text[:first], Schema: text[first+1 : last], Table: text[last+1:]}, nil
}

// columns returns the columns of a table, and puts its canonical name into name. Without a catalog it knows only the column that
// it is asked about, as text.
func (b *bench) columns(ctx context.Context, id auth.Identity, name *classify.Name, only string) ([]classify.Column, error) {
	if b.catalogs == nil {
		if only == "" {
			return nil, nil
		}
		return []classify.Column{{Name: only, FieldID: 1, Type: "VARCHAR"}}, nil
	}
	t, err := b.table(ctx, id, *name)
	if err != nil {
		return nil, err
	}
	name.Schema, name.Table = t.Schema, t.Name
	all := columnsOf(t)
	if only == "" {
		return all, nil
	}
	i := slices.IndexFunc(all, func(c classify.Column) bool { return strings.EqualFold(c.Name, only) })
	if i < 0 {
		return nil, fmt.Errorf("table %s has no column %q", *name, only)
	}
	return all[i : i+1], nil
}

// table loads a table of the catalogs.
func (b *bench) table(ctx context.Context, id auth.Identity, name classify.Name) (*catalog.Table, error) {
	c, ok := b.catalogs[name.Catalog]
	if !ok {
		return nil, fmt.Errorf("there is no catalog %q", name.Catalog)
	}
	t, err := c.Table(ctx, id, name.Schema, name.Table)
	if errors.Is(err, catalog.ErrNoSuchTable) {
		return nil, fmt.Errorf("catalog %q has no table %s.%s, or does not show it to %s", name.Catalog, name.Schema, name.Table, id.User)
	}
	return t, err
}

func columnsOf(t *catalog.Table) []classify.Column {
	out := make([]classify.Column, len(t.Columns))
	for i, c := range t.Columns {
		out[i] = classify.Column{Name: c.Name, FieldID: c.FieldID, Type: c.SQLType}
	}
	return out
}

// tableFor asks d all that a SELECT of every column would ask.
func tableFor(ctx context.Context, d policy.Decider, id auth.Identity, name classify.Name, columns []classify.Column) (*tableView, error) {
	j, err := d.Judge(ctx, policy.Caller{Identity: id, Kind: classify.KindSelect})
	if err != nil {
		return nil, err
	}
	v := &tableView{
		User: id.User, Roles: orEmpty(id.Roles), Groups: orEmpty(id.Groups), Claims: id.Claims, Table: name.String(),
		Revision: j.Revision(), Filters: []expressionView{}, Columns: []columnView{},
	}
	detail := policy.Table{Name: name, Columns: columns}
	about := policy.Resource{Catalog: name.Catalog, Schema: name.Schema, Table: name.Table}
	if v.Exists, err = allowed(ctx, j, policy.AccessCatalog, policy.Resource{Catalog: name.Catalog}); err != nil || !v.Exists {
		return v, err
	}
	if v.Exists, err = allowed(ctx, j, policy.FilterTables, about); err != nil || !v.Exists {
		return v, err
	}
	var visible []string
	for _, c := range columns {
		one := about
		one.Columns = []string{c.Name}
		sees, err := allowed(ctx, j, policy.FilterColumns, one)
		if err != nil {
			return v, err
		}
		v.Columns = append(v.Columns, columnView{Name: c.Name, Type: c.Type, Visible: sees})
		if sees {
			visible = append(visible, c.Name)
		}
	}
	about.Columns, about.Detail = visible, &detail
	if v.Together, err = allowed(ctx, j, policy.SelectColumns, about); err != nil {
		return v, err
	}
	decision, err := j.Table(ctx, detail, visible)
	if err != nil {
		return v, err
	}
	v.decided(decision)
	return v, nil
}

func allowed(ctx context.Context, j policy.Judge, op policy.Operation, r policy.Resource) (bool, error) {
	ok, err := j.Allow(ctx, op, []policy.Resource{r})
	return err == nil && len(ok) == 1 && ok[0], err
}

// decided fills in filters and masks.
func (v *tableView) decided(d policy.Decision) {
	for _, f := range d.Filters {
		v.Filters = append(v.Filters, viewOf(f))
	}
	slices.SortFunc(v.Filters, func(a, b expressionView) int {
		return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.Expression, b.Expression), strings.Compare(a.Rule, b.Rule))
	})
	for i, c := range v.Columns {
		if m, ok := d.Masks[c.Name]; ok {
			mask := viewOf(m)
			v.Columns[i].Mask = &mask
		}
	}
}

func (v *tableView) print(w io.Writer, who string) {
	fmt.Fprintf(w, "%s on %s, policy %s\n", who, v.Table, v.Revision)
	switch {
	case !v.Exists:
		fmt.Fprintln(w, "  does not exist for this caller")
	case !v.Together:
		fmt.Fprintln(w, "  exists, but its visible columns may not be read together")
	}
	if v.Exists && len(v.Filters) == 0 {
		fmt.Fprintln(w, "  all rows")
	}
	for _, f := range v.Filters {
		fmt.Fprintf(w, "  filter  %s\n", f)
	}
	for _, c := range v.Columns {
		what := "shown"
		switch {
		case !c.Visible:
			what = "hidden"
		case c.Mask != nil:
			what = "mask    " + c.Mask.String()
		}
		fmt.Fprintf(w, "  column  %s  %s\n", c.Name, what)
	}
	printRules(w, v.Rules)
}

// printRules prints the rules of tables and people before those that only lead to them.
func printRules(w io.Writer, rules []opa.Fired) {
	fmt.Fprintln(w, "rules that held:")
	for _, shipped := range []bool{false, true} {
		for _, r := range rules {
			if shipped == (strings.HasPrefix(r.File, "entry/") || strings.HasPrefix(r.File, "lib/")) {
				fmt.Fprintf(w, "  %s\n", r)
			}
		}
	}
}

// firedRules joins what fired in several evaluations, by place.
func firedRules(all []opa.Evaluation) []opa.Fired {
	out := []opa.Fired{}
	for _, e := range all {
		out = append(out, e.Fired...)
	}
	slices.SortFunc(out, func(a, b opa.Fired) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, strings.Compare(a.Rule, b.Rule))
	})
	return slices.Compact(out)
}

func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
