package duckdb

import (
	"math/bits"
	"unsafe"

	bindings "github.com/duckdb/duckdb-go-bindings"
)

// vector is a view of one vector of a chunk. It is valid until the chunk is destroyed.
type vector struct {
	data     unsafe.Pointer
	validity unsafe.Pointer // nil: every row is valid
	children []vector
}

// view reads v, flat as the engine returns result vectors.
func view(k *kind, v bindings.Vector) vector {
	w := vector{validity: bindings.VectorGetValidity(v)}
	switch k.id {
	case bindings.TypeStruct:
		for i := range k.children {
			w.children = append(w.children, view(&k.children[i], bindings.StructVectorGetChild(v, bindings.IdxT(i))))
		}
	case bindings.TypeArray:
		w.children = []vector{view(&k.children[0], bindings.ArrayVectorGetChild(v))}
	case bindings.TypeList:
		w.data = bindings.VectorGetData(v)
		w.children = []vector{view(&k.children[0], bindings.ListVectorGetChild(v))}
	case bindings.TypeMap:
		// A map is a list of structs of key and value.
		w.data = bindings.VectorGetData(v)
		entries := bindings.ListVectorGetChild(v)
		w.children = []vector{
			view(&k.children[0], bindings.StructVectorGetChild(entries, 0)),
			view(&k.children[1], bindings.StructVectorGetChild(entries, 1)),
		}
	default:
		w.data = bindings.VectorGetData(v)
	}
	return w
}

// words returns the validity mask for rows up to end; it must not be called when validity is nil.
func (v *vector) words(end int) []uint64 {
	return unsafe.Slice((*uint64)(v.validity), (end+63)/64)
}

func (v *vector) valid(row int) bool {
	if v.validity == nil {
		return true
	}
	word := *(*uint64)(unsafe.Add(v.validity, row/64*8))
	return word>>(row%64)&1 == 1
}

// nulls counts the invalid rows of [from, from+n).
func (v *vector) nulls(from, n int) int {
	if v.validity == nil {
		return 0
	}
	words := v.words(from + n)
	valid := 0
	for i := from; i < from+n; {
		if i%64 == 0 && i+64 <= from+n {
			valid += bits.OnesCount64(words[i/64])
			i += 64
			continue
		}
		valid += int(words[i/64] >> (i % 64) & 1)
		i++
	}
	return n - valid
}

// values returns the rows [from, from+n) of a vector of fixed-size values.
func values[T any](v *vector, from, n int) []T {
	return unsafe.Slice((*T)(v.data), from+n)[from:]
}

// text returns the bytes of a string or blob, inside of the chunk's memory.
func text(s *bindings.StringT) []byte {
	// The layout is part of the C interface: a length, then either 12 bytes of text, or 4 bytes of prefix and a pointer.
	p := unsafe.Pointer(s)
	n := int(*(*uint32)(p))
	if n <= 12 {
		return unsafe.Slice((*byte)(unsafe.Add(p, 4)), n)
	}
	return unsafe.Slice(*(**byte)(unsafe.Add(p, 8)), n)
}

func textLen(s *bindings.StringT) int { return int(*(*uint32)(unsafe.Pointer(s))) }

type listEntry struct{ offset, length uint64 }
