package ballista

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"gatehouse/executors"
	"gatehouse/executors/ballista/cluster"
	"gatehouse/executors/ballista/clustertest"
	"gatehouse/executors/executortest"
)

// pairs has more rows than a small disk takes.
const pairs = "SELECT a.id AS a, b.id AS b, count(*) AS n FROM v2_many_row_groups a JOIN v2_many_row_groups b ON a.id >= b.id GROUP BY a.id, b.id"

// A statement for whose shuffles there is no room ends with a class, once, and leaves neither files nor a mark: the processes live, and the next
// statement runs.
func TestDiskFull(t *testing.T) {
	binaries := clustertest.Programs(t)
	for name, script := range map[string]string{
		// No file may grow above 32 KiB.
		"files": "trap '' XFSZ\nulimit -f 64\nexec %q \"$1\"\n",
		// The work folder is a file system of its own, of 256 KiB, which only the executor sees.
		"file system": `work=$(dirname "$1")/work-$(basename "$1" .json | sed s/executor-//)
exec unshare --user --map-root-user --mount sh -c 'mkdir -p "$2" && mount -t tmpfs -o size=256k tmpfs "$2" && exec %q "$1"' sh "$1" "$work"
`,
	} {
		t.Run(name, func(t *testing.T) {
			if name == "file system" && exec.Command("unshare", "--user", "--map-root-user", "--mount", "true").Run() != nil {
				t.Skip("this machine has no user namespaces: a file system cannot be made")
			}
			bin := t.TempDir()
			text := "#!/bin/sh\n" + fmt.Sprintf(script, filepath.Join(binaries, "gatehouse-executor"))
			if err := os.WriteFile(filepath.Join(bin, "gatehouse-executor"), []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(binaries, "gatehouse-scheduler"), filepath.Join(bin, "gatehouse-scheduler")); err != nil {
				t.Fatal(err)
			}
			c := startWith(t, cluster.Config{Binaries: bin})
			p := executortest.Zoo(t, c.opener(t, func(c *Config) { c.GroupBytes = 16 << 10 }))
			small := func() {
				t.Helper()
				// Until what the one before wrote is gone.
				eventually(t, "a small statement runs", func() bool {
					rows, err := p.Rows(t.Context(), "SELECT id, count(*) AS n FROM orders GROUP BY id", nil)
					if err != nil {
						kind(t, err, executors.KindMemory)
					}
					return err == nil && len(rows) > 0
				})
			}
			small()
			for range 2 {
				_, err := p.Rows(t.Context(), pairs, nil)
				kind(t, err, executors.KindMemory)
				small()
			}
			for i, work := range []string{"work-1", "work-2"} {
				// As the executor sees it.
				path := filepath.Join(fmt.Sprintf("/proc/%d/root", c.PID(fmt.Sprintf("executor-%d", i+1))), c.dir, work)
				eventually(t, work+" is empty", func() bool { return jobs(t, path) == 0 })
			}
		})
	}
}
