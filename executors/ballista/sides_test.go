package ballista

import (
	"testing"

	"gatehouse/executors/duckdb/tpc"
)

// TestSides: a plan that is made anew after a stage has the sides of its joins where that stage had them. The first three of these relations are joined in one
// stage, over the parts of lineitem; with customer on the other side it would be one part, and the next stage would read one of what were many.
func TestSides(t *testing.T) {
	distributed, local := overBoth(t, tpc.TPCH, 6<<20)
	agree(t, distributed, local, hiding,
		`SELECT c_nationkey, count(*), sum(l_quantity), sum(l_extendedprice), sum(l_discount), sum(l_tax), sum(ps_availqty) FROM part
			JOIN lineitem ON p_partkey = l_partkey JOIN customer ON l_suppkey = c_custkey JOIN partsupp ON l_partkey = ps_partkey AND l_suppkey = ps_suppkey
			JOIN orders ON o_orderkey = l_orderkey WHERE p_name LIKE '%green%' GROUP BY c_nationkey`,
		`SELECT n_name, o_orderdate, l_extendedprice, l_discount, ps_supplycost, l_quantity
			FROM part, supplier, lineitem, partsupp, orders, nation
			WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey AND p_partkey = l_partkey AND o_orderkey = l_orderkey
			AND s_nationkey = n_nationkey AND p_name LIKE '%green%'`)
}
