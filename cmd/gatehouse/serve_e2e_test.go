package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"gatehouse/audit"
	"gatehouse/catalog/catalogtest"
)

// invoke runs one command that ends by itself. vars is its environment.
func invoke(t testing.TB, vars map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := environment{getenv: func(k string) string { return vars[k] }, stdout: &out, stderr: &errs}
	code = run(t.Context(), args, env)
	return code, out.String(), errs.String()
}

// lakeFolder is the folder of the example lakehouse, which the shared demo has written.
func lakeFolder(t testing.TB) string {
	t.Helper()
	demoServer(t)
	return filepath.Join(testHome(t), "lake")
}

// serveFolder starts "gatehouse serve" over the example lakehouse with its own home and returns both.
func serveFolder(t testing.TB, home string, options ...string) *server {
	t.Helper()
	args := append([]string{"serve", "--home", home, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"}, options...)
	return start(t, "Ctrl-C stops the server.", append(args, lakeFolder(t))...)
}

func addTestUser(t testing.TB, home, name, role string) {
	t.Helper()
	code, _, errs := invoke(t, map[string]string{"GATEHOUSE_NEW_PASSWORD": name}, "user", "add", "--file", filepath.Join(home, "users.yaml"), "--role", role, name)
	if code != exitOK {
		t.Fatal(errs)
	}
}

// allowCustomers opens one table for a role, by a rename as a deployment would.
func allowCustomers(t testing.TB, home, role string) {
	t.Helper()
	dir := filepath.Join(home, "policy", "tables", "lake", "shop")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("package tables.lake.shop.customers\n\nimport data.lib.gw\n\nread if gw.has_role({%q})\n", role)
	if err := replaceFile(filepath.Join(dir, "customers.rego"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// eventually repeats f until it returns "", and fails with what it said last after a while.
func eventually(t testing.TB, f func() string) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		said := f()
		if said == "" {
			return
		}
		select {
		case <-deadline:
			t.Fatal(said)
		case <-tick.C:
		}
	}
}

func mustAsk(t testing.TB, addr, user, sql string) string {
	t.Helper()
	text, err := ask(t.Context(), addr, user, user, sql)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// From a folder with tables to a governed server: nothing is allowed at first, users and policy act without a restart, and a
// second start changes nothing that the first one wrote.
func TestServeFolder(t *testing.T) {
	const count = "SELECT count(*) > 0 AS some FROM shop.customers"
	home := filepath.Join(t.TempDir(), "gatehouse")
	s := serveFolder(t, home)
	for _, f := range []string{"gatehouse.yaml", "policy/tables/example.rego", "policy/entry/trino.rego", "users.yaml", "hash.key", "audit.jsonl"} {
		if info, err := os.Stat(filepath.Join(home, f)); err != nil || !strings.Contains(f, "policy") && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, want a file that only its owner reads", f, err)
		}
	}
	if _, err := ask(t.Context(), s.flight, "ann", "ann", "SELECT 1"); status.Code(err) != codes.Unauthenticated {
		t.Errorf("a user who does not exist signed in: %v", err)
	}
	addTestUser(t, home, "ann", "analyst")
	addTestUser(t, home, "ben", "guest")
	for _, sql := range []string{count, "SELECT count(*) FROM shop.nothing"} {
		if got := mustAsk(t, s.flight, "ann", sql); !strings.HasPrefix(got, "error: table ") || !strings.Contains(got, "does not exist") {
			t.Errorf("before any rule ann gets %q", got)
		}
	}
	for _, sql := range []string{"SHOW CATALOGS", "SHOW SCHEMAS", "SHOW TABLES FROM lake.shop"} {
		if got := mustAsk(t, s.flight, "ann", sql); got != "" {
			t.Errorf("before any rule %s shows %q", sql, got)
		}
	}
	allowCustomers(t, home, "analyst")
	eventually(t, func() string {
		if got := mustAsk(t, s.flight, "ann", count); got != "some=true" {
			return "with a rule ann still gets " + got
		}
		return ""
	})
	for _, sql := range []string{"SHOW TABLES FROM lake.shop", "SHOW TABLES"} { // no schema is set: all are shown
		if got := mustAsk(t, s.flight, "ann", sql); !strings.Contains(got, "customers") || strings.Contains(got, "orders") {
			t.Errorf("%s shows ann %q, want customers alone", sql, got)
		}
	}
	if got := mustAsk(t, s.flight, "ben", count); !strings.Contains(got, "does not exist") {
		t.Errorf("ben has no right and gets %q", got)
	}
	if code := s.end(t); code != exitOK {
		t.Errorf("exit code %d", code)
	}

	before := tree(t, home)
	again := serveFolder(t, home)
	defer again.end(t)
	if text := again.out.String(); strings.Contains(text, "Nothing is allowed yet") {
		t.Errorf("the second start says %s", text)
	}
	if got := mustAsk(t, again.flight, "ann", count); got != "some=true" {
		t.Errorf("after a restart ann gets %q", got)
	}
	for name, text := range before {
		if now, err := os.ReadFile(filepath.Join(home, name)); err != nil || string(now) != text {
			t.Errorf("the second start changed %s (%v)", name, err)
		}
	}
}

// tree reads the files that a person edits.
func tree(t testing.TB, home string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(".yaml.rego.json.key", filepath.Ext(path)) {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(home, path)
		out[name] = string(b)
		return err
	})
	if err != nil || len(out) < 8 {
		t.Fatalf("%d files, %v", len(out), err)
	}
	return out
}

// A warehouse that other tools wrote is served like the example.
func TestServeZoo(t *testing.T) {
	zoo := catalogtest.Zoo(t)
	home := t.TempDir()
	s := start(t, "Ctrl-C stops the server.", "serve", "--home", home, "--listen", "127.0.0.1:0", "--http", "off", filepath.Join(zoo, "catalog.db"))
	defer s.end(t)
	addTestUser(t, home, "ann", "analyst")
	if got := mustAsk(t, s.flight, "ann", "SELECT count(*) AS n FROM spark.v1_plain"); !strings.Contains(got, "does not exist") {
		t.Errorf("before any rule: %q", got)
	}
	dir := filepath.Join(home, "policy", "tables", "zoo", "spark")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text := "package tables.zoo.spark.v1_plain\n\nread := true\n\nrow_filters contains {\"id\": \"eu\", \"expression\": \"region = 'eu'\"}\n"
	if err := os.WriteFile(filepath.Join(dir, "v1_plain.rego"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string {
		if got := mustAsk(t, s.flight, "ann", "SELECT count(*) AS n FROM spark.v1_plain"); got != "n=3" {
			return "with a rule: " + got
		}
		return ""
	})
}

// What stops a start says what to do about it.
func TestServeRefusals(t *testing.T) {
	lake := lakeFolder(t)
	bad := filepath.Join(t.TempDir(), "gatehouse.yaml")
	if err := os.WriteFile(bad, []byte("listen:\n  flihgt: 127.0.0.1:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"plaintext on the network": {[]string{"--home", t.TempDir(), "--listen", "0.0.0.0:0", lake}, exitFailure, "set tls.cert and tls.key"},
		"HTTP on the network":      {[]string{"--home", t.TempDir(), "--listen", "127.0.0.1:0", "--http", "0.0.0.0:0", lake}, exitFailure, "listen on 127.0.0.1"},
		"no catalog":               {[]string{"--listen", "127.0.0.1:0", t.TempDir()}, exitFailure, "no Iceberg catalog is there"},
		"no folder":                {[]string{"--listen", "127.0.0.1:0", "/no/such/folder"}, exitFailure, "no such file"},
		"home cannot be made":      {[]string{"--home", filepath.Join(file, "x"), lake}, exitFailure, "choose another folder with --home"},
		"no configuration":         {[]string{"--config", "/no/such.yaml"}, exitUsage, "no such file"},
		"wrong key":                {[]string{"--config", bad}, exitUsage, "flihgt"},
		"wrong key's line":         {[]string{"--config", bad}, exitUsage, ":2:"},
		"wrong key's remedy":       {[]string{"--config", bad}, exitUsage, "did you mean flight?"},
		"busy port":                {[]string{"--home", t.TempDir(), "--listen", demoServer(t).flight, lake}, exitFailure, "choose another address with --listen"},
		"two targets":              {[]string{lake, lake}, exitUsage, "one argument too many"},
		"none":                     {nil, exitUsage, "say what to serve"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, errs := invoke(t, nil, append([]string{"serve"}, c.args...)...)
			if code != c.code || !strings.Contains(errs, c.want) {
				t.Errorf("exit code %d, want %d; it said %q, want something with %q", code, c.code, errs, c.want)
			}
		})
	}
}

// reading is a statement of which a client has read one batch and no more.
type reading struct {
	client *flightsql.Client
	ctx    context.Context
	rows   *flight.Reader
	seen   int64
}

func startReading(t testing.TB, addr, user, sql string) *reading {
	t.Helper()
	c, err := flightsql.NewClient(addr, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	ctx, err := c.Client.AuthenticateBasicToken(t.Context(), user, user)
	if err != nil {
		t.Fatal(err)
	}
	info, err := c.Execute(ctx, sql)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Next() {
		t.Fatal("no batch: ", r.Err())
	}
	return &reading{client: c, ctx: ctx, rows: r, seen: r.RecordBatch().NumRows()}
}

// The first signal drains: a running statement sends all its rows, new ones are refused, /readyz says so, and the process
// ends with 0.
func TestServeDrains(t *testing.T) {
	home := t.TempDir()
	s := serveFolder(t, home)
	addTestUser(t, home, "ann", "analyst")
	allowCustomers(t, home, "analyst")
	eventually(t, func() string {
		if got := mustAsk(t, s.flight, "ann", "SELECT count(*) > 0 AS some FROM shop.customers"); got != "some=true" {
			return got
		}
		return ""
	})
	if code, _ := get(t, s, "/readyz"); code != http.StatusOK {
		t.Fatalf("/readyz is %d before the signal", code)
	}
	running := startReading(t, s.flight, "ann", "SELECT * FROM shop.customers")
	s.stop()
	eventually(t, func() string {
		if code, _ := get(t, s, "/readyz"); code != http.StatusServiceUnavailable {
			return fmt.Sprintf("/readyz is %d while draining", code)
		}
		return ""
	})
	if code, _ := get(t, s, "/healthz"); code != http.StatusOK {
		t.Errorf("/healthz is %d while draining", code)
	}
	if _, err := running.client.Execute(running.ctx, "SELECT 1"); status.Code(err) != codes.Unavailable {
		t.Errorf("a new statement while draining: %v, want Unavailable", err)
	}
	for running.rows.Next() {
		running.seen += running.rows.RecordBatch().NumRows()
	}
	if err := running.rows.Err(); err != nil || running.seen != 200_000 {
		t.Errorf("the running statement sent %d rows and %v, want all 200000", running.seen, err)
	}
	running.rows.Release()
	if code := s.end(t); code != exitOK {
		t.Errorf("exit code %d, want 0", code)
	}
	if text := s.out.String(); !strings.Contains(text, "Stopping") {
		t.Errorf("it did not say that it stops: %s", text)
	}
}

func get(t testing.TB, s *server, path string) (int, string) {
	t.Helper()
	resp, err := http.Get("http://" + s.http + path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// Every statement has its one line in the audit log, whatever became of it.
func TestServeAudit(t *testing.T) {
	home := t.TempDir()
	s := serveFolder(t, home)
	addTestUser(t, home, "ann", "analyst")
	allowCustomers(t, home, "analyst")
	eventually(t, func() string {
		if got := mustAsk(t, s.flight, "ann", "SELECT max(id) > 0 AS some FROM shop.customers"); got != "some=true" {
			return got
		}
		return ""
	})
	before := len(auditLines(t, home))
	mustAsk(t, s.flight, "ann", "SELECT id FROM shop.customers LIMIT 7")
	mustAsk(t, s.flight, "ann", "SELECT id FROM shop.orders")
	mustAsk(t, s.flight, "ann", "SELECT CAST(name AS INTEGER) FROM shop.customers")
	mustAsk(t, s.flight, "ann", "SELEC")
	mustAsk(t, s.flight, "ann", "DROP TABLE shop.customers")
	r := startReading(t, s.flight, "ann", "SELECT * FROM shop.customers")
	r.rows.Release()
	_ = r.client.Close()
	eventually(t, func() string {
		if n := len(auditLines(t, home)) - before; n < 6 {
			return fmt.Sprintf("%d lines for 6 statements", n)
		}
		return ""
	})
	if code := s.end(t); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	var got []string
	ids := map[string]bool{}
	for _, e := range auditLines(t, home)[before:] {
		if e.User != "ann" || e.Query == "" || ids[e.Query] || e.Time.IsZero() || e.Peer == "" {
			t.Errorf("a line without what it must have, or twice: %+v", e)
		}
		ids[e.Query] = true
		got = append(got, fmt.Sprintf("%s %s %s", e.Kind, e.Outcome, e.Error))
	}
	want := []string{
		"select ok ", "select denied no_such_table", "select failed executor_conversion", " failed syntax", " failed unsupported", "select cancelled cancelled",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the log says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	text, err := os.ReadFile(filepath.Join(home, "audit.jsonl"))
	if err != nil || bytes.Contains(text, []byte("SELECT")) || bytes.Contains(text, []byte("INTEGER")) {
		t.Errorf("the log holds text of a statement (%v)", err)
	}
}

func auditLines(t testing.TB, home string) []audit.Event {
	t.Helper()
	f, err := os.Open(filepath.Join(home, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var out []audit.Event
	for in := bufio.NewScanner(f); in.Scan(); {
		var e audit.Event
		if err := json.Unmarshal(in.Bytes(), &e); err != nil {
			t.Fatalf("%s: %v", in.Bytes(), err)
		}
		out = append(out, e)
	}
	return out
}

// A log that takes no line stops data: what could not be recorded is an error to the client, and the next statement sends
// nothing.
func TestServeFullAuditLog(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("needs /dev/full to have a disk that is full")
	}
	home := t.TempDir()
	if err := os.Symlink("/dev/full", filepath.Join(home, "audit.jsonl")); err != nil {
		t.Fatal(err)
	}
	s := serveFolder(t, home)
	defer s.end(t)
	addTestUser(t, home, "ann", "analyst")
	if got := mustAsk(t, s.flight, "ann", "SELECT 1 AS one"); !strings.Contains(got, "could not be recorded") {
		t.Errorf("without a record ann gets %q", got)
	}
	rows, err := countRows(t, s.flight, "ann", "SELECT 1 AS one")
	if rows != 0 || err == nil || !strings.Contains(err.Error(), "could not be recorded") {
		t.Errorf("with a log that took no line, ann gets %d rows and %v", rows, err)
	}
}

// countRows runs a statement to its end and returns how many rows came, also before an error.
func countRows(t testing.TB, addr, user, sql string) (rows int64, err error) {
	t.Helper()
	c, err := flightsql.NewClient(addr, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	ctx, err := c.Client.AuthenticateBasicToken(t.Context(), user, user)
	if err != nil {
		t.Fatal(err)
	}
	info, err := c.Execute(ctx, sql)
	if err != nil {
		return 0, err
	}
	r, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
	if err != nil {
		return 0, err
	}
	defer r.Release()
	for r.Next() {
		rows += r.RecordBatch().NumRows()
	}
	return rows, r.Err()
}
