package plan

import (
	"testing"
	"time"

	"gatehouse/policy"
)

// TestSteady: where a table has deletes, which hide rows, a steady decision keeps the statement's conditions above the barrier. A table
// where nothing is hidden keeps its look-ups.
func TestSteady(t *testing.T) {
	c, p := openZoo(t), newPlanner(t)
	p.now = func() time.Time { return now }
	steady := func(policy.Table) policy.Decision { return policy.Decision{ID: "d1", Steady: true} }
	for _, c2 := range []struct {
		table           string
		decide          func(policy.Table) policy.Decision
		barrier, pushed bool
	}{
		{"v2_all_deleted", open, false, true},
		{"v2_all_deleted", steady, true, false},
		{"v1_plain", open, false, true},
		{"v1_plain", steady, false, true},
	} {
		g, tables := govern(t, c, "SELECT id FROM "+c2.table+" WHERE id = 1", c2.decide)
		got, err := p.Plan(t.Context(), alice, "q1", g, tables, now.Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		r := got.Relations()[0]
		if r.Barrier != c2.barrier || (len(r.Pushed) > 0) != c2.pushed {
			t.Errorf("%s, steady %v: barrier %v, %d conditions beside it", c2.table, r.Steady, r.Barrier, len(r.Pushed))
		}
	}
}
