package ballista

import (
	"math"
	"testing"

	pgquery "github.com/pganalyze/pg_query_go/v6"

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

// TestExpected: what is expected goes by the form of the statement's conditions and by nothing of the table but the number that the optimiser may
// know.
func TestExpected(t *testing.T) {
	for conditions, want := range map[string]int64{
		"":                                    1_000_000,
		"a = 1":                               100_000,
		"a <> 1":                              900_000,
		"a < 1":                               333_333,
		"a >= 1 AND a < 3":                    111_111,
		"a BETWEEN 1 AND 2":                   250_000,
		"a NOT BETWEEN 1 AND 2":               750_000,
		"a IN (1, 2)":                         200_000,
		"a IN (1, 2, 3, 4, 5, 6, 7, 8, 9)":    500_000,
		"a NOT IN (1, 2)":                     800_000,
		"a IS NULL":                           100_000,
		"a IS NOT NULL":                       900_000,
		"a LIKE 'x%'":                         100_000,
		"a NOT LIKE 'x%'":                     900_000,
		"NOT a = 1":                           900_000,
		"a = 1 OR b = 2":                      190_000,
		"a = 1 AND b = 2 AND c = 3 AND d = 4": 1_000,
		"f(a)":                                333_333,
	} {
		r := &plan.Relation{Scan: plan.Scan{Rows: 123, Rough: 1_000_000}}
		if conditions != "" {
			tree, err := pgquery.Parse("SELECT 1 WHERE " + conditions)
			if err != nil {
				t.Fatal(err)
			}
			r.Pushed = append(r.Pushed, tree.Stmts[0].Stmt.GetSelectStmt().WhereClause)
		}
		if got := expected(r); math.Abs(float64(got-want)) > 1 {
			t.Errorf("%q: %d rows, want %d", conditions, got, want)
		}
	}
}
