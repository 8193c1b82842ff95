package duckdb

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"gatehouse/executors"
)

// simpleTypes are the types of the stream for types of the engine that have no parameters.
//
// Clients differ in what they can show, so only classic Arrow types go out: no views, no dictionaries, no extension types.
// A UUID is its canonical text; HUGEINT, which sums of integers have, is a decimal without fraction.
var simpleTypes = map[bindings.Type]arrow.DataType{
	bindings.TypeSQLNull:     arrow.Null,
	bindings.TypeBoolean:     arrow.FixedWidthTypes.Boolean,
	bindings.TypeTinyInt:     arrow.PrimitiveTypes.Int8,
	bindings.TypeSmallInt:    arrow.PrimitiveTypes.Int16,
	bindings.TypeInteger:     arrow.PrimitiveTypes.Int32,
	bindings.TypeBigInt:      arrow.PrimitiveTypes.Int64,
	bindings.TypeUTinyInt:    arrow.PrimitiveTypes.Uint8,
	bindings.TypeUSmallInt:   arrow.PrimitiveTypes.Uint16,
	bindings.TypeUInteger:    arrow.PrimitiveTypes.Uint32,
	bindings.TypeUBigInt:     arrow.PrimitiveTypes.Uint64,
	bindings.TypeHugeInt:     &arrow.Decimal128Type{Precision: 38},
	bindings.TypeUHugeInt:    &arrow.Decimal128Type{Precision: 38},
	bindings.TypeFloat:       arrow.PrimitiveTypes.Float32,
	bindings.TypeDouble:      arrow.PrimitiveTypes.Float64,
	bindings.TypeVarchar:     arrow.BinaryTypes.String,
	bindings.TypeBlob:        arrow.BinaryTypes.Binary,
	bindings.TypeUUID:        arrow.BinaryTypes.String,
	bindings.TypeEnum:        arrow.BinaryTypes.String,
	bindings.TypeDate:        arrow.FixedWidthTypes.Date32,
	bindings.TypeTime:        arrow.FixedWidthTypes.Time64us,
	bindings.TypeTimeNS:      arrow.FixedWidthTypes.Time64ns,
	bindings.TypeTimestamp:   &arrow.TimestampType{Unit: arrow.Microsecond},
	bindings.TypeTimestampS:  &arrow.TimestampType{Unit: arrow.Second},
	bindings.TypeTimestampMS: &arrow.TimestampType{Unit: arrow.Millisecond},
	bindings.TypeTimestampNS: &arrow.TimestampType{Unit: arrow.Nanosecond},
	bindings.TypeTimestampTZ: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
	bindings.TypeInterval:    arrow.FixedWidthTypes.MonthDayNanoInterval,
}

// unsupportedTypes names the types that have no counterpart that clients can show.
var unsupportedTypes = map[bindings.Type]string{
	bindings.TypeTimeTZ:   "TIME WITH TIME ZONE",
	bindings.TypeBit:      "BIT",
	bindings.TypeBigNum:   "BIGNUM",
	bindings.TypeUnion:    "UNION",
	bindings.TypeVariant:  "VARIANT",
	bindings.TypeGeometry: "GEOMETRY",
}

// kind is a type of the engine with its type in the stream.
type kind struct {
	id       bindings.Type
	internal bindings.Type // how decimals and enums are stored
	size     int           // fixed length of an ARRAY
	values   []string      // of an ENUM
	arrow    arrow.DataType
	children []kind
}

// unresolved stands for a type that depends on a parameter whose type is not known.
var unresolved = kind{id: bindings.TypeInvalid, arrow: arrow.Null}

// describe reads t, which it does not destroy.
func describe(t bindings.LogicalType) (kind, error) {
	id := bindings.GetTypeId(t)
	if simple, ok := simpleTypes[id]; ok && id != bindings.TypeEnum {
		return kind{id: id, arrow: simple}, nil
	}
	switch id {
	case bindings.TypeInvalid, bindings.TypeAny:
		return unresolved, nil
	case bindings.TypeDecimal:
		return kind{
			id:       id,
			internal: bindings.DecimalInternalType(t),
			arrow:    &arrow.Decimal128Type{Precision: int32(bindings.DecimalWidth(t)), Scale: int32(bindings.DecimalScale(t))},
		}, nil
	case bindings.TypeEnum:
		k := kind{id: id, internal: bindings.EnumInternalType(t), arrow: arrow.BinaryTypes.String}
		for i := range bindings.EnumDictionarySize(t) {
			k.values = append(k.values, bindings.EnumDictionaryValue(t, bindings.IdxT(i)))
		}
		return k, nil
	case bindings.TypeList, bindings.TypeArray, bindings.TypeMap, bindings.TypeStruct:
		return describeNested(id, t)
	}
	name, ok := unsupportedTypes[id]
	if !ok {
		name = fmt.Sprintf("type %d", id)
	}
	return kind{}, &executors.Error{
		Kind: executors.KindUnsupported,
		Hint: "a result column of type " + name + " cannot be sent; cast it to VARCHAR",
	}
}

func describeNested(id bindings.Type, t bindings.LogicalType) (kind, error) {
	k := kind{id: id}
	child := func(c bindings.LogicalType) error {
		defer bindings.DestroyLogicalType(&c)
		ck, err := describe(c)
		k.children = append(k.children, ck)
		return err
	}
	var err error
	switch id {
	case bindings.TypeList:
		if err = child(bindings.ListTypeChildType(t)); err == nil {
			k.arrow = arrow.ListOf(k.children[0].arrow)
		}
	case bindings.TypeArray:
		k.size = int(bindings.ArrayTypeArraySize(t))
		if err = child(bindings.ArrayTypeChildType(t)); err == nil {
			k.arrow = arrow.FixedSizeListOf(int32(k.size), k.children[0].arrow)
		}
	case bindings.TypeMap:
		if err = child(bindings.MapTypeKeyType(t)); err != nil {
			break
		}
		if err = child(bindings.MapTypeValueType(t)); err == nil {
			k.arrow = arrow.MapOf(k.children[0].arrow, k.children[1].arrow)
		}
	case bindings.TypeStruct:
		var fields []arrow.Field
		for i := range bindings.StructTypeChildCount(t) {
			if err = child(bindings.StructTypeChildType(t, i)); err != nil {
				break
			}
			fields = append(fields, arrow.Field{Name: bindings.StructTypeChildName(t, i), Type: k.children[i].arrow, Nullable: true})
		}
		k.arrow = arrow.StructOf(fields...)
	}
	return k, err
}
