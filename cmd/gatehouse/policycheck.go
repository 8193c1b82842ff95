package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gatehouse/auth"
	"gatehouse/catalog"
	"gatehouse/classify"
	"gatehouse/policy"
	"gatehouse/policy/opa"
)

// checkReport is what "gatehouse policy check" found.
type checkReport struct {
	Faults      []string `json:"faults"`      // each with its place
	Notes       []string `json:"notes"`       // what could not be checked, and why
	Expressions int      `json:"expressions"` // that were bound against real tables
	Tables      int      `json:"tables"`

	unread []classify.Name // tables that are there and could not be read
}

// checkPolicy is "gatehouse policy check".
func checkPolicy(ctx context.Context, o policyOptions, env environment) error {
	report, err := findFaults(ctx, o)
	if err != nil {
		return err
	}
	if o.json {
		if err := printJSON(env.stdout, report); err != nil {
			return err
		}
	} else {
		for _, n := range report.Notes {
			fmt.Fprintln(env.stdout, "note:", n)
		}
		if len(report.Faults) == 0 {
			fmt.Fprintln(env.stdout, "The policy compiles.")
		}
		if report.Tables > 0 {
			fmt.Fprintf(env.stdout, "%s of %s checked against the real columns.\n", plural(report.Expressions, "expression"), plural(report.Tables, "table"))
		}
	}
	if len(report.Faults) > 0 {
		return errors.New(strings.Join(report.Faults, "\n"))
	}
	return nil
}

func findFaults(ctx context.Context, o policyOptions) (*checkReport, error) {
	report := &checkReport{Faults: []string{}, Notes: []string{}}
	if len(o.args) == 1 {
		o.bench.policy = o.args[0]
	}
	b, err := openBench(ctx, o.bench)
	if err != nil {
		return nil, err
	}
	defer b.close()
	x, err := opa.NewExplorer(b.opaConfig(b.cfg.Policy.Dir))
	if err != nil {
		report.Faults = append(report.Faults, err.Error())
		return report, nil
	}
	var tables []*catalog.Table
	if b.catalogs != nil {
		id, err := o.who.operator(b.users)
		if err != nil {
			return nil, err
		}
		if tables, err = b.allTables(ctx, id, report); err != nil {
			return nil, err
		}
	}
	faults, absent := x.Shape(columnsIn(tables, report.unread))
	for _, f := range faults {
		report.Faults = append(report.Faults, f.Error())
	}
	for _, f := range absent {
		report.Notes = append(report.Notes, f.Error())
	}
	if b.catalogs == nil {
		report.Notes = append(report.Notes, "expressions were not checked against tables: name them with --warehouse or --config")
		return report, nil
	}
	bound := map[string]bool{}
	if err := b.bindAll(ctx, x, tables, report, bound); err != nil {
		return nil, err
	}
	if err := b.bindCallers(ctx, x, o.who, tables, report, bound); err != nil {
		return nil, err
	}
	slices.Sort(report.Faults)
	report.Faults = slices.Compact(report.Faults)
	return report, nil
}

// operator is the caller that tools use to look at tables, where the caller does not matter to the policy.
func (o callerOptions) operator(users []userEntry) (auth.Identity, error) {
	if o.user == "" {
		o.user = "gatehouse policy"
	}
	return o.caller(users)
}

// allTables loads every table of every catalog, sorted by name.
func (b *bench) allTables(ctx context.Context, id auth.Identity, report *checkReport) ([]*catalog.Table, error) {
	var out []*catalog.Table
	for _, name := range slices.Sorted(maps.Keys(b.catalogs)) {
		c := b.catalogs[name]
		schemas, err := c.List(ctx, id, "")
		if err != nil {
			return nil, fmt.Errorf("catalog %s: %w", name, err)
		}
		for _, s := range schemas {
			entries, err := c.List(ctx, id, s.Schema)
			if err != nil {
				return nil, fmt.Errorf("catalog %s, schema %s: %w", name, s.Schema, err)
			}
			for _, e := range entries {
				if e.View {
					continue
				}
				t, err := c.Table(ctx, id, s.Schema, e.Name)
				if err != nil {
					report.Notes = append(report.Notes, fmt.Sprintf("table %s.%s.%s was not checked: %s", name, s.Schema, e.Name, visible(err.Error())))
					report.unread = append(report.unread, classify.Name{Catalog: name, Schema: s.Schema, Table: e.Name})
					continue
				}
				out = append(out, t)
			}
		}
	}
	return out, nil
}

// columnsIn knows the columns of tables. Those that could not be read are there, and nothing is known of their columns.
func columnsIn(tables []*catalog.Table, unread []classify.Name) opa.Columns {
	if tables == nil && unread == nil {
		return nil
	}
	return func(c, s, name string) ([]string, bool) {
		for _, t := range tables {
			if t.Catalog != c || t.Schema != s || t.Name != name {
				continue
			}
			var out []string
			for _, col := range t.Columns {
				out = append(out, col.Name)
			}
			return out, true
		}
		return nil, slices.Contains(unread, classify.Name{Catalog: c, Schema: s, Table: name})
	}
}

// bindAll takes every expression that the policy can return for a table through the whole pipeline, up to where it would run.
func (b *bench) bindAll(ctx context.Context, x *opa.Explorer, tables []*catalog.Table, report *checkReport, bound map[string]bool) error {
	for _, t := range tables {
		name := classify.Name{Catalog: t.Catalog, Schema: t.Schema, Table: t.Name}
		possible, err := x.Expressions(ctx, policy.Table{Name: name, UUID: t.UUID, Columns: columnsOf(t)})
		if err != nil {
			report.Faults = append(report.Faults, fmt.Sprintf("table %s: %v", name, err))
			continue
		}
		report.Tables++
		for _, p := range possible {
			if p.Computed {
				report.Notes = append(report.Notes, fmt.Sprintf("%s: the text of this %s depends on the caller and was checked for the known callers only, for table %s; put the caller's values into params", p.Rule, kindOf(p), name))
				continue
			}
			b.bind(ctx, name, t, p, report, bound)
		}
	}
	return nil
}

// maxCallers bounds the callers for whom a policy is asked.
const maxCallers = 200

// bindCallers asks the policy for every known caller, as diff does: that finds what only evaluation shows, such as two masks of one
// column and texts that are made from data.
func (b *bench) bindCallers(ctx context.Context, x *opa.Explorer, who callerOptions, tables []*catalog.Table, report *checkReport, bound map[string]bool) error {
	callers, err := who.everybody(b.users, append(x.Roles(), who.roles...))
	if err != nil {
		return err
	}
	if len(callers) > maxCallers {
		report.Notes = append(report.Notes, fmt.Sprintf("only the first %d of %d callers were asked for", maxCallers, len(callers)))
		callers = callers[:maxCallers]
	}
	d, err := b.decider(b.cfg.Policy.Dir, nil)
	if err != nil {
		return err
	}
	for _, id := range callers {
		for _, t := range tables {
			name := classify.Name{Catalog: t.Catalog, Schema: t.Schema, Table: t.Name}
			log := &decisionLog{Decider: d}
			if _, err := tableFor(ctx, log, id, name, columnsOf(t)); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				rule, cause := causeOf(err)
				report.Faults = append(report.Faults, fmt.Sprintf("%s: table %s, for %s: %v", rule, name, describe(id), cause))
				continue
			}
			for _, f := range log.filters {
				b.bind(ctx, name, t, opa.Possible{Expression: f}, report, bound)
			}
			for column, m := range log.masks {
				b.bind(ctx, name, t, opa.Possible{Expression: m, Column: column}, report, bound)
			}
		}
	}
	return nil
}

// bind checks p for t, unless the same text was checked before.
func (b *bench) bind(ctx context.Context, name classify.Name, t *catalog.Table, p opa.Possible, report *checkReport, bound map[string]bool) {
	key := fmt.Sprint(name, "\x00", p.Column, "\x00", p.SQL)
	if bound[key] {
		return
	}
	bound[key] = true
	if fault := b.bindOne(ctx, name, t, p); fault != nil {
		report.Faults = append(report.Faults, fmt.Sprintf("%s: %s of table %s: %s: %s", p.Rule, kindOf(p), name, p.SQL, strings.TrimPrefix(fault.Error(), p.Rule+": ")))
		return
	}
	report.Expressions++
}

func kindOf(p opa.Possible) string {
	if p.Column == "" {
		return "row filter"
	}
	return "mask of column " + strconv.Quote(p.Column)
}

// bindOne prepares a statement that is governed by p alone.
func (b *bench) bindOne(ctx context.Context, name classify.Name, t *catalog.Table, p opa.Possible) error {
	if p.Column != "" && p.SQL == "NULL" || p.Column == "" && p.SQL == "false" {
		return nil // as the router has for every column
	}
	d := policy.Decision{ID: "check", Masks: map[string]policy.Expression{}}
	column := t.Columns[0].Name
	if p.Column == "" {
		d.Filters = []policy.Expression{p.Expression}
	} else {
		column = p.Column
		d.Masks[p.Column] = p.Expression
	}
	sql := "SELECT " + quoteName(column) + " FROM " + quoteName(name.Catalog) + "." + quoteName(name.Schema) + "." + quoteName(name.Table)
	err := b.prepare(ctx, fixedDecision{d}, sql)
	if err == nil {
		return nil
	}
	_, cause := causeOf(err)
	return cause
}

// prepare takes sql through the pipeline up to where it would run.
func (b *bench) prepare(ctx context.Context, d policy.Decider, sql string) error {
	g, err := b.gatewayFor(d)
	if err != nil {
		return err
	}
	id, err := callerOptions{user: "gatehouse policy"}.caller(nil)
	if err != nil {
		return err
	}
	s, err := g.NewSession(id, "", "gatehouse policy")
	if err != nil {
		return err
	}
	_, err = g.Prepare(ctx, s, sql)
	return err
}

// fixedDecision is a policy that allows everything and demands one decision of every table. Only tools have it.
type fixedDecision struct{ decision policy.Decision }

// Judge implements policy.Decider.
func (f fixedDecision) Judge(context.Context, policy.Caller) (policy.Judge, error) { return f, nil }

// Revision implements policy.Judge.
func (f fixedDecision) Revision() string { return "check" }

// Allow implements policy.Judge.
func (f fixedDecision) Allow(_ context.Context, _ policy.Operation, rs []policy.Resource) ([]bool, error) {
	out := make([]bool, len(rs))
	for i := range out {
		out[i] = true
	}
	return out, nil
}

// Table implements policy.Judge.
func (f fixedDecision) Table(context.Context, policy.Table, []string) (policy.Decision, error) {
	return f.decision, nil
}
