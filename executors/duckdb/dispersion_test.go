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

// dispersion is the double nearest to the variance of list, of which a sample has one number less to divide by.
func dispersion(list []float64, sample bool) float64 {
	sum, squares := new(big.Rat), new(big.Rat)
	for _, v := range list {
		x := new(big.Rat).SetFloat64(v)
		sum.Add(sum, x)
		squares.Add(squares, x.Mul(x, x))
	}
	n := int64(len(list))
	squares.Mul(squares, new(big.Rat).SetInt64(n)).Sub(squares, sum.Mul(sum, sum))
	if sample {
		squares.Quo(squares, new(big.Rat).SetInt64(n*(n-1)))
	} else {
		squares.Quo(squares, new(big.Rat).SetInt64(n*n))
	}
	out, _ := squares.Float64()
	return out
}

// TestExactDispersion: a variance is the double that is nearest to the real one, however numbers are grouped, spread over threads and cut into
// frames, and the others are made of it.
func TestExactDispersion(t *testing.T) {
	x := open(t, Config{Threads: 2})
	r := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		n := []int{2, 3, 7, 200, 3000}[r.IntN(5)]
		list := numbers(r, n)
		if scale := r.IntN(4); scale > 0 { // squares that fit
			for i := range list {
				list[i] = math.Ldexp(math.Mod(list[i], 1e150), -r.IntN(scale)*200)
			}
		}
		var values []string
		for i, v := range list {
			values = append(values, fmt.Sprintf("(%d, '%s'::DOUBLE)", i, strconv.FormatFloat(v, 'g', -1, 64)))
		}
		samp, pop := dispersion(list, true), dispersion(list, false)
		with := "WITH v(i, x) AS MATERIALIZED (VALUES " + strings.Join(values, ", ") + ") "
		for _, q := range []struct {
			text string
			want float64
		}{
			{"SELECT __gw_var_samp(x) FROM v", samp},
			{"SELECT __gw_var_pop(x) FROM (SELECT x FROM v ORDER BY hash(i))", pop},
			{"SELECT __gw_stddev_samp(x) FROM v", math.Sqrt(samp)},
			{"SELECT min(s) FROM (SELECT i % 1, __gw_stddev_pop(x) AS s FROM v GROUP BY 1)", math.Sqrt(pop)},
			{"SELECT __gw_sem(x) FILTER (WHERE i >= 0) FROM (FROM v UNION ALL SELECT -i - 1, x FROM v)", math.Sqrt(pop) / math.Sqrt(float64(n))},
			{fmt.Sprintf("SELECT s FROM (SELECT i, __gw_var_samp(x) OVER (ORDER BY i ROWS BETWEEN %d PRECEDING AND CURRENT ROW) AS s FROM v) WHERE i = %d", n, n-1), samp},
		} {
			failure, got := outcome(t, x, with+q.text)
			if strings.Contains(q.text, "OVER") && failure != "" {
				continue // another frame's may be out of range
			}
			if math.IsInf(q.want, 0) != (failure != "") || failure == "" && got != strconv.FormatFloat(q.want, 'g', -1, 64) && got != fmt.Sprint(q.want) {
				t.Fatalf("%s gives %s %s, want %v, of %v", q.text, got, failure, q.want, list[:min(n, 20)])
			}
		}
	}
}

// TestExactDispersionTies: what is left far below decides between two doubles that are as near, and limbs run over.
func TestExactDispersionTies(t *testing.T) {
	x := open(t, Config{Threads: 2})
	b, c := math.Ldexp(1, -27), math.Ldexp(1, -200)
	for _, list := range [][]float64{
		{1, -math.Ldexp(1, -54)}, {1, -1, b, -b, b, -b, 0, 0}, {1, -1, b, -b, b, -b, c, -c}, {1 + 2*b*b, -1, b, -b, b, -b, 0, 0},
	} {
		var values []string
		for _, v := range list {
			values = append(values, fmt.Sprintf("('%s'::DOUBLE)", strconv.FormatFloat(v, 'g', -1, 64)))
		}
		want := strconv.FormatFloat(dispersion(list, false), 'g', -1, 64)
		if failure, got := outcome(t, x, "SELECT __gw_var_pop(x) FROM (VALUES "+strings.Join(values, ", ")+") v(x)"); got != want {
			t.Errorf("%v: %s %s, want %s", list, got, failure, want)
		}
	}
	// n numbers of nearly 4, whose squares have the most bits in a third limb, and a zero: n x^2 / (n + 1)^2.
	const n = 20_000_000
	near := math.Nextafter(4, 0)
	square := new(big.Rat).SetFloat64(near)
	square.Mul(square, square).Mul(square, big.NewRat(n, (n+1)*(n+1)))
	want, _ := square.Float64()
	query := fmt.Sprintf("SELECT __gw_var_pop(CASE WHEN i = 0 THEN 0 ELSE '%s'::DOUBLE END) FROM range(%d) r(i)", strconv.FormatFloat(near, 'g', -1, 64), n+1)
	if failure, got := outcome(t, x, query); got != strconv.FormatFloat(want, 'g', -1, 64) {
		t.Errorf("of many: %s %s, want %v", got, failure, want)
	}
}

// outcome is the value of a statement, or its error.
func outcome(t *testing.T, x *Executor, query string) (failure, value string) {
	t.Helper()
	s, err := x.raw(query, 0)
	if err != nil {
		return err.Error(), ""
	}
	defer s.Close()
	r, err := s.Execute(t.Context(), nil)
	if err != nil {
		return err.Error(), ""
	}
	defer r.Release()
	if !r.Next() {
		return r.Err().Error(), ""
	}
	return "", r.RecordBatch().Column(0).ValueStr(0)
}

// TestExactDispersionSpecial: what is not finite, too few numbers, and NULL are as in the engine's own, errors too.
func TestExactDispersionSpecial(t *testing.T) {
	x := open(t, Config{Threads: 2})
	for _, values := range []string{
		"(NULL::DOUBLE)", "(1.5::DOUBLE)", "(NULL), (1.5::DOUBLE)", "('nan'::DOUBLE)", "('inf'::DOUBLE)", "('-inf'::DOUBLE), (NULL)", "('nan'::DOUBLE), (1)",
		"('inf'::DOUBLE), (1)", "('inf'::DOUBLE), ('-inf')", "(1e200::DOUBLE), (-1e200)", "(1e200::DOUBLE), (1e200)", "(1e308::DOUBLE), (1e308)", "(-0.0::DOUBLE), (0)",
		"(5e-324::DOUBLE), (0)", "(1e-160::DOUBLE), (0)", "(1::DOUBLE), (2)", "(0.5::FLOAT), (1)", "(1), (3)", "(1.5::DECIMAL(30, 2)), (2)",
	} {
		for own, ours := range map[string]string{
			"stddev": exactStddevSamp, "stddev_samp": exactStddevSamp, "stddev_pop": exactStddevPop, "variance": exactVarSamp, "var_samp": exactVarSamp,
			"var_pop": exactVarPop, "sem": exactSem,
		} {
			from := "(x) FROM (VALUES " + values + ") v(x)"
			failure, value := outcome(t, x, "SELECT "+ours+from)
			wantFailure, want := outcome(t, x, "SELECT "+own+from)
			if failure != wantFailure || value != want {
				t.Errorf("%s of %s: %s %s, the engine's %s %s", ours, values, value, failure, want, wantFailure)
			}
		}
	}
	if _, got := rows(t, x, "SELECT CAST(__gw_var_samp(x) AS VARCHAR), CAST(__gw_var_pop(x) AS VARCHAR) FROM (SELECT 1e0 AS x WHERE false)"); fmt.Sprint(got) != "[(null) (null)]" {
		t.Errorf("of nothing: %v", got)
	}
}

// TestExactDispersionSpills is TestExactSpills for dispersions.
func TestExactDispersionSpills(t *testing.T) {
	x := open(t, Config{Threads: 2, MemoryBytes: 512 << 20, UserMemoryBytes: 96 << 20, UserSpillBytes: 4 << 30})
	far := "CASE WHEN g % 100 = 0 THEN CASE i // 1000000 WHEN 0 THEN 1e140 WHEN 1 THEN 1 ELSE 1e-160 END ELSE i * 0.1e0 END"
	from := "(SELECT i, i % 1000000 AS g FROM range(3000000) r(i))"
	query := "SELECT count(*), count(*) FILTER (WHERE s > 1e139), count(s) FROM (SELECT g, __gw_stddev_samp(" + far + ") AS s FROM " + from + " GROUP BY g)"
	for range 2 {
		if _, got := rows(t, x, query); strings.Join(got, " ") != "1000000 10000 1000000" {
			t.Errorf("%v", got)
		}
		failure, _ := outcome(t, x, "SELECT max(s) FROM (SELECT g, __gw_var_pop("+far+") AS s FROM "+from+" GROUP BY g HAVING s > CAST(CASE WHEN g = 7 THEN 'x' ELSE '0' END AS INTEGER))")
		if failure == "" {
			t.Error("the statement did not end early")
		}
		if failure, _ = outcome(t, x, "SELECT max(s) FROM (SELECT g, __gw_var_samp(CASE WHEN i = 2999999 THEN 'inf'::DOUBLE ELSE "+far+" END) AS s FROM "+from+" GROUP BY g)"); failure == "" {
			t.Error("an infinite number has a variance")
		}
	}
	for _, q := range []string{
		"SELECT count(*), max(s) FROM (SELECT __gw_var_pop(" + far + ") OVER (PARTITION BY g % 50 ORDER BY i ROWS BETWEEN 20 PRECEDING AND CURRENT ROW) AS s FROM " + from + " WHERE i < 300000)",
		"SELECT count(*), max(s) FROM (SELECT g % 1000 AS k, __gw_sem(DISTINCT " + far + ") AS s FROM " + from + " WHERE i < 300000 GROUP BY ROLLUP (k))",
	} {
		if _, got := rows(t, x, q); len(got) != 2 || got[0] == "0" {
			t.Errorf("%s: %v", q, got)
		}
	}
}
