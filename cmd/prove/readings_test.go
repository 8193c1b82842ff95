package main

import (
	"testing"
)

// TestSums: values of aggregates do not tell how hidden rows lie between visible ones, nor which thread took which.
func TestSums(t *testing.T) {
	w, err := newWorld(t.Context(), worldConfig{dir: t.TempDir(), seed: 1, policies: 1, sides: []side{sideA, sideB, sideC}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.close(); err != nil {
			t.Error(err)
		}
	}()
	for _, sql := range []string{
		"SELECT sum(CASE WHEN id % 500 = 5 THEN 1e16 WHEN id % 500 = 499 THEN -1e16 ELSE 1 END) FROM readings",
		"SELECT sum(CASE WHEN id IN (5, 4000) THEN CAST(9e37 AS DECIMAL(38, 0)) WHEN id IN (2000, 5900) THEN CAST(-9e37 AS DECIMAL(38, 0)) ELSE 1 END) FROM readings",
		"SELECT sum(reading), avg(reading), sum(weight), avg(weight), fsum(weight), favg(reading) FROM readings",
		"SELECT grade, sum(weight), avg(reading) FROM readings GROUP BY grade",
		"SELECT grade, stddev(weight), corr(weight, grade + weight), skewness(weight) FROM readings GROUP BY ALL",
		"SELECT DISTINCT grade, sum(weight) OVER (PARTITION BY grade), var_pop(weight) OVER (PARTITION BY grade) FROM readings",
		"SELECT geomean(weight + 1), wavg(weight, grade), weighted_avg(reading, weight) FROM readings",
		"SELECT grade, mode(id % 7), any_value(weight), entropy(weight), approx_quantile(weight, 0.3) FROM readings GROUP BY grade",
		"SELECT weight > 50, product(1.1), product(weight), stddev(grade) FROM readings GROUP BY 1",
		"SELECT grade, product(grade + 0.1), stddev(grade) FROM readings GROUP BY grade",
	} {
		st := &statement{root: word("", sql)}
		for n := range 6 {
			first, f := w.check(t.Context(), 0, n, st)
			if first.class != "" || len(first.rows) == 0 {
				t.Fatalf("%s: %s", sql, first)
			}
			if f != nil {
				t.Errorf("%s", f)
				break
			}
		}
	}
}

// open are statements that leave open which rows or values come, or in which order.
var open = []string{
	"SELECT id FROM readings LIMIT 3", "SELECT id FROM readings WHERE CAST(t_num AS DOUBLE) > 0 LIMIT 3", "SELECT id FROM readings ORDER BY grade LIMIT 5",
	"SELECT first(id), last(id) FROM readings", "SELECT list(id)[1:5] FROM readings", "SELECT string_agg(CAST(grade AS VARCHAR), ',') FROM readings",
	"SELECT arg_max(id, grade), arg_min(id, grade) FROM readings", "SELECT grade, arg_max(id, grade) FROM readings GROUP BY grade", "SELECT grade, first(id) FROM readings GROUP BY 1 ORDER BY 1",
	"SELECT id, row_number() OVER (ORDER BY grade) FROM readings ORDER BY 1 LIMIT 20", "SELECT DISTINCT ON (grade) grade, id FROM readings ORDER BY grade",
	"SELECT id, sum(weight) OVER (ORDER BY grade ROWS UNBOUNDED PRECEDING) FROM readings ORDER BY 1 LIMIT 20", "SELECT grade, count(*) FROM readings GROUP BY grade",
	"SELECT DISTINCT id % 100 FROM readings", "SELECT a.id FROM readings AS a JOIN readings AS b ON a.grade = b.id % 30 WHERE b.id < 40",
}

// TestSteadyOrder: with policy.steady nothing of what a statement leaves open tells of hidden rows. Without it some of it does, which shows that
// the twins can tell.
func TestSteadyOrder(t *testing.T) {
	for _, steady := range []bool{true, false} {
		w, err := newWorld(t.Context(), worldConfig{dir: t.TempDir(), seed: 1, policies: 1, sides: []side{sideA, sideB, sideC}, steady: steady})
		ok(t, err)
		differ := 0
		for _, sql := range open {
			st := &statement{root: word("", sql), ordered: true}
			want := w.twins[0].observe(t.Context(), 0, st)
			if want.class != "" || len(want.rows) == 0 {
				t.Fatalf("%s: %s", sql, want)
			}
			var d difference
			for n := range 9 {
				if got := w.twins[n%3].observe(t.Context(), 0, st); d == same {
					d = compare(st, want, got)
				}
			}
			if steady && d != same {
				t.Errorf("%s: %s", sql, d)
			}
			if d != same {
				differ++
			}
		}
		t.Logf("steady %v: %d of %d statements differ", steady, differ, len(open))
		if !steady && differ == 0 {
			t.Error("no statement differs: the test shows nothing")
		}
		ok(t, w.close())
	}
}
