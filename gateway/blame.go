package gateway

import (
	"errors"
	"log/slog"
	"slices"
	"strings"

	"gatehouse/plan"
	"gatehouse/policy"
)

// placesOf says where the policy has each filter and mask of rel, by the names that the audit event has for them.
func placesOf(d policy.Decision, rel plan.Relation) map[string]string {
	out := map[string]string{}
	add := func(name, rule string) {
		switch {
		case rule == "" || out[name] == rule:
		case out[name] == "":
			out[name] = rule
		default:
			out[name] += ", " + rule
		}
	}
	for _, f := range d.Filters {
		add(f.Name(), f.Rule)
	}
	for column, m := range d.Masks {
		add(column+"="+m.Name(), m.Rule)
	}
	for name := range out { // a mask of a column that is not read is not in the event
		if !slices.Contains(rel.Filters, name) && !slices.Contains(rel.Masks, name) {
			delete(out, name)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// blame notes which decision and rule of the policy an error is about.
func (r *run) blame(err error) {
	var fault *policy.PolicyError
	if errors.As(err, &fault) {
		r.event.Decision, r.event.Rule = fault.Decision, fault.Rule
	}
}

// breakGlass begins the id of a filter by which a policy says that a statement uses an emergency right.
const breakGlass = "break_glass:"

// alarm makes the use of emergency rights loud: the operator's log and a metric have each statement. The audit event has the filter.
func (r *run) alarm() {
	for _, o := range r.event.Objects {
		for _, f := range o.Filters {
			if strings.HasPrefix(f, breakGlass) {
				r.g.metrics.alarms.Inc()
				r.g.cfg.Log.Warn("break-glass access", slog.String("query", r.id), slog.String("user", r.session.identity.User),
					slog.String("table", o.Name), slog.String("reason", strings.TrimSpace(strings.TrimPrefix(f, breakGlass))))
			}
		}
	}
}
