package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatehouse/executors/ballista/clustertest"
)

// TestClusterCommand kills a process of "gatehouse cluster", which is started again, and again when its program does not work any more, a few
// times with pauses: then the command ends, and says which it was.
func TestClusterCommand(t *testing.T) {
	binaries, bin, dir := clustertest.Programs(t), t.TempDir(), filepath.Join(t.TempDir(), "cluster")
	if err := os.Symlink(filepath.Join(binaries, "gatehouse-scheduler"), filepath.Join(bin, "gatehouse-scheduler")); err != nil {
		t.Fatal(err)
	}
	broken, pid := filepath.Join(bin, "broken"), filepath.Join(bin, "pid")
	script := fmt.Sprintf("#!/bin/sh\n[ -e %s ] && exit 1\ncase $1 in *-1.json) echo $$ >>%s;; esac\nexec %s \"$1\"\n", broken, pid, filepath.Join(binaries, "gatehouse-executor"))
	if err := os.WriteFile(filepath.Join(bin, "gatehouse-executor"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	s := start(t, "A scheduler and 2 executors run", "cluster", "--dir", dir, "--bin", bin)
	defer s.stop()
	// started is the process id of the n-th start of an executor.
	started := func(n int) int {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); ; {
			text, err := os.ReadFile(pid)
			if all := strings.Fields(string(text)); err == nil && len(all) >= n {
				id, err := strconv.Atoi(all[n-1])
				if err != nil {
					t.Fatal(err)
				}
				return id
			}
			if time.Now().After(end) {
				t.Fatalf("it has not been started %d times: %q, %v", n, text, err)
			}
			<-time.After(10 * time.Millisecond)
		}
	}
	kill := func(id int) {
		t.Helper()
		if err := syscall.Kill(id, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	kill(started(1))
	s.errs.wait(t, "executor-1 has ended, and is started again in 0s; its log is above")
	second := started(2)
	if err := os.WriteFile(broken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	kill(second)
	select {
	case code := <-s.code:
		text := s.errs.String()
		last := text[max(strings.LastIndex(text, "gatehouse cluster: "), 0):] // the other executor's log may go on after it
		if code != exitFailure || !strings.HasPrefix(last, "gatehouse cluster: executor-1 has been started 5 times and has not stayed; its log is above\n") {
			t.Errorf("it ended with %d:\n%s", code, text)
		}
	case <-time.After(time.Minute):
		t.Fatalf("it goes on:\n%s", s.errs.String())
	}
}
