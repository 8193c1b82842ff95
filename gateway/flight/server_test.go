package flight

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"gatehouse/gateway"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is moved by tests.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// rig is a server on a loopback socket over a real gateway.
type rig struct {
	t       *testing.T
	server  *Server
	gateway *gateway.Gateway
	address string
	users   *users
	engine  *fakeEngine
	journal *journal
	clock   *clock
	log     *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newRig starts a server, and checks at the end that nothing is left over: no goroutine, no Arrow buffer, no statement.
func newRig(t *testing.T, change ...func(*Config)) *rig {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	r := &rig{
		t: t, users: &users{gone: map[string]bool{}, roles: map[string][]string{}}, journal: &journal{}, log: &lockedBuffer{},
		engine: &fakeEngine{mem: mem, started: make(chan string, 16), free: make(chan struct{})},
		clock:  &clock{now: time.Now()},
	}
	r.gateway = newGateway(t, r.engine, r.journal)
	c := Config{
		Gateway: r.gateway, Auth: r.users, Version: "test", Alloc: mem, Now: r.clock.Now,
		Log: slog.New(slog.NewTextHandler(r.log, nil)),
	}
	for _, f := range change {
		f(&c)
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	r.server = s
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.address = l.Addr().String()
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
		if err := r.gateway.Close(ctx); err != nil {
			t.Errorf("a statement was left running: %v", err)
		}
		mem.AssertSize(t, 0)
	})
	return r
}

// client is a connection with Flight SQL's client and what every call of it carries along.
type client struct {
	*flightsql.Client
	t   *testing.T
	ctx context.Context
	raw pb.FlightServiceClient
}

// dial connects as nobody.
func (r *rig) dial() *client {
	r.t.Helper()
	conn, err := grpc.NewClient(r.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	sql := &flightsql.Client{Client: flight.NewClientFromConn(conn, nil)}
	return &client{Client: sql, t: r.t, ctx: r.t.Context(), raw: pb.NewFlightServiceClient(conn)}
}

// with returns c with one more header on its calls.
func (c *client) with(key, value string) *client {
	out := *c
	out.ctx = metadata.AppendToOutgoingContext(c.ctx, key, value)
	return &out
}

// login signs in by handshake. It waits for the call's end, until which the session is in use: the library's own
// client is content with the first message, so that a clock which is moved behind it may be moved ahead of the last use.
func (r *rig) login(user string) *client {
	r.t.Helper()
	c := r.dial()
	token, _, _, err := c.handshake(0, "authorization", basicHeader(user, user))
	if err != nil {
		r.t.Fatal(err)
	}
	return c.with("authorization", token)
}

// query runs sql the short way and returns the numbers of its first column.
func (c *client) query(sql string) ([]int64, error) {
	info, err := c.Execute(c.ctx, sql)
	if err != nil {
		return nil, err
	}
	return c.read(info.Endpoint[0].Ticket)
}

func (c *client) read(t *flight.Ticket) ([]int64, error) {
	r, err := c.DoGet(c.ctx, t)
	if err != nil {
		return nil, err
	}
	defer r.Release()
	return numbers(r)
}

func numbers(r array.RecordReader) ([]int64, error) {
	var out []int64
	for r.Next() {
		if r.RecordBatch().NumCols() == 0 {
			continue
		}
		if col, ok := r.RecordBatch().Column(0).(*array.Int64); ok {
			out = append(out, col.Int64Values()...)
		}
	}
	return out, r.Err()
}

// texts returns all values of all columns as text, row by row.
func (c *client) texts(info *flight.FlightInfo, err error) ([][]string, error) {
	if err != nil {
		return nil, err
	}
	r, err := c.DoGet(c.ctx, info.Endpoint[0].Ticket)
	if err != nil {
		return nil, err
	}
	defer r.Release()
	described, err := flight.DeserializeSchema(info.Schema, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	if !described.Equal(r.Schema()) {
		c.t.Errorf("FlightInfo says %s, the stream %s", described, r.Schema())
	}
	var out [][]string
	for r.Next() {
		out = append(out, rows(r.RecordBatch())...)
	}
	return out, r.Err()
}

func rows(b arrow.RecordBatch) [][]string {
	out := make([][]string, b.NumRows())
	for i := range out {
		for _, col := range b.Columns() {
			out[i] = append(out[i], col.ValueStr(i))
		}
	}
	return out
}

func wantCode(t *testing.T, err error, want codes.Code) {
	t.Helper()
	if got := status.Code(err); got != want {
		t.Errorf("code %s, want %s: %v", got, want, err)
	}
}
