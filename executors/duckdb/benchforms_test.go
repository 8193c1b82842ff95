package duckdb

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatehouse/classify"
)

// tpchColumns are the columns of TPC-H's tables, as tpcds.columns has those of TPC-DS.
const tpchColumns = `region(r_regionkey INTEGER, r_name VARCHAR, r_comment VARCHAR)
nation(n_nationkey INTEGER, n_name VARCHAR, n_regionkey INTEGER, n_comment VARCHAR)
supplier(s_suppkey BIGINT, s_name VARCHAR, s_address VARCHAR, s_nationkey INTEGER, s_phone VARCHAR, s_acctbal DECIMAL(15,2), s_comment VARCHAR)
customer(c_custkey BIGINT, c_name VARCHAR, c_address VARCHAR, c_nationkey INTEGER, c_phone VARCHAR, c_acctbal DECIMAL(15,2), c_mktsegment VARCHAR, c_comment VARCHAR)
part(p_partkey BIGINT, p_name VARCHAR, p_mfgr VARCHAR, p_brand VARCHAR, p_type VARCHAR, p_size INTEGER, p_container VARCHAR, p_retailprice DECIMAL(15,2), p_comment VARCHAR)
partsupp(ps_partkey BIGINT, ps_suppkey BIGINT, ps_availqty BIGINT, ps_supplycost DECIMAL(15,2), ps_comment VARCHAR)
orders(o_orderkey BIGINT, o_custkey BIGINT, o_orderstatus VARCHAR, o_totalprice DECIMAL(15,2), o_orderdate DATE, o_orderpriority VARCHAR, o_clerk VARCHAR, o_shippriority INTEGER, o_comment VARCHAR)
lineitem(l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT, l_linenumber BIGINT, l_quantity DECIMAL(15,2), l_extendedprice DECIMAL(15,2), l_discount DECIMAL(15,2), l_tax DECIMAL(15,2), l_returnflag VARCHAR, l_linestatus VARCHAR, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct VARCHAR, l_shipmode VARCHAR, l_comment VARCHAR)
`

// stubs are relations without rows that have the columns of a benchmark's tables.
func stubs(list string) *relationTexts {
	out := &relationTexts{}
	for line := range strings.Lines(list) {
		name, columns, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(line), ")"), "(")
		var casts []string
		for _, c := range strings.Split(columns, ", ") {
			column, typ, _ := strings.Cut(c, " ")
			casts = append(casts, "CAST(NULL AS "+typ+") AS "+column)
		}
		text := fmt.Sprintf("%s AS (SELECT %s)", name, strings.Join(casts, ", "))
		out.real, out.stub, out.only = append(out.real, text), append(out.stub, text), append(out.only, "1")
	}
	return out
}

// TestBenchmarksAreNotSorted: no sum or average of TPC-H and TPC-DS has its input sorted, and in TPC-H none is of fractions. Sums of
// groups' sums over whole partitions do in eight queries of TPC-DS.
func TestBenchmarksAreNotSorted(t *testing.T) {
	x := open(t, Config{Threads: 1})
	tpcds, err := os.ReadFile(filepath.Join("tpc", "tpcds.columns"))
	if err != nil {
		t.Fatal(err)
	}
	for set, columns := range map[string]string{"tpch": tpchColumns, "tpcds": string(tpcds)} {
		relations := stubs(columns)
		files, err := filepath.Glob(filepath.Join("..", "..", "classify", "testdata", "queries", set, "*.sql"))
		if err != nil || len(files) < 22 {
			t.Fatal(len(files), err)
		}
		sortedIn := map[string]bool{}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := classify.Parse(string(text))
			if err != nil {
				t.Fatal(err)
			}
			tree := parsed.Tree()
			o, err := newOrderly(tree)
			if err != nil {
				t.Fatal(err)
			}
			s, err := x.newPrepared(owner{})
			if err != nil {
				t.Fatal(err)
			}
			types, err := s.types(o, 0, relations)
			s.free()
			_ = s.Close()
			if err != nil || o.typed() && types == nil {
				t.Fatalf("%s: %v, %v", f, types, err)
			}
			for i := range o.calls {
				name := callName(o.calls[i])
				switch o.formOf(i, types) {
				case sorted:
					sortedIn[strings.TrimSuffix(filepath.Base(f), ".sql")] = true
					if summing[name] != "" && o.calls[i].Over == nil { // of groups' sums, over whole partitions
						t.Errorf("%s: %s of %q is sorted", f, name, types[o.keys[i]])
					}
				case exact:
					if set == "tpch" && types[o.keys[i]] == "DOUBLE" {
						t.Errorf("%s: %s of %q is one of ours", f, name, types[o.keys[i]])
					}
				}
			}
		}
		if want := map[string]int{"tpch": 0, "tpcds": 8}[set]; len(sortedIn) != want {
			t.Errorf("%s: %v have sorted input", set, sortedIn)
		}
	}
}
