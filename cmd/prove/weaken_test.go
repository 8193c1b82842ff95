package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// weakness is one barrier taken away: a place in the product's source, what stands there, and what a weaker product would have.
type weakness struct {
	name, file, old, new string
	within               int // the number of statements of seed 1 in which the harness has to find it
	measured             int // the one that found it when that was measured last, 0: not noted
	// covered says what else keeps the promise if this barrier is away, so that no statement can tell. Then none may be found.
	covered string
	// pkg and test: the test of another package that has to fail, where twins of one user's view cannot tell, because what the barrier keeps
	// is time, is apart from other users, or is about something that the twins have not.
	pkg, test string
}

// weaknesses are barriers, one by one. The product itself has no switch for any: a weaker one is built from changed copies of its files.
var weaknesses = []weakness{
	{
		name: "sums of fractions as the engine adds them", file: "executors/duckdb/order.go",
		old: "case \"BOOLEAN\", \"BIGNUM\",", new: "case \"DOUBLE\", \"BOOLEAN\", \"BIGNUM\",", within: 2000, measured: 25,
	},
	{
		name: "dispersions of values in the order in which they come", file: "executors/duckdb/order.go",
		old: "\tif disperses(name) {\n\t\treturn false", new: "\tif disperses(name) {\n\t\treturn true", within: 2000, measured: 25,
	},
	{name: "no barrier", file: "executors/duckdb/statement.go", old: "if r.Barrier {", new: "if false {", within: 500},
	{
		name: "conditions pushed through the barrier", file: "executors/duckdb/engine.go",
		old: "'statistics_propagation,cte_filter_pusher,late_materialization'", new: "'statistics_propagation,late_materialization'", within: 500,
	},
	{
		name: "raising conditions beside the policy", file: "policy/apply.go",
		old: "return c.Expr != nil && classify.ExprClassTyped(c.Expr, typesOf(visible)) == classify.ClassLeakproof", new: "return c.Expr != nil", within: 500,
	},
	{name: "conditions on raw values", file: "policy/apply.go", old: "|| masked[visible.Columns[i].FieldID] {", new: "{", within: 2000, measured: 12},
	{
		name: "functions on dictionaries", file: "classify/raises.go", old: "\tb.dictionaries(tree, out)\n", new: "", within: 2000, measured: 813,
	},
	{name: "failures below what may end early", file: "classify/raises.go", old: "if (early{b}).query(tree, nothing) {", new: "if false {", within: 2000, measured: 73},
	{name: "failures beside tables without a barrier", file: "classify/raises.go", old: "\t\t\treturn everything(out)\n\t\t}\n\t}\n\tif (early", new: "\t\t\tfor _, i := range bases {\n\t\t\t\tout[i] = true\n\t\t\t}\n\t\t}\n\t}\n\tif (early", within: 6000, measured: 2788},
	{name: "masks that fail on hidden rows", file: "executors/duckdb/statement.go", old: "if r.MaskFails && (", new: "if false && (", within: 2000, measured: 96},
	{
		name: "conditions on masks that fail", file: "policy/apply.go", old: "|| rel.Filter != nil && maskMayRaise(rel, b.Uses(i), visible)", new: "", within: 2000,
		covered: "masks whose failure the engine does not foresee have a barrier of their own, and below others it moves no condition (executors/duckdb TestConditionsStayAboveMasks)",
	},
	{name: "conditions beside a filter that fails", file: "policy/apply.go", old: "if !fails && !(d.Steady", new: "if !(d.Steady", within: 2000, measured: 124},
	{
		name: "masks left out", file: "executors/duckdb/statement.go", old: `fmt.Sprintf("CAST((%s) AS %s)", mask, c.Type)`,
		new: `fmt.Sprintf("CAST((%s) AS %s)", identifier(c.Name), c.Type+mask[:0])`, within: 200,
	},
	{name: "filters left out", file: "executors/duckdb/statement.go", old: "if r.Filter != nil {", new: "if false {", within: 200},
	{
		name: "deletes left out", file: "executors/duckdb/scan.go", old: "if a.keyed {\n\t\tfmt.Fprintf(&b", new: "if false {\n\t\tfmt.Fprintf(&b", within: 500, measured: 6,
	},
	{name: "values under NULL", file: "executors/duckdb/column.go", old: "\t\tif nulls > 0 {\n\t\t\tfor i := range n {", new: "\t\tif false {\n\t\t\tfor i := range n {", within: 2000, measured: 125},
	{
		name: "words of the engine", file: "executors/executors.go", old: "return kindText[e.Kind]",
		new: "if e.Cause != nil {\n\t\treturn e.Cause.Error()\n\t}\n\treturn kindText[e.Kind]", within: 200, measured: 3,
	},
	{name: "batches as the engine's chunks", file: "executors/duckdb/execute.go", old: "cancel, s.steady", new: "cancel, false", within: 2000, measured: 676},
	{name: "a first batch that does not wait", file: "executors/duckdb/stream.go", old: "if rows > 0 && !r.steady && (", new: "if rows > 0 && (", within: 2000, measured: 676},
	{
		name: "hidden columns shown", file: "gateway/resolve.go", old: "if i < len(ok) && ok[i] {", new: "if i < len(ok) || ok[i] {", within: 1000, measured: 764,
	},
	{name: "hidden tables found", file: "gateway/resolve.go", old: "return enters && len(sees) == 1 && sees[0], nil", new: "return enters && len(sees) == 1, nil", within: 1000, measured: 387},
	{name: "hidden tables listed", file: "gateway/metadata.go", old: "if i < len(ok) && ok[i] {", new: "if i < len(ok) || ok[i] {", within: 1000, measured: 46},
	{
		name: "dropped columns and row numbers for everybody", file: "gateway/resolve.go", old: `t.known[i] == "" && everything {`, new: `t.known[i] == "" || everything {`, within: 1000, measured: 75,
	},
	{name: "numbers of raw rows in EXPLAIN", file: "plan/explain.go", old: "case r.Filter != nil || len(r.maskedColumns()) > 0:", new: "case false:", within: 1000, measured: 55},
	{
		name: "masks by the names of the past", file: "policy/apply.go", old: `if name != "" && t.KnownName(i) == name {`, new: `if name != "" && (c.Name == name || i < 0) {`, within: 1000,
		covered: "a mask whose column is not found is a fault of the policy, and denies",
	},
	{
		name: "statistics of hidden values", file: "executors/duckdb/engine.go",
		old: "'statistics_propagation,cte_filter_pusher,late_materialization'", new: "'cte_filter_pusher,late_materialization'", within: 1000,
		covered: "files are read by a schema of field ids, for which this engine takes no statistics of columns (executors/duckdb TestNoStatistics)",
	},
	{
		name: "parts of columns that were dropped", file: "gateway/resolve.go", old: " && !t.current.Columns[at].Lost(t.loaded.Columns[i])", new: "", within: 1000, measured: 417,
	},
	{name: "equality deletes left out", file: "executors/duckdb/scan.go", old: "\tb.WriteString(joins)\n", new: "\t_ = joins\n", within: 2000, measured: 189},
	{name: "no file where bounds rule out all", file: "plan/scan.go", old: "len(out.Files) == 0 && smallest >= 0", new: "false && smallest >= 0", within: 200, measured: 28},
	{
		// Twins do not tell in 2,000 statements: it takes a join whose order the numbers change, and a failure that comes up in one order only.
		name: "numbers of raw rows in plans", file: "plan/scan.go", old: "out.Rough = rough(total); len", new: "out.Rough = 0 * rough(total); len",
		pkg: "./plan", test: "TestPruningIsNotSeen",
	},
	{
		name: "conditions decide what is read, though policy.steady is set", file: "policy/apply.go", old: "!(d.Steady && hides) && pushable(", new: "pushable(",
		pkg: "./policy", test: "TestApply", // and cmd/prove TestTiming, which measures
	},
	{
		// Twins found it once, in statement 5,315 of seed 41.
		name: "rows read twice where none is deleted", file: "executors/duckdb/engine.go", old: ",late_materialization'", new: "'", pkg: "./gateway", test: "TestFlow/select",
	},
	{
		name: "tables under another name", file: "policy/opa/judge.go", old: "j.rights.Elsewhere(t.UUID, t.Name)", new: "false", pkg: "./gateway", test: "TestTableUnderAnotherName",
	},
	{name: "kept answers of all users in one place", file: "policy/opa/memo.go", old: "owner{id.Issuer, id.Subject}", new: "owner{}", pkg: "./policy/opa", test: "TestQuestionsArePutOnce"},
	{name: "kept answers under other rights", file: "policy/opa/memo.go", old: "m == nil || m.rights != rights", new: "m == nil", pkg: "./policy/opa", test: "TestRightsEndKeptAnswers"},
	{
		name: "restrictions of a catalog left out", file: "gateway/restrict.go", old: "len(t.loaded.Restrictions) == 0", new: "len(t.loaded.Restrictions) >= 0",
		pkg: "./catalog/rest", test: "TestReadRestrictions",
	},
	{
		name: "row filters by statement left out", file: "policies/lib/rules.rego", old: "some name, rule in data.gateway.grants.filters[", new: "some name, rule in data.gateway.grants.nothing[",
		pkg: "./gateway", test: "TestReplacedTable",
	},
	{
		name: "masks by statement left out", file: "policies/lib/rules.rego", old: "some name, rule in data.gateway.grants.masks[", new: "some name, rule in data.gateway.grants.nothing[",
		pkg: "./gateway", test: "TestRenamedColumn",
	},
}

const root = "../.."

// TestWeaknesses: each weakness still names a place in the source. With GATEHOUSE_WEAKEN set (to "all" or a part of a name), which builds
// one weakened program after the other, the harness has to find each,
// or the test that is named beside it has to fail.
func TestWeaknesses(t *testing.T) {
	weaken(t, weaknesses, func(*testing.T) []string { return []string{"-aim", "80"} })
}

// weaken tries weaknesses one by one, with what flags returns for the harness.
func weaken(t *testing.T, all []weakness, flags func(*testing.T) []string) {
	wanted := os.Getenv("GATEHOUSE_WEAKEN")
	for _, w := range all {
		t.Run(w.name, func(t *testing.T) {
			overlay := w.overlay(t)
			if wanted == "" || wanted != "all" && !strings.Contains(w.name, wanted) {
				return
			}
			if w.test != "" {
				w.fails(t, overlay)
				return
			}
			w.found(t, overlay, flags(t))
		})
	}
}

// found runs the harness, weakened and with further flags: it has to find the weakness, unless something else covers it.
func (w weakness) found(t *testing.T, overlay string, flags []string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "prove")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", program, "./cmd/prove")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	flags = append([]string{"-n", strconv.Itoa(w.within), "-seed", "1", "-small=false", "-dir", t.TempDir()}, flags...)
	out, err := exec.CommandContext(t.Context(), program, flags...).CombinedOutput()
	found := err != nil && strings.Contains(string(out), "VIOLATION")
	if found != (w.covered == "") {
		t.Fatalf("found is %v after at most %d statements, covered %q: %v\n%s", found, w.within, w.covered, err, out)
	}
	t.Logf("%s", out)
}

// fails runs the weakness's own test, which has to fail.
func (w weakness) fails(t *testing.T, overlay string) {
	t.Helper()
	run := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, "-count=1", "-run", "^"+w.test+"$", w.pkg)
	run.Dir = root
	if filepath.Ext(w.file) == ".rs" {
		run.Env = append(run.Environ(), "GATEHOUSE_CLUSTER_BIN="+w.programs(t))
	}
	if out, err := run.CombinedOutput(); err == nil || !strings.Contains(string(out), "--- FAIL: "+w.test) {
		t.Fatalf("%s %s: %v\n%s", w.pkg, w.test, err, out)
	}
}

// overlay writes a changed copy of the file and returns the path of the description that the go command takes.
func (w weakness) overlay(t *testing.T) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join(root, w.file))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), w.old); n != 1 {
		t.Fatalf("%s has %q %d times", w.file, w.old, n)
	}
	dir := t.TempDir()
	changed := filepath.Join(dir, filepath.Base(file))
	if err := os.WriteFile(changed, []byte(strings.Replace(string(source), w.old, w.new, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{file: changed}})
	if err != nil {
		t.Fatal(err)
	}
	description := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(description, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return description
}
