package ballista

import (
	"testing"

	"gatehouse/plan"
)

// TestEstimate: the optimiser learns nothing of hidden rows but their order of magnitude, which plan.Scan.Rough is, and nothing of the size of
// files or values. Without a policy on rows it has how many there are.
func TestEstimate(t *testing.T) {
	for name, c := range map[string]struct{ rows, rough, want int64 }{
		"no filter":                    {100, 0, 100},
		"a filter":                     {100, 256, 256},
		"a filter, other hidden rows":  {200, 256, 256},
		"a filter, nothing is visible": {100, 1, 1},
	} {
		if got := estimate(&plan.Relation{Scan: plan.Scan{Rows: c.rows, Rough: c.rough}}); got != c.want {
			t.Errorf("%s: %d rows, want %d", name, got, c.want)
		}
	}
}
