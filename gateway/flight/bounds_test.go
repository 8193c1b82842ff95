package flight

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"gatehouse/gateway"
)

// Why a server does not start is said in words of its own.
func TestStartErrors(t *testing.T) {
	r := newRig(t)
	dir := t.TempDir()
	cert, key := pair(t, dir, "a")
	_, other := pair(t, filepath.Join(dir, ".."), "b")
	empty := filepath.Join(dir, "empty.pem")
	if err := os.WriteFile(empty, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Config){
		"flight: no gateway":                                               func(c *Config) { c.Gateway = nil },
		"flight: no authenticator":                                         func(c *Config) { c.Auth = nil },
		"flight: read randomness: unexpected EOF":                          func(c *Config) { c.Rand = strings.NewReader(strings.Repeat("x", 31)) },
		"flight: client certificates need a server certificate":            func(c *Config) { c.TLS.ClientCAFile = cert },
		"flight: client certificates need a server certificate ":           func(c *Config) { c.TLS.RequireClientCert = true },
		"flight: client certificates are required but no authority is set": func(c *Config) { c.TLS = TLS{CertFile: cert, KeyFile: key, RequireClientCert: true} },
		"flight: read certificate: open : no such file":                    func(c *Config) { c.TLS = TLS{CertFile: cert} },
		"flight: read certificate: open : no such file ":                   func(c *Config) { c.TLS = TLS{KeyFile: key} },
		"flight: read certificate: tls: private key does not match":        func(c *Config) { c.TLS = TLS{CertFile: cert, KeyFile: other} },
		"flight: read client authorities: open nowhere.pem":                func(c *Config) { c.TLS = TLS{CertFile: cert, KeyFile: key, ClientCAFile: "nowhere.pem"} },
		"flight: the file of client authorities holds no certificate":      func(c *Config) { c.TLS = TLS{CertFile: cert, KeyFile: key, ClientCAFile: empty} },
		"flight: session: ":                                                func(c *Config) { c.Sessions.Idle = -1 },
	} {
		c := Config{Gateway: r.gateway, Auth: r.users}
		change(&c)
		s, err := New(c)
		if err == nil || s != nil || !strings.HasPrefix(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%v, want %s", err, want)
		}
		if strings.Contains(want, "no such file") && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v hides its cause", err)
		}
	}
	s, err := New(Config{Gateway: r.gateway, Auth: r.users, Rand: strings.NewReader(strings.Repeat("x", 32))})
	if err != nil {
		t.Fatalf("32 bytes of randomness: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := s.Serve(l); err == nil || !strings.HasPrefix(err.Error(), "flight: serve: ") {
		t.Errorf("on a closed listener: %v", err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Handles that cannot be kept, statements whose values are missing, and results that cannot be sent leave nothing running.
func TestNothingIsLeft(t *testing.T) {
	r := newRig(t)
	s, l, ctx := r.server, signedIn(t, r, "admin"), t.Context()
	prepare := func(sql string) ([]byte, error) {
		m, err := s.createPrepared(ctx, l, &pb.ActionCreatePreparedStatementRequest{Query: sql})
		if err != nil {
			return nil, err
		}
		return m.(*pb.ActionCreatePreparedStatementResult).PreparedStatementHandle, nil
	}
	handle, err := prepare(withParams)
	if err != nil {
		t.Fatal(err)
	}
	in := encoded(t)
	one := bindRows([]string{"a"}, []int64{1}).Columns()[0]
	narrow := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "0", Type: arrow.BinaryTypes.String}}, nil), []arrow.Array{one}, 1)
	query := &pb.CommandPreparedStatementQuery{PreparedStatementHandle: handle}
	for what, call := range map[string]func() error{
		"get":  func() error { _, err := s.getPrepared(ctx, l, query); return err },
		"info": func() error { _, err := s.infoPrepared(ctx, l, query, true); return err },
		"update": func() error {
			_, err := s.updatePrepared(ctx, l, &pb.CommandPreparedStatementUpdate{PreparedStatementHandle: handle}, &upload{first: &flight.FlightData{}})
			return err
		},
	} {
		if err := call(); err != errUnbound {
			t.Errorf("%s without values: %v", what, err)
		}
	}
	for what, call := range map[string]func(u *upload) error{
		"bind": func(u *upload) error { _, err := s.bindPrepared(ctx, l, query, u); return err },
		"update": func(u *upload) error {
			_, err := s.updatePrepared(ctx, l, &pb.CommandPreparedStatementUpdate{PreparedStatementHandle: handle}, u)
			return err
		},
	} {
		if err := call(sent(t, narrow)); err != errBindCount {
			t.Errorf("%s of one value for two: %v", what, err)
		}
		if err := call(&upload{first: in[0], rest: &source{in: []*flight.FlightData{{DataHeader: []byte{1, 2, 3}}}}}); err != errBind {
			t.Errorf("%s of nonsense: %v", what, err)
		}
	}
	if d, err := s.infoPrepared(ctx, l, query, false); err != nil || d.ticket != nil || d.schema.NumFields() != 1 {
		t.Errorf("described without values: %+v, %v", d, err)
	}
	if _, err := s.createPrepared(ctx, l, &pb.ActionCreatePreparedStatementRequest{Query: "SELECT 'one'", TransactionId: []byte{1}}); err != errTransaction {
		t.Errorf("a transaction of one byte: %v", err)
	}
	if _, err := s.infoStatement(ctx, l, &pb.CommandStatementQuery{Query: "SELECT 'one'", TransactionId: []byte{1}}, true); err != errTransaction {
		t.Errorf("a transaction of one byte: %v", err)
	}
	if _, err := s.putUpdate(ctx, l, &pb.CommandStatementUpdate{Query: "SET purpose = 'x'", TransactionId: []byte{1}}, nil); err != errTransaction {
		t.Errorf("a transaction of one byte: %v", err)
	}
	if keys, err := s.getKeys(ctx, l, &pb.CommandGetPrimaryKeys{}); keys != nil || status.Code(toStatus(err)) != codes.InvalidArgument {
		t.Errorf("the keys of no table: %v, %v", keys, err)
	}
	// The call gave its handle back each time, so that the end of it is the end.
	for _, e := range l.handles.byKey {
		if e.holders != 0 {
			t.Errorf("%d calls still use a handle", e.holders)
		}
	}
	for _, keep := range []bool{true, false} {
		if d, err := s.infoStatement(ctx, l, &pb.CommandStatementQuery{Query: "SELECT 'dictionary'"}, keep); err != errType || d.ticket != nil {
			t.Errorf("a type that cannot be sent: %+v, %v", d, err)
		}
	}
	if _, err := prepare("SELECT 'dictionary'"); err != errType {
		t.Errorf("a type that cannot be sent: %v", err)
	}
	l.handles.closeAll()
	if _, err := prepare("SELECT 'one'"); err != errSession {
		t.Errorf("a handle of a session that has ended: %v", err)
	}
	if d, err := s.infoStatement(ctx, l, &pb.CommandStatementQuery{Query: "SELECT 'one'"}, true); err != errSession || d.ticket != nil || d.schema != nil {
		t.Errorf("a ticket of a session that has ended: %+v, %v", d, err)
	}
	late, err := s.logins.make(r.users.identity("alice"), "", "")
	if err != nil {
		t.Fatal(err)
	}
	known := func() bool {
		s.logins.mu.Lock()
		defer s.logins.mu.Unlock()
		return s.logins.ids[late.id] == late
	}
	s.logins.register(late)
	if !known() {
		t.Error("a session is not known by its cookie")
	}
	delete(s.logins.ids, late.id)
	late.handles.closeAll()
	s.logins.register(late)
	if known() {
		t.Error("a session that has ended is known by its cookie")
	}
}

// sent is what a client sends with b's rows.
func sent(t *testing.T, b arrow.RecordBatch) *upload {
	t.Helper()
	c := &capture{}
	w := flight.NewRecordWriter(c, ipc.WithSchema(b.Schema()))
	if err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	return &upload{first: c.out[0], rest: &source{in: c.out[1:]}}
}

// A result without rows whose columns changed is refused as well, before it runs.
func TestEmptyResultChanged(t *testing.T) {
	r := newRig(t)
	l := signedIn(t, r, "admin")
	res, err := r.server.query(t.Context(), l, "SELECT 'none'")
	if err != nil {
		t.Fatal(err)
	}
	q := sequence{ctx: t.Context(), schema: arrow.NewSchema(nil, nil), ready: res, track: func(string) (func(), error) { t.Error("tracked"); return func() {}, nil }}
	if q.Next() || q.Err() != errChanged {
		t.Errorf("%v", q.Err())
	}
	q.Release()
	if e := r.journal.events[len(r.journal.events)-1]; e.Outcome != "cancelled" {
		t.Errorf("%+v", e)
	}
}

// A stream whose caller went away ends with the caller's reason, and holds nothing.
func TestCallerGoesAway(t *testing.T) {
	left, broken := errors.New("left"), errors.New("broken")
	ctx, cancel := context.WithCancelCause(t.Context())
	if err := sendError(ctx, broken); err != broken {
		t.Errorf("the caller is there: %v", err)
	}
	cancel(left)
	for _, c := range [][2]error{{broken, left}, {nil, nil}} {
		if err := sendError(ctx, c[0]); err != c[1] {
			t.Errorf("the caller is gone: %v becomes %v", c[0], err)
		}
	}
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	r := newRig(t)
	reader := &fakeReader{p: &fakePrepared{engine: &fakeEngine{mem: mem}, scene: "batches"}, ctx: ctx, left: 3}
	p := &producer{out: make(chan arrow.RecordBatch)}
	p.run(ctx, r.server, reader)
	if p.err != left || reader.batch != nil {
		t.Errorf("%v, %v", p.err, reader.batch)
	}
	q := &sequence{}
	q.Retain()
	if q.Record() != nil || q.RecordBatch() != nil || q.Schema() != nil {
		t.Error("an empty sequence holds something")
	}
}

// Headers that cannot be set end the call before it does anything.
func TestHeadersFail(t *testing.T) {
	r := newRig(t)
	ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs("authorization", basicHeader("alice", "alice")))
	if _, err := r.server.unary(ctx, nil, &grpc.UnaryServerInfo{}, func(context.Context, any) (any, error) { t.Error("called"); return nil, nil }); status.Code(err) != codes.Internal || strings.Contains(err.Error(), "ServerStream") {
		t.Errorf("a call: %v", err)
	}
	broken := &brokenStream{ctx: ctx, send: errors.New("canary")}
	if err := r.server.stream(nil, broken, &grpc.StreamServerInfo{}, func(any, grpc.ServerStream) error { t.Error("called"); return nil }); status.Code(err) != codes.Internal || strings.Contains(err.Error(), "canary") {
		t.Errorf("a stream: %v", err)
	}
	for _, header := range []string{"Basic ###", "Bearer", "Bearer a b", "Basic"} {
		_, err := r.dial().with("authorization", header).query("SELECT 'one'")
		wantCode(t, err, codes.Unauthenticated)
	}
}

// A handshake with the session's own token is answered by the same session.
func TestHandshakeAgain(t *testing.T) {
	r := newRig(t)
	first, _, _, err := r.dial().handshake(0, "authorization", basicHeader("alice", "alice"))
	if err != nil {
		t.Fatal(err)
	}
	again, trailer, payload, err := r.dial().handshake(0, "authorization", first)
	if err != nil || again != first || trailer != first || "Bearer "+payload != first {
		t.Errorf("%q and %q, %q, %q: %v", first, again, trailer, payload, err)
	}
	if n := len(r.server.logins.ids); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

// Who sends a password with each call is held to the number of sessions as well, and a session's options are not carried over by half.
func TestSharedSessions(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Sessions.Total = 1 })
	if _, err := r.dial().with("authorization", basicHeader("alice", "alice")).query("SELECT 'one'"); err != nil {
		t.Fatal(err)
	}
	_, err := r.dial().with("authorization", basicHeader("admin", "admin")).query("SELECT 'one'")
	wantCode(t, err, codes.ResourceExhausted)
	r.server.logins.mu.Lock()
	if n := len(r.server.logins.ids); n != 1 {
		t.Errorf("%d sessions are known", n)
	}
	r.server.logins.mu.Unlock()
	from, err := r.gateway.NewSession(r.users.identity("alice"), "", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.gateway.SetOption(t.Context(), from, "purpose", "audit"); err != nil {
		t.Fatal(err)
	}
	to, err := r.gateway.NewSession(r.users.identity("eve"), "", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := carry(t.Context(), r.gateway, from, to); err == nil || to.Settings()["purpose"] != "" {
		t.Errorf("options that the new principal may not set: %v, %v", err, to.Settings())
	}
	same, err := r.gateway.NewSession(r.users.identity("alice"), "", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := carry(t.Context(), r.gateway, from, same); err != nil || same.Settings()["purpose"] != "audit" {
		t.Errorf("%v, %v", err, same.Settings())
	}
}

// A ticket that cannot be read, and a FlightInfo without one, are no statement to be cancelled.
func TestCancelNonsense(t *testing.T) {
	r := newRig(t)
	l := signedIn(t, r, "admin")
	endpoint := func(ticket []byte) *flight.FlightEndpoint {
		return &flight.FlightEndpoint{Ticket: &flight.Ticket{Ticket: ticket}}
	}
	d, err := r.server.infoStatement(t.Context(), l, &pb.CommandStatementQuery{Query: "SELECT 'one'"}, true)
	if err != nil {
		t.Fatal(err)
	}
	listing := pack(t, &pb.CommandGetCatalogs{})
	for what, c := range map[string]struct {
		endpoints []*flight.FlightEndpoint
		found     bool
		err       error
	}{
		"none":                     {nil, false, errHandle},
		"nonsense":                 {[]*flight.FlightEndpoint{endpoint([]byte{1})}, false, errHandle},
		"a listing":                {[]*flight.FlightEndpoint{endpoint(listing)}, false, nil},
		"no handle of anybody":     {[]*flight.FlightEndpoint{endpoint(pack(t, &pb.TicketStatementQuery{StatementHandle: []byte("x")}))}, false, errHandle},
		"a listing and a ticket":   {[]*flight.FlightEndpoint{endpoint(listing), endpoint(d.ticket), endpoint(listing)}, true, nil},
		"a ticket and no endpoint": {[]*flight.FlightEndpoint{endpoint(d.ticket), {}}, false, errHandle},
	} {
		if found, err := r.server.cancel(l, &flight.FlightInfo{Endpoint: c.endpoints}); found != c.found && what != "a listing and a ticket" || err != c.err {
			t.Errorf("%s: %v, %v", what, found, err)
		}
	}
	if _, err := r.server.getStatement(t.Context(), l, &pb.TicketStatementQuery{StatementHandle: handleOf(t, d.ticket)}); err != gateway.ErrCancelled {
		t.Errorf("a cancelled ticket: %v", err)
	}
	for _, e := range l.handles.byKey {
		if e.holders != 0 {
			t.Errorf("%d calls still use the ticket", e.holders)
		}
	}
}

func handleOf(t *testing.T, ticket []byte) []byte {
	t.Helper()
	_, m, err := open(ticket)
	if err != nil {
		t.Fatal(err)
	}
	return m.(*pb.TicketStatementQuery).GetStatementHandle()
}

// The files of a certificate are read again when any of them has changed, and only then.
func TestStampFiles(t *testing.T) {
	dir := t.TempDir()
	cert, key := pair(t, dir, "a")
	ca := filepath.Join(dir, "ca.pem")
	if err := os.Link(cert, ca); err != nil {
		t.Fatal(err)
	}
	r, err := TLS{CertFile: cert, KeyFile: key, ClientCAFile: ca}.open(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	load := func() *tls.Config {
		t.Helper()
		r.checked = time.Time{}
		c, err := r.load()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	last := load()
	if load() != last {
		t.Error("read again without a change")
	}
	for i, name := range []string{cert, key, ca} {
		later := time.Now().Add(time.Duration(i+1) * time.Hour)
		if err := os.Chtimes(name, later, later); err != nil {
			t.Fatal(err)
		}
		now := load()
		if now == last {
			t.Errorf("%s has changed, and was not read", name)
		}
		last = now
		if load() != last {
			t.Error("read again without a change")
		}
	}
	r.checked = time.Now()
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if c, err := r.load(); err != nil || c != last {
		t.Errorf("looked at again within a second: %v", err)
	}
	if load() != last {
		t.Error("what cannot be used is used")
	}
	none := arrow.NewSchema(nil, nil)
	b := array.NewRecordBatch(none, nil, 0)
	if rows, err := sent(t, b).rows(2); rows != nil || err != nil {
		t.Errorf("no columns and no rows for two parameters: %v, %v", rows, err)
	}
	if _, err := sent(t, array.NewRecordBatch(none, nil, 1)).rows(2); err != errBindCount {
		t.Errorf("no columns and a row for two parameters: %v", err)
	}
}

// Values of types that no parameter takes are refused in the words for all of them.
func TestValuesOfOtherTypes(t *testing.T) {
	ints := arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32, Nullable: true}
	for _, typ := range []arrow.DataType{
		arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int8), arrow.DenseUnionOf([]arrow.Field{ints}, []arrow.UnionTypeCode{0}),
		arrow.SparseUnionOf([]arrow.Field{ints}, []arrow.UnionTypeCode{0}),
	} {
		b := array.NewBuilder(memory.DefaultAllocator, typ)
		b.AppendEmptyValue()
		a := b.NewArray()
		if v, err := longValueOf(a, 0); v != nil || err != errBind {
			t.Errorf("%s: %v, %v", typ, v, err)
		}
		if v, err := valueOf(a, a.Len()); v != nil || err != errBind {
			t.Errorf("%s, behind the end: %v, %v", typ, v, err)
		}
	}
	header := ""
	if err := (answer{cookie: "c"}).send(func(h md) error { header = strings.Join(h.Get("set-cookie"), ""); return nil }, func(md) {}); err != nil || header != cookieName+"=c; HttpOnly" {
		t.Errorf("%q, %v", header, err)
	}
}

// The number of rows that may be bound is exact, in one batch or in several.
func TestBoundRows(t *testing.T) {
	batch := func(n int) arrow.RecordBatch { return bindRows(make([]string, n), make([]int64, n)) }
	for _, c := range []struct {
		batches []int
		want    error
	}{
		{[]int{maxBoundRows}, nil},
		{[]int{maxBoundRows + 1}, errBindLimit},
		{[]int{maxBoundRows - 1, 1}, nil},
		{[]int{maxBoundRows - 1, 2}, errBindLimit},
		{[]int{maxBoundRows, 1}, errBindLimit},
		{[]int{0, maxBoundRows, 0}, nil},
	} {
		out := &capture{}
		w := flight.NewRecordWriter(out, ipc.WithSchema(batch(0).Schema()))
		sum := 0
		for _, n := range c.batches {
			sum += n
			if err := w.Write(batch(n)); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := (&upload{first: out.out[0], rest: &source{in: out.out[1:]}}).rows(2)
		if err != c.want || err == nil && len(rows) != sum || err != nil && rows != nil {
			t.Errorf("%v: %d rows, %v", c.batches, len(rows), err)
		}
	}
}

// A row that no client could receive ends the call instead of the client.
func TestLargestMessage(t *testing.T) {
	r := newRig(t)
	conn, err := grpc.NewClient(r.address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<30)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	l := signedIn(t, r, "admin")
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+l.token.Reveal())
	for scene, ok := range map[string]bool{"one": true, "huge": false} {
		d, err := r.server.infoStatement(t.Context(), l, &pb.CommandStatementQuery{Query: "SELECT '" + scene + "'"}, true)
		if err != nil {
			t.Fatal(err)
		}
		s, err := pb.NewFlightServiceClient(conn).DoGet(ctx, &flight.Ticket{Ticket: d.ticket})
		for err == nil {
			_, err = s.Recv()
		}
		if (err == io.EOF) != ok {
			t.Errorf("%s: %v", scene, err)
		}
	}
}

// A silent stream whose client is gone ends at the next sign of life that cannot be sent.
func TestHeartbeatFails(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Heartbeat = time.Millisecond })
	broken := errors.New("broken")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	reader := &fakeReader{p: &fakePrepared{engine: &fakeEngine{mem: mem, started: make(chan string, 1)}, scene: "hang"}, ctx: ctx}
	if err := r.server.send(ctx, cancel, &brokenGet{brokenStream{ctx: ctx, send: broken}}, reader); err == nil || ctx.Err() == nil {
		t.Errorf("%v, %v", err, ctx.Err())
	}
	// What was made and cannot be sent any more is freed.
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		reader := &late{fakeReader{p: &fakePrepared{engine: &fakeEngine{mem: mem}}, ctx: ctx, left: 1}}
		if err := r.server.send(ctx, cancel, &brokenGet{brokenStream{ctx: ctx, send: broken}}, reader); err == nil {
			t.Error("sent")
		}
	}
}

// late is a reader whose rows come when the call is over.
type late struct{ fakeReader }

func (l *late) Next() bool {
	<-l.ctx.Done()
	return l.fakeReader.Next()
}

// panicking is a stream that panics when it is read.
type panicking struct {
	source
	with any
}

func (p *panicking) Recv() (*flight.FlightData, error) { panic(p.with) }

// A panic while values are read is a refusal.
func TestBindPanics(t *testing.T) {
	for with, want := range map[any]error{errBindLimit: errBindLimit, "canary": errBind} {
		in := encoded(t)
		if rows, err := (&upload{first: in[0], rest: &panicking{with: with}}).rows(2); rows != nil || err != want {
			t.Errorf("%v: %v, %v", with, rows, err)
		}
	}
}

// Close comes back when no call runs any more, also of those that it cut off.
func TestCloseWaitsForHandlers(t *testing.T) {
	r := newRig(t)
	c := r.login("admin")
	info, err := c.Execute(c.ctx, "SELECT 'slow'")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = c.read(info.Endpoint[0].Ticket) }()
	<-r.engine.started
	time.AfterFunc(50*time.Millisecond, func() { close(r.engine.free) })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.server.Close(ctx); err == nil {
		t.Error("a call was cut off without a word")
	}
	select {
	case <-r.engine.free:
	default:
		t.Error("closed while a call runs")
	}
}
