package duckdb

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// fallbackMemory is used where neither a control group nor the kernel says how much memory there is.
const fallbackMemory = 2 << 30

// memoryLimit returns the bytes that this process may use: the smallest limit of its control groups (v2, v1), else the
// machine's memory.
func memoryLimit() int64 {
	limit := readMeminfo("/proc/meminfo")
	for _, path := range groupFiles("/proc/self/cgroup") {
		if n := readLimit(path); n > 0 && n < limit {
			limit = n
		}
	}
	return limit
}

// groupFiles lists the files that may hold a limit for this process: its own group's and all parents'.
func groupFiles(self string) []string {
	paths := []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}
	text, err := os.ReadFile(self)
	if err != nil {
		return paths
	}
	for _, line := range strings.Split(string(text), "\n") {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 {
			continue
		}
		root, name := "/sys/fs/cgroup", "memory.max"
		if parts[1] != "" {
			if !strings.Contains(","+parts[1]+",", ",memory,") {
				continue
			}
			root, name = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		for dir := filepath.Clean("/" + parts[2]); dir != "/"; dir = filepath.Dir(dir) {
			paths = append(paths, filepath.Join(root, dir, name))
		}
	}
	return paths
}

// readLimit returns the limit in path, 0 if there is none ("max", no such file).
func readLimit(path string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n <= 0 {
		return 0
	}
	return n
}

func readMeminfo(path string) int64 {
	f, err := os.Open(path)
	if err != nil {
		return fallbackMemory
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Fields(s.Text())
		if len(fields) >= 2 && fields[0] == "MemTotal:" {
			if kib, err := strconv.ParseInt(fields[1], 10, 64); err == nil && kib < math.MaxInt64/1024 {
				return kib * 1024
			}
		}
	}
	return fallbackMemory
}
