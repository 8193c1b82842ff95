package main

import (
	"testing"

	"gatehouse/executors/ballista/clustertest"
)

// clusterWeaknesses are barriers of the cluster, one by one, in what the gateway hands to it: so the cluster's programs stay as they are.
var clusterWeaknesses = []weakness{
	{name: "filters left out of task groups", file: "executors/ballista/payload.go", old: "\tif r.Filter != nil {", new: "\tif false {", within: 200},
	{
		// A mask whose column nothing else reads fails then, alike on both sides.
		name: "masks left out of task groups", file: "executors/ballista/payload.go", old: "\t\tcase c.Mask != nil:", new: "\t\tcase c.Mask != nil && at < 0:", within: 300,
	},
	{
		name: "deleted rows left in task groups", file: "executors/ballista/payload.go",
		old: "if w.Deleted, w.Equality, err = deletes.of(ctx, f); err != nil {", new: "if _, w.Equality, err = deletes.of(ctx, f); err != nil {", within: 500,
	},
	{
		name: "equality deletes left out of task groups", file: "executors/ballista/payload.go",
		old: "if w.Deleted, w.Equality, err = deletes.of(ctx, f); err != nil {", new: "if w.Deleted, _, err = deletes.of(ctx, f); err != nil {", within: 1000,
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
		name: "numbers and sizes of raw rows in the cluster's plans", file: "executors/ballista/payload.go", old: "if r.Scan.Rough == 0 &&", new: "if r.Scan.Rough >= 0 ||",
		pkg: "./executors/ballista", test: "TestEstimates",
	},
}

// TestWeaknessesOnCluster is TestWeaknesses for what runs on a cluster.
func TestWeaknessesOnCluster(t *testing.T) {
	weaken(t, clusterWeaknesses, func(t *testing.T) []string {
		return []string{"-aim", "60", "-executor", "ballista", "-programs", clustertest.Programs(t)}
	})
}
