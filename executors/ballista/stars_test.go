package ballista

import (
	"strings"
	"testing"

	"gatehouse/executors"
	"gatehouse/executors/executortest"
	"gatehouse/policy"
)

// TestStars: stars with EXCLUDE, REPLACE and RENAME, which DataFusion does not parse, are columns by then: those that a policy leaves, with its masks, on both
// executors.
func TestStars(t *testing.T) {
	alone, local := twins(t)
	masked := executortest.Policy{"spark.orders": {
		ID: "d", Filters: []policy.Expression{{ID: "f", SQL: "id % 3 <> 2"}}, Masks: map[string]policy.Expression{"customer": {ID: "m", SQL: "upper(customer)"}},
	}}
	texts := []string{
		"SELECT * EXCLUDE (amount) FROM orders",
		"SELECT o.* EXCLUDE (id) RENAME (customer AS who) REPLACE (o.amount * 2 AS amount), p.id FROM orders o JOIN orders p ON o.id = p.id + 1 ORDER BY who, p.id",
		"SELECT * EXCLUDE (amount), 1 AS one FROM orders, v2_many_row_groups m WHERE m.id = orders.id",
		"WITH q AS (SELECT * REPLACE (id + 1 AS id) FROM orders), r AS (SELECT * EXCLUDE (amount) FROM q) SELECT * RENAME (id AS n) FROM r WHERE id > 1",
		"SELECT customer, n FROM (SELECT * EXCLUDE (amount) RENAME (id AS n) FROM orders) s",
		"SELECT count(*) AS n FROM (SELECT * EXCLUDE (amount) FROM orders) s",
		"SELECT id FROM orders o WHERE EXISTS (SELECT p.* EXCLUDE (id) FROM orders p WHERE p.id = o.id + 1)",
		"SELECT * EXCLUDE (amount) FROM orders UNION ALL SELECT * EXCLUDE (amount) REPLACE ('x' AS customer) FROM orders",
	}
	width := func() int {
		t.Helper()
		widest := 0
		for _, p := range []*executortest.Pipeline{local, alone} {
			rows, err := p.Rows(t.Context(), texts[0], masked)
			if err != nil || len(rows) == 0 {
				t.Fatal(rows, err)
			}
			widest = max(widest, len(rows[0]))
		}
		return widest
	}
	agree(t, alone, local, masked, texts...)
	if n := width(); n != 3 {
		t.Errorf("%d columns", n)
	}
	for _, p := range []*executortest.Pipeline{local, alone} {
		p.Hidden = []string{"spark.orders.region"}
	}
	t.Run("hidden", func(t *testing.T) { agree(t, alone, local, masked, texts...) })
	if n := width(); n != 2 {
		t.Errorf("%d columns with a hidden one", n)
	}
	_, err := local.Rows(t.Context(), "SELECT * EXCLUDE (region) FROM orders", nil)
	_, absent := local.Rows(t.Context(), "SELECT * EXCLUDE (nothere) FROM orders", nil)
	if err == nil || absent == nil || strings.ReplaceAll(absent.Error(), "nothere", "region") != err.Error() {
		t.Errorf("the hidden column: %v, and one that is not there: %v", err, absent)
	}
	// What has no name of its own cannot be written.
	for _, text := range []string{
		"SELECT * EXCLUDE (x) FROM (SELECT id, 1, 2 AS x FROM orders) s", "SELECT s.* EXCLUDE (b) FROM (SELECT id AS a, id + 1 AS a, 2 AS b FROM orders) s",
	} {
		if rows, err := alone.Rows(t.Context(), text, nil); kindIs(err) != executors.KindUnsupported {
			t.Errorf("%s: %v, %v", text, rows, err)
		}
		if rows, err := local.Rows(t.Context(), text, nil); err != nil || len(rows) == 0 {
			t.Errorf("%s: %v, %v", text, rows, err)
		}
	}
}
