package flight

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// FuzzCommand sends any bytes as a command, a ticket and a body, as somebody without rights. No input ends the process, is
// answered with a fault of the server's, or gives out rows of a table.
func FuzzCommand(f *testing.F) {
	for _, d := range doors {
		packed := pack(f, d.message)
		f.Add(packed, "CreatePreparedStatement")
		f.Add(packed[:len(packed)/2], "CancelFlightInfo")
	}
	f.Add([]byte{}, "")
	r := fuzzRig(f)
	f.Cleanup(func() {
		if err := r.server.Close(context.Background()); err != nil {
			f.Error(err)
		}
	})
	eve := signedIn(f, r, "eve")
	f.Fuzz(func(t *testing.T, in []byte, name string) {
		ctx := context.WithValue(t.Context(), loginKey{}, eve)
		d := &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: in}
		_, err := r.server.GetFlightInfo(ctx, d)
		noFault(t, err)
		_, err = r.server.GetSchema(ctx, d)
		noFault(t, err)
		out := &sink{ctx: ctx}
		noFault(t, r.server.DoGet(&flight.Ticket{Ticket: in}, out))
		if bytes.Contains(out.body.Bytes(), []byte("payroll")) {
			t.Error("a hidden table was listed")
		}
		noFault(t, r.server.DoPut(&source{sink: sink{ctx: ctx}, in: []*flight.FlightData{{FlightDescriptor: d, DataHeader: in, DataBody: in}}}))
		noFault(t, r.server.DoAction(&flight.Action{Type: name, Body: in}, &actionStream{sink{ctx: ctx}}))
		if name == "CloseSession" {
			eve = signedIn(t, r, "eve")
		}
	})
}

// FuzzBind sends any bytes as the values of parameters.
func FuzzBind(f *testing.F) {
	for _, m := range encoded(f) {
		f.Add(m.DataHeader, m.DataBody)
	}
	f.Fuzz(func(t *testing.T, header, body []byte) {
		messages := encoded(t)
		u := &upload{first: messages[0], rest: &source{in: []*flight.FlightData{{DataHeader: header, DataBody: body}, messages[1]}}}
		if _, err := u.rows(2); err != nil {
			noFault(t, err)
		}
		u = &upload{first: &flight.FlightData{DataHeader: header, DataBody: body}, rest: &source{in: messages[1:]}}
		if _, err := u.rows(2); err != nil {
			noFault(t, err)
		}
	})
}

// A compressed buffer that claims to hold exabytes must not be allocated.
func TestBindBomb(t *testing.T) {
	b := bindRows([]string{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}, []int64{1})
	defer b.Release()
	for _, size := range []uint64{maxBoundBytes + 1, 1 << 40, math.MaxInt64} {
		c := &capture{}
		w := flight.NewRecordWriter(c, ipc.WithSchema(b.Schema()), ipc.WithZstd())
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
		u := &upload{first: c.out[0], rest: &source{in: c.out[1:]}}
		if rows, err := u.rows(2); err != nil || len(rows) != 1 {
			t.Fatalf("compressed values are not read: %v, %v", rows, err)
		}
		body := c.out[1].DataBody
		found := false
		for i := 0; i+8 <= len(body); i += 8 {
			if n := binary.LittleEndian.Uint64(body[i:]); n == uint64(b.Column(0).(*array.String).ValueLen(0)) {
				binary.LittleEndian.PutUint64(body[i:], size)
				found = true
				break
			}
		}
		if !found {
			t.Fatal("no compressed buffer")
		}
		u = &upload{first: c.out[0], rest: &source{in: c.out[1:]}}
		if rows, err := u.rows(2); err == nil {
			t.Errorf("read %v", rows)
		}
	}
}

func fuzzRig(t testing.TB) *rig {
	e := &fakeEngine{mem: memory.DefaultAllocator}
	r := &rig{users: &users{}, engine: e}
	r.gateway = newGateway(t, e, &journal{})
	s, err := New(Config{Gateway: r.gateway, Auth: r.users})
	if err != nil {
		t.Fatal(err)
	}
	r.server = s
	return r
}

func signedIn(t testing.TB, r *rig, user string) *login {
	c, err := r.server.logins.open(context.Background(), r.users.identity(user), "fuzz", "fuzz")
	if err != nil {
		t.Fatal(err)
	}
	return c.login
}

func noFault(t *testing.T, err error) {
	t.Helper()
	if c := status.Code(toStatus(err)); c == codes.Internal || c == codes.Unknown || c == codes.DataLoss {
		t.Errorf("%s: %v", c, err)
	}
}

// encoded returns the messages of two rows of values.
func encoded(t testing.TB) []*flight.FlightData {
	b := bindRows([]string{"a", "b"}, []int64{1, 2})
	defer b.Release()
	c := &capture{}
	w := flight.NewRecordWriter(c, ipc.WithSchema(b.Schema()))
	if err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	return c.out
}

// capture keeps what is sent.
type capture struct{ out []*flight.FlightData }

func (c *capture) Send(d *flight.FlightData) error {
	c.out = append(c.out, &flight.FlightData{DataHeader: bytes.Clone(d.DataHeader), DataBody: bytes.Clone(d.DataBody)})
	return nil
}

// sink is a server's stream that goes nowhere.
type sink struct {
	ctx  context.Context
	body bytes.Buffer
}

func (s *sink) Send(d *flight.FlightData) error {
	s.body.Write(d.DataBody)
	return nil
}
func (s *sink) Context() context.Context     { return s.ctx }
func (s *sink) SetHeader(metadata.MD) error  { return nil }
func (s *sink) SendHeader(metadata.MD) error { return nil }
func (s *sink) SetTrailer(metadata.MD)       {}
func (s *sink) SendMsg(any) error            { return nil }
func (s *sink) RecvMsg(any) error            { return io.EOF }

type actionStream struct{ sink }

func (a *actionStream) Send(*flight.Result) error { return nil }

// source is a client's stream.
type source struct {
	sink
	in []*flight.FlightData
}

func (s *source) Send(*pb.PutResult) error { return nil }
func (s *source) Recv() (*flight.FlightData, error) {
	if len(s.in) == 0 {
		return nil, io.EOF
	}
	d := s.in[0]
	s.in = s.in[1:]
	return d, nil
}
