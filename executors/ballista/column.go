package ballista

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"gatehouse/executors"
)

// column copies values into arrays of the announced type. No buffer of the cluster's goes out: it may hold values under a NULL.
type column struct {
	typ     arrow.DataType
	builder array.Builder
	width   int       // bytes of a value, without those of a text and of what is inside
	inside  []*column // of structs, lists and maps, whose builder has their builders
}

func newColumn(t arrow.DataType, mem memory.Allocator) *column {
	return columnOver(t, array.NewBuilder(mem, t))
}

func columnOver(t arrow.DataType, b array.Builder) *column {
	c := &column{typ: t, builder: b, width: 8}
	switch t := t.(type) {
	case arrow.BinaryDataType:
		c.width = 4
	case arrow.FixedWidthDataType:
		c.width = (t.BitWidth() + 7) / 8
	case arrow.NestedType:
		c.width = 4
		for _, part := range builders(b) {
			c.inside = append(c.inside, columnOver(part.Type(), part))
		}
	}
	return c
}

func (c *column) release() { c.builder.Release() }

func (c *column) finish() arrow.Array { return c.builder.NewArray() }

var errRange = &executors.Error{Kind: executors.KindRange}

// append copies the values of a from one row up to another.
func (c *column) append(a arrow.Array, from, to int) error {
	c.builder.Reserve(to - from)
	switch b := c.builder.(type) {
	case *array.StringBuilder:
		if a, ok := a.(*array.String); ok {
			for i := from; i < to; i++ {
				if a.IsNull(i) {
					b.AppendNull()
				} else {
					b.Append(a.Value(i))
				}
			}
			return nil
		}
	case *array.Float64Builder:
		if a, ok := a.(*array.Float64); ok {
			return copyValues(b, a, a.Float64Values()[from:to], from)
		}
	case *array.Date32Builder:
		if a, ok := a.(*array.Date32); ok {
			return copyValues(b, a, a.Date32Values()[from:to], from)
		}
	case *array.Int32Builder:
		if a, ok := a.(*array.Int32); ok {
			return copyValues(b, a, a.Int32Values()[from:to], from)
		}
	case *array.Int64Builder:
		if a, ok := a.(*array.Int64); ok {
			return copyValues(b, a, a.Int64Values()[from:to], from)
		}
	case *array.TimestampBuilder:
		if a, ok := a.(*array.Timestamp); ok {
			return copyValues(b, a, a.TimestampValues()[from:to], from)
		}
	}
	for i := from; i < to; i++ {
		if err := c.value(a, i); err != nil {
			return err
		}
	}
	return nil
}

// builder is what builders of values of one width have in common.
type builder[T any] interface {
	AppendValues(values []T, valid []bool)
	Append(T)
	AppendNull()
}

// copyValues appends values, the first of which is at row from of a.
func copyValues[T any](b builder[T], a arrow.Array, values []T, from int) error {
	if a.NullN() == 0 {
		b.AppendValues(values, nil)
		return nil
	}
	for i, v := range values {
		if a.IsNull(from + i) {
			b.AppendNull()
		} else {
			b.Append(v)
		}
	}
	return nil
}

// value copies one value, of any type that the announced one takes.
func (c *column) value(a arrow.Array, i int) error {
	if a.IsNull(i) || a.DataType().ID() == arrow.NULL {
		c.builder.AppendNull()
		return nil
	}
	switch b := c.builder.(type) {
	case *array.StructBuilder, *array.ListBuilder, *array.MapBuilder:
		return c.nested(a, i)
	case *array.StringBuilder:
		if a, ok := a.(*array.String); ok {
			b.Append(a.Value(i))
			return nil
		}
		if a, ok := a.(*array.FixedSizeBinary); ok {
			b.Append(uuidText(a.Value(i)))
			return nil
		}
	case *array.BinaryBuilder:
		if a, ok := a.(*array.Binary); ok {
			b.Append(a.Value(i))
			return nil
		}
	case *array.BooleanBuilder:
		if a, ok := a.(*array.Boolean); ok {
			b.Append(a.Value(i))
			return nil
		}
	case *array.Float32Builder:
		if a, ok := a.(*array.Float32); ok {
			b.Append(a.Value(i))
			return nil
		}
	case *array.Float64Builder:
		if a, ok := a.(*array.Float64); ok {
			b.Append(a.Value(i))
			return nil
		}
	case *array.Date32Builder:
		if a, ok := a.(*array.Date32); ok {
			b.Append(a.Value(i))
			return nil
		}
	case *array.Time64Builder:
		if a, ok := a.(*array.Time64); ok {
			b.Append(a.Value(i))
			return nil
		}
	case *array.TimestampBuilder:
		return c.timestamp(b, a, i)
	case *array.Decimal128Builder:
		return c.decimal(b, a, i)
	}
	return c.integer(a, i)
}

// timestamp takes timestamps, and dates as their midnight.
func (c *column) timestamp(b *array.TimestampBuilder, a arrow.Array, i int) error {
	switch a := a.(type) {
	case *array.Timestamp:
		b.Append(a.Value(i))
		return nil
	case *array.Date32:
		b.Append(arrow.Timestamp(int64(a.Value(i)) * 86_400_000_000))
		return nil
	}
	return c.other(a)
}

// decimal takes decimals of the same scale, and integers for those without fraction.
func (c *column) decimal(b *array.Decimal128Builder, a arrow.Array, i int) error {
	t := c.typ.(*arrow.Decimal128Type)
	v, ok := decimal128.Num{}, false
	if d, is := a.(*array.Decimal128); is {
		v, ok = d.Value(i), true
	} else if n, is := integer(a, i); is && t.Scale == 0 {
		v, ok = decimal128.FromI64(n), true
	}
	switch {
	case !ok:
		return c.other(a)
	case !v.FitsInPrecision(t.Precision):
		return errRange
	}
	b.Append(v)
	return nil
}

// integer takes integers of any width whose value fits.
func (c *column) integer(a arrow.Array, i int) error {
	v, ok := integer(a, i)
	if !ok {
		return c.other(a)
	}
	switch b := c.builder.(type) {
	case *array.Int8Builder:
		if b.Append(int8(v)); int64(int8(v)) != v {
			return errRange
		}
	case *array.Int16Builder:
		if b.Append(int16(v)); int64(int16(v)) != v {
			return errRange
		}
	case *array.Int32Builder:
		if b.Append(int32(v)); int64(int32(v)) != v {
			return errRange
		}
	case *array.Int64Builder:
		b.Append(v)
	default:
		return c.other(a)
	}
	return nil
}

func (c *column) other(a arrow.Array) error {
	return internal("a part has %s for %s", a.DataType(), c.typ)
}

// uuidText is the canonical text of a UUID.
func uuidText(v []byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", v[:4], v[4:6], v[6:8], v[8:10], v[10:])
}

func integer(a arrow.Array, i int) (int64, bool) {
	switch a := a.(type) {
	case *array.Int8:
		return int64(a.Value(i)), true
	case *array.Int16:
		return int64(a.Value(i)), true
	case *array.Int32:
		return int64(a.Value(i)), true
	case *array.Int64:
		return a.Value(i), true
	}
	return 0, false
}
