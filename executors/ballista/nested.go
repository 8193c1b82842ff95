package ballista

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// builders are those of what is inside of values: the fields of a struct, the entries of a list, the keys and the values of a map.
func builders(b array.Builder) []array.Builder {
	switch b := b.(type) {
	case *array.StructBuilder:
		out := make([]array.Builder, b.NumField())
		for i := range out {
			out[i] = b.FieldBuilder(i)
		}
		return out
	case *array.ListBuilder:
		return []array.Builder{b.ValueBuilder()}
	case *array.MapBuilder:
		return []array.Builder{b.KeyBuilder(), b.ItemBuilder()}
	}
	return nil
}

// parts are the arrays of what is inside of the value at row i, and which of their rows belong to it.
func parts(a arrow.Array, i int) (inside []arrow.Array, from, to int) {
	switch a := a.(type) {
	case *array.Struct:
		for n := range a.NumField() {
			inside = append(inside, a.Field(n))
		}
		return inside, i, i + 1
	case *array.Map:
		start, end := a.ValueOffsets(i)
		return []arrow.Array{a.Keys(), a.Items()}, int(start), int(end)
	case *array.List:
		start, end := a.ValueOffsets(i)
		return []arrow.Array{a.ListValues()}, int(start), int(end)
	}
	return nil, 0, 0
}

// nested copies a struct, a list or a map that is not NULL. What lies under a NULL stays behind.
func (c *column) nested(a arrow.Array, i int) error {
	inside, from, to := parts(a, i)
	if a.DataType().ID() != c.typ.ID() || len(inside) != len(c.inside) {
		return c.other(a)
	}
	switch b := c.builder.(type) {
	case *array.StructBuilder:
		b.Append(true)
	case *array.ListBuilder:
		b.Append(true)
	case *array.MapBuilder:
		b.Append(true)
	}
	for n, part := range inside {
		for row := from; row < to; row++ {
			if err := c.inside[n].value(part, row); err != nil {
				return err
			}
		}
	}
	return nil
}

// size is how many bytes the value at row i takes.
func (c *column) size(a arrow.Array, i int) int {
	if a.IsNull(i) {
		return c.width
	}
	if t, ok := a.(texts); ok {
		return c.width + t.ValueLen(i)
	}
	n := c.width
	inside, from, to := parts(a, i)
	for k := range min(len(inside), len(c.inside)) {
		for row := from; row < to; row++ {
			n += c.inside[k].size(inside[k], row)
		}
	}
	return n
}
