package ballista

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"gatehouse/executors/ballista/wire"
	"gatehouse/executors/duckdb/tpc"
	"gatehouse/executors/executortest"
	"gatehouse/policy"
)

// keysWithNull hides rows on both sides of joins, and leaves keys that are NULL, and there several times, on the smaller one or on both.
var keysWithNull = executortest.Policy{
	"tpch.lineitem": {ID: "l", Filters: []policy.Expression{{ID: "f", SQL: "l_shipmode <> 'AIR'"}}, Masks: map[string]policy.Expression{
		"l_suppkey": {ID: "m", SQL: "CASE WHEN l_suppkey % 3 = 0 THEN NULL ELSE l_suppkey END"},
	}},
	"tpch.part": {ID: "p", Filters: []policy.Expression{{ID: "f", SQL: "p_partkey % 7 <> 1"}}, Masks: map[string]policy.Expression{
		"p_partkey": {ID: "m", SQL: "CASE WHEN p_partkey % 5 = 0 THEN NULL ELSE p_partkey % 500 END"},
	}},
	"tpch.orders": {ID: "o", Filters: []policy.Expression{{ID: "f", SQL: "o_orderkey < 500000"}}, Masks: map[string]policy.Expression{
		"o_custkey": {ID: "m", SQL: "CASE WHEN o_custkey % 4 = 0 THEN NULL ELSE o_custkey END"},
	}},
	"tpch.customer": {ID: "c", Filters: []policy.Expression{{ID: "f", SQL: "c_nationkey <> 7"}}},
	"tpch.supplier": {ID: "s", Filters: []policy.Expression{{ID: "f", SQL: "s_nationkey <> 7"}}},
}

// TestRowsLeftOut: rows that a join cannot use are left out before they are moved, where these are many, and no result is another one for that.
func TestRowsLeftOut(t *testing.T) {
	distributed, local := overBoth(t, tpc.TPCH, 4<<20)
	x := distributed.Executor.(*Executor)
	const (
		orders   = "FROM orders o WHERE o_orderdate >= DATE '1992-01-03' AND o_orderdate < DATE '1992-01-10' AND "
		late     = "(SELECT 1 FROM lineitem l WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)"
		small    = "FROM part p WHERE p_size = 7 AND p_container = 'MED BOX'"
		none     = "FROM part p WHERE p_size = 700 AND p_container = 'MED BOX'"
		customer = "FROM customer c WHERE c_nationkey = 3 AND c_mktsegment = 'BUILDING'"
		supplier = "FROM supplier s WHERE s_nationkey = 3 AND s_name > ''"
		sums     = "(SELECT l_partkey, sum(l_quantity) AS q, count(*) AS n FROM lineitem GROUP BY l_partkey)"
	)
	const lineitem, orderly, whole, either = "lineitem", "orders", "whole", "either"
	for _, c := range []struct {
		text string
		// of is the table of which few rows are moved, whole: all that there are, either: where nothing is hidden, there are no files
		// of the keys to read, and nothing is cut.
		of string
	}{
		{"SELECT count(*) AS n, sum(o_orderkey) AS s " + orders + "EXISTS " + late, lineitem},
		{"SELECT count(*) AS n, sum(o_orderkey) AS s " + orders + "NOT EXISTS " + late, lineitem},
		{"SELECT count(*) AS n, sum(o_orderkey) AS s " + orders + "(o_custkey < 5000 OR EXISTS " + late + ")", lineitem},
		{"SELECT count(*) AS n, sum(o_orderkey) AS s " + orders + "(o_custkey < 5000 OR NOT EXISTS " + late + ")", lineitem},
		{"SELECT count(*) AS n, sum(o_orderkey) AS s " + orders + "o_orderkey NOT IN (SELECT l_orderkey FROM lineitem WHERE l_commitdate < l_receiptdate)", lineitem},
		{"SELECT s_suppkey AS k " + supplier + " AND s_suppkey IN (SELECT l_suppkey FROM lineitem WHERE l_discount > 0.09)", lineitem},
		{"SELECT s_suppkey AS k " + supplier + " AND s_suppkey NOT IN (SELECT l_suppkey FROM lineitem WHERE l_discount > 0.09 AND l_quantity > 49)", lineitem},
		{"SELECT s_suppkey AS k " + supplier + " AND NOT EXISTS (SELECT 1 FROM lineitem WHERE l_suppkey = s_suppkey AND l_discount > 0.09 AND l_quantity > 49)", lineitem},
		{"SELECT c_custkey AS k, o_orderkey AS o FROM (SELECT * " + customer + ") c LEFT JOIN orders o ON o_custkey = c_custkey AND o_totalprice > 100000", orderly},
		{"SELECT c_custkey AS k, count(o_orderkey) AS o FROM orders o RIGHT JOIN (SELECT * " + customer + ") c ON o_custkey = c_custkey GROUP BY c_custkey", orderly},
		{"SELECT c_custkey AS k " + customer + " AND NOT EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey)", orderly},
		{"SELECT p_partkey AS k, l.q, l.n FROM (SELECT * " + small + ") p JOIN " + sums + " l ON l_partkey = p_partkey", lineitem},
		{"SELECT p_partkey AS k, l.q, l.n FROM (SELECT * " + small + ") p LEFT JOIN " + sums + " l ON l_partkey = p_partkey AND q > 900", lineitem},
		{"SELECT p_partkey AS k, (SELECT count(*) FROM lineitem WHERE l_partkey = p_partkey AND l_quantity > 49) AS n " + small, lineitem},
		{"SELECT p_partkey AS k, (SELECT max(l_comment) FROM lineitem WHERE l_partkey = p_partkey AND l_quantity > 49) AS n " + small, lineitem},
		{"SELECT l_partkey AS k, l.n FROM (SELECT l_partkey, count(DISTINCT l_suppkey) AS n FROM lineitem GROUP BY l_partkey HAVING count(*) > 20) l WHERE l_partkey IN (SELECT p_partkey " + small + ")", lineitem},
		{"SELECT sum(l_extendedprice) AS s FROM lineitem l, part p WHERE p_partkey = l_partkey AND p_size = 7 AND p_container = 'MED BOX' AND l_quantity <" +
			" (SELECT 0.5 * avg(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)", lineitem},
		{"SELECT count(*) AS n, sum(ps_suppkey) AS s FROM partsupp WHERE ps_partkey IN (SELECT p_partkey " + small + ") AND ps_availqty >" +
			" (SELECT 0.5 * sum(l_quantity) FROM lineitem WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey)", lineitem},
		{"SELECT ps_suppkey AS k, ps_partkey AS p FROM partsupp, part p WHERE p_partkey = ps_partkey AND p_size = 7 AND p_container = 'MED BOX' AND ps_supplycost <=" +
			" (SELECT min(l_extendedprice) FROM lineitem, supplier WHERE l_suppkey = s_suppkey AND s_nationkey < 20 AND l_partkey = p_partkey)", lineitem},
		{"SELECT p_partkey AS k, (SELECT count(*) FROM lineitem WHERE l_partkey = p_partkey) AS n " + none, either},
		{"SELECT count(*) AS n " + none + " AND EXISTS (SELECT 1 FROM lineitem WHERE l_partkey = p_partkey)", either},
		{"SELECT count(*) AS n, count(p_partkey) AS p, count(l.q) AS q FROM (SELECT * " + small + ") p FULL JOIN " + sums + " l ON l_partkey = p_partkey", whole},
		{"SELECT count(*) AS n FROM (SELECT p_partkey " + small + " EXCEPT SELECT l_partkey FROM lineitem WHERE l_quantity > 49) e", whole},
	} {
		t.Run(c.text, func(t *testing.T) {
			for _, d := range []executortest.Policy{nil, keysWithNull} {
				sameRows(t, distributed, local, d, c.text)
				heard(t, x)
				job := x.watch.list()[0].job
				switch c.of {
				case either:
				case whole:
					if read, moved := rowsOf(job, lineitem); moved*20 < read {
						t.Errorf("%d of %d rows are moved", moved, read)
					}
				default:
					if read, moved := rowsOf(job, c.of); moved*20 > read || read == 0 {
						t.Errorf("%d of %d rows of %s are moved", moved, read, c.of)
					}
				}
			}
		})
	}
}

// rowsOf is how many rows the stages of a job read that read a table, and how many the one of them leaves that leaves most.
func rowsOf(j Job, table string) (read, moved int64) {
	names := map[string]string{}
	for _, t := range j.Tables {
		names[t.Relation] = t.Name[strings.LastIndexByte(t.Name, '.')+1:]
	}
	for _, s := range j.Progress.Stages {
		if slices.ContainsFunc(s.Operators, func(o *wire.Operator) bool { return names[o.Relation] == table }) {
			read, moved = read+s.InputRows, max(moved, s.OutputRows)
		}
	}
	return read, moved
}

// TestRowsLeftOutAnyhow: forms of joins, of where their keys come from, and of what is cut, each with each. Without GATEHOUSE_PROBES=all, some of them.
func TestRowsLeftOutAnyhow(t *testing.T) {
	distributed, local := overBoth(t, tpc.TPCH, 4<<20)
	agree(t, distributed, local, keysWithNull, joinForms(47)...)
}

// joinForms are statements, of every so many one. It should share no factor with the numbers of their parts.
func joinForms(every int) []string {
	// With a key k that has NULL, and a number v.
	keys := []string{
		"SELECT p_partkey AS k, p_size AS v FROM part WHERE p_size = 7 AND p_brand = 'Brand#13'",
		"SELECT p_partkey AS k, p_size AS v FROM part WHERE p_size = 7 AND p_brand = 'Brand#13' AND 100 / (p_size + 1) > 2",
		"SELECT ps_partkey AS k, ps_availqty AS v FROM partsupp, part WHERE ps_partkey = p_partkey AND p_size = 7 AND p_brand = 'Brand#13'",
		"SELECT ps_partkey AS k, ps_availqty AS v FROM partsupp WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_size = 7 AND p_brand = 'Brand#13')",
		"SELECT p_partkey AS k, ps_availqty AS v FROM part LEFT JOIN partsupp ON ps_partkey = p_partkey AND ps_availqty < 5000 WHERE p_size = 7 AND p_brand = 'Brand#13'",
		"SELECT p_partkey AS k, count(*) AS v FROM part WHERE p_size = 7 AND p_brand = 'Brand#13' GROUP BY p_partkey",
		"SELECT p_partkey AS k, ps_availqty AS v FROM (SELECT * FROM part WHERE p_size = 7 AND p_brand = 'Brand#13') p RIGHT JOIN partsupp ON ps_partkey = p_partkey WHERE ps_suppkey = 3",
	}
	rows := []string{
		"SELECT l_partkey AS k, l_quantity AS w FROM lineitem",
		"SELECT CASE WHEN l_linenumber = 1 THEN NULL ELSE l_partkey END AS k, l_quantity AS w FROM lineitem WHERE l_discount > 0.02",
		"SELECT l_partkey AS k, max(l_quantity) AS w FROM lineitem GROUP BY l_partkey, l_linenumber",
		"SELECT l_partkey AS k, count(DISTINCT l_linenumber) AS w FROM lineitem GROUP BY l_partkey HAVING count(*) > 20",
		"SELECT l_partkey AS k, sum(s_nationkey) AS w FROM lineitem, supplier WHERE s_suppkey = l_suppkey GROUP BY l_partkey",
		"SELECT l_partkey AS k, s_nationkey AS w FROM lineitem LEFT JOIN supplier ON s_suppkey = l_suppkey AND s_nationkey < 12",
		"SELECT l_partkey AS k, l_quantity AS w FROM lineitem WHERE NOT EXISTS (SELECT 1 FROM supplier WHERE s_suppkey = l_suppkey AND s_nationkey < 20)",
		"SELECT l_partkey AS k, count(*) AS w FROM supplier LEFT JOIN lineitem ON s_suppkey = l_suppkey GROUP BY l_partkey",
	}
	joins := []string{
		"SELECT count(*) AS n, sum(a.v) AS v FROM (%s) a WHERE EXISTS (SELECT 1 FROM (%s) b WHERE b.k = a.k)",
		"SELECT count(*) AS n, sum(a.v) AS v FROM (%s) a WHERE NOT EXISTS (SELECT 1 FROM (%s) b WHERE b.k = a.k AND b.w > a.v)",
		"SELECT count(*) AS n, sum(a.v) AS v FROM (%s) a WHERE a.k IN (SELECT b.k FROM (%s) b)",
		"SELECT count(*) AS n, sum(a.v) AS v FROM (%s) a WHERE a.k NOT IN (SELECT b.k FROM (%s) b WHERE b.w > 49)",
		"SELECT count(*) AS n, sum(a.v) AS v FROM (%s) a WHERE a.v %% 2 = 1 OR EXISTS (SELECT 1 FROM (%s) b WHERE b.k = a.k AND b.w > 49)",
		"SELECT count(*) AS n, sum(a.v) AS v, sum(b.w) AS w FROM (%s) a JOIN (%s) b ON b.k = a.k",
		"SELECT count(*) AS n, sum(a.v) AS v, sum(b.w) AS w, count(b.k) AS k FROM (%s) a LEFT JOIN (%s) b ON b.k = a.k AND b.w > 40",
		"SELECT count(*) AS n, sum(a.v) AS v, sum(b.w) AS w, count(a.k) AS k FROM (%s) a RIGHT JOIN (%s) b ON b.k = a.k",
		"SELECT count(*) AS n, sum(a.v) AS v, sum(b.w) AS w, count(a.k) AS k FROM (%s) a FULL JOIN (%s) b ON b.k = a.k",
		"SELECT a.k, a.v, (SELECT sum(b.w) FROM (%[2]s) b WHERE b.k = a.k) AS w FROM (%[1]s) a",
		"SELECT count(*) AS n, sum(b.w) AS w FROM (%[2]s) b WHERE b.k IN (SELECT a.k FROM (%[1]s) a)",
		"SELECT count(*) AS n FROM (SELECT k FROM (%s) a EXCEPT SELECT k FROM (%s) b) x",
	}
	if os.Getenv("GATEHOUSE_PROBES") == "all" {
		every = 1
	}
	var out []string
	for i := 0; i < len(keys)*len(rows)*len(joins); i += every {
		join := joins[i/len(keys)/len(rows)]
		out = append(out, fmt.Sprintf(join, keys[i%len(keys)], rows[i/len(keys)%len(rows)]))
	}
	return out
}
