package duckdb

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// numbers makes n numbers of one of many sorts: near each other, far apart, of both signs, denormal, so large that partial sums overflow.
func numbers(r *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	sort := r.IntN(7)
	for i := range out {
		switch sort {
		case 0:
			out[i] = r.Float64() * 100
		case 1:
			out[i] = r.NormFloat64() * math.Pow(10, float64(r.IntN(40)-20))
		case 2:
			out[i] = []float64{1e16, 1, -1e16, 1e-300, 0.1, 1e300, -1e300, 5e-324, math.Copysign(0, -1)}[r.IntN(9)]
		case 3:
			for out[i] = math.NaN(); math.IsNaN(out[i]) || math.IsInf(out[i], 0); {
				out[i] = math.Float64frombits(r.Uint64())
			}
		case 4:
			out[i] = math.Ldexp(float64(r.Int64N(1<<53)-1<<52), -1074)
		case 5:
			out[i] = math.MaxFloat64 * (float64(r.IntN(2))*2 - 1)
		default:
			out[i] = float64(r.IntN(100)) / 8
		}
	}
	return out
}

// TestExactSum: the sum is the double that is nearest to the real one, however numbers are grouped, spread over threads and cut into frames.
func TestExactSum(t *testing.T) {
	x := open(t, Config{Threads: 2})
	r := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		n := []int{1, 2, 7, 200, 3000}[r.IntN(5)]
		list := numbers(r, n)
		sum := new(big.Float).SetPrec(4000)
		var values []string
		for i, v := range list {
			sum.Add(sum, new(big.Float).SetPrec(4000).SetFloat64(v))
			values = append(values, fmt.Sprintf("(%d, '%s'::DOUBLE)", i, strconv.FormatFloat(v, 'g', -1, 64)))
		}
		want, _ := sum.Float64()
		with := "WITH v(i, x) AS MATERIALIZED (VALUES " + strings.Join(values, ", ") + ") "
		for _, q := range []string{
			"SELECT __gw_sum(x) FROM v", "SELECT __gw_sum(x) FROM (SELECT x FROM v ORDER BY hash(i))", "SELECT __gw_avg(x) * 0 + __gw_sum(x) FROM v",
			"SELECT min(s) FROM (SELECT i % 1, __gw_sum(x) AS s FROM v GROUP BY 1)", "SELECT __gw_sum(x) FILTER (WHERE i >= 0) FROM (FROM v UNION ALL SELECT -i - 1, x FROM v)",
			fmt.Sprintf("SELECT s FROM (SELECT i, __gw_sum(x) OVER (ORDER BY i) AS s FROM v) WHERE i = %d", n-1),
			fmt.Sprintf("SELECT s FROM (SELECT i, __gw_sum(x) OVER (ORDER BY i DESC ROWS BETWEEN %d PRECEDING AND CURRENT ROW) AS s FROM v) WHERE i = 0", n),
		} {
			if strings.Contains(q, "__gw_avg") && math.IsInf(want, 0) {
				continue // times 0
			}
			if _, got := rows(t, x, with+q); got[0] != strconv.FormatFloat(want, 'g', -1, 64) && got[0] != fmt.Sprint(want) {
				t.Fatalf("%s gives %s, want %v, of %v", q, got[0], want, list[:min(n, 20)])
			}
		}
	}
}

// TestExactSpecial: what is not finite, nothing, and NULL are as in the engine's own sum.
func TestExactSpecial(t *testing.T) {
	x := open(t, Config{Threads: 2})
	for _, from := range []string{
		"(SELECT 1.0::DOUBLE AS x WHERE false)", "(VALUES (NULL::DOUBLE), (NULL)) v(x)", "(VALUES (NULL), (0.1)) v(x)", "(VALUES ('inf'::DOUBLE), (1)) v(x)",
		"(VALUES ('-inf'::DOUBLE), (1)) v(x)", "(VALUES ('inf'::DOUBLE), ('-inf')) v(x)", "(VALUES ('nan'::DOUBLE), (1)) v(x)", "(VALUES (-0.0::DOUBLE)) v(x)",
		"(VALUES (1e308::DOUBLE), (1e308)) v(x)", "(VALUES (0.1::FLOAT), (0.2)) v(x)",
	} {
		_, got := rows(t, x, "SELECT CAST(__gw_sum(x) AS VARCHAR), CAST(__gw_avg(x) AS VARCHAR) FROM "+from)
		_, want := rows(t, x, "SELECT CAST(list_sum(list(x)::DOUBLE[]) AS VARCHAR), CAST(list_avg(list(x)::DOUBLE[]) AS VARCHAR) FROM "+from)
		if fmt.Sprint(got) != strings.ReplaceAll(fmt.Sprint(want), "-nan", "nan") { // its sign is up to the processor
			t.Errorf("%s: %v, the engine's %v", from, got, want)
		}
	}
}

// TestExactSpills: a million groups, some with numbers far apart, go through a small memory, and a statement that ends early leaves nothing
// that the next one could trip over.
func TestExactSpills(t *testing.T) {
	x := open(t, Config{Threads: 2, MemoryBytes: 512 << 20, UserMemoryBytes: 96 << 20, UserSpillBytes: 4 << 30})
	far := "CASE WHEN g % 100 = 0 THEN CASE i // 1000000 WHEN 0 THEN 1e200 WHEN 1 THEN 1 ELSE -1e200 END ELSE i * 0.1e0 END"
	from := "(SELECT i, i % 1000000 AS g FROM range(3000000) r(i))"
	query := "SELECT count(*), sum(s) FILTER (WHERE g % 100 = 0), count(s) FROM (SELECT g, __gw_sum(" + far + ") AS s, __gw_avg(i / 7) AS a FROM " + from + " GROUP BY g)"
	for range 2 {
		if _, got := rows(t, x, query); strings.Join(got, " ") != "1000000 10000 1000000" {
			t.Errorf("%v", got)
		}
		s, err := x.raw("SELECT g, __gw_sum("+far+") AS s FROM "+from+" GROUP BY g HAVING s > CAST(CASE WHEN g = 7 THEN 'x' ELSE '0' END AS INTEGER)", 0)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Execute(t.Context(), nil)
		for err == nil && r.Next() {
		}
		if err == nil {
			err = r.Err()
			r.Release()
		}
		if err == nil {
			t.Error("the statement did not end early")
		}
		_ = s.Close()
	}
	for _, q := range []string{
		"SELECT count(*), sum(s) FROM (SELECT g % 1000 AS k, __gw_sum(DISTINCT " + far + ") AS s FROM " + from + " GROUP BY ROLLUP (k)) WHERE k % 100 = 0",
		"SELECT count(*), max(s) FROM (SELECT __gw_sum(" + far + ") OVER (PARTITION BY g % 50 ORDER BY i ROWS BETWEEN 20 PRECEDING AND CURRENT ROW) AS s FROM " + from + " WHERE i < 300000)",
		"SELECT count(*), max(s) FROM (SELECT (SELECT __gw_sum(w.x * " + far + ") FROM (VALUES (1e200), (1), (1e-200)) w(x)) AS s FROM " + from + " WHERE i < 3000)",
	} {
		if _, got := rows(t, x, q); len(got) != 2 || got[0] == "0" {
			t.Errorf("%s: %v", q, got)
		}
	}
}
