package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// The statements that the demo's banner runs, live, through the real port.
const (
	demoSQL = `SELECT c.region, min(c.tax_id) AS tax_id, count(*) AS items
FROM order_items i JOIN orders o ON o.id = i.order_id JOIN customers c ON c.id = o.customer_id
WHERE i.order_id <= 1000 GROUP BY c.region ORDER BY c.region`
	// demoAttack fails for whoever may see customers outside of the EU, since their names are no numbers. For alice those
	// rows do not exist, so it must not fail.
	demoAttack = `SELECT count(*) AS customers FROM customers WHERE CASE WHEN region = 'EU' THEN 1 ELSE CAST(name AS INTEGER) END = 1`
)

// demoBanner queries the server as each user and prints what a person needs.
func demoBanner(ctx context.Context, w io.Writer, ls *listeners, home string, took time.Duration) error {
	addr := ls.flight.Addr().String()
	answers := map[string]string{}
	for _, u := range demoUsers {
		text, err := ask(ctx, addr, u.name, u.name, demoSQL)
		if err != nil {
			return fmt.Errorf("the probe query as %s did not work: %w", u.name, err)
		}
		answers[u.name] = text
	}
	attack, err := ask(ctx, addr, "alice", "alice", demoAttack)
	if err != nil {
		return fmt.Errorf("the probe query did not work: %w", err)
	}
	control, err := ask(ctx, addr, "admin", "admin", demoAttack)
	if err != nil {
		return fmt.Errorf("the probe query did not work: %w", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nGatehouse is ready after %.1f s. The same SQL as three users:\n\n%s\n\n", took.Seconds(), indent(demoSQL, "    "))
	for _, u := range []struct{ name, what string }{
		{"admin", "sees all in clear"}, {"alice", "sees the EU only, and the last four of a tax_id"}, {"bob", "may not see order_items, so for him there is no such table"},
	} {
		fmt.Fprintf(&b, "  %-5s  %s:\n%s\n", u.name, u.what, indent(answers[u.name], "         "))
	}
	fmt.Fprintf(&b, "  An attack: a cast that fails on every row outside of the EU would tell alice that such rows exist. It does not:\n%s\n", indent(demoAttack, "    "))
	fmt.Fprintf(&b, "  alice  %s\n  admin  %s\n\n", joinLines(attack), joinLines(control))
	howToConnect(&b, addr, ls, home)
	_, err = io.WriteString(w, b.String())
	return err
}

// howToConnect prints how to reach the server; each line can be pasted as it is.
func howToConnect(b *strings.Builder, addr string, ls *listeners, home string) {
	fmt.Fprintf(b, "Users (password = name): alice, bob, admin.   Flight SQL: grpc://%s", addr)
	if ls.http != nil {
		fmt.Fprintf(b, "   HTTP: http://%s/healthz /readyz /metrics", ls.http.Addr())
	}
	url := ""
	if addr != "127.0.0.1:31337" {
		url = " --url grpc://" + addr
	}
	fmt.Fprintf(b, `
  Shell       GATEHOUSE_PASSWORD=alice bin/gatehouse sql --user alice%s
  Python      python3 -c 'import adbc_driver_flightsql.dbapi as d; c=d.connect("grpc://%s", db_kwargs={"username":"alice","password":"alice"}, autocommit=True).cursor(); c.execute("SELECT * FROM customers LIMIT 5"); print(c.fetch_arrow_table().to_pylist())'
  JDBC        jdbc:arrow-flight-sql://%s?useEncryption=false&user=alice&password=alice
  Superset    datafusion+flightsql://alice:alice@%s?insecure=true
  Policy      %s/policy (edit it: the next statement obeys)   Audit: %s/audit.jsonl
Ctrl-C stops the server.
`, url, addr, addr, addr, home, home)
}

// ask runs one statement as a client would and returns its rows as text; a failed statement is its error's text.
func ask(ctx context.Context, addr, user, password, sql string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	c, err := flightsql.NewClient(addr, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	if ctx, err = c.Client.AuthenticateBasicToken(ctx, user, password); err != nil {
		return "", err
	}
	info, err := c.Execute(ctx, sql)
	if err != nil {
		return refusal(err)
	}
	defer hangUp(ctx, c)
	var b strings.Builder
	for _, e := range info.Endpoint {
		r, err := c.DoGet(ctx, e.Ticket)
		if err != nil {
			return refusal(err)
		}
		text, err := rowsText(r)
		r.Release()
		if err != nil {
			return refusal(err)
		}
		b.WriteString(text)
	}
	return strings.TrimRight(b.String(), "\n"), nil
}

// hangUp ends the login's session.
func hangUp(ctx context.Context, c *flightsql.Client) {
	_, _ = c.CloseSession(ctx, &flight.CloseSessionRequest{})
}

func rowsText(r *flight.Reader) (string, error) {
	var b strings.Builder
	for r.Next() {
		rec := r.RecordBatch()
		for row := range int(rec.NumRows()) {
			for i, col := range rec.Columns() {
				if i > 0 {
					b.WriteString("  ")
				}
				fmt.Fprintf(&b, "%s=%s", rec.ColumnName(i), col.ValueStr(row))
			}
			b.WriteByte('\n')
		}
	}
	return b.String(), r.Err()
}

// refusal returns the text of a statement's own failure; a failure to reach the server stays an error.
func refusal(err error) (string, error) {
	s, ok := status.FromError(err)
	if !ok || errors.Is(err, context.Canceled) {
		return "", err
	}
	return "error: " + s.Message(), nil
}

func indent(s, by string) string { return by + strings.ReplaceAll(s, "\n", "\n"+by) }

func joinLines(s string) string { return strings.ReplaceAll(s, "\n", "  ") }
