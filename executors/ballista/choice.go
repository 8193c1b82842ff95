package ballista

import (
	"context"
	"slices"

	"gatehouse/executors"
	"gatehouse/plan"
)

// The places where a statement may run.
const (
	Local = "duckdb"   // beside the gateway
	Alone = "ballista" // on the cluster, or not at all
	Auto  = "auto"     // on the cluster what it can run and is large, beside the gateway the rest
)

var places = []string{Local, Alone, Auto}

var _ executors.Chooser = (*Executor)(nil)

// Choices implements executors.Chooser.
func (x *Executor) Choices() []string { return slices.Clone(x.config.Choices) }

// Choose implements executors.Chooser.
func (x *Executor) Choose(name string) (executors.Executor, bool) {
	if !slices.Contains(x.config.Choices, name) {
		return nil, false
	}
	return chosen{x, name}, true
}

// chosen is an executor with one place for all statements.
type chosen struct {
	*Executor
	place string
}

// Capabilities implements executors.Executor.
func (c chosen) Capabilities() executors.Capabilities {
	if c.place == Local {
		return c.config.Local.Capabilities()
	}
	return c.Executor.Capabilities()
}

// Prepare implements executors.Executor.
func (c chosen) Prepare(ctx context.Context, p *plan.Plan) (executors.Prepared, error) {
	return c.prepareIn(ctx, p, c.place)
}
