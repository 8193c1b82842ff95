package duckdb

import (
	"context"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"gatehouse/executors"
)

// TestSteadyBatches: where hidden rows lie between visible ones does not show in the sizes of batches.
func TestSteadyBatches(t *testing.T) {
	x := open(t, Config{})
	sizes := func(steady bool, text string) (out []int64) {
		s, err := x.raw(text, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		s.steady = steady
		var r array.RecordReader
		if r, err = s.Execute(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		defer r.Release()
		for r.Next() {
			out = append(out, r.RecordBatch().NumRows())
		}
		if err := r.Err(); err != nil {
			t.Fatal(err)
		}
		return out
	}
	for name, column := range map[string]string{
		"narrow": "i",
		"wide":   "i, repeat('x', 300 + i % 7)",
		"nested": "[i, NULL], {'a': repeat('y', 100), 'b': i % 2 = 0}",
	} {
		t.Run(name, func(t *testing.T) {
			dense := "SELECT " + column + " FROM (SELECT r.i FROM range(70000) r(i))"
			sparse := "SELECT " + column + " FROM (SELECT r.i // 9 AS i FROM range(630000) r(i) WHERE r.i % 9 = 4)"
			want, got := sizes(true, dense), sizes(true, sparse)
			if !slices.Equal(want, got) {
				t.Errorf("batches of %v without hidden rows, of %v with", want, got)
			}
			if want[0] != executors.FirstRows || len(want) < 3 {
				t.Errorf("batches of %v", want)
			}
			if slices.Equal(sizes(false, dense), sizes(false, sparse)) {
				t.Error("chunks are of the same sizes: the test shows nothing")
			}
		})
	}
}
