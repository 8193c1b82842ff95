package duckdb

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"gatehouse/executors"
)

func newNested(b base, mem memory.Allocator) (column, error) {
	children := make([]column, 0, len(b.kind.children))
	for i := range b.kind.children {
		c, err := newColumn(&b.kind.children[i], mem)
		if err != nil {
			return nil, err
		}
		children = append(children, c)
	}
	switch b.kind.id {
	case bindings.TypeStruct:
		return &structColumn{base: b, children: children}, nil
	case bindings.TypeArray:
		return &arrayColumn{base: b, child: children[0]}, nil
	default:
		return &listColumn{base: b, offsets: newBytes(mem), children: children}, nil
	}
}

// structColumn holds one column for each field. What lies under a NULL struct is NULL, whatever the engine has there.
type structColumn struct {
	base
	children []column
}

func (c *structColumn) append(v *vector, from, n int) error {
	nulls := c.mark(v, from, n)
	return runs(v, from, n, nulls, func(at, m int, valid bool) error {
		for i, child := range c.children {
			if !valid {
				child.appendNulls(m)
			} else if err := child.append(&v.children[i], at, m); err != nil {
				return err
			}
		}
		return nil
	})
}

// runs calls do for each longest run of rows that are all valid or all invalid.
func runs(v *vector, from, n, nulls int, do func(at, n int, valid bool) error) error {
	if nulls == 0 {
		return do(from, n, true)
	}
	for i := from; i < from+n; {
		valid, j := v.valid(i), i+1
		for j < from+n && v.valid(j) == valid {
			j++
		}
		if err := do(i, j-i, valid); err != nil {
			return err
		}
		i = j
	}
	return nil
}

func (c *structColumn) appendNulls(n int) {
	c.markNulls(n)
	for _, child := range c.children {
		child.appendNulls(n)
	}
}

func (c *structColumn) size(v *vector, from, n int) int {
	total := n / 8
	for i, child := range c.children {
		total += child.size(&v.children[i], from, n)
	}
	return total
}

func (c *structColumn) finish() arrow.ArrayData {
	return c.finishData(finishAll(c.children))
}

func (c *structColumn) release() {
	c.valid.release()
	for _, child := range c.children {
		child.release()
	}
}

func finishAll(columns []column) []arrow.ArrayData {
	out := make([]arrow.ArrayData, len(columns))
	for i, c := range columns {
		out[i] = c.finish()
	}
	return out
}

// listColumn makes lists, with one child, and maps, with one for the keys and one for the values.
type listColumn struct {
	base
	offsets  bytes
	children []column
	end      int // entries so far
}

func (c *listColumn) start() {
	if c.offsets.buf.Len() == 0 {
		c.offsets.grow(4)
	}
}

func (c *listColumn) append(v *vector, from, n int) error {
	c.start()
	c.mark(v, from, n)
	offsets := c.offsets.grow(4 * n)
	for i, e := range values[listEntry](v, from, n) {
		if v.valid(from+i) && e.length > 0 {
			if c.end+int(e.length) > math.MaxInt32 {
				return &executors.Error{Kind: executors.KindMemory}
			}
			for j, child := range c.children {
				if err := child.append(&v.children[j], int(e.offset), int(e.length)); err != nil {
					return err
				}
			}
			c.end += int(e.length)
		}
		binary.NativeEndian.PutUint32(offsets[4*i:], uint32(c.end))
	}
	return nil
}

func (c *listColumn) appendNulls(n int) {
	c.start()
	c.markNulls(n)
	offsets := c.offsets.grow(4 * n)
	for i := range n {
		binary.NativeEndian.PutUint32(offsets[4*i:], uint32(c.end))
	}
}

func (c *listColumn) size(v *vector, from, n int) int {
	total := 4*n + n/8
	for i, e := range values[listEntry](v, from, n) {
		if v.valid(from + i) {
			for j, child := range c.children {
				total += child.size(&v.children[j], int(e.offset), int(e.length))
			}
		}
	}
	return total
}

func (c *listColumn) finish() arrow.ArrayData {
	c.start()
	children := finishAll(c.children)
	if m, ok := c.kind.arrow.(*arrow.MapType); ok {
		entries := array.NewData(m.Elem(), c.end, []*memory.Buffer{nil}, children, 0, 0)
		for _, child := range children {
			child.Release()
		}
		children = []arrow.ArrayData{entries}
	}
	c.end = 0
	return c.finishData(children, c.offsets.take())
}

func (c *listColumn) release() {
	c.valid.release()
	c.offsets.release()
	for _, child := range c.children {
		child.release()
	}
}

// arrayColumn makes lists of a fixed size.
type arrayColumn struct {
	base
	child column
}

func (c *arrayColumn) append(v *vector, from, n int) error {
	nulls := c.mark(v, from, n)
	size := c.kind.size
	return runs(v, from, n, nulls, func(at, m int, valid bool) error {
		if !valid {
			c.child.appendNulls(m * size)
			return nil
		}
		return c.child.append(&v.children[0], at*size, m*size)
	})
}

func (c *arrayColumn) appendNulls(n int) {
	c.markNulls(n)
	c.child.appendNulls(n * c.kind.size)
}

func (c *arrayColumn) size(v *vector, from, n int) int {
	return n/8 + c.child.size(&v.children[0], from*c.kind.size, n*c.kind.size)
}

func (c *arrayColumn) finish() arrow.ArrayData {
	return c.finishData([]arrow.ArrayData{c.child.finish()})
}

func (c *arrayColumn) release() { c.valid.release(); c.child.release() }
