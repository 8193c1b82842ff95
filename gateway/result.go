package gateway

import (
	"context"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/util"

	"gatehouse/executors"
)

// Result is one governed statement that is ready to run, or the answer of one that the gateway gives itself.
// Run it once or Close it; either ends its audit event.
type Result struct {
	run      *run
	prepared executors.Prepared // nil: local
	local    arrow.RecordBatch  // the gateway's own answer; the result owns it
	schema   *arrow.Schema
	args     []any // of the parameters that are left

	mu   sync.Mutex
	used bool
}

// Query returns the query id, which Cancel takes.
func (r *Result) Query() string { return r.run.id }

// Schema is the exact schema of the stream, but for columns whose type is that of a parameter: theirs is known once Run was called.
func (r *Result) Schema() *arrow.Schema { return r.schema }

// Run streams the rows. The caller releases the reader, which ends the statement; the end of ctx ends it, too. The stream
// ends with all rows or with an error from Err. A second call returns ErrUsed.
func (r *Result) Run(ctx context.Context) (array.RecordReader, error) {
	if !r.take() {
		return nil, ErrUsed
	}
	stop := context.AfterFunc(ctx, func() { r.run.cancel(context.Cause(ctx)) })
	if err := r.run.started(); err != nil {
		stop()
		return nil, r.end(err)
	}
	s := &stream{result: r, stop: stop}
	if r.local != nil {
		reader, err := array.NewRecordReader(r.schema, []arrow.RecordBatch{r.local})
		if err != nil {
			stop()
			return nil, r.end(err)
		}
		s.RecordReader = reader
		return s, nil
	}
	reader, err := r.prepared.Execute(r.run.ctx, r.args)
	if err != nil {
		stop()
		return nil, r.end(err)
	}
	if p, ok := reader.(executors.Placed); ok {
		r.run.event.Executor = p.Place()
	}
	r.schema = r.run.session.present(reader.Schema()) // a value may give a column its type
	s.RecordReader = reader
	return s, nil
}

// Close ends a result that is not going to be run. It does nothing once Run was called.
func (r *Result) Close() {
	if r.take() {
		_ = r.end(ErrCancelled)
	}
}

func (r *Result) take() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := !r.used
	r.used = true
	return first
}

// end frees what the result holds and finishes its run. It is called once.
func (r *Result) end(err error) error {
	if r.local != nil {
		r.local.Release()
	}
	if r.prepared != nil {
		if cerr := r.prepared.Close(); cerr != nil && err == nil {
			err = cerr
		}
	}
	return r.run.finish(err)
}

// stream gives batches the result's schema, counts rows and bytes, enforces the row limit, and finishes the run exactly once.
type stream struct {
	array.RecordReader
	result *Result
	stop   func() bool
	batch  arrow.RecordBatch // the current one, in the result's schema; owned
	err    error
	done   bool
	once   sync.Once
}

// Next advances to the next batch.
func (s *stream) Next() bool {
	s.drop()
	if s.done {
		return false
	}
	if s.RecordReader.Next() {
		e := &s.result.run.event
		b := s.RecordReader.RecordBatch()
		s.batch = retyped(b, s.result.schema)
		e.Rows += b.NumRows()
		e.Bytes += util.TotalRecordSize(b)
		if err := s.result.run.g.cfg.Limits.result(e.Rows, e.Bytes); err != nil {
			s.finish(err)
			return false
		}
		return true
	}
	s.finish(s.RecordReader.Err())
	return false
}

// result refuses a result that has become too large.
func (l Limits) result(rows, bytes int64) error {
	switch {
	case l.ResultRows > 0 && rows > l.ResultRows:
		return &LimitError{What: fmt.Sprintf("%d rows of one result", l.ResultRows)}
	case l.ResultBytes > 0 && bytes > l.ResultBytes:
		return &LimitError{What: fmt.Sprintf("%d bytes of one result", l.ResultBytes)}
	}
	return nil
}

// Schema is the result's schema.
func (s *stream) Schema() *arrow.Schema { return s.result.schema }

// RecordBatch returns the current batch; it is good until Next or Release.
func (s *stream) RecordBatch() arrow.RecordBatch { return s.batch }

// Record is RecordBatch under its former name.
func (s *stream) Record() arrow.RecordBatch { return s.batch }

func (s *stream) drop() {
	if s.batch != nil {
		s.batch.Release()
		s.batch = nil
	}
}

// Err returns why the stream ended early, nil if it did not.
func (s *stream) Err() error { return s.err }

// Release ends the statement. A stream that was not read to its end counts as cancelled.
func (s *stream) Release() {
	s.drop()
	s.finish(ErrCancelled)
	s.RecordReader.Release()
}

// Retain is refused: a stream has one owner.
func (s *stream) Retain() {}

func (s *stream) finish(err error) {
	s.once.Do(func() {
		s.done = true
		s.stop()
		if cause := context.Cause(s.result.run.ctx); cause != nil && err == nil {
			err = cause
		}
		s.err = s.result.end(err)
	})
}
