package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gatehouse/executors/ballista/clustertest"
)

// engineSource is the folder of the source of the cluster's programs.
const engineSource = "executors/ballista/engine"

// clusterWeaknesses are barriers of the cluster, one by one, most of them in what the gateway hands to it: so the cluster's programs stay as they are.
var clusterWeaknesses = []weakness{
	{name: "filters left out of task groups", file: "executors/ballista/payload.go", old: "\tif r.Filter != nil {", new: "\tif false {", within: 200},
	{
		// A mask whose column nothing else reads fails then, alike on both sides.
		name: "masks left out of task groups", file: "executors/ballista/payload.go", old: "\t\tcase c.Mask != nil:", new: "\t\tcase c.Mask != nil && at < 0:", within: 300,
	},
	{
		name: "deleted rows left in task groups", file: "executors/ballista/payload.go",
		old: "if w.Deleted, w.Equality, err = deletes.of(f); err != nil {", new: "if _, w.Equality, err = deletes.of(f); err != nil {", within: 500,
	},
	{
		name: "equality deletes left out of task groups", file: "executors/ballista/payload.go",
		old: "if w.Deleted, w.Equality, err = deletes.of(f); err != nil {", new: "if w.Deleted, _, err = deletes.of(f); err != nil {", within: 1000,
	},
	{
		name: "batches as the cluster's", file: "executors/ballista/results.go", old: "\t\t\tif !more {\n\t\t\t\tbreak", new: "\t\t\tif !more || rows > 0 {\n\t\t\t\tbreak",
		within: 200,
	},
	{
		name: "words of the cluster", file: "executors/ballista/errors.go", old: "return &executors.Error{Kind: kind, Cause: cause}",
		new: "return &executors.Error{Kind: kind, Hint: f.GetCause(), Cause: cause}", within: 500,
	},
	{
		name: "conditions on raw values in task groups", file: "policy/apply.go", old: "|| masked[visible.Columns[i].FieldID] {", new: "{", within: 1000,
	},
	{
		name: "raising conditions beside the policy in task groups", file: "policy/apply.go",
		old: "return c.Expr != nil && classify.ExprClassTyped(c.Expr, typesOf(visible)) == classify.ClassLeakproof", new: "return c.Expr != nil", within: 500,
		covered: "a task evaluates them on rows that the filter has let through, and on nothing else",
	},
	{
		// It takes a join whose order the numbers change, and a failure that comes up in one order only.
		name: "numbers of raw rows in the cluster's plans", file: "executors/ballista/estimate.go", old: "cmp.Or(r.Scan.Rough, r.Scan.Rows)", new: "cmp.Or(r.Scan.Rows, r.Scan.Rough)",
		pkg: "./executors/ballista", test: "TestEstimate",
	},
	{
		name: "DataFusion's own sums", file: engineSource + "/governed/src/session.rs", old: "aggregates.extend(aggregate_functions());", new: "aggregates.extend(aggregate_functions().into_iter().filter(|f| f.name() != \"sum\"));",
		pkg: "./cmd/prove", test: "TestSumsOnCluster",
	},
	{
		name: "jobs that go on after their last stage", file: engineSource + "/scheduler/src/shares.rs", old: "        graph::watch(&info.execution_graph).await; // before it has its first task\n", new: "",
		pkg: "./cmd/prove", test: "TestLastStage",
	},
}

// TestWeaknessesOnCluster is TestWeaknesses for what runs on a cluster.
func TestWeaknessesOnCluster(t *testing.T) {
	weaken(t, clusterWeaknesses, func(t *testing.T) []string {
		return []string{"-aim", "60", "-executor", "ballista", "-programs", clustertest.Programs(t)}
	})
}

// programs builds the cluster's programs with the weakness in them, from what the others were built of.
func (w weakness) programs(t *testing.T) string {
	t.Helper()
	dir, built := t.TempDir(), clustertest.Programs(t)
	run := func(name string, args ...string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), name, args...)
		c.Env = append(c.Environ(), "CARGO_TARGET_DIR="+dir)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	run("cp", "-a", filepath.Join(root, engineSource), filepath.Join(dir, "engine"))
	run("cp", "-a", built, filepath.Join(dir, "debug"))
	file := filepath.Join(dir, "engine", strings.TrimPrefix(w.file, engineSource))
	source, err := os.ReadFile(file)
	ok(t, err)
	ok(t, os.WriteFile(file, []byte(strings.Replace(string(source), w.old, w.new, 1)), 0o644))
	run("cargo", "build", "--offline", "--locked", "--manifest-path", filepath.Join(dir, "engine", "Cargo.toml"))
	return filepath.Join(dir, "debug")
}
