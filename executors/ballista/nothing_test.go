package ballista

import (
	"strings"
	"testing"

	"gatehouse/executors/executortest"
	"gatehouse/policy"
)

// hidingAll leaves no row of the table that manyTasks reads in many tasks.
var hidingAll = executortest.Policy{"spark.v2_many_row_groups": {ID: "d", Filters: []policy.Expression{{ID: "f", SQL: "id < 0"}}}}

// TestNothing: where a window or a join has no rows on a side, as a condition or the policy leaves none, a statement ends, with what is said of none.
func TestNothing(t *testing.T) {
	alone, local := manyTasks(t)
	const all, none = "v2_many_row_groups", "(SELECT id FROM v2_many_row_groups WHERE abs(id) < 0 GROUP BY id)"
	var texts []string
	for _, from := range []string{all, none} {
		texts = append(texts,
			"SELECT id, lag(id) OVER (PARTITION BY id % 7 ORDER BY id) AS w FROM "+from+" a",
			"SELECT sum(w) AS s FROM (SELECT sum(id) OVER (PARTITION BY id % 7) AS w FROM "+from+" a) b",
			"SELECT row_number() OVER (ORDER BY id) AS w FROM "+from+" a",
			"SELECT w, max(v) OVER (PARTITION BY w) AS x FROM (SELECT id % 2 AS w, rank() OVER (PARTITION BY id % 7 ORDER BY id) AS v FROM "+from+" a) b",
			"SELECT b.id, count(w) OVER (PARTITION BY b.id % 3) AS n FROM "+all+" b LEFT JOIN (SELECT id, lag(id) OVER (PARTITION BY id % 7 ORDER BY id) AS w FROM "+from+" a) c ON b.id = c.id",
			"SELECT id % 7 AS k, count(*) AS n FROM "+from+" a GROUP BY ROLLUP (id % 7)",
			"SELECT id % 7 AS k, id % 2 AS l, sum(id) AS n FROM "+from+" a GROUP BY GROUPING SETS ((id % 7), (id % 2), ())",
			"SELECT n, sum(n) OVER (PARTITION BY k) AS s FROM (SELECT id % 7 AS k, count(*) AS n FROM "+from+" a GROUP BY ROLLUP (id % 7)) b",
		)
	}
	for _, join := range []string{"JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"} {
		for _, sides := range [][2]string{{all, none}, {none, all}, {none, none}} {
			from := " FROM " + sides[0] + " a " + join + " " + sides[1] + " b ON a.id = b.id"
			texts = append(texts,
				"SELECT count(*) AS n, sum(a.id) AS a, sum(b.id) AS b"+from+" AND a.id + b.id > 9",
				"SELECT b.id % 7 AS k, a.id, lead(a.id) OVER (PARTITION BY b.id % 7 ORDER BY a.id, b.id) AS w"+from,
			)
		}
	}
	for _, in := range []string{"EXISTS", "NOT EXISTS"} {
		for _, sides := range [][2]string{{all, none}, {none, all}} {
			texts = append(texts,
				"SELECT count(*) AS n, sum(id) AS s FROM "+sides[0]+" a WHERE "+in+" (SELECT 1 FROM "+sides[1]+" b WHERE a.id = b.id)",
				"SELECT count(*) AS n, sum(id) AS s FROM "+sides[0]+" a WHERE "+in+" (SELECT 1 FROM "+sides[1]+" b WHERE a.id = b.id) OR id % 5 = 2",
				"SELECT count(*) AS n FROM "+sides[0]+" a WHERE id "+strings.Replace(in, "EXISTS", "IN", 1)+" (SELECT id FROM "+sides[1]+" b)",
			)
		}
	}
	agree(t, alone, local, hidingAll, append(texts,
		"SELECT a.id % 7 AS k, count(b.id) AS n FROM "+all+" a FULL JOIN "+none+" b ON a.id = b.id GROUP BY 1",
		"SELECT id FROM "+none+" a UNION ALL SELECT id FROM "+all+" b INTERSECT SELECT id FROM "+none+" c",
		"SELECT count(*) AS n FROM "+all+" a0"+chain("LEFT JOIN", none, 12),
		"SELECT count(*) AS n FROM "+all+" a0"+chain("JOIN", none, 12),
		"SELECT count(*) AS n FROM "+all+" a0"+chain("FULL JOIN", none, 12),
	)...)
}

// chain joins a relation so many times.
func chain(join, relation string, n int) string {
	var b strings.Builder
	for i := range n {
		to := string(rune('a' + i + 1))
		from := string(rune('a' + i))
		b.WriteString(" " + join + " " + relation + " " + to + "0 ON " + from + "0.id = " + to + "0.id")
	}
	return b.String()
}
