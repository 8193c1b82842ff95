package main

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/cockroachdb/datadriven"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// The battery runs attacks against the demo and records what each user sees. A file of testdata/battery holds:
//
//	never [users]          one regular expression a line: what must not reach those users (alice and bob), neither in an answer's
//	                       text nor anywhere in the bytes that come over the wire, from there to the end of the file
//	alice, bob, admin      each statement as that user
//	all                    each statement as all three; users who see the same stand on one line. Thus every denial has its control
//	twin                   each statement as alice, which must answer as it does for admin over copies of what alice may see
//
// A statement stands on one line; lines that start with a blank continue it. Lines that start with # are comments.
func TestBattery(t *testing.T) {
	s := demoServer(t)
	datadriven.Walk(t, "../../testdata/battery", func(t *testing.T, path string) {
		b := newBattery(t, s)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "never" {
				b.never(t, d)
				return ""
			}
			var out strings.Builder
			for _, sql := range statements(d.Input) {
				out.WriteString(b.directive(t, d, sql))
			}
			return out.String()
		})
	})
}

// statements splits the input of a directive.
func statements(input string) []string {
	var out []string
	for line := range strings.Lines(input) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "#"), strings.TrimSpace(line) == "":
		case strings.HasPrefix(line, " ") && len(out) > 0:
			out[len(out)-1] += "\n" + line
		default:
			out = append(out, line)
		}
	}
	return out
}

// battery holds one session a user and what must not be seen.
type battery struct {
	users  []string
	client map[string]*tapped
	hidden map[string][]*regexp.Regexp // by user
}

func newBattery(t *testing.T, s *server) *battery {
	b := &battery{client: map[string]*tapped{}, hidden: map[string][]*regexp.Regexp{}}
	for _, u := range demoUsers {
		b.users = append(b.users, u.name)
		b.client[u.name] = tap(t, s.flight, u.name)
	}
	return b
}

func (b *battery) never(t *testing.T, d *datadriven.TestData) {
	users := []string{"alice", "bob"}
	if len(d.CmdArgs) > 0 {
		users = users[:0]
		for _, a := range d.CmdArgs {
			users = append(users, a.Key)
		}
	}
	for line := range strings.Lines(d.Input) {
		re, err := regexp.Compile("(?s)" + strings.TrimRight(line, "\n"))
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		for _, u := range users {
			b.hidden[u] = append(b.hidden[u], re)
		}
	}
}

func (b *battery) directive(t *testing.T, d *datadriven.TestData, sql string) string {
	switch d.Cmd {
	case "all":
		return b.all(t, d, sql)
	case "twin":
		alice, admin := b.ask(t, d, "alice", sql), b.ask(t, d, "admin", overCopies(sql))
		if alice != admin {
			t.Errorf("%s: alice sees other than over copies of what she may see:\n%s\n%s\n%s", d.Pos, sql, alice, admin)
		}
		return alice
	}
	if b.client[d.Cmd] == nil {
		d.Fatalf(t, "unknown directive %s", d.Cmd)
	}
	return b.ask(t, d, d.Cmd, sql)
}

// all groups the users by what they see.
func (b *battery) all(t *testing.T, d *datadriven.TestData, sql string) string {
	var out strings.Builder
	seen := map[string]bool{}
	answers := map[string]string{}
	for _, u := range b.users {
		answers[u] = b.ask(t, d, u, sql)
	}
	for _, u := range b.users {
		if seen[answers[u]] {
			continue
		}
		seen[answers[u]] = true
		var same []string
		for _, v := range b.users {
			if answers[v] == answers[u] {
				same = append(same, v)
			}
		}
		text := answers[u]
		if strings.Count(text, "\n") > 1 {
			text = "\n" + text
		} else {
			text = " " + text
		}
		if len(same) == len(b.users) {
			out.WriteString(strings.TrimPrefix(text, " "))
			continue
		}
		fmt.Fprintf(&out, "%s:%s", strings.Join(same, ", "), text)
	}
	return out.String()
}

// ask runs one statement and checks all that came for what must not be seen. Long answers are cut after some rows.
func (b *battery) ask(t *testing.T, d *datadriven.TestData, user, sql string) string {
	text := b.see(t, d, user, sql)
	const rows = 8
	lines := strings.SplitAfter(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > rows {
		lines = append(lines[:rows], fmt.Sprintf("… (%d rows)", len(lines)))
	}
	if text == "" {
		return "no rows\n"
	}
	return strings.Join(lines, "") + "\n"
}

// see runs one statement, checks all that came for what must not be seen, and returns the whole answer.
func (b *battery) see(t *testing.T, d *datadriven.TestData, user, sql string) string {
	c := b.client[user]
	text, wire := c.ask(t, sql)
	for _, re := range b.hidden[user] {
		// What the user wrote may come back as a name.
		if m := re.FindString(text); m != "" && !strings.Contains(sql, m) {
			t.Errorf("%s: %s sees %q:\n%s", d.Pos, user, m, sql)
		}
		if m := re.Find(wire); m != nil && !strings.Contains(sql, string(m)) {
			t.Errorf("%s: %q is among the bytes sent to %s:\n%s", d.Pos, m, user, sql)
		}
	}
	return snapshot.ReplaceAllString(text, "${1}N")
}

// snapshot is an id that each writing of the example lakehouse, or each decision, draws anew, or a time.
var snapshot = regexp.MustCompile(`(plan=  snapshot  |\(decision |made_at=|granted_at=)[0-9a-fTZ:-]+`)

// overCopies puts copies of what alice may see in the way of the tables' names. E-mail hashes are left out: their key is
// the gateway's.
func overCopies(sql string) string {
	const copies = `WITH customers AS MATERIALIZED (SELECT id, name, '' AS email, CAST(NULL AS VARCHAR) AS phone, country, region,
	CAST(date_trunc('year', birth_date) AS DATE) AS birth_date, '***-**-' || right(tax_id, 4) AS tax_id, credit_limit, signed_up_at, note
	FROM lake.shop.customers WHERE region = 'EU'),
	orders AS MATERIALIZED (SELECT * FROM lake.shop.orders WHERE region = 'EU'),
	order_items AS MATERIALIZED (SELECT * FROM lake.shop.order_items WHERE region = 'EU'),
	employees AS MATERIALIZED (SELECT id, name, email, department, manager_id, region FROM lake.shop.employees)`
	if rest, ok := strings.CutPrefix(sql, "WITH RECURSIVE "); ok {
		return strings.Replace(copies, "WITH", "WITH RECURSIVE", 1) + ", " + rest
	}
	if rest, ok := strings.CutPrefix(sql, "WITH "); ok {
		return copies + ", " + rest
	}
	return copies + "\n" + sql
}

// tapped is a session whose every received message is kept.
type tapped struct {
	sql    *flightsql.Client
	header metadata.MD
	mu     sync.Mutex
	wire   bytes.Buffer
}

func tap(t *testing.T, addr, user string) *tapped {
	t.Helper()
	c := &tapped{}
	sql, err := flightsql.NewClient(addr, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(c.unary), grpc.WithStreamInterceptor(c.stream))
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := sql.Client.AuthenticateBasicToken(t.Context(), user, user)
	if err != nil {
		t.Fatal(err)
	}
	c.sql = sql
	c.header, _ = metadata.FromOutgoingContext(ctx)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_, _ = sql.CloseSession(metadata.NewOutgoingContext(ctx, c.header), &flight.CloseSessionRequest{})
		_ = sql.Close()
	})
	return c
}

// ask returns rows or the error's text, and every byte that came.
func (c *tapped) ask(t *testing.T, sql string) (string, []byte) {
	t.Helper()
	c.mu.Lock()
	c.wire.Reset()
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(metadata.NewOutgoingContext(t.Context(), c.header), 60*time.Second)
	defer cancel()
	text, err := c.run(ctx, sql)
	if err != nil {
		text, err = refusal(err)
	}
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return text, bytes.Clone(c.wire.Bytes())
}

func (c *tapped) run(ctx context.Context, sql string) (string, error) {
	info, err := c.sql.Execute(ctx, sql)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, e := range info.Endpoint {
		r, err := c.sql.DoGet(ctx, e.Ticket)
		if err != nil {
			return "", err
		}
		text, err := rowsText(r)
		r.Release()
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// keep records a message and what came around it.
func (c *tapped) keep(msg any, extra ...metadata.MD) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m, ok := msg.(proto.Message); ok {
		if b, err := proto.Marshal(m); err == nil {
			c.wire.Write(b)
		}
	}
	for _, md := range extra {
		for k, values := range md {
			fmt.Fprintf(&c.wire, "\n%s: %q", k, values)
		}
	}
}

func (c *tapped) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	var header, trailer metadata.MD
	err := invoke(ctx, method, req, reply, cc, append(opts, grpc.Header(&header), grpc.Trailer(&trailer))...)
	c.keep(reply, header, trailer)
	return err
}

func (c *tapped) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := open(ctx, desc, cc, method, opts...)
	return &tappedStream{s, c}, err
}

// tappedStream keeps what it receives.
type tappedStream struct {
	grpc.ClientStream
	to *tapped
}

func (s *tappedStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err != nil {
		s.to.keep(nil, s.Trailer())
		return err
	}
	s.to.keep(m)
	return nil
}
