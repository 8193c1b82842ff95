package flight

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowext "github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"gatehouse/auth"
	"gatehouse/executors"
	"gatehouse/gateway"
	"gatehouse/policy"
)

// What fails below a door fails the call: no door answers with less instead.
func TestFaultsBelowReachTheCaller(t *testing.T) {
	r := newRig(t)
	s, l := r.server, signedIn(t, r, "admin")
	ctx := t.Context()
	prepare := func(sql string) []byte {
		m, err := s.createPrepared(ctx, l, &pb.ActionCreatePreparedStatementRequest{Query: sql})
		if err != nil {
			t.Fatal(err)
		}
		return m.(*pb.ActionCreatePreparedStatementResult).PreparedStatementHandle
	}
	rows, set := prepare("SELECT 'one'"), prepare("SET purpose = 'x'")
	stream := func(r array.RecordReader, err error) error {
		if err != nil {
			return err
		}
		defer r.Release()
		for r.Next() {
		}
		return r.Err()
	}
	calls := map[string]func() error{
		"describe a statement": func() error {
			_, err := s.infoStatement(ctx, l, &pb.CommandStatementQuery{Query: "SELECT 'one'"}, false)
			return err
		},
		"start a statement": func() error {
			_, err := s.infoStatement(ctx, l, &pb.CommandStatementQuery{Query: "SELECT 'one'"}, true)
			return err
		},
		"update": func() error {
			_, err := s.putUpdate(ctx, l, &pb.CommandStatementUpdate{Query: "SET purpose = 'x'"}, nil)
			return err
		},
		"prepare": func() error {
			_, err := s.createPrepared(ctx, l, &pb.ActionCreatePreparedStatementRequest{Query: "SELECT 'one'"})
			return err
		},
		"execute": func() error {
			return stream(s.getPrepared(ctx, l, &pb.CommandPreparedStatementQuery{PreparedStatementHandle: rows}))
		},
		"execute what gives no rows": func() error {
			return stream(s.getPrepared(ctx, l, &pb.CommandPreparedStatementQuery{PreparedStatementHandle: set}))
		},
		"describe and run what gives no rows": func() error {
			_, err := s.infoPrepared(ctx, l, &pb.CommandPreparedStatementQuery{PreparedStatementHandle: set}, true)
			return err
		},
		"a prepared update": func() error {
			_, err := s.updatePrepared(ctx, l, &pb.CommandPreparedStatementUpdate{PreparedStatementHandle: set}, &upload{first: &flight.FlightData{}})
			return err
		},
		"catalogs": func() error { return stream(s.getCatalogs(ctx, l, &pb.CommandGetCatalogs{})) },
		"schemas":  func() error { return stream(s.getSchemas(ctx, l, &pb.CommandGetDbSchemas{})) },
		"tables":   func() error { return stream(s.getTables(ctx, l, &pb.CommandGetTables{})) },
		"options": func() error {
			o, err := flight.NewSessionOptionValue("lake")
			if err != nil {
				return err
			}
			_, err = s.setOptions(ctx, l, &pb.SetSessionOptionsRequest{SessionOptions: map[string]*flight.SessionOptionValue{"catalog": &o}})
			return err
		},
	}
	for name, call := range calls {
		if err := call(); err != nil {
			t.Errorf("the control: %s: %v", name, err)
		}
	}
	for _, e := range l.handles.byKey { // what is ready to run keeps a gateway from closing
		if ready, ok := e.held.(*ticket); ok {
			ready.cool()
		}
	}
	if err := r.gateway.Close(ctx); err != nil {
		t.Fatal(err)
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, gateway.ErrClosing) && !(name == "options" && err == nil) {
			t.Errorf("%s with a gateway that closes: %v", name, err)
		}
	}
}

// brokenStream fails to send or to receive, and may lack the login.
type brokenStream struct {
	grpc.ServerStream
	ctx        context.Context
	send, recv error
}

func (b *brokenStream) Context() context.Context                { return b.ctx }
func (b *brokenStream) SetHeader(metadata.MD) error             { return b.send }
func (b *brokenStream) SetTrailer(metadata.MD)                  {}
func (b *brokenStream) Recv() (*flight.HandshakeRequest, error) { return nil, b.recv }
func (b *brokenStream) Send(*flight.HandshakeResponse) error    { return b.send }

type brokenList struct{ brokenStream }

func (b *brokenList) Send(*flight.ActionType) error { return b.send }

type brokenResults struct{ brokenStream }

func (b *brokenResults) Send(*flight.Result) error { return b.send }

type brokenGet struct{ brokenStream }

func (b *brokenGet) Send(*flight.FlightData) error { return b.send }

type brokenPut struct{ brokenStream }

func (b *brokenPut) Send(*flight.PutResult) error      { return b.send }
func (b *brokenPut) Recv() (*flight.FlightData, error) { return nil, b.recv }

// A call whose context has no login ends, whatever it is; one whose stream breaks ends with that error.
func TestCallsWithoutLogin(t *testing.T) {
	r := newRig(t)
	s, broken := r.server, errors.New("broken")
	in := context.WithValue(t.Context(), loginKey{}, signedIn(t, r, "admin"))
	command := func(m proto.Message) []byte { return pack(t, m) }
	describe := &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: command(&pb.CommandGetCatalogs{})}
	for name, call := range map[string]func(ctx context.Context, b brokenStream) error{
		"Handshake":   func(_ context.Context, b brokenStream) error { return s.Handshake(&b) },
		"ListActions": func(_ context.Context, b brokenStream) error { return s.ListActions(nil, &brokenList{b}) },
		"DoAction": func(_ context.Context, b brokenStream) error {
			return s.DoAction(&flight.Action{Type: "GetSessionOptions"}, &brokenResults{b})
		},
		"DoGet": func(_ context.Context, b brokenStream) error {
			return s.DoGet(&flight.Ticket{Ticket: command(&pb.CommandGetCatalogs{})}, &brokenGet{b})
		},
		"DoPut": func(_ context.Context, b brokenStream) error { return s.DoPut(&brokenPut{b}) },
		"GetFlightInfo": func(ctx context.Context, b brokenStream) error {
			_, err := s.GetFlightInfo(ctx, describe)
			return errors.Join(err, b.send)
		},
		"GetSchema": func(ctx context.Context, b brokenStream) error {
			_, err := s.GetSchema(ctx, describe)
			return errors.Join(err, b.send)
		},
		"PollFlightInfo": func(ctx context.Context, b brokenStream) error {
			_, err := s.PollFlightInfo(ctx, describe)
			return errors.Join(err, b.send)
		},
	} {
		if err := call(t.Context(), brokenStream{ctx: t.Context(), recv: io.EOF}); !errors.Is(err, errSignIn) && name != "DoPut" {
			t.Errorf("%s without a login: %v", name, err)
		}
		if err := call(in, brokenStream{ctx: in, send: broken, recv: broken}); !errors.Is(err, broken) {
			t.Errorf("%s on a broken stream: %v", name, err)
		}
	}
	if err := s.Handshake(&brokenStream{ctx: in, recv: broken}); !errors.Is(err, broken) {
		t.Errorf("a handshake that breaks while it is read: %v", err)
	}
	if err := s.Handshake(&brokenStream{ctx: in, send: broken, recv: io.EOF}); !errors.Is(err, broken) {
		t.Errorf("a handshake whose answer cannot be sent: %v", err)
	}
	if err := s.Handshake(&brokenStream{ctx: in, recv: io.EOF}); err != nil {
		t.Errorf("a handshake: %v", err)
	}
	if err := (answer{cookie: "x"}).send(func(metadata.MD) error { return broken }, func(metadata.MD) {}); !errors.Is(err, broken) {
		t.Errorf("headers that cannot be set: %v", err)
	}
	if err := (answer{}).send(func(metadata.MD) error { return broken }, func(metadata.MD) { t.Error("a trailer") }); err != nil {
		t.Errorf("nothing to send: %v", err)
	}
}

// A panic in a call and an error that nobody knows are told to the operator by type, never by text; known ones are not reported.
func TestWhatTheOperatorLearns(t *testing.T) {
	r := newRig(t)
	if err := r.server.status("m", errors.New("canary")); err == nil || !strings.Contains(r.log.String(), "unknown error") || !strings.Contains(r.log.String(), "*errors.errorString") {
		t.Errorf("%v, %s", err, r.log.String())
	}
	before := r.log.String()
	for _, err := range []error{nil, errPanic, errHandle, &policy.DeniedError{Decision: "d", What: "x"}} {
		_ = r.server.status("m", err)
	}
	if r.log.String() != before {
		t.Errorf("reported: %s", r.log.String()[len(before):])
	}
	err := func() (err error) {
		defer r.server.recover("method", &err)
		panic("canary")
	}()
	wantCode(t, err, codes.Internal)
	if s := r.log.String(); strings.Contains(s, "canary") || !strings.Contains(s, "panic in a call") || !strings.Contains(s, "kind=string") {
		t.Error(s)
	}
	if k := kindOf(io.EOF); k != "*errors.errorString" {
		t.Error(k)
	}
}

// renewing gives each principal another expiry when it is renewed.
type renewing struct{ *users }

func (u renewing) Renew(ctx context.Context, id auth.Identity) (auth.Identity, error) {
	id, err := u.users.Renew(ctx, id)
	id.Claims = map[string]any{"renewed": true}
	return id, err
}

// A principal whose claims change while its session lives is the new one from then on, with the options that were set.
func TestRenewedPrincipalKeepsOptions(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Auth = renewing{c.Auth.(*users)} })
	c := r.login("alice")
	if _, err := c.SetSessionOptions(c.ctx, options(t, "purpose", "audit")); err != nil {
		t.Fatal(err)
	}
	r.clock.advance(2 * time.Minute)
	if got := c.option("purpose"); got != "audit" {
		t.Errorf("purpose is %q after the renewal", got)
	}
	r.server.logins.mu.Lock()
	defer r.server.logins.mu.Unlock()
	for _, l := range r.server.logins.ids {
		if l.identity().Claims["renewed"] != true {
			t.Errorf("the session still has %+v", l.identity())
		}
	}
}

// Without randomness there is neither a server nor a session: a handle that can be guessed is none.
func TestNoRandomness(t *testing.T) {
	r := newRig(t)
	if s, err := New(Config{Gateway: r.gateway, Auth: r.users, Rand: strings.NewReader("short")}); err == nil || s != nil {
		t.Error("a server without randomness")
	}
	if _, err := New(Config{Gateway: r.gateway}); err == nil {
		t.Error("a server without an authenticator")
	}
	ls := r.server.logins
	if l, err := ls.make(auth.Identity{}, "", ""); err == nil || l != nil {
		t.Error("a session of nobody")
	}
	ls.cfg.Rand = strings.NewReader("short")
	if _, err := ls.make(r.users.identity("alice"), "", ""); err == nil {
		t.Error("a session without randomness")
	}
	if _, err := ls.open(t.Context(), r.users.identity("alice"), "", ""); err == nil {
		t.Error("a session without randomness")
	}
	if _, err := ls.shared(t.Context(), r.users.identity("alice"), auth.Credential{User: "alice"}, ""); err == nil {
		t.Error("a shared session without randomness")
	}
	if b, err := random(rand.Reader, 16); err != nil || len(b) != 16 {
		t.Error(b, err)
	}
	var c Config
	setDefaults(&c)
	if c.Message != 64<<20 || c.Streams != 256 || c.Heartbeat != 10*time.Second || c.Version != "dev" || c.Rand != rand.Reader || c.Alloc == nil || c.Log == nil || c.Now == nil ||
		c.Sessions != (SessionLimits{8 * time.Hour, 24 * time.Hour, c.Sessions.PerUser, c.Sessions.Total}) || c.Handles != (HandleLimits{10 * time.Minute, time.Minute, 8 * time.Hour, 1000}) {
		t.Errorf("%+v", c)
	}
}

type nobody struct{ *users }

func (nobody) Authenticate(context.Context, auth.Credential) (auth.Identity, error) {
	return auth.Identity{}, nil
}

// An authenticator that names nobody lets nobody in, and its errors say no more than they may.
func TestAuthenticatorFaults(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Auth = nobody{c.Auth.(*users)} })
	_, _, _, err := r.dial().handshake(0, "authorization", basicHeader("alice", "alice"))
	wantCode(t, err, codes.Unauthenticated)
	for _, x := range []struct{ err, want error }{
		{context.Canceled, context.Canceled},
		{context.DeadlineExceeded, context.DeadlineExceeded},
		{fmt.Errorf("ldap: %w", auth.ErrRateLimited), auth.ErrRateLimited},
		{fmt.Errorf("ldap: %w", auth.ErrUnavailable), auth.ErrUnavailable},
		{errors.New("ldap"), auth.ErrUnauthenticated},
		{fmt.Errorf("ldap: %w", context.Canceled), context.Canceled},
	} {
		if got := signInError(x.err); got != x.want {
			t.Errorf("%v became %v", x.err, got)
		}
	}
	if got := cookies(metadata.Pairs("cookie", "=;;", "cookie", cookieName+"=a; x=b", "cookie", cookieName+"=c")); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("cookies %q", got)
	}
	for want, a := range map[string]net.Addr{"10.0.0.1": &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 5}, "@x": &net.UnixAddr{Name: "@x", Net: "unix"}, "": nil} {
		if got := peerOf(peer.NewContext(t.Context(), &peer.Peer{Addr: a})); got != want {
			t.Errorf("%v is %q", a, got)
		}
	}
	if got := peerOf(t.Context()); got != "" {
		t.Errorf("no peer is %q", got)
	}
	for a, want := range map[net.Addr]bool{&net.TCPAddr{IP: net.IPv6loopback}: true, &net.TCPAddr{IP: net.IPv4zero}: false, &net.UnixAddr{}: true, &net.IPAddr{IP: net.IPv6loopback}: false} {
		if loopback(a) != want {
			t.Errorf("%T %v on this machine: %v", a, a, !want)
		}
	}
}

// Types that cannot be sent are refused inside of every other type, and those that can stay what they are.
func TestNestedTypes(t *testing.T) {
	ok := arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32, Nullable: true}
	bad := arrow.Field{Name: "x", Type: arrow.BinaryTypes.StringView}
	around := func(f arrow.Field) []arrow.DataType {
		return []arrow.DataType{
			f.Type, arrow.ListOfField(f), arrow.LargeListOfField(f), arrow.FixedSizeListOfField(2, f), arrow.StructOf(f), arrow.StructOf(ok, arrow.Field{Name: "z", Type: f.Type}),
			arrow.MapOf(arrow.BinaryTypes.String, f.Type), arrow.MapOf(f.Type, arrow.BinaryTypes.String),
		}
	}
	for i, typ := range around(arrow.Field{Name: "y", Type: arrow.PrimitiveTypes.Int32, Nullable: true}) {
		if got, err := publicType(typ); err != nil || !arrow.TypeEqual(got, typ) {
			t.Errorf("%s became %v, %v", typ, got, err)
		}
		if got, err := publicType(around(bad)[i]); err == nil || got != nil {
			t.Errorf("%s may be sent", around(bad)[i])
		}
	}
	sorted := arrow.MapOf(arrow.BinaryTypes.String, ok.Type)
	sorted.KeysSorted = true
	if got, err := publicType(sorted); err != nil || !got.(*arrow.MapType).KeysSorted {
		t.Errorf("%v, %v", got, err)
	}
	for _, typ := range []arrow.DataType{arrow.ListViewOf(ok.Type), arrow.LargeListViewOf(ok.Type), arrow.BinaryTypes.BinaryView, arrow.DenseUnionOf([]arrow.Field{ok}, []arrow.UnionTypeCode{0}), arrow.SparseUnionOf([]arrow.Field{ok}, []arrow.UnionTypeCode{0}), arrowext.NewOpaqueType(bad.Type, "n", "v")} {
		if _, err := publicType(typ); err == nil {
			t.Errorf("%s may be sent", typ)
		}
	}
	if _, err := publicType(arrowext.NewUUIDType()); err != nil {
		t.Error(err)
	}
	for _, name := range []string{
		"MAP", "MAP VARCHAR", "MAP(VARCHAR BIGINT)", "MAP(VARCHAR, BIGINT", "MAP(x, BIGINT)", "MAP(VARCHAR, x)", "STRUCT", "STRUCT a", "STRUCT()", "STRUCT(a INTEGER b INTEGER)", "STRUCT(a INTEGER", "STRUCT(a x)",
		`STRUCT(" INTEGER)`, "DECIMAL(", "DECIMAL(1", "DECIMAL(1;2)", "DECIMAL(a,2)", "DECIMAL(0,0)", "DECIMAL(38,39)", "DECIMAL(5,2", "DECIMAL(5,-1)", "INTEGER[x]", "INTEGER[0]", "INTEGER[1", "INTEGER[99999999999]", "INTEGER]", "x[]", `STRUCT("a" INTEGER`,
	} {
		if got := sqlType(name); !arrow.TypeEqual(got, arrow.Null) {
			t.Errorf("%s is %s", name, got)
		}
	}
	for name, want := range map[string]arrow.DataType{
		"DECIMAL(1,0)": &arrow.Decimal128Type{Precision: 1}, "DECIMAL(38,38)": &arrow.Decimal128Type{Precision: 38, Scale: 38}, "INTEGER[1]": arrow.FixedSizeListOf(1, arrow.PrimitiveTypes.Int32),
		"DECIMAL( 5 , 2 )": &arrow.Decimal128Type{Precision: 5, Scale: 2}, "INTEGER[ 3 ]": arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Int32),
		`STRUCT(a_Zz09 INTEGER, "" DATE, "x""" DATE)`: arrow.StructOf(
			arrow.Field{Name: "a_Zz09", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, arrow.Field{Name: "", Type: arrow.FixedWidthTypes.Date32, Nullable: true}, arrow.Field{Name: `x"`, Type: arrow.FixedWidthTypes.Date32, Nullable: true}),
	} {
		if got := sqlType(name); !arrow.TypeEqual(got, want) {
			t.Errorf("%s is %s", name, got)
		}
	}
}

// A result whose columns changed since they were announced ends the stream, and leaves nothing running.
func TestSequenceRefuses(t *testing.T) {
	r := newRig(t)
	l := signedIn(t, r, "admin")
	of := func(sql string) *gateway.Result {
		res, err := r.server.query(t.Context(), l, sql)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	result := func() *gateway.Result { return of("SELECT 'batches'") }
	public, err := publicSchema(schemaOf(t, result))
	if err != nil {
		t.Fatal(err)
	}
	refused := errors.New("cancelled meanwhile")
	for name, x := range map[string]struct {
		q    sequence
		want error
	}{
		"other columns":      {sequence{schema: arrow.NewSchema(nil, nil), ready: result()}, errChanged},
		"of another type":    {sequence{schema: public, ready: of("SELECT 'dictionary'")}, errType},
		"cancelled":          {sequence{schema: public, ready: result(), track: func(string) (func(), error) { return nil, refused }}, refused},
		"a start that fails": {sequence{schema: public, next: func(context.Context) (*gateway.Result, error) { return nil, refused }}, refused},
	} {
		x.q.ctx = t.Context()
		if x.q.Next() || x.q.Err() != x.want || x.q.Next() {
			t.Errorf("%s: %v", name, x.q.Err())
		}
		x.q.Release()
	}
	// A stream that is given up before or within its rows gives back what it holds, once.
	for _, read := range []int{0, 1} {
		released, untracked := 0, 0
		q := sequence{ctx: t.Context(), schema: public, ready: result(), release: func() { released++ }, track: func(string) (func(), error) { return func() { untracked++ }, nil }}
		for range read {
			if !q.Next() {
				t.Fatal(q.Err())
			}
		}
		q.Release()
		q.Release()
		if released != 1 || untracked != read {
			t.Errorf("after %d batches: released %d times, untracked %d times", read, released, untracked)
		}
	}
	ticket := &ticket{server: r.server, login: l, schema: public}
	if _, err := ticket.track("q1"); err != nil {
		t.Error(err)
	}
	ticket.cancel()
	if _, err := ticket.track("q2"); err != gateway.ErrCancelled {
		t.Errorf("tracked after it was cancelled: %v", err)
	}
}

func schemaOf(t *testing.T, result func() *gateway.Result) *arrow.Schema {
	t.Helper()
	res := result()
	defer res.Close()
	return res.Schema()
}

// What is bound is bounded to the byte and the row, and columns have to fit the parameters.
func TestBindBounds(t *testing.T) {
	header := &flight.FlightData{DataHeader: []byte{1}}
	for body, want := range map[int]error{maxBoundBytes - 2: nil, maxBoundBytes - 1: nil, maxBoundBytes: errBindLimit} {
		u := &upload{first: header, rest: &source{in: []*flight.FlightData{{DataBody: make([]byte, body)}}}}
		if _, err := u.Recv(); err != nil || !(&upload{first: header}).hasRows() || (&upload{first: &flight.FlightData{}}).hasRows() {
			t.Fatal(err)
		}
		if _, err := u.Recv(); err != want {
			t.Errorf("%d bytes: %v", body+1, err)
		}
	}
	if rows, err := (&upload{first: &flight.FlightData{}}).rows(2); rows != nil || err != nil {
		t.Errorf("nothing sent: %v, %v", rows, err)
	}
	for params, want := range map[int]error{2: nil, 1: errBindCount, 3: errBindCount, 0: nil} {
		in := encoded(t)
		if _, err := (&upload{first: in[0], rest: &source{in: in[1:]}}).rows(params); err != want {
			t.Errorf("two columns for %d parameters: %v", params, err)
		}
	}
	b := &bounded{Allocator: memory.NewGoAllocator()}
	takes := func(n int) (ok bool) {
		defer func() { ok = recover() == nil }()
		b.take(n)
		return
	}
	if !takes(maxBoundBytes-1) || !takes(1) || takes(1) || !takes(-maxBoundBytes) || takes(-1) || b.used != 0 {
		t.Errorf("%d bytes are counted", b.used)
	}
}

// Errors of engines and of statements about rights have their codes; an option that policy refuses is told apart from one that is not there.
func TestCodesOfKinds(t *testing.T) {
	for kind, want := range map[executors.Kind]codes.Code{
		executors.KindBind: codes.InvalidArgument, executors.KindConversion: codes.InvalidArgument, executors.KindRange: codes.InvalidArgument, executors.KindDivision: codes.InvalidArgument,
		executors.KindCardinality: codes.InvalidArgument, executors.KindArgument: codes.InvalidArgument, executors.KindMemory: codes.ResourceExhausted, executors.KindUnsupported: codes.Unimplemented,
		executors.KindData: codes.DataLoss, executors.KindCredential: codes.Internal, 0: codes.Internal,
		executors.KindRefused: codes.PermissionDenied, executors.KindUnavailable: codes.Unavailable,
	} {
		if got := executorCode(kind); got != want {
			t.Errorf("%v: %v", kind, got)
		}
	}
	if code, text := describe(&policy.RightsError{Message: "m"}); code != codes.InvalidArgument || text != "m" {
		t.Error(code, text)
	}
	l := signedIn(t, newRig(t), "alice")
	for _, x := range []struct {
		err  error
		want pb.SetSessionOptionsResult_ErrorValue
		ok   bool
	}{
		{&policy.DeniedError{Decision: "d", What: "x"}, flight.SetSessionOptionsResultErrorError, true},
		{gateway.ErrClosing, 0, false},
		{&gateway.SettingError{Name: "purpose", Why: "w"}, flight.SetSessionOptionsResultErrorInvalidValue, true},
	} {
		if got, ok := optionError(l, "Purpose", x.err); got != x.want || ok != x.ok {
			t.Errorf("%v: %v, %v", x.err, got, ok)
		}
	}
	if got := orderOptions(map[string]int{"a": 1, "Schema": 1, "CATALOG": 1, "z": 1}); !slices.Equal(got, []string{"CATALOG", "Schema", "a", "z"}) {
		t.Error(got)
	}
}

// A command or action whose inner message is broken, or is another one, is refused.
func TestInnerMessages(t *testing.T) {
	good := pack(t, &pb.CommandGetTables{})
	if _, _, err := open(good); err != nil {
		t.Error(err)
	}
	broken := append([]byte{}, good...)
	broken = append(broken, 0x12, 1, 0xff) // the value of the Any
	if _, _, err := open(broken); err != errCommand {
		t.Errorf("a broken command: %v", err)
	}
	if _, _, err := open(nil); err != errCommand {
		t.Errorf("no command: %v", err)
	}
	a, err := findAction("CreatePreparedStatement")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.open(pack(t, &pb.ActionCreatePreparedStatementRequest{Query: "x"})); err != nil {
		t.Error(err)
	}
	for what, body := range map[string][]byte{"another message": pack(t, &pb.ActionClosePreparedStatementRequest{}), "no Any": {0xff}, "an Any that is cut off": append(pack(t, &pb.ActionCreatePreparedStatementRequest{Query: "x"}), 0x12, 9), "a broken one": append(pack(t, &pb.ActionCreatePreparedStatementRequest{}), 0x12, 1, 0xff)} {
		if _, err := a.open(body); err != errCommand {
			t.Errorf("%s: %v", what, err)
		}
	}
	if b, err := a.pack(nil); b != nil || err != nil {
		t.Error(b, err)
	}
	if b, err := a.pack(&pb.ActionCreatePreparedStatementRequest{Query: "\xff"}); b != nil || err == nil {
		t.Errorf("a text that is none: %v, %v", b, err)
	}
	for _, m := range []proto.Message{&pb.CommandGetTables{}, &pb.CommandGetPrimaryKeys{}, &pb.CommandGetCrossReference{PkTable: "t"}, &pb.CommandGetCrossReference{FkTable: "t"}} {
		s, err := keySchema(m)
		if _, listing := m.(*pb.CommandGetTables); s != nil || listing && err != errCommand || !listing && status.Code(toStatus(err)) != codes.InvalidArgument || err.Error() == "" {
			t.Errorf("%T names no table: %v, %v", m, s, err)
		}
	}
}

// The sweeper ends handles whose time is over, in every session, and a ticket is kept ready for its time and no longer.
func TestSweep(t *testing.T) {
	r := newRig(t)
	c := r.login("admin")
	info, err := c.Execute(c.ctx, "SELECT 'one'")
	if err != nil {
		t.Fatal(err)
	}
	var l *login
	r.server.logins.mu.Lock()
	for _, l = range r.server.logins.ids {
	}
	r.server.logins.mu.Unlock()
	isReady := func() (ready bool) {
		l.handles.mu.Lock()
		defer l.handles.mu.Unlock()
		for _, e := range l.handles.byKey {
			ready = ready || e.held.(*ticket).isReady()
		}
		return ready
	}
	for _, x := range []struct {
		by    time.Duration
		ready bool
		found codes.Code
	}{{time.Minute - 1, true, codes.OK}, {1, false, codes.OK}} {
		r.clock.advance(x.by)
		r.server.sweepOnce()
		if isReady() != x.ready {
			t.Errorf("after %v more it is ready: %v", x.by, !x.ready)
		}
	}
	r.clock.advance(9 * time.Minute)
	r.server.sweepOnce()
	_, err = c.read(info.Endpoint[0].Ticket)
	wantCode(t, err, codes.NotFound)
	// The time of a handle starts when a call gives it back.
	now := &clock{now: r.clock.Now()}
	late := newHandles(Config{Now: now.Now, Rand: rand.Reader, Handles: HandleLimits{Ticket: time.Hour, Count: 9}})
	key, err := late.add(&thing{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, done, err := use[*thing](late, key)
		if err != nil {
			t.Fatal(err)
		}
		now.advance(2 * time.Hour)
		done()
	}
	now.advance(time.Hour)
	if _, _, err := use[*thing](late, key); err != errHandle {
		t.Errorf("an hour after its last use: %v", err)
	}
	// Where every other handle is in use, none of them makes room: the new one is at its end.
	hs := newHandles(Config{Now: r.clock.Now, Rand: rand.Reader, Handles: HandleLimits{Ticket: time.Hour, Count: 1}})
	a := &thing{}
	ka, err := hs.add(a)
	if err != nil {
		t.Fatal(err)
	}
	_, done, err := use[*thing](hs, ka)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	b := &thing{}
	if kb, err := hs.add(b); err != nil || a.closed != 0 || b.closed != 1 {
		t.Errorf("%v, closed %d and %d times", err, a.closed, b.closed)
	} else if _, _, err := use[*thing](hs, kb); err != errHandle {
		t.Error(err)
	}
}

// An option is reset to what it was, and a value of a kind that no option has leaves its own option as it is and no other.
func TestOptionsReset(t *testing.T) {
	c := newRig(t).login("alice")
	if _, err := c.SetSessionOptions(c.ctx, options(t, "purpose", "audit")); err != nil {
		t.Fatal(err)
	}
	got, err := c.SetSessionOptions(c.ctx, options(t, "purpose", []string{"a"}, "statement_timeout", int64(7000)))
	if err != nil || len(got.Errors) != 1 || got.Errors["purpose"].GetValue() != flight.SetSessionOptionsResultErrorInvalidValue {
		t.Errorf("%v, %v", got, err)
	}
	if p, n := c.option("purpose"), c.option("statement_timeout"); p != "audit" || n != "7000" {
		t.Errorf("purpose %q, timeout %q", p, n)
	}
	if got, err := c.SetSessionOptions(c.ctx, options(t, "purpose", nil)); err != nil || len(got.Errors) != 0 || c.option("purpose") != "" {
		t.Errorf("%v, %v, purpose %q", got, err, c.option("purpose"))
	}
}
