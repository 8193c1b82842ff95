package duckdb

import (
	"cmp"
	"slices"
)

// span is the bytes from one offset up to another, which is not in it.
type span struct{ from, to int64 }

func (s span) size() int64 { return s.to - s.from }

const (
	// spanGap is what is read of an object and not needed, rather than to ask once more: asking takes as long as some 64 KiB.
	spanGap = 64 << 10
	// pieceBytes bounds one request, so that large spans are read by several at once, and a buffer.
	pieceBytes = 2 << 20
)

// joined returns spans in order, with those joined that overlap or lie close to each other.
func joined(spans []span) []span {
	sorted := slices.SortedFunc(slices.Values(spans), func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out []span
	for _, s := range sorted {
		if s.size() <= 0 {
			continue
		}
		if last := len(out) - 1; last >= 0 && s.from-out[last].to < spanGap {
			out[last].to = max(out[last].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// pieces cuts spans to what one request asks for.
func pieces(spans []span) []span {
	var out []span
	for _, s := range spans {
		for from := s.from; from < s.to; from += pieceBytes {
			out = append(out, span{from, min(from+pieceBytes, s.to)})
		}
	}
	return out
}

func total(spans []span) int64 {
	n := int64(0)
	for _, s := range spans {
		n += s.size()
	}
	return n
}
