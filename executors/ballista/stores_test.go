package ballista

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"gatehouse/auth"
	"gatehouse/catalog/catalogtest"
	"gatehouse/executors"
	"gatehouse/executors/ballista/cluster"
	"gatehouse/executors/duckdb/tpc"
	"gatehouse/executors/executortest"
	"gatehouse/objects"
	"gatehouse/objects/objectstest"
	"gatehouse/plan"
)

// lake has the local files of tests as objects of a real server.
type lake struct {
	t      testing.TB
	server *objectstest.Server
	store  objects.Store // with which statements read

	mu    sync.Mutex
	sizes map[string]int64 // of what was put, by key
}

func newLake(t testing.TB, server *objectstest.Server, store objects.Store) *lake {
	return &lake{t: t, server: server, store: store, sizes: map[string]int64{}}
}

// put has a local file in the server from the first use on, and returns where, and its size there. What names files is written anew.
func (l *lake) put(location string, size int64, names bool) (string, int64) {
	path, err := plan.LocalPath(location)
	if err != nil {
		l.t.Error(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key := strings.TrimPrefix(path, "/")
	if _, ok := l.sizes[key]; !ok {
		l.sizes[key] = size
		if data, err := os.ReadFile(path); err == nil {
			if names {
				data = l.renamed(data)
				l.sizes[key] = int64(len(data))
			}
			l.server.Put(l.t, key, data)
		}
	}
	return l.server.Location(key), l.sizes[key]
}

// renamed is a positional delete file with the names that its data files have in the server.
func (l *lake) renamed(data []byte) []byte {
	r, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		l.t.Fatal(err)
	}
	byPath, err := readPositions(bytes.NewReader(data), r.NumRows())
	if err != nil {
		l.t.Fatal(err)
	}
	id := func(name string, t arrow.DataType, id int) arrow.Field {
		return arrow.Field{Name: name, Type: t, Metadata: arrow.NewMetadata([]string{fieldID}, []string{strconv.Itoa(id)})}
	}
	schema := arrow.NewSchema([]arrow.Field{
		id("file_path", arrow.BinaryTypes.String, executors.DeletePathID), id("pos", arrow.PrimitiveTypes.Int64, executors.DeletePositionID),
	}, nil)
	rows := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer rows.Release()
	for path, positions := range byPath {
		local, err := plan.LocalPath(path)
		if err != nil {
			l.t.Fatal(err)
		}
		for _, p := range positions {
			rows.Field(0).(*array.StringBuilder).Append(l.server.Location(strings.TrimPrefix(local, "/")))
			rows.Field(1).(*array.Int64Builder).Append(p)
		}
	}
	batch := rows.NewRecordBatch()
	defer batch.Release()
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &out, nil, pqarrow.DefaultWriterProps())
	if err == nil {
		err = errors.Join(w.Write(batch), w.Close())
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return out.Bytes()
}

// move changes a plan over local files to one over the same files in the server. Every second file stays where it is
// if some is set, and deletes that name files do.
func (l *lake) move(p *plan.Plan, some bool) {
	for i := range p.Relations() {
		r := &p.Relations()[i]
		s := &r.Scan
		if len(s.Files) == 0 {
			continue
		}
		s.Objects, s.Files, s.Deletes = l.store, slices.Clone(s.Files), slices.Clone(s.Deletes)
		for j := range s.Files {
			if f := &s.Files[j]; !some || j%2 == 0 {
				f.Path, f.Size = l.put(f.Path, f.Size, false)
			}
		}
		for j := range s.Deletes {
			if d := &s.Deletes[j]; !some || d.Kind == plan.EqualityDeletes {
				d.Path, d.Size = l.put(d.Path, d.Size, d.Kind == plan.PositionDeletes)
			}
		}
		digest, err := r.PayloadDigest()
		if err != nil {
			l.t.Error(err)
		}
		r.Task.Digest = digest
	}
}

// ashore runs plans over local files as if these lay in a lake.
type ashore struct {
	*Executor
	lake *lake
	some bool
}

func (a *ashore) Prepare(ctx context.Context, p *plan.Plan) (executors.Prepared, error) {
	a.lake.move(p, a.some)
	return a.Executor.Prepare(ctx, p)
}

// anybody takes every credential of a plan: these plans are changed after they were signed.
type anybody struct{}

func (anybody) Verify(auth.Secret, auth.TaskClaims) (auth.TaskClaims, error) {
	return auth.TaskClaims{}, nil
}

// inStore builds executors whose statements read files from a lake.
func (c *testCluster) inStore(t testing.TB, l *lake, change func(*Config)) func(executortest.Parts) (executors.Executor, error) {
	open := c.opener(t, change)
	return func(p executortest.Parts) (executors.Executor, error) {
		p.Verifier = anybody{}
		x, err := open(p)
		if err != nil {
			return nil, err
		}
		return &ashore{Executor: x.(*Executor), lake: l}, nil
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
		text, ok := wholeOf(z)
		if !ok {
			continue
		}
		t.Run(z.ID, func(t *testing.T) {
			sameRows(t, alone, local, nil, text)
			read++
		})
	}
	if len(l.sizes) < 80 || read < 30 {
		t.Errorf("%d tables, %d files were read", read, len(l.sizes))
	}
}

// TestStoreBeside reads a table of which some files lie in a store, and the others do not.
func TestStoreBeside(t *testing.T) {
	server := objectstest.Start(t)
	g := newGate(t, server)
	l := newLake(t, server, g.store(t, server, nil))
	p := executortest.Zoo(t, startWith(t, cluster.Config{Stores: []string{g.URL}}).inStore(t, l, nil))
	p.Executor.(*ashore).some = true
	local := executortest.Zoo(t, inProcess(t))
	for _, table := range []string{"spark.many_files", "java.eq_partitioned", "java.eq_renamed_promoted", "java.eq_and_dv_v3"} {
		g.set(nil)
		want, err := local.Rows(t.Context(), "SELECT * FROM "+table, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Rows(t.Context(), "SELECT * FROM "+table, nil)
		if err != nil {
			t.Fatalf("%s: %v (%v)", table, err, errors.Unwrap(err))
		}
		compare(t, got, want)
		if len(g.requests()) == 0 {
			t.Errorf("%s: nothing was asked for", table)
		}
	}
}

// TestStoreRequests: of an object, each byte is asked for once at most, of the columns that a statement reads and what lies in between.
func TestStoreRequests(t *testing.T) {
	server := objectstest.Start(t)
	g := newGate(t, server)
	c := startWith(t, cluster.Config{Stores: []string{g.URL}, Executors: 1})
	l := newLake(t, server, g.store(t, server, nil))
	p := executortest.Over(t, c.inStore(t, l, nil), folderOf(t, tpc.TPCH), "tpch")
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
