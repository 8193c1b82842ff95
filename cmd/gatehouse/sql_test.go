package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// shop is a small Flight SQL server that knows a few statements; the real one is tested with the real clients.
type shop struct {
	flightsql.BaseServer
	hanging   chan struct{} // gets a value when "HANG" has sent its first rows
	cancelled chan struct{} // gets a value at CancelFlightInfo
}

func (*shop) schema() *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
}

func (s *shop) rows(text string) arrow.RecordBatch {
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, s.schema(), strings.NewReader(text))
	if err != nil {
		panic(err)
	}
	return b
}

func (s *shop) GetFlightInfoStatement(_ context.Context, q flightsql.StatementQuery, d *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	if strings.HasPrefix(q.GetQuery(), "FAIL") {
		return nil, status.Error(codes.InvalidArgument, "no such table: \x1b[2Jnope")
	}
	ticket, err := flightsql.CreateStatementQueryTicket([]byte(q.GetQuery()))
	if err != nil {
		return nil, err
	}
	schema := s.schema()
	if strings.HasPrefix(q.GetQuery(), "SET") {
		schema = arrow.NewSchema(nil, nil)
	}
	return &flight.FlightInfo{
		Schema: flight.SerializeSchema(schema, memory.DefaultAllocator), FlightDescriptor: d,
		Endpoint: []*flight.FlightEndpoint{{Ticket: &flight.Ticket{Ticket: ticket}}},
	}, nil
}

func (s *shop) DoGetStatement(ctx context.Context, t flightsql.StatementQueryTicket) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	query := string(t.GetStatementHandle())
	if strings.HasPrefix(query, "SET") {
		ch := make(chan flight.StreamChunk)
		close(ch)
		return arrow.NewSchema(nil, nil), ch, nil
	}
	ch := make(chan flight.StreamChunk, 4)
	ch <- flight.StreamChunk{Data: s.rows(`[{"id": 1, "name": "one, \"two\""}, {"id": 22, "name": null}]`)}
	switch {
	case strings.HasPrefix(query, "HANG"):
		go func() {
			defer close(ch)
			s.hanging <- struct{}{}
			<-ctx.Done()
		}()
	case strings.HasPrefix(query, "BREAK"):
		ch <- flight.StreamChunk{Err: status.Error(codes.Internal, "broke in the middle")}
		close(ch)
	default:
		ch <- flight.StreamChunk{Data: s.rows(`[{"id": 3, "name": "` + query[strings.LastIndex(query, "\n")+1:] + `"}]`)}
		close(ch)
	}
	return s.schema(), ch, nil
}

func (s *shop) CancelFlightInfo(context.Context, *flight.CancelFlightInfoRequest) (flight.CancelFlightInfoResult, error) {
	select {
	case s.cancelled <- struct{}{}:
	default:
	}
	return flight.CancelFlightInfoResult{Status: flight.CancelStatusCancelled}, nil
}

func (*shop) CloseSession(context.Context, *flight.CloseSessionRequest) (*flight.CloseSessionResult, error) {
	return &flight.CloseSessionResult{Status: flight.CloseSessionResultClosed}, nil
}

func (*shop) GetFlightInfoTables(_ context.Context, cmd flightsql.GetTables, d *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return &flight.FlightInfo{FlightDescriptor: d, Endpoint: []*flight.FlightEndpoint{{Ticket: &flight.Ticket{Ticket: d.Cmd}}}}, nil
}

func (s *shop) DoGetTables(_ context.Context, cmd flightsql.GetTables) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	ch := make(chan flight.StreamChunk, 1)
	defer close(ch)
	schema := schema_ref.Tables
	if cmd.GetIncludeSchema() {
		schema = schema_ref.TablesWithIncludedSchema
	}
	if p := cmd.GetTableNameFilterPattern(); p == nil || *p == "things" || *p == "thing%" {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		defer b.Release()
		for i, text := range []string{"lake", "shop", "things", "TABLE"} {
			b.Field(i).(*array.StringBuilder).Append(text)
		}
		if cmd.GetIncludeSchema() {
			b.Field(4).(*array.BinaryBuilder).Append(flight.SerializeSchema(s.schema(), memory.DefaultAllocator))
		}
		ch <- flight.StreamChunk{Data: b.NewRecordBatch()}
	}
	return schema, ch, nil
}

// Validate and IsValid are the stock basic authentication.
func (*shop) Validate(user, password string) (string, error) {
	if user == "alice" && password == "secret" {
		return "session-1", nil
	}
	return "", status.Error(codes.Unauthenticated, "authentication failed")
}

func (*shop) IsValid(token string) (any, error) {
	if token == "session-1" || token == "oidc-token" {
		return nil, nil
	}
	return "", status.Error(codes.Unauthenticated, "authentication failed")
}

func startShop(t *testing.T) (*shop, string) {
	t.Helper()
	s := &shop{hanging: make(chan struct{}, 1), cancelled: make(chan struct{}, 1)}
	for id, v := range map[flightsql.SqlInfo]any{flightsql.SqlInfoFlightSqlServerName: "shop", flightsql.SqlInfoFlightSqlServerVersion: "7"} {
		if err := s.RegisterSqlInfo(id, v); err != nil {
			t.Fatal(err)
		}
	}
	server := flight.NewServerWithMiddleware([]flight.ServerMiddleware{flight.CreateServerBasicAuthMiddleware(s)})
	server.RegisterFlightService(flightsql.NewFlightServer(s))
	if err := server.Init("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve() }()
	t.Cleanup(func() { server.Shutdown(); <-done })
	return s, "grpc://" + server.Addr().String()
}

func env(pairs ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(k string) string { return m[k] }
}

// stdin makes a file that holds text.
func stdin(t *testing.T, text string) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "stdin")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

const tableOfX = ` id | name
----+------------
  1 | one, "two"
 22 | NULL
  3 | X
(3 rows)

`

func TestRunSQL(t *testing.T) {
	_, url := startShop(t)
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	passwords, open := file("password", "secret\n", 0o600), file("open", "secret\n", 0o644)
	script := file("script.sql", "X;\nFAIL it; -- and\nX;\n", 0o600)
	good := env("GATEHOUSE_PASSWORD", "secret", "GATEHOUSE_URL", url)
	cases := []struct {
		name    string
		args    string
		getenv  func(string) string
		stdin   string
		code    int
		out     string
		message string // a part of standard error
	}{
		{"table", "--user alice -c X", good, "", exitOK, tableOfX, ""},
		{"csv", "--user alice --format csv -c X", good, "", exitOK, "id,name\n1,\"one, \"\"two\"\"\"\n22,\n3,X\n", ""},
		{"csv, NULL", "--user alice --format csv --null X -c X", good, "", exitOK, "id,name\n1,\"one, \"\"two\"\"\"\n22,X\n3,\"X\"\n", ""},
		{"json", "--user alice --format json -c X", good, "", exitOK, "{\"id\":1,\"name\":\"one, \\\"two\\\"\"}\n{\"id\":22,\"name\":null}\n{\"id\":3,\"name\":\"X\"}\n", ""},
		{"two -c", "--user alice --format csv -c X -c Y", good, "", exitOK, "id,name\n1,\"one, \"\"two\"\"\"\n22,\n3,X\nid,name\n1,\"one, \"\"two\"\"\"\n22,\n3,Y\n", ""},
		{"stdin", "--user alice --format json", good, "X\n;", exitOK, "{\"id\":1,\"name\":\"one, \\\"two\\\"\"}\n{\"id\":22,\"name\":null}\n{\"id\":3,\"name\":\"X\"}\n", ""},
		{"no result", "--user alice -c SET", good, "", exitOK, "OK\n", ""},
		{"password file", "--user alice -c SET --password-file " + passwords, env("GATEHOUSE_URL", url), "", exitOK, "OK\n", ""},
		{"password file for all", "--user alice -c SET --password-file " + open, env("GATEHOUSE_URL", url), "", exitUsage, "", "chmod 600"},
		{"token", "-c SET", env("GATEHOUSE_URL", url, "GATEHOUSE_TOKEN", "oidc-token"), "", exitOK, "OK\n", ""},
		{"wrong token", "-c SET", env("GATEHOUSE_URL", url, "GATEHOUSE_TOKEN", "stolen"), "", exitAuth, "", "gatehouse sql: authentication failed\n"},
		{"wrong password", "--user alice -c SET", env("GATEHOUSE_URL", url, "GATEHOUSE_PASSWORD", "guess"), "", exitAuth, "", "gatehouse sql: authentication failed\n"},
		{"no password", "--user alice -c SET", env("GATEHOUSE_URL", url), "", exitUsage, "", "--password-file"},
		{"no user", "-c SET", good, "", exitUsage, "", "--user"},
		{"nobody listens", "--user alice --url grpc://127.0.0.1:1 -c SET", good, "", exitConnect, "", "cannot connect to 127.0.0.1:1: Error while dialing"},
		{"TLS to a server without", "--user alice -c SET --url " + strings.Replace(url, "grpc:", "grpc+tls:", 1), good, "", exitConnect, "", "(does the server speak plaintext? then use grpc://)"},
		{"statement fails", "--user alice -c FAIL -c X", good, "", exitFailure, "", `ERROR: no such table: \u001b[2Jnope`},
		{"fails in the middle", "--user alice --format csv -c BREAK", good, "", exitFailure, "id,name\n1,\"one, \"\"two\"\"\"\n22,\n", "broke in the middle"},
		{"fails in the middle of a table", "--user alice -c BREAK", good, "", exitFailure, " id | name\n----+------------\n  1 | one, \"two\"\n 22 | NULL\n", "broke in the middle"},
		{"script stops", "--user alice -f " + script, good, "", exitFailure, tableOfX, "no such table"},
		{"script goes on", "--user alice --keep-going -f " + script, good, "", exitFailure, tableOfX + tableOfX, "no such table"},
		{"no such script", "--user alice -f nope.sql", good, "", exitUsage, "", "nope.sql"},
		{"commands", `--user alice -f -`, good, "\\format csv\n\\null -\nX;\n\\q\nX;\n", exitOK, "id,name\n1,\"one, \"\"two\"\"\"\n22,-\n3,X\n", ""},
		{"unknown command", `--user alice -c \nope`, good, "", exitUsage, "", `there is no command \nope`},
		{"list", `--user alice --format csv -c \dt`, good, "", exitOK, "catalog_name,db_schema_name,table_name,table_type\nlake,shop,things,TABLE\n", ""},
		{"list by pattern", `--user alice --format json -f -`, good, `\dt shop.thing*`, exitOK, `{"catalog_name":"lake","db_schema_name":"shop","table_name":"things","table_type":"TABLE"}` + "\n", ""},
		{"describe", `--user alice -f -`, good, `\d things`, exitOK, "table lake.shop.things\n column | type  | nullable | comment\n--------+-------+----------+---------\n id     | int64 | false    | \n name   | utf8  | true     | \n(2 rows)\n\n", ""},
		{"list as in psql", `--user alice --format csv -c \dt+`, good, "", exitOK, "catalog_name,db_schema_name,table_name,table_type\nlake,shop,things,TABLE\n", ""},
		{"expanded", `--user alice -f -`, good, "\\x\nX;\n\\x\n", exitOK, "Format is expanded.\n-[ row 1 ]-\nid   | 1\nname | one, \"two\"\n-[ row 2 ]-\nid   | 22\nname | NULL\n-[ row 3 ]-\nid   | 3\nname | X\n(3 rows)\n\nFormat is table.\n", ""},
		{"expanded from the start", `--user alice --format expanded -c SET`, good, "", exitOK, "OK\n", ""},
		{"roles", `--user alice --format csv -c \du`, good, "", exitOK, "id,name\n1,\"one, \"\"two\"\"\"\n22,\n3,SHOW ROLES\n", ""},
		{"grants on a table", `--user alice --format csv -f -`, good, "\\dp things;\n\\z\n", exitOK, "id,name\n1,\"one, \"\"two\"\"\"\n22,\n3,SHOW GRANTS ON things\nid,name\n1,\"one, \"\"two\"\"\"\n22,\n3,SHOW GRANTS\n", ""},
		{"describe nothing", `--user alice -f -`, good, `\d nothing`, exitFailure, "", "there is no table nothing"},
		{"conninfo", `--user alice -c \conninfo`, good, "", exitOK, "Connected to " + url + " (shop 7) as alice.\n", ""},
		{"help", "--help", good, "", exitOK, sqlHelp, ""},
		{"unknown option", "--nope", good, "", exitUsage, "", "nope"},
		{"unknown format", "--format xml", good, "", exitUsage, "", "table, expanded, csv, json and arrow"},
		{"password in argv", "--password secret --user alice", good, "", exitUsage, "", "visible to everybody"},
		{"plaintext elsewhere", "--url grpc://192.0.2.1:1 --user alice -c X", good, "", exitUsage, "", "not a loopback address"},
		{"argument", "SELECT", good, "", exitUsage, "", `unexpected argument "SELECT"`},
		{"password in URL", "--url grpc://a:b@localhost", good, "", exitUsage, "", "don't belong in the URL"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var out, messages bytes.Buffer
			code := runSQL(t.Context(), strings.Fields(c.args), c.getenv, stdin(t, c.stdin), &out, &messages)
			if code != c.code {
				t.Errorf("exit code %d, wanted %d: %s", code, c.code, messages.String())
			}
			if out.String() != c.out {
				t.Errorf("output\n%s\nwanted\n%s", out.String(), c.out)
			}
			if !strings.Contains(messages.String(), c.message) || c.message == "" && messages.Len() > 0 {
				t.Errorf("messages %q, wanted %q", messages.String(), c.message)
			}
		})
	}
}

func TestArrowOutput(t *testing.T) {
	_, url := startShop(t)
	name := filepath.Join(t.TempDir(), "out.arrow")
	var messages bytes.Buffer
	code := runSQL(t.Context(), []string{"--url", url, "--user", "alice", "--format", "arrow", "-o", name, "-c", "X"}, env("GATEHOUSE_PASSWORD", "secret"), nil, io.Discard, &messages)
	if code != exitOK {
		t.Fatal(messages.String())
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := ipc.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	rows := int64(0)
	for r.Next() {
		rows += r.RecordBatch().NumRows()
	}
	if rows != 3 || r.Err() != nil {
		t.Errorf("%d rows, %v", rows, r.Err())
	}
}

// TestInterrupt: Ctrl-C stops the statement at the server and the shell lives on.
func TestInterrupt(t *testing.T) {
	s, url := startShop(t)
	o, _, _, err := parseSQL([]string{"--url", url, "--format", "csv"}, env())
	if err != nil {
		t.Fatal(err)
	}
	if err := o.target.credentials("", "", env("GATEHOUSE_TOKEN", "oidc-token"), nil, io.Discard); err != nil {
		t.Fatal(err)
	}
	c, err := connect(t.Context(), o.target)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	var out, messages bytes.Buffer
	sh, err := newShell(c, o, &out, &messages)
	if err != nil {
		t.Fatal(err)
	}
	interrupts := make(chan os.Signal, 1)
	sh.interrupts = interrupts
	go func() {
		<-s.hanging
		interrupts <- os.Interrupt
	}()
	if code := sh.statement(t.Context(), "HANG"); code != exitInterrupted || !strings.Contains(messages.String(), "Cancelled") {
		t.Errorf("exit code %d, %s", code, messages.String())
	}
	if code := sh.statement(t.Context(), "X"); code != exitOK {
		t.Errorf("after an interrupt: exit code %d, %s", code, messages.String())
	}
	select {
	case <-s.cancelled: // it is sent beside the closing of the stream
	case <-t.Context().Done():
		t.Error("CancelFlightInfo was not called")
	}
}

func TestLocate(t *testing.T) {
	cases := []struct {
		url, host string
		tls       bool
		want      string // "" for a refusal
	}{
		{"", "", false, "grpc://127.0.0.1:31337"},
		{"grpc://localhost", "", false, "grpc://localhost:31337"},
		{"grpc+tls://lake.example.com:443", "", false, "grpc+tls://lake.example.com:443"},
		{"https://lake.example.com", "", false, "grpc+tls://lake.example.com:31337"},
		{"grpc://[::1]:5", "", true, "grpc+tls://[::1]:5"},
		{"", "::1", false, "grpc://[::1]:31337"},
		{"", "127.0.0.2:7", false, "grpc://127.0.0.2:7"},
		{"", "lake.example.com", false, "grpc+tls://lake.example.com:31337"},
		{"", "localhost.example.com:1", false, "grpc+tls://localhost.example.com:1"},
		{"ftp://lake.example.com", "", false, ""},
		{"lake.example.com", "", false, ""},
		{"grpc://lake.example.com/path", "", false, ""},
	}
	for _, c := range cases {
		var got target
		err := got.locate(c.url, c.host, c.tls)
		if (err != nil) != (c.want == "") || err == nil && got.url() != c.want {
			t.Errorf("%+v: %s, %v", c, got.url(), err)
		}
	}
}

type pastStatements struct{}

func (pastStatements) WriteHistory(w io.Writer) (int, error) { return w.Write([]byte("SELECT 1;\n")) }

func TestHistory(t *testing.T) {
	home := t.TempDir()
	for name, getenv := range map[string]func(string) string{
		filepath.Join(home, ".local/state/gatehouse/history"): env("HOME", home),
		filepath.Join(home, "x/gatehouse/history"):            env("HOME", home, "XDG_STATE_HOME", filepath.Join(home, "x")),
	} {
		if got := historyFile(sqlOptions{}, getenv); got != name {
			t.Fatalf("history in %s, wanted %s", got, name)
		}
		sh := &shell{stderr: io.Discard}
		sh.saveHistory(pastStatements{}, name)
		for path, mode := range map[string]os.FileMode{name: 0o600, filepath.Dir(name): 0o700} {
			info, err := os.Stat(path)
			if err != nil || info.Mode().Perm() != mode {
				t.Errorf("%s: %v, %v", path, info.Mode(), err)
			}
		}
	}
	if got := historyFile(sqlOptions{noHistory: true}, env("HOME", home)); got != "" {
		t.Errorf("history in %s", got)
	}
}

// TestCommandIn: what is a command at the prompt and what goes on with a statement.
func TestCommandIn(t *testing.T) {
	for _, c := range []struct{ before, line, want string }{
		{"", `\dt`, `\dt`},
		{"", " quit ", `\q`},
		{"", "EXIT;", `\q`},
		{"", "help", `\?`},
		{"", "SELECT help", ""},
		{"SELECT\n", "help", ""},
		{"SELECT\n", `\q`, `\q`},
		{"SELECT '\n", `\q`, ""},
		{"SELECT \"\n", `\q`, ""},
		{"SELECT $$\n", `\q`, ""},
		{"SELECT /* \n", `\q`, ""},
	} {
		var s splitter
		s.feed(c.before)
		if got := commandIn(&s, c.line); got != c.want {
			t.Errorf("%q after %q is the command %q, want %q", c.line, c.before, got, c.want)
		}
	}
}
