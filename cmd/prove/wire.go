package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"gatehouse/gateway"
)

// wire runs a statement, or another call of the protocol, through the Flight SQL door and notes all that comes back.
func (t *twin) wire(ctx context.Context, p int, st *statement, o *observation) error {
	d, err := t.doors.door(ctx, t.gateways[p], p)
	if err != nil {
		return err
	}
	ctx = metadata.NewOutgoingContext(ctx, d.header)
	sql, args := st.render()
	o.door, o.search = true, !slices.ContainsFunc(canaryPatterns, func(c []byte) bool { return strings.Contains(sql, string(c)) })
	o.explain = strings.HasPrefix(sql, "EXPLAIN")
	var trailer metadata.MD
	info, err := d.info(ctx, st, sql, args, o, grpc.Trailer(&trailer))
	if err != nil {
		o.note("trailer", fmt.Sprint(trailer))
		return err
	}
	if info == nil {
		return nil
	}
	o.schema += fmt.Sprintf("%x records=%d bytes=%d ordered=%v metadata=%x", info.Schema, info.TotalRecords, info.TotalBytes, info.Ordered, info.AppMetadata)
	o.look(info.Schema, info.AppMetadata)
	for _, e := range info.Endpoint {
		o.schema += fmt.Sprintf(" endpoint locations=%v metadata=%x ticket of %d", e.Location, e.AppMetadata, len(e.GetTicket().GetTicket()))
		if err := d.get(ctx, e.Ticket, o); err != nil {
			return err
		}
	}
	return nil
}

// info asks for what st gives. Nil without an error: all is seen already.
func (d *door) info(ctx context.Context, st *statement, sql string, args []any, o *observation, opt grpc.CallOption) (*flight.FlightInfo, error) {
	switch {
	case st.call != nil:
		return st.call(ctx, d, o, opt)
	case len(args) == 0:
		return d.client.Execute(ctx, sql, opt)
	}
	s, err := d.client.Prepare(ctx, sql, opt)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close(ctx) }()
	o.schema = "prepared " + schemaText(s.DatasetSchema()) + " params " + schemaText(s.ParameterSchema()) + "\n"
	rec, err := record(args)
	if err != nil {
		return nil, err
	}
	defer rec.Release()
	s.SetParameters(rec)
	info, err := s.Execute(ctx, opt)
	if err != nil {
		return nil, err
	}
	o.schema += fmt.Sprintf("%x ", info.Schema)
	for _, e := range info.Endpoint { // while the statement is there
		if err := d.get(ctx, e.Ticket, o); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// record makes one row of values.
func record(args []any) (arrow.RecordBatch, error) {
	types := make([]arrow.Field, len(args))
	for i, a := range args {
		types[i] = arrow.Field{Name: fmt.Sprint(i + 1), Type: arrow.Null, Nullable: true}
		switch a.(type) {
		case string:
			types[i].Type = arrow.BinaryTypes.String
		case int64:
			types[i].Type = arrow.PrimitiveTypes.Int64
		case float64:
			types[i].Type = arrow.PrimitiveTypes.Float64
		case bool:
			types[i].Type = arrow.FixedWidthTypes.Boolean
		}
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(types, nil))
	defer b.Release()
	for i, a := range args {
		if err := appendValue(b.Field(i), a); err != nil {
			return nil, err
		}
	}
	return b.NewRecordBatch(), nil
}

// frames is a stream whose messages are noted as they come.
type frames struct {
	from pb.FlightService_DoGetClient
	o    *observation
}

func (f *frames) Recv() (*flight.FlightData, error) {
	m, err := f.from.Recv()
	if err == nil {
		f.o.look(m.DataHeader, m.DataBody, m.AppMetadata)
		if !f.o.explain { // which has ids of snapshots that the twins got by chance, see snapshots
			f.o.batches = append(f.o.batches, int64(len(m.DataHeader)), int64(len(m.DataBody)), int64(len(m.AppMetadata)))
		}
	}
	return m, err
}

// get reads a ticket's stream.
func (d *door) get(ctx context.Context, t *flight.Ticket, o *observation) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := d.client.Client.DoGet(ctx, t)
	if err != nil {
		return err
	}
	f := &frames{from: stream, o: o}
	r, err := flight.NewRecordReader(f)
	if err != nil {
		return err
	}
	defer r.Release()
	o.schema += " / " + schemaText(r.Schema())
	for r.Next() {
		o.batches = append(o.batches, r.RecordBatch().NumRows())
		o.read(r.RecordBatch(), o.explain)
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		o.note("trailer", fmt.Sprint(stream.Trailer()))
		return err
	}
	return nil
}

// look searches raw bytes for canaries.
func (o *observation) look(parts ...[]byte) {
	if !o.search || o.canary != "" {
		return
	}
	for _, b := range parts {
		for _, c := range canaryPatterns {
			if i := bytes.Index(b, c); i >= 0 {
				o.canary = fmt.Sprintf("%q", b[max(0, i-8):min(len(b), i+24)])
			}
		}
	}
}

// note adds something to what is compared.
func (o *observation) note(key, value string) {
	o.schema += " " + key + "=" + ids.ReplaceAllString(value, "ID")
}

// wireError is the code and all words of an error that came over the wire.
func (o *observation) wireError(err error) (class, text string) {
	s, ok := status.FromError(err)
	if !ok {
		if s, ok = status.FromError(errors.Unwrap(err)); !ok {
			return "not a status", err.Error()
		}
	}
	if s.Code() == codes.DeadlineExceeded || s.Message() == gateway.ErrTimeout.Error() {
		return "timeout", ""
	}
	details, _ := proto.Marshal(s.Proto())
	o.look(details)
	return "code " + s.Code().String(), fmt.Sprintf("%s %v", s.Message(), s.Details())
}
