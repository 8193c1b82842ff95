package ballista

import (
	"testing"

	"gatehouse/executors/ballista/cluster"
	"gatehouse/executors/duckdb/tpc"
	"gatehouse/executors/executortest"
)

// overCounted is the cluster and the other executor over TPC-H, where sides of joins are counted that are a hundredth of what else are.
func overCounted(t *testing.T) (distributed, local *executortest.Pipeline) {
	t.Helper()
	c, dir := startWith(t, cluster.Config{Copied: 64 << 10}), folderOf(t, tpc.TPCH)
	distributed = executortest.Over(t, c.opener(t, func(c *Config) { c.GroupBytes = 4 << 20 }), dir, string(tpc.TPCH))
	return distributed, executortest.Over(t, inProcess(t), dir, string(tpc.TPCH))
}

// TestCounted: rows that a join cannot use are left out by the rows of its other side, once these are counted and few. If they are not, all are moved, and
// the rows of the result are the same.
func TestCounted(t *testing.T) {
	distributed, local := overCounted(t)
	x := distributed.Executor.(*Executor)
	const (
		few    = "FROM (SELECT * FROM orders, customer WHERE o_custkey = c_custkey AND c_nationkey = 3 AND o_orderdate < DATE '1992-02-01') o "
		single = "FROM (SELECT * FROM orders WHERE o_comment LIKE '%special%requests%') o "
		many   = "FROM (SELECT * FROM orders WHERE o_totalprice > 1000) o "
		none   = "FROM (SELECT * FROM orders, customer WHERE o_custkey = c_custkey AND c_mktsegment = 'none' AND o_orderdate < DATE '1992-02-01') o "
		parts  = "FROM (SELECT p_partkey, count(*) AS n FROM part WHERE p_size = 7 AND p_brand = 'Brand#13' GROUP BY p_partkey) p "
		late   = "(SELECT 1 FROM lineitem l WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)"
		left   = "LEFT JOIN lineitem l ON l_orderkey = o_orderkey AND l_quantity > o_custkey % 50"
		sums   = "SELECT count(*) AS n, sum(o_orderkey) AS s, min(o_clerk) AS c "
	)
	for _, c := range []struct {
		text  string
		moved bool // all rows of lineitem that meet conditions are
	}{
		{sums + few + "WHERE EXISTS " + late, false},
		{sums + few + "WHERE NOT EXISTS " + late, false},
		{sums + few + "WHERE o_custkey < 5000 OR EXISTS " + late, false},
		{sums + few + "WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem WHERE l_quantity > 30)", false},
		{sums + few + "WHERE EXISTS " + late + " AND NOT EXISTS (SELECT 1 FROM lineitem l WHERE l_orderkey = o_orderkey AND l_returnflag = 'R')", false},
		{sums + few + "WHERE EXISTS (SELECT 1 FROM lineitem l WHERE l_orderkey = o_orderkey AND l_suppkey <> o_custkey)", false},
		{sums + ", sum(l_quantity) AS q, count(l_orderkey) AS l " + few + left, false},
		{"SELECT o_orderkey AS k, l_linenumber AS l, l_quantity AS q FROM lineitem RIGHT JOIN (SELECT o_orderkey " + few + ") o ON l_orderkey = o_orderkey", false},
		{sums + single + "WHERE EXISTS " + late, false},
		{sums + ", sum(l_quantity) AS q " + single + left, false},
		{"SELECT count(*) AS k, sum(n) AS n " + parts + "WHERE p_partkey IN (SELECT l_partkey FROM lineitem WHERE l_quantity > 49)", false},
		{"SELECT count(*) AS k, sum(n) AS n " + parts + "WHERE p_partkey NOT IN (SELECT l_partkey FROM lineitem WHERE l_quantity > 49)", false},
		{"SELECT count(*) AS n, sum(a.v) AS v FROM (SELECT p_partkey AS k, count(*) AS v FROM part WHERE p_size = 7 AND p_brand = 'Brand#13' GROUP BY p_partkey) a WHERE a.k NOT IN (SELECT b.k FROM (SELECT l_partkey AS k, l_quantity AS w FROM lineitem) b WHERE b.w > 49)", false},
		{sums + none + "WHERE NOT EXISTS " + late, false},
		{sums + ", sum(l_quantity) AS q " + none + left, false},
		{sums + many + "WHERE EXISTS " + late, true},
		{sums + many + "WHERE NOT EXISTS " + late, true},
		{sums + ", sum(l_quantity) AS q, count(l_orderkey) AS l " + many + left, true},
	} {
		t.Run(c.text, func(t *testing.T) {
			for _, d := range []executortest.Policy{nil, keysWithNull} {
				sameRows(t, distributed, local, d, c.text)
				heard(t, x)
				read, moved := rowsOf(x.watch.list()[0].job, "lineitem")
				if few := moved*10 <= read; few == c.moved {
					t.Errorf("%d of %d rows of lineitem are moved", moved, read)
				}
			}
		})
	}
}

// TestCountedAnyhow: the forms of TestRowsLeftOutAnyhow, and queries of TPC-H, where sides of joins are counted.
func TestCountedAnyhow(t *testing.T) {
	distributed, local := overCounted(t)
	agree(t, distributed, local, keysWithNull, joinForms(43)...)
	benchmarkOver(t, distributed, local, tpc.TPCH, 22, []demands{{"hiding", hiding, 1, 0}})
}
