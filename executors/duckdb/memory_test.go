package duckdb

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestMemoryLimit(t *testing.T) {
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for text, want := range map[string]int64{"max\n": 0, "1073741824\n": 1 << 30, "": 0, "-1": 0, "9223372036854771712\n": 9223372036854771712} {
		if got := readLimit(file(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if got := readMeminfo(file("MemFree: 1 kB\nMemTotal:       2048 kB\n")); got != 2<<20 {
		t.Errorf("total memory %d", got)
	}
	if got := readMeminfo("/nowhere"); got != fallbackMemory {
		t.Errorf("no total: %d", got)
	}
	v2 := groupFiles(file("0::/system.slice/gatehouse.service\n"))
	if !slices.Contains(v2, "/sys/fs/cgroup/system.slice/gatehouse.service/memory.max") || !slices.Contains(v2, "/sys/fs/cgroup/system.slice/memory.max") {
		t.Errorf("version 2: %q", v2)
	}
	v1 := groupFiles(file("5:cpu,cpuacct:/a\n4:memory:/docker/x\n"))
	if !slices.Contains(v1, "/sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes") || slices.Contains(v1, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes") {
		t.Errorf("version 1: %q", v1)
	}
	if n := memoryLimit(); n <= 0 {
		t.Errorf("the limit here is %d", n)
	}
}
