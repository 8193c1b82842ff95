package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"gatehouse/audit"
	"gatehouse/auth"
	"gatehouse/catalog"
	"gatehouse/executors"
	"gatehouse/gateway"
	"gatehouse/plan"
	"gatehouse/policy"
)

// faults stands between a gateway and what it is made of, counts what it asks, and lets one call go wrong.
type faults struct {
	calls []string
	at    int    // the call that goes wrong, from 1; 0: none
	how   string // "fails"; answers of the policy also "denies", and "short": there are none
}

var errFault = errors.New("canary")

// hit notes a call and says whether it is the one.
func (f *faults) hit(what string) bool {
	f.calls = append(f.calls, what)
	return len(f.calls) == f.at
}

func (f *faults) fails(what string, as error) error {
	if f.hit(what) && f.how == "fails" {
		return as
	}
	return nil
}

var errDown = fmt.Errorf("canary: %w", catalog.ErrUnavailable)

type faultyCatalog struct {
	catalog.Catalog
	*faults
}

func (c faultyCatalog) Table(ctx context.Context, id auth.Identity, schema, name string) (*catalog.Table, error) {
	if err := c.fails("catalog table", errDown); err != nil {
		return nil, err
	}
	return c.Catalog.Table(ctx, id, schema, name)
}

func (c faultyCatalog) List(ctx context.Context, id auth.Identity, schema string) ([]catalog.Entry, error) {
	if err := c.fails("catalog list", errDown); err != nil {
		return nil, err
	}
	return c.Catalog.List(ctx, id, schema)
}

type faultyDecider struct {
	policy.Decider
	*faults
}

func (d faultyDecider) Judge(ctx context.Context, c policy.Caller) (policy.Judge, error) {
	if err := d.fails("policy judge", errFault); err != nil {
		return nil, err
	}
	j, err := d.Decider.Judge(ctx, c)
	return faultyJudge{j, d.faults}, err
}

type faultyJudge struct {
	policy.Judge
	*faults
}

func (j faultyJudge) Rights() policy.Rights { return j.Judge.(policy.Pinned).Rights() }

func (j faultyJudge) Allow(ctx context.Context, op policy.Operation, rs []policy.Resource) ([]bool, error) {
	if j.hit("policy allow " + string(op)) {
		switch j.how {
		case "fails":
			return nil, errFault
		case "denies":
			return make([]bool, len(rs)), nil
		case "short":
			return nil, nil
		}
	}
	return j.Judge.Allow(ctx, op, rs)
}

func (j faultyJudge) Table(ctx context.Context, t policy.Table, columns []string) (policy.Decision, error) {
	if err := j.fails("policy table", errFault); err != nil {
		return policy.Decision{}, err
	}
	return j.Judge.Table(ctx, t, columns)
}

type faultyStore struct {
	policy.RightsStore
	*faults
}

func (s faultyStore) Apply(ctx context.Context, base policy.Rights, who policy.Author, changes []policy.Change) (policy.Rights, error) {
	if err := s.fails("rights apply", errFault); err != nil {
		return nil, err
	}
	return s.RightsStore.Apply(ctx, base, who, changes)
}

func (s faultyStore) At(ctx context.Context, t time.Time) (policy.Rights, error) {
	if err := s.fails("rights at", errFault); err != nil {
		return nil, err
	}
	return s.RightsStore.At(ctx, t)
}

func (s faultyStore) History(ctx context.Context, limit int) ([]policy.RightsEntry, error) {
	if err := s.fails("rights history", errFault); err != nil {
		return nil, err
	}
	return s.RightsStore.History(ctx, limit)
}

type faultyExecutor struct {
	executors.Executor
	*faults
}

func (x faultyExecutor) Prepare(ctx context.Context, p *plan.Plan) (executors.Prepared, error) {
	if err := x.fails("executor prepare", errFault); err != nil {
		return nil, err
	}
	prepared, err := x.Executor.Prepare(ctx, p)
	return faultyPrepared{prepared, x.faults}, err
}

type faultyPrepared struct {
	executors.Prepared
	*faults
}

func (p faultyPrepared) Execute(ctx context.Context, args []any) (array.RecordReader, error) {
	if err := p.fails("executor execute", errFault); err != nil {
		return nil, err
	}
	return p.Prepared.Execute(ctx, args)
}

func (p faultyPrepared) Close() error {
	return errors.Join(p.Prepared.Close(), p.fails("executor close", errFault))
}

type faultySink struct {
	*memory
	*faults
}

func (s faultySink) Record(ctx context.Context, e audit.Event) error {
	if err := s.fails("audit "+string(e.Outcome), errFault); err != nil {
		return err
	}
	return s.memory.Record(ctx, e)
}

type faultyRand struct{ *faults }

func (r faultyRand) Read(b []byte) (int, error) {
	if r.hit("random") && r.how == "fails" {
		return 0, errFault
	}
	for i := range b {
		b[i] = byte(len(r.calls))
	}
	return len(b), nil
}

// watched is a context that never ends and counts what waits for its end.
type watched struct {
	context.Context
	waiting *atomic.Int64
}

var never = make(chan struct{})

func (watched) Done() <-chan struct{} { return never }

// AfterFunc is what package context calls for what is derived from such a context.
func (w watched) AfterFunc(func()) (stop func() bool) {
	w.waiting.Add(1)
	return sync.OnceValue(func() bool { w.waiting.Add(-1); return true })
}

// withFaults puts f between a gateway and all of its parts. Of the catalogs only the shop is left: it is small.
func (p parts) withFaults(f *faults) parts {
	c := &p.config
	c.Decider, c.Grants, c.Executor = faultyDecider{c.Decider, f}, faultyStore{c.Grants, f}, faultyExecutor{c.Executor, f}
	c.Catalogs = map[string]catalog.Catalog{"Lake": faultyCatalog{p.shop, f}}
	c.Audit, c.Rand = faultySink{p.sink, f}, faultyRand{f}
	return p
}

// act is something that a client asks for: a statement, or a call that is none.
type act struct {
	user, name string
	do         func(ctx context.Context, t *testing.T, g *gateway.Gateway, s *gateway.Session) (string, error)
}

func statement(user, sql string) act {
	return act{user, sql, func(ctx context.Context, t *testing.T, g *gateway.Gateway, s *gateway.Session) (string, error) {
		return rowsIn(ctx, g, s, sql)
	}}
}

func statements(user string, sqls ...string) []act {
	var out []act
	for _, sql := range sqls {
		out = append(out, statement(user, sql))
	}
	return out
}

// calls are those of a gateway that are no statements of their own.
func calls(user string) []act {
	lake := "Lake"
	return []act{
		{user, "Catalogs", func(ctx context.Context, t *testing.T, g *gateway.Gateway, s *gateway.Session) (string, error) {
			out, err := g.Catalogs(ctx, s)
			return fmt.Sprintln(out), err
		}},
		{user, "Schemas", func(ctx context.Context, t *testing.T, g *gateway.Gateway, s *gateway.Session) (string, error) {
			out, err := g.Schemas(ctx, s, &lake, nil)
			return fmt.Sprintln(out), err
		}},
		{user, "Tables", func(ctx context.Context, t *testing.T, g *gateway.Gateway, s *gateway.Session) (string, error) {
			out, err := g.Tables(ctx, s, gateway.TableFilter{Columns: true})
			return fmt.Sprintln(out), err
		}},
		{user, "Prepare", func(ctx context.Context, t *testing.T, g *gateway.Gateway, s *gateway.Session) (string, error) {
			p, err := g.Prepare(ctx, s, "SELECT max(id) FROM Orders WHERE id < ?")
			if err != nil {
				return "", err
			}
			return fmt.Sprintln(p.Schema(), p.Params(), p.Rows(), p.SQL()), nil
		}},
		{user, "Execute", func(ctx context.Context, t *testing.T, g *gateway.Gateway, s *gateway.Session) (string, error) {
			p, err := g.Prepare(ctx, s, "SELECT max(id) FROM Orders WHERE id < ?")
			if err != nil {
				return "", err
			}
			res, err := p.Execute(ctx, s, []any{int64(5)})
			if err != nil {
				return "", err
			}
			r, err := res.Run(ctx)
			if err != nil {
				return "", err
			}
			defer r.Release()
			out := ""
			for r.Next() {
				out += r.RecordBatch().Column(0).ValueStr(0)
			}
			return out, r.Err()
		}},
		{user, "Update", func(ctx context.Context, t *testing.T, g *gateway.Gateway, s *gateway.Session) (string, error) {
			n, err := g.Update(ctx, s, "SET purpose = 'x'")
			return fmt.Sprintln(n), err
		}},
		{user, "SetOption", func(ctx context.Context, t *testing.T, g *gateway.Gateway, s *gateway.Session) (string, error) {
			for _, o := range [][2]string{{"catalog", "lake"}, {"schema", "shop"}, {"purpose", "x"}} {
				if err := g.SetOption(ctx, s, o[0], o[1]); err != nil {
					return "", err
				}
			}
			return "", g.ResetOption(ctx, s, "purpose")
		}},
	}
}

// reads change nothing but the session.
func reads() []act {
	return slices.Concat(
		statements("bob", "SELECT count(*) FROM Orders", "SELECT o.id FROM Orders o JOIN Lines l ON o.id = l.id JOIN orders p ON o.id = p.id ORDER BY 1",
			"SELECT count(name) FROM Orders FOR TIMESTAMP AS OF TIMESTAMP '2100-01-01 00:00:00'", "SELECT max(name) FROM ORDERS", "SELECT id FROM Lost FOR TIMESTAMP AS OF TIMESTAMP '2100-01-01 00:00:00'",
			"SELECT * FROM information_schema.columns", "SELECT * FROM lake.information_schema.schemata", "SELECT * FROM information_schema.tables WHERE table_schema = 'Shop'",
			"EXPLAIN SELECT id FROM Orders", "DESCRIBE orders", "DESCRIBE lake.information_schema.tables", "SHOW CATALOGS", "SHOW SCHEMAS", "SHOW SCHEMAS IN lake", "SHOW TABLES", "SHOW TABLES IN lake.Shop",
			"USE lake", "USE Shop", "USE lake.shop", "SET purpose = 'x'", "RESET purpose", "SHOW ALL", "BEGIN", "SELECT 1"),
		calls("bob"),
		statements("bob", "SHOW ROLES", "SHOW CURRENT ROLE", "SHOW GRANTS", "SHOW GRANTS AS OF '2026-06-01'", "SHOW GRANTS ON Orders", "SHOW GRANTS ON ORDERS", "SHOW GRANTS ON SCHEMA Shop", "SHOW GRANTS ON CATALOG Lake", "SHOW GRANTS TO ROLE hr",
			"SHOW EFFECTIVE GRANTS FOR USER bob", "SHOW EFFECTIVE POLICY ON Orders", "CHECK ACCESS SELECT (id) ON Orders FOR USER bob", "CHECK ACCESS INSERT ON Orders FOR USER bob",
			"SHOW TAGS", "SHOW TAGS ON Orders", "SHOW ROW FILTERS", "SHOW MASKS", "SET ROLE hr", "RESET ROLE"),
		statements("olga", "SHOW ROW FILTERS", "SHOW MASKS ON Orders", "SHOW EFFECTIVE POLICY ON Orders"),
		statements("root", "SHOW ROLES", "SHOW GRANTS", "SHOW GRANT HISTORY", "SHOW GRANTS TO USER bob", "SHOW EFFECTIVE GRANTS FOR USER bob", "SHOW EFFECTIVE POLICY ON Orders FOR USER bob",
			"CHECK ACCESS SELECT (name) ON Orders FOR USER bob", "CHECK ACCESS SELECT ON Orders FOR USER eve", "SHOW TAGS ON Orders AS OF '2026-06-01'", "SHOW ROW FILTERS ON Orders", "SHOW MASKS AS OF '2026-06-01'"),
	)
}

// changes are statements that change rights, each of them once.
func changes() []act {
	return slices.Concat(
		statements("root", "CREATE ROLE boss", "GRANT ROLE boss TO USER bob", "REVOKE ROLE boss FROM USER bob", "DROP ROLE boss", "GRANT SELECT ON Orders TO USER eve", "GRANT SELECT (id) ON Lines TO ROLE hr, USER eve",
			"GRANT SELECT ON CATALOG Lake TO USER eve", "GRANT SELECT ON SCHEMA Shop TO USER eve", "GRANT SELECT ON ALL TABLES IN SCHEMA Shop TO USER fay", "GRANT SELECT ON FUTURE TABLES IN SCHEMA Shop TO USER fay",
			"DENY SELECT (name) ON Orders TO USER eve", "REVOKE DENY SELECT (name) ON Orders FROM USER eve", "REVOKE SELECT ON CATALOG Lake FROM USER eve", "CREATE ROW FILTER g ON Orders USING (id < 7)",
			"ALTER ROW FILTER g ON Orders USING (id < 8)", "DROP ROW FILTER g ON Orders", "CREATE MASK n ON Orders (name) USING (upper(value)) TO USER eve", "DROP MASK n ON Orders", "CREATE MASK t ON TAG pii USING (upper(value))",
			"ALTER TABLE Orders ALTER COLUMN name SET TAG pii = 'x'", "ALTER TABLE Orders SET TAG owner", "ALTER TABLE Orders UNSET TAG owner", "DROP MASK t ON TAG pii"),
		statements("olga", "GRANT SELECT (id, region) ON Orders TO USER gus", "REVOKE SELECT (id) ON Orders FROM USER gus", "CREATE ROW FILTER mine ON Orders USING (id > 0) TO USER kim", "DROP ROW FILTER mine ON Orders",
			"CREATE MASK mine ON Orders (region) USING (NULL) TO USER kim", "GRANT ROLE given TO USER gus"),
	)
}

// Whatever fails while a client is served, he gets an error of its class and no text of it, the failure is in the audit log, nothing has changed, and no place is held
// for ever. This holds for every single question that is put to catalogs, policy, rights, executor, audit log and randomness.
func TestFaults(t *testing.T) {
	f := &faults{}
	p := newParts(t).withFaults(f)
	g := p.gateway(t)
	furnish(t, p, g)
	for _, a := range reads() {
		want, err := p.try(t, g, f, a, 0, "")
		n := len(f.calls)
		if err != nil {
			t.Errorf("%s: %s: %v", a.user, a.name, err)
		}
		for k := 1; k <= n; k++ {
			got, err := p.try(t, g, f, a, k, "fails")
			p.checkFault(t, f, a, k, got, err)
			if !strings.HasPrefix(f.calls[k-1], "policy allow") || strings.HasPrefix(a.name, "SHOW EFFECTIVE GRANTS") { // which asks in any order
				continue
			}
			denied, derr := p.try(t, g, f, a, k, "denies")
			short, serr := p.try(t, g, f, a, k, "short")
			if denied != short || fmt.Sprint(derr) != fmt.Sprint(serr) {
				t.Errorf("%s: %s: %s denied: %q, %v; without an answer: %q, %v", a.user, a.name, f.calls[k-1], denied, derr, short, serr)
			}
		}
		if again, err := p.try(t, g, f, a, 0, ""); again != want || err != nil {
			t.Errorf("%s: %s: %q and then %q, %v", a.user, a.name, want, again, err)
		}
	}
	for _, a := range changes() {
		for k := 1; ; k++ {
			before := p.version(t)
			got, err := p.try(t, g, f, a, k, "fails")
			if len(f.calls) < k {
				if err != nil || p.version(t) == before {
					t.Errorf("%s: %s: %v, or nothing changed", a.user, a.name, err)
				}
				break
			}
			p.checkFault(t, f, a, k, got, err)
			if at := slices.Index(f.calls, "rights apply"); p.version(t) != before {
				if at < 0 || at >= k-1 {
					t.Errorf("%s: %s fails at %q and changes something", a.user, a.name, f.calls[k-1])
				}
				break
			}
		}
	}
	if err := g.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// furnish gives the users of reads and changes what these are about.
func furnish(t *testing.T, p parts, g *gateway.Gateway) {
	p.shop.tables = append(p.shop.tables, shopTable{"Shop", "Lost", "v1_plain+gone"})
	root := signIn(t, g, "root")
	for _, sql := range []string{
		"CREATE ROLE hr, given", "GRANT ROLE hr TO USER bob", "GRANT ROLE given TO USER olga WITH ADMIN OPTION", "GRANT SELECT ON Orders TO ROLE hr", "GRANT SELECT ON Lost TO USER bob", "GRANT SELECT (id, name) ON Lines TO USER bob", "GRANT INSERT ON Orders TO USER bob", "GRANT USAGE ON CATALOG Lake TO USER bob",
		"GRANT OWNERSHIP ON Orders TO USER olga", "CREATE ROW FILTER f ON Orders USING (id > 0) TO ROLE hr", "CREATE MASK m ON Orders (name) USING (upper(value)) TO ROLE hr", "ALTER TABLE Orders ALTER COLUMN region SET TAG place",
	} {
		if _, err := rows(t, g, root, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// try does a with the k-th call going wrong.
func (p parts) try(t *testing.T, g *gateway.Gateway, f *faults, a act, k int, how string) (string, error) {
	s := signIn(t, g, a.user)
	p.sink.events = nil
	f.calls, f.at, f.how = nil, k, how
	w := watched{t.Context(), new(atomic.Int64)}
	got, err := a.do(w, t, g, s)
	f.at = 0
	if n := w.waiting.Load(); n != 0 {
		t.Errorf("%s: %s: the %d. call %s: %d things wait for the end of the call's context", a.user, a.name, k, how, n)
	}
	return random.ReplaceAllString(got, "ID"), err
}

func (p parts) version(t *testing.T) uint64 {
	t.Helper()
	r, err := p.config.Grants.Current()
	check(t, err)
	return r.Version()
}

// checkFault looks at what became of a, whose k-th call has failed.
func (p parts) checkFault(t *testing.T, f *faults, a act, k int, got string, err error) {
	t.Helper()
	what := f.calls[k-1]
	kind, _, _ := strings.Cut(what, " ")
	if err == nil {
		t.Errorf("%s: %s: %s fails, and the answer is %q", a.user, a.name, what, got)
		return
	}
	if strings.Contains(err.Error(), "canary") {
		t.Errorf("%s: %s: %s: %v", a.user, a.name, what, err)
	}
	var internal *gateway.InternalError
	var rights *policy.RightsError
	ok := false
	switch kind {
	case "catalog":
		ok = err == gateway.ErrUnavailable
	case "audit":
		ok = err == gateway.ErrAudit
	case "executor":
		ok = errors.As(err, &internal) && errors.Is(err, errFault) || errors.As(err, &rights)
	default:
		ok = errors.As(err, &internal) && errors.Is(err, errFault)
	}
	if !ok {
		t.Errorf("%s: %s: %s fails: %T %v", a.user, a.name, what, err, err)
	}
	if kind == "audit" || kind == "random" {
		return
	}
	if e := p.sink.last(); e.Outcome != audit.Failed || e.Error == "" || e.User != a.user {
		t.Errorf("%s: %s: %s fails: the event is %+v", a.user, a.name, what, e)
	}
}
