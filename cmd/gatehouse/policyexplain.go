package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"gatehouse/classify"
	"gatehouse/classify/printer"
	"gatehouse/plan"
	"gatehouse/policy"
	"gatehouse/policy/opa"
)

// explanation is all that the gateway would do with a statement of one caller, up to its first row.
type explanation struct {
	User     string          `json:"user"`
	Revision string          `json:"policy_revision,omitempty"`
	Outcome  string          `json:"outcome"`         // allowed, denied or failed
	Told     string          `json:"told,omitempty"`  // what the caller is told
	Rule     string          `json:"rule,omitempty"`  // file:line of a rule that could not be applied
	Cause    string          `json:"cause,omitempty"` // of a failure, for the policy's author
	Tables   []explainedPart `json:"tables"`
	Rules    []opa.Fired     `json:"rules"`
	Governed string          `json:"governed_sql,omitempty"`
	Plan     string          `json:"plan,omitempty"`
}

// explainedPart is what governs one table reference.
type explainedPart struct {
	Table   string                    `json:"table"`
	Filters []expressionView          `json:"filters"`
	Masks   map[string]expressionView `json:"masks"`
}

// explainPolicy is "gatehouse policy explain".
func explainPolicy(ctx context.Context, o policyOptions, env environment) error {
	sql := o.args[len(o.args)-1]
	if len(o.args) == 2 {
		o.bench.policy = o.args[0]
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
	trace := &traceLog{}
	d, err := b.decider(b.cfg.Policy.Dir, trace)
	if err != nil {
		return err
	}
	log := &decisionLog{Decider: d}
	g, err := b.gatewayFor(log)
	if err != nil {
		return err
	}
	s, err := g.NewSession(id, "", "gatehouse policy")
	if err != nil {
		return err
	}
	e := explanation{User: describe(id), Outcome: "allowed", Tables: []explainedPart{}}
	res, failure := g.Query(ctx, s, sql)
	if failure == nil {
		res.Close()
	}
	e.Rules, e.Revision = firedRules(trace.take()), b.events.last.Policy
	e.Tables = append(e.Tables, log.tables...)
	if p := b.executor.take(); p != nil {
		if e.Governed, err = governedText(p); err != nil {
			return err
		}
		e.Plan = p.Explain()
	}
	e.fail(failure)
	if o.json {
		err = printJSON(env.stdout, e)
	} else {
		e.print(env.stdout)
	}
	if err == nil && e.Outcome == "failed" {
		return errors.New("the statement would fail")
	}
	return err
}

// fail notes why the statement would not run.
func (e *explanation) fail(err error) {
	if err == nil {
		return
	}
	e.Told, e.Outcome = err.Error(), "failed"
	var denied *policy.DeniedError
	var absent *classify.NameError
	if errors.As(err, &denied) || errors.As(err, &absent) {
		e.Outcome = "denied"
		return
	}
	rule, cause := causeOf(err)
	e.Rule = rule
	if cause != nil && cause.Error() != e.Told {
		e.Cause = cause.Error()
	}
}

func (e *explanation) print(w io.Writer) {
	fmt.Fprintf(w, "%s, policy %s\n%s\n", e.User, e.Revision, e.Outcome)
	if e.Told != "" {
		fmt.Fprintf(w, "  told: %s\n", e.Told)
	}
	if e.Rule != "" {
		fmt.Fprintf(w, "  rule: %s\n", e.Rule)
	}
	if e.Cause != "" {
		fmt.Fprintf(w, "  cause: %s\n", e.Cause)
	}
	for _, t := range e.Tables {
		fmt.Fprintf(w, "table %s\n", t.Table)
		for _, f := range t.Filters {
			fmt.Fprintf(w, "  filter  %s\n", f)
		}
		for _, name := range slices.Sorted(maps.Keys(t.Masks)) {
			fmt.Fprintf(w, "  mask    %s  %s\n", name, t.Masks[name])
		}
		if len(t.Filters)+len(t.Masks) == 0 {
			fmt.Fprintln(w, "  all rows, no masks")
		}
	}
	printRules(w, e.Rules)
	if e.Governed != "" {
		fmt.Fprintf(w, "governed SQL:\n%splan:\n%s", indented(e.Governed), indented(e.Plan))
	}
}

// governedText prints the statement with each governed relation as a common table expression. The engine's own text differs in
// how it reads files, and has the hash key in place of its name.
func governedText(p *plan.Plan) (string, error) {
	var b strings.Builder
	for i, r := range p.Relations() {
		if i == 0 {
			b.WriteString("WITH ")
		} else {
			b.WriteString(",\n")
		}
		text, err := relationText(r)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	user, err := printer.PrintSelect(p.Tree(), printer.DuckDB())
	if err != nil {
		return "", err
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	return b.String() + user, nil
}

func relationText(r plan.Relation) (string, error) {
	var columns []string
	for _, c := range r.Columns {
		if c.Mask == nil {
			columns = append(columns, quoteName(c.Name))
			continue
		}
		text, err := printer.PrintExpr(policy.ShowHash(c.Mask), printer.DuckDB())
		if err != nil {
			return "", err
		}
		columns = append(columns, "CAST("+text+" AS "+c.Type+") AS "+quoteName(c.Name))
	}
	out := quoteName(r.CTE) + " AS "
	if r.Barrier {
		out += "MATERIALIZED "
	}
	out += "(SELECT " + strings.Join(columns, ", ") + " FROM " + quoteName(r.Name.Catalog) + "." + quoteName(r.Name.Schema) + "." + quoteName(r.Name.Table)
	var where []string
	if r.Filter != nil {
		text, err := printer.PrintExpr(policy.ShowHash(r.Filter), printer.DuckDB())
		if err != nil {
			return "", err
		}
		where = append(where, text)
	}
	for _, c := range r.Pushed {
		text, err := printer.PrintExpr(policy.ShowHash(c), printer.DuckDB())
		if err != nil {
			return "", err
		}
		where = append(where, text)
	}
	if len(where) > 0 {
		out += " WHERE " + strings.Join(where, " AND ")
	}
	return out + ")", nil
}

func quoteName(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// decisionLog is a decider that keeps the decisions about tables.
type decisionLog struct {
	policy.Decider
	tables  []explainedPart
	filters []policy.Expression // of the last decision
	masks   map[string]policy.Expression
}

// Judge implements policy.Decider.
func (l *decisionLog) Judge(ctx context.Context, c policy.Caller) (policy.Judge, error) {
	j, err := l.Decider.Judge(ctx, c)
	if err != nil {
		return nil, err
	}
	return &loggedJudge{j, l}, nil
}

type loggedJudge struct {
	policy.Judge
	log *decisionLog
}

// Table implements policy.Judge.
func (j *loggedJudge) Table(ctx context.Context, t policy.Table, columns []string) (policy.Decision, error) {
	d, err := j.Judge.Table(ctx, t, columns)
	if err == nil {
		part := explainedPart{Table: t.Name.String(), Filters: []expressionView{}, Masks: map[string]expressionView{}}
		for _, f := range d.Filters {
			part.Filters = append(part.Filters, viewOf(f))
		}
		for name, m := range d.Masks {
			part.Masks[name] = viewOf(m)
		}
		j.log.tables, j.log.filters, j.log.masks = append(j.log.tables, part), d.Filters, d.Masks
	}
	return d, err
}

// Rights implements policy.Pinned.
func (j *loggedJudge) Rights() policy.Rights {
	if p, ok := j.Judge.(policy.Pinned); ok {
		return p.Rights()
	}
	return nil
}

// indented puts two spaces before every line.
func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}
