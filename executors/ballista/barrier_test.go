package ballista

import (
	"errors"
	"testing"

	"gatehouse/executors"
	"gatehouse/executors/executortest"
	"gatehouse/policy"
)

// TestBarrier checks that what a user wrote is never evaluated on a row or value that a policy hides: an expression that overflows for it
// does so without the policy, and does not with it.
func TestBarrier(t *testing.T) {
	p := executortest.Zoo(t, sharedCluster(t).opener(t, nil))
	rows, err := p.Rows(t.Context(), "SELECT min(id), max(id) FROM orders", nil)
	if err != nil {
		t.Fatalf("%v (%v)", err, errors.Unwrap(err))
	}
	low, high := rows[0][0], rows[0][1]
	hide := func(filter string) executortest.Policy {
		return executortest.Policy{"spark.orders": {ID: "d", Filters: []policy.Expression{{ID: "f", SQL: filter}}}}
	}
	mask := executortest.Policy{"spark.orders": {ID: "d", Masks: map[string]policy.Expression{"id": {ID: "m", SQL: low}}}}
	raising := func(form string) string {
		return "SELECT count(*) AS n FROM orders WHERE " + form
	}
	// 9223372036854775807 - high + id + 1 is out of range only where id is the highest.
	condition := "(9223372036854775807 - CAST(" + high + " AS BIGINT)) + CAST(id AS BIGINT) + CAST(1 AS BIGINT) > 0"
	if _, err := p.Rows(t.Context(), raising(condition), nil); kindIs(err) != executors.KindRange {
		t.Fatalf("the control does not overflow: %v (%v)", err, errors.Unwrap(err))
	}
	for name, demands := range map[string]executortest.Policy{
		"filter": hide("id <> " + high), "filter and mask": both(hide("id <> "+high), mask), "mask": mask,
	} {
		for _, text := range []string{
			raising(condition),
			"SELECT id FROM orders WHERE " + condition + " AND id >= 0 ORDER BY id LIMIT 1",
			"SELECT a.id FROM orders a JOIN orders b ON a.id = b.id AND (9223372036854775807 - CAST(" + high + " AS BIGINT)) + CAST(a.id AS BIGINT) + CAST(1 AS BIGINT) > 0",
			"SELECT id, rank() OVER (ORDER BY (9223372036854775807 - CAST(" + high + " AS BIGINT)) + CAST(id AS BIGINT) + CAST(1 AS BIGINT)) AS r FROM orders",
			"SELECT max(CAST((9223372036854775807 - CAST(" + high + " AS BIGINT)) + CAST(id AS BIGINT) + CAST(1 AS BIGINT) AS DECIMAL(20, 0))) AS s FROM orders",
			"SELECT sum((9223372036854775807 - CAST(" + high + " AS BIGINT)) + CAST(id AS BIGINT) + CAST(1 AS BIGINT)) AS s FROM orders",
		} {
			if _, err := p.Rows(t.Context(), text, demands); err != nil {
				t.Errorf("%s: %s: %v (%v)", name, text, err, errors.Unwrap(err))
			}
		}
	}
}

func both(a, b executortest.Policy) executortest.Policy {
	d := a["spark.orders"]
	d.Masks = b["spark.orders"].Masks
	return executortest.Policy{"spark.orders": d}
}

func kindIs(err error) executors.Kind {
	if e, ok := errors.AsType[*executors.Error](err); ok {
		return e.Kind
	}
	return -1
}
