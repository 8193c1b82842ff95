package ballista

import (
	"slices"
	"testing"

	"gatehouse/plan"
)

// TestDeletesNameFilesInAnySpelling: what a positional delete file says of a data file counts, whichever of the schemes of one kind the two have.
func TestDeletesNameFilesInAnySpelling(t *testing.T) {
	for _, c := range []struct {
		data string
		want []byte
	}{
		{"s3://lake/a", []byte{1, 1, 3}}, {"s3n://lake/a", []byte{1, 1, 3}}, {"s3://lake//a", nil}, {"/lake/a", []byte{7}}, {"file:///lake/a", []byte{7}},
	} {
		d := &deletes{
			scan:    &plan.Scan{Deletes: []plan.DeleteFile{{Kind: plan.PositionDeletes}, {Kind: plan.PositionDeletes}}},
			vectors: make([][]int64, 2),
			byPath:  []map[string][]int64{{"s3a://lake/a": {1, 5}, "file:/lake/a": {7}}, {"s3://lake/a": {2, 5}, "s3://lake/b": {3}}},
		}
		got, _, err := d.of(&plan.File{Path: c.data, Deletes: []int{0, 1}})
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", c.data, got, err, c.want)
		}
	}
}
