// Package clustertest runs clusters for tests, where the programs have been built.
package clustertest

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"gatehouse/executors/ballista/cluster"
)

// Programs is the folder of the cluster's programs: what GATEHOUSE_CLUSTER_BIN names, or what make cluster-test or make cluster built of
// this source. The test is skipped if they are not there.
func Programs(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("GATEHOUSE_CLUSTER_BIN"); dir != "" {
		return dir
	}
	_, self, _, _ := runtime.Caller(0)
	lock, err := os.ReadFile(filepath.Join(filepath.Dir(self), "../engine/Cargo.lock"))
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(lock)
	base := filepath.Join(home, "gatehouse", "ballista-"+hex.EncodeToString(sum[:6]))
	for _, profile := range []string{"debug", "release"} {
		if _, err := os.Stat(filepath.Join(base, profile, "gatehouse-scheduler")); err == nil {
			return filepath.Join(base, profile)
		}
	}
	t.Skip("the programs of the cluster are not built (make cluster-test builds them; needs Rust)")
	return ""
}

// Start runs a scheduler and two executors with one core each, until the test ends.
func Start(t testing.TB) (c *cluster.Cluster, dir string) {
	t.Helper()
	return With(t, cluster.Config{})
}

// With is Start with a configuration. Its folder, and what it lacks, are the test's.
func With(t testing.TB, config cluster.Config) (c *cluster.Cluster, dir string) {
	t.Helper()
	if config.Binaries == "" {
		config.Binaries = Programs(t)
	}
	dir = t.TempDir()
	config.Dir, config.Log = dir, os.Stderr
	c, err := cluster.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c, dir
}
