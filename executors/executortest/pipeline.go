// Package executortest is the contract that every executors.Executor fulfils, as tests. Plans come through all stages: no test has
// a way to a plan that a statement does not have.
package executortest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"gatehouse/auth"
	"gatehouse/auth/task"
	"gatehouse/catalog"
	"gatehouse/catalog/catalogtest"
	"gatehouse/catalog/sql"
	"gatehouse/classify"
	"gatehouse/executors"
	"gatehouse/plan"
	"gatehouse/policy"
)

// Parts are what an executor under test is built with.
type Parts struct {
	Verifier  auth.Verifier
	HashKey   auth.Secret
	Allocator memory.Allocator
	Now       func() time.Time
}

// Alice and Bob are callers.
var (
	Alice = auth.Identity{Issuer: "test", Subject: "alice", User: "alice"}
	Bob   = auth.Identity{Issuer: "test", Subject: "bob", User: "bob"}
)

// issuer is the gateway's name in credentials.
const issuer = "gatehouse"

// Pipeline holds the stages in front of an executor, over a folder with a catalog.
type Pipeline struct {
	Executor executors.Executor
	Catalog  *sql.Catalog
	Planner  *plan.Planner
	Hidden   []string // columns that nobody may see: schema.table.column
	schema   string   // of unqualified names
	queries  int
}

// newPipeline builds all stages with keys of their own. The executor's clock is now.
func newPipeline(t testing.TB, open func(Parts) (executors.Executor, error), folder string, now func() time.Time) *Pipeline {
	t.Helper()
	key, err := task.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	minter, err := task.NewMinter(task.MinterConfig{Key: key, Issuer: issuer})
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := task.NewVerifier(task.VerifierConfig{Keys: []ed25519Key{minter.Public()}, Issuer: issuer, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	p := &Pipeline{schema: "spark"}
	if p.Planner, err = plan.New(plan.Config{Minter: minter, Issuer: issuer, MaxTTL: 10 * time.Minute}); err != nil {
		t.Fatal(err)
	}
	if p.Catalog, err = sql.Open(folder); err != nil {
		t.Fatal(err)
	}
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	if p.Executor, err = open(Parts{Verifier: verifier, HashKey: auth.NewSecret("a key for tests, of some length"), Allocator: mem, Now: now}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Executor.Close(); err != nil {
			t.Error(err)
		}
		_ = p.Catalog.Close()
		mem.AssertSize(t, 0)
	})
	return p
}

// Policy is what a test demands of a table, by its full name.
type Policy map[string]policy.Decision

// Plan takes text through all stages.
func (p *Pipeline) Plan(ctx context.Context, id auth.Identity, text string, demands Policy) (*plan.Plan, error) {
	return p.plan(ctx, id, text, demands, catalog.Version{}, time.Time{})
}

func (p *Pipeline) plan(ctx context.Context, id auth.Identity, text string, demands Policy, v catalog.Version, deadline time.Time) (*plan.Plan, error) {
	s, err := classify.Parse(text)
	if err != nil {
		return nil, err
	}
	var tables []*catalog.Table
	var shapes []classify.Relation
	var described []policy.Table
	var decisions []policy.Decision
	for _, ref := range s.Tables() {
		name := ref.Resolve(classify.Namespace{Catalog: p.Catalog.Name(), Schema: p.schema})
		t, err := p.Catalog.Table(ctx, id, name.Schema, name.Table)
		if err == nil && v != (catalog.Version{}) {
			t, err = t.At(v)
		}
		if err != nil {
			return nil, err
		}
		if s.Mentions()(catalog.RowIDName) && !s.Mentions()("*") {
			t, _ = t.WithLineage()
		}
		full := classify.Name{Catalog: t.Catalog, Schema: t.Schema, Table: t.Name}
		var columns, visible []classify.Column
		for _, c := range t.Columns {
			columns = append(columns, classify.Column{Name: c.Name, FieldID: c.FieldID, Type: c.SQLType})
			if !slices.Contains(p.Hidden, full.Schema+"."+full.Table+"."+c.Name) {
				visible = append(visible, columns[len(columns)-1])
			}
		}
		tables = append(tables, t)
		shapes = append(shapes, classify.Relation{Name: full, Columns: visible})
		described = append(described, policy.Table{Name: full, UUID: t.UUID, Columns: columns})
		decisions = append(decisions, demands[full.Schema+"."+full.Table])
	}
	bound, err := s.Bind(shapes)
	if err != nil {
		return nil, err
	}
	governed, err := policy.Apply(bound, "test", described, decisions)
	if err != nil {
		return nil, err
	}
	p.queries++
	return p.Planner.Plan(ctx, id, fmt.Sprintf("query-%d", p.queries), governed, tables, deadline)
}

// Open runs text as Alice, up to its reader. The caller releases the reader and closes the statement.
func (p *Pipeline) Open(ctx context.Context, text string, demands Policy, args ...any) (executors.Prepared, array.RecordReader, error) {
	pl, err := p.Plan(ctx, Alice, text, demands)
	if err != nil {
		return nil, nil, err
	}
	return p.run(ctx, pl, args)
}

func (p *Pipeline) run(ctx context.Context, pl *plan.Plan, args []any) (executors.Prepared, array.RecordReader, error) {
	s, err := p.Executor.Prepare(ctx, pl)
	if err != nil {
		return nil, nil, err
	}
	r, err := s.Execute(ctx, args)
	if err != nil {
		_ = s.Close()
		return nil, nil, err
	}
	return s, r, nil
}

// Rows runs text as Alice and returns its rows.
func (p *Pipeline) Rows(ctx context.Context, text string, demands Policy, args ...any) ([]Row, error) {
	s, r, err := p.Open(ctx, text, demands, args...)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	defer r.Release()
	return readAll(r)
}

// Zoo builds the stages over the test tables.
func Zoo(t testing.TB, open func(Parts) (executors.Executor, error)) *Pipeline {
	t.Helper()
	return newPipeline(t, open, catalogtest.Zoo(t), time.Now)
}

// Over builds the stages over the tables of another folder with a catalog. Unqualified names are of schema.
func Over(t testing.TB, open func(Parts) (executors.Executor, error), folder, schema string) *Pipeline {
	t.Helper()
	p := newPipeline(t, open, folder, time.Now)
	p.schema = schema
	return p
}

// noDeadline leaves the deadline to the planner.
var noDeadline time.Time

func zooFolder(t testing.TB) string {
	t.Helper()
	return catalogtest.Zoo(t)
}
