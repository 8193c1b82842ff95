package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// with returns a context with the session of c.
func (c *tapped) with(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(metadata.NewOutgoingContext(t.Context(), c.header), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// read fetches all of info's rows as text.
func (c *tapped) read(ctx context.Context, info *flight.FlightInfo) (string, error) {
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

// A ticket is good for its owner alone.
func TestBatteryTickets(t *testing.T) {
	s := demoServer(t)
	alice, bob, admin := tap(t, s.flight, "alice"), tap(t, s.flight, "bob"), tap(t, s.flight, "admin")
	info, err := admin.sql.Execute(admin.with(t), "SELECT max(gross) AS gross FROM payroll")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*tapped{"alice": alice, "bob": bob} {
		text, err := c.read(c.with(t), info)
		if got := status.Code(err); got != codes.NotFound && got != codes.PermissionDenied && got != codes.InvalidArgument && got != codes.Unauthenticated {
			t.Errorf("%s redeems the admin's ticket: %q, %v", name, text, err)
		}
	}
	if text, err := admin.read(admin.with(t), info); err != nil || !strings.Contains(text, "gross=") {
		t.Errorf("the control: %q, %v", text, err)
	}
}

// A prepared statement is its owner's alone; its parameters are values, and a masked column is masked before it meets them.
func TestBatteryPrepared(t *testing.T) {
	s := demoServer(t)
	clients := map[string]*tapped{"alice": tap(t, s.flight, "alice"), "bob": tap(t, s.flight, "bob"), "admin": tap(t, s.flight, "admin")}
	const byTax = "SELECT id, tax_id FROM customers WHERE tax_id = ? AND id < 10"
	for _, c := range []struct{ user, sql, value, want string }{
		{"alice", byTax, "900-16-2732", ""},
		{"alice", byTax, "***-**-2732", "id=3  tax_id=***-**-2732\n"},
		{"bob", byTax, "900-16-2732", ""},
		{"admin", byTax, "900-16-2732", "id=3  tax_id=900-16-2732\n"},
		{"alice", byTax, "' OR '1'='1", ""},
		{"alice", byTax, "x'; SELECT * FROM payroll; --", ""},
		{"alice", "SELECT CAST(? AS VARCHAR) AS a", "(SELECT max(gross) FROM payroll)", "a=(SELECT max(gross) FROM payroll)\n"},
		{"alice", "SELECT count(*) AS n FROM customers WHERE region = ?", "US", "n=0\n"},
		{"admin", "SELECT count(*) > 0 AS n FROM customers WHERE region = ?", "US", "n=true\n"},
		{"alice", "SELECT count(*) AS n FROM customers WHERE id < 100 AND CAST(replace(region, 'EU', ?) AS INT) > 0", "1", "n=48\n"},
		{"alice", "SELECT count(hamming(region, ?)) AS n FROM customers WHERE id < 100", "EU", "n=48\n"},
	} {
		got, err := clients[c.user].bound(t, c.sql, c.value)
		if err != nil || got != c.want {
			t.Errorf("%s: %s with %q = %q, %v; want %q", c.user, c.sql, c.value, got, err, c.want)
		}
	}
	// The control of the two before: there are rows on which they fail.
	for sql, value := range map[string]string{
		"SELECT count(*) AS n FROM customers WHERE id < 100 AND CAST(replace(region, 'EU', ?) AS INT) > 0": "1",
		"SELECT count(hamming(region, ?)) AS n FROM customers WHERE id < 100":                              "EU",
	} {
		if got, err := clients["admin"].bound(t, sql, value); err == nil {
			t.Errorf("admin: %s = %q, want an error", sql, got)
		}
	}

	alice, bob := clients["alice"], clients["bob"]
	p, err := alice.sql.Prepare(alice.with(t), "SELECT * FROM employees")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close(alice.with(t)) }()
	for _, f := range p.DatasetSchema().Fields() {
		if f.Name == "salary" {
			t.Error("the schema of a prepared statement has a hidden column")
		}
	}
	other := flightsql.NewPreparedStatement(bob.sql, p.Handle())
	if info, err := other.Execute(bob.with(t)); err == nil {
		text, err := bob.read(bob.with(t), info)
		t.Errorf("bob runs alice's prepared statement: %q, %v", text, err)
	}
	_ = other.Close(bob.with(t)) // to close what is not there is no fault, so that this tells nothing
	if info, err := p.Execute(alice.with(t)); err != nil {
		t.Errorf("alice's statement is gone: %v", err)
	} else if text, err := alice.read(alice.with(t), info); err != nil || strings.Contains(text, "salary") || !strings.Contains(text, "id=1 ") {
		t.Errorf("alice's statement: %v", err)
	}
}

// bound prepares sql, binds one text value and returns the rows.
func (c *tapped) bound(t *testing.T, sql, value string) (string, error) {
	t.Helper()
	p, err := c.sql.Prepare(c.with(t), sql)
	if err != nil {
		return "", err
	}
	defer func() { _ = p.Close(c.with(t)) }()
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "1", Type: arrow.BinaryTypes.String}}, nil))
	defer b.Release()
	b.Field(0).(*array.StringBuilder).Append(value)
	p.SetParameters(b.NewRecordBatch())
	info, err := p.Execute(c.with(t))
	if err != nil {
		return "", err
	}
	return c.read(c.with(t), info)
}

// Metadata calls hold nothing of what is hidden: not in their rows, not in a serialised schema, not anywhere in their bytes.
func TestBatteryMetadata(t *testing.T) {
	s := demoServer(t)
	pay := "pay%"
	catalog, schema := "lake", "shop"
	// The keys of a hidden table are asked for by a name of equal length that was never used; TestBatteryKeys compares the two.
	table := flightsql.TableRef{Catalog: &catalog, DBSchema: &schema, Table: "nopqrst"}
	employees := flightsql.TableRef{Catalog: &catalog, DBSchema: &schema, Table: "employees"}
	calls := map[string]func(*tapped, context.Context) (*flight.FlightInfo, error){
		"all tables": func(c *tapped, ctx context.Context) (*flight.FlightInfo, error) {
			return c.sql.GetTables(ctx, &flightsql.GetTablesOpts{IncludeSchema: true})
		},
		"by pattern": func(c *tapped, ctx context.Context) (*flight.FlightInfo, error) {
			return c.sql.GetTables(ctx, &flightsql.GetTablesOpts{TableNameFilterPattern: &pay, IncludeSchema: true})
		},
		"primary keys": func(c *tapped, ctx context.Context) (*flight.FlightInfo, error) {
			return c.sql.GetPrimaryKeys(ctx, table)
		},
		"imported keys": func(c *tapped, ctx context.Context) (*flight.FlightInfo, error) {
			return c.sql.GetImportedKeys(ctx, employees)
		},
		"cross reference": func(c *tapped, ctx context.Context) (*flight.FlightInfo, error) {
			return c.sql.GetCrossReference(ctx, employees, table)
		},
		"catalogs":    func(c *tapped, ctx context.Context) (*flight.FlightInfo, error) { return c.sql.GetCatalogs(ctx) },
		"table types": func(c *tapped, ctx context.Context) (*flight.FlightInfo, error) { return c.sql.GetTableTypes(ctx) },
		"schemas": func(c *tapped, ctx context.Context) (*flight.FlightInfo, error) {
			return c.sql.GetDBSchemas(ctx, &flightsql.GetDBSchemasOpts{})
		},
		"info": func(c *tapped, ctx context.Context) (*flight.FlightInfo, error) { return c.sql.GetSqlInfo(ctx, nil) },
	}
	seen := map[string]string{}
	for _, user := range []string{"alice", "bob", "admin"} {
		c := tap(t, s.flight, user)
		for name, call := range calls {
			c.wire.Reset()
			text := ""
			info, err := call(c, c.with(t))
			if err == nil {
				text, err = c.read(c.with(t), info)
			}
			if err != nil {
				text = status.Convert(err).Message()
			}
			wire := c.wire.String()
			seen[user] += wire
			for _, hidden := range []string{"payroll", "salary", "gross", "/lake/", "read_parquet", ".parquet"} {
				if user != "admin" && strings.Contains(text+wire, hidden) {
					t.Errorf("%s: %s sees %q", name, user, hidden)
				}
			}
		}
	}
	for _, control := range []string{"payroll", "salary", "gross"} {
		if !strings.Contains(seen["admin"], control) {
			t.Errorf("the control does not see %s", control)
		}
	}
	if strings.Contains(seen["bob"], "order_items") || !strings.Contains(seen["alice"], "order_items") {
		t.Error("order_items is for alice and not for bob")
	}
}

// What is said of a hidden table's keys is what is said of a name that was never used.
func TestBatteryKeys(t *testing.T) {
	s := demoServer(t)
	catalog, schema := "lake", "shop"
	for _, user := range []string{"alice", "bob"} {
		c := tap(t, s.flight, user)
		said := func(name string) string {
			ref := flightsql.TableRef{Catalog: &catalog, DBSchema: &schema, Table: name}
			products := flightsql.TableRef{Catalog: &catalog, DBSchema: &schema, Table: "products"}
			out := ""
			for _, call := range []func() (*flight.FlightInfo, error){
				func() (*flight.FlightInfo, error) { return c.sql.GetPrimaryKeys(c.with(t), ref) },
				func() (*flight.FlightInfo, error) { return c.sql.GetExportedKeys(c.with(t), ref) },
				func() (*flight.FlightInfo, error) { return c.sql.GetImportedKeys(c.with(t), ref) },
				func() (*flight.FlightInfo, error) { return c.sql.GetCrossReference(c.with(t), ref, products) },
			} {
				text := ""
				info, err := call()
				if err == nil {
					text, err = c.read(c.with(t), info)
				}
				out += text + status.Code(err).String() + status.Convert(err).Message() + "\n"
			}
			return strings.ReplaceAll(out, name, "NAME")
		}
		if hidden, never := said("payroll"), said("nopqrst"); hidden != never {
			t.Errorf("%s: of a hidden table it is said\n%s\nof one that never was\n%s", user, hidden, never)
		}
	}
}

// Names that resemble a user's, and wrong passwords, all fail in the same words.
func TestBatteryLogin(t *testing.T) {
	s := demoServer(t)
	words := ""
	for _, c := range []struct{ user, password string }{
		{"alice", "wrong"},
		{"nobody", "nobody"},
		{"Alice", "alice"},
		{"alice ", "alice"},
		{"alice\x00", "alice"},
		{"alice\u200b", "alice"},
		{"ａｌｉｃｅ", "alice"},
		{"alice", ""},
		{"", ""},
		{"admin", "alice"},
		{"alice' OR '1'='1", "alice"},
		{strings.Repeat("a", 60_000), "a"},
	} {
		client, err := flightsql.NewClient(s.flight, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Client.AuthenticateBasicToken(t.Context(), c.user, c.password)
		_ = client.Close()
		if err == nil {
			t.Errorf("%.20q signs in", c.user)
			continue
		}
		if len(c.user) > 1000 {
			continue // may be refused by its size alone
		}
		if got := status.Convert(err).Message(); words == "" {
			words = got
		} else if got != words {
			t.Errorf("%q is refused with %q, others with %q", c.user, got, words)
		}
	}
}
