package flight

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/protobuf/proto"

	"gatehouse/classify"
	"gatehouse/gateway"
	"gatehouse/policy"
)

// setOptions sets session options, each for itself: the answer names those that could not be set.
func (s *Server) setOptions(ctx context.Context, l *login, m proto.Message) (proto.Message, error) {
	out := &pb.SetSessionOptionsResult{Errors: map[string]*pb.SetSessionOptionsResult_Error{}}
	options := m.(*pb.SetSessionOptionsRequest).GetSessionOptions()
	// A schema is looked up in the catalog that the same call names.
	for _, name := range orderOptions(options) {
		value, ok := optionText(options[name])
		if !ok {
			out.Errors[name] = &pb.SetSessionOptionsResult_Error{Value: flight.SetSessionOptionsResultErrorInvalidValue}
			continue
		}
		var err error
		if value == nil {
			err = s.cfg.Gateway.ResetOption(ctx, l.session(), name)
		} else {
			err = s.cfg.Gateway.SetOption(ctx, l.session(), name, *value)
		}
		if err == nil {
			continue
		}
		kind, ok := optionError(l, name, err)
		if !ok {
			return nil, err
		}
		out.Errors[name] = &pb.SetSessionOptionsResult_Error{Value: kind}
	}
	return out, nil
}

// optionError says what is wrong with an option; false if the call as a whole failed.
func optionError(l *login, name string, err error) (pb.SetSessionOptionsResult_ErrorValue, bool) {
	var (
		setting *gateway.SettingError
		missing *classify.NameError
		denied  *policy.DeniedError
	)
	switch {
	case errors.As(err, &setting):
		if _, known := l.session().Settings()[strings.ToLower(name)]; !known {
			return flight.SetSessionOptionsResultErrorInvalidName, true
		}
		return flight.SetSessionOptionsResultErrorInvalidValue, true
	case errors.As(err, &missing):
		return flight.SetSessionOptionsResultErrorInvalidValue, true
	case errors.As(err, &denied):
		return flight.SetSessionOptionsResultErrorError, true
	}
	return 0, false
}

// orderOptions returns the names with the catalog first and the schema second.
func orderOptions[V any](options map[string]V) []string {
	var first, rest []string
	for _, name := range sortedKeys(options) {
		switch strings.ToLower(name) {
		case "catalog":
			first = append([]string{name}, first...)
		case "schema":
			first = append(first, name)
		default:
			rest = append(rest, name)
		}
	}
	return append(first, rest...)
}

// optionText returns the value as text, since drivers send every kind for every option. It is nil if the option is to be
// reset, and not ok for a list.
func optionText(v *flight.SessionOptionValue) (*string, bool) {
	var out string
	switch v := v.GetOptionValue().(type) {
	case nil:
		return nil, true
	case *pb.SessionOptionValue_StringValue:
		out = v.StringValue
	case *pb.SessionOptionValue_BoolValue:
		out = strconv.FormatBool(v.BoolValue)
	case *pb.SessionOptionValue_Int64Value:
		out = strconv.FormatInt(v.Int64Value, 10)
	case *pb.SessionOptionValue_DoubleValue:
		out = strconv.FormatFloat(v.DoubleValue, 'g', -1, 64)
	default:
		return nil, false
	}
	return &out, true
}

// getOptions returns all options of the session.
func (s *Server) getOptions(_ context.Context, l *login, _ proto.Message) (proto.Message, error) {
	out := &pb.GetSessionOptionsResult{SessionOptions: map[string]*flight.SessionOptionValue{}}
	for name, value := range l.session().Settings() {
		out.SessionOptions[name] = &flight.SessionOptionValue{OptionValue: &pb.SessionOptionValue_StringValue{StringValue: value}}
	}
	return out, nil
}

// closeSession ends the session. Its token, its cookie and its handles are no good from then on.
func (s *Server) closeSession(_ context.Context, l *login, _ proto.Message) (proto.Message, error) {
	l.in.Load().Close()
	return &pb.CloseSessionResult{Status: flight.CloseSessionResultClosed}, nil
}
