package ballista

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gatehouse/executors"
	"gatehouse/executors/ballista/cluster"
	"gatehouse/executors/executortest"
)

// Statements that need more memory than their executors have for tasks spill, or end with a class. The processes live, and hold little more.
func TestMemory(t *testing.T) {
	const limit = 16 << 20
	c := startWith(t, cluster.Config{Memory: limit, Cores: 2})
	p := executortest.Zoo(t, c.opener(t, nil))
	before := c.resident(t)
	wide := "SELECT '" + strings.Repeat("x", 200) + "' || CAST(a.id AS VARCHAR) || '-' || CAST(b.id AS VARCHAR) AS text FROM v2_many_row_groups a JOIN v2_many_row_groups b ON a.id >= b.id WHERE a.id < 500"
	for _, s := range []struct {
		name, text string
	}{
		{"aggregate", "SELECT count(*) AS n FROM (SELECT text, count(*) AS n FROM (" + wide + ") AS w GROUP BY text) AS g"},
		{"sort", "SELECT count(*) AS n FROM (SELECT text, row_number() OVER (ORDER BY text) AS n FROM (" + wide + ") AS w) AS g"},
		{"join", "SELECT count(*) AS n FROM (" + wide + ") AS l JOIN (" + wide + ") AS r ON l.text = r.text"},
	} {
		t.Run(s.name, func(t *testing.T) {
			rows, err := p.Rows(t.Context(), s.text, nil)
			switch {
			case err == nil:
				t.Logf("%v; resident: %d MiB before, at most %d MiB", rows, before>>20, c.resident(t)>>20)
			default:
				kind(t, err, executors.KindMemory)
				t.Logf("refused; resident: %d MiB before, at most %d MiB", before>>20, c.resident(t)>>20)
			}
			if _, err := p.Rows(t.Context(), "SELECT id FROM orders", nil); err != nil {
				t.Errorf("the next statement: %v (%v)", err, errors.Unwrap(err))
			}
		})
	}
	// What the engine does not count: batches on their way, buffers of files and connections.
	if now := c.resident(t); now > before+limit+256<<20 {
		t.Errorf("an executor held %d MiB", now>>20)
	}
}

var resident = regexp.MustCompile(`VmHWM:\s+([0-9]+) kB`)

// resident is the most that an executor has held, in bytes.
func (c *testCluster) resident(t *testing.T) int64 {
	t.Helper()
	most := int64(0)
	for _, name := range []string{"executor-1", "executor-2"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.PID(name)))
		if err != nil {
			t.Skip("no /proc here")
		}
		if m := resident.FindSubmatch(text); m != nil {
			n, _ := strconv.ParseInt(string(m[1]), 10, 64)
			most = max(most, n<<10)
		}
	}
	return most
}
