package main

import (
	"testing"
	"time"

	"gatehouse/executors/ballista"
	"gatehouse/executors/ballista/clustertest"
)

// TestGuardedOnCluster: conditions that keep others from failing on visible rows keep them so wherever hidden rows stand: how many visible
// rows a batch has, and which, is up to hidden ones.
func TestGuardedOnCluster(t *testing.T) {
	w, err := newWorld(t.Context(), worldConfig{
		dir: t.TempDir(), seed: 5, policies: 1, sides: []side{sideA, sideB}, timeout: 20 * time.Second, cluster: clusterConfig{programs: clustertest.Programs(t), place: ballista.Alone},
	})
	ok(t, err)
	defer func() { ok(t, w.close()) }()
	for _, sql := range []string{
		"SELECT count(*) AS n FROM orders WHERE id < 100 AND id + 9223372036854775600 > 0",
		"SELECT count(*) AS n FROM orders WHERE id > 100 OR id + 9223372036854775700 > 0",
		"SELECT count(*) AS n FROM (SELECT id < 100 AND id + 9223372036854775600 > 0 AS b FROM orders) q WHERE b",
		"SELECT max(CASE WHEN id < 100 THEN id + 9223372036854775600 END) AS n FROM orders",
		"SELECT count(*) AS n FROM orders WHERE id < 100 AND CASE WHEN qty > 0 THEN id + 9223372036854775600 > 0 ELSE false END",
		"SELECT count(*) AS n FROM orders WHERE CASE WHEN id < 100 THEN id + 9223372036854775600 > 0 ELSE false END",
		"SELECT count(*) AS n FROM orders WHERE id < 100 AND qty BETWEEN 0 AND id + 9223372036854775600",
		"SELECT count(*) AS n FROM (SELECT id IN (5, 300, id + 9223372036854775600) AS b FROM orders WHERE id < 207) q WHERE b",
		"SELECT count(*) AS n FROM customers c JOIN orders o ON c.id = o.id WHERE o.id < 60 AND o.id + 9223372036854775600 > 0",
		"SELECT count(*) AS n FROM customers c LEFT JOIN orders o ON c.id = o.id AND c.id < 60 AND o.id + c.id + 9223372036854775600 > 0",
		"SELECT sum(CASE WHEN id < 100 AND id + 9223372036854775600 > 0 THEN 1 END) AS n FROM orders",
	} {
		st := &statement{root: word("", sql)}
		first, f := w.check(t.Context(), 0, 0, st)
		t.Logf("%s\n%s", sql, first)
		if f != nil && f.what.violation() {
			t.Error(f)
		}
	}
}
