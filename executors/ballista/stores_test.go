package ballista

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
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

// TestStoreRequests: of an object, each byte is asked for once at most, of the columns that a statement reads and what lies in between.
func TestStoreRequests(t *testing.T) {
	server := objectstest.Start(t)
	g := newGate(t, server)
	c := startWith(t, cluster.Config{Stores: []string{g.URL}, Executors: 1})
	l := newLake(t, server, g.store(t, server, nil))
	p := executortest.Over(t, c.inStore(t, l, nil), tpch(t), "tpch")
	for _, q := range []struct {
		text string
		part float64 // of the file, at most
	}{
		{"SELECT count(*) AS n FROM orders", 0.15},
		{"SELECT sum(o_totalprice) AS s FROM orders", 0.5},
		{"SELECT * FROM orders", 1.01},
		{"SELECT count(*) AS n FROM nation WHERE n_name = 'PERU'", 1},
	} {
		g.set(nil)
		if _, err := p.Rows(t.Context(), q.text, nil); err != nil {
			t.Fatalf("%s: %v (%v)", q.text, err, errors.Unwrap(err))
		}
		var size, sum int64
		var ranges [][2]int64
		for _, r := range g.requests() {
			var from, to int64
			if n, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); n != 2 {
				t.Fatalf("range %q: %v", r.Header.Get("Range"), err)
			}
			if (r.Header.Get("If-Match") != "") != (len(ranges) > 0) {
				t.Errorf("%s: a request with the condition %q", q.text, r.Header.Get("If-Match"))
			}
			ranges = append(ranges, [2]int64{from, to})
			size, sum = max(size, to+1), sum+to+1-from
		}
		slices.SortFunc(ranges, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
		for i := 1; i < len(ranges); i++ {
			if ranges[i][0] <= ranges[i-1][1] {
				t.Errorf("%s: bytes are asked for twice: %v", q.text, ranges)
			}
		}
		t.Logf("%s: %d requests, %d of %d bytes", q.text, len(ranges), sum, size)
		if float64(sum) > q.part*float64(size) {
			t.Errorf("%s: %d of %d bytes in %v", q.text, sum, size, ranges)
		}
	}
}
