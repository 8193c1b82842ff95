package ballista

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"gatehouse/executors/ballista/cluster"
	"gatehouse/executors/executortest"
)

// TestGatewayKilled kills a process that has a statement running, and one that reads a result: the tasks stop and the files go, as nobody asks for
// them any more.
func TestGatewayKilled(t *testing.T) {
	if dir := os.Getenv("GATEHOUSE_TEST_GATEWAY"); dir != "" {
		asGateway(t, dir)
		return
	}
	c := startCluster(t)
	for _, what := range []string{"running", "reading"} {
		t.Run(what, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run", "^TestGatewayKilled$")
			cmd.Env = append(os.Environ(), "GATEHOUSE_TEST_GATEWAY="+c.dir, "GATEHOUSE_TEST_STATEMENT="+what)
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			before := busy(t, c)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cmd.Wait() }()
			defer func() { _ = cmd.Process.Kill() }()
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
				t.Fatal(line, err)
			}
			if what == "running" {
				eventually(t, "the executors work", func() bool { return busy(t, c) > before+50 })
			}
			eventually(t, "there are files", func() bool { return c.files(t) > 0 })
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the files are gone", func() bool { return c.files(t) == 0 })
			eventually(t, "the executors are idle", c.idle(t))
		})
	}
}

// files counts the jobs that have files.
func (c *testCluster) files(t *testing.T) int {
	t.Helper()
	return jobs(t, filepath.Join(c.dir, "work-1")) + jobs(t, filepath.Join(c.dir, "work-2"))
}

// idle reports whether the executors have done next to nothing for a quarter of a second.
func (c *testCluster) idle(t *testing.T) func() bool {
	last, since := busy(t, c), time.Now()
	return func() bool {
		if now := busy(t, c); now-last > 3 {
			last, since = now, time.Now()
		}
		return time.Since(since) > 250*time.Millisecond
	}
}

// asGateway is the process that is killed.
func asGateway(t *testing.T, dir string) {
	address, err := cluster.Address(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := &testCluster{&cluster.Cluster{Scheduler: address}, dir}
	p := executortest.Zoo(t, c.opener(t, func(c *Config) { c.GroupBytes = 4 << 10 }))
	if os.Getenv("GATEHOUSE_TEST_STATEMENT") == "running" {
		fmt.Println("ready")
		_, _ = p.Rows(context.Background(), endless, nil)
	} else {
		s, r, err := p.Open(context.Background(), "SELECT id, count(*) AS n FROM v2_many_row_groups GROUP BY id", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		defer r.Release()
		fmt.Println("ready")
	}
	select {}
}
