package catalog

import (
	"slices"

	"github.com/apache/iceberg-go"
)

// The reserved field ids of row lineage (Iceberg specification, version 3, "Row Lineage").
const (
	RowIDField       = 2147483540
	LastUpdatedField = 2147483539
)

// The names of the row lineage columns.
const (
	RowIDName       = "_row_id"
	LastUpdatedName = "_last_updated_sequence_number"
)

// WithLineage returns the table with its row lineage columns as its last ones, and whether it has them: tables before format version 3,
// and tables with a column of such a name, have none. Row ids count all rows of a table, so they tell of rows that are not
// seen: who adds them must know that nothing is hidden.
func (t *Table) WithLineage() (*Table, bool) {
	if t.Iceberg.Metadata().Version() < 3 || slices.ContainsFunc(t.Columns, func(c Column) bool {
		return c.Name == RowIDName || c.Name == LastUpdatedName
	}) {
		return t, false
	}
	out := *t
	out.Columns = append(slices.Clone(t.Columns),
		Column{Name: RowIDName, FieldID: RowIDField, Type: iceberg.PrimitiveTypes.Int64, SQLType: "BIGINT"},
		Column{Name: LastUpdatedName, FieldID: LastUpdatedField, Type: iceberg.PrimitiveTypes.Int64, SQLType: "BIGINT"})
	return &out, true
}
