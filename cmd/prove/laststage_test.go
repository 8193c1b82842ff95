package main

import "testing"

// TestLastStage: what a statement says on a cluster is what its last stage made. Where one task has all of it, the planner plans further stages when
// that is done, and rows of those were taken: ids of one table, where the largest one of the other was asked for.
func TestLastStage(t *testing.T) {
	embedded, onCluster, _ := newExecutors(t, 5, 4)
	const some = "(SELECT 1 FROM parcels AS p WHERE sqrt(abs(p.weight)) IS NOT NULL AND p.id = e.id)"
	for _, sql := range []string{
		"SELECT e.id FROM employees AS e WHERE EXISTS " + some,
		"SELECT max(e.id) FROM employees AS e WHERE EXISTS " + some,
		"SELECT count(*) FROM employees AS e WHERE EXISTS " + some,
		"SELECT count(*) FROM employees AS e WHERE NOT EXISTS " + some,
		"SELECT max(e.id) FROM employees AS e WHERE e.id IN (SELECT p.id FROM parcels AS p WHERE sqrt(abs(p.weight)) IS NOT NULL)",
		"SELECT count(*), max(p.id) FROM employees AS e LEFT JOIN parcels AS p ON p.id = e.id AND sqrt(abs(p.weight)) IS NOT NULL",
	} {
		for policy := range embedded.gateways {
			st := &statement{root: word("", sql)}
			got, want := onCluster.observe(t.Context(), policy, st), embedded.observe(t.Context(), policy, st)
			if d := executorsDiffer(st, got, want); d != "" || got.class != "" || len(want.rows) == 0 {
				t.Errorf("%s: %s\non the cluster\n%sin the embedded engine\n%s", sql, d, got, want)
			}
		}
	}
}

// TestNothingToExchange: where a window or a join has no rows, a statement ends with what is said of none. The cluster's planner went round: it had
// exchanges of nothing, again and again.
func TestNothingToExchange(t *testing.T) {
	embedded, onCluster, _ := newExecutors(t, 5, 1)
	for _, sql := range []string{
		"SELECT lag(id) OVER (PARTITION BY sku ORDER BY id) FROM orders WHERE abs(qty) < 0",
		"SELECT count(*) FROM employees AS e WHERE NOT EXISTS (SELECT 1 FROM orders AS o WHERE abs(o.qty) < 0 AND o.id = e.id)",
		"SELECT count(*) FROM orders WHERE abs(qty) < 0",
	} {
		st := &statement{root: word("", sql)}
		got, want := onCluster.observe(t.Context(), 0, st), embedded.observe(t.Context(), 0, st)
		if d := executorsDiffer(st, got, want); d != "" || got.class != "" {
			t.Errorf("%s: %s\non the cluster\n%sin the embedded engine\n%s", sql, d, got, want)
		}
	}
}
