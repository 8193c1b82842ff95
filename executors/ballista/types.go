package ballista

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"gatehouse/plan"
)

// uuidType is that of a UUID on the cluster: its bytes. In results it is a text.
var uuidType = &arrow.FixedSizeBinaryType{ByteWidth: 16}

// tableTypes are the types of columns that executors read.
var tableTypes = map[string]arrow.DataType{
	"BOOLEAN":                  arrow.FixedWidthTypes.Boolean,
	"INTEGER":                  arrow.PrimitiveTypes.Int32,
	"BIGINT":                   arrow.PrimitiveTypes.Int64,
	"FLOAT":                    arrow.PrimitiveTypes.Float32,
	"DOUBLE":                   arrow.PrimitiveTypes.Float64,
	"VARCHAR":                  arrow.BinaryTypes.String,
	"BLOB":                     arrow.BinaryTypes.Binary,
	"UUID":                     uuidType,
	"DATE":                     arrow.FixedWidthTypes.Date32,
	"TIME":                     arrow.FixedWidthTypes.Time64us,
	"TIMESTAMP":                &arrow.TimestampType{Unit: arrow.Microsecond},
	"TIMESTAMPTZ":              &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
	"TIMESTAMP WITH TIME ZONE": &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
}

var decimalType = regexp.MustCompile(`^DECIMAL\(([0-9]+),\s*([0-9]+)\)$`)

// arrowType returns the type of a column by DuckDB's name of it.
func arrowType(name string) (arrow.DataType, error) {
	if t, ok := tableTypes[name]; ok {
		return t, nil
	}
	if m := decimalType.FindStringSubmatch(name); m != nil {
		precision, _ := strconv.Atoi(m[1])
		scale, _ := strconv.Atoi(m[2])
		if precision >= 1 && precision <= 38 && scale <= precision {
			return &arrow.Decimal128Type{Precision: int32(precision), Scale: int32(scale)}, nil
		}
	}
	return nil, unsupported("reading a column of type "+typeWord(name), fmt.Errorf("type %q", name))
}

// columnType is the type of a column that executors read, with the names and the order of what is inside. ids: nested fields have their ids as metadata.
func columnType(f plan.Field, ids bool) (arrow.DataType, error) {
	if len(f.Nested) == 0 {
		return arrowType(f.Type)
	}
	var parts []arrow.Field
	for _, n := range f.Nested {
		t, err := columnType(n, ids)
		if err != nil {
			return nil, err
		}
		part := arrow.Field{Name: n.Name, Type: t, Nullable: true}
		if ids {
			part.Metadata = idMetadata(n)
		}
		parts = append(parts, part)
	}
	switch {
	case strings.HasSuffix(f.Type, "]") && len(parts) == 1:
		parts[0].Name = "item"
		return arrow.ListOfField(parts[0]), nil
	case strings.HasPrefix(f.Type, "MAP(") && len(parts) == 2:
		parts[0].Nullable = false
		return arrow.MapOfFields(parts[0], parts[1]), nil
	case strings.HasPrefix(f.Type, "STRUCT("):
		return arrow.StructOf(parts...), nil
	}
	return nil, unsupported("reading a column of type "+typeWord(f.Type), fmt.Errorf("type %q", f.Type))
}

func idMetadata(f plan.Field) arrow.Metadata {
	return arrow.NewMetadata([]string{fieldID}, []string{strconv.Itoa(f.ID)})
}

// typeWord is the type without names that a table's owner chose.
func typeWord(name string) string {
	return regexp.MustCompile(`^[A-Z]*`).FindString(name)
}

// converts reports whether a value of the cluster's type is, as it is, one of the type that was announced.
func converts(have, want arrow.DataType) bool {
	switch {
	case have.ID() == arrow.NULL:
		return true
	case have.ID() == arrow.INTERVAL_MONTH_DAY_NANO:
		return false // results have no copies of them
	case arrow.TypeEqual(have, want):
		return true
	}
	if w, ok := want.(arrow.NestedType); ok {
		return convertsNested(have, w)
	}
	if arrow.TypeEqual(have, uuidType) {
		return want.ID() == arrow.STRING
	}
	w, decimal := want.(*arrow.Decimal128Type)
	switch have.ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64:
		// Each value is checked.
		return arrow.IsInteger(want.ID()) || decimal && w.Scale == 0
	case arrow.DECIMAL128:
		return decimal && have.(*arrow.Decimal128Type).Scale == w.Scale
	case arrow.DATE32:
		t, ok := want.(*arrow.TimestampType)
		return ok && t.Unit == arrow.Microsecond && t.TimeZone == ""
	}
	return false
}

// convertsNested is converts of structs, lists and maps, all of whose parts have to.
func convertsNested(have arrow.DataType, want arrow.NestedType) bool {
	h, ok := have.(arrow.NestedType)
	if !ok || have.ID() != want.ID() || h.NumFields() != want.NumFields() {
		return false
	}
	for i, w := range want.Fields() {
		if f := h.Fields()[i]; want.ID() == arrow.STRUCT && f.Name != w.Name || !converts(f.Type, w.Type) {
			return false
		}
	}
	return true
}
