package flight

import (
	"context"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"gatehouse/gateway"
)

// errUnbound answers the execution of a statement whose parameters have no values yet.
var errUnbound = &callError{codes.InvalidArgument, "the statement has parameters, bind values for them first"}

// prepared is what the handle of a prepared statement stands for.
type prepared struct {
	statement *gateway.Prepared
	schema    *arrow.Schema

	mu    sync.Mutex
	bound bool
	rows  [][]any // each gives one execution, in order; not changed once set
}

var _ held = (*prepared)(nil)

func (p *prepared) life(l HandleLimits) time.Duration { return l.Prepared }

// close frees nothing: a prepared statement is text and schemas, and holds no engine's resource.
func (p *prepared) close() {}

// arguments returns the rows to execute with.
func (p *prepared) arguments() ([][]any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.statement.Params().NumFields() == 0 {
		return [][]any{nil}, nil
	}
	if !p.bound {
		return nil, errUnbound
	}
	return p.rows, nil
}

// createPrepared prepares a statement. is_update and the schema are always stated, since drivers decide by them how to
// execute: the result's schema is there exactly if there is a result.
func (s *Server) createPrepared(ctx context.Context, l *login, m proto.Message) (proto.Message, error) {
	req := m.(*pb.ActionCreatePreparedStatementRequest)
	if len(req.GetTransactionId()) > 0 {
		return nil, errTransaction
	}
	stmt, err := s.cfg.Gateway.Prepare(ctx, l.session(), req.GetQuery())
	if err != nil {
		return nil, err
	}
	schema, err := publicSchema(stmt.Schema())
	if err != nil {
		return nil, err
	}
	handle, err := l.handles.add(&prepared{statement: stmt, schema: schema})
	if err != nil {
		return nil, err
	}
	update := !stmt.Rows()
	out := &pb.ActionCreatePreparedStatementResult{PreparedStatementHandle: handle, IsUpdate: &update}
	if !update {
		out.DatasetSchema = flight.SerializeSchema(schema, s.cfg.Alloc)
	}
	if stmt.Params().NumFields() > 0 {
		out.ParameterSchema = flight.SerializeSchema(parameterSchema(stmt.Params()), s.cfg.Alloc)
	}
	return out, nil
}

// closePrepared closes a handle. An unknown one is closed already, and drivers do close twice.
func (s *Server) closePrepared(_ context.Context, l *login, m proto.Message) (proto.Message, error) {
	handle := m.(*pb.ActionClosePreparedStatementRequest).GetPreparedStatementHandle()
	if _, done, err := use[*prepared](l.handles, handle); err == nil {
		done()
		l.handles.end(handle)
	}
	return nil, nil
}

// bindPrepared keeps the values that a client sends for the parameters. The handle stays the same, so it does not matter
// whether a client goes on with the one that comes back.
func (s *Server) bindPrepared(_ context.Context, l *login, m proto.Message, u *upload) (proto.Message, error) {
	handle := m.(*pb.CommandPreparedStatementQuery).GetPreparedStatementHandle()
	p, done, err := use[*prepared](l.handles, handle)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := s.bind(p, u); err != nil {
		return nil, err
	}
	return &pb.DoPutPreparedStatementResult{PreparedStatementHandle: handle}, nil
}

// bind reads u's rows into p. What is sent for a statement without parameters is left from another one, and ignored.
func (s *Server) bind(p *prepared, u *upload) error {
	params := p.statement.Params().NumFields()
	rows, err := u.rows(params)
	if err != nil {
		return err
	}
	if params == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rows, p.bound = rows, true
	return nil
}

// infoPrepared gives out a ticket for the statement with the values that are bound now. A statement that returns no rows
// runs here, once.
func (s *Server) infoPrepared(ctx context.Context, l *login, m proto.Message, keep bool) (described, error) {
	handle := m.(*pb.CommandPreparedStatementQuery).GetPreparedStatementHandle()
	p, done, err := use[*prepared](l.handles, handle)
	if err != nil {
		return described{}, err
	}
	defer done()
	if !keep {
		return described{schema: p.schema}, nil
	}
	rows, err := p.arguments()
	if err != nil {
		return described{}, err
	}
	t := &ticket{server: s, login: l, schema: p.schema}
	if !p.statement.Rows() {
		if _, err := s.update(ctx, l, p, len(rows)); err != nil {
			return described{}, err
		}
		return s.issue(l, t)
	}
	t.start = func() (starter, error) {
		// The ticket ends with the prepared statement.
		p, done, err := use[*prepared](l.handles, handle)
		if err != nil {
			return nil, err
		}
		done()
		return s.each(l, p, rows), nil
	}
	return s.issue(l, t)
}

// getPrepared executes with the values that are bound now.
func (s *Server) getPrepared(ctx context.Context, l *login, m proto.Message) (array.RecordReader, error) {
	p, done, err := use[*prepared](l.handles, m.(*pb.CommandPreparedStatementQuery).GetPreparedStatementHandle())
	if err != nil {
		return nil, err
	}
	rows, err := p.arguments()
	if err != nil {
		done()
		return nil, err
	}
	out := &sequence{ctx: ctx, schema: p.schema, release: done}
	if p.statement.Rows() {
		out.next = s.each(l, p, rows)
		return out, nil
	}
	if _, err := s.update(ctx, l, p, len(rows)); err != nil {
		done()
		return nil, err
	}
	return out, nil
}

// each executes p once for each row of values, in order.
func (s *Server) each(l *login, p *prepared, rows [][]any) starter {
	i := 0
	return func(ctx context.Context) (*gateway.Result, error) {
		if i == len(rows) {
			return nil, nil
		}
		i++
		return p.statement.Execute(ctx, l.session(), rows[i-1])
	}
}

// updatePrepared runs a prepared statement that returns no rows, once for each row of values.
func (s *Server) updatePrepared(ctx context.Context, l *login, m proto.Message, u *upload) (proto.Message, error) {
	p, done, err := use[*prepared](l.handles, m.(*pb.CommandPreparedStatementUpdate).GetPreparedStatementHandle())
	if err != nil {
		return nil, err
	}
	defer done()
	if u.hasRows() {
		if err := s.bind(p, u); err != nil {
			return nil, err
		}
	}
	rows, err := p.arguments()
	if err != nil {
		return nil, err
	}
	n, err := s.update(ctx, l, p, len(rows))
	if err != nil {
		return nil, err
	}
	return &pb.DoPutUpdateResult{RecordCount: n}, nil
}

func (s *Server) update(ctx context.Context, l *login, p *prepared, times int) (int64, error) {
	var sum int64
	for range times {
		n, err := s.cfg.Gateway.Update(ctx, l.session(), p.statement.SQL())
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}
