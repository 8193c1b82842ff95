package flight

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

func pack(t testing.TB, m proto.Message) []byte {
	t.Helper()
	wrapper, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	out, err := proto.Marshal(wrapper)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// door is what one command or action has to answer: to somebody without any right, and to somebody with all of them.
// Nobody, who did not sign in, gets Unauthenticated from every one.
type door struct {
	message proto.Message
	calls   map[string][2]codes.Code // by call: eve's, admin's; a call that is not there is Unimplemented for both
}

const (
	info   = "GetFlightInfo"
	schema = "GetSchema"
	get    = "DoGet"
	put    = "DoPut"
	act    = "DoAction"
)

var (
	both    = func(c codes.Code) [2]codes.Code { return [2]codes.Code{c, c} }
	denied  = [2]codes.Code{codes.PermissionDenied, codes.OK}
	allowed = both(codes.OK)
	unknown = both(codes.NotFound)
	listing = map[string][2]codes.Code{info: allowed, schema: allowed, get: allowed}
	handle  = []byte("no such handle")
	hidden  = "payroll"
)

var doors = map[string]door{
	"CommandStatementQuery":          {&pb.CommandStatementQuery{Query: "SELECT 'one'"}, map[string][2]codes.Code{info: denied, schema: denied}},
	"TicketStatementQuery":           {&pb.TicketStatementQuery{StatementHandle: handle}, map[string][2]codes.Code{get: unknown}},
	"CommandStatementUpdate":         {&pb.CommandStatementUpdate{Query: "BEGIN"}, map[string][2]codes.Code{put: denied}},
	"CommandPreparedStatementQuery":  {&pb.CommandPreparedStatementQuery{PreparedStatementHandle: handle}, map[string][2]codes.Code{info: unknown, schema: unknown, get: unknown, put: unknown}},
	"CommandPreparedStatementUpdate": {&pb.CommandPreparedStatementUpdate{PreparedStatementHandle: handle}, map[string][2]codes.Code{put: unknown}},
	"CommandStatementIngest":         {&pb.CommandStatementIngest{Table: hidden}, nil},
	"CommandStatementSubstraitPlan":  {&pb.CommandStatementSubstraitPlan{Plan: &pb.SubstraitPlan{Plan: []byte{1}}}, nil},
	"CommandGetCatalogs":             {&pb.CommandGetCatalogs{}, listing},
	"CommandGetDbSchemas":            {&pb.CommandGetDbSchemas{}, listing},
	"CommandGetTables":               {&pb.CommandGetTables{IncludeSchema: true}, listing},
	"CommandGetTableTypes":           {&pb.CommandGetTableTypes{}, listing},
	"CommandGetPrimaryKeys":          {&pb.CommandGetPrimaryKeys{Table: hidden}, listing},
	"CommandGetExportedKeys":         {&pb.CommandGetExportedKeys{Table: hidden}, listing},
	"CommandGetImportedKeys":         {&pb.CommandGetImportedKeys{Table: hidden}, listing},
	"CommandGetCrossReference":       {&pb.CommandGetCrossReference{PkTable: hidden, FkTable: hidden}, listing},
	"CommandGetXdbcTypeInfo":         {&pb.CommandGetXdbcTypeInfo{}, listing},
	"CommandGetSqlInfo":              {&pb.CommandGetSqlInfo{}, listing},

	"CreatePreparedStatement":     {&pb.ActionCreatePreparedStatementRequest{Query: "SELECT 'one'"}, map[string][2]codes.Code{act: denied}},
	"ClosePreparedStatement":      {&pb.ActionClosePreparedStatementRequest{PreparedStatementHandle: handle}, map[string][2]codes.Code{act: allowed}},
	"CancelFlightInfo":            {&pb.CancelFlightInfoRequest{Info: &flight.FlightInfo{}}, map[string][2]codes.Code{act: unknown}},
	"CancelQuery":                 {&pb.ActionCancelQueryRequest{}, map[string][2]codes.Code{act: unknown}},
	"SetSessionOptions":           {&pb.SetSessionOptionsRequest{}, map[string][2]codes.Code{act: allowed}},
	"GetSessionOptions":           {&pb.GetSessionOptionsRequest{}, map[string][2]codes.Code{act: allowed}},
	"CloseSession":                {&pb.CloseSessionRequest{}, map[string][2]codes.Code{act: allowed}},
	"BeginTransaction":            {&pb.ActionBeginTransactionRequest{}, nil},
	"EndTransaction":              {&pb.ActionEndTransactionRequest{}, nil},
	"BeginSavepoint":              {&pb.ActionBeginSavepointRequest{}, nil},
	"EndSavepoint":                {&pb.ActionEndSavepointRequest{}, nil},
	"CreatePreparedSubstraitPlan": {&pb.ActionCreatePreparedSubstraitPlanRequest{}, nil},
	"RenewFlightEndpoint":         {&pb.RenewFlightEndpointRequest{}, nil},

	// What no table knows.
	"UnknownCommand":  {&pb.DoPutUpdateResult{}, nil},
	"ForeignMessage":  {&flight.FlightInfo{}, nil},
	"UnknownAction":   {&pb.DoPutUpdateResult{}, nil},
	"unknown package": {&anypb.Any{}, nil},
}

// Every command and action of the protocol has a row in the tables, and every row of the tables one here.
func TestEveryDoorIsListed(t *testing.T) {
	listed := map[string]bool{}
	for _, c := range commands {
		listed[c.name] = true
		if c.why == "" && (c.info == nil || c.get == nil || c.put == nil) {
			t.Errorf("%s refuses calls without a reason", c.name)
		}
		if got := string(c.body().ProtoReflect().Descriptor().FullName()); got != protocol+c.name {
			t.Errorf("%s has the body %s", c.name, got)
		}
	}
	for _, a := range actions {
		listed[a.name] = true
		if (a.run == nil) == (a.why == "") || (a.run == nil) != (a.help == "") {
			t.Errorf("%s needs either a reason or a help text", a.name)
		}
	}
	for name := range listed {
		if _, ok := doors[name]; !ok {
			t.Errorf("%s is not tested", name)
		}
	}
	messages := pb.File_FlightSql_proto.Messages()
	seen := 0
	for i := range messages.Len() {
		name := string(messages.Get(i).Name())
		action, isAction := strings.CutPrefix(name, "Action")
		action, isRequest := strings.CutSuffix(action, "Request")
		switch {
		case strings.HasPrefix(name, "Command"), strings.HasPrefix(name, "Ticket"):
			seen++
			if !listed[name] {
				t.Errorf("%s is a command of the protocol without a door", name)
			}
		case isAction && isRequest:
			seen++
			if !listed[action] {
				t.Errorf("%s is an action of the protocol without a door", action)
			}
		}
	}
	if seen != len(commands)+8 {
		t.Errorf("%d messages of the protocol were looked at", seen)
	}
	var _ protoreflect.MessageDescriptors = messages
}

func TestDoors(t *testing.T) {
	r := newRig(t)
	people := []func() *client{r.dial, func() *client { return r.login("eve") }, func() *client { return r.login("admin") }}
	for name, d := range doors {
		t.Run(name, func(t *testing.T) {
			for call, f := range callers(t, name, d.message) {
				want, ok := d.calls[call]
				if !ok {
					want = both(codes.Unimplemented)
				}
				codes := []codes.Code{codes.Unauthenticated, want[0], want[1]}
				for i, person := range people {
					if got := status.Code(f(person())); got != codes[i] {
						t.Errorf("%s as %s: %s, want %s", call, []string{"nobody", "eve", "admin"}[i], got, codes[i])
					}
				}
			}
		})
	}
}

// callers returns every call that can carry a command, or the one that carries an action.
func callers(t *testing.T, name string, m proto.Message) map[string]func(*client) error {
	packed := pack(t, m)
	if a, err := findAction(name); err == nil || name == "UnknownAction" {
		body := packed
		if err == nil && !a.any {
			if body, err = proto.Marshal(m); err != nil {
				t.Fatal(err)
			}
		}
		return map[string]func(*client) error{act: func(c *client) error { return c.act(name, body) }}
	}
	d := &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: packed}
	return map[string]func(*client) error{
		info:   func(c *client) error { _, err := c.Client.Client.GetFlightInfo(c.ctx, d); return err },
		schema: func(c *client) error { _, err := c.Client.Client.GetSchema(c.ctx, d); return err },
		get:    func(c *client) error { _, err := c.read(&flight.Ticket{Ticket: packed}); return err },
		put: func(c *client) error {
			_, err := c.put(&flight.FlightData{FlightDescriptor: d})
			return err
		},
	}
}

// act runs an action and reads its answers.
func (c *client) act(name string, body []byte) error {
	_, err := c.action(name, body)
	return err
}

func (c *client) action(name string, body []byte) ([]byte, error) {
	s, err := c.Client.Client.DoAction(c.ctx, &flight.Action{Type: name, Body: body})
	if err != nil {
		return nil, err
	}
	out, err := s.Recv()
	return out.GetBody(), err
}

// put sends raw messages and returns the answer.
func (c *client) put(messages ...*flight.FlightData) ([]byte, error) {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	s, err := c.Client.Client.DoPut(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		if s.Send(m) != nil {
			break // Recv has the reason
		}
	}
	_ = s.CloseSend()
	out, err := s.Recv()
	return out.GetAppMetadata(), err
}

// The calls that no command goes through.
func TestOtherCalls(t *testing.T) {
	r := newRig(t)
	admin := r.login("admin")
	for name, f := range map[string]func(c *client) error{
		"ListFlights": func(c *client) error {
			s, err := c.Client.Client.ListFlights(c.ctx, &flight.Criteria{})
			if err == nil {
				_, err = s.Recv()
			}
			return err
		},
		"DoExchange": func(c *client) error {
			s, err := c.Client.Client.DoExchange(c.ctx)
			if err == nil {
				_, err = s.Recv()
			}
			return err
		},
	} {
		wantCode(t, f(r.dial()), codes.Unauthenticated)
		if err := f(admin); status.Code(err) != codes.Unimplemented {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// ListActions lists what does something, with the session's actions, and nothing else.
func TestListActions(t *testing.T) {
	r := newRig(t)
	list := func(c *client) (out []string, err error) {
		s, err := c.Client.Client.ListActions(c.ctx, &flight.Empty{})
		for err == nil {
			var a *flight.ActionType
			if a, err = s.Recv(); err == nil {
				out = append(out, a.Type)
			}
		}
		return out, err
	}
	_, err := list(r.dial())
	wantCode(t, err, codes.Unauthenticated)
	got, _ := list(r.login("admin"))
	want := "CreatePreparedStatement ClosePreparedStatement CancelFlightInfo CancelQuery SetSessionOptions GetSessionOptions CloseSession"
	if strings.Join(got, " ") != want {
		t.Errorf("got %s", got)
	}
}

func TestPollFlightInfo(t *testing.T) {
	r := newRig(t)
	d := &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: pack(t, &pb.CommandStatementQuery{Query: "SELECT 'one'"})}
	admin := r.login("admin")
	poll, err := admin.Client.Client.PollFlightInfo(admin.ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	if poll.FlightDescriptor != nil || poll.GetProgress() != 1 {
		t.Error("the result is not reported as complete")
	}
	if got, err := admin.read(poll.Info.Endpoint[0].Ticket); err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	eve := r.login("eve")
	_, err = eve.Client.Client.PollFlightInfo(eve.ctx, d)
	wantCode(t, err, codes.PermissionDenied)
}

// Input that is not even a command must neither crash the server nor look like a fault of it.
func TestMalformed(t *testing.T) {
	r := newRig(t)
	c := r.login("admin")
	cmd := func(b []byte) *flight.FlightDescriptor {
		return &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: b}
	}
	truncated := pack(t, &pb.CommandStatementQuery{Query: "SELECT 'one'"})
	truncated = truncated[:len(truncated)-3]
	for name, d := range map[string]*flight.FlightDescriptor{
		"empty": cmd(nil), "garbage": cmd([]byte{0xff, 0xff, 0x01}), "truncated": cmd(truncated),
		"path": {Type: flight.DescriptorPATH, Path: []string{"a"}}, "unknown kind": {},
	} {
		_, err := c.Client.Client.GetFlightInfo(c.ctx, d)
		if status.Code(err) != codes.InvalidArgument {
			t.Errorf("GetFlightInfo of %s: %v", name, err)
		}
		_, err = c.put(&flight.FlightData{FlightDescriptor: d})
		if status.Code(err) != codes.InvalidArgument {
			t.Errorf("DoPut of %s: %v", name, err)
		}
	}
	_, err := c.put(&flight.FlightData{})
	wantCode(t, err, codes.InvalidArgument)
	_, err = c.put()
	wantCode(t, err, codes.InvalidArgument)
	_, err = c.read(nil)
	wantCode(t, err, codes.InvalidArgument)
	wantCode(t, c.act("CreatePreparedStatement", []byte{0xff}), codes.InvalidArgument)
	wantCode(t, c.act("CreatePreparedStatement", pack(t, &pb.ActionBeginTransactionRequest{})), codes.InvalidArgument)
	wantCode(t, c.act("CancelFlightInfo", []byte{0xff}), codes.InvalidArgument)
	if got, err := c.query("SELECT 'one'"); err != nil || len(got) != 2 {
		t.Errorf("the server is not well any more: %v, %v", got, err)
	}
}
