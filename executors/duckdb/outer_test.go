package duckdb

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse/executors/executortest"
	"gatehouse/policy"
)

// TestOuterTests: a column of an enclosing query that is compared with the rows of a subquery, which the engine fails to plan as it is written where that reads a
// common table expression, and every relation is one. Each statement has the rows of another one that says the same in a form which the engine plans.
func TestOuterTests(t *testing.T) {
	p := executortest.Zoo(t, opener(t))
	hide := executortest.Policy{"spark.v2_many_row_groups": {ID: "d", Filters: []policy.Expression{{ID: "f", SQL: "CAST(CAST(id AS VARCHAR) AS INTEGER) % 5 <> 1"}}}}
	const (
		from = " FROM v2_many_row_groups"
		b    = " FROM (SELECT CASE WHEN id % 4 <> 3 THEN id END AS k, id" + from + " WHERE id < 20) b"
		a    = from + " WHERE id BETWEEN 8 AND 12"
		null = "SELECT CASE WHEN id <> 9 THEN id END" + a
	)
	for _, c := range []struct{ text, same string }{
		{"SELECT id, (SELECT min(c.id)" + from + " c WHERE b.k IN (SELECT id" + a + ")) AS x" + b, "SELECT id, CASE WHEN k IN (SELECT id" + a + ") THEN (SELECT min(id)" + from + ") END" + b},
		{"SELECT id, (SELECT min(c.id)" + from + " c WHERE b.k NOT IN (" + null + ")) AS x" + b, "SELECT id, CASE WHEN k NOT IN (" + null + ") THEN (SELECT min(id)" + from + ") END" + b},
		{"SELECT id, (SELECT b.k IN (" + null + ")) AS x" + b, "SELECT id, k IN (" + null + ")" + b},
		{"SELECT id, (SELECT b.k > ALL (" + null + ")) AS x" + b, "SELECT id, k > ALL (" + null + ")" + b},
		{"SELECT id" + b + " WHERE EXISTS (SELECT 1" + from + " c WHERE c.id = b.id AND k IN (SELECT id" + a + "))", "SELECT id" + b + " WHERE k IN (SELECT id" + a + ")"},
		{"SELECT id" + b + " WHERE NOT EXISTS (SELECT 1" + from + " c WHERE k + c.id = ANY (SELECT 2 * id" + a + "))", "SELECT id" + b + " WHERE k IS NULL OR k NOT IN (SELECT 2 * x.id - y.id FROM (SELECT id" + a + ") x, v2_many_row_groups y)"},
		{"SELECT id" + b + " WHERE id IN (SELECT c.id" + from + " c WHERE b.k IN (SELECT id" + a + "))", "SELECT id" + b + " WHERE k IN (SELECT id" + a + ")"},
		{"SELECT id, l.x" + b + ", LATERAL (SELECT k IN (" + null + ") AS x" + from + " c WHERE c.id = 8) l", "SELECT id, k IN (" + null + ")" + b},
		{"SELECT id, (SELECT count(*) FILTER (WHERE k IN (SELECT id" + a + "))" + from + " c WHERE c.id IN (7, 8)) AS x" + b, "SELECT id, CASE WHEN k IN (SELECT id" + a + ") THEN 2 ELSE 0 END" + b},
		{"SELECT id, (SELECT (SELECT max(c.id)" + from + " c WHERE b.k + d.id IN (SELECT id" + a + "))" + from + " d WHERE d.id = 2) AS x" + b, "SELECT id, CASE WHEN k + 2 IN (SELECT id" + a + ") THEN (SELECT max(id)" + from + ") END" + b},
		{"SELECT k, (SELECT min(c.id)" + from + " c WHERE b.k IN (SELECT id" + a + ")) AS x" + b + " GROUP BY k", "SELECT DISTINCT k, CASE WHEN k IN (SELECT id" + a + ") THEN (SELECT min(id)" + from + ") END" + b},
		{"SELECT id, (SELECT max(c.id)" + from + " c WHERE c.id < 9 GROUP BY b.k IN (" + null + ")) AS x" + b, "SELECT id, (SELECT max(id)" + from + " WHERE id < 9)" + b},
		{"SELECT id, (SELECT c.id" + from + " c WHERE c.id < 9 ORDER BY b.k IN (" + null + "), c.id DESC LIMIT 1) AS x" + b, "SELECT id, (SELECT max(id)" + from + " WHERE id < 9)" + b},
		{"SELECT id, (SELECT max(CAST(b.k IN (" + null + ") AS INTEGER))" + from + " c) AS x" + b, "SELECT id, CAST(k IN (" + null + ") AS INTEGER)" + b},
	} {
		for name, demands := range map[string]executortest.Policy{"all rows": nil, "some": hide} {
			t.Run(name+"/"+c.text, func(t *testing.T) {
				got, err := p.Rows(t.Context(), c.text+" ORDER BY ALL", demands)
				if err != nil {
					t.Fatal(err, errors.Unwrap(err))
				}
				want, err := p.Rows(t.Context(), c.same+" ORDER BY ALL", demands)
				if err != nil || len(want) == 0 {
					t.Fatal(err, errors.Unwrap(err))
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Error(d)
				}
			})
		}
	}
}
