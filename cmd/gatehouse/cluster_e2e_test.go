package main

import (
	"os"
	"strings"
	"testing"

	"gatehouse/auth"
	"gatehouse/cmd/bench/site"
	"gatehouse/executors/ballista/clustertest"
	"gatehouse/executors/duckdb/tpc"
)

// TestClusterServes puts a whole server in front of a cluster: TPC-H for one user who sees everything and one who does not, through Flight SQL, policies,
// scheduler and executors, and back. Whatever the cluster does not run goes to the embedded engine, and the log says how many did.
func TestClusterServes(t *testing.T) {
	_, dir := clustertest.Start(t)
	set := benchmarkSet(t, tpc.TPCH)
	file, err := site.Write(site.Config{Dir: t.TempDir(), Sets: map[tpc.Set]string{tpc.TPCH: set}, Default: tpc.TPCH, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	// Everything is large enough for the cluster.
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), "executor:\n", "executor:\n  above: 1KiB\n", 1)
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, "Gatehouse serves", "serve", "--config", file, "--executor", "auto", "--cluster", dir)
	defer s.end(t)
	queries := benchmarkQueries(t, tpc.TPCH)
	for user, namespace := range map[string]string{site.Admin: string(tpc.TPCH), site.Eve: tpc.TPCH.Eve()} {
		t.Run(user, func(t *testing.T) {
			differential(t, s, user, queries, tpc.ReferenceConfig{Dir: set, Set: tpc.TPCH, Namespace: namespace})
		})
	}
	strict := start(t, "Gatehouse serves", "serve", "--config", file, "--executor", "ballista", "--cluster", dir)
	defer strict.end(t)
	host, port, _ := strings.Cut(strict.flight, ":")
	for _, user := range []string{site.Admin, site.Eve} {
		c, err := connect(t.Context(), target{host: host, port: port, user: user, password: auth.NewSecret(user)})
		if err != nil {
			t.Fatal(err)
		}
		ran := 0
		for _, q := range queries {
			if _, err := readTable(t.Context(), c, q.text); err != nil {
				t.Logf("%s, %s: %v", user, q.name, err)
				continue
			}
			ran++
		}
		t.Logf("%s: the cluster runs %d of %d", user, ran, len(queries))
		if ran == 0 {
			t.Errorf("nothing runs on the cluster for %s", user)
		}
		_ = c.close()
	}
}
