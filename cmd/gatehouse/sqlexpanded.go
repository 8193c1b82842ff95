package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/mattn/go-runewidth"
)

// expandedWriter writes one line a value, for rows that are too wide for a table.
type expandedWriter struct {
	out   *bufio.Writer
	null  string
	names []string // all of one width
	count int64
}

func newExpandedWriter(w io.Writer, s *arrow.Schema, null string) resultWriter {
	e := &expandedWriter{out: bufio.NewWriterSize(w, 64<<10), null: null}
	width := 0
	for _, f := range s.Fields() {
		name := visible(f.Name)
		e.names = append(e.names, name)
		width = max(width, runewidth.StringWidth(name))
	}
	for i, name := range e.names {
		e.names[i] += strings.Repeat(" ", width-runewidth.StringWidth(name))
	}
	return e
}

func (e *expandedWriter) batch(b arrow.RecordBatch) error {
	for row := range int(b.NumRows()) {
		e.count++
		fmt.Fprintf(e.out, "-[ row %d ]-\n", e.count)
		for i, col := range b.Columns() {
			cell := e.null
			if col.IsValid(row) {
				cell = visible(string(appendValue(nil, col, row, plainText)))
			}
			fmt.Fprintf(e.out, "%s | %s\n", e.names[i], cell)
		}
	}
	return e.out.Flush()
}

func (e *expandedWriter) close() error {
	fmt.Fprintf(e.out, "(%s)\n\n", plural(int(e.count), "row"))
	return e.out.Flush()
}
