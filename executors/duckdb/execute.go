package duckdb

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"gatehouse/executors"
)

// Execute implements executors.Prepared. One reader at a time can be open.
func (s *Prepared) Execute(ctx context.Context, args []any) (_ array.RecordReader, err error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	ctx, cancel := s.until(ctx)
	defer func() {
		if v := recover(); v != nil {
			err = internal("panic in executing: %v", v)
		}
		if err != nil {
			err = s.reason(ctx, err)
			s.free()
			cancel()
		}
	}()
	if err := s.x.guard.admit(ctx, s); err != nil {
		return nil, err
	}
	if err := s.fetchWants(ctx); err != nil {
		return nil, err
	}
	stop := s.conn.interruptOn(ctx)
	defer stop()
	turn, err := s.conn.engine.turns.take(ctx)
	if err != nil {
		return nil, err
	}
	defer turn.end()
	r, err := s.execute(ctx, turn, args, cancel)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// until is ctx until the plan's deadline: the credentials of the scans end then, so the statement does.
func (s *Prepared) until(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.end.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, s.end.Sub(s.x.config.Now()))
}

// counted runs f, which works in the engine, so that what it takes counts for the statement.
func (s *Prepared) counted(f func()) { heapFor(s.conn.engine.mark, s.mark, f) }

func (s *Prepared) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return executors.ErrClosed
	case s.busy:
		return internal("the statement is running already")
	}
	s.busy = true
	return nil
}

func (s *Prepared) execute(ctx context.Context, turn *turn, args []any, cancel func()) (*reader, error) {
	if len(args) != len(s.args) {
		return nil, &executors.Error{
			Kind: executors.KindArgument,
			Hint: fmt.Sprintf("the statement has %d parameters, %d values were given", len(s.args), len(args)),
		}
	}
	if !s.loaded {
		var err error
		s.counted(func() { err = s.loadKeys(ctx) })
		if err != nil {
			return nil, err
		}
	}
	if err := s.bindArguments(args); err != nil {
		return nil, err
	}
	var pending bindings.PendingResult
	state := bindings.PendingPreparedStreaming(s.stmt, &pending)
	defer bindings.DestroyPending(&pending)
	if state == bindings.StateError {
		return nil, prepareError(bindings.PendingError(pending))
	}
	// Starting a statement clears an interrupt that came just before.
	err := s.ended(ctx)
	if err == nil {
		err = s.work(ctx, turn, pending)
	}
	if err != nil {
		s.settle(pending)
		return nil, err
	}
	var result bindings.Result
	var done bindings.State
	s.counted(func() { done = bindings.ExecutePending(pending, &result) })
	if done == bindings.StateError {
		err := engineError(bindings.ResultErrorType(&result), bindings.ResultError(&result))
		bindings.DestroyResult(&result)
		return nil, err
	}
	return s.open(ctx, result, cancel)
}

// bindArguments binds values. One of another type than the engine took the parameter for makes it bind the statement anew, and a sum that
// was one of whole numbers may be one of fractions then.
func (s *Prepared) bindArguments(args []any) error {
	args = args[:min(len(args), int(bindings.NParams(s.stmt)))]
	for i, a := range args {
		if s.safe == "" || boundAs(s.args[i], a) {
			continue
		}
		bindings.DestroyPrepare(&s.stmt)
		if bindings.Prepare(s.conn.raw, s.safe, &s.stmt) == bindings.StateError {
			return prepareError(bindings.PrepareError(s.stmt))
		}
		s.safe = ""
	}
	bindings.ClearBindings(s.stmt)
	for i, a := range args {
		if err := bind(s.stmt, i+1, s.args[i], a); err != nil {
			return err
		}
	}
	return nil
}

// loadKeys reads what the scans need before they can run.
func (s *Prepared) loadKeys(ctx context.Context) error {
	for _, sc := range s.scans {
		if err := sc.loadKeys(ctx, s.conn); err != nil {
			return err
		}
	}
	s.loaded = true
	return nil
}

// The pauses of a statement whose work is all in the hands of the engine's own threads.
const (
	shortestPause = 20 * time.Microsecond
	longestPause  = time.Millisecond
)

// work runs the statement's tasks up to its first rows. A task takes milliseconds; between
// them others of the same user may have their turn.
func (s *Prepared) work(ctx context.Context, turn *turn, pending bindings.PendingResult) error {
	pause, ready := shortestPause, false
	var failed error
	for {
		s.counted(func() {
			for until := time.Now().Add(turnTime); !ready && time.Now().Before(until); {
				switch bindings.PendingExecuteTask(pending) {
				case bindings.PendingStateResultReady:
					ready = true
				case bindings.PendingStateError:
					ready, failed = true, pendingError(bindings.PendingError(pending))
				case bindings.PendingStateNoTasksAvailable:
					time.Sleep(pause)
					pause = min(2*pause, longestPause)
				default:
					pause = shortestPause
				}
			}
		})
		if ready {
			return failed
		}
		if err := s.ended(ctx); err != nil {
			return err
		}
		if err := turn.pass(ctx); err != nil {
			return err
		}
	}
}

// settleTime bounds how long a statement that is not wanted any more is led to its end.
const settleTime = 30 * time.Second

// settle has the engine come to an end of its own with a statement that is not wanted any more, and does nothing with one that has failed. A recursive part waits for tasks that it
// has made; if the engine drops them first, as it does when a statement is freed, that part waits for ever, with a thread, and so does who frees the statement.
func (s *Prepared) settle(pending bindings.PendingResult) {
	s.conn.interrupt()
	var result bindings.Result
	ready := false
	s.counted(func() {
		pause := shortestPause
		for until := time.Now().Add(settleTime); !ready && time.Now().Before(until); {
			switch bindings.PendingExecuteTask(pending) {
			case bindings.PendingStateError:
				return
			case bindings.PendingStateResultReady:
				ready = true
			case bindings.PendingStateNoTasksAvailable:
				time.Sleep(pause)
				pause = min(2*pause, longestPause)
			}
		}
		if ready {
			if bindings.ExecutePending(pending, &result) != bindings.StateError {
				s.drain(result)
			}
			bindings.DestroyResult(&result)
		}
	})
}

// drain is settle for a result that has been opened. The caller destroys it.
func (s *Prepared) drain(result bindings.Result) {
	s.conn.interrupt()
	for until := time.Now().Add(settleTime); time.Now().Before(until); {
		chunk := bindings.FetchChunk(result)
		if chunk.Ptr == nil {
			return
		}
		bindings.DestroyDataChunk(&chunk)
	}
}

func (s *Prepared) ended(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return executors.ErrClosed
	}
	if v := s.verdict.Load(); v != nil {
		return *v
	}
	return ctx.Err()
}

// open makes the reader of result, which it takes over. The reader's last act is cancel.
func (s *Prepared) open(ctx context.Context, result bindings.Result, cancel func()) (_ *reader, err error) {
	defer func() {
		if err != nil {
			s.counted(func() { s.drain(result) })
			bindings.DestroyResult(&result)
		}
	}()
	kinds, schema, err := s.resultTypes(&result)
	if err != nil {
		return nil, err
	}
	columns, err := newColumns(kinds, s.x.config.Allocator)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, executors.ErrClosed
	}
	s.running = newReader(ctx, s, result, kinds, columns, schema)
	s.running.cancel, s.running.steady = cancel, s.steady
	return s.running, nil
}

// resultTypes are those that were announced, but for columns whose type was open.
func (s *Prepared) resultTypes(result *bindings.Result) ([]kind, *arrow.Schema, error) {
	n := int(bindings.ColumnCount(result))
	columns := make([]kind, n)
	fields := make([]arrow.Field, n)
	for i := range n {
		t := bindings.ColumnLogicalType(result, bindings.IdxT(i))
		k, err := describe(t)
		bindings.DestroyLogicalType(&t)
		if err != nil {
			return nil, nil, err
		}
		columns[i] = k
		fields[i] = arrow.Field{Name: bindings.ColumnName(result, bindings.IdxT(i)), Type: k.arrow, Nullable: true}
		if i < len(s.columns) && s.columns[i].id != bindings.TypeInvalid && !arrow.TypeEqual(s.columns[i].arrow, k.arrow) {
			return nil, nil, &executors.Error{
				Kind: executors.KindArgument,
				Hint: "the parameter values change the type of a result column; cast the parameters",
			}
		}
	}
	if len(s.columns) > 0 && len(s.columns) != n {
		return nil, nil, internal("%d columns instead of %d", n, len(s.columns))
	}
	return columns, arrow.NewSchema(fields, nil), nil
}
