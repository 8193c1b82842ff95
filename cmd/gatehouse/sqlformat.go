package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/mattn/go-runewidth"
)

// resultWriter writes one result. Batches are the caller's and are not kept after the call.
type resultWriter interface {
	// batch writes rows as they arrive.
	batch(arrow.RecordBatch) error
	// close writes what ends a whole result.
	close() error
}

// formats are the ways to write a result.
var formats = map[string]func(w io.Writer, s *arrow.Schema, null string) resultWriter{
	"table":    newTableWriter,
	"expanded": newExpandedWriter,
	"csv":      newCSVWriter,
	"json":     newJSONWriter,
	"arrow":    newArrowWriter,
}

// csvWriter writes RFC 4180 with a header line and lines that end with \n. NULL is the given text without quotes; a value that
// looks like it is quoted.
type csvWriter struct {
	out  *bufio.Writer
	null string
	line []byte
	cell []byte
}

func newCSVWriter(w io.Writer, s *arrow.Schema, null string) resultWriter {
	c := &csvWriter{out: bufio.NewWriterSize(w, 64<<10), null: null}
	for i, f := range s.Fields() {
		c.field(i, []byte(f.Name))
	}
	c.line = append(c.line, '\n')
	return c
}

func (c *csvWriter) field(i int, value []byte) {
	if i > 0 {
		c.line = append(c.line, ',')
	}
	s := string(value)
	if s != c.null && !strings.ContainsAny(s, ",\"\r\n") && s != "" && s[0] != ' ' && s[len(s)-1] != ' ' {
		c.line = append(c.line, s...)
		return
	}
	c.line = append(c.line, '"')
	c.line = append(c.line, strings.ReplaceAll(s, `"`, `""`)...)
	c.line = append(c.line, '"')
}

func (c *csvWriter) batch(b arrow.RecordBatch) error {
	for row := range int(b.NumRows()) {
		for i, col := range b.Columns() {
			if col.IsNull(row) {
				if i > 0 {
					c.line = append(c.line, ',')
				}
				c.line = append(c.line, c.null...)
				continue
			}
			c.cell = appendValue(c.cell[:0], col, row, plainText)
			c.field(i, c.cell)
		}
		if err := c.flushLine(); err != nil {
			return err
		}
	}
	return c.out.Flush()
}

func (c *csvWriter) flushLine() error {
	c.line = append(c.line, '\n')
	if c.line[0] == '\n' && len(c.line) == 1 {
		c.line = append(c.line[:0], '"', '"', '\n') // an empty line would be no record
	}
	_, err := c.out.Write(c.line)
	c.line = c.line[:0]
	return err
}

func (c *csvWriter) close() error {
	if len(c.line) > 0 { // only the header was made
		if _, err := c.out.Write(c.line); err != nil {
			return err
		}
	}
	return c.out.Flush()
}

// jsonWriter writes one object a line (JSON Lines), so that results of any size stream.
type jsonWriter struct {
	out  *bufio.Writer
	keys [][]byte
	line []byte
}

func newJSONWriter(w io.Writer, s *arrow.Schema, _ string) resultWriter {
	j := &jsonWriter{out: bufio.NewWriterSize(w, 64<<10)}
	seen := map[string]int{}
	for _, f := range s.Fields() {
		name := f.Name
		seen[f.Name]++
		if n := seen[f.Name]; n > 1 { // SELECT a.id, b.id
			name = fmt.Sprintf("%s_%d", name, n)
		}
		j.keys = append(j.keys, append(appendJSONString(nil, name), ':'))
	}
	return j
}

func (j *jsonWriter) batch(b arrow.RecordBatch) error {
	for row := range int(b.NumRows()) {
		j.line = append(j.line[:0], '{')
		for i, col := range b.Columns() {
			if i > 0 {
				j.line = append(j.line, ',')
			}
			j.line = append(j.line, j.keys[i]...)
			j.line = appendValue(j.line, col, row, jsonText)
		}
		j.line = append(j.line, '}', '\n')
		if _, err := j.out.Write(j.line); err != nil {
			return err
		}
	}
	return j.out.Flush()
}

func (j *jsonWriter) close() error { return j.out.Flush() }

// arrowWriter writes an Arrow IPC stream.
type arrowWriter struct{ out *ipc.Writer }

func newArrowWriter(w io.Writer, s *arrow.Schema, _ string) resultWriter {
	return arrowWriter{ipc.NewWriter(w, ipc.WithSchema(s))}
}

func (a arrowWriter) batch(b arrow.RecordBatch) error { return a.out.Write(b) }
func (a arrowWriter) close() error                    { return a.out.Close() }

// tableWriter writes a table for people. The first rows decide the columns' widths and later rows that are wider push
// the line out, so that a result of any size streams in bounded memory.
type tableWriter struct {
	out    *bufio.Writer
	null   string
	names  []string
	right  []bool // numbers go to the right
	widths []int
	rows   [][]string // waiting for the widths
	size   int        // bytes in rows
	begun  bool
	count  int64
}

// What the table writer holds back to find widths.
const (
	tableSampleRows  = 1000
	tableSampleBytes = 1 << 20
	tableCellRunes   = 1000 // a longer value is cut in tables, and only there
)

func newTableWriter(w io.Writer, s *arrow.Schema, null string) resultWriter {
	t := &tableWriter{out: bufio.NewWriterSize(w, 64<<10), null: null}
	for _, f := range s.Fields() {
		name := visible(f.Name)
		t.names = append(t.names, name)
		t.widths = append(t.widths, runewidth.StringWidth(name))
		t.right = append(t.right, numeric(f.Type.ID()))
	}
	return t
}

func numeric(id arrow.Type) bool {
	return arrow.IsInteger(id) || arrow.IsFloating(id) || arrow.IsDecimal(id)
}

func (t *tableWriter) batch(b arrow.RecordBatch) error {
	for row := range int(b.NumRows()) {
		cells := make([]string, b.NumCols())
		for i, col := range b.Columns() {
			if cells[i] = t.null; col.IsValid(row) {
				cells[i] = visible(string(appendValue(nil, col, row, plainText)))
			}
			if !t.begun {
				t.widths[i] = max(t.widths[i], runewidth.StringWidth(cells[i]))
				t.size += len(cells[i])
			}
		}
		t.count++
		if t.begun {
			t.line(cells)
			continue
		}
		t.rows = append(t.rows, cells)
		if len(t.rows) >= tableSampleRows || t.size >= tableSampleBytes {
			t.begin()
		}
	}
	if t.begun {
		return t.out.Flush()
	}
	return nil
}

func (t *tableWriter) begin() {
	t.begun = true
	t.line(t.names)
	for i, w := range t.widths {
		if i > 0 {
			t.out.WriteByte('+')
		}
		t.out.WriteString(strings.Repeat("-", w+2))
	}
	t.out.WriteByte('\n')
	for _, r := range t.rows {
		t.line(r)
	}
	t.rows = nil
}

func (t *tableWriter) line(cells []string) {
	for i, c := range cells {
		if i > 0 {
			t.out.WriteByte('|')
		}
		pad := strings.Repeat(" ", max(0, t.widths[i]-runewidth.StringWidth(c)))
		switch {
		case t.right[i]:
			t.out.WriteString(" " + pad + c)
			if i < len(cells)-1 {
				t.out.WriteByte(' ')
			}
		case i < len(cells)-1:
			t.out.WriteString(" " + c + pad + " ")
		default:
			t.out.WriteString(" " + c)
		}
	}
	t.out.WriteByte('\n')
}

func (t *tableWriter) close() error {
	if len(t.names) > 0 {
		if !t.begun {
			t.begin()
		}
		rows := "rows"
		if t.count == 1 {
			rows = "row"
		}
		fmt.Fprintf(t.out, "(%d %s)\n\n", t.count, rows)
	}
	return t.out.Flush()
}

// cut writes what there is of a result that failed, without the line that says that it is whole.
func (t *tableWriter) cut() error {
	if !t.begun && t.count > 0 {
		t.begin()
	}
	return t.out.Flush()
}

// visible makes text safe and legible on a terminal: what could act on it is shown as an escape.
func visible(s string) string {
	clean := utf8.ValidString(s) && !strings.ContainsFunc(s, isControl)
	if clean && len(s) <= tableCellRunes {
		return s
	}
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n++; n > tableCellRunes {
			b.WriteString("…")
			break
		}
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case isControl(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
