package catalog

import "github.com/apache/iceberg-go"

// Computed returns a table that no file holds: facts that the gateway itself has. Its columns' types are those of Iceberg; WithRows gives
// it rows.
func Computed(catalog, schema, name string, columns []Column) *Table {
	fields := make([]iceberg.NestedField, len(columns))
	for i, c := range columns {
		fields[i] = iceberg.NestedField{ID: c.FieldID, Name: c.Name, Type: c.Type}
	}
	return &Table{Catalog: catalog, Schema: schema, Name: name, Computed: true, Fields: iceberg.NewSchema(0, fields...), Columns: columns}
}

// TextColumn and NumberColumn are columns of computed tables; id is the column's place, from 1.
func TextColumn(id int, name string) Column {
	return Column{Name: name, FieldID: id, Type: iceberg.PrimitiveTypes.String, SQLType: "VARCHAR"}
}

// NumberColumn is a column of 32-bit integers, see TextColumn.
func NumberColumn(id int, name string) Column {
	return Column{Name: name, FieldID: id, Type: iceberg.PrimitiveTypes.Int32, SQLType: "INTEGER"}
}

// WithRows returns the computed table with these rows: one text for each column, nil for NULL.
func (t *Table) WithRows(rows [][]*string) *Table {
	out := *t
	out.Rows = rows
	return &out
}
