package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"gatehouse/auth"
	"gatehouse/catalog"
	"gatehouse/classify"
	"gatehouse/policy"
	"gatehouse/policy/opa"
)

// difference is what changes for one caller and one table.
type difference struct {
	Caller string   `json:"caller"`
	Table  string   `json:"table"`
	Before int64    `json:"rows_before"`
	After  int64    `json:"rows_after"`
	Gained int64    `json:"rows_gained"` // visible after and not before
	Lost   int64    `json:"rows_lost"`
	Other  []string `json:"changes"` // of the table, its columns and masks, in words
}

// diffPolicy is "gatehouse policy diff".
func diffPolicy(ctx context.Context, o policyOptions, env environment) error {
	o.bench.policy = o.args[0]
	b, err := openBench(ctx, o.bench)
	if err != nil {
		return err
	}
	defer b.close()
	if b.catalogs == nil {
		return &usageError{"name the tables: --config FILE, or --warehouse FOLDER"}
	}
	c := comparison{bench: b, counts: map[string]int64{}}
	var roles []string
	for i, dir := range o.args {
		if c.sides[i], err = b.decider(dir, nil); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		x, err := opa.NewExplorer(b.opaConfig(dir))
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		roles = append(roles, x.Roles()...)
	}
	callers, err := o.who.everybody(b.users, append(roles, o.who.roles...))
	if err != nil {
		return err
	}
	var report checkReport
	operator, err := callerOptions{}.operator(nil)
	if err != nil {
		return err
	}
	tables, err := b.allTables(ctx, operator, &report)
	if err != nil {
		return err
	}
	found := []difference{}
	for _, id := range callers {
		for _, t := range tables {
			d, err := c.compare(ctx, id, t)
			if err != nil {
				return err
			}
			if d != nil {
				found = append(found, *d)
			}
		}
	}
	if o.json {
		err = printJSON(env.stdout, map[string]any{"callers": len(callers), "tables": len(tables), "differences": found, "notes": orEmpty(report.Notes)})
	} else {
		printDifferences(env.stdout, found, len(callers), len(tables), report.Notes)
	}
	if err == nil && o.exitCode && len(found) > 0 {
		return errors.New("the policies differ")
	}
	return err
}

// everybody are the users of the users file, one caller for each role, and one without any. With a name it is that caller alone.
func (o callerOptions) everybody(users []userEntry, roles []string) ([]auth.Identity, error) {
	if o.user != "" {
		id, err := o.caller(users)
		return []auth.Identity{id}, err
	}
	var out []auth.Identity
	for _, u := range users {
		id, err := identityOf(u)
		if err != nil {
			return nil, err
		}
		out = append(out, id)
		roles = append(roles, u.Roles...)
	}
	slices.Sort(roles)
	for _, r := range slices.Compact(roles) {
		id, err := callerOptions{user: "somebody", roles: list{r}}.caller(nil)
		if err != nil {
			return nil, err
		}
		out = append(out, id)
	}
	nobody, err := callerOptions{user: "somebody"}.caller(nil)
	return append(out, nobody), err
}

// comparison compares two policies.
type comparison struct {
	bench  *bench
	sides  [2]policy.Decider
	counts map[string]int64 // by table and filters
}

// side is what one policy decides.
type side struct {
	view    *tableView
	filters []policy.Expression
	fault   string
}

// compare returns what changes for id about t, nil for nothing.
func (c *comparison) compare(ctx context.Context, id auth.Identity, t *catalog.Table) (*difference, error) {
	name := classify.Name{Catalog: t.Catalog, Schema: t.Schema, Table: t.Name}
	var s [2]side
	for i, d := range c.sides {
		var err error
		if s[i], err = decide(ctx, d, id, name, columnsOf(t)); err != nil {
			return nil, err
		}
	}
	d := &difference{Caller: describe(id), Table: name.String(), Other: changes(s[0], s[1])}
	before, after := s[0].key(), s[1].key()
	if before == after {
		if len(d.Other) == 0 {
			return nil, nil
		}
		return d, nil
	}
	var both int64
	var err error
	if d.Before, err = c.count(ctx, name, s[0]); err != nil {
		return nil, err
	}
	if d.After, err = c.count(ctx, name, s[1]); err != nil {
		return nil, err
	}
	if both, err = c.count(ctx, name, s[0], s[1]); err != nil {
		return nil, err
	}
	d.Lost, d.Gained = d.Before-both, d.After-both
	if len(d.Other) == 0 && d.Lost+d.Gained == 0 {
		return nil, nil // other words for the same rows
	}
	return d, nil
}

// decide asks one policy; what it cannot apply shows nothing.
func decide(ctx context.Context, d policy.Decider, id auth.Identity, name classify.Name, columns []classify.Column) (side, error) {
	log := &decisionLog{Decider: d}
	v, err := tableFor(ctx, log, id, name, columns)
	if err != nil {
		if ctx.Err() != nil {
			return side{}, ctx.Err()
		}
		_, cause := causeOf(err)
		return side{view: &tableView{}, fault: cause.Error()}, nil
	}
	return side{view: v, filters: log.filters}, nil
}

// key is equal for sides that show the same rows by the same filters.
func (s side) key() string {
	if !s.view.Exists {
		return "nothing"
	}
	b, _ := json.Marshal(s.view.Filters)
	var plain []expressionView
	_ = json.Unmarshal(b, &plain)
	for i := range plain {
		plain[i].Rule, plain[i].ID = "", ""
	}
	b, _ = json.Marshal(plain)
	return string(b)
}

// count counts the rows that all of sides show, through the whole pipeline.
func (c *comparison) count(ctx context.Context, name classify.Name, sides ...side) (int64, error) {
	d := policy.Decision{ID: "diff"}
	key := name.String()
	for i, s := range sides {
		if !s.view.Exists {
			return 0, nil
		}
		key += "\x00" + s.key()
		for _, f := range s.filters {
			if f.AnyOf != "" { // alternatives of one policy are none of the other's
				f.AnyOf = strconv.Itoa(i) + " " + f.AnyOf
			}
			d.Filters = append(d.Filters, f)
		}
	}
	if n, ok := c.counts[key]; ok {
		return n, nil
	}
	g, err := c.bench.gatewayFor(fixedDecision{d})
	if err != nil {
		return 0, err
	}
	id, err := callerOptions{}.operator(nil)
	if err != nil {
		return 0, err
	}
	rows, err := rowsOf(ctx, g, id, "SELECT count(*) FROM "+quoteName(name.Catalog)+"."+quoteName(name.Schema)+"."+quoteName(name.Table))
	if err != nil {
		_, cause := causeOf(err)
		return 0, fmt.Errorf("table %s: %w", name, cause)
	}
	var cells []string
	if len(rows) != 1 || json.Unmarshal([]byte(rows[0]), &cells) != nil || len(cells) != 1 {
		return 0, fmt.Errorf("table %s: no count", name)
	}
	n, err := strconv.ParseInt(cells[0], 10, 64)
	c.counts[key] = n
	return n, err
}

// changes says in words what is not about rows.
func changes(a, b side) []string {
	out := []string{}
	if a.fault != b.fault {
		for i, f := range []string{a.fault, b.fault} {
			if f != "" {
				out = append(out, fmt.Sprintf("the %s policy cannot be applied: %s", []string{"first", "second"}[i], f))
			}
		}
	}
	switch {
	case !a.view.Exists && b.view.Exists:
		out = append(out, "gains the table")
	case a.view.Exists && !b.view.Exists:
		out = append(out, "loses the table")
	}
	if !a.view.Exists || !b.view.Exists {
		return out
	}
	if a.view.Together != b.view.Together {
		out = append(out, fmt.Sprintf("may read all visible columns together: %v, then %v", a.view.Together, b.view.Together))
	}
	for i, ca := range a.view.Columns {
		cb := b.view.Columns[i]
		switch {
		case ca.Visible && !cb.Visible:
			out = append(out, "loses column "+ca.Name)
		case !ca.Visible && cb.Visible:
			out = append(out, "gains column "+ca.Name+", "+masked(cb.Mask))
		case masked(ca.Mask) != masked(cb.Mask):
			out = append(out, "column "+ca.Name+": "+masked(ca.Mask)+", then "+masked(cb.Mask))
		}
	}
	return out
}

func masked(m *expressionView) string {
	if m == nil {
		return "shown"
	}
	out := "masked by " + m.Expression
	if len(m.Params) > 0 {
		b, _ := json.Marshal(m.Params)
		out += " with " + string(b)
	}
	return out
}

func printDifferences(w io.Writer, found []difference, callers, tables int, notes []string) {
	for _, n := range notes {
		fmt.Fprintln(w, "note:", n)
	}
	for _, d := range found {
		fmt.Fprintf(w, "%s, %s\n", d.Caller, d.Table)
		if d.Gained+d.Lost > 0 {
			fmt.Fprintf(w, "  rows: %d, then %d: gains %d, loses %d\n", d.Before, d.After, d.Gained, d.Lost)
		}
		for _, c := range d.Other {
			fmt.Fprintf(w, "  %s\n", c)
		}
	}
	fmt.Fprintf(w, "%s among %s and %s.\n", plural(len(found), "difference"), plural(callers, "caller"), plural(tables, "table"))
}
