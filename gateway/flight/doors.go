package flight

import (
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// described is what GetFlightInfo and GetSchema say of a command.
type described struct {
	schema *arrow.Schema
	ticket []byte // nil: the command itself is the ticket
}

// command is one row of the table of commands: what GetFlightInfo, GetSchema, DoGet and DoPut do with it. A column that
// is nil is refused as unimplemented, and why says the reason.
type command struct {
	name string // of the protobuf message, without its package
	body func() proto.Message
	// info describes the result. keep is false for GetSchema, which runs nothing and makes no ticket.
	info func(s *Server, ctx context.Context, l *login, m proto.Message, keep bool) (described, error)
	// get starts the result. The caller releases the reader.
	get func(s *Server, ctx context.Context, l *login, m proto.Message) (array.RecordReader, error)
	// put takes what is sent along, and returns the answer.
	put func(s *Server, ctx context.Context, l *login, m proto.Message, u *upload) (proto.Message, error)
	why string
}

// action is one row of the table of actions. A nil run is refused as unimplemented.
type action struct {
	name string
	help string
	body func() proto.Message
	any  bool // request and response are wrapped in google.protobuf.Any: the actions of Flight SQL, not those of Flight
	run  func(s *Server, ctx context.Context, l *login, m proto.Message) (proto.Message, error)
	why  string
}

// Why a part of the protocol is not there.
const (
	whyWrites       = "this server reads only"
	whySubstrait    = "Substrait plans are not supported, send SQL"
	whyTransactions = "transactions are not supported, every statement stands alone"
	whyRenew        = "tickets cannot be renewed, ask for a new one"
	whyTicket       = "a ticket is redeemed with DoGet"
	whyMetadata     = "metadata is read with GetFlightInfo and DoGet"
	whyUpdate       = "an update is run with DoPut"
)

// commands are all commands and tickets of Flight SQL.
var commands = []command{
	{
		name: "CommandStatementQuery", body: func() proto.Message { return &pb.CommandStatementQuery{} },
		info: (*Server).infoStatement, why: "a statement is started by GetFlightInfo, and the ticket from there redeemed with DoGet",
	},
	{
		name: "TicketStatementQuery", body: func() proto.Message { return &pb.TicketStatementQuery{} },
		get: (*Server).getStatement, why: whyTicket,
	},
	{
		name: "CommandStatementUpdate", body: func() proto.Message { return &pb.CommandStatementUpdate{} },
		put: (*Server).putUpdate, why: whyUpdate,
	},
	{
		name: "CommandPreparedStatementQuery", body: func() proto.Message { return &pb.CommandPreparedStatementQuery{} },
		info: (*Server).infoPrepared, get: (*Server).getPrepared, put: (*Server).bindPrepared,
	},
	{
		name: "CommandPreparedStatementUpdate", body: func() proto.Message { return &pb.CommandPreparedStatementUpdate{} },
		put: (*Server).updatePrepared, why: whyUpdate,
	},
	{name: "CommandStatementIngest", body: func() proto.Message { return &pb.CommandStatementIngest{} }, why: whyWrites},
	{name: "CommandStatementSubstraitPlan", body: func() proto.Message { return &pb.CommandStatementSubstraitPlan{} }, why: whySubstrait},

	{
		name: "CommandGetCatalogs", body: func() proto.Message { return &pb.CommandGetCatalogs{} },
		info: infoCatalogs, get: (*Server).getCatalogs, why: whyMetadata,
	},
	{
		name: "CommandGetDbSchemas", body: func() proto.Message { return &pb.CommandGetDbSchemas{} },
		info: infoSchemas, get: (*Server).getSchemas, why: whyMetadata,
	},
	{
		name: "CommandGetTables", body: func() proto.Message { return &pb.CommandGetTables{} },
		info: infoTables, get: (*Server).getTables, why: whyMetadata,
	},
	{
		name: "CommandGetTableTypes", body: func() proto.Message { return &pb.CommandGetTableTypes{} },
		info: infoTableTypes, get: (*Server).getTableTypes, why: whyMetadata,
	},
	{
		name: "CommandGetPrimaryKeys", body: func() proto.Message { return &pb.CommandGetPrimaryKeys{} },
		info: infoKeys, get: (*Server).getKeys, why: whyMetadata,
	},
	{
		name: "CommandGetExportedKeys", body: func() proto.Message { return &pb.CommandGetExportedKeys{} },
		info: infoKeys, get: (*Server).getKeys, why: whyMetadata,
	},
	{
		name: "CommandGetImportedKeys", body: func() proto.Message { return &pb.CommandGetImportedKeys{} },
		info: infoKeys, get: (*Server).getKeys, why: whyMetadata,
	},
	{
		name: "CommandGetCrossReference", body: func() proto.Message { return &pb.CommandGetCrossReference{} },
		info: infoKeys, get: (*Server).getKeys, why: whyMetadata,
	},
	{
		name: "CommandGetXdbcTypeInfo", body: func() proto.Message { return &pb.CommandGetXdbcTypeInfo{} },
		info: infoXdbc, get: (*Server).getXdbc, why: whyMetadata,
	},
	{
		name: "CommandGetSqlInfo", body: func() proto.Message { return &pb.CommandGetSqlInfo{} },
		info: infoSQLInfo, get: (*Server).getSQLInfo, why: whyMetadata,
	},
}

// actions are all actions of Flight and Flight SQL.
var actions = []action{
	{
		name: "CreatePreparedStatement", any: true, body: func() proto.Message { return &pb.ActionCreatePreparedStatementRequest{} },
		help: "Creates a prepared statement and describes its result and parameters.", run: (*Server).createPrepared,
	},
	{
		name: "ClosePreparedStatement", any: true, body: func() proto.Message { return &pb.ActionClosePreparedStatementRequest{} },
		help: "Closes a prepared statement; an unknown handle counts as closed.", run: (*Server).closePrepared,
	},
	{
		name: "CancelFlightInfo", body: func() proto.Message { return &pb.CancelFlightInfoRequest{} },
		help: "Cancels the statements of a FlightInfo.", run: (*Server).cancelInfo,
	},
	{
		name: "CancelQuery", any: true, body: func() proto.Message { return &pb.ActionCancelQueryRequest{} },
		help: "Cancels a statement; the older form of CancelFlightInfo.", run: (*Server).cancelQuery,
	},
	{
		name: "SetSessionOptions", body: func() proto.Message { return &pb.SetSessionOptionsRequest{} },
		help: "Sets session options: catalog, schema, and the settings that SET takes.", run: (*Server).setOptions,
	},
	{
		name: "GetSessionOptions", body: func() proto.Message { return &pb.GetSessionOptionsRequest{} },
		help: "Returns all session options.", run: (*Server).getOptions,
	},
	{
		name: "CloseSession", body: func() proto.Message { return &pb.CloseSessionRequest{} },
		help: "Ends the session with everything that was made in it.", run: (*Server).closeSession,
	},

	{name: "BeginTransaction", why: whyTransactions},
	{name: "EndTransaction", why: whyTransactions},
	{name: "BeginSavepoint", why: whyTransactions},
	{name: "EndSavepoint", why: whyTransactions},
	{name: "CreatePreparedSubstraitPlan", why: whySubstrait},
	{name: "RenewFlightEndpoint", why: whyRenew},
}

// protocol is the package of all messages of Flight SQL.
const protocol = "arrow.flight.protocol.sql."

func unimplemented(why string) error { return &callError{codes.Unimplemented, why} }

// errUnknown answers commands and actions that are in no table.
var errUnknown = &callError{codes.Unimplemented, "this server does not know the command"}

// findCommand returns the row of a type URL.
func findCommand(url string) (*command, error) {
	name, ok := strings.CutPrefix(url[strings.LastIndexByte(url, '/')+1:], protocol)
	if !ok {
		return nil, errUnknown
	}
	for i := range commands {
		if commands[i].name == name {
			return &commands[i], nil
		}
	}
	return nil, errUnknown
}

func findAction(name string) (*action, error) {
	for i := range actions {
		if actions[i].name == name {
			return &actions[i], nil
		}
	}
	return nil, errUnknown
}
