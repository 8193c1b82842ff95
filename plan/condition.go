package plan

import (
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"gatehouse/catalog"
	"gatehouse/policy"
)

// condition decides from a manifest entry alone whether a file may hold a row for which it is true. It is never the last word: what it
// stands for is evaluated again on every row that is read.
type condition interface {
	mayMatch(s *snapshot, d *dataFile) bool
}

func conditions(t *catalog.Table, r policy.Relation) condition { return nil }

func pushableColumns(md table.Metadata, schema *iceberg.Schema) map[int]bool { return nil }
