package ballista

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"gatehouse/executors"
	"gatehouse/executors/ballista/wire"
	"gatehouse/plan"
)

var _ executors.Explainer = (*Executor)(nil)

// Explain implements executors.Explainer.
func (x *Executor) Explain(ctx context.Context, p *plan.Plan) string {
	return x.explainIn(ctx, p, x.config.Choices[0])
}

// Explain implements executors.Explainer.
func (c chosen) Explain(ctx context.Context, p *plan.Plan) string {
	return c.explainIn(ctx, p, c.place)
}

// explainIn describes the stages of a statement. What it says comes from the statement, the types of the columns that it shows, and the
// configuration: not from files, whose numbers and sizes depend on hidden rows and columns, and not from the expressions of a policy. So it
// does not say whether a statement is large enough for the cluster either.
func (x *Executor) explainIn(ctx context.Context, p *plan.Plan, place string) string {
	where := "the cluster"
	switch place {
	case Local:
		return ""
	case Auto:
		where = "the cluster for what it can run and is large, or else the embedded engine"
	}
	stages, why := x.stages(ctx, p)
	if why != "" {
		return fmt.Sprintf("executor %s\n  stages    %s\n", where, why)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "executor %s\n  stages    as planned before the first one; they are planned again after each one\n", where)
	for _, s := range stages {
		fmt.Fprintf(&b, "stage %d\n", s.Id)
		scans := slices.ContainsFunc(s.Operators, func(o *wire.Operator) bool { return o.Relation != "" })
		if scans {
			fmt.Fprintf(&b, "  tasks     about %s\n", x.groupWords())
		} else {
			fmt.Fprintf(&b, "  tasks     at most %d\n", max(s.Partitions, 1))
		}
		for _, o := range s.Operators {
			fmt.Fprintf(&b, "  %s%s%s\n", strings.Repeat("  ", int(o.Depth)), o.Name, origin(p, o))
		}
	}
	return b.String()
}

// origin is what an operator reads, as words.
func origin(p *plan.Plan, o *wire.Operator) string {
	var out []string
	for i := range p.Relations() {
		if r := &p.Relations()[i]; o.Relation != "" && r.CTE == o.Relation {
			out = append(out, r.Name.String())
		}
	}
	for _, s := range o.Stages {
		out = append(out, fmt.Sprintf("stage %d", s))
	}
	if len(out) == 0 {
		return ""
	}
	return " of " + strings.Join(out, ", ")
}

// The sizes that stages are outlined with, whatever a table's are.
const (
	outlineRows   = 1 << 20
	outlineGroups = 2
)

// stages are those that the cluster would begin with, or why there are none to show.
func (x *Executor) stages(ctx context.Context, p *plan.Plan) (stages []*wire.Stage, why string) {
	if p.Params() > 0 {
		return nil, "known when its parameters have values"
	}
	s := &Prepared{x: x, plan: p, params: arrow.NewSchema(nil, nil)}
	w, err := s.outlined()
	var e *wire.Progress
	if err == nil {
		e, err = x.client.outline(ctx, w)
	}
	switch {
	case isUnsupported(err):
		return nil, err.Error()
	case err != nil:
		return nil, "not known, the cluster does not answer"
	case e.Failure != nil && e.Failure.Hint != "":
		return nil, unsupported(e.Failure.Hint, nil).Error()
	case e.Failure != nil:
		return nil, "not known before it runs"
	}
	slices.SortFunc(e.Stages, func(a, b *wire.Stage) int { return int(a.Id - b.Id) })
	return e.Stages, ""
}

// outlined is the statement over relations of which only the columns are known.
func (s *Prepared) outlined() (*wire.Statement, error) {
	text, err := s.text(nil)
	if err != nil {
		return nil, err
	}
	out := &wire.Statement{Query: s.plan.Query(), Sql: text, Deadline: s.plan.Deadline().UnixMilli()}
	for i := range s.plan.Relations() {
		r := &s.plan.Relations()[i]
		if r.Scan.Computed {
			return nil, unsupported("reading a table that has no files", nil)
		}
		schema, err := shownSchema(r)
		if err != nil {
			return nil, err
		}
		w := &wire.Relation{Name: r.CTE, Schema: schema, Rows: outlineRows}
		for range outlineGroups {
			w.Groups = append(w.Groups, new(wire.TaskGroup))
		}
		out.Relations = append(out.Relations, w)
	}
	return out, nil
}
