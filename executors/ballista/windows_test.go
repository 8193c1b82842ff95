package ballista

import (
	"fmt"
	"strings"
	"testing"

	"gatehouse/executors"
)

// TestWindows compares frames and functions of windows, over orders with equal rows and NULL. Only what such rows do not leave open is compared.
func TestWindows(t *testing.T) {
	alone, local := manyTasks(t)
	const from = " FROM (SELECT id, CASE WHEN id % 11 <> 4 THEN id % 37 END AS k, CASE WHEN id % 7 <> 3 THEN id END AS v," +
		" CAST(id % 89 AS DOUBLE) / 7 AS x FROM v2_many_row_groups WHERE id < 500) t"
	var texts []string
	for _, frame := range []string{
		"RANGE BETWEEN 2 PRECEDING AND 3 FOLLOWING", "RANGE 4 PRECEDING", "RANGE BETWEEN CURRENT ROW AND 2 FOLLOWING",
		"RANGE BETWEEN 5 PRECEDING AND 2 PRECEDING", "RANGE BETWEEN 2 FOLLOWING AND 4 FOLLOWING", "RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
		"RANGE BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING", "GROUPS BETWEEN 1 PRECEDING AND 2 FOLLOWING", "GROUPS 3 PRECEDING",
		"GROUPS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", "GROUPS BETWEEN 3 PRECEDING AND 1 PRECEDING", "GROUPS BETWEEN 1 FOLLOWING AND 2 FOLLOWING",
		"GROUPS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
	} {
		for _, order := range []string{"k", "k DESC", "CAST(k AS BIGINT) NULLS FIRST"} {
			over := fmt.Sprintf(" OVER (PARTITION BY id %% 3 ORDER BY %s %s)", order, frame)
			texts = append(texts, "SELECT id, count(*)"+over+" AS c, sum(v)"+over+" AS s, max(v)"+over+" AS m, sum(x)"+over+" AS x, avg(x)"+over+" AS a"+from)
		}
	}
	const moving = " OVER (PARTITION BY id % 3 ORDER BY k RANGE BETWEEN 2 PRECEDING AND 3 FOLLOWING)"
	texts = append(texts, "SELECT id, stddev(x)"+moving+" AS a, stddev_pop(v)"+moving+" AS b, variance(x)"+moving+" AS c, var_pop(x)"+moving+" AS d"+from)
	for _, call := range []string{
		"lag(v IGNORE NULLS)", "lag(v, 3 IGNORE NULLS)", "lag(v, 2, CAST(-7 AS BIGINT) IGNORE NULLS)", "lead(v IGNORE NULLS)", "lead(v, 3, CAST(-7 AS BIGINT) IGNORE NULLS)", "lag(v, 0 IGNORE NULLS)",
		"first_value(v IGNORE NULLS)", "last_value(v IGNORE NULLS)", "nth_value(v, 2 IGNORE NULLS)",
	} {
		texts = append(texts, "SELECT id, "+call+" OVER (PARTITION BY id % 3 ORDER BY id) AS a, "+call+" OVER (ORDER BY id DESC) AS b"+from)
	}
	for _, call := range []string{"first_value(v IGNORE NULLS)", "last_value(v IGNORE NULLS)", "nth_value(v, 2 IGNORE NULLS)", "nth_value(v, 3)"} {
		texts = append(texts, "SELECT id, "+call+" OVER (PARTITION BY id % 3 ORDER BY id ROWS BETWEEN 3 PRECEDING AND 2 FOLLOWING) AS a, "+
			call+" OVER (ORDER BY id RANGE BETWEEN 3 PRECEDING AND 2 FOLLOWING) AS b"+from)
	}
	agree(t, alone, local, hidingMany, append(texts,
		"SELECT id, sum(x) OVER (PARTITION BY id % 3) AS s, avg(x) OVER () AS a, avg(v) OVER () AS v, sum(x) FILTER (WHERE id % 2 = 0) OVER () AS f"+from,
		"SELECT id, sum(v) OVER w AS s, count(v) OVER w AS c, count(*) OVER w AS n, min(x) OVER w AS m, avg(x) OVER w AS a,"+
			" sum(v) FILTER (WHERE id % 4 = 1) OVER w AS fs, count(v) FILTER (WHERE id % 4 = 1) OVER w AS fc, count(*) FILTER (WHERE v > 9) OVER w AS fn,"+
			" min(x) FILTER (WHERE id % 4 = 1) OVER w AS fm, avg(x) FILTER (WHERE id % 4 = 1) OVER w AS fa"+
			from+" WINDOW w AS (PARTITION BY id % 3 ORDER BY id ROWS BETWEEN 3 PRECEDING AND 1 FOLLOWING)",
		"SELECT id, sum(x) OVER (PARTITION BY id % 3 RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS s"+from,
		// One order, and several frames with ends that are checked.
		"SELECT id, sum(v) OVER (ORDER BY k) AS s, count(*) OVER (ORDER BY k RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS r, count(*) OVER (ORDER BY k GROUPS 1 PRECEDING) AS g,"+
			" rank() OVER (ORDER BY k) AS n, count(v) OVER (ORDER BY k RANGE BETWEEN 2 PRECEDING AND 1 PRECEDING) AS p, max(v) OVER (ORDER BY k) AS m"+from,
		"SELECT id, max(v) OVER (PARTITION BY id % 3 ORDER BY k DESC RANGE 2 PRECEDING) AS s, sum(v) OVER (PARTITION BY id % 3 ORDER BY k DESC) AS r"+from+
			" QUALIFY count(*) OVER (PARTITION BY id % 3 ORDER BY k DESC RANGE BETWEEN CURRENT ROW AND 1 FOLLOWING) > 5",
	)...)
}

// TestOnePartition: where a column of a window's partitions has one value, or that of another one, they are found all the same.
func TestOnePartition(t *testing.T) {
	alone, local := manyTasks(t)
	const from = " FROM (SELECT id, id % 7 AS k, id % 3 AS g, 5 AS c FROM v2_many_row_groups) t"
	agree(t, alone, local, hidingMany,
		"SELECT id, n FROM (SELECT id, k, row_number() OVER (PARTITION BY k ORDER BY id DESC) AS n"+from+") x WHERE k = 2 AND n < 9",
		"SELECT id, sum(id) OVER (PARTITION BY g, k ORDER BY id) AS a, count(*) OVER (PARTITION BY k) AS n, rank() OVER (PARTITION BY k, g ORDER BY id DESC) AS r"+from+" WHERE k = 2",
		"SELECT id, sum(id) OVER (PARTITION BY g ORDER BY k, id) AS a, rank() OVER (PARTITION BY k ORDER BY k) AS r, count(*) OVER (PARTITION BY c, k ORDER BY id) AS n"+from+" WHERE k = 2 AND g = 1",
		"SELECT a.id, count(*) OVER (PARTITION BY a.k, b.k ORDER BY a.id, b.id) AS n, max(b.id) OVER (PARTITION BY b.k, a.k) AS m FROM (SELECT id, k"+from+" WHERE id < 90) a JOIN (SELECT id, k"+from+" WHERE id < 40) b ON a.k = b.k",
		"SELECT k, sum(n) OVER (PARTITION BY k ORDER BY g) AS s FROM (SELECT k, g, count(*) AS n"+from+" GROUP BY k, g) x WHERE k = 3",
		"SELECT id, count(*) OVER (PARTITION BY c, id) AS n"+from+" WHERE id < 200",
	)
	_, err := alone.Rows(t.Context(), "SELECT k, count(*) OVER (PARTITION BY k) AS n FROM (SELECT 5 AS k FROM v2_many_row_groups) t", hidingMany)
	if err == nil || !strings.HasSuffix(err.Error(), "a window over columns of one value") {
		t.Errorf("columns of one value: %v", err)
	}
}

// TestFarFrames: an end of a frame that is beyond the type of the order is no end, or an error, as it is in the other executor.
func TestFarFrames(t *testing.T) {
	alone, local := manyTasks(t)
	const far = " FROM (SELECT CASE WHEN id % 3 = 0 THEN 9223372036854775806 ELSE id END AS b, CASE WHEN id % 3 = 0 THEN 2147483646 WHEN id % 3 = 1 THEN -2147483648 ELSE 7 END AS i" +
		" FROM v2_many_row_groups WHERE id < 30) t"
	agree(t, alone, local, hidingMany,
		"SELECT b, count(*) OVER (ORDER BY b RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS n"+far,
		"SELECT i, count(*) OVER (ORDER BY i DESC RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS n"+far,
		"SELECT i, count(*) OVER (ORDER BY i RANGE BETWEEN CURRENT ROW AND 1 FOLLOWING) AS n"+far,
	)
	for _, text := range []string{
		"SELECT b, count(*) OVER (ORDER BY b RANGE BETWEEN 1 PRECEDING AND 2 FOLLOWING) AS n" + far,
		"SELECT b, count(*) OVER (ORDER BY b DESC RANGE BETWEEN 2 PRECEDING AND CURRENT ROW) AS n" + far,
		"SELECT i, count(*) OVER (ORDER BY i DESC RANGE BETWEEN 2 PRECEDING AND CURRENT ROW) AS n" + far,
		"SELECT i, count(*) OVER (ORDER BY i RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS n" + far,
	} {
		_, want := local.Rows(t.Context(), text, nil)
		if _, err := alone.Rows(t.Context(), text, nil); kindIs(err) != kindIs(want) || want == nil {
			t.Errorf("%s: %v, and in the other executor %v", text, err, want)
		}
	}
	for _, window := range []string{
		"count(*) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW)", "count(*) OVER (ORDER BY id RANGE BETWEEN 4 FOLLOWING AND 2 FOLLOWING)",
		"count(*) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND 4 PRECEDING)", "count(*) OVER (ORDER BY CAST(id AS DOUBLE) RANGE 1 PRECEDING)",
		"count(*) OVER (GROUPS 1 PRECEDING)", "stddev(id) OVER (PARTITION BY id % 3)", "stddev(id) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
	} {
		if _, err := alone.Rows(t.Context(), "SELECT "+window+" AS n FROM v2_many_row_groups", nil); kindIs(err) != executors.KindUnsupported {
			t.Errorf("%s: %v", window, err)
		}
	}
	for _, window := range []string{"lag(id, 1, id)", "lead(id, 2, id + 1)", "lag(id, 1, id IGNORE NULLS)"} {
		_, err := alone.Rows(t.Context(), "SELECT "+window+" OVER (ORDER BY id) AS n FROM v2_many_row_groups", nil)
		if err == nil || !strings.HasSuffix(err.Error(), "lag and lead with a value of the row in place of one that is not there") {
			t.Errorf("%s: %v", window, err)
		}
	}
}

// TestDistinctSums: sums and averages of different values of floating point.
func TestDistinctSums(t *testing.T) {
	alone, local := manyTasks(t)
	const from = " FROM (SELECT id, CASE WHEN id % 9 <> 2 THEN CAST(id % 89 AS DOUBLE) / 7 END AS x FROM v2_many_row_groups) t"
	agree(t, alone, local, hidingMany,
		"SELECT sum(DISTINCT x) AS s, avg(DISTINCT x) AS a, count(DISTINCT x) AS n, sum(x) AS w"+from,
		"SELECT id % 3 AS g, sum(DISTINCT x) AS s, avg(DISTINCT x) AS a"+from+" GROUP BY id % 3",
		"SELECT sum(DISTINCT x) AS s"+from+" WHERE id < 0",
		"SELECT sum(DISTINCT x * 0 * sign(40 - id)) AS s, count(DISTINCT x * 0 * sign(40 - id)) AS n"+from,
		"SELECT id + 12345678901234567890 AS a, 12345678901234567890123456789012345678 AS b, 1234567890123456789012345678901234567.5 AS c,"+
			" 0.1234567890123456789012345678901234567890123 AS d, id < 12345678901234567890 AS e"+from+" WHERE id < 20",
	)
}
