package ballista

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"gatehouse/executors/duckdb/tpc"
	"gatehouse/executors/executortest"
)

// hidden is an array of 3, NULL, 5 with a 4 under the NULL.
func hidden() arrow.Array {
	bits := memory.NewBufferBytes([]byte{0b101})
	values := memory.NewBufferBytes(arrow.Int64Traits.CastToBytes([]int64{3, 4, 5}))
	return array.MakeFromData(array.NewData(arrow.PrimitiveTypes.Int64, 3, []*memory.Buffer{bits, values}, nil, 1, 0))
}

// What lies under a NULL does not go out.
func TestNothingUnderNull(t *testing.T) {
	c := newColumn(arrow.PrimitiveTypes.Int64, memory.DefaultAllocator)
	defer c.release()
	if err := c.append(hidden(), 0, 3); err != nil {
		t.Fatal(err)
	}
	out := c.finish().(*array.Int64)
	defer out.Release()
	if want := []int64{3, 0, 5}; !slices.Equal(out.Int64Values(), want) || !bitutil.BitIsNotSet(out.NullBitmapBytes(), 1) {
		t.Errorf("%v with the bits %b, want %v", out.Int64Values(), out.NullBitmapBytes()[0], want)
	}
}

// A part of an array is copied, whether it has NULLs or not.
func TestAppendSome(t *testing.T) {
	whole := array.NewInt64Data(array.NewData(arrow.PrimitiveTypes.Int64, 3, []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int64Traits.CastToBytes([]int64{7, 8, 9}))}, nil, 0, 0))
	for name, a := range map[string]struct {
		in   arrow.Array
		want string
	}{"no NULL": {whole, "[8 9]"}, "a NULL": {hidden(), "[(null) 5]"}, "a slice": {array.NewSlice(whole, 0, 3), "[8 9]"}} {
		c := newColumn(arrow.PrimitiveTypes.Int64, memory.DefaultAllocator)
		if err := c.append(a.in, 1, 3); err != nil {
			t.Fatal(err)
		}
		if out := c.finish(); out.String() != a.want {
			t.Errorf("%s: %s, want %s", name, out, a.want)
		}
		c.release()
	}
}

// Batches end where their rows fill them, and what lies under a NULL does not count.
func TestFits(t *testing.T) {
	text := array.NewStringData(array.NewData(arrow.BinaryTypes.String, 3, []*memory.Buffer{
		memory.NewBufferBytes([]byte{0b101}), memory.NewBufferBytes(arrow.Int32Traits.CastToBytes([]int32{0, 1, 91, 92})), memory.NewBufferBytes(make([]byte, 92)),
	}, nil, 1, 0))
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	r := &reader{batch: array.NewRecordBatch(schema, []arrow.Array{hidden(), text}, 3)}
	for _, f := range schema.Fields() {
		r.columns = append(r.columns, newColumn(f.Type, memory.DefaultAllocator))
	}
	for _, c := range []struct {
		most, room    int
		first         bool
		n, wholeBytes int
	}{{10, 100, true, 3, 38}, {2, 100, true, 2, 25}, {10, 25, true, 2, 25}, {10, 24, true, 1, 13}, {10, 5, true, 1, 13}, {10, 5, false, 0, 0}} {
		if n, bytes := r.fits(c.most, c.room, c.first); n != c.n || bytes != c.wholeBytes {
			t.Errorf("%+v: %d rows of %d bytes", c, n, bytes)
		}
	}
}

// A result of more parts than are asked for at once comes whole, and in its order if it has one.
func TestManyParts(t *testing.T) {
	distributed, local := overBoth(t, tpc.TPCH, 1<<20)
	for text, ordered := range map[string]bool{
		"SELECT l_orderkey, l_linenumber, l_comment FROM lineitem WHERE l_linenumber = 2":                                   false,
		"SELECT l_orderkey, l_linenumber, l_comment FROM lineitem WHERE l_linenumber = 2 ORDER BY l_comment, l_orderkey, 2": true,
	} {
		got, err := distributed.Rows(t.Context(), text, nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := local.Rows(t.Context(), text, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !ordered {
			byKey := func(a, b executortest.Row) int { return slices.Compare(a, b) }
			slices.SortFunc(got, byKey)
			slices.SortFunc(want, byKey)
		}
		if !slices.EqualFunc(got, want, func(a, b executortest.Row) bool { return slices.Equal(a, b) }) {
			t.Errorf("%s: %d rows, want %d, or others, or in another order", text, len(got), len(want))
		}
	}
}
