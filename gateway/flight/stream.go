package flight

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"gatehouse/gateway"
)

// send streams r and releases it. The stream ends with all rows or with an error. ctx is the call's; cancel ends it, so
// that whatever makes the rows stops when they cannot be sent any more.
func (s *Server) send(ctx context.Context, cancel func(), out flight.FlightService_DoGetServer, r array.RecordReader) error {
	p := &producer{out: make(chan arrow.RecordBatch)}
	schema := r.Schema()
	go p.run(ctx, s, r)
	defer func() {
		cancel()
		for b := range p.out { // until the producer has released the reader
			b.Release()
		}
	}()
	w := flight.NewRecordWriter(out, ipc.WithSchema(schema), ipc.WithAllocator(s.cfg.Alloc))
	quiet := time.NewTimer(s.cfg.Heartbeat)
	defer quiet.Stop()
	for {
		select {
		case b, ok := <-p.out:
			if !ok && p.err != nil {
				return p.err
			}
			if !ok {
				return sendError(ctx, w.Close())
			}
			err := w.Write(b)
			b.Release()
			if err != nil {
				return sendError(ctx, err)
			}
		case <-quiet.C:
			if err := s.beat(w, schema); err != nil {
				return sendError(ctx, err)
			}
		}
		quiet.Reset(s.cfg.Heartbeat)
	}
}

// beat sends a batch without rows: pings do not pass proxies, which cut off streams that are silent.
func (s *Server) beat(w *flight.Writer, schema *arrow.Schema) error {
	b := array.NewRecordBuilder(s.cfg.Alloc, schema)
	defer b.Release()
	empty := b.NewRecordBatch()
	defer empty.Release()
	return w.Write(empty)
}

// sendError tells a client that went away from a fault.
func sendError(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// producer reads the next batch while the last one is being sent.
type producer struct {
	out chan arrow.RecordBatch // closed once err is final and the reader is released
	err error
}

func (p *producer) run(ctx context.Context, s *Server, r array.RecordReader) {
	defer close(p.out)
	defer func() {
		if x := recover(); x != nil {
			s.logPanic("DoGet", x)
			p.err = errPanic
		}
	}()
	defer r.Release()
	for r.Next() {
		b := r.RecordBatch()
		b.Retain()
		select {
		case p.out <- b:
		case <-ctx.Done():
			b.Release()
			p.err = context.Cause(ctx)
			return
		}
	}
	p.err = r.Err()
	if p.err == nil && ctx.Err() != nil {
		p.err = context.Cause(ctx)
	}
}

// sequence is the reader over the results of a starter, one after the other, all with the schema that was announced.
type sequence struct {
	ctx     context.Context
	schema  *arrow.Schema
	ready   *gateway.Result                    // comes first, if there is one
	next    starter                            // may be nil: no more
	track   func(query string) (func(), error) // may be nil
	release func()                             // may be nil; called once

	current array.RecordReader
	untrack func()
	batch   arrow.RecordBatch
	err     error
}

var _ array.RecordReader = (*sequence)(nil)

// Schema implements array.RecordReader.
func (q *sequence) Schema() *arrow.Schema { return q.schema }

// RecordBatch implements array.RecordReader.
func (q *sequence) RecordBatch() arrow.RecordBatch { return q.batch }

// Record implements array.RecordReader.
func (q *sequence) Record() arrow.RecordBatch { return q.batch }

// Err implements array.RecordReader.
func (q *sequence) Err() error { return q.err }

// Retain does nothing: a sequence has one owner.
func (q *sequence) Retain() {}

// Release ends the running result.
func (q *sequence) Release() {
	q.dropBatch()
	q.endCurrent()
	if q.ready != nil {
		q.ready.Close()
		q.ready = nil
	}
	if q.release != nil {
		q.release()
		q.release = nil
	}
}

// Next implements array.RecordReader.
func (q *sequence) Next() bool {
	q.dropBatch()
	for q.err == nil {
		if q.current == nil && !q.advance() {
			return false
		}
		if q.current.Next() {
			q.batch, q.err = relabel(q.schema, q.current.RecordBatch())
			return q.err == nil
		}
		q.err = q.current.Err()
		q.endCurrent()
	}
	return false
}

// advance starts the next result.
func (q *sequence) advance() bool {
	res, err := q.ready, error(nil)
	q.ready = nil
	if res == nil && q.next != nil {
		res, err = q.next(q.ctx)
	}
	if err != nil || res == nil {
		q.next, q.err = nil, err
		return false
	}
	if err := q.start(res); err != nil {
		res.Close()
		q.err = err
		return false
	}
	return true
}

func (q *sequence) start(res *gateway.Result) error {
	schema, err := publicSchema(res.Schema())
	if err != nil {
		return err
	}
	if !schema.Equal(q.schema) {
		return errChanged
	}
	if q.track != nil {
		if q.untrack, err = q.track(res.Query()); err != nil {
			return err
		}
	}
	q.current, err = res.Run(q.ctx)
	return err
}

func (q *sequence) endCurrent() {
	if q.current != nil {
		q.current.Release()
		q.current = nil
	}
	if q.untrack != nil {
		q.untrack()
		q.untrack = nil
	}
}

func (q *sequence) dropBatch() {
	if q.batch != nil {
		q.batch.Release()
		q.batch = nil
	}
}
