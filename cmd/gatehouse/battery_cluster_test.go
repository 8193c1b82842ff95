package main

import (
	"context"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"gatehouse/executors/ballista/clustertest"
	"gatehouse/policies"
)

// onCluster is how many answers of the battery have rows where the cluster is alone, those of statements that need none among them. Fewer are a
// fault: then it refuses what it ran.
const onCluster = 563

// known are statements that fail in the embedded engine and have rows on the cluster, whose planner sees that a condition is true without what
// would fail for visible rows.
var known = map[string]bool{
	"SELECT count(*) AS n FROM customers a JOIN (SELECT 1 AS one) b ON COALESCE(CAST(replace(region,'EU','1') AS INT), 2) IS NOT NULL": true,
}

// TestBatteryCluster puts every statement of the battery to three demos: one with the embedded engine, one with a cluster and one with both. The
// second gives what the first gives or refuses by name what the cluster has not; the third gives what the first gives. Whatever is denied is
// denied in the same words.
func TestBatteryCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some minutes")
	}
	_, dir := clustertest.Start(t)
	demoServer(t)                                 // writes the lakehouse
	key := filepath.Join(t.TempDir(), "hash.key") // hashes are part of some answers
	if err := writeKey(key); err != nil {
		t.Fatal(err)
	}
	servers := []*server{
		ownDemo(t, key, ExecutorConfig{}), ownDemo(t, key, ExecutorConfig{Type: "ballista", Cluster: dir}),
		ownDemo(t, key, ExecutorConfig{Type: "auto", Cluster: dir, Above: "1KiB"}),
	}
	sum := clusterAnswers{refused: map[string]int{}}
	datadriven.Walk(t, "../../testdata/battery", func(t *testing.T, path string) {
		var all [3]*battery
		for i, s := range servers {
			all[i] = newBattery(t, s)
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "never" {
				for _, b := range all {
					b.never(t, d)
				}
				return d.Expected
			}
			for _, sql := range statements(d.Input) {
				for _, user := range askedAs(d.Cmd) {
					sum.ask(t, d, all, user, sql)
				}
			}
			return d.Expected
		})
	})
	by := 0
	for _, what := range slices.SortedFunc(maps.Keys(sum.refused), func(a, b string) int { return sum.refused[b] - sum.refused[a] }) {
		t.Logf("refused by name %d times: %s", sum.refused[what], what)
		by += sum.refused[what]
	}
	t.Logf("%d answers have the same rows, %d are the same error, %d are refused by name", sum.rows, sum.failed, by)
	if sum.rows < onCluster {
		t.Errorf("%d answers have rows, and there were %d", sum.rows, onCluster)
	}
}

// clusterAnswers counts answers of the cluster.
type clusterAnswers struct {
	rows, failed int
	refused      map[string]int // by what the cluster has not
}

// ask puts one statement to the embedded engine, to the cluster alone, and to both, and compares.
func (c *clusterAnswers) ask(t *testing.T, d *datadriven.TestData, all [3]*battery, user, sql string) {
	want, got := sorted(all[0].see(t, d, user, sql)), sorted(all[1].see(t, d, user, sql))
	what, byName := strings.CutPrefix(got, "error: the cluster cannot run this: ")
	switch {
	case byName && mayBeRefused(want):
		c.refused[what]++
	case got == want && strings.HasPrefix(got, "error: "):
		c.failed++
	case got == want:
		c.rows++
	case explained(sql, want, got): // says where the statement would run, and in which stages; TestClusterExplains looks at that
		c.rows++
	case !known[sql]:
		t.Errorf("%s: %s gets another answer from the cluster:\n%s\n%s\nin the embedded engine\n%s", d.Pos, user, sql, got, want)
	}
	if known[sql] || strings.HasPrefix(sql, "EXPLAIN ") || user != "alice" && query.MatchString(sql) {
		return // for time: she has filters and masks, and both are the executors of the others
	}
	if auto := sorted(all[2].see(t, d, user, sql)); auto != want {
		t.Errorf("%s: %s gets another answer with auto:\n%s\n%s\nin the embedded engine\n%s", d.Pos, user, sql, auto, want)
	}
}

// explained reports whether both answers are plans.
func explained(sql, want, got string) bool {
	return strings.HasPrefix(sql, "EXPLAIN ") && !strings.HasPrefix(want, "error: ") && !strings.HasPrefix(got, "error: ")
}

// query matches statements that change nothing.
var query = regexp.MustCompile(`^(SELECT|WITH|FROM|VALUES|TABLE)\b`)

// askedAs are the users that a directive stands for.
func askedAs(directive string) []string {
	switch directive {
	case "all":
		return []string{"alice", "bob", "admin"}
	case "twin":
		return []string{"alice"}
	}
	return []string{directive}
}

// raised are the errors that an engine ends with, for which a cluster that cannot run a statement has its own.
var raised = []string{
	"error: a value ", "error: division by zero", "error: a scalar subquery", "error: a function does not accept", "error: the statement needs more memory",
	"error: the statement does not type-check", "error: limit reached",
}

// mayBeRefused reports whether an answer is one of an engine, and not that of what stands before it.
func mayBeRefused(answer string) bool {
	return !strings.HasPrefix(answer, "error: ") || slices.ContainsFunc(raised, func(r string) bool { return strings.HasPrefix(answer, r) })
}

// sorted sorts the lines of an answer: without ORDER BY they come in any order.
func sorted(answer string) string {
	lines := strings.Split(strings.TrimRight(answer, "\n"), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// ownDemo serves the example lakehouse that all tests share, with an executor, policy, users and rights of its own, until the test ends.
func ownDemo(t *testing.T, key string, executor ExecutorConfig) *server {
	t.Helper()
	home := t.TempDir()
	policy, users := filepath.Join(home, "policy"), filepath.Join(home, "users.yaml")
	for _, err := range []error{policies.Write(policy, policies.Demo), writeDemoUsers(users)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	cfg := demoConfig(home, filepath.Join(testHome(t), "lake"), policy, users, key)
	executor.Dir, executor.Memory = cfg.Executor.Dir, "2GiB"
	cfg.Executor = executor
	ls, err := listenAll("127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &server{out: newLines(), errs: newLines(), flight: ls.flight.Addr().String(), stop: cancel, code: make(chan int, 1)}
	env := environment{getenv: func(string) string { return "" }, stdout: s.out, stderr: s.errs}
	p, err := assemble(ctx, cfg, ls, env)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if err := p.serve(ctx, env, func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
		s.code <- exitOK
	}()
	t.Cleanup(func() {
		s.end(t)
		if t.Failed() {
			t.Log(s.errs.String())
		}
		ls.close()
	})
	return s
}
