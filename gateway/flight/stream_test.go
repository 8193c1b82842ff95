package flight

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// An error in the middle of a stream reaches the client, after the rows before it.
func TestErrorMidStream(t *testing.T) {
	c := newRig(t).login("admin")
	got, err := c.query("SELECT 'conversion'")
	if len(got) != 2 {
		t.Errorf("rows before the error: %v", got)
	}
	wantCode(t, err, codes.InvalidArgument)
}

// A silent stream sends empty batches, the first with the schema.
func TestHeartbeat(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Heartbeat = 5 * time.Millisecond })
	c := r.login("admin")
	info, err := c.Execute(c.ctx, "SELECT 'slow'")
	if err != nil {
		t.Fatal(err)
	}
	reader, err := c.DoGet(c.ctx, info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Release()
	for range 3 {
		if !reader.Next() || reader.RecordBatch().NumRows() != 0 {
			t.Fatalf("no empty batch: %v", reader.Err())
		}
	}
	close(r.engine.free)
	got, err := numbers(reader)
	if err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
}

// Each way of going away ends the statement; the rig checks that nothing is left of it.
func TestCancel(t *testing.T) {
	for name, stop := range map[string]func(c *client, info *flight.FlightInfo, cancel func()){
		"the client's context": func(_ *client, _ *flight.FlightInfo, cancel func()) { cancel() },
		"CancelFlightInfo": func(c *client, info *flight.FlightInfo, _ func()) {
			got, err := c.CancelFlightInfo(c.ctx, &flight.CancelFlightInfoRequest{Info: info})
			if err != nil || got.Status != flight.CancelStatusCancelled {
				c.t.Errorf("%v, %v", got, err)
			}
		},
		"CancelQuery": func(c *client, info *flight.FlightInfo, _ func()) {
			//nolint:staticcheck // drivers still send it
			if got := c.cancelQuery(info); got != pb.ActionCancelQueryResult_CANCEL_RESULT_CANCELLED {
				c.t.Error(got)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			c := r.login("admin")
			info, err := c.Execute(c.ctx, "SELECT 'hang'")
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(c.ctx)
			defer cancel()
			reader, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Release()
			<-r.engine.started
			stop(c, info, cancel)
			for reader.Next() {
			}
			if err := reader.Err(); err == nil || err == io.EOF {
				t.Errorf("the stream ended as if it were whole: %v", err)
			} else if !strings.Contains(err.Error(), "ancel") {
				t.Error(err)
			}
		})
	}
}

// A statement that was cancelled before it was read does not run.
func TestCancelBeforeReading(t *testing.T) {
	r := newRig(t)
	c := r.login("admin")
	info, err := c.Execute(c.ctx, "SELECT 'one'")
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.CancelFlightInfo(c.ctx, &flight.CancelFlightInfoRequest{Info: info})
	if err != nil || got.Status != flight.CancelStatusCancelled {
		t.Errorf("%v, %v", got, err)
	}
	before := r.journal.count("select")
	_, err = c.read(info.Endpoint[0].Ticket)
	wantCode(t, err, codes.Canceled)
	if n := r.journal.count("select") - before; n != 0 {
		t.Errorf("it went through the gateway %d times more", n)
	}
}

// A reader that stops without an error because its context ended has not given all rows.
func TestProducerNeverEndsEarly(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := &producer{out: make(chan arrow.RecordBatch)}
	p.run(ctx, r.server, &fakeReader{p: &fakePrepared{engine: r.engine}, ctx: ctx})
	if p.err == nil {
		t.Error("the stream counts as whole")
	}
}

// A session that has ended takes no more handles: nobody would ever close them.
func TestHandlesOfEndedSession(t *testing.T) {
	r := newRig(t)
	hs := newHandles(r.server.cfg)
	if _, err := hs.add(&prepared{}); err != nil {
		t.Fatal(err)
	}
	hs.closeAll()
	if _, err := hs.add(&prepared{}); err == nil {
		t.Error("a handle was added")
	}
}

// A finished statement, and metadata, is nothing to cancel.
func TestNotCancellable(t *testing.T) {
	c := newRig(t).login("admin")
	info, err := c.Execute(c.ctx, "SELECT 'one'")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.read(info.Endpoint[0].Ticket); err != nil {
		t.Fatal(err)
	}
	meta, err := c.GetCatalogs(c.ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []*flight.FlightInfo{info, meta} {
		got, err := c.CancelFlightInfo(c.ctx, &flight.CancelFlightInfoRequest{Info: i})
		if err != nil || got.Status != flight.CancelStatusNotCancellable {
			t.Errorf("%v, %v", got, err)
		}
		if got := c.cancelQuery(i); got != pb.ActionCancelQueryResult_CANCEL_RESULT_NOT_CANCELLABLE {
			t.Error(got)
		}
	}
	//nolint:staticcheck // drivers still send it
	_, err = c.action("CancelQuery", pack(t, &pb.ActionCancelQueryRequest{Info: []byte{0xff}}))
	wantCode(t, err, codes.InvalidArgument)
}

// cancelQuery cancels in the older form.
//
//nolint:staticcheck // drivers still send it
func (c *client) cancelQuery(info *flight.FlightInfo) pb.ActionCancelQueryResult_CancelResult {
	c.t.Helper()
	body, err := c.action("CancelQuery", pack(c.t, &pb.ActionCancelQueryRequest{Info: marshal(c.t, info)}))
	if err != nil {
		c.t.Fatal(err)
	}
	var wrapped anypb.Any
	var out pb.ActionCancelQueryResult
	if err := errors.Join(proto.Unmarshal(body, &wrapped), wrapped.UnmarshalTo(&out)); err != nil {
		c.t.Fatal(err)
	}
	return out.Result
}

// What goes over the wire holds nothing that came from below but names, types and values.
func TestWireHoldsNoMetadataFromBelow(t *testing.T) {
	c := newRig(t).login("admin")
	info, err := c.Execute(c.ctx, "SELECT 'metadata'")
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Client.Client.DoGet(c.ctx, info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	wire := string(info.Schema)
	messages := 0
	for {
		d, err := s.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		messages++
		wire += string(d.DataHeader) + string(d.DataBody) + string(d.AppMetadata)
	}
	if messages != 2 || !strings.Contains(wire, "BIGINT") {
		t.Errorf("%d messages", messages)
	}
	if strings.Contains(wire, "canary") {
		t.Error("metadata from below is on the wire")
	}
}

// Closing lets running statements end, cuts off those that do not, and refuses new ones.
func TestDrain(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Heartbeat = 5 * time.Millisecond }) // the client waits for the schema
	c := r.login("admin")
	info, err := c.Execute(c.ctx, "SELECT 'slow'")
	if err != nil {
		t.Fatal(err)
	}
	reader, err := c.DoGet(c.ctx, info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Release()
	<-r.engine.started
	closed := make(chan error, 1)
	go func() { closed <- r.server.Close(context.Background()) }()
	select {
	case err := <-closed:
		t.Fatalf("closed over a running statement: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	close(r.engine.free)
	if got, err := numbers(reader); err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	_, err = c.query("SELECT 'one'")
	wantCode(t, err, codes.Unavailable)
}

func TestDrainCutsOff(t *testing.T) {
	r := newRig(t)
	c := r.login("admin")
	info, err := c.Execute(c.ctx, "SELECT 'hang'")
	if err != nil {
		t.Fatal(err)
	}
	reader, err := c.DoGet(c.ctx, info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Release()
	<-r.engine.started
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.server.Close(ctx); err == nil {
		t.Error("a call was cut off without a word")
	}
	for reader.Next() {
	}
	if reader.Err() == nil {
		t.Error("the stream ended as if it were whole")
	}
}

// If the audit log cannot be written, no row goes out.
func TestNoAuditNoRows(t *testing.T) {
	r := newRig(t)
	c := r.login("admin")
	info, err := c.Execute(c.ctx, "SELECT 'one'")
	if err != nil {
		t.Fatal(err)
	}
	r.journal.mu.Lock()
	r.journal.full = true
	r.journal.mu.Unlock()
	got, err := c.read(info.Endpoint[0].Ticket)
	if len(got) != 0 {
		t.Errorf("rows: %v", got)
	}
	wantCode(t, err, codes.Unavailable)
}
