package flight

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/protobuf/proto"
)

// cancelInfo cancels what a FlightInfo's tickets stand for, if they are of this session.
func (s *Server) cancelInfo(_ context.Context, l *login, m proto.Message) (proto.Message, error) {
	any, err := s.cancel(l, m.(*pb.CancelFlightInfoRequest).GetInfo())
	if err != nil {
		return nil, err
	}
	if !any {
		return &pb.CancelFlightInfoResult{Status: flight.CancelStatusNotCancellable}, nil
	}
	return &pb.CancelFlightInfoResult{Status: flight.CancelStatusCancelled}, nil
}

// cancelQuery is cancelInfo in the older form.
func (s *Server) cancelQuery(_ context.Context, l *login, m proto.Message) (proto.Message, error) {
	//nolint:staticcheck // drivers still send the deprecated action
	req := m.(*pb.ActionCancelQueryRequest)
	var info flight.FlightInfo
	if proto.Unmarshal(req.GetInfo(), &info) != nil {
		return nil, errCommand
	}
	any, err := s.cancel(l, &info)
	if err != nil {
		return nil, err
	}
	//nolint:staticcheck // as above
	out := &pb.ActionCancelQueryResult{Result: pb.ActionCancelQueryResult_CANCEL_RESULT_NOT_CANCELLABLE}
	if any {
		out.Result = pb.ActionCancelQueryResult_CANCEL_RESULT_CANCELLED
	}
	return out, nil
}

// cancel reports whether anything was there to be ended. A ticket that is not of this session is no ticket; one that is a
// metadata command runs too shortly to be cancelled.
func (s *Server) cancel(l *login, info *flight.FlightInfo) (bool, error) {
	if len(info.GetEndpoint()) == 0 {
		return false, errHandle
	}
	found := false
	for _, e := range info.GetEndpoint() {
		_, m, err := open(e.GetTicket().GetTicket())
		if err != nil {
			return false, errHandle
		}
		q, ok := m.(*pb.TicketStatementQuery)
		if !ok {
			continue
		}
		t, done, err := use[*ticket](l.handles, q.GetStatementHandle())
		if err != nil {
			return false, err
		}
		if t.cancel() {
			found = true
		}
		done()
	}
	return found, nil
}
