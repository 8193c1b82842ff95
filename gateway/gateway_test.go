package gateway_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"gatehouse/audit"
	"gatehouse/auth"
	"gatehouse/catalog"
	"gatehouse/classify"
	"gatehouse/executors"
	"gatehouse/gateway"
	"gatehouse/policy"
)

const endless = `SELECT count(*) FROM range(100000000000) a`

// If a statement cannot be recorded, not one row leaves. The control is the same statement with a sink that writes.
func TestNoRecordNoData(t *testing.T) {
	g, sink := newGateway(t, gateway.Limits{})
	s := session(t, g, "admin")
	if got, err := rows(t, g, s, "SELECT count(*) FROM v1_plain"); err != nil || got != "6\n" {
		t.Fatalf("control: %q, %v", got, err)
	}
	res, err := g.Query(t.Context(), s, "SELECT count(*) FROM v1_plain")
	check(t, err)
	sink.fail = errors.New("disk full")
	r, err := res.Run(t.Context())
	if !errors.Is(err, gateway.ErrAudit) || r != nil {
		t.Fatalf("Run without a record: %v, %v, want ErrAudit and no reader", r, err)
	}
	if _, err := g.Tables(t.Context(), s, gateway.TableFilter{}); !errors.Is(err, gateway.ErrAudit) {
		t.Errorf("Tables without a record: %v, want ErrAudit", err)
	}
}

// Each statement has one event at its end, whatever the end is.
func TestOneEvent(t *testing.T) {
	g, sink := newGateway(t, gateway.Limits{})
	s := session(t, g, "alice")
	for _, c := range []struct {
		sql     string
		outcome audit.Outcome
		class   string
	}{
		{"SELECT count(*) FROM v1_plain", audit.Done, ""},
		{"SELECT * FROM types_all", audit.Denied, "no_such_table"},
		{"SELECT FROM WHERE", audit.Failed, "syntax"},
		{"SELECT CAST(region AS INTEGER) FROM v1_plain", audit.Failed, "executor_conversion"},
		{"DROP TABLE v1_plain", audit.Failed, "unsupported"},
	} {
		sink.events = nil
		_, _ = rows(t, g, s, c.sql)
		var ends []audit.Event
		for _, e := range sink.events {
			if e.Outcome != audit.Started {
				ends = append(ends, e)
			}
		}
		if len(ends) != 1 || ends[0].Outcome != c.outcome || ends[0].Error != c.class || ends[0].User != "alice" {
			t.Errorf("%s: %+v, want one event with outcome %q and class %q", c.sql, ends, c.outcome, c.class)
		}
	}
	if e := sink.last(); len(e.Objects) != 0 {
		t.Errorf("a statement that was not understood names objects: %+v", e.Objects)
	}
	_, _ = rows(t, g, s, "SELECT * FROM types_all")
	if e := sink.last(); len(e.Objects) != 1 || e.Objects[0].Name != "zoo.spark.types_all" {
		t.Errorf("a denied statement's event names %+v, want the table", e.Objects)
	}
}

// Only its owner can cancel a statement, and a cancelled one ends with an error, not with fewer rows.
func TestCancel(t *testing.T) {
	g, sink := newGateway(t, gateway.Limits{})
	owner, other := session(t, g, "admin"), session(t, g, "alice")
	res, err := g.Query(t.Context(), owner, endless)
	check(t, err)
	ended := make(chan error, 1)
	go func() {
		r, err := res.Run(context.Background())
		if err == nil {
			for r.Next() {
			}
			err = r.Err()
			r.Release()
		}
		ended <- err
	}()
	if err := g.Cancel(other, res.Query()); !errors.Is(err, gateway.ErrNoSuchQuery) {
		t.Errorf("somebody else's cancel: %v, want ErrNoSuchQuery", err)
	}
	if err := g.Cancel(owner, "0123"); !errors.Is(err, gateway.ErrNoSuchQuery) {
		t.Errorf("an unknown id: %v, want ErrNoSuchQuery", err)
	}
	if err := g.Cancel(owner, res.Query()); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, gateway.ErrCancelled) {
			t.Errorf("the stream ended with %v, want ErrCancelled", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the statement runs on")
	}
	if e := sink.last(); e.Outcome != audit.Cancelled {
		t.Errorf("outcome %q, want cancelled", e.Outcome)
	}
}

// The deadline of the caller's own call is not a limit of the gateway, and one that is later than the limit changes nothing.
func TestCallersDeadline(t *testing.T) {
	for _, c := range []struct {
		limit, own time.Duration
		want       error
	}{{time.Hour, 150 * time.Millisecond, gateway.ErrDeadline}, {150 * time.Millisecond, time.Hour, gateway.ErrTimeout}} {
		g, sink := newGateway(t, gateway.Limits{Statement: c.limit})
		ctx, cancel := context.WithTimeout(t.Context(), c.own)
		defer cancel()
		res, err := g.Query(t.Context(), session(t, g, "admin"), endless)
		check(t, err)
		r, err := res.Run(ctx)
		if err == nil {
			for r.Next() {
			}
			err = r.Err()
			r.Release()
		}
		if err != c.want {
			t.Errorf("limit %s, deadline %s: %v, want %v", c.limit, c.own, err, c.want)
		}
		if e := sink.last(); e.Outcome != audit.Cancelled {
			t.Errorf("outcome %q, want cancelled", e.Outcome)
		}
	}
}

// A session's own time limit ends its statements, and a larger one than the gateway's does not help.
func TestTimeout(t *testing.T) {
	for _, c := range []struct {
		limit time.Duration
		set   string
	}{{time.Hour, "SET statement_timeout = '150ms'"}, {150 * time.Millisecond, "SET statement_timeout = '1h'"}, {150 * time.Millisecond, "SET statement_timeout = 0"}} {
		g, _ := newGateway(t, gateway.Limits{Statement: c.limit})
		s := session(t, g, "admin")
		if _, err := rows(t, g, s, c.set); err != nil {
			t.Fatal(err)
		}
		if _, err := rows(t, g, s, endless); !errors.Is(err, gateway.ErrTimeout) {
			t.Errorf("%s with a limit of %s: %v, want ErrTimeout", c.set, c.limit, err)
		}
	}
}

// A result is run once. Closing it afterwards, or running it after it was closed, does nothing.
func TestResultRunsOnce(t *testing.T) {
	g, sink := newGateway(t, gateway.Limits{})
	s := session(t, g, "admin")
	for _, sql := range []string{"SELECT 1", "SHOW timezone"} {
		res, err := g.Query(t.Context(), s, sql)
		check(t, err)
		r, err := res.Run(t.Context())
		check(t, err)
		for what, again := range map[string]func() error{
			"Run": func() error { _, err := res.Run(t.Context()); return err },
			"Run after Close": func() error {
				res.Close()
				_, err := res.Run(t.Context())
				return err
			},
		} {
			if err := again(); !errors.Is(err, gateway.ErrUsed) {
				t.Errorf("%s: a second %s: %v", sql, what, err)
			}
		}
		n := int64(0)
		for r.Next() {
			n += r.RecordBatch().NumRows()
		}
		if r.Next() || r.RecordBatch() != nil || r.(interface{ Record() arrow.RecordBatch }).Record() != nil {
			t.Errorf("%s: a batch after the end", sql)
		}
		r.Retain()
		if err := r.Err(); n != 1 || err != nil {
			t.Errorf("%s: %d rows, %v", sql, n, err)
		}
		r.Release()
		if e := sink.last(); e.Outcome != audit.Done || e.Rows != 1 {
			t.Errorf("%s: %s with %d rows", sql, e.Outcome, e.Rows)
		}
		res, err = g.Query(t.Context(), s, sql)
		check(t, err)
		res.Close()
		if _, err := res.Run(t.Context()); !errors.Is(err, gateway.ErrUsed) || sink.last().Outcome != audit.Cancelled {
			t.Errorf("%s: closed, then run: %v, %s", sql, err, sink.last().Outcome)
		}
	}
}

// One user's statements do not take the places of others.
func TestPerUserLimit(t *testing.T) {
	g, _ := newGateway(t, gateway.Limits{PerUser: 2, Total: 3})
	admin, alice := session(t, g, "admin"), session(t, g, "alice")
	var held []*gateway.Result
	for range 2 {
		res, err := g.Query(t.Context(), admin, "SELECT 1")
		check(t, err)
		held = append(held, res)
	}
	var limit *gateway.LimitError
	if _, err := g.Query(t.Context(), admin, "SELECT 1"); !errors.As(err, &limit) {
		t.Errorf("a third statement of one user: %v, want a LimitError", err)
	}
	res, err := g.Query(t.Context(), alice, "SELECT 1")
	if err != nil {
		t.Errorf("another user's first statement: %v", err)
	}
	res.Close()
	for _, r := range held {
		r.Close()
	}
	if got, err := rows(t, g, admin, "SELECT 1"); err != nil || got != "1\n" {
		t.Errorf("after the places are free: %q, %v", got, err)
	}
}

func TestRowLimit(t *testing.T) {
	g, _ := newGateway(t, gateway.Limits{ResultRows: 5})
	var limit *gateway.LimitError
	if _, err := rows(t, g, session(t, g, "admin"), "SELECT * FROM v1_plain"); !errors.As(err, &limit) {
		t.Errorf("6 rows of at most 5: %v, want a LimitError", err)
	}
	if got, err := rows(t, g, session(t, g, "alice"), "SELECT id FROM v1_plain"); err != nil || strings.Count(got, "\n") != 3 {
		t.Errorf("3 rows of at most 5: %q, %v", got, err)
	}
}

func TestByteLimit(t *testing.T) {
	g, _ := newGateway(t, gateway.Limits{ResultBytes: 1000})
	var limit *gateway.LimitError
	if _, err := rows(t, g, session(t, g, "admin"), "SELECT repeat('x', 1001)"); !errors.As(err, &limit) {
		t.Errorf("more than 1000 bytes: %v, want a LimitError", err)
	}
	if got, err := rows(t, g, session(t, g, "admin"), "SELECT length(repeat('x', 1001))"); err != nil || got != "1001\n" {
		t.Errorf("8 bytes: %q, %v", got, err)
	}
}

// A prepared statement belongs to whoever executes it: it is decided anew, for that session.
func TestPreparedDecidesAgain(t *testing.T) {
	g, _ := newGateway(t, gateway.Limits{})
	p, err := g.Prepare(t.Context(), session(t, g, "admin"), "SELECT count(*) FROM v1_plain WHERE id > ?")
	check(t, err)
	if p.Params().NumFields() != 1 {
		t.Fatalf("parameters: %v", p.Params())
	}
	for user, want := range map[string]int64{"admin": 6, "alice": 3} {
		res, err := p.Execute(t.Context(), session(t, g, user), []any{int64(0)})
		check(t, err)
		r, err := res.Run(t.Context())
		check(t, err)
		if !r.Next() || r.RecordBatch().Column(0).ValueStr(0) != map[int64]string{6: "6", 3: "3"}[want] {
			t.Errorf("%s: wrong count, want %d", user, want)
		}
		r.Release()
	}
	if _, err := p.Execute(t.Context(), session(t, g, "admin"), nil); err == nil {
		t.Error("a missing value was accepted")
	}
}

// A parameter whose type nothing tells gives its column the type of the value: the column must not be read as anything else.
func TestParameterTypes(t *testing.T) {
	g, _ := newGateway(t, gateway.Limits{})
	s := session(t, g, "admin")
	p, err := g.Prepare(t.Context(), s, "SELECT ?")
	check(t, err)
	for want, arg := range map[string]any{"abcdefghijkl": "abcdefghijkl", "1099511627776": int64(1) << 40, "3.5": 3.5, "true": true} {
		res, err := p.Execute(t.Context(), s, []any{arg})
		check(t, err)
		r, err := res.Run(t.Context())
		check(t, err)
		if !r.Next() || r.RecordBatch().Column(0).ValueStr(0) != want || !r.RecordBatch().Schema().Equal(r.Schema()) {
			t.Errorf("%v came back as %v of %v", arg, r.RecordBatch(), r.Schema())
		}
		r.Release()
	}
}

// refusing is a catalog that knows nobody.
type refusing struct{}

func (refusing) Table(context.Context, auth.Identity, string, string) (*catalog.Table, error) {
	return nil, catalog.ErrRefused
}

func (refusing) List(context.Context, auth.Identity, string) ([]catalog.Entry, error) {
	return nil, catalog.ErrRefused
}
func (refusing) Close() error { return nil }

// A table that the policy closes by its name is not there under another spelling either, and a catalog that it closes is not
// asked: what it answered would show that it is there.
func TestClosedIsAbsent(t *testing.T) {
	g, _ := newGatewayBeside(t, gateway.Limits{}, map[string]catalog.Catalog{"dark": refusing{}})
	for _, c := range []struct{ user, closed, absent string }{
		{"dora", "V_Orders", "V_Absent"}, {"dora", "v_orders", "v_absent"}, {"dora", "dark.s.t", "none.s.t"},
	} {
		for _, sql := range []string{"SELECT * FROM ", "DESCRIBE "} {
			_, err := rows(t, g, session(t, g, c.user), sql+c.closed)
			_, want := rows(t, g, session(t, g, c.user), sql+c.absent)
			var a, b *classify.NameError
			if !errors.As(err, &a) || !errors.As(want, &b) || strings.ReplaceAll(a.Error(), c.closed, c.absent) != b.Error() {
				t.Errorf("%s%s: %v; %s: %v", sql, c.closed, err, c.absent, want)
			}
		}
	}
	var unreadable *gateway.UnreadableError
	if _, err := rows(t, g, session(t, g, "admin"), "SELECT * FROM V_Orders"); !errors.As(err, &unreadable) || !errors.Is(errors.Unwrap(unreadable), catalog.ErrUnreadable) {
		t.Errorf("control, with the cause for the log: %v, %v", err, errors.Unwrap(err))
	}
	if _, err := rows(t, g, session(t, g, "admin"), "SELECT * FROM dark.s.t"); !errors.Is(err, gateway.ErrRefused) {
		t.Errorf("control: %v", err)
	}
	if got, err := rows(t, g, session(t, g, "dora"), "SELECT count(*) FROM V1_Plain"); err != nil || got != "6\n" {
		t.Errorf("control: %q, %v", got, err)
	}
}

// A catalog that does not know the caller has nothing to list, and hides no other one's tables. Who names it is told.
func TestRefusingCatalogHidesNoOther(t *testing.T) {
	g, _ := newGatewayBeside(t, gateway.Limits{}, map[string]catalog.Catalog{"dark": refusing{}})
	s := session(t, g, "admin")
	all, err := g.Tables(t.Context(), s, gateway.TableFilter{})
	if err != nil || len(all) < 40 {
		t.Errorf("%d tables, %v", len(all), err)
	}
	schemas, err := g.Schemas(t.Context(), s, nil, nil)
	if err != nil || len(schemas) == 0 {
		t.Errorf("%d schemas, %v", len(schemas), err)
	}
	beside := map[string]catalog.Catalog{}
	for _, name := range strings.Fields("f b h d a c g e") {
		beside[name] = refusing{}
	}
	many, _ := newGatewayBeside(t, gateway.Limits{}, beside)
	if names, err := many.Catalogs(t.Context(), session(t, many, "admin")); err != nil || strings.Join(names, " ") != "a b c d e f g h zoo" {
		t.Errorf("%v, %v", names, err)
	}
	dark := "dark"
	if _, err := g.Schemas(t.Context(), s, &dark, nil); !errors.Is(err, gateway.ErrRefused) {
		t.Errorf("named: %v", err)
	}
	if _, err := g.Tables(t.Context(), s, gateway.TableFilter{Catalog: &dark}); !errors.Is(err, gateway.ErrRefused) {
		t.Errorf("named: %v", err)
	}
}

// A table that the policy gives two masks for one column has no columns to show, and hides those of no other table.
func TestFaultyPolicyHidesNoOther(t *testing.T) {
	g, _ := newGateway(t, gateway.Limits{})
	all, err := g.Tables(t.Context(), session(t, g, "erin"), gateway.TableFilter{Columns: true})
	if err != nil {
		t.Fatal(err)
	}
	columns := map[string]int{}
	for _, table := range all {
		columns[table.Name] = len(table.Columns)
	}
	if n, listed := columns["temporal"]; !listed || n != 0 || columns["v1_plain"] == 0 {
		t.Errorf("columns: %v", columns)
	}
	var fault *policy.PolicyError
	if _, err := rows(t, g, session(t, g, "erin"), "SELECT * FROM temporal"); !errors.As(err, &fault) {
		t.Errorf("a query: %v, want a policy fault", err)
	}
}

// unwell is an executor that does not run statements as it should.
type unwell struct{ executors.Executor }

func (unwell) Capabilities() executors.Capabilities {
	return executors.Capabilities{Name: "unwell", Barrier: true, Tasks: executors.IdentityTask}
}
func (unwell) Healthy() bool { return false }

// A gateway is as ready as its executor is well.
func TestReady(t *testing.T) {
	if g, _ := newGateway(t, gateway.Limits{}); !g.Ready() {
		t.Error("a gateway over an executor that is well is not ready")
	}
	if g, _ := newGatewayOver(t, unwell{}, gateway.Limits{}, nil); g.Ready() {
		t.Error("a gateway over an executor that is unwell is ready")
	}
}

// Close lets a running statement end, refuses new ones, and returns.
func TestClose(t *testing.T) {
	g, _ := newGateway(t, gateway.Limits{})
	s := session(t, g, "admin")
	res, err := g.Query(t.Context(), s, "SELECT count(*) FROM v1_plain")
	check(t, err)
	closed := make(chan error, 1)
	go func() { closed <- g.Close(t.Context()) }()
	for g.Ready() {
		time.Sleep(time.Millisecond) // Close has no other sign of having begun
	}
	if _, err := g.Query(t.Context(), s, "SELECT 1"); !errors.Is(err, gateway.ErrClosing) {
		t.Errorf("a new statement: %v, want ErrClosing", err)
	}
	r, err := res.Run(t.Context())
	check(t, err)
	if !r.Next() || r.RecordBatch().Column(0).ValueStr(0) != "6" {
		t.Error("the running statement lost its rows")
	}
	r.Release()
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// A session begins where the configuration says and goes only where its user may.
func TestUse(t *testing.T) {
	g, _ := newGateway(t, gateway.Limits{})
	s := session(t, g, "admin")
	for _, sql := range []string{"USE zoo.java", "USE spark", "USE zoo"} {
		if _, err := rows(t, g, s, sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	var name *classify.NameError
	before := s.Namespace()
	if _, err := rows(t, g, s, "USE zoo.nowhere"); !errors.As(err, &name) {
		t.Errorf("USE of a schema that does not exist: %v", err)
	}
	if s.Namespace() != before {
		t.Errorf("a failed USE moved the session to %v", s.Namespace())
	}
}
