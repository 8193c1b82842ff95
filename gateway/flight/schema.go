package flight

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/grpc/codes"
)

// errChanged answers the execution of a statement whose result has other columns than when it was prepared.
var errChanged = &callError{codes.FailedPrecondition, "the result has other columns than were announced, prepare the statement again"}

// publicSchema is the schema that a client sees: names, types, and our own description of each column. Metadata from below
// is dropped. Types whose buffers may hold values of rows that are not in the result (dictionaries, views) and those that
// drivers do not know are refused.
func publicSchema(in *arrow.Schema) (*arrow.Schema, error) {
	fields := make([]arrow.Field, in.NumFields())
	for i, f := range in.Fields() {
		t, err := publicType(f.Type)
		if err != nil {
			return nil, err
		}
		fields[i] = arrow.Field{Name: f.Name, Type: t, Nullable: f.Nullable, Metadata: describeColumn(f)}
	}
	return arrow.NewSchema(fields, nil), nil
}

// errType says nothing of the column, since it may be one of an expression.
var errType = &callError{codes.Unimplemented, "the result has a column of a type that cannot be sent, cast it to VARCHAR"}

// publicType returns t without metadata of nested fields.
func publicType(t arrow.DataType) (arrow.DataType, error) {
	switch t := t.(type) {
	case *arrow.StructType:
		fields, err := publicFields(t.Fields())
		if err != nil {
			return nil, err
		}
		return arrow.StructOf(fields...), nil
	case *arrow.MapType:
		pair, err := publicFields([]arrow.Field{t.KeyField(), t.ItemField()})
		if err != nil {
			return nil, err
		}
		m := arrow.MapOfFields(pair[0], pair[1])
		m.KeysSorted = t.KeysSorted
		return m, nil
	case *arrow.ListType:
		elem, err := publicFields([]arrow.Field{t.ElemField()})
		if err != nil {
			return nil, err
		}
		return arrow.ListOfField(elem[0]), nil
	case *arrow.LargeListType:
		elem, err := publicFields([]arrow.Field{t.ElemField()})
		if err != nil {
			return nil, err
		}
		return arrow.LargeListOfField(elem[0]), nil
	case *arrow.FixedSizeListType:
		elem, err := publicFields([]arrow.Field{t.ElemField()})
		if err != nil {
			return nil, err
		}
		return arrow.FixedSizeListOfField(t.Len(), elem[0]), nil
	}
	switch t.ID() {
	case arrow.DICTIONARY, arrow.RUN_END_ENCODED, arrow.STRING_VIEW, arrow.BINARY_VIEW, arrow.LIST_VIEW, arrow.LARGE_LIST_VIEW,
		arrow.DENSE_UNION, arrow.SPARSE_UNION:
		return nil, errType
	case arrow.EXTENSION:
		if _, err := publicType(t.(arrow.ExtensionType).StorageType()); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func publicFields(in []arrow.Field) ([]arrow.Field, error) {
	out := make([]arrow.Field, len(in))
	for i, f := range in {
		t, err := publicType(f.Type)
		if err != nil {
			return nil, err
		}
		out[i] = arrow.Field{Name: f.Name, Type: t, Nullable: f.Nullable, Metadata: extensionOf(f)}
	}
	return out, nil
}

// parameterSchema describes parameters: they have types only.
func parameterSchema(in *arrow.Schema) *arrow.Schema {
	fields := make([]arrow.Field, in.NumFields())
	for i, f := range in.Fields() {
		fields[i] = arrow.Field{Type: f.Type, Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// extensions are the canonical extension types that may be named in a schema. See
// https://arrow.apache.org/docs/format/CanonicalExtensions.html.
var extensions = map[string]bool{"arrow.uuid": true, "arrow.json": true}

func extensionOf(f arrow.Field) arrow.Metadata {
	if name, ok := f.Metadata.GetValue(ipc.ExtensionTypeKeyName); ok && extensions[name] {
		return arrow.MetadataFrom(map[string]string{ipc.ExtensionTypeKeyName: name, ipc.ExtensionMetadataKeyName: ""})
	}
	return arrow.Metadata{}
}

// describeColumn returns what the Flight SQL specification has to say of a column. Some drivers load no table without
// the type's name.
func describeColumn(f arrow.Field) arrow.Metadata {
	b := flightsql.NewColumnMetadataBuilder().TypeName(typeName(f)).IsAutoIncrement(false).IsReadOnly(true).IsSearchable(true)
	b.IsCaseSensitive(f.Type.ID() == arrow.STRING || f.Type.ID() == arrow.LARGE_STRING)
	if d, ok := f.Type.(arrow.DecimalType); ok {
		b.Precision(d.GetPrecision()).Scale(d.GetScale())
	} else if p, ok := precisions[f.Type.ID()]; ok {
		b.Precision(p).Scale(0)
	}
	own := b.Metadata()
	ext := extensionOf(f)
	if ext.Len() == 0 {
		return own
	}
	return arrow.NewMetadata(append(own.Keys(), ext.Keys()...), append(own.Values(), ext.Values()...))
}

// precisions are decimal digits of the integer types.
var precisions = map[arrow.Type]int32{
	arrow.INT8: 3, arrow.INT16: 5, arrow.INT32: 10, arrow.INT64: 19,
	arrow.UINT8: 3, arrow.UINT16: 5, arrow.UINT32: 10, arrow.UINT64: 20,
}

// typeName is the SQL name of a column's type, without precision and length.
func typeName(f arrow.Field) string {
	if ext, ok := f.Metadata.GetValue(ipc.ExtensionTypeKeyName); ok && ext == "arrow.uuid" {
		return "UUID"
	}
	if t, ok := f.Type.(arrow.ExtensionType); ok {
		if t.ExtensionName() == "arrow.uuid" {
			return "UUID"
		}
		return typeName(arrow.Field{Type: t.StorageType()})
	}
	if t, ok := f.Type.(*arrow.TimestampType); ok && t.TimeZone != "" {
		return "TIMESTAMP WITH TIME ZONE"
	}
	if name, ok := typeNames[f.Type.ID()]; ok {
		return name
	}
	return "OTHER"
}

var typeNames = map[arrow.Type]string{
	arrow.NULL: "NULL", arrow.BOOL: "BOOLEAN",
	arrow.INT8: "TINYINT", arrow.INT16: "SMALLINT", arrow.INT32: "INTEGER", arrow.INT64: "BIGINT",
	arrow.UINT8: "UTINYINT", arrow.UINT16: "USMALLINT", arrow.UINT32: "UINTEGER", arrow.UINT64: "UBIGINT",
	arrow.FLOAT32: "FLOAT", arrow.FLOAT64: "DOUBLE",
	arrow.DECIMAL32: "DECIMAL", arrow.DECIMAL64: "DECIMAL", arrow.DECIMAL128: "DECIMAL", arrow.DECIMAL256: "DECIMAL",
	arrow.STRING: "VARCHAR", arrow.LARGE_STRING: "VARCHAR",
	arrow.BINARY: "BLOB", arrow.LARGE_BINARY: "BLOB", arrow.FIXED_SIZE_BINARY: "BLOB",
	arrow.DATE32: "DATE", arrow.DATE64: "DATE", arrow.TIME32: "TIME", arrow.TIME64: "TIME", arrow.TIMESTAMP: "TIMESTAMP",
	arrow.INTERVAL_MONTHS: "INTERVAL", arrow.INTERVAL_DAY_TIME: "INTERVAL", arrow.INTERVAL_MONTH_DAY_NANO: "INTERVAL", arrow.DURATION: "INTERVAL",
	arrow.LIST: "LIST", arrow.LARGE_LIST: "LIST", arrow.FIXED_SIZE_LIST: "ARRAY", arrow.STRUCT: "STRUCT", arrow.MAP: "MAP",
}

// relabel returns b's columns under schema, without any metadata of b. The caller releases it.
func relabel(schema *arrow.Schema, b arrow.RecordBatch) (arrow.RecordBatch, error) {
	if int(b.NumCols()) != schema.NumFields() {
		return nil, errChanged
	}
	for i, c := range b.Columns() {
		if !arrow.TypeEqual(c.DataType(), schema.Field(i).Type) {
			return nil, errChanged
		}
	}
	return array.NewRecordBatch(schema, b.Columns(), b.NumRows()), nil
}
