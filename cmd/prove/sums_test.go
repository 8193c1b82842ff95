package main

import (
	"slices"
	"testing"
	"time"

	"gatehouse/executors/ballista"
	"gatehouse/executors/ballista/clustertest"
)

// Numbers whose sum is up to their order: of very different sizes, with some that cancel each other out.
const (
	nasty  = "CASE id % 7 WHEN 0 THEN 1e16 WHEN 1 THEN 1 WHEN 2 THEN -1e16 WHEN 3 THEN 0.1 WHEN 4 THEN 1e-300 WHEN 5 THEN id * 1e300 ELSE id * -1e300 END"
	tenths = "CASE WHEN id = 5 THEN 1e16 WHEN id = 150 THEN -1e16 ELSE id / 10 END"
)

// sums and dispersions are statements about them.
var (
	sums = []string{
		"SELECT sum(" + tenths + ") AS n FROM orders",
		"SELECT avg(" + tenths + ") AS n FROM orders",
		"SELECT sum(" + nasty + ") AS n, avg(" + nasty + ") AS m FROM orders",
		"SELECT sum(" + tenths + ") FILTER (WHERE id > 3) AS n FROM orders",
		"SELECT id, sum(" + tenths + ") OVER (ORDER BY id) AS n FROM orders ORDER BY id",
		"SELECT id, sum(" + nasty + ") OVER (ORDER BY id ROWS BETWEEN 5 PRECEDING AND 2 FOLLOWING) AS n FROM orders ORDER BY id",
		"SELECT sum(c.id / 10 + o.id / 3) AS n FROM customers c JOIN orders o ON c.id = o.id",
		"SELECT sum(n) AS n FROM (SELECT qty, sum(" + nasty + ") AS n FROM orders GROUP BY qty) q",
	}
	dispersions = []string{
		"SELECT stddev(" + tenths + ") AS a, stddev_pop(id / 3) AS b, var_samp(id / 7) AS c, var_pop(" + tenths + ") AS d FROM orders",
		"SELECT qty, sum(" + nasty + ") AS n, avg(id / 10) AS m, variance(id / 10) AS v FROM orders GROUP BY qty ORDER BY qty",
		"SELECT qty, stddev_pop(id / 3) FILTER (WHERE id > 3) AS s, var_samp(id * 1e-160) AS small FROM orders GROUP BY qty ORDER BY qty",
	}
)

// TestSumsOnCluster: what is said of floating point on a cluster is the same to the last bit wherever hidden rows stand, though how many
// rows a batch has, and which tasks have which, is up to them.
func TestSumsOnCluster(t *testing.T) {
	w, err := newWorld(t.Context(), worldConfig{
		dir: t.TempDir(), seed: 5, policies: 1, sides: []side{sideA, sideB, sideC}, timeout: 20 * time.Second, cluster: clusterConfig{programs: clustertest.Programs(t), place: ballista.Alone},
	})
	ok(t, err)
	defer func() { ok(t, w.close()) }()
	for _, sql := range append(slices.Clone(sums), dispersions...) {
		for n := range 2 {
			first, f := w.check(t.Context(), 0, n, &statement{root: word("", sql), ordered: true})
			if first.class != "" {
				t.Errorf("%s\n%s", sql, first)
			}
			if f != nil {
				t.Error(f)
			}
		}
	}
}

// TestSumsAgree: what the two executors say of sums, averages and dispersions of floating point is the same, to the last bit.
func TestSumsAgree(t *testing.T) {
	embedded, onCluster, _ := newExecutors(t, 5, 1)
	for _, sql := range append(slices.Clone(sums), dispersions...) {
		st := &statement{root: word("", sql), ordered: true}
		got, want := onCluster.observe(t.Context(), 0, st), embedded.observe(t.Context(), 0, st)
		if got.class != "" || got.schema != want.schema || !slices.Equal(got.rows, want.rows) {
			t.Errorf("%s\non the cluster\n%sin the embedded engine\n%s", sql, got, want)
		}
	}
}
