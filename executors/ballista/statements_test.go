package ballista

import (
	"errors"
	"testing"

	"gatehouse/executors"
	"gatehouse/executors/executortest"
	"gatehouse/policy"
)

// TestStatementsAlone compares forms of statements on the cluster alone with the other executor, with and without hidden rows.
func TestStatementsAlone(t *testing.T) {
	alone, local := twins(t)
	hide := executortest.Policy{"spark.v2_many_row_groups": {ID: "d", Filters: []policy.Expression{{ID: "f", SQL: "id % 5 <> 1"}}}}
	const t1 = " FROM v2_many_row_groups"
	for _, text := range []string{
		"SELECT id, sum(id) OVER w AS s, rank() OVER w AS r" + t1 + " WHERE id < 50 WINDOW w AS (PARTITION BY id % 3 ORDER BY id DESC)",
		"SELECT id" + t1 + " WHERE id < 90 QUALIFY row_number() OVER (PARTITION BY id % 4 ORDER BY id) = 2",
		"SELECT id % 2 AS a, id % 3 AS b, count(*) AS n, grouping(id % 2, id % 3) AS g" + t1 + " GROUP BY CUBE (id % 2, id % 3)",
		"SELECT id % 2 AS a, id % 3 AS b, sum(id) AS n" + t1 + " GROUP BY ROLLUP (id % 2, id % 3)",
		"SELECT id % 2 AS a, id % 3 AS b, max(id) AS n" + t1 + " GROUP BY GROUPING SETS ((id % 2), (id % 3), ())",
		"SELECT count(*) AS n" + t1 + " WHERE id < 0 GROUP BY ROLLUP (id)",
		"SELECT avg(DISTINCT id % 7) AS a, count(DISTINCT id % 7) AS c, sum(id) FILTER (WHERE id < 10) AS s" + t1,
		"SELECT id, (SELECT max(b.id) FROM v2_many_row_groups b WHERE b.id < 10) AS m" + t1 + " a WHERE id < 5",
		"SELECT DISTINCT id / 2 AS x" + t1 + " WHERE id < 20",
		"SELECT DISTINCT (id > 7) IS NOT FALSE AS a, (CASE WHEN id % 3 = 1 THEN id END > 7) IS UNKNOWN AS b" + t1 + " WHERE id < 20",
		"SELECT (CASE WHEN id % 3 = 1 THEN id END > 7) IS NOT TRUE AS a, count(*) AS n" + t1 + " WHERE id < 20 GROUP BY 1",
		"SELECT x, count(*) AS n FROM (SELECT CAST(id % 3 AS DOUBLE) AS x" + t1 + ") t GROUP BY x",
		"SELECT id" + t1 + " WHERE DATE '2020-01-01' + CAST(id AS INTEGER) < DATE '2020-01-10' + INTERVAL '1' DAY",
		"SELECT id" + t1 + " WHERE DATE '2020-01-01' + CAST(id AS INTEGER) BETWEEN '2020-01-03' AND DATE '2020-01-10' + INTERVAL '36' HOUR",
		"SELECT id" + t1 + " WHERE DATE '2020-01-01' + CAST(id AS INTEGER) IN (DATE '2020-01-03' - INTERVAL '1' DAY, TIMESTAMP '2020-01-05 12:00:00')",
		"SELECT CAST(id AS BIGINT) AS x, count(*) AS n" + t1 + " WHERE CAST(id AS BIGINT) < 9 GROUP BY CAST(id AS BIGINT) ORDER BY CAST(id AS BIGINT)",
		"SELECT b.id" + t1 + " b WHERE b.id < 30 AND EXISTS (SELECT 1" + t1 + " c WHERE c.id = b.id + 1 AND (SELECT b.id) < c.id)",
		"SELECT -id AS id" + t1 + " WHERE id < 90 ORDER BY id LIMIT 3",
		"SELECT -id AS i" + t1 + " WHERE id < 90 ORDER BY id + 0, i + 1 LIMIT 3",
		"SELECT 50 - id AS id, count(*) AS n" + t1 + " WHERE id < 90 GROUP BY id HAVING id > 80",
		"SELECT v.a, v.b FROM (VALUES (1, 'x'), (2, NULL)) AS v(a, b) JOIN v2_many_row_groups t ON t.id = v.a",
		"SELECT id, lag(id, 2) OVER (ORDER BY id) AS l, last_value(id) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING) AS n" + t1 + " WHERE id < 30",
	} {
		for _, demands := range []executortest.Policy{nil, hide} {
			want, err := local.Rows(t.Context(), text, demands)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			got, err := alone.Rows(t.Context(), text, demands)
			if err != nil {
				t.Errorf("%s: %v (%v)", text, err, errors.Unwrap(err))
				continue
			}
			compare(t, got, want)
		}
	}
	for _, text := range []string{
		"SELECT id, (SELECT b.id FROM v2_many_row_groups b) AS m" + t1 + " a WHERE id < 5",
		"SELECT CAST(id * 100 AS SMALLINT) AS x" + t1,
	} {
		_, want := local.Rows(t.Context(), text, nil)
		if _, err := alone.Rows(t.Context(), text, nil); kindIs(err) != kindIs(want) || want == nil {
			t.Errorf("%s: %v, and in the other executor %v", text, err, want)
		}
	}
	for _, text := range []string{
		"SELECT sum(id) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW) AS s" + t1,
		"SELECT a.id FROM v2_many_row_groups a, v2_many_row_groups b",
		"SELECT -id AS id" + t1 + " WHERE id < 90 ORDER BY id + 0 LIMIT 3", // the column for the other executor, the output for this one
		"SELECT id % 3 AS k, -max(id) AS id" + t1 + " GROUP BY id % 3, id ORDER BY abs(id), k LIMIT 3",
		"SELECT count(*) AS n FROM v2_many_row_groups a, v2_many_row_groups b, v2_many_row_groups c",
		"SELECT count(*) AS n" + t1 + " GROUP BY GROUPING SETS ((id), (id))",
		"SELECT 'a' AS x, count(*) AS n" + t1 + " WHERE id < 0 GROUP BY ALL",
		"SELECT INTERVAL (100) DAY AS x" + t1,
		"SELECT id" + t1 + " ORDER BY (SELECT max(id)" + t1 + "), id LIMIT 1",
		"SELECT count(*) AS n" + t1 + " a LEFT JOIN LATERAL (SELECT ln(a.id) AS e) l ON l.e IS NOT NULL",
		"SELECT count(*) AS n FROM (VALUES ((SELECT max(id)" + t1 + "))) v(x)",
	} {
		if _, err := alone.Rows(t.Context(), text, nil); kindIs(err) != executors.KindUnsupported {
			t.Errorf("%s: %v", text, err)
		}
	}
}
