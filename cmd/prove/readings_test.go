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
