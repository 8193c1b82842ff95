package gateway_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/datadriven"

	"gatehouse/audit"
	"gatehouse/auth"
	"gatehouse/auth/task"
	"gatehouse/catalog"
	"gatehouse/catalog/catalogtest"
	sqlcat "gatehouse/catalog/sql"
	"gatehouse/classify"
	"gatehouse/executors"
	"gatehouse/executors/duckdb"
	"gatehouse/gateway"
	"gatehouse/plan"
	"gatehouse/policy/opa"
)

// memory is an audit sink that a test reads.
type memory struct {
	mu     sync.Mutex
	events []audit.Event
	fail   error
}

// Record implements audit.Sink.
func (m *memory) Record(_ context.Context, e audit.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	m.events = append(m.events, e)
	return nil
}

func (m *memory) last() audit.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.events[len(m.events)-1]
}

// newGateway is a whole gateway over the tables of other writers, with real OPA and real DuckDB.
func newGateway(t *testing.T, limits gateway.Limits) (*gateway.Gateway, *memory) {
	t.Helper()
	return newGatewayBeside(t, limits, nil)
}

// newGatewayBeside is newGateway with more catalogs.
func newGatewayBeside(t *testing.T, limits gateway.Limits, catalogs map[string]catalog.Catalog) (*gateway.Gateway, *memory) {
	t.Helper()
	return newGatewayOver(t, nil, limits, catalogs)
}

// newGatewayOver is newGatewayBeside with another executor; nil: the embedded engine.
func newGatewayOver(t *testing.T, other executors.Executor, limits gateway.Limits, catalogs map[string]catalog.Catalog) (*gateway.Gateway, *memory) {
	t.Helper()
	cat := zooCatalog(t)
	rego, err := os.ReadFile("testdata/flow.rego")
	check(t, err)
	decider, err := opa.New(opa.Config{Files: map[string][]byte{"flow.rego": rego}, Lenient: true})
	check(t, err)
	t.Cleanup(func() { _ = decider.Close() })
	planner, x := newEngine(t)
	if other == nil {
		other = x
	}
	sink := &memory{}
	all := map[string]catalog.Catalog{"zoo": cat}
	maps.Copy(all, catalogs)
	g, err := gateway.New(gateway.Config{
		Decider: decider, Catalogs: all, Planner: planner, Executor: other, Audit: sink,
		Default: classify.Namespace{Catalog: "zoo", Schema: "spark"}, Limits: limits,
	})
	check(t, err)
	return g, sink
}

// zooCatalog is the catalog of the test tables.
func zooCatalog(t *testing.T) catalog.Catalog {
	t.Helper()
	zoo := catalogtest.Zoo(t)
	c, err := sqlcat.New(sqlcat.Config{Name: "zoo", SQLite: filepath.Join(zoo, "catalog.db"), Roots: []string{zoo}})
	check(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// newEngine is a planner, and the embedded engine that takes its plans.
func newEngine(t *testing.T) (*plan.Planner, *duckdb.Executor) {
	t.Helper()
	key, err := task.NewKey()
	check(t, err)
	minter, err := task.NewMinter(task.MinterConfig{Key: key, Issuer: "gatehouse"})
	check(t, err)
	verifier, err := task.NewVerifier(task.VerifierConfig{Keys: []ed25519.PublicKey{minter.Public()}, Issuer: "gatehouse"})
	check(t, err)
	planner, err := plan.New(plan.Config{Minter: minter})
	check(t, err)
	x, err := duckdb.New(duckdb.Config{Verifier: verifier, Dir: t.TempDir(), HashKey: auth.NewSecret(strings.Repeat("k", 32))})
	check(t, err)
	t.Cleanup(func() { _ = x.Close() })
	return planner, x
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func session(t testing.TB, g *gateway.Gateway, user string) *gateway.Session {
	t.Helper()
	s, err := g.NewSession(auth.Identity{Issuer: "test", Subject: user, User: user, Groups: []string{user}, Method: "basic"}, "127.0.0.1", "test")
	check(t, err)
	return s
}

// TestFlow follows each statement through every stage: what it was found to be, what the policy demanded, what was planned, and the
// rows or the refusal. Each file's "never" lines name what must not be seen anywhere in the answers of the restricted user.
func TestFlow(t *testing.T) {
	g, sink := newGateway(t, gateway.Limits{})
	sessions := map[string]*gateway.Session{}
	datadriven.Walk(t, "testdata/flow", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			user := d.Cmd
			if sessions[user] == nil {
				sessions[user] = session(t, g, user)
			}
			out := flow(t, g, sink, sessions[user], strings.TrimSpace(d.Input), d.HasArg("explain"))
			if d.HasArg("never") {
				for _, arg := range d.CmdArgs {
					for _, word := range arg.Vals {
						if arg.Key == "never" && strings.Contains(out, word) {
							t.Errorf("%s: %q shows in\n%s", d.Pos, word, out)
						}
					}
				}
			}
			return out
		})
	})
}

func flow(t *testing.T, g *gateway.Gateway, sink *memory, s *gateway.Session, sql string, explain bool) string {
	t.Helper()
	var b strings.Builder
	if explain {
		text, err := rows(t, g, s, "EXPLAIN "+sql)
		if err != nil {
			return "error: " + err.Error() + "\n"
		}
		b.WriteString(text)
	}
	text, err := rows(t, g, s, sql)
	e := sink.last()
	for _, o := range e.Objects {
		fmt.Fprintf(&b, "# %s reads %s columns %v filters %v masks %v\n", e.Kind, o.Name, o.Columns, o.Filters, o.Masks)
	}
	if err != nil {
		fmt.Fprintf(&b, "error: %v (%s, %s)\n", clean(err), e.Outcome, e.Error)
		return b.String()
	}
	b.WriteString(text)
	return b.String()
}

// clean is an error's text without its random ids.
func clean(err error) string {
	s := err.Error()
	if i := strings.Index(s, "(decision "); i >= 0 {
		s = s[:i] + "(decision …)"
	}
	return s
}

// rows runs sql and returns a line a row, values parted by two spaces.
func rows(t *testing.T, g *gateway.Gateway, s *gateway.Session, sql string) (string, error) {
	t.Helper()
	return rowsIn(t.Context(), g, s, sql)
}

func rowsIn(ctx context.Context, g *gateway.Gateway, s *gateway.Session, sql string) (string, error) {
	res, err := g.Query(ctx, s, sql)
	if err != nil {
		return "", err
	}
	r, err := res.Run(ctx)
	if err != nil {
		return "", err
	}
	defer r.Release()
	var b strings.Builder
	for r.Next() {
		batch := r.RecordBatch()
		for row := range int(batch.NumRows()) {
			for i, c := range batch.Columns() {
				if i > 0 {
					b.WriteString("  ")
				}
				if c.IsNull(row) {
					b.WriteString("NULL")
				} else {
					b.WriteString(c.ValueStr(row))
				}
			}
			b.WriteByte('\n')
		}
	}
	return b.String(), r.Err()
}
