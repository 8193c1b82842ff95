package ballista

import (
	"testing"

	"gatehouse/executors"
	"gatehouse/executors/executortest"
	"gatehouse/policy"
)

// TestCorrelated: a subquery with EXISTS or IN that reads the query around it is made a join by DataFusion. Where its rows go by which other rows there are, that
// gives others, so that it is refused.
func TestCorrelated(t *testing.T) {
	alone, local := twins(t)
	hide := executortest.Policy{"spark.orders": {ID: "d", Filters: []policy.Expression{{ID: "f", SQL: "id <> 2"}}}}
	agree(t, alone, local, hide,
		"SELECT id FROM orders o WHERE EXISTS (SELECT max(p.id) FROM orders p WHERE p.id > 90)",
		"SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM orders p WHERE p.region = o.region AND p.id > o.id)",
		"SELECT id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM orders p WHERE p.region = o.region AND p.id > (SELECT min(id) FROM orders))",
		"SELECT id FROM orders o WHERE id IN (SELECT p.id FROM orders p WHERE p.region = o.region)",
		"SELECT id FROM orders o WHERE id IN (SELECT max(p.id) FROM orders p GROUP BY p.region)",
		"SELECT id FROM orders o WHERE id NOT IN (SELECT p.id FROM orders p WHERE p.id > 2)",
		"SELECT id FROM orders o WHERE id = 1 OR region IN (SELECT p.region FROM orders p WHERE p.id <> 1) AND id < 4",
		"SELECT id FROM orders o WHERE region NOT IN (SELECT p.region FROM orders p WHERE p.id = 2) AND id > 0",
		"SELECT region, count(*) AS n FROM orders o GROUP BY region HAVING region IN (SELECT p.region FROM orders p WHERE p.id <> 1)",
		"SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM (SELECT region, max(id) AS most FROM orders GROUP BY region HAVING count(*) > 0) p WHERE p.region = o.region AND p.most > o.id)",
		"SELECT id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM (SELECT id FROM orders ORDER BY id LIMIT 2) p, orders q WHERE p.id = q.id AND q.region = o.region)",
		"SELECT id FROM orders o WHERE id IN (SELECT p.n FROM (SELECT region, row_number() OVER (ORDER BY id) AS n FROM orders) p WHERE p.region = o.region)",
		"SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM (SELECT id FROM orders UNION ALL SELECT id + 1 FROM orders) p WHERE p.id = o.id + 1)",
		"SELECT id FROM orders o WHERE id - 4 = (SELECT count(*) FROM orders p WHERE p.region = o.region)",
	)
	for _, where := range []string{
		"EXISTS (SELECT count(*) FROM orders p WHERE p.region = o.region)",
		"NOT EXISTS (SELECT count(*) FROM v2_many_row_groups m WHERE m.id = amount)",
		"EXISTS (SELECT 1 FROM orders p WHERE p.region = o.region HAVING count(*) = 0)",
		"id - 4 IN (SELECT count(*) FROM orders p WHERE p.region = o.region)",
		"EXISTS (SELECT p.region FROM orders p WHERE p.region = o.region LIMIT 1 OFFSET 1)",
		"EXISTS (SELECT p.id FROM orders p WHERE p.region = o.region QUALIFY row_number() OVER (ORDER BY p.id) > 1)",
		"id IN (SELECT row_number() OVER (ORDER BY p.id) FROM orders p WHERE p.region = o.region)",
		"EXISTS (SELECT 1 FROM (SELECT count(*) AS n FROM orders p WHERE p.region = o.region) x)",
		"EXISTS (SELECT 1 FROM orders q JOIN (SELECT region, count(*) AS n FROM orders p WHERE p.id <> o.id GROUP BY region) x ON q.region = x.region)",
		"EXISTS (SELECT p.region FROM orders p WHERE p.id >= o.id GROUP BY p.region HAVING count(*) > 1)",
		"EXISTS (SELECT p.id FROM orders p JOIN (SELECT id FROM orders o LIMIT 1) q ON p.id = q.id WHERE p.region = o.region LIMIT 1)",
		"id NOT IN (SELECT p.id FROM orders p WHERE p.region = o.region)",
		"EXISTS (SELECT 1 FROM orders p WHERE p.region = o.region AND EXISTS (SELECT 1 FROM v2_many_row_groups m WHERE m.id = p.id AND m.id = o.id))",
		"id IN (SELECT p.id FROM orders p JOIN orders q ON p.id = q.id AND EXISTS (SELECT 1 FROM v2_many_row_groups m WHERE m.id = q.id))",
		"EXISTS (SELECT p.region FROM orders p WHERE p.region = o.region GROUP BY ROLLUP (p.region))",
		"(SELECT max(p.id) FROM orders p WHERE p.region = o.region HAVING count(*) = 0) IS NULL",
		"NOT (id > 2 AND region IN (SELECT p.region FROM orders p WHERE p.id <> 3))",
		"id = 9 OR region NOT IN (SELECT p.region FROM orders p WHERE p.id IN (3, 4))",
		"CASE WHEN region IN (SELECT p.region FROM orders p WHERE p.id <> 3) THEN 1 END = 1",
	} {
		text := "SELECT id FROM orders o WHERE " + where
		if rows, err := alone.Rows(t.Context(), text, hide); kindIs(err) != executors.KindUnsupported {
			t.Errorf("%s: %v, %v", text, rows, err)
		}
		if _, err := local.Rows(t.Context(), text, hide); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
