package ballista

import (
	"testing"

	"gatehouse/executors"
	"gatehouse/executors/executortest"
	"gatehouse/policy"
)

// TestUsing: a column that USING or NATURAL merges is the left side's, which the other executor says as well unless a row may have no left side: DataFusion would
// say NULL there, so that such joins are refused. Stars over them are spelled, as their columns would come in another order, and the merged one from any side.
func TestUsing(t *testing.T) {
	alone, local := twins(t)
	hide := executortest.Policy{"spark.orders": {ID: "d", Filters: []policy.Expression{{ID: "f", SQL: "id <> 3"}}}}
	const (
		a = "(SELECT id, customer FROM orders WHERE id < 4) a"
		b = "(SELECT id, amount FROM orders WHERE id > 1) b"
		c = "(SELECT id + 1 AS id, region FROM orders) c"
	)
	agree(t, alone, local, hide,
		"SELECT * FROM "+b+" LEFT JOIN "+a+" USING (id)",
		"SELECT * FROM (SELECT id FROM orders) z LEFT JOIN (SELECT id, id + 10 AS k FROM orders WHERE id < 3) a USING (id) LEFT JOIN (SELECT id, id + 20 AS l FROM orders) m USING (id)",
		"SELECT * FROM (SELECT id FROM orders) a LEFT JOIN (SELECT id, id + 10 AS k FROM orders WHERE id < 3) z USING (id) JOIN (SELECT id, id + 20 AS l FROM orders) m USING (id)",
		"SELECT * EXCLUDE (amount) FROM "+b+" JOIN "+a+" USING (id)",
		"SELECT * FROM "+c+" LEFT JOIN "+b+" USING (id) LEFT JOIN "+a+" USING (id)",
		"SELECT * FROM "+c+" NATURAL LEFT JOIN "+b+" NATURAL LEFT JOIN "+a,
		"SELECT x.* FROM (SELECT * FROM "+b+" LEFT JOIN "+a+" USING (id)) x WHERE EXISTS (SELECT * FROM orders o JOIN v2_many_row_groups USING (id) WHERE o.id = x.id)",
		"SELECT id, customer, amount FROM "+a+" JOIN "+b+" USING (id)",
		"SELECT * FROM "+a+" LEFT JOIN "+b+" USING (id)",
		"SELECT * FROM "+a+" NATURAL JOIN "+b,
		"SELECT * FROM "+a+" LEFT JOIN "+b+" USING (id) LEFT JOIN "+c+" USING (id)",
		"SELECT id, count(*) AS n, max(b.id) AS m FROM "+b+" JOIN "+a+" USING (id) GROUP BY id",
		"SELECT a.*, b.id AS other FROM "+a+" LEFT JOIN "+b+" USING (id)",
		"SELECT coalesce(a.id, b.id) AS id, customer, amount FROM "+a+" FULL JOIN "+b+" ON a.id = b.id",
	)
	for _, join := range []string{"RIGHT JOIN " + b + " USING (id)", "FULL JOIN " + b + " USING (id)", "NATURAL RIGHT JOIN " + b, "NATURAL FULL JOIN " + b} {
		text := "SELECT id FROM " + a + " " + join
		if rows, err := alone.Rows(t.Context(), text, hide); kindIs(err) != executors.KindUnsupported {
			t.Errorf("%s: %v, %v", text, rows, err)
		}
		if rows, err := local.Rows(t.Context(), text, hide); err != nil || len(rows) == 0 {
			t.Errorf("%s: %v, %v", text, rows, err)
		}
	}
}
