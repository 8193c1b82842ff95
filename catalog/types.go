package catalog

import (
	"fmt"
	"strings"

	"github.com/apache/iceberg-go"
)

// SQLType returns DuckDB's name of an Iceberg type, with the names of struct fields quoted. The error wraps ErrUnreadable
// and names the type if DuckDB has no type that holds every value of it without loss.
func SQLType(t iceberg.Type) (string, error) {
	switch t := t.(type) {
	case *iceberg.ListType:
		elem, err := SQLType(t.Element)
		if err != nil {
			return "", err
		}
		return elem + "[]", nil
	case *iceberg.MapType:
		key, err := SQLType(t.KeyType)
		if err != nil {
			return "", err
		}
		value, err := SQLType(t.ValueType)
		if err != nil {
			return "", err
		}
		return "MAP(" + key + ", " + value + ")", nil
	case *iceberg.StructType:
		return structType(t)
	case iceberg.FixedType:
		return "BLOB", nil
	case iceberg.DecimalType:
		if t.Precision() < 1 || t.Precision() > 38 || t.Scale() < 0 || t.Scale() > t.Precision() {
			return "", fmt.Errorf("%w: type %s", ErrUnreadable, t)
		}
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Precision(), t.Scale()), nil
	}
	if name, ok := primitives[t]; ok {
		return name, nil
	}
	return "", fmt.Errorf("%w: type %s", ErrUnreadable, t)
}

// primitives is by comparison of the types' values. Not in it: unknown, variant, geometry and geography, which no executor
// reads, and timestamptz_ns, for which DuckDB has only a type that would cut the nanoseconds off.
var primitives = map[iceberg.Type]string{
	iceberg.PrimitiveTypes.Bool:        "BOOLEAN",
	iceberg.PrimitiveTypes.Int32:       "INTEGER",
	iceberg.PrimitiveTypes.Int64:       "BIGINT",
	iceberg.PrimitiveTypes.Float32:     "FLOAT",
	iceberg.PrimitiveTypes.Float64:     "DOUBLE",
	iceberg.PrimitiveTypes.Date:        "DATE",
	iceberg.PrimitiveTypes.Time:        "TIME",
	iceberg.PrimitiveTypes.Timestamp:   "TIMESTAMP",
	iceberg.PrimitiveTypes.TimestampTz: "TIMESTAMP WITH TIME ZONE",
	iceberg.PrimitiveTypes.TimestampNs: "TIMESTAMP_NS",
	iceberg.PrimitiveTypes.String:      "VARCHAR",
	iceberg.PrimitiveTypes.UUID:        "UUID",
	iceberg.PrimitiveTypes.Binary:      "BLOB",
}

func structType(t *iceberg.StructType) (string, error) {
	if len(t.FieldList) == 0 {
		return "", fmt.Errorf("%w: type struct without fields", ErrUnreadable)
	}
	parts := make([]string, len(t.FieldList))
	for i, f := range t.FieldList {
		ft, err := SQLType(f.Type)
		if err != nil {
			return "", err
		}
		parts[i] = `"` + strings.ReplaceAll(f.Name, `"`, `""`) + `" ` + ft
	}
	return "STRUCT(" + strings.Join(parts, ", ") + ")", nil
}
