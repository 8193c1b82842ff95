package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"gatehouse/audit"
	"gatehouse/catalog"
	"gatehouse/classify"
	"gatehouse/executors"
	"gatehouse/gateway"
	"gatehouse/plan"
)

// What Prepare says of a statement is what comes: its schema, and whether rows come at all. Update runs what has none, and only that.
func TestPrepareTellsTheTruth(t *testing.T) {
	p := newParts(t)
	g := p.gateway(t)
	furnish(t, p, g)
	for _, a := range append(reads(), changes()...) {
		s := signIn(t, g, a.user)
		prepared, err := g.Prepare(t.Context(), s, a.name)
		if err != nil {
			continue // a call, not a statement; or one about what a statement after it makes
		}
		if prepared.SQL() != a.name || prepared.Params().NumFields() != 0 {
			t.Errorf("%s: prepared as %s with %v", a.name, prepared.SQL(), prepared.Params())
		}
		if prepared.Rows() != (prepared.Schema().NumFields() > 0) {
			t.Errorf("%s: rows: %v, schema: %v", a.name, prepared.Rows(), prepared.Schema())
		}
		if !prepared.Rows() {
			if n, err := g.Update(t.Context(), s, a.name); n != 0 || err != nil {
				t.Errorf("%s as an update: %d, %v", a.name, n, err)
			}
			if e := p.sink.last(); e.Action != "update" || e.Outcome != audit.Done {
				t.Errorf("%s as an update: %+v", a.name, e)
			}
			continue
		}
		var unsupported *classify.UnsupportedError
		if _, err := g.Update(t.Context(), s, a.name); !errors.As(err, &unsupported) || !strings.Contains(err.Error(), "returns rows") {
			t.Errorf("%s as an update: %v", a.name, err)
		}
		for what, run := range map[string]func() (*gateway.Result, error){
			"statement": func() (*gateway.Result, error) { return g.Query(t.Context(), s, a.name) },
			"execute":   func() (*gateway.Result, error) { return prepared.Execute(t.Context(), s, nil) },
		} {
			res, err := run()
			check(t, err)
			if !res.Schema().Equal(prepared.Schema()) {
				t.Errorf("%s: %v, prepared as %v", a.name, res.Schema(), prepared.Schema())
			}
			r, err := res.Run(t.Context())
			check(t, err)
			if !r.Schema().Equal(prepared.Schema()) {
				t.Errorf("%s: %v, prepared as %v", a.name, r.Schema(), prepared.Schema())
			}
			n := int64(0)
			for r.Next() {
				n += r.RecordBatch().NumRows()
			}
			check(t, r.Err())
			r.Release()
			if e := p.sink.last(); e.Action != what || e.Rows != n || e.Query != res.Query() || len(e.Query) != 32 {
				t.Errorf("%s: %d rows by %s: %+v", a.name, n, res.Query(), e)
			}
		}
	}
	if _, err := g.Prepare(t.Context(), signIn(t, g, "bob"), "SELECT"); err == nil {
		t.Error("a statement that is none was prepared")
	}
}

// Listings have what filters ask for, and nothing that queries do not find.
func TestListings(t *testing.T) {
	p := newParts(t)
	p.config.Catalogs = map[string]catalog.Catalog{"Lake": p.shop, "zoo": p.config.Catalogs["zoo"]}
	g := p.gateway(t)
	root, s := signIn(t, g, "root"), signIn(t, g, "ann")
	for _, sql := range []string{"GRANT SELECT ON SCHEMA Shop TO USER ann", "GRANT SELECT ON zoo.java.types_all TO USER ann", "GRANT SELECT ON zoo.spark.required_cols TO USER ann"} {
		if _, err := rows(t, g, root, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	catalogs, err := g.Catalogs(t.Context(), s)
	if err != nil || !slices.Equal(catalogs, []string{"Lake", "zoo"}) {
		t.Errorf("catalogs: %v, %v", catalogs, err)
	}
	if e := p.sink.last(); e.Action != "metadata" || e.Kind != "catalogs" || e.Outcome != audit.Done {
		t.Errorf("catalogs: %+v", e)
	}
	text := func(s string) *string { return &s }
	for _, c := range []struct {
		cat, pattern *string
		want         string
	}{
		{nil, nil, "[{Lake Shop} {zoo java} {zoo spark}]"},
		{text("zoo"), nil, "[{zoo java} {zoo spark}]"},
		{text("Zoo"), nil, "[]"},
		{nil, text("S%"), "[{Lake Shop}]"},
		{text("zoo"), text("s%"), "[{zoo spark}]"},
	} {
		got, err := g.Schemas(t.Context(), s, c.cat, c.pattern)
		if fmt.Sprint(got) != c.want || err != nil {
			t.Errorf("schemas: %v, %v, want %s", got, err, c.want)
		}
	}
	for _, c := range []struct {
		f    gateway.TableFilter
		want string
	}{
		{gateway.TableFilter{}, "Shop.Orders Shop.Lines Shop.Open Shop.Totals(VIEW) Shop.Torn java.types_all spark.required_cols"},
		{gateway.TableFilter{Types: []string{"table"}}, "Shop.Orders Shop.Lines Shop.Open Shop.Torn java.types_all spark.required_cols"},
		{gateway.TableFilter{Types: []string{"view", "x"}}, "Shop.Totals(VIEW)"},
		{gateway.TableFilter{Types: []string{"BASE TABLE", "VIEW"}, Catalog: text("Lake")}, "Shop.Orders Shop.Lines Shop.Open Shop.Totals(VIEW) Shop.Torn"},
		{gateway.TableFilter{Types: []string{"SYSTEM TABLE"}}, ""},
		{gateway.TableFilter{SchemaPattern: text("%a%")}, "java.types_all spark.required_cols"},
		{gateway.TableFilter{TablePattern: text("T%")}, "Shop.Totals(VIEW) Shop.Torn"},
		{gateway.TableFilter{Catalog: text("Lake"), TablePattern: text("T%"), Columns: true}, "Shop.Totals(VIEW) Shop.Torn"},
		{gateway.TableFilter{Catalog: text("Lake"), TablePattern: text("O%"), Columns: true}, "Shop.Orders[id:BIGINT? name:VARCHAR? region:VARCHAR? amount:DOUBLE?] Shop.Open[id:BIGINT? name:VARCHAR?* amount:DOUBLE?]"},
		{gateway.TableFilter{Catalog: text("zoo"), SchemaPattern: text("spark"), Columns: true}, `spark.required_cols[id:BIGINTthe key name:VARCHAR note:VARCHAR?it's a note st:STRUCT("a" INTEGER, "b" VARCHAR)]`},
	} {
		tables, err := g.Tables(t.Context(), s, c.f)
		var got []string
		for _, table := range tables {
			line := table.Schema + "." + table.Name
			if table.Type != "BASE TABLE" {
				line += "(" + table.Type + ")"
			}
			var columns []string
			for _, col := range table.Columns {
				columns = append(columns, col.Name+":"+col.Type+map[bool]string{true: "?"}[col.Nullable]+map[bool]string{true: "*"}[col.Masked]+col.Doc)
			}
			if columns != nil {
				line += "[" + strings.Join(columns, " ") + "]"
			}
			got = append(got, line)
		}
		if strings.Join(got, " ") != c.want || err != nil {
			t.Errorf("%+v: %s, %v, want %s", c.f, strings.Join(got, " "), err, c.want)
		}
	}
}

// Options of a door are settings under the same rules.
func TestOptions(t *testing.T) {
	g := newParts(t).gateway(t)
	s := signIn(t, g, "ann")
	if id := s.Identity(); id.User != "ann" || id.Issuer != "home" {
		t.Errorf("a session of %v", id)
	}
	root := signIn(t, g, "root")
	_, err := rows(t, g, root, "GRANT SELECT ON SCHEMA zoo.java TO USER ann")
	check(t, err)
	for _, c := range []struct{ name, value, want string }{ // "": refused
		{"catalog", "ZOO", "zoo.java"},
		{"CATALOG", "lake", "Lake.Shop"},
		{"Schema", "SHOP", "Lake.Shop"},
		{"schema", "java", ""},
		{"catalog", "nowhere", ""},
		{"catalog", "zoo", "zoo.java"},
		{"schema", "java", "zoo.java"},
		{"schema", "spark", ""},
		{"purpose", "audit", "zoo.java"},
		{"nothing", "x", ""},
		{"timestamptz", "x", ""},
	} {
		before := s.Namespace()
		err := g.SetOption(t.Context(), s, c.name, c.value)
		if (err == nil) != (c.want != "") {
			t.Errorf("%s = %s: %v", c.name, c.value, err)
		}
		now := s.Namespace()
		if err != nil && now != before || err == nil && now.Catalog+"."+now.Schema != c.want {
			t.Errorf("%s = %s: then the session is at %v", c.name, c.value, now)
		}
	}
	if s.Settings()["purpose"] != "audit" {
		t.Error("an option that was set is not")
	}
	for _, name := range []string{"catalog", "SCHEMA"} {
		check(t, g.SetOption(t.Context(), s, "catalog", "zoo"))
		check(t, g.ResetOption(t.Context(), s, name))
		if now := s.Namespace(); now.Catalog != "Lake" || now.Schema != "Shop" {
			t.Errorf("%s reset: %v", name, now)
		}
	}
	check(t, g.ResetOption(t.Context(), s, "Purpose"))
	if s.Settings()["purpose"] != "" || g.ResetOption(t.Context(), s, "nothing") == nil {
		t.Error("a reset does nothing, or is of nothing")
	}
}

// An instant arrives as what the session's client can read, in every batch and beside other columns, and means the same.
func TestInstants(t *testing.T) {
	g := newParts(t).gateway(t)
	const sql = "SELECT 1 AS n, TIMESTAMPTZ '2026-01-31 12:00:00+01' AS a, id, TIMESTAMPTZ '2026-01-31 12:00:00+02' AS b FROM Open ORDER BY id"
	instant := &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	wall := &arrow.TimestampType{Unit: arrow.Microsecond}
	for value, want := range map[string]*arrow.TimestampType{"instant": instant, "utc": wall} {
		s := signIn(t, g, "bob")
		check(t, g.SetOption(t.Context(), s, "timestamptz", value))
		p, err := g.Prepare(t.Context(), s, sql)
		check(t, err)
		res, err := g.Query(t.Context(), s, sql)
		check(t, err)
		r, err := res.Run(t.Context())
		check(t, err)
		n := 0
		for r.Next() {
			b := r.RecordBatch()
			n += int(b.NumRows())
			for _, schema := range []*arrow.Schema{p.Schema(), res.Schema(), r.Schema(), b.Schema()} {
				for i, typ := range []arrow.DataType{arrow.PrimitiveTypes.Int32, want, arrow.PrimitiveTypes.Int64, want} {
					if !arrow.TypeEqual(schema.Field(i).Type, typ) {
						t.Errorf("%s: column %d is %v", value, i, schema.Field(i))
					}
				}
			}
			if got := b.Column(1).ValueStr(0); !strings.HasPrefix(got, "2026-01-31T11:00:00") {
				t.Errorf("%s: %s", value, got)
			}
			if got := b.Column(3).ValueStr(0); !strings.HasPrefix(got, "2026-01-31T10:00:00") {
				t.Errorf("%s: %s", value, got)
			}
		}
		if n != 6 || r.Err() != nil {
			t.Errorf("%s: %d rows, %v", value, n, r.Err())
		}
		r.Release()
	}
}

// A value that is bound means what the same literal means, whatever its type, and a missing one is NULL.
func TestBoundValues(t *testing.T) {
	g := newParts(t).gateway(t)
	s := signIn(t, g, "bob")
	day := arrow.Date32FromTime(time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC))
	for _, c := range []struct {
		sql  string
		args []any
		want string
	}{
		{"SELECT max(id) FROM Open WHERE id < ? AND region = ?", []any{int64(6), "eu"}, "3"},
		{"SELECT count(*) FROM Open WHERE DATE '2026-01-31' = ?", []any{scalar.NewDate32Scalar(day)}, "6"},
		{"SELECT count(*) FROM Open WHERE CAST('2026-01-31' AS DATE) < ?", []any{scalar.NewDate32Scalar(day + 1)}, "6"},
		{"SELECT count(*) FROM Open WHERE DATE '2026-01-31' = ?", []any{scalar.MakeNullScalar(arrow.FixedWidthTypes.Date32)}, "0"},
		{"SELECT count(*) FROM Open WHERE id = ?", []any{nil}, "0"},
		{"SELECT ? || ?", []any{"a", "b"}, "ab"},
	} {
		p, err := g.Prepare(t.Context(), s, c.sql)
		check(t, err)
		res, err := p.Execute(t.Context(), s, c.args)
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		r, err := res.Run(t.Context())
		check(t, err)
		if !r.Next() || r.RecordBatch().Column(0).ValueStr(0) != c.want {
			t.Errorf("%s: %v, want %s", c.sql, r.RecordBatch(), c.want)
		}
		r.Release()
		for _, args := range [][]any{c.args[1:], append([]any{int64(1)}, c.args...)} {
			var syntax *classify.SyntaxError
			if _, err := p.Execute(t.Context(), s, args); !errors.As(err, &syntax) {
				t.Errorf("%s with %d values: %v", c.sql, len(args), err)
			}
		}
	}
}

// Close ends what still runs when its own time is over, once, and nothing runs after it.
func TestCloseEnds(t *testing.T) {
	g := newParts(t).gateway(t)
	s := signIn(t, g, "bob")
	res, err := g.Query(t.Context(), s, endless)
	check(t, err)
	held, err := g.Query(t.Context(), s, "SELECT 1")
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
	time.AfterFunc(100*time.Millisecond, held.Close)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Close(over); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := <-ended; !errors.Is(err, gateway.ErrClosing) {
		t.Errorf("the statement: %v", err)
	}
	if g.Ready() {
		t.Error("ready")
	}
	for range 2 {
		check(t, g.Close(t.Context()))
	}
	if _, err := g.Tables(t.Context(), s, gateway.TableFilter{}); !errors.Is(err, gateway.ErrClosing) {
		t.Errorf("a call: %v", err)
	}
}

// planned is an executor that keeps the last plan.
type planned struct {
	executors.Executor
	last *plan.Plan
}

func (p *planned) Prepare(ctx context.Context, pl *plan.Plan) (executors.Prepared, error) {
	p.last = pl
	return p.Executor.Prepare(ctx, pl)
}

// With Steady, a condition does not choose which files of a table with hidden rows are read; of other tables it does.
func TestSteady(t *testing.T) {
	for _, steady := range []bool{false, true} {
		p := newParts(t)
		x := &planned{Executor: p.config.Executor}
		p.config.Executor, p.config.Steady = x, steady
		g := p.gateway(t)
		files := func(user string) int {
			got, err := rows(t, g, signIn(t, g, user), "SELECT id FROM Open WHERE id = 1")
			if err != nil || got != "1\n" {
				t.Fatalf("%q, %v", got, err)
			}
			return len(x.last.Relations()[0].Scan.Files)
		}
		all, filtered := files("bob"), files("ann")
		if all != 1 || steady && filtered == 1 || !steady && filtered != 1 {
			t.Errorf("steady %v: %d and %d files are read", steady, all, filtered)
		}
	}
}

// silent is an executor whose streams end without an error when they are told to end.
type silent struct{ executors.Executor }

func (s silent) Prepare(ctx context.Context, p *plan.Plan) (executors.Prepared, error) {
	prepared, err := s.Executor.Prepare(ctx, p)
	return silentPrepared{prepared}, err
}

type silentPrepared struct{ executors.Prepared }

func (p silentPrepared) Execute(ctx context.Context, args []any) (array.RecordReader, error) {
	r, err := p.Prepared.Execute(ctx, args)
	return silentReader{r, ctx}, err
}

type silentReader struct {
	array.RecordReader
	ctx context.Context
}

func (r silentReader) Next() bool {
	if r.RecordReader.Next() {
		return true
	}
	<-r.ctx.Done()
	return false
}

// A statement that was cancelled ends with an error, also if its executor has none.
func TestCancelledIsAnError(t *testing.T) {
	p := newParts(t)
	p.config.Executor = silent{p.config.Executor}
	g := p.gateway(t)
	s := signIn(t, g, "bob")
	for _, c := range []struct {
		end  func(cancel func(), query string)
		want error
	}{
		{func(_ func(), query string) { check(t, g.Cancel(s, query)) }, gateway.ErrCancelled},
		{func(cancel func(), _ string) { cancel() }, gateway.ErrCancelled},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		res, err := g.Query(t.Context(), s, "SELECT id FROM Open")
		check(t, err)
		r, err := res.Run(ctx)
		check(t, err)
		if !r.Next() {
			t.Fatal(r.Err())
		}
		c.end(cancel, res.Query())
		for r.Next() {
		}
		if r.Err() != c.want || p.sink.last().Outcome != audit.Cancelled {
			t.Errorf("%v, and the event %+v", r.Err(), p.sink.last())
		}
		r.Release()
		cancel()
	}
}
