package duckdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// chunk is one column chunk of a Parquet file.
type chunk struct {
	span         // what it takes
	first  int64 // where the engine begins to read pages
	values int64 // how many it reads, with NULLs
	bloom  span  // its Bloom filter; its end is not sure
}

const (
	// bloomHead is what is read to see how long a Bloom filter is whose length the footer does not tell.
	bloomHead = 64
	// bloomBytes is the largest Bloom filter that Parquet's specification allows, and some room for its header.
	bloomBytes = 128<<20 + 1<<10
)

// columnChunks are the chunks of columns, given by their place in the schema, of the Parquet file at path. No two chunks of the file may
// overlap, and all lie between its magic bytes.
func columnChunks(path string, columns []int64) (out []chunk, err error) {
	err = withParquet(path, func(r *file.Reader, size int64) error {
		out, err = chunksOf(r, size, columns)
		return err
	})
	return out, err
}

func chunksOf(r *file.Reader, size int64, columns []int64) ([]chunk, error) {
	var out []chunk
	var all []span
	top := topColumns(r)
	for i := range r.NumRowGroups() {
		group := r.MetaData().RowGroup(i)
		for j := range group.NumColumns() {
			meta, err := group.ColumnChunk(j)
			if err != nil {
				return nil, err
			}
			c := chunk{first: meta.DataPageOffset(), values: meta.NumValues()}
			start := c.first
			if meta.HasDictionaryPage() && meta.DictionaryPageOffset() >= 4 { // as the engine has it
				c.first = meta.DictionaryPageOffset()
				start = min(start, c.first)
			}
			length := meta.TotalCompressedSize()
			if start < 4 || length < 0 || length > size || start+length > size-8 {
				if c.values == 0 && group.NumRows() == 0 {
					continue // nothing is read of it
				}
				return nil, fmt.Errorf("a column chunk of %d bytes at %d in a file of %d", length, start, size)
			}
			c.span = span{start, start + length}
			all = append(all, c.span)
			if !slices.Contains(columns, top[j]) {
				continue
			}
			if repeated := r.MetaData().Schema.Column(j).MaxRepetitionLevel() > 0; c.values < group.NumRows() || c.values > group.NumRows() && !repeated {
				return nil, fmt.Errorf("a column chunk of %d values for %d rows", c.values, group.NumRows())
			}
			if c.bloom, err = bloomOf(meta.BloomFilterOffset(), int64(meta.BloomFilterLength()), size); err != nil {
				return nil, err
			}
			out = append(out, c)
		}
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	for i := 1; i < len(all); i++ {
		if all[i].from < all[i-1].to {
			return nil, errors.New("column chunks overlap")
		}
	}
	return out, nil
}

// topColumns is the place of the column in the schema that each leaf belongs to.
func topColumns(r *file.Reader) []int64 {
	s := r.MetaData().Schema
	place := make(map[schema.Node]int64, s.Root().NumFields()) // a footer may have very many
	for j := range s.Root().NumFields() {
		place[s.Root().Field(j)] = int64(j)
	}
	out := make([]int64, s.NumColumns())
	for i := range out {
		out[i] = place[s.ColumnRoot(i)]
	}
	return out
}

// bloomOf is where a Bloom filter is. There is none at 0.
func bloomOf(offset, length, size int64) (span, error) {
	if offset <= 0 {
		return span{}, nil
	}
	if length <= 0 {
		length = min(bloomHead, size-offset)
	}
	if length <= 0 || length > bloomBytes || offset > size-length {
		return span{}, fmt.Errorf("a Bloom filter of %d bytes at %d in a file of %d", length, offset, size)
	}
	return span{offset, offset + length}, nil
}

// checkChunks walks through the pages and the Bloom filters of chunks as the engine does, whose bytes must be in the file at path: all that
// the engine reads has to lie in them, as elsewhere the file has holes. It returns what is missing of Bloom filters.
func checkChunks(ctx context.Context, path string, size int64, chunks []chunk) (more []span, err error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	for _, c := range chunks {
		if err := checkPages(ctx, in, c); err != nil {
			return nil, err
		}
		if c.bloom.size() == 0 {
			continue
		}
		end, err := bloomEnd(in, c.bloom)
		if err != nil {
			return nil, err
		}
		if end > size {
			return nil, fmt.Errorf("a Bloom filter up to %d in a file of %d bytes", end, size)
		}
		if end > c.bloom.to {
			more = append(more, span{c.bloom.to, end})
		}
	}
	return more, nil
}

// checkPages fails if the pages of c do not lie within it.
func checkPages(ctx context.Context, in io.ReaderAt, c chunk) error {
	at := c.first
	for left := c.values; left > 0; {
		if err := ctx.Err(); err != nil {
			return err // there may be very many pages without values
		}
		h, err := readPageHeader(in, span{at, c.to})
		if err != nil {
			return fmt.Errorf("page at %d: %w", at, err)
		}
		if h.size > c.to-at-h.length {
			return fmt.Errorf("page at %d: %d bytes, its column chunk ends at %d", at, h.size, c.to)
		}
		at += h.length + h.size
		left -= h.values
	}
	return nil
}

// bloomEnd is where the Bloom filter ends whose head lies in s.
func bloomEnd(in io.ReaderAt, s span) (int64, error) {
	head := make([]byte, min(bloomHead, s.size()))
	if _, err := in.ReadAt(head, s.from); err != nil {
		return 0, err
	}
	d := &compact{in: head}
	fields := d.integers(bloomFields)
	n, ok := fields[1] // numBytes
	if d.err != nil || !ok || n < 0 || n > bloomBytes {
		return 0, fmt.Errorf("a Bloom filter without a header at %d", s.from)
	}
	return s.from + int64(d.at) + n, nil
}
