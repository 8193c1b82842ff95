package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"gatehouse/auth"
	"gatehouse/cmd/bench/site"
)

// signIn returns a client and the context for its calls, all in one session.
func signIn(t *testing.T, addr, user string) (*flightsql.Client, context.Context) {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	c := &flightsql.Client{Client: flight.NewClientFromConn(conn, nil)}
	ctx, err := c.Client.AuthenticateBasicToken(t.Context(), user, user)
	if err != nil {
		t.Fatal(err)
	}
	return c, ctx
}

// runAll runs sql and reads its rows to the end.
func runAll(ctx context.Context, c *flightsql.Client, sql string) error {
	info, err := c.Execute(ctx, sql)
	if err != nil {
		return err
	}
	return readAll(ctx, c, info)
}

func readAll(ctx context.Context, c *flightsql.Client, info *flight.FlightInfo) error {
	r, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
	if err != nil {
		return err
	}
	defer r.Release()
	for r.Next() {
	}
	return r.Err()
}

func wantLimit(t *testing.T, what string, err error, text string) {
	t.Helper()
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(status.Convert(err).Message(), text) {
		t.Errorf("%s: %v, want ResourceExhausted with %q", what, err, text)
	}
}

// Each limit of a statement that is exceeded is told as ResourceExhausted, and what is just smaller passes.
func TestLimitCodes(t *testing.T) {
	const endless = "SELECT count(*) FROM range(100000000000) a"
	const sort = "SELECT i FROM range(%d) r(i) ORDER BY i::VARCHAR || 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' DESC"
	for _, c := range []struct {
		limits       string
		set          string // run first
		over, within string
		text         string
	}{
		{"statement: 1s", "", endless, "SELECT 1", "limit reached: the time of one statement"},
		{"", "SET statement_timeout = '200ms'", endless, "SET statement_timeout = 0", "limit reached: the time of one statement"},
		{"result_rows: 10", "", "SELECT i FROM range(11) r(i)", "SELECT i FROM range(10) r(i)", "limit reached: 10 rows of one result"},
		{"result_size: 10KiB", "", "SELECT repeat('x', 9000) || repeat('y', 9000)", "SELECT repeat('x', 9000)", "limit reached: 10240 bytes of one result"},
		{"user_memory: 64MiB, user_spill: 1MiB", "", fmt.Sprintf(sort, 3_000_000), fmt.Sprintf(sort, 30_000), "needs more memory"},
		{"", "", "SELECT '" + strings.Repeat("x", 1<<20) + "'", "SELECT '" + strings.Repeat("x", 1<<19) + "'", "limit reached: a statement longer than 1 MiB"},
		{"", "", "SELECT " + strings.Repeat("(", 401) + "1" + strings.Repeat(")", 401), "SELECT " + strings.Repeat("(", 100) + "1" + strings.Repeat(")", 100), "limit reached: nesting that deep"},
		{"", "", "SELECT 1" + strings.Repeat(" + 1", 15_000), "SELECT 1" + strings.Repeat(" + 1", 100), "limit reached: a statement with that many tokens"},
		{"", "", "SELECT 1" + strings.Repeat(" UNION SELECT 1", 501), "SELECT 1" + strings.Repeat(" UNION SELECT 1", 5), "limit reached: that many set operations"},
		{"", "", "SELECT " + strings.Repeat("?, ", 1000) + "?", "SELECT 1", "limit reached: more than 1000 parameters"},
		{"", "", "SELECT 1 AS " + strings.Repeat("x", 64), "SELECT 1 AS " + strings.Repeat("x", 63), "limit reached: an identifier longer than 63 bytes"},
		{"", "", "SELECT $1001", "SELECT 1", "limit reached: a parameter number above 1000"},
		{"", "", "SELECT " + strings.Repeat("/*", 9) + strings.Repeat("*/", 9) + " 1", "SELECT /* /* */ */ 1", "limit reached: comments nested that deep"},
		{"", "", site.Doubling(18), site.Doubling(6), "limit reached: CTEs AS NOT MATERIALIZED that become more than 256 tables"},
	} {
		addr := limited(t, c.limits)
		client, ctx := signIn(t, addr, "ann")
		if c.set != "" {
			if err := runAll(ctx, client, c.set); err != nil {
				t.Fatal(err)
			}
		}
		wantLimit(t, fmt.Sprintf("%s %.60s", c.limits, c.over), runAll(ctx, client, c.over), c.text)
		if err := runAll(ctx, client, c.within); err != nil {
			t.Errorf("%s: within, %.60s: %v", c.limits, c.within, err)
		}
	}
	spilling, ctx := signIn(t, limited(t, "user_memory: 64MiB, user_spill: 4GiB"), "ann")
	if err := runAll(ctx, spilling, fmt.Sprintf(sort, 3_000_000)); err != nil {
		t.Errorf("what is over the memory with room to spill: %v", err)
	}
	client, ctx := signIn(t, limited(t, ""), "ann")
	if err := runAll(ctx, client, "SELECT 1 FROM range(3) TABLESAMPLE 10%"); status.Code(err) != codes.Unimplemented {
		t.Errorf("what is not supported in any size: %v", err)
	}
	short, stop := context.WithTimeout(ctx, 300*time.Millisecond)
	defer stop()
	if err := runAll(short, client, endless); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("the client's own deadline: %v", err)
	}
}

// A statement that waits to be read holds a place among the statements of its user, and of all.
func TestLimitOfStatementsAtOnce(t *testing.T) {
	for limits, second := range map[string]struct{ user, text string }{
		"per_user: 1": {"ann", "limit reached: statements of one user at once"},
		"total: 1":    {"ben", "limit reached: statements at once"},
	} {
		addr := limited(t, limits)
		first, ctx := signIn(t, addr, "ann")
		other, otherCtx := signIn(t, addr, second.user)
		info, err := first.Execute(ctx, "SELECT 1")
		if err != nil {
			t.Fatal(err)
		}
		wantLimit(t, limits, runAll(otherCtx, other, "SELECT 2"), second.text)
		if err := readAll(ctx, first, info); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() string {
			if err := runAll(otherCtx, other, "SELECT 2"); err != nil {
				return err.Error()
			}
			return ""
		})
	}
}

// limitedServers are the servers of limited, by their limits, so that a test starts each once.
var limitedServers = map[string]string{}

// limited starts a server for ann and ben with limits, and returns where it listens.
func limited(t *testing.T, limits string) string {
	t.Helper()
	if addr := limitedServers[limits]; addr != "" {
		return addr
	}
	home := t.TempDir()
	serveFolder(t, home).end(t)
	editConfig(t, home, "audit:\n", "limits: {"+limits+"}\naudit:\n")
	addTestUser(t, home, "ann", "analyst")
	addTestUser(t, home, "ben", "guest")
	s := serveFolder(t, home)
	limitedServers[limits] = s.flight
	t.Cleanup(func() { delete(limitedServers, limits); s.end(t) })
	return s.flight
}

// Task credentials last as long as a statement may, also where that is longer than the usual hour.
func TestTaskCredentialsLastAsLongAsStatements(t *testing.T) {
	const limit = 3 * time.Hour
	minter, verifier, err := taskKeys(Config{Limits: LimitsConfig{Statement: limit}})
	if err != nil {
		t.Fatal(err)
	}
	claims := auth.TaskClaims{Subject: "s", UserIss: "u", Query: "q", Relation: "r", Digest: "d", Expires: time.Now().Add(limit)}
	token, err := minter.Mint(claims)
	if err != nil {
		t.Fatalf("a credential for %s: %v", limit, err)
	}
	if _, err := verifier.Verify(token, claims); err != nil {
		t.Errorf("a credential for %s is not accepted: %v", limit, err)
	}
	claims.Expires = time.Now().Add(2 * limit)
	if _, err := minter.Mint(claims); err == nil {
		t.Error("a credential for twice the limit")
	}
}
