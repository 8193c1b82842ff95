package ballista

import (
	"testing"

	"gatehouse/executors"
	"gatehouse/executors/executortest"
	"gatehouse/policy"
)

// TestNested reads structs, lists and maps under policies: whole, their fields, and whether they are there, as fields were renamed, widened, added and
// removed. What would compare them is refused.
func TestNested(t *testing.T) {
	alone, local := twins(t)
	demand := func(table, filter, column, mask string) executortest.Policy {
		d := policy.Decision{ID: "d"}
		if filter != "" {
			d.Filters = []policy.Expression{{ID: "f", SQL: filter}}
		}
		if column != "" {
			d.Masks = map[string]policy.Expression{column: {ID: "m", SQL: mask}}
		}
		return executortest.Policy{table: d}
	}
	for _, c := range []struct {
		text    string
		demands executortest.Policy
	}{
		{"SELECT * FROM spark.nested_plain", demand("spark.nested_plain", "id <> 1", "", "")},
		{"SELECT * FROM spark.nested_plain", demand("spark.nested_plain", "", "s", "NULL")},
		{"SELECT id, l, m FROM spark.nested_plain WHERE s IS NOT NULL", nil},
		{"SELECT id, s.d AS d, s.dec AS x, req.n AS n, s.t AS t, s.l AS l FROM spark.nested_plain", nil},
		{"SELECT id FROM spark.nested_plain WHERE s.dec > 1 AND l IS NOT NULL", demand("spark.nested_plain", "id < 2", "", "")},
		{"SELECT * FROM java.defaults_v3", demand("java.defaults_v3", "id <> 3", "", "")},
		{"SELECT * FROM java.defaults_v3", demand("java.defaults_v3", "st IS NULL OR i = 42", "id", "7")},
		{"SELECT st.a AS a, count(*) AS n, count(st) AS c, sum(st.b) AS s FROM java.defaults_v3 GROUP BY st.a ORDER BY a", demand("java.defaults_v3", "id <> 1", "", "")},
		{"SELECT a.id, b.st, b.st.a + 1 AS x, b.uid FROM java.defaults_v3 a LEFT JOIN java.defaults_v3 b ON a.id = b.id + 1", demand("java.defaults_v3", "id <> 3", "", "")},
		{"SELECT id, st FROM spark.imported_name_mapping WHERE coalesce(st.aa, 1) = 1 ORDER BY id DESC LIMIT 2", demand("spark.imported_name_mapping", "id <> 2", "", "")},
		{"SELECT st.y AS y, st.x AS x, st FROM py.promoted", demand("py.promoted", "i > 1", "f", "NULL")},
		{"SELECT count(*) AS n FROM spark.required_cols WHERE st.b IS NULL", demand("spark.required_cols", "id < 3", "", "")},
		{"SELECT id, row_number() OVER (PARTITION BY st.a ORDER BY st.b, id) AS n, st FROM java.defaults_v3", nil},
		{"SELECT x.st.b AS b FROM (SELECT st, id FROM java.defaults_v3 ORDER BY id LIMIT 2) x", nil},
	} {
		if !alike(t, alone, local, c.text, c.demands) {
			t.Errorf("%s: no rows", c.text)
		}
	}
	for _, text := range []string{
		"SELECT DISTINCT st FROM java.defaults_v3",
		"SELECT st, count(*) AS n FROM java.defaults_v3 GROUP BY st",
		"SELECT id FROM java.defaults_v3 ORDER BY st",
		"SELECT a.id FROM java.defaults_v3 a JOIN java.defaults_v3 b ON a.st = b.st",
		"SELECT st FROM java.defaults_v3 UNION ALL SELECT st FROM java.defaults_v3",
		"SELECT st FROM java.defaults_v3 EXCEPT SELECT st FROM java.defaults_v3",
		"SELECT coalesce(st, st) AS x FROM java.defaults_v3",
		"SELECT max(st) AS x FROM java.defaults_v3",
		"SELECT count(DISTINCT st) AS x FROM java.defaults_v3",
		"SELECT lag(st) OVER (ORDER BY id) AS x FROM java.defaults_v3",
		"SELECT id FROM java.defaults_v3 WHERE st IN (SELECT st FROM java.defaults_v3)",
		"SELECT (SELECT st FROM java.defaults_v3 WHERE id = 1) AS x",
		"SELECT CASE WHEN id > 1 THEN st END AS x FROM java.defaults_v3",
		"SELECT CAST(st AS VARCHAR) AS x FROM java.defaults_v3",
		"SELECT l[1] AS x FROM spark.nested_plain",
		"SELECT m[1] AS x FROM spark.nested_plain",
		"SELECT len(l) AS x FROM spark.nested_plain",
		"SELECT unnest(l) AS x FROM spark.nested_plain",
	} {
		if _, err := local.Rows(t.Context(), text, nil); err != nil {
			t.Errorf("%s: not even in the other executor: %v", text, err)
		}
		_, err := alone.Rows(t.Context(), text, nil)
		if kindIs(err) != executors.KindUnsupported {
			t.Errorf("%s: %v", text, err)
		} else {
			t.Logf("%s: %v", text, err)
		}
	}
}
