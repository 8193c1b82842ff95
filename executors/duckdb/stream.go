package duckdb

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"gatehouse/executors"
)

// maxBatchWait is how long rows wait for others before they go out.
const maxBatchWait = 50 * time.Millisecond

// reader streams one result. Next and Release may be called by different goroutines.
type reader struct {
	refs atomic.Int64
	of   *Prepared
	conn *connection

	cancel func() // frees the context; called by the last Release

	stop    func() bool   // takes back the call at the end of ctx
	stopped chan struct{} // closed after that call

	mu      sync.Mutex // held while the engine works
	ctx     context.Context
	result  bindings.Result
	open    bool
	kinds   []kind
	columns []column
	schema  *arrow.Schema
	chunk   bindings.DataChunk
	views   []vector
	at      int // rows of chunk that are used up
	size    int // rows of chunk
	first   bool
	// steady: batches end after fixed numbers of rows and bytes. The engine's chunks hold what a filter left of as many raw rows, and come
	// when it has read that far: their sizes and times would tell how many hidden rows lie between the visible ones.
	steady bool
	ended  bool // the engine has no more rows; asking it again is an error
	batch  arrow.RecordBatch
	err    error
}

var _ array.RecordReader = (*reader)(nil)

// newColumns makes the columns of a reader.
func newColumns(kinds []kind, mem memory.Allocator) ([]column, error) {
	out := make([]column, len(kinds))
	for i := range kinds {
		var err error
		if out[i], err = newColumn(&kinds[i], mem); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// newReader takes over result and columns.
func newReader(ctx context.Context, s *Prepared, result bindings.Result, kinds []kind, columns []column, schema *arrow.Schema) *reader {
	r := &reader{
		of: s, conn: s.conn, ctx: ctx, result: result, open: true,
		kinds: kinds, columns: columns, schema: schema, first: true, stopped: make(chan struct{}),
	}
	r.refs.Store(1)
	r.conn.own(r)
	r.stop = context.AfterFunc(ctx, func() {
		defer close(r.stopped)
		r.end(ctx.Err())
	})
	return r
}

// end stops the engine and frees what it holds. The stream's error is err unless it has ended before.
func (r *reader) end(err error) {
	r.conn.interruptFor(r)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open && r.err == nil {
		r.err = err
	}
	r.closeResult()
}

// closeResult needs mu, or a reader that nobody else has.
func (r *reader) closeResult() {
	if !r.open {
		return
	}
	r.open = false
	if r.chunk.Ptr != nil {
		bindings.DestroyDataChunk(&r.chunk)
	}
	if !r.ended {
		r.of.counted(func() { r.of.drain(r.result) })
	}
	bindings.DestroyResult(&r.result)
	for _, c := range r.columns {
		c.release()
	}
	r.columns, r.views = nil, nil
	r.conn.own(nil)
	r.of.free()
}

// name is what records call the engine.
const name = "duckdb"

// Place implements executors.Placed.
func (r *reader) Place() string { return name }

func (r *reader) Retain()               { r.refs.Add(1) }
func (r *reader) Schema() *arrow.Schema { return r.schema }

// Release implements array.RecordReader: the last call stops the engine.
func (r *reader) Release() {
	if r.refs.Add(-1) != 0 {
		return
	}
	if !r.stop() {
		<-r.stopped
	}
	r.end(context.Canceled)
	r.cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropBatch()
}

func (r *reader) dropBatch() {
	if r.batch != nil {
		r.batch.Release()
		r.batch = nil
	}
}

func (r *reader) RecordBatch() arrow.RecordBatch { return r.batch }
func (r *reader) Record() arrow.RecordBatch      { return r.batch }

// Err implements array.RecordReader.
func (r *reader) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Next implements array.RecordReader.
func (r *reader) Next() (more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropBatch()
	if !r.open {
		return false
	}
	defer func() {
		if v := recover(); v != nil {
			r.err, more = internal("panic in a stream: %v", v), false
			r.dropBatch()
			r.closeResult()
		}
	}()
	rows, err := r.work()
	if err != nil {
		r.err = r.of.reason(r.ctx, err)
		r.closeResult()
		return false
	}
	if rows == 0 {
		r.closeResult()
		return false
	}
	r.batch = r.build(rows)
	return true
}

// work fills a batch when it is the statement's turn.
func (r *reader) work() (rows int, err error) {
	turn, err := r.conn.engine.turns.take(r.ctx)
	if err != nil {
		return 0, err
	}
	defer turn.end()
	r.of.counted(func() { rows, err = r.fill() })
	return rows, err
}

// fill gathers the rows of one batch and returns how many there are, 0 at the end.
func (r *reader) fill() (int, error) {
	rows, size, most := 0, 0, executors.MaxBatchRows
	if r.steady && r.first {
		most = executors.FirstRows
	}
	started := time.Now()
	for rows < most {
		if r.at == r.size {
			if rows > 0 && !r.steady && (r.first || time.Since(started) > maxBatchWait) {
				break
			}
			more, err := r.fetch()
			if err != nil {
				return 0, err
			}
			if !more {
				break
			}
			continue
		}
		n, bytes := r.fit(min(r.size-r.at, most-rows), executors.MaxBatchBytes-size, rows == 0)
		if n == 0 {
			break
		}
		for i, c := range r.columns {
			if err := c.append(&r.views[i], r.at, n); err != nil {
				return 0, err
			}
		}
		rows, size, r.at = rows+n, size+bytes, r.at+n
	}
	r.first = r.first && rows == 0
	return rows, nil
}

// fit returns how many of the next n rows go into room bytes, and their size. One row always fits into an empty batch.
func (r *reader) fit(n, room int, empty bool) (rows, size int) {
	if r.steady {
		return r.fitRows(n, room, empty)
	}
	for {
		size = 0
		for i, c := range r.columns {
			size += c.size(&r.views[i], r.at, n)
		}
		if size <= room || n == 1 && empty {
			return n, size
		}
		if n == 1 {
			return 0, 0
		}
		n /= 2
	}
}

// fitRows is fit row by row, so that the result does not hang on where a chunk ends.
func (r *reader) fitRows(n, room int, empty bool) (rows, size int) {
	for rows < n {
		row := 0
		for i, c := range r.columns {
			row += c.size(&r.views[i], r.at+rows, 1)
		}
		if size+row > room && !(empty && rows == 0) {
			break
		}
		rows, size = rows+1, size+row
	}
	return rows, size
}

// fetch gets the next chunk from the engine; false at the end.
func (r *reader) fetch() (bool, error) {
	if r.chunk.Ptr != nil {
		bindings.DestroyDataChunk(&r.chunk)
	}
	r.at, r.size = 0, 0
	if r.ended {
		return false, nil
	}
	chunk := bindings.FetchChunk(r.result)
	if chunk.Ptr == nil {
		// The end and a failure look alike but for the error that a failure leaves.
		r.ended = true
		if message := bindings.ResultError(&r.result); message != "" {
			return false, engineError(bindings.ResultErrorType(&r.result), message)
		}
		return false, r.ctx.Err()
	}
	r.chunk, r.size = chunk, int(bindings.DataChunkGetSize(chunk))
	r.views = r.views[:0]
	for i := range r.kinds {
		r.views = append(r.views, view(&r.kinds[i], bindings.DataChunkGetVector(chunk, bindings.IdxT(i))))
	}
	return true, nil
}

func (r *reader) build(rows int) arrow.RecordBatch {
	arrays := make([]arrow.Array, len(r.columns))
	for i, c := range r.columns {
		data := c.finish()
		arrays[i] = array.MakeFromData(data)
		data.Release()
	}
	b := array.NewRecordBatch(r.schema, arrays, int64(rows))
	for _, a := range arrays {
		a.Release()
	}
	return b
}
