package main

import (
	"testing"

	"gatehouse/executors/ballista/cluster"
	"gatehouse/executors/ballista/clustertest"
)

// TestClusterStores runs on a cluster, and nowhere else, what reads object stores: the operator's keys and those that a catalog gives each user stay with
// the gateway, and who may not read is refused by the store.
func TestClusterStores(t *testing.T) {
	clustertest.Programs(t)
	s := newStores(t, func(s *stores) []string {
		_, dir := clustertest.With(t, cluster.Config{Stores: []string{s.s3.Endpoint}})
		return []string{"--executor", "ballista", "--cluster", dir}
	})
	s.answers(t)
	t.Run("refused", s.refused)
	t.Run("what the catalog says", s.misled)
	t.Run("no secrets", s.silence)
}
