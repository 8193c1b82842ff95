package duckdb

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"gatehouse/auth"
	"gatehouse/executors"
	"gatehouse/plan"
)

// Prepared is one statement bound in the engine, on a connection of its own. It implements executors.Prepared.
type Prepared struct {
	x      *Executor
	conn   *connection
	pins   *pins
	scans  []*scan
	loaded bool
	end    time.Time // the plan's deadline

	stmt    bindings.PreparedStatement
	columns []kind // nil: open until there are values
	args    []kind
	schema  *arrow.Schema
	params  *arrow.Schema

	mu      sync.Mutex
	busy    bool // preparing or executing is at work, or a reader is open
	running *reader
	closed  bool
	idle    *sync.Cond // on mu; signalled when busy becomes false
}

var _ executors.Prepared = (*Prepared)(nil)

func (x *Executor) prepare(ctx context.Context, p *plan.Plan) (_ *Prepared, err error) {
	if err := x.verify(p); err != nil {
		return nil, err
	}
	s, err := x.newPrepared()
	if err != nil {
		return nil, err
	}
	defer func() {
		v := recover()
		if v != nil {
			err = internal("panic in preparing: %v", v)
		}
		s.free()
		if err != nil {
			_ = s.Close()
		}
	}()
	stop := s.conn.interruptOn(ctx)
	defer stop()
	s.end = p.Deadline()
	for i := range p.Relations() {
		sc, err := x.openScan(&p.Relations()[i], s.pins)
		if err != nil {
			return nil, err
		}
		s.scans = append(s.scans, sc)
		if err := sc.createKeys(s.conn); err != nil {
			return nil, err
		}
	}
	st, err := newStatement(p, s.scans, x.config.HashKey)
	if err != nil {
		return nil, err
	}
	if err := s.bind(st, p.Params()); err != nil {
		return nil, s.reason(ctx, err)
	}
	return s, nil
}

// reason prefers the end of the caller's context, or of the executor, over what the engine said because of it.
func (s *Prepared) reason(ctx context.Context, err error) error {
	if ctxErr := ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	if errors.Is(err, errInterrupted) {
		return executors.ErrClosed
	}
	return err
}

// free says that nothing works on the connection any more.
func (s *Prepared) free() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = false
	s.running = nil
	s.idle.Broadcast()
}

// newPrepared registers a statement, so that Close finds it, with a connection of its own.
func (x *Executor) newPrepared() (*Prepared, error) {
	s := &Prepared{x: x, pins: &pins{files: x.files}, busy: true}
	s.idle = sync.NewCond(&s.mu)
	if err := x.register(s); err != nil {
		return nil, err
	}
	return s, nil
}

// verify checks the credential of every scan before anything is opened.
func (x *Executor) verify(p *plan.Plan) error {
	if p == nil || p.Query() == "" || !p.Identity().Valid() || p.Deadline().IsZero() {
		return refused(errors.New("a plan that no planner made"))
	}
	if !x.config.Now().Before(p.Deadline()) {
		return refused(errors.New("the plan's deadline has passed"))
	}
	relations := p.Relations()
	for i := range relations {
		r := &relations[i]
		digest, err := r.PayloadDigest()
		if err != nil {
			return refused(err)
		}
		if digest != r.Task.Digest {
			return refused(fmt.Errorf("relation %s is not the one that was signed", r.CTE))
		}
		if _, err := x.config.Verifier.Verify(r.Task.Token, auth.TaskClaims{
			Issuer:   x.config.Issuer,
			Subject:  p.Identity().Subject,
			UserIss:  p.Identity().Issuer,
			Query:    p.Query(),
			Relation: r.CTE,
			Digest:   digest,
		}); err != nil {
			return refused(fmt.Errorf("relation %s: %w", r.CTE, err))
		}
	}
	return nil
}

func refused(cause error) error {
	return &executors.Error{Kind: executors.KindCredential, Cause: cause}
}

// bind checks what the statement reads and binds it in the engine.
func (s *Prepared) bind(st *statement, params int) error {
	checked := s.x.checks.verify(s.conn, st.shape)
	if isUnplanned(checked) && params > 0 {
		checked = s.x.checks.verify(s.conn, st.constant)
	}
	if checked != nil && !isUnplanned(checked) {
		return checked
	}
	state := bindings.Prepare(s.conn.raw, st.text, &s.stmt)
	if state == bindings.StateError {
		return s.explain(st, prepareError(bindings.PrepareError(s.stmt)))
	}
	if checked != nil {
		return internal("the statement binds and its shape does not: %w", checked)
	}
	if t := bindings.PreparedStatementType(s.stmt); t != bindings.StatementTypeSelect {
		return internal("a statement of type %d", t)
	}
	if n := int(bindings.NParams(s.stmt)); n > params {
		return internal("%d parameters for %d", n, params)
	}
	return s.describe(params, st)
}

func isUnplanned(err error) bool {
	_, ok := errors.AsType[*unplanned](err)
	return ok
}

// explain keeps a hint only if the relations bind without the user's part: otherwise it could speak of a policy.
func (s *Prepared) explain(st *statement, err error) error {
	if errors.Is(err, errInterrupted) {
		return err
	}
	var probe bindings.PreparedStatement
	state := bindings.Prepare(s.conn.raw, st.governed, &probe)
	bindings.DestroyPrepare(&probe)
	if state != bindings.StateError {
		return err
	}
	return internal("the relations do not bind: %w", err)
}

// describe reads the types of parameters and columns.
func (s *Prepared) describe(params int, st *statement) error {
	var fields []arrow.Field
	for i := range params {
		k := unresolved
		if i < int(bindings.NParams(s.stmt)) {
			t := bindings.ParamLogicalType(s.stmt, bindings.IdxT(i+1))
			if t.Ptr != nil {
				if d, err := describe(t); err == nil {
					k = d
				}
				bindings.DestroyLogicalType(&t)
			}
		}
		s.args = append(s.args, k)
		fields = append(fields, arrow.Field{Type: k.arrow, Nullable: true})
	}
	s.params = arrow.NewSchema(fields, nil)
	kinds, schema, err := describeColumns(s.stmt)
	if err != nil {
		return err
	}
	if params == 0 || len(kinds) != 1 || kinds[0].id != bindings.TypeInvalid {
		s.columns, s.schema = kinds, schema
		return nil
	}
	// The engine does not describe a statement of which some parameter has no type. With NULL for each it does.
	var probe bindings.PreparedStatement
	defer bindings.DestroyPrepare(&probe)
	if bindings.Prepare(s.conn.raw, st.constant, &probe) == bindings.StateError {
		return prepareError(bindings.PrepareError(probe))
	}
	_, s.schema, err = describeColumns(probe)
	return err
}

// describeColumns reads the types of a statement's columns.
func describeColumns(stmt bindings.PreparedStatement) ([]kind, *arrow.Schema, error) {
	var kinds []kind
	var fields []arrow.Field
	for i := range bindings.PreparedStatementColumnCount(stmt) {
		t := bindings.PreparedStatementColumnLogicalType(stmt, i)
		k, err := describe(t)
		bindings.DestroyLogicalType(&t)
		if err != nil {
			return nil, nil, err
		}
		kinds = append(kinds, k)
		fields = append(fields, arrow.Field{Name: bindings.PreparedStatementColumnName(stmt, i), Type: k.arrow, Nullable: true})
	}
	return kinds, arrow.NewSchema(fields, nil), nil
}

// Schema implements executors.Prepared. Where the type of a parameter is open, columns have the type that NULL gives them here; the
// reader of Execute has the types that the values led to.
func (s *Prepared) Schema() *arrow.Schema { return s.schema }

// Params implements executors.Prepared.
func (s *Prepared) Params() *arrow.Schema { return s.params }

// Execute implements executors.Prepared. One reader at a time can be open.
func (s *Prepared) Execute(ctx context.Context, args []any) (_ array.RecordReader, err error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	cancel := context.CancelFunc(func() {})
	if !s.end.IsZero() {
		// The credentials of the scans end then, so the statement does.
		ctx, cancel = context.WithTimeout(ctx, s.end.Sub(s.x.config.Now()))
	}
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
	stop := s.conn.interruptOn(ctx)
	defer stop()
	r, err := s.execute(ctx, args, cancel)
	if err != nil {
		return nil, err
	}
	return r, nil
}

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

func (s *Prepared) execute(ctx context.Context, args []any, cancel func()) (*reader, error) {
	if len(args) != len(s.args) {
		return nil, &executors.Error{
			Kind: executors.KindArgument,
			Hint: fmt.Sprintf("the statement has %d parameters, %d values were given", len(s.args), len(args)),
		}
	}
	if !s.loaded {
		for _, sc := range s.scans {
			if err := sc.loadKeys(ctx, s.conn); err != nil {
				return nil, err
			}
		}
		s.loaded = true
	}
	bindings.ClearBindings(s.stmt)
	for i, a := range args[:min(len(args), int(bindings.NParams(s.stmt)))] {
		if err := bind(s.stmt, i+1, s.args[i], a); err != nil {
			return nil, err
		}
	}
	var pending bindings.PendingResult
	state := bindings.PendingPreparedStreaming(s.stmt, &pending)
	defer bindings.DestroyPending(&pending)
	if state == bindings.StateError {
		return nil, prepareError(bindings.PendingError(pending))
	}
	// Starting a statement clears an interrupt that came just before.
	if err := s.ended(ctx); err != nil {
		return nil, err
	}
	var result bindings.Result
	if bindings.ExecutePending(pending, &result) == bindings.StateError {
		err := engineError(bindings.ResultErrorType(&result), bindings.ResultError(&result))
		bindings.DestroyResult(&result)
		return nil, err
	}
	return s.open(ctx, result, cancel)
}

func (s *Prepared) ended(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return executors.ErrClosed
	}
	return ctx.Err()
}

// open makes the reader of result, which it takes over. The reader's last act is cancel.
func (s *Prepared) open(ctx context.Context, result bindings.Result, cancel func()) (*reader, error) {
	kinds, schema, err := s.resultTypes(&result)
	if err != nil {
		bindings.DestroyResult(&result)
		return nil, err
	}
	columns, err := newColumns(kinds, s.x.config.Allocator)
	if err != nil {
		bindings.DestroyResult(&result)
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		bindings.DestroyResult(&result)
		return nil, executors.ErrClosed
	}
	s.running = newReader(ctx, s.conn, result, kinds, columns, schema, s.free)
	s.running.cancel = cancel
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

// Close implements executors.Prepared. It waits until the engine has stopped.
func (s *Prepared) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	running := s.running
	s.mu.Unlock()
	s.conn.interrupt()
	if running != nil {
		running.end(executors.ErrClosed)
	}
	s.mu.Lock()
	for s.busy {
		s.idle.Wait()
	}
	s.mu.Unlock()
	if s.stmt.Ptr != nil {
		bindings.DestroyPrepare(&s.stmt)
	}
	s.conn.close()
	s.pins.release()
	s.x.forget(s)
	return nil
}
