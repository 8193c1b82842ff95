package ballista

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"gatehouse/catalog/catalogtest"
	"gatehouse/executors"
	"gatehouse/executors/ballista/cluster"
	"gatehouse/executors/executortest"
	"gatehouse/objects"
	"gatehouse/objects/objectstest"
	"gatehouse/plan"
)

// lake has the local files of tests as objects of a real server, under the same locations.
type lake struct {
	t      testing.TB
	server *objectstest.Server
	store  objects.Store

	mu   sync.Mutex
	keys map[string]string // what was put, by location
}

var _ objects.Store = (*lake)(nil)

func newLake(t testing.TB, server *objectstest.Server, store objects.Store) *lake {
	return &lake{t: t, server: server, store: store, keys: map[string]string{}}
}

// at is where a file is in the server, which gets it at the first use.
func (l *lake) at(location string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	key, ok := l.keys[location]
	if !ok {
		path, err := plan.LocalPath(location)
		if err != nil {
			l.t.Error(err)
		}
		key = strings.TrimPrefix(path, "/")
		if data, err := os.ReadFile(path); err == nil {
			l.server.Put(l.t, key, data)
		}
		l.keys[location] = key
	}
	return l.server.Location(key)
}

func (l *lake) Read(ctx context.Context, o objects.Object, p []byte, off int64) (objects.Object, error) {
	location := o.Location
	o.Location = l.at(location)
	o, err := l.store.Read(ctx, o, p, off)
	o.Location = location
	return o, err
}

func (l *lake) ReadAll(ctx context.Context, o objects.Object, limit int64) ([]byte, error) {
	o.Location = l.at(o.Location)
	return l.store.ReadAll(ctx, o, limit)
}

func (l *lake) Presign(ctx context.Context, location string, until time.Time) (string, error) {
	return l.store.Presign(ctx, l.at(location), until)
}

func (l *lake) Scope() string { return l.store.Scope() }

// ashore runs plans over local files as if these lay in an object store.
type ashore struct {
	*Executor
	store objects.Store
}

func (a *ashore) Prepare(ctx context.Context, p *plan.Plan) (executors.Prepared, error) {
	move(p, a.store)
	return a.Executor.Prepare(ctx, p)
}

// move says of a plan's files that they lie in a store.
func move(p *plan.Plan, store objects.Store) {
	for i := range p.Relations() {
		if s := &p.Relations()[i].Scan; len(s.Files) > 0 {
			s.Objects = store
		}
	}
}

// inStore builds executors whose statements read files from a store.
func (c *testCluster) inStore(t testing.TB, store objects.Store, change func(*Config)) func(executortest.Parts) (executors.Executor, error) {
	open := c.opener(t, change)
	return func(p executortest.Parts) (executors.Executor, error) {
		x, err := open(p)
		if err != nil {
			return nil, err
		}
		return &ashore{x.(*Executor), store}, nil
	}
}

// TestZooInStore reads the test tables from a server on the cluster alone: rows are those of local files.
func TestZooInStore(t *testing.T) {
	server := objectstest.Start(t)
	l := newLake(t, server, server.Store(t, server.Reader))
	alone := executortest.Zoo(t, startWith(t, cluster.Config{Stores: []string{server.Endpoint}}).inStore(t, l, nil))
	local := executortest.Zoo(t, inProcess(t))
	read := 0
	for _, z := range catalogtest.ZooTables(t) {
		name := z.Namespace + "." + z.Table
		if z.Class != "ok" || z.ID != name && !strings.HasSuffix(z.ID, "@lineage") {
			continue
		}
		columns := []string{"*"}
		if strings.HasSuffix(z.ID, "@lineage") {
			columns = z.Columns
		}
		text := "SELECT " + strings.Join(columns, ", ") + ` FROM "` + z.Namespace + `"."` + z.Table + `"`
		t.Run(z.ID, func(t *testing.T) {
			if _, ok := unread[z.ID]; ok {
				t.Skip("the cluster does not read it")
			}
			want, err := local.Rows(t.Context(), text, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := alone.Rows(t.Context(), text, nil)
			if err != nil {
				t.Fatalf("%v (%v)", err, errors.Unwrap(err))
			}
			compare(t, got, want)
			read++
		})
	}
	if len(l.keys) < 80 || read < 30 {
		t.Errorf("%d tables, %d files were read", read, len(l.keys))
	}
}
