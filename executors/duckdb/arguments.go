package duckdb

import (
	"fmt"
	"math"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/scalar"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"gatehouse/executors"
)

// bind sets parameter i (from 1) of stmt to v. k is the type that the engine inferred: a value is bound as exactly that type
// where it can be, because one of another type makes the engine bind the statement anew, with other result types.
func bind(stmt bindings.PreparedStatement, i int, k kind, v any) error {
	at := bindings.IdxT(i)
	value, err := plainValue(v)
	if err != nil {
		return err
	}
	var state bindings.State
	switch v := value.(type) {
	case nil:
		state = bindings.BindNull(stmt, at)
	case bool:
		state = bindings.BindBoolean(stmt, at, v)
	case int64:
		state = bindInt(stmt, at, k, v)
	case uint64:
		if v <= math.MaxInt64 {
			state = bindInt(stmt, at, k, int64(v))
		} else {
			state = bindings.BindUInt64(stmt, at, v)
		}
	case float64:
		if k.id == bindings.TypeFloat {
			state = bindings.BindFloat(stmt, at, float32(v))
		} else {
			state = bindings.BindDouble(stmt, at, v)
		}
	case string:
		state, err = bindText(stmt, at, k, v)
	case []byte:
		state = bindings.BindBlob(stmt, at, v)
	case time.Time:
		state = bindTime(stmt, at, k, v)
	default:
		return badArgument(i)
	}
	if err != nil || state == bindings.StateError {
		return badArgument(i)
	}
	return nil
}

// boundAs reports whether bind gives v exactly the type k.
func boundAs(k kind, v any) bool {
	value, err := plainValue(v)
	if err != nil {
		return false
	}
	switch v := value.(type) {
	case bool:
		return k.id == bindings.TypeBoolean
	case int64:
		return intType(k, v) == k.id
	case uint64:
		return v <= math.MaxInt64 && intType(k, int64(v)) == k.id
	case float64:
		return k.id == bindings.TypeFloat || k.id == bindings.TypeDouble
	case string:
		return k.id == bindings.TypeDecimal || k.id == bindings.TypeVarchar
	case []byte:
		return k.id == bindings.TypeBlob
	case time.Time:
		return k.id == bindings.TypeDate || k.id == bindings.TypeTimestampTZ || k.id == bindings.TypeTimestamp
	}
	return false
}

func badArgument(i int) error {
	return &executors.Error{Kind: executors.KindArgument, Hint: fmt.Sprintf("the value of parameter %d does not fit its type", i)}
}

// plainValue turns Arrow scalars and narrow numbers into nil, bool, int64, uint64, float64, string, []byte or time.Time.
func plainValue(v any) (any, error) {
	switch v := v.(type) {
	case int:
		return int64(v), nil
	case int8:
		return int64(v), nil
	case int16:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case uint8:
		return uint64(v), nil
	case uint16:
		return uint64(v), nil
	case uint32:
		return uint64(v), nil
	case float32:
		return float64(v), nil
	case scalar.Scalar:
		return scalarValue(v)
	}
	return v, nil
}

func scalarValue(s scalar.Scalar) (any, error) {
	if !s.IsValid() {
		return nil, nil
	}
	switch s := s.(type) {
	case *scalar.Null:
		return nil, nil
	case *scalar.Boolean:
		return s.Value, nil
	case *scalar.Int8:
		return int64(s.Value), nil
	case *scalar.Int16:
		return int64(s.Value), nil
	case *scalar.Int32:
		return int64(s.Value), nil
	case *scalar.Int64:
		return s.Value, nil
	case *scalar.Uint8:
		return uint64(s.Value), nil
	case *scalar.Uint16:
		return uint64(s.Value), nil
	case *scalar.Uint32:
		return uint64(s.Value), nil
	case *scalar.Uint64:
		return s.Value, nil
	case *scalar.Float32:
		return float64(s.Value), nil
	case *scalar.Float64:
		return s.Value, nil
	case *scalar.Date32:
		return s.Value.ToTime(), nil
	case *scalar.Date64:
		return s.Value.ToTime(), nil
	case *scalar.Timestamp:
		return s.Value.ToTime(s.Type.(*arrow.TimestampType).Unit), nil
	case *scalar.Time32, *scalar.Time64, *scalar.Decimal128, *scalar.Decimal256:
		return s.String(), nil
	case scalar.BinaryScalar:
		if arrow.IsBinaryLike(s.DataType().ID()) && s.DataType().ID() != arrow.STRING {
			return append([]byte{}, s.Data()...), nil
		}
		return string(s.Data()), nil
	}
	return nil, &executors.Error{Kind: executors.KindArgument, Hint: "a parameter value of type " + s.DataType().Name() + " is not supported"}
}

// intType is the type as which a whole number is bound: k if it fits.
func intType(k kind, v int64) bindings.Type {
	fits := func(low, high int64) bool { return low <= v && v <= high }
	switch {
	case k.id == bindings.TypeTinyInt && fits(math.MinInt8, math.MaxInt8),
		k.id == bindings.TypeSmallInt && fits(math.MinInt16, math.MaxInt16),
		k.id == bindings.TypeInteger && fits(math.MinInt32, math.MaxInt32),
		k.id == bindings.TypeUTinyInt && fits(0, math.MaxUint8),
		k.id == bindings.TypeUSmallInt && fits(0, math.MaxUint16),
		k.id == bindings.TypeUInteger && fits(0, math.MaxUint32),
		k.id == bindings.TypeUBigInt && v >= 0,
		k.id == bindings.TypeHugeInt, k.id == bindings.TypeDouble:
		return k.id
	}
	return bindings.TypeBigInt
}

func bindInt(stmt bindings.PreparedStatement, at bindings.IdxT, k kind, v int64) bindings.State {
	switch intType(k, v) {
	case bindings.TypeTinyInt:
		return bindings.BindInt8(stmt, at, int8(v))
	case bindings.TypeSmallInt:
		return bindings.BindInt16(stmt, at, int16(v))
	case bindings.TypeInteger:
		return bindings.BindInt32(stmt, at, int32(v))
	case bindings.TypeUTinyInt:
		return bindings.BindUInt8(stmt, at, uint8(v))
	case bindings.TypeUSmallInt:
		return bindings.BindUInt16(stmt, at, uint16(v))
	case bindings.TypeUInteger:
		return bindings.BindUInt32(stmt, at, uint32(v))
	case bindings.TypeUBigInt:
		return bindings.BindUInt64(stmt, at, uint64(v))
	case bindings.TypeHugeInt:
		return bindings.BindHugeInt(stmt, at, bindings.NewHugeInt(uint64(v), v>>63))
	case bindings.TypeDouble:
		return bindings.BindDouble(stmt, at, float64(v))
	}
	return bindings.BindInt64(stmt, at, v)
}

func bindText(stmt bindings.PreparedStatement, at bindings.IdxT, k kind, v string) (bindings.State, error) {
	if k.id == bindings.TypeDecimal {
		t := k.arrow.(*arrow.Decimal128Type)
		n, err := decimal128.FromString(v, t.Precision, t.Scale)
		if err != nil {
			return bindings.StateError, err
		}
		d := bindings.NewDecimal(uint8(t.Precision), uint8(t.Scale), bindings.NewHugeInt(n.LowBits(), n.HighBits()))
		return bindings.BindDecimal(stmt, at, d), nil
	}
	return bindings.BindVarcharLength(stmt, at, v, bindings.IdxT(len(v))), nil
}

func bindTime(stmt bindings.PreparedStatement, at bindings.IdxT, k kind, v time.Time) bindings.State {
	switch k.id {
	case bindings.TypeDate:
		days := v.Unix() / 86400
		if v.Unix()%86400 < 0 {
			days--
		}
		return bindings.BindDate(stmt, at, bindings.NewDate(int32(days)))
	case bindings.TypeTimestampTZ:
		return bindings.BindTimestampTZ(stmt, at, bindings.NewTimestamp(v.UnixMicro()))
	}
	return bindings.BindTimestamp(stmt, at, bindings.NewTimestamp(v.UnixMicro()))
}
