package flight

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"gatehouse/audit"
	"gatehouse/auth"
	"gatehouse/auth/task"
	"gatehouse/catalog"
	"gatehouse/classify"
	"gatehouse/executors"
	"gatehouse/gateway"
	"gatehouse/plan"
	"gatehouse/policy"
)

// users knows alice, admin and eve, whose passwords are their names and whose issuer's tokens are "jwt.NAME".
type users struct {
	mu    sync.Mutex
	gone  map[string]bool
	roles map[string][]string
	asked int
}

func (u *users) identity(name string) auth.Identity {
	return auth.Identity{Issuer: "test", Subject: "sub-" + name, User: name, Roles: u.roles[name]}
}

func (u *users) Authenticate(_ context.Context, c auth.Credential) (auth.Identity, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked++
	name := c.User
	if name == "k" && c.Password.Reveal() == "e:y" {
		return u.identity("alice"), nil
	}
	if name != c.Password.Reveal() {
		return auth.Identity{}, auth.ErrUnauthenticated
	}
	if !c.Bearer.IsZero() {
		name, _ = strings.CutPrefix(c.Bearer.Reveal(), "jwt.")
	}
	switch name {
	case "alice", "admin", "eve":
		return u.identity(name), nil
	case "busy":
		return auth.Identity{}, auth.ErrRateLimited
	case "broken":
		return auth.Identity{}, errors.New("ldap://internal.example says no")
	}
	return auth.Identity{}, auth.ErrUnauthenticated
}

func (u *users) Renew(_ context.Context, id auth.Identity) (auth.Identity, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.gone[id.User] {
		return auth.Identity{}, auth.ErrUnauthenticated
	}
	return u.identity(id.User), nil
}

// rules let admin do everything, alice everything but see payroll and the column secret, and eve nothing.
type rules struct{}

func (rules) Judge(_ context.Context, c policy.Caller) (policy.Judge, error) {
	return judgeFor(c.Identity.User), nil
}

type judgeFor string

func (judgeFor) Revision() string { return "r1" }

func (j judgeFor) Allow(_ context.Context, _ policy.Operation, rs []policy.Resource) ([]bool, error) {
	out := make([]bool, len(rs))
	for i, r := range rs {
		out[i] = j == "admin" || j == "alice" && r.Table != "payroll" && !slices.Contains(r.Columns, "secret")
	}
	return out, nil
}

func (judgeFor) Table(context.Context, policy.Table, []string) (policy.Decision, error) {
	return policy.Decision{ID: "d1"}, nil
}

// lake holds shop.orders, shop.order_items, shop.orderXitems and shop.payroll, all empty.
type lake struct{ tables map[string]*catalog.Table }

func newLake(t testing.TB) *lake {
	t.Helper()
	l := &lake{tables: map[string]*catalog.Table{}}
	for _, name := range []string{"orders", "order_items", "orderXitems", "payroll"} {
		schema := iceberg.NewSchema(0,
			iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64, Required: true, Doc: "the key"},
			iceberg.NestedField{ID: 2, Name: "price", Type: iceberg.DecimalTypeOf(12, 2)},
			iceberg.NestedField{ID: 3, Name: "secret", Type: iceberg.PrimitiveTypes.String},
		)
		meta, err := table.NewMetadata(schema, iceberg.UnpartitionedSpec, table.UnsortedSortOrder, "file:///lake/"+name, nil)
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := catalog.NewTable("lake", "shop", name, table.New([]string{"shop", name}, meta, "m", nil, nil), catalog.Files{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		l.tables[name] = loaded
	}
	return l
}

func (l *lake) Table(_ context.Context, _ auth.Identity, schema, name string) (*catalog.Table, error) {
	if t := l.tables[name]; t != nil && schema == "shop" {
		return t, nil
	}
	return nil, catalog.ErrNoSuchTable
}

func (l *lake) List(_ context.Context, _ auth.Identity, schema string) ([]catalog.Entry, error) {
	var out []catalog.Entry
	switch schema {
	case "":
		out = append(out, catalog.Entry{Schema: "shop"})
	case "shop":
		for _, name := range sortedKeys(l.tables) {
			out = append(out, catalog.Entry{Schema: "shop", Name: name})
		}
	}
	return out, nil
}

func (l *lake) Close() error { return nil }

// engine runs scenes, named by the first text literal of the statement.
type fakeEngine struct {
	mem     memory.Allocator
	started chan string   // gets the scene's name once its reader blocks
	free    chan struct{} // lets the scene "slow" go on
}

func (e *fakeEngine) Capabilities() executors.Capabilities {
	return executors.Capabilities{Name: "fake", Barrier: true, Tasks: executors.IdentityTask}
}

func (e *fakeEngine) Close() error { return nil }

func (e *fakeEngine) Prepare(_ context.Context, p *plan.Plan) (executors.Prepared, error) {
	s := &fakePrepared{engine: e, params: p.Params()}
	for _, n := range p.Tree().GetTargetList() {
		if c := n.GetResTarget().GetVal().GetAConst(); c.GetSval() != nil {
			s.scene = c.GetSval().GetSval()
			break
		}
	}
	if s.scene == "unbound" {
		return nil, &executors.Error{Kind: executors.KindBind, Cause: errors.New("Binder Error: canary-engine-text")}
	}
	return s, nil
}

type fakePrepared struct {
	engine *fakeEngine
	scene  string
	params int
}

func (p *fakePrepared) Schema() *arrow.Schema {
	f := arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}
	switch {
	case p.params > 0:
		f = arrow.Field{Name: "args", Type: arrow.BinaryTypes.String, Nullable: true}
	case p.scene == "metadata":
		f.Metadata = arrow.MetadataFrom(map[string]string{"canary-field": "x"})
		m := arrow.MetadataFrom(map[string]string{"canary-schema": "x"})
		return arrow.NewSchema([]arrow.Field{f}, &m)
	case p.scene == "dictionary":
		f.Type = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	}
	return arrow.NewSchema([]arrow.Field{f}, nil)
}

func (p *fakePrepared) Params() *arrow.Schema {
	fields := make([]arrow.Field, p.params)
	for i := range fields {
		fields[i] = arrow.Field{Type: arrow.Null, Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

func (p *fakePrepared) Close() error { return nil }

func (p *fakePrepared) Execute(ctx context.Context, args []any) (array.RecordReader, error) {
	r := &fakeReader{p: p, ctx: ctx, args: args}
	switch p.scene {
	case "batches":
		r.left = 3
	case "none":
	default:
		r.left = 1
	}
	return r, nil
}

// fakeReader gives batches of two rows, numbered from 0, and then does what its scene says.
type fakeReader struct {
	p     *fakePrepared
	ctx   context.Context
	args  []any
	left  int
	n     int64
	batch arrow.RecordBatch
	err   error
}

func (r *fakeReader) Retain()                        {}
func (r *fakeReader) Schema() *arrow.Schema          { return r.p.Schema() }
func (r *fakeReader) RecordBatch() arrow.RecordBatch { return r.batch }
func (r *fakeReader) Record() arrow.RecordBatch      { return r.batch }
func (r *fakeReader) Err() error                     { return r.err }

func (r *fakeReader) Release() {
	if r.batch != nil {
		r.batch.Release()
		r.batch = nil
	}
}

func (r *fakeReader) Next() bool {
	r.Release()
	if r.p.scene == "slow" && r.n == 0 {
		r.p.engine.started <- "slow"
		<-r.p.engine.free
	}
	if r.left > 0 {
		r.left--
		r.batch = r.make()
		return true
	}
	switch r.p.scene {
	case "conversion":
		r.err = &executors.Error{Kind: executors.KindConversion, Cause: errors.New("Conversion Error: canary-engine-text")}
	case "foreign":
		r.err = errors.New("canary-engine-text")
	case "panic":
		panic("canary-engine-text")
	case "hang":
		r.p.engine.started <- "hang"
		<-r.ctx.Done()
		r.err = r.ctx.Err()
	}
	return false
}

func (r *fakeReader) make() arrow.RecordBatch {
	b := array.NewRecordBuilder(r.p.engine.mem, r.Schema())
	defer b.Release()
	if r.p.params > 0 {
		b.Field(0).(*array.StringBuilder).Append(fmt.Sprintf("%T %v", r.args[0], r.args))
		return b.NewRecordBatch()
	}
	n := 2
	if r.p.scene == "huge" { // 72 MB
		n = 9_000_000
		b.Reserve(n)
	}
	for range n {
		b.Field(0).(*array.Int64Builder).Append(r.n)
		r.n++
	}
	return b.NewRecordBatch()
}

// journal keeps audit events.
type journal struct {
	mu     sync.Mutex
	events []audit.Event
	full   bool
}

func (j *journal) Record(_ context.Context, e audit.Event) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.full {
		return errors.New("disk full")
	}
	j.events = append(j.events, e)
	return nil
}

func newGateway(t testing.TB, e executors.Executor, j audit.Sink) *gateway.Gateway {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	minter, err := task.NewMinter(task.MinterConfig{Key: key, Issuer: "gatehouse"})
	if err != nil {
		t.Fatal(err)
	}
	planner, err := plan.New(plan.Config{Minter: minter})
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{
		Decider: rules{}, Catalogs: map[string]catalog.Catalog{"lake": newLake(t)}, Planner: planner, Executor: e, Audit: j,
		Default: classify.Namespace{Catalog: "lake", Schema: "shop"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}
