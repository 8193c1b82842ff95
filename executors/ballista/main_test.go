package ballista

import (
	"os"
	"sync"
	"testing"
	"time"

	"gatehouse/auth/task"
	"gatehouse/executors"
	"gatehouse/executors/ballista/cluster"
	"gatehouse/executors/ballista/clustertest"
	"gatehouse/executors/duckdb"
	"gatehouse/executors/executortest"
)

// testCluster is a running cluster with what a gateway needs to use it.
type testCluster struct {
	*cluster.Cluster
	dir string
}

// startCluster runs a scheduler and two executors with one core each. More processes can be killed than are left for others, so each
// test that kills has its own.
func startCluster(t testing.TB) *testCluster {
	t.Helper()
	return startWith(t, cluster.Config{})
}

func startWith(t testing.TB, config cluster.Config) *testCluster {
	t.Helper()
	c, dir := clustertest.With(t, config)
	return &testCluster{c, dir}
}

var shared struct {
	once    sync.Once
	cluster *testCluster
	dir     string
}

// sharedCluster is one cluster for all tests that leave it as it was.
func sharedCluster(t testing.TB) *testCluster {
	t.Helper()
	binaries := clustertest.Programs(t)
	shared.once.Do(func() {
		dir, err := os.MkdirTemp("", "gatehouse-cluster-")
		if err != nil {
			return
		}
		shared.dir = dir
		if c, err := cluster.Start(t.Context(), cluster.Config{Dir: dir, Binaries: binaries, Log: os.Stderr}); err == nil {
			shared.cluster = &testCluster{c, dir}
		} else {
			t.Log(err)
		}
	})
	if shared.cluster == nil {
		t.Fatal("the cluster did not start")
	}
	return shared.cluster
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.cluster != nil {
		shared.cluster.Stop()
	}
	_ = os.RemoveAll(shared.dir)
	os.Exit(code)
}

// minter signs task groups as the cluster's gateway does.
func (c *testCluster) minter(t testing.TB) *task.Minter {
	t.Helper()
	key, err := task.LoadKey(cluster.TaskKey(c.dir))
	if err != nil {
		t.Fatal(err)
	}
	m, err := task.NewMinter(task.MinterConfig{Key: key, Issuer: "gatehouse", MaxLife: time.Hour + time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// opener builds executors for the contract suite.
func (c *testCluster) opener(t testing.TB, change func(*Config)) func(executortest.Parts) (executors.Executor, error) {
	return func(p executortest.Parts) (executors.Executor, error) {
		local, err := duckdb.New(duckdb.Config{
			Verifier: p.Verifier, Issuer: "gatehouse", HashKey: p.HashKey, Allocator: p.Allocator, Now: p.Now, Dir: t.TempDir(),
		})
		if err != nil {
			return nil, err
		}
		tls, err := cluster.GatewayTLS(c.dir)
		if err != nil {
			return nil, err
		}
		seal, err := cluster.SealKey(c.dir)
		if err != nil {
			return nil, err
		}
		config := Config{
			Local: local, Verifier: p.Verifier, Issuer: "gatehouse", Minter: c.minter(t), Executors: seal, HashKey: p.HashKey, Scheduler: c.Scheduler, TLS: tls,
			Allocator: p.Allocator, Now: p.Now,
		}
		if change != nil {
			change(&config)
		}
		return New(config)
	}
}
