package duckdb

import (
	"fmt"
	"strings"
	"testing"

	"gatehouse/executors"
	"gatehouse/objects/objectstest"
	"gatehouse/plan"
)

// TestDeletesNameFilesInAnySpelling: what a positional delete file says of a data file counts, whichever of the schemes of one kind the two have.
func TestDeletesNameFilesInAnySpelling(t *testing.T) {
	server := objectstest.Start(t)
	x := open(t, Config{})
	folder := t.TempDir()
	path, size := writeParquet(t, folder, "a.parquet", "SELECT i::BIGINT AS a FROM range(5) t(i)", ", FIELD_IDS {a: 1}")
	local := plan.Scan{Fields: []plan.Field{{ID: 1, Name: "a", Type: "BIGINT"}}, Files: []plan.File{{Path: path, Size: size, Rows: 5}}}
	far := put(t, server, local.Fields, 5, path)
	far.Objects = server.Store(t, server.Reader)
	object := strings.TrimPrefix(far.Files[0].Path, "s3://")
	for i, c := range []struct {
		scan        plan.Scan
		data, named string
		want        string
	}{
		{local, path, path, "0|2|3|4"},
		{local, path, "file:" + path, "0|2|3|4"},
		{local, "file:" + path, "file://" + path, "0|2|3|4"},
		{local, path, "s3:/" + path, "0|1|2|3|4"},
		{far, "s3://" + object, "s3://" + object, "0|2|3|4"},
		{far, "s3://" + object, "s3a://" + object, "0|2|3|4"},
		{far, "s3n://" + object, "s3://" + object, "0|2|3|4"},
		{far, "s3://" + object, "s3://" + objectstest.Bucket + "/" + path, "0|1|2|3|4"},
	} {
		deletes, size := writeParquet(t, folder, fmt.Sprintf("d%d.parquet", i), "SELECT "+literal(c.named)+" AS file_path, 1::BIGINT AS pos",
			fmt.Sprintf(", FIELD_IDS {file_path: %d, pos: %d}", executors.DeletePathID, executors.DeletePositionID))
		s := c.scan
		s.Files = []plan.File{{Path: c.data, Size: s.Files[0].Size, Rows: 5, Deletes: []int{0}}}
		s.Deletes = []plan.DeleteFile{{Kind: plan.PositionDeletes, Path: deletes, Size: size, Rows: 1}}
		if got, err := scanRows(t, x, relation(s)); err != nil || got != c.want {
			t.Errorf("a delete of %s, for %s: %s, %v, want %s", c.named, c.data, got, err, c.want)
		}
	}
}
