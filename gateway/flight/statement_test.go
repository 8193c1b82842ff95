package flight

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

func TestQuery(t *testing.T) {
	r := newRig(t)
	admin := r.login("admin")
	info, err := admin.Execute(admin.ctx, "SELECT 'batches'")
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Endpoint) != 1 || len(info.Endpoint[0].Location) != 0 || info.TotalRecords != -1 || info.TotalBytes != -1 || len(info.Schema) == 0 {
		t.Errorf("drivers misread %v", info)
	}
	got, err := admin.texts(info, nil)
	if err != nil || len(got) != 6 || got[5][0] != "5" {
		t.Errorf("%v, %v", got, err)
	}
	described, err := admin.GetExecuteSchema(admin.ctx, "SELECT 'batches'")
	if err != nil {
		t.Fatal(err)
	}
	fromInfo, _ := flight.DeserializeSchema(info.Schema, memory.DefaultAllocator)
	fromSchema, _ := flight.DeserializeSchema(described.Schema, memory.DefaultAllocator)
	if !fromInfo.Equal(fromSchema) {
		t.Errorf("GetFlightInfo says %s, GetSchema %s", fromInfo, fromSchema)
	}
	if name, _ := fromInfo.Field(0).Metadata.GetValue(flightsql.TypeNameKey); name != "BIGINT" {
		t.Errorf("type name %q", name)
	}
}

// What a statement may not do is refused with a code that drivers understand, and a text of ours.
func TestRefusals(t *testing.T) {
	r := newRig(t)
	admin, alice := r.login("admin"), r.login("alice")
	for _, tt := range []struct {
		c    *client
		sql  string
		want codes.Code
	}{
		{admin, "SELEC 1", codes.InvalidArgument},
		{admin, "SELECT 1; SELECT 2", codes.Unimplemented},
		{admin, "DROP TABLE orders", codes.Unimplemented},
		{admin, "INSERT INTO orders VALUES (1)", codes.Unimplemented},
		{admin, "SELECT nope FROM orders", codes.InvalidArgument},
		{admin, "SELECT id FROM nope", codes.NotFound},
		{admin, "SELECT 'unbound'", codes.InvalidArgument},
		{admin, "SELECT 'conversion'", codes.InvalidArgument},
		{admin, "SELECT 'foreign'", codes.Internal},
		{admin, "SELECT 'panic'", codes.Internal},
		{admin, "SELECT 'dictionary'", codes.Unimplemented},
		{admin, "SELECT secret FROM orders", codes.OK},
		{alice, "SELECT secret FROM orders", codes.InvalidArgument},
		{admin, "SELECT id FROM payroll", codes.OK},
		{alice, "SELECT id FROM payroll", codes.NotFound},
		{alice, "SELECT id FROM orders", codes.OK},
	} {
		t.Run(tt.sql, func(t *testing.T) {
			_, err := tt.c.query(tt.sql)
			wantCode(t, err, tt.want)
			if s := status.Convert(err).Message(); strings.Contains(s, "canary") || strings.Contains(s, "Error:") {
				t.Errorf("text of the engine: %s", s)
			}
			_, err = tt.c.Prepare(tt.c.ctx, tt.sql)
			if tt.want == codes.NotFound || tt.want == codes.Unimplemented && tt.sql[0] != 'S' {
				wantCode(t, err, tt.want)
			}
		})
	}
	if log := r.log.String(); strings.Contains(log, "canary") {
		t.Errorf("text of a panic in the log: %s", log)
	}
}

// A hidden table answers exactly as one that does not exist.
func TestHiddenIsAbsent(t *testing.T) {
	r := newRig(t)
	alice := r.login("alice")
	for _, sql := range []string{"SELECT id FROM %s", "SELECT * FROM lake.shop.%s", "DESCRIBE %s"} {
		_, hidden := alice.query(fmt.Sprintf(sql, "payroll"))
		_, absent := alice.query(fmt.Sprintf(sql, "qayroll"))
		if hidden == nil || absent == nil {
			t.Fatalf("%s: %v and %v", sql, hidden, absent)
		}
		if a, b := hidden.Error(), strings.ReplaceAll(absent.Error(), "qayroll", "payroll"); a != b {
			t.Errorf("%q and %q", a, b)
		}
	}
}

// A ticket runs what GetFlightInfo made ready, once; redeemed again, it runs the statement anew, with the rights of
// that moment.
func TestTicketAgain(t *testing.T) {
	r := newRig(t)
	alice := r.login("alice")
	info, err := alice.Execute(alice.ctx, "SELECT 'one'")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		got, err := alice.read(info.Endpoint[0].Ticket)
		if err != nil || len(got) != 2 {
			t.Errorf("read %d: %v, %v", i, got, err)
		}
	}
	started := 0
	for _, e := range r.journal.events {
		if e.Outcome == "started" {
			started++
		}
	}
	if started != 3 {
		t.Errorf("%d runs were recorded", started)
	}
}

// A statement that returns no rows runs exactly once, whichever way it is sent.
func TestStatementsWithoutRows(t *testing.T) {
	r := newRig(t)
	ways := map[string]func(c *client, sql string) error{
		"query": func(c *client, sql string) error {
			info, err := c.Execute(c.ctx, sql)
			if err != nil {
				return err
			}
			for range 2 {
				if got, err := c.texts(info, nil); err != nil || len(got) != 0 {
					return fmt.Errorf("%v, %w", got, err)
				}
			}
			return nil
		},
		"update": func(c *client, sql string) error {
			n, err := c.ExecuteUpdate(c.ctx, sql)
			if err == nil && n != 0 {
				err = fmt.Errorf("%d rows", n)
			}
			return err
		},
		"prepared query": func(c *client, sql string) error {
			p, err := c.Prepare(c.ctx, sql)
			if err != nil {
				return err
			}
			defer p.Close(c.ctx)
			info, err := p.Execute(c.ctx)
			if err != nil {
				return err
			}
			_, err = c.texts(info, nil)
			return err
		},
		"prepared update": func(c *client, sql string) error {
			p, err := c.Prepare(c.ctx, sql)
			if err != nil {
				return err
			}
			defer p.Close(c.ctx)
			n, err := p.ExecuteUpdate(c.ctx)
			if err == nil && n != 0 {
				err = fmt.Errorf("%d rows", n)
			}
			return err
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			c := r.login("alice")
			before := r.journal.count("set")
			if err := way(c, "SET purpose = 'audit'"); err != nil {
				t.Fatal(err)
			}
			if got := c.option("purpose"); got != "audit" {
				t.Errorf("purpose is %q", got)
			}
			if n := r.journal.count("set") - before; n != 1 {
				t.Errorf("it ran %d times", n)
			}
			for _, sql := range []string{"BEGIN", "ROLLBACK", "COMMIT"} {
				if err := way(c, sql); err != nil {
					t.Errorf("%s: %v", sql, err)
				}
			}
			wantCode(t, way(c, "DELETE FROM orders"), codes.Unimplemented)
		})
	}
}

// count returns how many statements of a kind were run, not only prepared.
func (j *journal) count(kind string) (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range j.events {
		if e.Kind == kind && e.Action != "prepare" && e.Outcome != "started" {
			n++
		}
	}
	return n
}

// GetSchema and preparing run nothing.
func TestDescribingRunsNothing(t *testing.T) {
	c := newRig(t).login("alice")
	if _, err := c.GetExecuteSchema(c.ctx, "SET purpose = 'audit'"); err != nil {
		t.Fatal(err)
	}
	p, err := c.Prepare(c.ctx, "SET purpose = 'audit'")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.GetSchema(c.ctx); err != nil {
		t.Error(err)
	}
	if got := c.option("purpose"); got != "" {
		t.Errorf("purpose is %q", got)
	}
}

func TestPrepared(t *testing.T) {
	r := newRig(t)
	c := r.login("alice")
	p, err := c.Prepare(c.ctx, "SELECT 'batches'")
	if err != nil {
		t.Fatal(err)
	}
	if p.DatasetSchema() == nil || p.DatasetSchema().NumFields() != 1 || p.ParameterSchema() != nil && p.ParameterSchema().NumFields() != 0 {
		t.Errorf("schemas %v, %v", p.DatasetSchema(), p.ParameterSchema())
	}
	for range 2 {
		info, err := p.Execute(c.ctx)
		got, err := c.texts(info, err)
		if err != nil || len(got) != 6 {
			t.Errorf("%v, %v", got, err)
		}
	}
	got, err := c.read(&flight.Ticket{Ticket: pack(t, &pb.CommandPreparedStatementQuery{PreparedStatementHandle: p.Handle()})})
	if err != nil || len(got) != 6 {
		t.Errorf("straight to DoGet: %v, %v", got, err)
	}
	info, err := p.Execute(c.ctx)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // drivers close twice
		wantCode(t, c.act("ClosePreparedStatement", pack(t, &pb.ActionClosePreparedStatementRequest{PreparedStatementHandle: p.Handle()})), codes.OK)
	}
	_, err = p.Execute(c.ctx)
	wantCode(t, err, codes.NotFound)
	_, err = c.read(info.Endpoint[0].Ticket)
	wantCode(t, err, codes.NotFound)
}

// is_update and the schemas decide how drivers execute.
func TestPreparedIsUpdate(t *testing.T) {
	c := newRig(t).login("alice")
	for sql, update := range map[string]bool{"SELECT 'one'": false, "SHOW TABLES": false, "SET purpose = 'a'": true, "BEGIN": true} {
		body, err := c.action("CreatePreparedStatement", pack(t, &pb.ActionCreatePreparedStatementRequest{Query: sql}))
		if err != nil {
			t.Fatal(err)
		}
		var got pb.ActionCreatePreparedStatementResult
		unpack(t, body, &got)
		if got.IsUpdate == nil || *got.IsUpdate != update || (len(got.DatasetSchema) == 0) != update {
			t.Errorf("%s: is_update %v, schema of %d bytes", sql, got.IsUpdate, len(got.DatasetSchema))
		}
	}
}

// bindRows makes rows of one text and one number.
func bindRows(texts []string, numbers []int64) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "0", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "1", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	}, nil))
	defer b.Release()
	b.Field(0).(*array.StringBuilder).AppendValues(texts, nil)
	b.Field(1).(*array.Int64Builder).AppendValues(numbers, nil)
	return b.NewRecordBatch()
}

const withParams = "SELECT id FROM orders WHERE concat(secret, ?) = 'x' AND id + ? > 0" // both stay parameters

func TestBind(t *testing.T) {
	r := newRig(t)
	c := r.login("admin")
	p, err := c.Prepare(c.ctx, withParams)
	if err != nil {
		t.Fatal(err)
	}
	if s := p.ParameterSchema(); s.NumFields() != 2 || s.Field(0).Name != "" {
		t.Errorf("parameters %s", s)
	}
	original := p.Handle()
	_, err = p.Execute(c.ctx)
	wantCode(t, err, codes.InvalidArgument)

	p.SetParameters(bindRows([]string{"a", "b", "c"}, []int64{1, 2, 3}))
	info, err := p.Execute(c.ctx)
	got, err := c.texts(info, err)
	want := [][]string{{"string [a 1]"}, {"string [b 2]"}, {"string [c 3]"}}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("several rows: %v, %v", got, err)
	}
	if string(original) != string(p.Handle()) {
		// A client may go on with either.
		t.Error("the handle changed")
	}

	// A ticket keeps the values that it was given out with.
	first, err := p.Execute(c.ctx)
	if err != nil {
		t.Fatal(err)
	}
	p.SetParameters(bindRows([]string{"z"}, []int64{26}))
	second, err := p.Execute(c.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.texts(first, nil); err != nil || len(got) != 3 {
		t.Errorf("the first ticket: %v, %v", got, err)
	}
	if got, err := c.texts(second, nil); err != nil || fmt.Sprint(got) != "[[string [z 26]]]" {
		t.Errorf("the second ticket: %v, %v", got, err)
	}

	// No rows: no execution, an empty result. The client library does not send these.
	if err := c.bind(p.Handle(), bindRows(nil, nil)); err != nil {
		t.Fatal(err)
	}
	if got, err := c.read(&flight.Ticket{Ticket: pack(t, &pb.CommandPreparedStatementQuery{PreparedStatementHandle: p.Handle()})}); err != nil || len(got) != 0 {
		t.Errorf("no rows: %v, %v", got, err)
	}
}

// bind sends b's rows for a handle.
func (c *client) bind(handle []byte, b arrow.RecordBatch) error {
	defer b.Release()
	s, err := c.Client.Client.DoPut(c.ctx)
	if err != nil {
		return err
	}
	w := flight.NewRecordWriter(s, ipc.WithSchema(b.Schema()))
	w.SetFlightDescriptor(&flight.FlightDescriptor{
		Type: flight.DescriptorCMD,
		Cmd:  pack(c.t, &pb.CommandPreparedStatementQuery{PreparedStatementHandle: handle}),
	})
	if err := w.Write(b); err != nil {
		return err
	}
	_ = s.CloseSend()
	_, err = s.Recv()
	return err
}

func TestBindRefused(t *testing.T) {
	r := newRig(t)
	c := r.login("admin")
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "0", Type: arrow.PrimitiveTypes.Int64}}, nil))
	defer b.Release()
	b.Field(0).(*array.Int64Builder).Append(1)
	p, err := c.Prepare(c.ctx, withParams)
	if err != nil {
		t.Fatal(err)
	}
	p.SetParameters(b.NewRecordBatch())
	_, err = p.Execute(c.ctx)
	wantCode(t, err, codes.InvalidArgument)

	p.SetParameters(bindRows(make([]string, maxBoundRows+1), make([]int64, maxBoundRows+1)))
	_, err = p.Execute(c.ctx)
	wantCode(t, err, codes.ResourceExhausted)

	// Values for a statement without parameters are left over from another one.
	p, err = c.Prepare(c.ctx, "SELECT 'one'")
	if err != nil {
		t.Fatal(err)
	}
	p.SetParameters(bindRows([]string{"a"}, []int64{1}))
	info, err := p.Execute(c.ctx)
	if got, err := c.texts(info, err); err != nil || len(got) != 2 {
		t.Errorf("stray values: %v, %v", got, err)
	}
}

// Handles are good for the session that made them, while they last; every other use of one has the same answer.
func TestHandleAbuse(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Handles = HandleLimits{Ticket: time.Minute, Prepared: time.Hour} })
	owner, same, other := r.login("alice"), r.login("alice"), r.login("admin")
	info, err := owner.Execute(owner.ctx, "SELECT 'one'")
	if err != nil {
		t.Fatal(err)
	}
	p, err := owner.Prepare(owner.ctx, "SELECT 'one'")
	if err != nil {
		t.Fatal(err)
	}
	ticket := info.Endpoint[0].Ticket
	prepared := func(handle []byte) *flight.Ticket {
		return &flight.Ticket{Ticket: pack(t, &pb.CommandPreparedStatementQuery{PreparedStatementHandle: handle})}
	}
	var answers []string
	abuse := func(c *client, ticket *flight.Ticket) {
		t.Helper()
		_, err := c.read(ticket)
		wantCode(t, err, codes.NotFound)
		answers = append(answers, fmt.Sprint(err))
		err = c.act("CancelFlightInfo", marshal(t, &flight.CancelFlightInfoRequest{Info: &flight.FlightInfo{
			Endpoint: []*flight.FlightEndpoint{{Ticket: ticket}},
		}}))
		if !strings.Contains(string(ticket.Ticket), "CommandPrepared") {
			wantCode(t, err, codes.NotFound)
			answers = append(answers, fmt.Sprint(err))
		}
	}
	abuse(same, ticket)
	abuse(other, ticket)
	abuse(same, prepared(p.Handle()))
	abuse(other, prepared(p.Handle()))
	forged := pack(t, &pb.TicketStatementQuery{StatementHandle: slices.Repeat([]byte{7}, handleSize)})
	abuse(owner, &flight.Ticket{Ticket: forged})
	abuse(owner, &flight.Ticket{Ticket: pack(t, &pb.TicketStatementQuery{StatementHandle: p.Handle()})})
	abuse(owner, prepared(nil))

	// The other session cannot close or bind it either.
	wantCode(t, other.act("ClosePreparedStatement", pack(t, &pb.ActionClosePreparedStatementRequest{PreparedStatementHandle: p.Handle()})), codes.OK)
	_, err = other.put(&flight.FlightData{FlightDescriptor: &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: prepared(p.Handle()).Ticket}})
	wantCode(t, err, codes.NotFound)
	for _, tk := range []*flight.Ticket{ticket, prepared(p.Handle())} {
		if got, err := owner.read(tk); err != nil || len(got) != 2 {
			t.Errorf("the owner's is no good any more: %v, %v", got, err)
		}
	}
	r.clock.advance(time.Minute)
	abuse(owner, ticket)
	if _, err := owner.read(prepared(p.Handle())); err != nil {
		t.Error(err)
	}
	r.clock.advance(time.Hour)
	abuse(owner, prepared(p.Handle()))
	for _, a := range answers {
		if a != answers[0] {
			t.Errorf("%q and %q", a, answers[0])
		}
	}
}

func marshal(t *testing.T, m proto.Message) []byte {
	t.Helper()
	out, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func unpack(t *testing.T, body []byte, m proto.Message) {
	t.Helper()
	var wrapper anypb.Any
	if err := proto.Unmarshal(body, &wrapper); err != nil {
		t.Fatal(err)
	}
	if err := wrapper.UnmarshalTo(m); err != nil {
		t.Fatal(err)
	}
}

// What a ticket keeps ready is freed by the sweep, and when there is too much of it; the ticket stays good.
func TestTicketsCool(t *testing.T) {
	r := newRig(t)
	c := r.login("alice")
	running := func() int {
		n := 0
		r.server.logins.mu.Lock()
		defer r.server.logins.mu.Unlock()
		for _, l := range r.server.logins.ids {
			l.handles.mu.Lock()
			for _, e := range l.handles.byKey {
				if tk, ok := e.held.(*ticket); ok && tk.isReady() {
					n++
				}
			}
			l.handles.mu.Unlock()
		}
		return n
	}
	var infos []*flight.FlightInfo
	for range 100 { // more than one user may run at once
		info, err := c.Execute(c.ctx, "SELECT 'one'")
		if err != nil {
			t.Fatal(err)
		}
		infos = append(infos, info)
	}
	if n := running(); n != maxReady {
		t.Errorf("%d are ready", n)
	}
	r.clock.advance(2 * time.Minute)
	r.server.logins.sweep()
	if n := running(); n != 0 {
		t.Errorf("%d are ready after the sweep", n)
	}
	for _, i := range []int{0, 99} {
		if got, err := c.read(infos[i].Endpoint[0].Ticket); err != nil || len(got) != 2 {
			t.Errorf("ticket %d: %v, %v", i, got, err)
		}
	}
	r.clock.advance(11 * time.Minute)
	r.server.logins.sweep()
	_, err := c.read(infos[99].Endpoint[0].Ticket)
	wantCode(t, err, codes.NotFound)
}

func TestHandleCount(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Handles.Count = 3 })
	c := r.login("alice")
	var ps []*flightsql.PreparedStatement
	for range 4 {
		p, err := c.Prepare(c.ctx, "SELECT 'one'")
		if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
		r.clock.advance(time.Second)
	}
	_, err := ps[0].GetSchema(c.ctx)
	wantCode(t, err, codes.NotFound)
	_, err = ps[3].GetSchema(c.ctx)
	wantCode(t, err, codes.OK)
}

func TestTransactionIDIsRefused(t *testing.T) {
	c := newRig(t).login("admin")
	id := []byte("tx")
	_, err := c.Client.Client.GetFlightInfo(c.ctx, &flight.FlightDescriptor{
		Type: flight.DescriptorCMD,
		Cmd:  pack(t, &pb.CommandStatementQuery{Query: "SELECT 'one'", TransactionId: id}),
	})
	wantCode(t, err, codes.InvalidArgument)
	wantCode(t, c.act("CreatePreparedStatement", pack(t, &pb.ActionCreatePreparedStatementRequest{Query: "SELECT 'one'", TransactionId: id})), codes.InvalidArgument)
	_, err = c.put(&flight.FlightData{FlightDescriptor: &flight.FlightDescriptor{
		Type: flight.DescriptorCMD,
		Cmd:  pack(t, &pb.CommandStatementUpdate{Query: "BEGIN", TransactionId: id}),
	}})
	wantCode(t, err, codes.InvalidArgument)
}

// Many calls of one session at once do not mix their handles up.
func TestAtOnce(t *testing.T) {
	r := newRig(t)
	c := r.login("admin")
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			p, err := c.Prepare(c.ctx, withParams)
			if err != nil {
				t.Error(err)
				return
			}
			p.SetParameters(bindRows([]string{fmt.Sprint("v", i)}, []int64{int64(i)}))
			info, err := p.Execute(c.ctx)
			got, err := c.texts(info, err)
			if err != nil || fmt.Sprint(got) != fmt.Sprintf("[[string [v%d %d]]]", i, i) {
				t.Errorf("%d: %v, %v", i, got, err)
			}
			if err := p.Close(c.ctx); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
