package flight

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// open reads a packed command and finds its row.
func open(packed []byte) (*command, proto.Message, error) {
	var wrapper anypb.Any
	if len(packed) == 0 || proto.Unmarshal(packed, &wrapper) != nil {
		return nil, nil, errCommand
	}
	c, err := findCommand(wrapper.TypeUrl)
	if err != nil {
		return nil, nil, err
	}
	m := c.body()
	if proto.Unmarshal(wrapper.Value, m) != nil {
		return nil, nil, errCommand
	}
	return c, m, nil
}

// openDescriptor is open for a descriptor, of which only the kind that carries a command is used in Flight SQL.
func openDescriptor(d *flight.FlightDescriptor) (*command, proto.Message, error) {
	if d == nil || d.Type != flight.DescriptorCMD {
		return nil, nil, &callError{codes.InvalidArgument, "a flight is described by a Flight SQL command here, not by a path"}
	}
	return open(d.Cmd)
}

// GetFlightInfo describes a result and gives out the ticket for it: always one endpoint, without a location, and always
// with the schema, since drivers misread all else.
func (s *Server) GetFlightInfo(ctx context.Context, d *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	out, err := s.describe(ctx, d, true)
	if err != nil {
		return nil, err
	}
	ticket := out.ticket
	if ticket == nil {
		ticket = d.Cmd
	}
	return &flight.FlightInfo{
		Schema:           flight.SerializeSchema(out.schema, s.cfg.Alloc),
		FlightDescriptor: d,
		Endpoint:         []*flight.FlightEndpoint{{Ticket: &flight.Ticket{Ticket: ticket}}},
		TotalRecords:     -1,
		TotalBytes:       -1,
		Ordered:          true,
	}, nil
}

// PollFlightInfo is GetFlightInfo: a result is ready to be read as soon as it is described.
func (s *Server) PollFlightInfo(ctx context.Context, d *flight.FlightDescriptor) (*flight.PollInfo, error) {
	info, err := s.GetFlightInfo(ctx, d)
	if err != nil {
		return nil, err
	}
	done := 1.0
	return &flight.PollInfo{Info: info, Progress: &done}, nil
}

// GetSchema describes a result without making it.
func (s *Server) GetSchema(ctx context.Context, d *flight.FlightDescriptor) (*flight.SchemaResult, error) {
	out, err := s.describe(ctx, d, false)
	if err != nil {
		return nil, err
	}
	return &flight.SchemaResult{Schema: flight.SerializeSchema(out.schema, s.cfg.Alloc)}, nil
}

func (s *Server) describe(ctx context.Context, d *flight.FlightDescriptor, keep bool) (described, error) {
	l, err := loginOf(ctx)
	if err != nil {
		return described{}, err
	}
	c, m, err := openDescriptor(d)
	if err != nil {
		return described{}, err
	}
	if c.info == nil {
		return described{}, unimplemented(c.why)
	}
	return c.info(s, ctx, l, m, keep)
}

// DoGet streams a result.
func (s *Server) DoGet(t *flight.Ticket, stream flight.FlightService_DoGetServer) error {
	l, err := loginOf(stream.Context())
	if err != nil {
		return err
	}
	c, m, err := open(t.GetTicket())
	if err != nil {
		return err
	}
	if c.get == nil {
		return unimplemented(c.why)
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	r, err := c.get(s, ctx, l, m)
	if err != nil {
		return err
	}
	return s.send(ctx, cancel, stream, r)
}

// DoPut takes a command that changes something, or that carries values along.
func (s *Server) DoPut(stream flight.FlightService_DoPutServer) error {
	l, err := loginOf(stream.Context())
	if err != nil {
		return err
	}
	first, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		return errCommand
	}
	if err != nil {
		return err
	}
	c, m, err := openDescriptor(first.FlightDescriptor)
	if err != nil {
		return err
	}
	if c.put == nil {
		return unimplemented(c.why)
	}
	answer, err := c.put(s, stream.Context(), l, m, &upload{first: first, rest: stream})
	if err != nil {
		return err
	}
	packed, err := proto.Marshal(answer)
	if err != nil {
		return err
	}
	return stream.Send(&flight.PutResult{AppMetadata: packed})
}

// DoAction runs one action.
func (s *Server) DoAction(in *flight.Action, stream flight.FlightService_DoActionServer) error {
	l, err := loginOf(stream.Context())
	if err != nil {
		return err
	}
	a, err := findAction(in.GetType())
	if err != nil {
		return err
	}
	if a.run == nil {
		return unimplemented(a.why)
	}
	m, err := a.open(in.GetBody())
	if err != nil {
		return err
	}
	answer, err := a.run(s, stream.Context(), l, m)
	if err != nil {
		return err
	}
	body, err := a.pack(answer)
	if err != nil {
		return err
	}
	return stream.Send(&flight.Result{Body: body})
}

// open reads the request of an action.
func (a *action) open(body []byte) (proto.Message, error) {
	if a.any {
		var wrapper anypb.Any
		if proto.Unmarshal(body, &wrapper) != nil {
			return nil, errCommand
		}
		want := string(a.body().ProtoReflect().Descriptor().FullName())
		if wrapper.TypeUrl[strings.LastIndexByte(wrapper.TypeUrl, '/')+1:] != want {
			return nil, errCommand
		}
		body = wrapper.Value
	}
	m := a.body()
	if proto.Unmarshal(body, m) != nil {
		return nil, errCommand
	}
	return m, nil
}

// pack writes the response of an action; nil is an empty one.
func (a *action) pack(m proto.Message) ([]byte, error) {
	if m == nil {
		return nil, nil
	}
	if a.any {
		wrapper, err := anypb.New(m)
		if err != nil {
			return nil, err
		}
		m = wrapper
	}
	return proto.Marshal(m)
}

// ListActions lists the actions that do something.
func (s *Server) ListActions(_ *flight.Empty, stream flight.FlightService_ListActionsServer) error {
	if _, err := loginOf(stream.Context()); err != nil {
		return err
	}
	for _, a := range actions {
		if a.run == nil {
			continue
		}
		if err := stream.Send(&flight.ActionType{Type: a.name, Description: a.help}); err != nil {
			return err
		}
	}
	return nil
}

// ListFlights is refused: results exist only for those who asked for them.
func (s *Server) ListFlights(*flight.Criteria, flight.FlightService_ListFlightsServer) error {
	return unimplemented("flights are not listed, use GetTables")
}

// DoExchange is refused.
func (s *Server) DoExchange(flight.FlightService_DoExchangeServer) error {
	return unimplemented("DoExchange is not part of Flight SQL")
}
