package ballista

import (
	"errors"
	"testing"

	"gatehouse/executors/executortest"
	"gatehouse/policy"
)

// manyTasks is the cluster alone, with small task groups, and the other executor, over the same tables.
func manyTasks(t testing.TB) (alone, local *executortest.Pipeline) {
	t.Helper()
	alone = executortest.Zoo(t, sharedCluster(t).opener(t, func(c *Config) { c.GroupBytes = 4 << 10 }))
	return alone, executortest.Zoo(t, inProcess(t))
}

// hidingMany hides rows of the table that manyTasks reads in many tasks.
var hidingMany = executortest.Policy{"spark.v2_many_row_groups": {ID: "d", Filters: []policy.Expression{{ID: "f", SQL: "id % 5 <> 1"}}}}

// agree compares statements between executors, without a policy and with one.
func agree(t *testing.T, alone, local *executortest.Pipeline, demands executortest.Policy, texts ...string) {
	t.Helper()
	for _, text := range texts {
		t.Run(text, func(t *testing.T) {
			for _, d := range []executortest.Policy{nil, demands} {
				sameRows(t, alone, local, d, text)
			}
		})
	}
}

// sameRows runs a statement in both executors.
func sameRows(t *testing.T, alone, local *executortest.Pipeline, demands executortest.Policy, text string) {
	t.Helper()
	want, err := local.Rows(t.Context(), text, demands)
	if err != nil {
		t.Fatal(err)
	}
	got, err := alone.Rows(t.Context(), text, demands)
	if err != nil {
		t.Fatalf("%v (%v)", err, errors.Unwrap(err))
	}
	compare(t, got, want)
}

// TestUnions: where several tasks read a table, a part of a UNION that is gathered comes once, not once for each task, and one without a table
// does not keep the statement from ending.
func TestUnions(t *testing.T) {
	alone, local := manyTasks(t)
	const t1 = " FROM v2_many_row_groups"
	agree(t, alone, local, hidingMany,
		"SELECT id"+t1+" WHERE id < 20 UNION SELECT 700 ORDER BY 1",
		"SELECT 700 AS id UNION ALL SELECT id"+t1+" WHERE id < 20",
		"SELECT count(*) AS n FROM (SELECT 1 AS x UNION ALL SELECT 2 UNION ALL SELECT id"+t1+") u",
		"SELECT id"+t1+" WHERE id < 20 UNION ALL SELECT id"+t1+" WHERE id > 90",
		"SELECT id"+t1+" WHERE id < 20 UNION ALL SELECT a.id"+t1+" a JOIN (SELECT id"+t1+" WHERE abs(id) < 0 GROUP BY id) b ON a.id = b.id UNION ALL SELECT max(id)"+t1+" GROUP BY id % 3",
		"SELECT x.id FROM (SELECT a.id"+t1+" a JOIN (SELECT id"+t1+" WHERE abs(id) < 0 GROUP BY id) b ON a.id = b.id GROUP BY a.id) x WHERE x.id > (SELECT avg(id)"+t1+")",
		"SELECT count(*) AS n"+t1+" GROUP BY id % 3 UNION ALL SELECT id % 5"+t1,
		"SELECT count(*) AS n"+t1+" WHERE id < 20 UNION ALL SELECT count(id)"+t1,
		"SELECT sum(n) AS n FROM (SELECT count(*) AS n"+t1+" UNION ALL SELECT id"+t1+") u",
		"SELECT max(id) AS m"+t1+" UNION SELECT max(id) + 0"+t1+" WHERE id < 10",
		"SELECT id"+t1+" WHERE id < 0 UNION ALL SELECT count(*)"+t1+" WHERE id < 0",
		"SELECT id FROM (SELECT id"+t1+" ORDER BY id LIMIT 3) a UNION ALL SELECT id"+t1+" WHERE id % 100 = 1",
		"SELECT id FROM (SELECT id"+t1+" ORDER BY id LIMIT 3) a UNION ALL SELECT id"+t1+" WHERE id % 100 = 2 UNION ALL SELECT count(*)"+t1+" UNION ALL SELECT 7",
		"SELECT id"+t1+" EXCEPT (SELECT id"+t1+" WHERE id > 5 ORDER BY id LIMIT 100000)",
		"SELECT x FROM (VALUES (CAST(1 AS BIGINT)), (CAST(2 AS BIGINT))) v(x) UNION ALL SELECT id"+t1+" WHERE id < 5",
		"SELECT id"+t1+" WHERE id < 5 INTERSECT SELECT x FROM (VALUES (CAST(1 AS BIGINT)), (CAST(2 AS BIGINT))) v(x)",
		"SELECT rank() OVER (ORDER BY id) AS r"+t1+" WHERE id < 5 UNION ALL SELECT id"+t1+" WHERE id < 7",
		"SELECT a.id, u.n"+t1+" a JOIN (SELECT max(id) AS n"+t1+" UNION ALL SELECT min(id)"+t1+") u ON a.id = u.n",
		"SELECT n, count(*) AS c FROM (SELECT id % 3 AS n"+t1+" GROUP BY 1 UNION ALL SELECT a.id % 4"+t1+" a JOIN v2_many_row_groups b ON a.id = b.id"+
			" WHERE a.id + b.id < 0 GROUP BY 1) u GROUP BY ROLLUP (n)",
		"SELECT a.id"+t1+" a JOIN (SELECT count(*) AS n"+t1+" WHERE id < 20) u ON a.id < u.n UNION ALL SELECT id"+t1+" WHERE id < 7",
	)
}

// TestPairs: joins without equality, in which each task has all rows of the smaller side. What is said of one of those, that it has a partner or
// none, is said once, whichever side of the statement it is on.
func TestPairs(t *testing.T) {
	alone, local := manyTasks(t)
	const all, few = "v2_many_row_groups", "(SELECT id FROM v2_many_row_groups WHERE id < 10)"
	var texts []string
	for _, join := range []string{"JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"} {
		for _, sides := range [][2]string{{all, few}, {few, all}, {few, few}} {
			texts = append(texts, "SELECT count(*) AS n, sum(a.id) AS a, sum(b.id) AS b FROM "+sides[0]+" a "+join+" "+sides[1]+" b ON a.id > b.id + 5")
		}
	}
	for _, exists := range []string{"EXISTS", "NOT EXISTS"} {
		texts = append(texts,
			"SELECT count(*) AS n, sum(id) AS s FROM "+all+" a WHERE "+exists+" (SELECT 1 FROM "+few+" b WHERE b.id > a.id + 5)",
			"SELECT count(*) AS n, sum(id) AS s FROM "+few+" a WHERE "+exists+" (SELECT 1 FROM "+all+" b WHERE b.id < a.id)",
			"SELECT count(*) AS n FROM "+few+" a WHERE "+exists+" (SELECT 1 FROM "+all+" b WHERE b.id < a.id) OR a.id = 0",
			"SELECT count(*) AS n FROM "+all+" a WHERE "+exists+" (SELECT 1 FROM "+few+" b WHERE b.id > a.id) OR a.id = 99",
		)
	}
	agree(t, alone, local, hidingMany, append(texts,
		"SELECT count(*) AS n FROM "+all+" a, "+all+" b",
		"SELECT count(*) AS n, sum(b.id) AS s FROM "+all+" a CROSS JOIN "+few+" b",
		"SELECT a.id, b.id AS b FROM "+all+" a, "+all+" b ORDER BY a.id, b.id LIMIT 40",
		"SELECT a.n, b.n AS m FROM (SELECT id % 3 AS n FROM "+all+" GROUP BY 1) a, (SELECT id % 4 AS n FROM "+all+" GROUP BY 1) b",
	)...)
}
