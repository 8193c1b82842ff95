package duckdb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"gatehouse/auth"
	"gatehouse/executors"
	"gatehouse/plan"
)

// Prepared is one statement bound in the engine, on a connection of its own. It implements executors.Prepared.
type Prepared struct {
	x       *Executor
	conn    *connection
	pins    *pins
	scans   []*scan
	loaded  bool
	fetched bool      // all that the scans read of object stores is there
	steady  bool      // some relation hides rows, see reader
	end     time.Time // the plan's deadline
	mark    int       // see heap.go
	// verdict is why the guard ends the statement.
	verdict atomic.Pointer[error]

	stmt    bindings.PreparedStatement
	safe    string // see statement
	columns []kind // nil: open until there are values
	args    []kind
	schema  *arrow.Schema
	params  *arrow.Schema

	mu      sync.Mutex
	giveUp  context.CancelFunc // ends what is fetched now, nil if nothing is
	busy    bool               // preparing or executing is at work, or a reader is open
	running *reader
	closed  bool
	idle    *sync.Cond // on mu; signalled when busy becomes false
}

var _ executors.Prepared = (*Prepared)(nil)

func (x *Executor) prepare(ctx context.Context, p *plan.Plan) (*Prepared, error) {
	if err := x.verify(p); err != nil {
		return nil, err
	}
	user := owner{name: p.Identity().Issuer + "\x00" + p.Identity().Subject, serial: serial(p)}
	s, err := x.prepareIn(ctx, user, p)
	if errors.Is(err, errLosesStates) {
		user.whole = true
		return x.prepareIn(ctx, user, p)
	}
	return s, err
}

// serial reports whether a statement has to run on one thread: which of several threads comes first is up to hidden rows, too, and so is what
// a statement leaves open, such as the order of its rows.
func serial(p *plan.Plan) bool {
	return slices.ContainsFunc(p.Relations(), func(r plan.Relation) bool { return r.Steady && hidesRows(&r) })
}

func hidesRows(r *plan.Relation) bool { return r.Filter != nil || len(r.Scan.Deletes) > 0 }

// prepareIn prepares in one of the user's instances.
func (x *Executor) prepareIn(ctx context.Context, user owner, p *plan.Plan) (_ *Prepared, err error) {
	s, err := x.newPrepared(user)
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
	if err := x.guard.admit(ctx, s); err != nil {
		return nil, err
	}
	s.end = p.Deadline()
	ctx, cancel := s.until(ctx)
	defer cancel()
	if err := s.openObjects(ctx, p.Relations()); err != nil {
		return nil, s.reason(ctx, err)
	}
	stop := s.conn.interruptOn(ctx)
	defer stop()
	turn, err := s.conn.engine.turns.take(ctx)
	if err != nil {
		return nil, err
	}
	defer turn.end()
	s.counted(func() { err = s.prepare(p) })
	if err != nil {
		return nil, s.reason(ctx, err)
	}
	return s, nil
}

func (s *Prepared) prepare(p *plan.Plan) error {
	alike := slices.ContainsFunc(p.Relations(), func(r plan.Relation) bool { return r.Barrier })
	for i := range p.Relations() {
		sc, err := s.x.openScan(&p.Relations()[i], s.pins, alike)
		if err != nil {
			return err
		}
		s.scans = append(s.scans, sc)
		s.steady = s.steady || hidesRows(&p.Relations()[i])
		if err := sc.createKeys(s.conn); err != nil {
			return err
		}
	}
	relations, err := newRelationTexts(s.scans, s.x.config.HashKey)
	if err != nil {
		return err
	}
	st, err := s.arrange(p.Tree(), p.Params(), relations)
	if err != nil {
		return err
	}
	return s.bind(st, p.Params())
}

// stop ends what runs of s, with err.
func (s *Prepared) stop(err error) {
	s.verdict.Store(&err)
	s.conn.interrupt()
	s.mu.Lock()
	running := s.running
	if s.giveUp != nil {
		s.giveUp()
	}
	s.mu.Unlock()
	if running != nil {
		go running.end(err) // it waits for the engine
	}
}

// reason prefers the guard's verdict and the end of the caller's context, or of the executor, over what the engine said because of it.
func (s *Prepared) reason(ctx context.Context, err error) error {
	if v := s.verdict.Load(); v != nil {
		return *v
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	if errors.Is(err, errInterrupted) {
		return executors.ErrClosed
	}
	if c, ok := errors.AsType[*cause](err); ok && c.class == bindings.ErrorTypeFatal {
		s.x.engines.drop(s.conn.engine)
	}
	return err
}

// free says that nothing works on the connection any more.
func (s *Prepared) free() {
	s.x.guard.leave(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = false
	s.running = nil
	s.idle.Broadcast()
}

// newPrepared registers a statement, so that Close finds it, with a connection of its own.
func (x *Executor) newPrepared(user owner) (*Prepared, error) {
	s := &Prepared{x: x, pins: &pins{files: x.files, user: user.name}, busy: true}
	s.idle = sync.NewCond(&s.mu)
	if err := x.register(s, user); err != nil {
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
	found, checked := s.x.checks.verify(s.conn, st.shape)
	typed := true
	if isUnplanned(checked) && params > 0 {
		typed = false
		found, checked = s.x.checks.verify(s.conn, st.constant)
	}
	if checked == nil && !s.conn.engine.whole && found.loses(typed) {
		return errLosesStates
	}
	if checked != nil && !isUnplanned(checked) {
		return checked
	}
	if checked == nil && st.settled && found.order.loose {
		return internal("an aggregate whose value hangs on the order of rows")
	}
	s.safe = st.safe
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
	if errors.Is(err, errInterrupted) || isMemory(err) {
		return err
	}
	var probe bindings.PreparedStatement
	defer bindings.DestroyPrepare(&probe)
	if bindings.Prepare(s.conn.raw, st.governed, &probe) != bindings.StateError {
		return err
	}
	if failed := prepareError(bindings.PrepareError(probe)); errors.Is(failed, errInterrupted) || isMemory(failed) {
		return withoutHint(failed)
	}
	return internal("the relations do not bind: %w", err)
}

// isMemory reports whether there was not enough memory. It says nothing about the statement.
func isMemory(err error) bool {
	e, ok := errors.AsType[*executors.Error](err)
	return ok && e.Kind == executors.KindMemory
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

// Close implements executors.Prepared. It waits until the engine has stopped.
func (s *Prepared) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	running := s.running
	if s.giveUp != nil {
		s.giveUp()
	}
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
