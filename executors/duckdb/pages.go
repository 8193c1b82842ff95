package duckdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// pageHeader is what is to be known of a page's header.
type pageHeader struct {
	length int64 // of the header itself
	size   int64 // of what follows it
	values int64 // of a data page, with NULLs
}

// The types of pages, and the fields of PageHeader (parquet.thrift of the Apache Parquet format).
const (
	dataPage       = 0
	dictionaryPage = 2
	dataPageV2     = 3

	pageType       = 1
	pageSize       = 3 // compressed_page_size
	pageData       = 5
	pageDictionary = 7
	pageDataV2     = 8
)

// pageFields are the structs of a page header whose integers are looked at, by field id. Their integer fields have the number of the
// struct times structBase more.
var (
	pageFields  = map[int64]bool{pageData: true, pageDataV2: true}
	bloomFields = map[int64]bool{}
)

const (
	structBase = 1 << 16
	// maxHeader bounds a page header: it may hold bounds of long texts.
	maxHeader = 16 << 20
)

// readPageHeader reads the header at the start of s, which must lie within s.
func readPageHeader(in io.ReaderAt, s span) (pageHeader, error) {
	for n := int64(256); ; n *= 16 {
		buffer := make([]byte, min(n, s.size()))
		if _, err := in.ReadAt(buffer, s.from); err != nil {
			return pageHeader{}, err
		}
		d := &compact{in: buffer}
		fields := d.integers(pageFields)
		if errors.Is(d.err, io.ErrUnexpectedEOF) && n < s.size() && n < maxHeader {
			continue
		}
		if d.err != nil {
			return pageHeader{}, d.err
		}
		return newPageHeader(int64(d.at), fields)
	}
}

func newPageHeader(length int64, fields map[int64]int64) (pageHeader, error) {
	size, ok := fields[pageSize]
	if !ok || size < 0 || size > math.MaxInt32 {
		return pageHeader{}, fmt.Errorf("a page of %d bytes", size)
	}
	h := pageHeader{length: length, size: size}
	kind, ok := fields[pageType]
	switch {
	case ok && kind == dictionaryPage:
		return h, nil
	case ok && kind == dataPage:
		h.values, ok = fields[pageData*structBase+1]
	case ok && kind == dataPageV2:
		h.values, ok = fields[pageDataV2*structBase+1]
	default:
		// The engine reads on behind its header, whatever follows there.
		return pageHeader{}, fmt.Errorf("a page of the type %d", kind)
	}
	if !ok || h.values < 0 || h.values > math.MaxInt32 {
		return pageHeader{}, fmt.Errorf("a data page of %d values", h.values)
	}
	return h, nil
}

// compact reads structs in Thrift's compact protocol. After the first error it reads nothing.
type compact struct {
	in  []byte
	at  int
	err error
}

// The types of the protocol.
const (
	stop       = 0
	boolTrue   = 1
	boolFalse  = 2
	oneByte    = 3
	i16        = 4
	i32        = 5
	i64        = 6
	double     = 7
	binaryType = 8
	listType   = 9
	setType    = 10
	mapType    = 11
	structType = 12

	maxDepth = 16
)

// integers reads a struct and returns its fields of the type i32 by id, and those of the structs inside that are looked at. A field of another type
// is another field for the engine, which passes over it.
func (c *compact) integers(inside map[int64]bool) map[int64]int64 {
	out := map[int64]int64{}
	c.structure(0, func(id int64, kind byte) bool {
		switch {
		case kind == i32:
			out[id] = c.zigzag()
		case kind == structType && inside[id]:
			for inner, v := range c.integers(nil) {
				out[id*structBase+inner] = v
			}
		default:
			return false
		}
		return true
	})
	return out
}

// structure reads a struct; field reads one of its fields, or returns false to have it skipped.
func (c *compact) structure(depth int, field func(id int64, kind byte) bool) {
	id := int64(0)
	for c.err == nil {
		head := c.byte()
		kind := head & 0x0f
		if kind == stop {
			return
		}
		if delta := int64(head >> 4); delta > 0 {
			id = int64(int16(id + delta)) // ids have 16 bits, and the engine takes no more of them
		} else {
			id = int64(int16(c.zigzag()))
		}
		if c.err == nil && !field(id, kind) {
			c.skip(kind, depth)
		}
	}
}

// skip passes over a value that is a field. Booleans are in the field's head.
func (c *compact) skip(kind byte, depth int) {
	if depth > maxDepth {
		c.fail(errors.New("structs within structs"))
		return
	}
	switch kind {
	case boolTrue, boolFalse:
	case oneByte:
		c.take(1)
	case i16, i32, i64:
		c.varint()
	case double:
		c.take(8)
	case binaryType:
		c.take(c.varint())
	case listType, setType:
		head := c.byte()
		n := uint64(head >> 4)
		if n == 15 {
			n = c.varint()
		}
		c.skipMany(n, []byte{head & 0x0f}, depth)
	case mapType:
		if n := c.varint(); n > 0 {
			kinds := c.byte()
			c.skipMany(n, []byte{kinds >> 4, kinds & 0x0f}, depth)
		}
	case structType:
		c.structure(depth+1, func(int64, byte) bool { return false })
	default:
		c.fail(fmt.Errorf("type %d", kind))
	}
}

// skipMany passes over n members of a list, or pairs of a map.
func (c *compact) skipMany(n uint64, kinds []byte, depth int) {
	for ; n > 0 && c.err == nil; n-- {
		for _, kind := range kinds {
			if kind == boolTrue || kind == boolFalse {
				kind = oneByte
			}
			c.skip(kind, depth+1)
		}
	}
}

func (c *compact) byte() byte {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return stop
}

func (c *compact) take(n uint64) []byte {
	if c.err != nil {
		return nil
	}
	if n > uint64(len(c.in)-c.at) {
		c.fail(io.ErrUnexpectedEOF)
		return nil
	}
	c.at += int(n)
	return c.in[c.at-int(n) : c.at]
}

func (c *compact) varint() uint64 {
	if c.err != nil {
		return 0
	}
	v, n := binary.Uvarint(c.in[c.at:])
	switch {
	case n == 0:
		c.fail(io.ErrUnexpectedEOF)
	case n < 0:
		c.fail(errors.New("a number that is too large"))
	default:
		c.at += n
	}
	return v
}

func (c *compact) zigzag() int64 {
	v := c.varint()
	return int64(v>>1) ^ -int64(v&1)
}

func (c *compact) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}
