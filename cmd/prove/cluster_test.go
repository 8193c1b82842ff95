package main

import (
	"flag"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"gatehouse/catalog"
	"gatehouse/catalog/sql"
	"gatehouse/classify"
	"gatehouse/executors"
	"gatehouse/executors/ballista"
	"gatehouse/executors/ballista/clustertest"
	"gatehouse/executors/duckdb"
	"gatehouse/gateway"
	"gatehouse/policy/opa"
)

var (
	clusterStatements = flag.Int("cluster-statements", 300, "generated statements to compare between the executors")
	clusterSeed       = flag.Uint64("cluster-seed", 1, "their seed")
	clusterOnly       = flag.Int("cluster-only", -1, "the only statement to run")
)

// TestExecutorsAgree runs generated statements under policies on the cluster alone and on the embedded engine, over the same tables. What the
// cluster does not refuse by name has the same schema and rows, or an error where the other has one.
func TestExecutorsAgree(t *testing.T) {
	embedded, onCluster, rules := newExecutors(t, *clusterSeed, 12)
	p := &prover{config: config{seed: *clusterSeed, aim: 0, cluster: clusterConfig{programs: clustertest.Programs(t)}}, world: &world{rules: rules}}
	ran, refused, same := 0, map[string]int{}, 0
	for n := range *clusterStatements {
		if *clusterOnly >= 0 && n != *clusterOnly {
			continue
		}
		pol, st := p.generate(n)
		if st.call != nil {
			continue
		}
		if text, _ := st.render(); strings.HasPrefix(text, "EXPLAIN") || text == "SHOW ALL" {
			continue // says where statements run, and in which stages
		}
		st.door = false
		got := onCluster.observe(t.Context(), pol, st)
		if strings.HasPrefix(got.class, "executor") && strings.Contains(got.class, "unsupported") {
			what := strings.TrimPrefix(got.text, "the cluster cannot run this: ")
			refused[what]++
			continue
		}
		want := embedded.observe(t.Context(), pol, st)
		if got.class == "" {
			ran++
		}
		if got.class == "" && want.class != "" && leftOut(t, onCluster, pol, st) {
			continue
		}
		if d := executorsDiffer(st, got, want); d != "" {
			text, args := st.render()
			t.Errorf("statement %d: %s\n%s\n%v\non the cluster\n%sin the embedded engine\n%s", n, d, text, args, got, want)
			continue
		}
		same++
	}
	t.Logf("%d statements with rows on the cluster, %d with the same outcome", ran, same)
	words := slices.SortedFunc(maps.Keys(refused), func(a, b string) int { return refused[b] - refused[a] })
	for _, w := range words[:min(len(words), 40)] {
		t.Logf("refused %d times: %s", refused[w], w)
	}
	if *clusterOnly < 0 && ran*4 < *clusterStatements {
		t.Errorf("only %d of %d statements had rows on the cluster", ran, *clusterStatements)
	}
}

// TestTwinsOnCluster compares some statements that run on a cluster. "make prove EXECUTOR=ballista" compares many.
func TestTwinsOnCluster(t *testing.T) {
	programs := clustertest.Programs(t)
	var out strings.Builder
	r, err := prove(t.Context(), config{
		statements: 200, seed: 30, policies: 6, workers: 2, dir: t.TempDir(), stop: 2, small: true, aim: 40, progress: &out,
		sides: []side{sideA, sideB, sideC}, cluster: clusterConfig{programs: programs, place: ballista.Alone},
	})
	ok(t, err)
	r.clean(t)
}

// executorsDiffer says in what two outcomes differ. Which of several errors comes first is up to the executor.
func executorsDiffer(st *statement, a, b observation) string {
	switch {
	case a.class == "timeout" || b.class == "timeout" || st.loose:
		return ""
	case a.class != "" && b.class != "":
		if strings.Contains(a.class, "internal") {
			return "an internal error"
		}
		return ""
	case a.class != "" || b.class != "":
		return "one fails"
	case a.schema != b.schema:
		return "schema"
	case len(a.rows) != len(b.rows):
		return "row count"
	}
	if st.ordered && slices.Equal(a.rows, b.rows) {
		return ""
	}
	x, y := slices.Clone(a.rows), slices.Clone(b.rows)
	sort.Strings(x)
	sort.Strings(y)
	for i := range x {
		if x[i] != y[i] && !(inexact.MatchString(sqlOf(st)) && sameLine(x[i], y[i])) {
			return "rows"
		}
	}
	return ""
}

// leftOut reports whether the cluster does not read a table of a statement: a join that adds nothing but copies of rows which are brought to one is left out there,
// and so are the errors of its condition.
func leftOut(t *testing.T, onCluster *twin, policy int, st *statement) bool {
	t.Helper()
	text, args := st.render()
	if len(args) > 0 {
		return false
	}
	scans, read := 0, 0
	for _, line := range onCluster.observe(t.Context(), policy, &statement{root: word("", "EXPLAIN "+text)}).rows {
		if strings.HasPrefix(line, "scan ") {
			scans++
		}
		if strings.Contains(line, "GovernedExec of ") {
			read++
		}
	}
	return read < scans
}

// inexact matches statements with sums over partitions of windows: they are exact on a cluster, and rounded on the way in the embedded engine,
// which may leave nothing of numbers of very different sizes.
var inexact = regexp.MustCompile(`(?i)(sum|avg|mean)\(.*\bover\b`)

// sameLine compares lines of values, of which floating point may differ.
func sameLine(a, b string) bool {
	x, y := strings.Split(a, " | "), strings.Split(b, " | ")
	if a == b || len(x) != len(y) {
		return a == b
	}
	for i := range x {
		_, err1 := strconv.ParseFloat(x[i], 64)
		_, err2 := strconv.ParseFloat(y[i], 64)
		if x[i] != y[i] && (err1 != nil || err2 != nil || !strings.ContainsAny(x[i]+y[i], ".e")) {
			return false
		}
	}
	return true
}

// newExecutors are the two executors over one warehouse, with all stages in front of each, under each policy.
func newExecutors(t *testing.T, seed uint64, policies int) (embedded, onCluster *twin, all []*rules) {
	t.Helper()
	running, material := clustertest.Start(t)
	dir := t.TempDir()
	if err := writeWarehouse(t.Context(), dir, sideA, seed); err != nil {
		t.Fatal(err)
	}
	planner, verifier, err := newPlanner()
	ok(t, err)
	tables, err := sql.New(sql.Config{Name: catalogName, SQLite: filepath.Join(dir, catalogFile), Roots: []string{dir}})
	ok(t, err)
	t.Cleanup(func() { _ = tables.Close() })
	engine := func() *duckdb.Executor {
		x, err := duckdb.New(duckdb.Config{Verifier: verifier, Issuer: "prove", Dir: t.TempDir(), HashKey: hashKey()})
		ok(t, err)
		return x
	}
	d := distributed{Cluster: running, dir: material, place: ballista.Alone}
	far, err := d.executor(engine(), verifier)
	ok(t, err)
	embedded, onCluster = &twin{side: sideA}, &twin{side: sideA}
	near := engine()
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	for i := range policies {
		r, err := newRules(seed*1000 + uint64(i))
		ok(t, err)
		d, err := opa.New(opa.Config{Files: r.files, Version: "prove", Timeout: 10 * time.Second})
		ok(t, err)
		t.Cleanup(func() { _ = d.Close() })
		all = append(all, r)
		for x, to := range map[executors.Executor]*twin{near: embedded, far: onCluster} {
			g, err := gateway.New(gateway.Config{
				Decider: d, Catalogs: map[string]catalog.Catalog{catalogName: tables}, Planner: planner, Executor: x, Audit: nowhere{},
				Default: classify.Namespace{Catalog: catalogName, Schema: namespace}, Limits: gateway.Limits{Statement: 20 * time.Second, ResultRows: 20000},
			})
			ok(t, err)
			s, err := g.NewSession(eve, "", "")
			ok(t, err)
			to.gateways, to.sessions = append(to.gateways, g), append(to.sessions, s)
		}
	}
	return embedded, onCluster, all
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
