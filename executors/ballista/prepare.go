package ballista

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"

	"gatehouse/executors"
	"gatehouse/executors/ballista/wire"
	"gatehouse/plan"
)

// Prepared is one statement that the cluster's planner has accepted. It implements executors.Prepared.
type Prepared struct {
	x      *Executor
	plan   *plan.Plan
	local  executors.Prepared // the same statement beside the cluster, if it may run there; or nil
	schema *arrow.Schema
	params *arrow.Schema

	mu     sync.Mutex
	closed bool
	runs   map[*reader]struct{}
	cancel map[int]context.CancelFunc // of executions that have no reader yet
	next   int
}

var _ executors.Prepared = (*Prepared)(nil)

// prepare has the cluster plan a statement that local has bound.
func (x *Executor) prepare(ctx context.Context, p *plan.Plan, local executors.Prepared) (*Prepared, error) {
	s := &Prepared{x: x, plan: p, schema: local.Schema(), params: local.Params(), runs: map[*reader]struct{}{}, cancel: map[int]context.CancelFunc{}}
	text, err := s.text(nil)
	if err != nil {
		return nil, err
	}
	relations, err := x.describedRelations(p)
	if err != nil {
		return nil, err
	}
	d, err := x.client.describe(ctx, &wire.Statement{Query: p.Query(), Sql: text, Relations: relations, Deadline: p.Deadline().UnixMilli()})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, transport(err)
	case d.Failure != nil:
		// The statement binds, as local knows, so that it is the cluster that falls short.
		hint := d.Failure.Hint
		if hint == "" {
			hint = "its planner does not take the statement"
		}
		return nil, unsupported(hint, errors.New(d.Failure.Cause))
	}
	have, err := flight.DeserializeSchema(d.Schema, x.config.Allocator)
	if err != nil {
		return nil, internal("the result's schema: %w", err)
	}
	if err := s.fits(have); err != nil {
		return nil, err
	}
	return s, x.register(s)
}

// fits checks that the cluster's columns are those that are announced, or become them without loss.
func (s *Prepared) fits(have *arrow.Schema) error {
	if have.NumFields() != s.schema.NumFields() {
		return internal("%d columns instead of %d", have.NumFields(), s.schema.NumFields())
	}
	for i, want := range s.schema.Fields() {
		if got := have.Field(i).Type; !converts(got, want.Type) {
			return unsupported(fmt.Sprintf("its result column %d has another type there", i+1), fmt.Errorf("%s for %s", got, want.Type))
		}
	}
	return nil
}

// Schema implements executors.Prepared.
func (s *Prepared) Schema() *arrow.Schema { return s.schema }

// Params implements executors.Prepared.
func (s *Prepared) Params() *arrow.Schema { return s.params }

// Execute implements executors.Prepared. It returns when the job has ended: the cluster has no rows before.
func (s *Prepared) Execute(ctx context.Context, args []any) (array.RecordReader, error) {
	if len(args) != s.params.NumFields() {
		return nil, &executors.Error{
			Kind: executors.KindArgument,
			Hint: fmt.Sprintf("the statement has %d parameters, %d values were given", s.params.NumFields(), len(args)),
		}
	}
	if !s.x.config.Now().Before(s.plan.Deadline()) {
		return nil, &executors.Error{Kind: executors.KindCredential, Cause: errors.New("the plan's deadline has passed")}
	}
	// The credentials of the scans end at the deadline, so the statement does.
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, s.plan.Deadline().Sub(s.x.config.Now()))
	begun, err := s.begin(cancel)
	if err != nil {
		cancel()
		return nil, err
	}
	r, err := s.execute(ctx, args, cancel)
	if err != nil {
		err = s.reason(ctx, err)
		cancel()
	}
	s.begunNo(begun)
	switch {
	case err == nil:
		return r, nil
	case s.local != nil && isUnsupported(err):
		// The value of a parameter, or something in a data file, is nothing for the cluster.
		return s.local.Execute(whole, args)
	}
	return nil, err
}

func isUnsupported(err error) bool {
	e, ok := errors.AsType[*executors.Error](err)
	return ok && e.Kind == executors.KindUnsupported
}

func (s *Prepared) execute(ctx context.Context, args []any, cancel context.CancelFunc) (*reader, error) {
	text, err := s.text(args)
	if err != nil {
		return nil, err
	}
	relations, err := s.x.relations(ctx, s.plan)
	if err != nil {
		return nil, err
	}
	var run *watched
	job, err := s.x.client.submit(ctx, &wire.Statement{
		Query: s.plan.Query(), Sql: text, Relations: relations, Deadline: s.plan.Deadline().UnixMilli(),
	}, func(name string) { run = s.x.watch.begin(s.plan, name) })
	if run != nil {
		s.x.watch.end(run, resultOf(ctx, err))
	}
	if err != nil {
		if e, ok := errors.AsType[*executors.Error](err); ok && e.Kind == executors.KindRefused {
			return nil, cmp.Or(ended(ctx, s.plan), err)
		}
		return nil, err
	}
	r := newReader(ctx, cancel, s, job)
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.runs[r] = struct{}{}
	}
	s.mu.Unlock()
	if closed {
		r.Release()
		return nil, executors.ErrClosed
	}
	return r, nil
}

// begin registers an execution, so that Close ends it.
func (s *Prepared) begin(cancel context.CancelFunc) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.x.isClosed() {
		return 0, executors.ErrClosed
	}
	s.next++
	s.cancel[s.next] = cancel
	return s.next, nil
}

func (s *Prepared) begunNo(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.cancel, n)
}

// reason prefers the end of the caller's context, or of the statement, over what the cluster said because of it.
func (s *Prepared) reason(ctx context.Context, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return executors.ErrClosed
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (s *Prepared) forget(r *reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.runs, r)
}

// Close implements executors.Prepared.
func (s *Prepared) Close() error {
	s.mu.Lock()
	s.closed = true
	for _, cancel := range s.cancel {
		cancel()
	}
	runs := make([]*reader, 0, len(s.runs))
	for r := range s.runs {
		runs = append(runs, r)
	}
	s.mu.Unlock()
	for _, r := range runs {
		r.end(executors.ErrClosed)
	}
	s.x.forget(s)
	if s.local != nil {
		return s.local.Close()
	}
	return nil
}
