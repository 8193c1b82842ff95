package plan

import (
	"slices"
	"testing"

	"github.com/apache/iceberg-go"
)

// Deletes apply to their data file however its location is spelt, and to no other file.
func TestDeletesOfSpellings(t *testing.T) {
	n := func(n int64) *int64 { return &n }
	spec := *iceberg.UnpartitionedSpec
	base, err := iceberg.NewDataFileBuilder(spec, iceberg.EntryContentData, "x", iceberg.ParquetFile, nil, nil, nil, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		data, named string
		want        bool
	}{
		{"s3://b1x/a", "s3://b1x/a", true},
		{"s3://b1x/a", "s3a://b1x/a", true},
		{"s3a://b1x/a", "s3n://b1x/a", true},
		{"s3n://b1x/a//c d%20", "s3://b1x/a//c d%20", true},
		{"/t/a", "file:/t/a", true},
		{"file:/t/a", "file:///t/a", true},
		{"file://localhost/t/a", "/t/a", true},
		{"s3://b1x/a", "s3://b1x//a", false},
		{"s3://b1x/a", "s3://b2x/a", false},
		{"s3://b1x/a", "s3://b1x/A", false},
		{"s3://b1x/a", "gs://b1x/a", false},
		{"/b1x/a", "s3://b1x/a", false},
		{"/t/a", "/t//a", false},
	} {
		vector := listedFile{content: iceberg.EntryContentPosDeletes, format: iceberg.PuffinFile, ref: c.named, offset: n(1), length: n(1)}
		for kind, f := range map[string]listedFile{
			"a vector":    vector,
			"one file's":  {content: iceberg.EntryContentPosDeletes, format: iceberg.ParquetFile, ref: c.named},
			"by its path": {content: iceberg.EntryContentPosDeletes, format: iceberg.ParquetFile, path: "d"},
		} {
			b := &builder{out: &snapshot{specs: map[int]iceberg.PartitionSpec{spec.ID(): spec}}}
			listed := func(f listedFile) iceberg.ManifestEntry {
				f.DataFile = base.Build()
				return iceberg.NewManifestEntry(iceberg.EntryStatusADDED, n(1), n(1), n(1), f)
			}
			if err := b.delete(listed(f)); err != nil {
				t.Fatal(err)
			}
			if kind == "by its path" {
				b.out.deletes[0].lower, b.out.deletes[0].upper = []byte(c.named), []byte(c.named)
			}
			d := &dataFile{file: File{Path: c.data}, spec: spec.ID()}
			if got := len(b.index.applying(d, b.out.deletes)) == 1; got != c.want {
				t.Errorf("%s of %s, for %s: %v", kind, c.named, c.data, got)
			}
			if c.want && kind == "a vector" {
				vector.ref = c.data
				if err := b.delete(listed(vector)); err == nil {
					t.Errorf("two vectors, of %s and %s", c.named, c.data)
				}
			}
		}
		if got := slices.Contains(Spellings(c.data), c.named); got != c.want {
			t.Errorf("%s is a spelling of %s: %v", c.named, c.data, got)
		}
		if got := samePlace(c.data) == samePlace(c.named); got != c.want {
			t.Errorf("%s and %s: %v", c.data, c.named, got)
		}
	}
}
