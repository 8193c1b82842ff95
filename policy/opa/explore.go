package opa

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"gatehouse/classify"
	"gatehouse/policy"
)

// Explorer finds what a policy can return to any caller, by partial evaluation: the table is known, the caller and the rights are not.
type Explorer struct {
	cfg      Config
	bundle   *bundle.Bundle
	compiler *ast.Compiler
	store    storage.Store
}

// Possible is one expression that a policy returns for some caller.
type Possible struct {
	policy.Expression // Rule is file:line; a parameter that depends on the caller is nil
	// Column is whose mask it is, "" for a row filter.
	Column string
	// Computed: the text depends on the caller, so that it cannot be checked before somebody asks.
	Computed bool
}

// NewExplorer checks the policy that cfg names, as Check does.
func NewExplorer(cfg Config) (*Explorer, error) {
	cfg, files, err := source(cfg)
	if err != nil {
		return nil, err
	}
	if _, err := checkFiles(files, cfg); err != nil {
		return nil, err
	}
	return explore(files, cfg)
}

func explore(files map[string][]byte, cfg Config) (x *Explorer, err error) {
	defer recovered(&err)
	live := map[string][]byte{}
	for name, b := range files {
		if !strings.HasSuffix(name, "_test.rego") {
			live[name] = b
		}
	}
	b, err := readBundle(live, cfg)
	if err != nil {
		return nil, err
	}
	c, err := compileModules(b, cfg, false)
	if err != nil {
		return nil, err
	}
	return &Explorer{cfg: cfg, bundle: b, compiler: c, store: inmem.NewFromObject(b.Data)}, nil
}

// Expressions returns the row filters and masks that the policy can return for t, by place.
func (x *Explorer) Expressions(ctx context.Context, t policy.Table) (out []Possible, err error) {
	defer recovered(&err)
	entry := x.cfg.Entry
	table := aboutTable(t)
	found, err := x.ask(ctx, entry.RowFilters, object(field{"operation", str("GetRowFilters")}, field{"resource", table}), t, "")
	if err != nil {
		return nil, err
	}
	out = append(out, found...)
	var columns []ast.Value
	single := x.has(entry.ColumnMask)
	for _, c := range t.Columns {
		about := aboutColumn(t, c.Name)
		columns = append(columns, about)
		if !single {
			continue
		}
		found, err := x.ask(ctx, entry.ColumnMask, object(field{"operation", str("GetColumnMask")}, field{"resource", about}), t, c.Name)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	if !single && x.has(entry.BatchColumnMasks) {
		terms := make([]*ast.Term, len(columns))
		for i, c := range columns {
			terms[i] = ast.NewTerm(c)
		}
		action := object(field{"operation", str("GetColumnMask")}, field{"filterResources", ast.NewArray(terms...)})
		found, err := x.ask(ctx, entry.BatchColumnMasks, action, t, "")
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return distinct(out), nil
}

func (x *Explorer) has(path string) bool {
	return path != None && len(x.compiler.GetRulesExact(dataRef(path))) > 0
}

// unknowns are what depends on the caller. What the shipped library computes of rights alone is not evaluated further: it decides
// whether an expression is returned, and that is left open anyway.
var unknowns = []string{
	"input.context", "data." + reserved,
	"data.lib.grants.active", "data.lib.grants.covered", "data.lib.grants.denied", "data.lib.grants.holds", "data.lib.grants.reads",
	"data.lib.rules.borne", "data.lib.rules.masks", "data.lib.rules.row_filters",
}

// ask evaluates the rule at path as far as action alone allows, and collects the expressions in what is left.
func (x *Explorer) ask(ctx context.Context, path string, action ast.Value, t policy.Table, column string) ([]Possible, error) {
	if !x.has(path) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*x.cfg.Timeout)
	defer cancel()
	left, err := rego.New(
		rego.ParsedQuery(ast.NewBody(ast.NewExpr(ast.NewTerm(dataRef(path))))),
		rego.Compiler(x.compiler),
		rego.Store(x.store),
		rego.ParsedInput(object(field{"action", action})),
		rego.Unknowns(unknowns),
	).Partial(ctx)
	if err != nil {
		return nil, fmt.Errorf("data.%s: %w", dotted(path), err)
	}
	c := &collector{table: t, column: column, rules: x.rulesOf(t)}
	for _, q := range left.Queries {
		ast.WalkTerms(q, c.term)
	}
	for _, m := range left.Support {
		ast.WalkTerms(m, c.term)
	}
	return c.found, nil
}

// aboutTable makes resource.table as the gateway asks, as far as it is the same for every statement.
func aboutTable(t policy.Table) ast.Value {
	return object(field{"table", object(append(tableNames(t), field{"gateway", detailOf(t)})...)})
}

func tableNames(t policy.Table) []field {
	return []field{{"catalogName", str(t.Name.Catalog)}, {"schemaName", str(t.Name.Schema)}, {"tableName", str(t.Name.Table)}}
}

func detailOf(t policy.Table) ast.Value {
	columns := make([][2]*ast.Term, 0, len(t.Columns))
	for _, c := range t.Columns {
		id := field{"field_id", ast.Number(json.Number(itoa(c.FieldID)))}
		columns = append(columns, [2]*ast.Term{ast.StringTerm(c.Name), ast.NewTerm(object(field{"type", str(c.Type)}, id, field{"tags", strs(nil)}))})
	}
	return object(field{"name", str(t.Name.String())}, field{"kind", str("table")}, field{"tags", strs(nil)}, field{"columns", ast.NewObject(columns...)})
}

func aboutColumn(t policy.Table, name string) ast.Value {
	i := slices.IndexFunc(t.Columns, func(c classify.Column) bool { return c.Name == name })
	c := t.Columns[i]
	return object(field{"column", object(append(tableNames(t),
		field{"columnName", str(c.Name)}, field{"columnType", str(trinoType(c.Type))},
		field{"gateway", object(field{"field_id", ast.Number(json.Number(itoa(c.FieldID)))}, field{"tags", strs(nil)}, field{"table", detailOf(t)})},
	)...)})
}

// collector picks the objects out of terms that have an expression.
type collector struct {
	table  policy.Table
	column string
	rules  map[string]string // by column, "" for filters: where the table's package has a rule
	found  []Possible
}

func (c *collector) term(t *ast.Term) bool {
	o, ok := t.Value.(ast.Object)
	if !ok {
		return false
	}
	if view := o.Get(ast.StringTerm("viewExpression")); view != nil { // of a batch rule
		column := c.column
		if n, ok := o.Get(ast.StringTerm("index")).Value.(ast.Number); ok {
			if i, ok := n.Int(); ok && i >= 0 && i < len(c.table.Columns) {
				column = c.table.Columns[i].Name
			}
		}
		if body, ok := view.Value.(ast.Object); ok {
			c.add(view, body, column)
		}
		return true
	}
	if o.Get(ast.StringTerm("origin")) != nil { // made with a statement, which checked it
		return true
	}
	if o.Get(ast.StringTerm("expression")) != nil {
		c.add(t, o, c.column)
		return true
	}
	return false
}

func (c *collector) add(t *ast.Term, o ast.Object, column string) {
	p := Possible{Column: column}
	p.Rule = c.place(t, column)
	text := func(key string) string {
		if v := o.Get(ast.StringTerm(key)); v != nil {
			if s, ok := v.Value.(ast.String); ok {
				return string(s)
			}
		}
		return ""
	}
	p.SQL, p.ID, p.AnyOf = text("expression"), text("id"), text("any_of")
	p.Computed = p.SQL == ""
	if params := o.Get(ast.StringTerm("params")); params != nil {
		values, ok := params.Value.(ast.Object)
		p.Computed = p.Computed || !ok
		if ok {
			p.Params = knownParams(values)
		}
	}
	c.found = append(c.found, p)
}

// place is the rule of the table's own package where the expression comes from the library or the router.
func (c *collector) place(t *ast.Term, column string) string {
	at := ""
	if t.Location != nil && t.Location.File != "" {
		at = fmt.Sprintf("%s:%d", strings.TrimPrefix(t.Location.File, "/"), t.Location.Row)
	}
	if own, ok := c.rules[strings.ToLower(column)]; ok && (at == "" || strings.HasPrefix(at, "lib/")) {
		return own
	}
	if at == "" {
		return "an unknown place"
	}
	return at
}

// knownParams returns the values of parameters, nil for those that depend on the caller.
func knownParams(o ast.Object) map[string]any {
	out := map[string]any{}
	o.Foreach(func(k, v *ast.Term) {
		name, ok := k.Value.(ast.String)
		if !ok {
			return
		}
		out[string(name)] = nil
		if v.IsGround() {
			if plain, err := ast.JSON(v.Value); err == nil {
				out[string(name)] = plain
			}
		}
	})
	return out
}

// rulesOf says where the package of t has its filters, and the mask of each column.
func (x *Explorer) rulesOf(t policy.Table) map[string]string {
	out := map[string]string{}
	want := ast.Ref{ast.DefaultRootDocument, ast.StringTerm("tables"), ast.StringTerm(t.Name.Catalog), ast.StringTerm(t.Name.Schema), ast.StringTerm(t.Name.Table)}
	for _, m := range x.bundle.Modules {
		if !m.Parsed.Package.Path.Equal(want) {
			continue
		}
		for _, r := range m.Parsed.Rules {
			ref := r.Head.Ref()
			at := fmt.Sprintf("%s:%d", strings.TrimPrefix(m.Path, "/"), r.Loc().Row)
			switch name := string(ref[0].Value.(ast.Var)); {
			case name == "row_filters":
				keepFirst(out, "", at)
			case name == "masks" && len(ref) > 1:
				if column, ok := ref[1].Value.(ast.String); ok {
					keepFirst(out, strings.ToLower(string(column)), at)
				}
			}
		}
	}
	return out
}

func keepFirst(m map[string]string, key, value string) {
	if _, ok := m[key]; !ok {
		m[key] = value
	}
}

// distinct drops what is the same expression from the same place.
func distinct(in []Possible) []Possible {
	key := func(p Possible) string {
		params, _ := json.Marshal(p.Params)
		return fmt.Sprint(p.Rule, "\x00", p.Column, "\x00", p.SQL, "\x00", p.ID, "\x00", string(params))
	}
	slices.SortStableFunc(in, func(a, b Possible) int { return cmp.Compare(key(a), key(b)) })
	return slices.CompactFunc(in, func(a, b Possible) bool { return key(a) == key(b) })
}
