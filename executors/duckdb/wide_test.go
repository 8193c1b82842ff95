package duckdb

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gatehouse/executors"
)

// TestWideSums: sums and averages of integers and decimals of 128 bits are right whenever the end fits, in whatever order the numbers come, and else
// fail in whatever order.
func TestWideSums(t *testing.T) {
	x := open(t, Config{Threads: 2})
	const most, nines = "170141183460469231731687303715884105727", "99999999999999999999999999999999999999"
	for _, c := range []struct {
		typ    string
		values []string
		sum    string // "": it does not fit
		avg    string
	}{
		{"HUGEINT", []string{most, "1", "-1"}, most, "5.671372782015641e+37"},
		{"HUGEINT", []string{most, "1"}, "", "8.507059173023462e+37"},
		{"HUGEINT", []string{"-" + most, "-1", "-1"}, "", "-5.671372782015641e+37"},
		{"HUGEINT", []string{"7", "-9", "NULL"}, "-2", "-1.0"},
		{"HUGEINT", []string{"NULL", "NULL"}, "NULL", "NULL"},
		{"DECIMAL(38,0)", []string{nines, nines, "-" + nines}, nines, "3.3333333333333333e+37"},
		{"DECIMAL(38,2)", []string{"0.01", "-0.07", "100"}, "99.94", "33.31333333333333"},
		{"DECIMAL(38,38)", []string{"0." + nines, "0.5", "-0.5"}, "." + nines, "0.3333333333333333"},
		{"DECIMAL(38,38)", []string{"0." + nines, "0." + nines}, "", "1.0"},
		{"DECIMAL(30,2)", []string{"12345678901234567890.25", "0.5"}, "12345678901234567890.75", "6.172839450617284e+18"},
		{"DECIMAL(38,0)", []string{nines, nines, nines}, "", "1e+38"},
	} {
		for turn := range c.values {
			var rows []string
			for i := range c.values {
				value := c.values[(i+turn)%len(c.values)]
				if value != "NULL" {
					value = literal(value) // and no DOUBLE
				}
				rows = append(rows, fmt.Sprintf("(%d, %s::%s)", i, value, c.typ))
			}
			from := " FROM (VALUES " + strings.Join(rows, ", ") + ") v(i, x)"
			for _, sum := range []string{"sum(x)", "sum(DISTINCT x)", "sum(x ORDER BY i)", "sum(x) FILTER (WHERE i >= 0)", "max(s) FROM (SELECT sum(x) OVER (ORDER BY i ROWS BETWEEN 5 PRECEDING AND 5 FOLLOWING) AS s"} {
				text := "SELECT CAST(" + sum + " AS VARCHAR)" + from
				if outer, inner, nested := strings.Cut(sum, " FROM ("); nested {
					text = "SELECT CAST(" + outer + " AS VARCHAR) FROM (" + inner + from + ") w"
				}
				if strings.Contains(sum, "DISTINCT") && len(c.values) > len(slices.Compact(slices.Sorted(slices.Values(c.values)))) {
					continue
				}
				got, err := settledRows(t, x, text)
				if c.sum == "" && kindOf(err) != executors.KindRange || c.sum != "" && (err != nil || got != strings.ReplaceAll(c.sum, "NULL", "(null)")) {
					t.Errorf("%s: %s, %v, want %s", text, got, err, c.sum)
				}
			}
			text := "SELECT CAST(avg(x) AS VARCHAR)" + from
			if got, err := settledRows(t, x, text); err != nil || got != strings.ReplaceAll(c.avg, "NULL", "(null)") {
				t.Errorf("%s: %s, %v, want %s", text, got, err, c.avg)
			}
		}
	}
}

// TestWideSumsOfMany: groups, threads and signs give what exact arithmetic gives.
func TestWideSumsOfMany(t *testing.T) {
	x := open(t, Config{Threads: 2})
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{3, 2000} {
		want := map[int]*big.Int{}
		var values []string
		for i := range n {
			v := new(big.Int).Lsh(big.NewInt(r.Int64()-r.Int64()), uint(r.IntN(50)))
			if want[i%7] == nil {
				want[i%7] = new(big.Int)
			}
			want[i%7].Add(want[i%7], v)
			values = append(values, fmt.Sprintf("(%d, '%s'::HUGEINT)", i, v))
		}
		got, err := settledRows(t, x, "SELECT string_agg(s, ' ' ORDER BY k) FROM (SELECT i % 7 AS k, CAST(sum(x) AS VARCHAR) AS s FROM (VALUES "+strings.Join(values, ", ")+") v(i, x) GROUP BY 1) w")
		var all []string
		for k := range min(n, 7) {
			all = append(all, want[k].String())
		}
		if err != nil || got != strings.Join(all, " ") {
			t.Errorf("%s, %v, want %s", got, err, all)
		}
	}
}

// settledRows runs a statement in the form that its aggregates get.
func settledRows(t *testing.T, x *Executor, text string) (string, error) {
	t.Helper()
	s, err := x.raw(arranged(t, x, text, 0).text, 0)
	if err != nil {
		return "", err
	}
	defer s.Close()
	r, err := s.Execute(t.Context(), nil)
	if err != nil {
		return "", err
	}
	defer r.Release()
	out, err := drain(r)
	return strings.Join(out, " / "), err
}

// TestFormsOfWideSums: which sums are those of wide.c, also where one text stands for several types.
func TestFormsOfWideSums(t *testing.T) {
	x := open(t, Config{Threads: 2})
	const from = " FROM (VALUES (1::BIGINT, 1::HUGEINT, 2.5::DECIMAL(28,2), 2.5::DECIMAL(29,2), 2.5::DECIMAL(38,3))) AS v(i, h, c, d, e)"
	for text, want := range map[string]string{
		"SELECT sum(i), sum(c), avg(c)" + from:                                                                   "SELECT sum(i), sum(c), avg(c)",
		"SELECT sum(h) AS a, avg(h) AS b" + from:                                                                 "SELECT __gw_sum_h(h) AS a, __gw_avg_h(h) AS b",
		"SELECT sum(d) AS a, mean(e) AS b" + from:                                                                "SELECT __gw_sum_2(d) AS a, __gw_avg_3(e) AS b",
		"SELECT fsum(h) AS a" + from:                                                                             "SELECT __gw_sum(h) AS a",
		"SELECT sum(h) OVER (PARTITION BY i) AS a" + from:                                                        "SELECT sum(h ORDER BY h) OVER (PARTITION BY i) AS a",
		"SELECT sum(h) OVER (ORDER BY i) AS a" + from:                                                            "SELECT __gw_sum_h(h) OVER (ORDER BY i) AS a",
		"SELECT sum(x) AS a FROM (SELECT sum(x) AS x FROM (SELECT i AS x" + from + "))":                          "SELECT __gw_sum_h(x) AS a FROM (SELECT __gw_sum_h(x) AS x",
		"SELECT sum(x) AS a FROM (SELECT sum(x) AS x FROM (SELECT c AS x" + from + "))":                          "SELECT __gw_sum_2(x) AS a FROM (SELECT __gw_sum_2(x) AS x",
		"SELECT (SELECT sum(x) FROM (SELECT c AS x) w) AS a, (SELECT sum(x) FROM (SELECT e AS x) w) AS b" + from: "SELECT (SELECT sum(x ORDER BY x)",
		"SELECT (SELECT sum(x) FROM (SELECT c AS x) w) AS a, (SELECT sum(x) FROM (SELECT i AS x) w) AS b" + from: "SELECT (SELECT sum(x) FROM",
		"SELECT (SELECT sum(x) FROM (SELECT c AS x) w) AS a, (SELECT sum(x) FROM (SELECT i AS x) w) AS b, (SELECT sum(x) FROM (SELECT h AS x) w) AS c" + from:                 "SELECT (SELECT sum(x ORDER BY x)",
		"SELECT (SELECT sum(x) FROM (SELECT 1.5::DECIMAL(9,3) AS x) w) AS a, (SELECT sum(x) FROM (SELECT c AS x) w) AS b, (SELECT sum(x) FROM (SELECT d AS x) w) AS c" + from: "SELECT (SELECT sum(x ORDER BY x)",
	} {
		st := arranged(t, x, text, 0)
		if !strings.HasPrefix(strings.ReplaceAll(st.text, `"`, ""), want) {
			t.Errorf("%s becomes %s, want %s", text, st.text, want)
		}
		before, err := x.raw(text, 0)
		if err != nil {
			t.Fatal(err)
		}
		after, err := x.raw(st.text, 0)
		if err != nil {
			t.Fatalf("%s: %v", st.text, err)
		}
		if !before.Schema().Equal(after.Schema()) {
			t.Errorf("%s: %v becomes %v", text, before.Schema(), after.Schema())
		}
		_ = before.Close()
		_ = after.Close()
	}
}
