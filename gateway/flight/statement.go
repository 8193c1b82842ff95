package flight

import (
	"context"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"gatehouse/gateway"
)

// errTransaction answers calls that name a transaction, since none was ever begun.
var errTransaction = &callError{codes.InvalidArgument, "no such transaction: " + whyTransactions}

// infoStatement takes a statement through the gateway up to the point where it could run. A statement that returns no rows
// (SET, USE, BEGIN) has run once then, as the ODBC driver expects, and its ticket gives an empty result.
func (s *Server) infoStatement(ctx context.Context, l *login, m proto.Message, keep bool) (described, error) {
	cmd := m.(*pb.CommandStatementQuery)
	if len(cmd.GetTransactionId()) > 0 {
		return described{}, errTransaction
	}
	if !keep {
		p, err := s.cfg.Gateway.Prepare(ctx, l.session(), cmd.GetQuery())
		if err != nil {
			return described{}, err
		}
		schema, err := publicSchema(p.Schema())
		return described{schema: schema}, err
	}
	res, err := s.query(ctx, l, cmd.GetQuery())
	if err != nil {
		return described{}, err
	}
	schema, err := publicSchema(res.Schema())
	if err != nil {
		res.Close()
		return described{}, err
	}
	t := &ticket{server: s, login: l, schema: schema, ready: res}
	if schema.NumFields() > 0 {
		t.start = func() (starter, error) {
			return once(func(ctx context.Context) (*gateway.Result, error) {
				return s.cfg.Gateway.Query(ctx, l.session(), cmd.GetQuery())
			}), nil
		}
	}
	return s.issue(l, t)
}

// query starts a statement that may outlive the call ctx, but not its cancellation before the statement is ready.
func (s *Server) query(ctx context.Context, l *login, sql string) (*gateway.Result, error) {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	res, err := s.cfg.Gateway.Query(own, l.session(), sql)
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	if !stop() {
		res.Close()
		return nil, context.Cause(ctx)
	}
	return res, nil
}

// issue gives out t's ticket.
func (s *Server) issue(l *login, t *ticket) (described, error) {
	handle, err := l.handles.add(t)
	if err != nil {
		return described{}, err
	}
	l.handles.coolExcess()
	wrapper, err := anypb.New(&pb.TicketStatementQuery{StatementHandle: handle})
	if err != nil {
		return described{}, err
	}
	packed, err := proto.Marshal(wrapper)
	return described{schema: t.schema, ticket: packed}, err
}

// getStatement redeems a ticket. The first time it runs what GetFlightInfo has made ready; a ticket that is redeemed
// again, or late, takes its statement through the whole gateway once more, with the rights of that moment.
func (s *Server) getStatement(ctx context.Context, l *login, m proto.Message) (array.RecordReader, error) {
	t, done, err := use[*ticket](l.handles, m.(*pb.TicketStatementQuery).GetStatementHandle())
	if err != nil {
		return nil, err
	}
	r, err := t.open(ctx)
	if err != nil {
		done()
		return nil, err
	}
	r.release = done
	return r, nil
}

// putUpdate runs a statement that returns no rows.
func (s *Server) putUpdate(ctx context.Context, l *login, m proto.Message, _ *upload) (proto.Message, error) {
	cmd := m.(*pb.CommandStatementUpdate)
	if len(cmd.GetTransactionId()) > 0 {
		return nil, errTransaction
	}
	n, err := s.cfg.Gateway.Update(ctx, l.session(), cmd.GetQuery())
	if err != nil {
		return nil, err
	}
	return &pb.DoPutUpdateResult{RecordCount: n}, nil
}

// starter gives the results that make up one stream, one after the other, and nil after the last.
type starter func(ctx context.Context) (*gateway.Result, error)

// once is a starter of a single result.
func once(f func(ctx context.Context) (*gateway.Result, error)) starter {
	used := false
	return func(ctx context.Context) (*gateway.Result, error) {
		if used {
			return nil, nil
		}
		used = true
		return f(ctx)
	}
}

// ticket is what a ticket stands for: one statement of one session.
type ticket struct {
	server *Server
	login  *login
	schema *arrow.Schema
	start  func() (starter, error) // nil: the result is empty, and nothing is run

	mu        sync.Mutex
	ready     *gateway.Result // made by GetFlightInfo, not yet run
	running   map[string]bool // query ids
	cancelled bool
}

var _ held = (*ticket)(nil)

func (t *ticket) life(l HandleLimits) time.Duration { return l.Ticket }

// close frees what nobody came for.
func (t *ticket) close() { t.cool() }

// cool frees the ready result; the ticket stays good and starts its statement again when it is redeemed.
func (t *ticket) cool() {
	if res := t.take(); res != nil {
		res.Close()
	}
}

func (t *ticket) take() *gateway.Result {
	t.mu.Lock()
	defer t.mu.Unlock()
	res := t.ready
	t.ready = nil
	return res
}

func (t *ticket) isReady() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ready != nil
}

// open starts a stream of the ticket's statement.
func (t *ticket) open(ctx context.Context) (*sequence, error) {
	t.mu.Lock()
	cancelled := t.cancelled
	t.mu.Unlock()
	if cancelled {
		return nil, gateway.ErrCancelled
	}
	out := &sequence{ctx: ctx, schema: t.schema, track: t.track, ready: t.take()}
	if out.ready != nil || t.start == nil {
		return out, nil
	}
	var err error
	out.next, err = t.start()
	return out, err
}

// track keeps the id of a running query for cancel.
func (t *ticket) track(query string) (done func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancelled {
		return nil, gateway.ErrCancelled
	}
	if t.running == nil {
		t.running = map[string]bool{}
	}
	t.running[query] = true
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.running, query)
	}, nil
}

// cancel ends the ticket and what runs of it, and reports whether there was anything to end.
func (t *ticket) cancel() bool {
	t.mu.Lock()
	t.cancelled = true
	var queries []string
	for q := range t.running {
		queries = append(queries, q)
	}
	t.mu.Unlock()
	res := t.take()
	if res != nil {
		res.Close()
	}
	for _, q := range queries {
		// A statement that has just ended by itself is not there any more, which is what was asked for.
		_ = t.server.cfg.Gateway.Cancel(t.login.session(), q)
	}
	return res != nil || len(queries) > 0
}
