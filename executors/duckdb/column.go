package duckdb

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"gatehouse/executors"
)

// column copies rows of vectors into buffers of its own. Only visible values are copied: what the engine has left under a
// NULL, beyond the rows or in unused parts of its memory stays behind.
type column interface {
	// append adds the rows [from, from+n) of v. On an error the column is only good for release.
	append(v *vector, from, n int) error
	// appendNulls adds n NULLs.
	appendNulls(n int)
	// size is how many bytes append would add, roughly.
	size(v *vector, from, n int) int
	// finish returns what was added, which the caller releases, and starts afresh.
	finish() arrow.ArrayData
	release()
}

func newColumn(k *kind, mem memory.Allocator) (column, error) {
	b := base{kind: k, valid: newBytes(mem)}
	switch k.id {
	case bindings.TypeInvalid, bindings.TypeSQLNull:
		return &nullColumn{}, nil
	case bindings.TypeBoolean:
		return &boolColumn{base: b, data: newBytes(mem)}, nil
	case bindings.TypeVarchar, bindings.TypeBlob:
		return &textColumn{base: b, offsets: newBytes(mem), data: newBytes(mem), text: plainText, width: 16}, nil
	case bindings.TypeUUID:
		return &textColumn{base: b, offsets: newBytes(mem), data: newBytes(mem), text: uuidText, width: 16}, nil
	case bindings.TypeEnum:
		width := enumWidth[k.internal]
		return &textColumn{base: b, offsets: newBytes(mem), data: newBytes(mem), text: enumText(k, width), width: width}, nil
	case bindings.TypeDecimal:
		return &fixedColumn{base: b, data: newBytes(mem), width: 16, in: decimalWidth[k.internal], convert: widen[k.internal]}, nil
	case bindings.TypeHugeInt:
		return &fixedColumn{base: b, data: newBytes(mem), width: 16, in: 16, convert: checkHuge}, nil
	case bindings.TypeUHugeInt:
		return &fixedColumn{base: b, data: newBytes(mem), width: 16, in: 16, convert: checkUnsignedHuge}, nil
	case bindings.TypeInterval:
		return &fixedColumn{base: b, data: newBytes(mem), width: 16, in: 16, convert: interval}, nil
	case bindings.TypeList, bindings.TypeArray, bindings.TypeMap, bindings.TypeStruct:
		return newNested(b, mem)
	}
	fixed, ok := k.arrow.(arrow.FixedWidthDataType)
	if !ok {
		return nil, fmt.Errorf("duckdb: no column for type %s", k.arrow)
	}
	width := fixed.Bytes()
	return &fixedColumn{base: b, data: newBytes(mem), width: width, in: width}, nil
}

// bytes is a growing buffer whose spare memory is always zero.
type bytes struct {
	mem  memory.Allocator
	buf  *memory.Buffer
	last int // the length of the buffer before, which the next one will likely have, too
}

func newBytes(mem memory.Allocator) bytes {
	return bytes{mem: mem, buf: memory.NewResizableBuffer(mem)}
}

// grow adds n zero bytes and returns them.
func (b *bytes) grow(n int) []byte {
	old := b.buf.Len()
	if b.buf.Cap() < old+n {
		b.buf.Reserve(max(old+n, 2*old, b.last+b.last/8))
	}
	b.buf.Resize(old + n)
	return b.buf.Bytes()[old:]
}

func (b *bytes) take() *memory.Buffer {
	out := b.buf
	b.last = out.Len()
	b.buf = memory.NewResizableBuffer(b.mem)
	return out
}

func (b *bytes) release() { b.buf.Release() }

// base counts rows and keeps their validity.
type base struct {
	kind  *kind
	valid bytes
	rows  int
	nulls int
}

func (b *base) growValid(n int) {
	need := int(bitutil.BytesForBits(int64(b.rows + n)))
	if have := b.valid.buf.Len(); need > have {
		b.valid.grow(need - have)
	}
}

func (b *base) mark(v *vector, from, n int) (nulls int) {
	b.growValid(n)
	nulls = v.nulls(from, n)
	dst := b.valid.buf.Bytes()
	if nulls == 0 {
		bitutil.SetBitsTo(dst, int64(b.rows), int64(n), true)
	} else {
		words := v.words(from + n)
		src := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(words)*8)
		bitutil.CopyBitmap(src, from, n, dst, b.rows)
	}
	b.rows += n
	b.nulls += nulls
	return nulls
}

func (b *base) markNulls(n int) {
	b.growValid(n)
	b.rows += n
	b.nulls += n
}

// data assembles the array's data; buffers follow the validity, and are released here as the data holds them.
func (b *base) finishData(children []arrow.ArrayData, buffers ...*memory.Buffer) arrow.ArrayData {
	valid := b.valid.take()
	all := append([]*memory.Buffer{valid}, buffers...)
	if b.nulls == 0 {
		all[0] = nil
	}
	d := array.NewData(b.kind.arrow, b.rows, all, children, b.nulls, 0)
	valid.Release()
	for _, buf := range buffers {
		buf.Release()
	}
	for _, c := range children {
		c.Release()
	}
	b.rows, b.nulls = 0, 0
	return d
}

// nullColumn has no values at all.
type nullColumn struct{ rows int }

func (c *nullColumn) append(_ *vector, _, n int) error { c.rows += n; return nil }
func (c *nullColumn) appendNulls(n int)                { c.rows += n }
func (c *nullColumn) size(*vector, int, int) int       { return 0 }
func (c *nullColumn) release()                         {}
func (c *nullColumn) finish() arrow.ArrayData {
	d := array.NewData(arrow.Null, c.rows, []*memory.Buffer{nil}, nil, c.rows, 0)
	c.rows = 0
	return d
}

// boolColumn packs bytes into bits.
type boolColumn struct {
	base
	data bytes
}

func (c *boolColumn) append(v *vector, from, n int) error {
	at := c.rows
	nulls := c.mark(v, from, n)
	c.growData()
	bits := c.data.buf.Bytes()
	for i, b := range values[uint8](v, from, n) {
		if b != 0 && (nulls == 0 || v.valid(from+i)) {
			bitutil.SetBit(bits, at+i)
		}
	}
	return nil
}

func (c *boolColumn) growData() {
	if need := int(bitutil.BytesForBits(int64(c.rows))); need > c.data.buf.Len() {
		c.data.grow(need - c.data.buf.Len())
	}
}

func (c *boolColumn) appendNulls(n int) {
	c.markNulls(n)
	c.growData()
}

func (c *boolColumn) size(_ *vector, _, n int) int { return n/4 + 1 }
func (c *boolColumn) finish() arrow.ArrayData      { return c.finishData(nil, c.data.take()) }
func (c *boolColumn) release()                     { c.valid.release(); c.data.release() }

// fixedColumn copies values of a fixed width.
type fixedColumn struct {
	base
	data    bytes
	width   int // in the stream
	in      int // in the engine
	convert func(dst, src []byte) error
}

func (c *fixedColumn) append(v *vector, from, n int) error {
	nulls := c.mark(v, from, n)
	dst := c.data.grow(n * c.width)
	src := unsafe.Slice((*byte)(v.data), (from+n)*c.in)[from*c.in:]
	if c.convert == nil {
		copy(dst, src)
		if nulls > 0 {
			for i := range n {
				if !v.valid(from + i) {
					clear(dst[i*c.width : (i+1)*c.width])
				}
			}
		}
		return nil
	}
	for i := range n {
		if nulls > 0 && !v.valid(from+i) {
			continue
		}
		if err := c.convert(dst[i*c.width:(i+1)*c.width], src[i*c.in:(i+1)*c.in]); err != nil {
			return err
		}
	}
	return nil
}

func (c *fixedColumn) appendNulls(n int)            { c.markNulls(n); c.data.grow(n * c.width) }
func (c *fixedColumn) size(_ *vector, _, n int) int { return n*c.width + n/8 }
func (c *fixedColumn) finish() arrow.ArrayData      { return c.finishData(nil, c.data.take()) }
func (c *fixedColumn) release()                     { c.valid.release(); c.data.release() }

var decimalWidth = map[bindings.Type]int{
	bindings.TypeSmallInt: 2, bindings.TypeInteger: 4, bindings.TypeBigInt: 8, bindings.TypeHugeInt: 16,
}

// widen holds the conversions of a decimal's storage to 128 bits.
var widen = map[bindings.Type]func(dst, src []byte) error{
	bindings.TypeSmallInt: func(dst, src []byte) error { return put128(dst, int64(int16(binary.NativeEndian.Uint16(src)))) },
	bindings.TypeInteger:  func(dst, src []byte) error { return put128(dst, int64(int32(binary.NativeEndian.Uint32(src)))) },
	bindings.TypeBigInt:   func(dst, src []byte) error { return put128(dst, int64(binary.NativeEndian.Uint64(src))) },
}

func put128(dst []byte, n int64) error {
	binary.NativeEndian.PutUint64(dst, uint64(n))
	binary.NativeEndian.PutUint64(dst[8:], uint64(n>>63))
	return nil
}

var errTooWide = &executors.Error{Kind: executors.KindRange, Hint: "an integer has more than 38 digits; cast it to DOUBLE or VARCHAR"}

// 10^38 is 0x4b3b4ca85a86c47a_098a224000000000.
const (
	limitHigh = 0x4b3b4ca85a86c47a
	limitLow  = 0x098a224000000000
)

func checkHuge(dst, src []byte) error {
	low, high := binary.NativeEndian.Uint64(src), binary.NativeEndian.Uint64(src[8:])
	absLow, absHigh := low, high
	if int64(high) < 0 {
		absLow = -low
		absHigh = ^high
		if absLow == 0 {
			absHigh++
		}
	}
	if absHigh > limitHigh || absHigh == limitHigh && absLow >= limitLow {
		return errTooWide
	}
	copy(dst, src)
	return nil
}

func checkUnsignedHuge(dst, src []byte) error {
	low, high := binary.NativeEndian.Uint64(src), binary.NativeEndian.Uint64(src[8:])
	if high > limitHigh || high == limitHigh && low >= limitLow {
		return errTooWide
	}
	copy(dst, src)
	return nil
}

// interval turns months, days and microseconds into months, days and nanoseconds.
func interval(dst, src []byte) error {
	micros := int64(binary.NativeEndian.Uint64(src[8:]))
	if micros > math.MaxInt64/1000 || micros < math.MinInt64/1000 {
		return &executors.Error{Kind: executors.KindRange, Hint: "an interval is longer than 292 years of nanoseconds"}
	}
	copy(dst, src[:8])
	binary.NativeEndian.PutUint64(dst[8:], uint64(micros*1000))
	return nil
}

// textColumn makes strings or binaries.
type textColumn struct {
	base
	offsets bytes
	data    bytes
	width   int                                     // of a value in the engine
	text    func(p unsafe.Pointer, n []byte) []byte // the bytes of the value at p; n is scratch space
}

func plainText(p unsafe.Pointer, _ []byte) []byte { return text((*bindings.StringT)(p)) }

func uuidText(p unsafe.Pointer, scratch []byte) []byte {
	// A UUID is a 128-bit integer whose top bit is flipped, so that it sorts like its text.
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:], *(*uint64)(unsafe.Add(p, 8))^(1<<63))
	binary.BigEndian.PutUint64(raw[8:], *(*uint64)(p))
	out := scratch[:36]
	hex.Encode(out, raw[:4])
	out[8], out[13], out[18], out[23] = '-', '-', '-', '-'
	hex.Encode(out[9:], raw[4:6])
	hex.Encode(out[14:], raw[6:8])
	hex.Encode(out[19:], raw[8:10])
	hex.Encode(out[24:], raw[10:])
	return out
}

var enumWidth = map[bindings.Type]int{bindings.TypeUTinyInt: 1, bindings.TypeUSmallInt: 2, bindings.TypeUInteger: 4}

func enumText(k *kind, width int) func(unsafe.Pointer, []byte) []byte {
	return func(p unsafe.Pointer, _ []byte) []byte {
		var i int
		switch width {
		case 1:
			i = int(*(*uint8)(p))
		case 2:
			i = int(*(*uint16)(p))
		default:
			i = int(*(*uint32)(p))
		}
		return []byte(k.values[i])
	}
}

func (c *textColumn) start() {
	if c.offsets.buf.Len() == 0 {
		c.offsets.grow(4)
	}
}

func (c *textColumn) append(v *vector, from, n int) error {
	c.start()
	nulls := c.mark(v, from, n)
	offsets := c.offsets.grow(4 * n)
	var scratch [36]byte
	end := c.data.buf.Len()
	for i := range n {
		if nulls == 0 || v.valid(from+i) {
			s := c.text(unsafe.Add(v.data, (from+i)*c.width), scratch[:])
			if end+len(s) > math.MaxInt32 {
				return &executors.Error{Kind: executors.KindMemory, Cause: fmt.Errorf("duckdb: a value of %d bytes", len(s))}
			}
			copy(c.data.grow(len(s)), s)
			end += len(s)
		}
		binary.NativeEndian.PutUint32(offsets[4*i:], uint32(end))
	}
	return nil
}

func (c *textColumn) appendNulls(n int) {
	c.start()
	c.markNulls(n)
	offsets := c.offsets.grow(4 * n)
	for i := range n {
		binary.NativeEndian.PutUint32(offsets[4*i:], uint32(c.data.buf.Len()))
	}
}

func (c *textColumn) size(v *vector, from, n int) int {
	total := 4*n + n/8
	switch c.kind.id {
	case bindings.TypeUUID:
		return total + 36*n
	case bindings.TypeEnum:
		return total + 16*n
	}
	for i := range n {
		if v.valid(from + i) {
			total += textLen((*bindings.StringT)(unsafe.Add(v.data, (from+i)*16)))
		}
	}
	return total
}

func (c *textColumn) finish() arrow.ArrayData {
	c.start()
	return c.finishData(nil, c.offsets.take(), c.data.take())
}

func (c *textColumn) release() { c.valid.release(); c.offsets.release(); c.data.release() }
