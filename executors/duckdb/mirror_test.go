package duckdb

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/prometheus/client_golang/prometheus"

	"gatehouse/executors"
	"gatehouse/objects"
	"gatehouse/objects/objectstest"
	"gatehouse/plan"
	"gatehouse/policy"
)

// counted counts the reads of a store, and may change what they return.
type counted struct {
	objects.Store
	scope string
	reads atomic.Int64
	bytes atomic.Int64
	// before is called ahead of each read, after with what was read; each may be nil.
	before func(ctx context.Context, o objects.Object, from int64) error
	after  func(o objects.Object, p []byte, from int64)

	mu   sync.Mutex
	seen []span
}

func (c *counted) Read(ctx context.Context, o objects.Object, p []byte, off int64) (objects.Object, error) {
	c.reads.Add(1)
	c.bytes.Add(int64(len(p)))
	c.mu.Lock()
	c.seen = append(c.seen, span{off, off + int64(len(p))})
	c.mu.Unlock()
	if c.before != nil {
		if err := c.before(ctx, o, off); err != nil {
			return o, err
		}
	}
	out, err := c.Store.Read(ctx, o, p, off)
	if c.after != nil && err == nil {
		c.after(o, p, off)
	}
	return out, err
}

func (c *counted) Scope() string { return c.scope }

// sparse makes an executor mirror small files by parts, too.
func sparse(x *Executor) *Executor {
	x.files.wholeBytes, x.files.tailBytes = 0, 64
	return x
}

// put stores local files, and returns what a relation reads of them.
func put(t testing.TB, server *objectstest.Server, fields []plan.Field, rows int64, paths ...string) plan.Scan {
	t.Helper()
	s := plan.Scan{Fields: fields}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		o := server.Put(t, strings.TrimPrefix(path, "/"), data)
		s.Files = append(s.Files, plan.File{Path: o.Location, Size: o.Size, Rows: rows})
	}
	return s
}

func relation(s plan.Scan) *plan.Relation {
	return &plan.Relation{Relation: policy.Relation{CTE: "__gw_1"}, Scan: s}
}

// atHome is a scan of the local files that put has stored.
func atHome(s plan.Scan) plan.Scan {
	s.Objects = nil
	s.Files = slices.Clone(s.Files)
	for i, f := range s.Files {
		s.Files[i].Path = strings.TrimPrefix(f.Path, "s3://"+objectstest.Bucket)
	}
	return s
}

func kindOf(err error) executors.Kind {
	if e := asError(err); e != nil {
		return e.Kind
	}
	return -1
}

const layoutRows = 5000

// layoutQuery has plain columns, some with few values and some that are sorted, texts, NULLs, and nested columns.
var layoutQuery = fmt.Sprintf(`SELECT i::BIGINT AS a, (i %% 7)::INTEGER AS b, CASE WHEN i %% 3 = 0 THEN NULL ELSE 'text ' || (i %% 50) END AS c,
	hash(i)::VARCHAR AS d, (i * 0.5)::DOUBLE AS e, NULL::BIGINT AS f, [i, i + 1, NULL][1:(i %% 4)] AS g, {'x': i, 'y': 'y' || i} AS h,
	MAP {'k' || (i %% 3): i} AS k, (i / 100)::DECIMAL(12, 2) AS l, i %% 2 = 0 AS m FROM range(%d) t(i)`, layoutRows)

var layoutFields = []plan.Field{
	{ID: 1, Name: "a", Type: "BIGINT"},
	{ID: 2, Name: "b", Type: "INTEGER"},
	{ID: 3, Name: "c", Type: "VARCHAR"},
	{ID: 4, Name: "d", Type: "VARCHAR"},
	{ID: 5, Name: "e", Type: "DOUBLE"},
	{ID: 6, Name: "f", Type: "BIGINT"},
	{ID: 7, Name: "g", Type: "BIGINT[]", Nested: []plan.Field{{ID: 20, Name: "element", Type: "BIGINT"}}},
	{ID: 8, Name: "h", Type: "STRUCT(x BIGINT, y VARCHAR)", Nested: []plan.Field{{ID: 21, Name: "x", Type: "BIGINT"}, {ID: 22, Name: "y", Type: "VARCHAR"}}},
	{ID: 9, Name: "k", Type: "MAP(VARCHAR, BIGINT)", Nested: []plan.Field{{ID: 23, Name: "key", Type: "VARCHAR"}, {ID: 24, Name: "value", Type: "BIGINT"}}},
	{ID: 10, Name: "l", Type: "DECIMAL(12,2)"},
	{ID: 11, Name: "m", Type: "BOOLEAN"},
}

const layoutIDs = ", FIELD_IDS {a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: {__duckdb_field_id: 7, element: 20}, h: {__duckdb_field_id: 8, x: 21, y: 22}, " +
	"k: {__duckdb_field_id: 9, key: 23, value: 24}, l: 10, m: 11}"

// layouts writes the same rows in many ways.
func layouts(t testing.TB, folder string) []string {
	var out []string
	for i, options := range []string{
		"COMPRESSION uncompressed, ROW_GROUP_SIZE 2048", "COMPRESSION snappy", "COMPRESSION zstd, PARQUET_VERSION v2", "COMPRESSION uncompressed, PARQUET_VERSION v2, ROW_GROUP_SIZE 2048",
		"COMPRESSION gzip, DICTIONARY_SIZE_LIMIT 1", "COMPRESSION lz4_raw, DICTIONARY_SIZE_LIMIT 1000000, BLOOM_FILTER_FALSE_POSITIVE_RATIO 0.001", "COMPRESSION brotli, WRITE_BLOOM_FILTER false",
	} {
		path, _ := writeParquet(t, folder, fmt.Sprintf("duckdb%d.parquet", i), layoutQuery, layoutIDs+", "+options)
		out = append(out, path)
	}
	for i, properties := range [][]parquet.WriterProperty{
		{parquet.WithDataPageVersion(parquet.DataPageV2), parquet.WithCompression(compress.Codecs.Zstd), parquet.WithDataPageSize(1000), parquet.WithPageIndexEnabled(true)},
		{parquet.WithDictionaryDefault(false), parquet.WithDataPageSize(500), parquet.WithBloomFilterEnabled(true), parquet.WithMaxRowGroupLength(700)},
		{parquet.WithBloomFilterEnabled(true), parquet.WithCompression(compress.Codecs.Snappy), parquet.WithMaxRowGroupLength(3000), parquet.WithStats(true)},
	} {
		out = append(out, writeArrow(t, filepath.Join(folder, fmt.Sprintf("arrow%d.parquet", i)), properties))
	}
	return out
}

// writeArrow writes layoutRows rows of the columns a to e and g with another writer.
func writeArrow(t testing.TB, path string, properties []parquet.WriterProperty) string {
	id := func(n string) arrow.Metadata { return arrow.NewMetadata([]string{"PARQUET:field_id"}, []string{n}) }
	s := arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: arrow.PrimitiveTypes.Int64, Metadata: id("1")},
		{Name: "b", Type: arrow.PrimitiveTypes.Int32, Nullable: true, Metadata: id("2")},
		{Name: "c", Type: arrow.BinaryTypes.String, Nullable: true, Metadata: id("3")},
		{Name: "e", Type: arrow.PrimitiveTypes.Float64, Nullable: true, Metadata: id("5")},
		{
			Name: "g", Type: arrow.ListOfField(arrow.Field{Name: "element", Type: arrow.PrimitiveTypes.Int64, Nullable: true, Metadata: id("20")}), Nullable: true,
			Metadata: id("7"),
		},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	list := b.Field(4).(*array.ListBuilder)
	for i := range int64(layoutRows) {
		b.Field(0).(*array.Int64Builder).Append(i * i)
		b.Field(1).(*array.Int32Builder).Append(int32(i % 9))
		if i%5 == 0 {
			b.Field(2).AppendNull()
		} else {
			b.Field(2).(*array.StringBuilder).Append(strings.Repeat("long ", int(i%20)) + fmt.Sprint(i%40))
		}
		b.Field(3).(*array.Float64Builder).Append(float64(i) / 3)
		list.Append(true)
		for j := range i % 4 {
			list.ValueBuilder().(*array.Int64Builder).Append(j)
		}
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := pqarrow.NewFileWriter(s, out, parquet.NewWriterProperties(properties...), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err == nil {
		err = errors.Join(w.Write(batch), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// subsets are sets of fields: each alone, all, none, and some more.
func subsets(fields []plan.Field) [][]plan.Field {
	out := [][]plan.Field{nil, fields}
	random := rand.New(rand.NewPCG(3, 4))
	for i := range fields {
		out = append(out, []plan.Field{fields[i]})
		if i%2 == 0 {
			out = append(out, slices.DeleteFunc(slices.Clone(fields), func(plan.Field) bool { return random.IntN(2) == 0 }))
		}
	}
	return out
}

// TestMirrorsReadAsLocal reads files of all layouts from a server by parts, every set of columns on a mirror of its own: rows are those of the
// local file. Then one mirror serves all sets, and what it has is not read again.
func TestMirrorsReadAsLocal(t *testing.T) {
	server := objectstest.Start(t)
	real := server.Store(t, server.Reader)
	x := sparse(open(t, Config{}))
	for _, path := range layouts(t, t.TempDir()) {
		once := &counted{Store: real, scope: "all of " + path}
		s := put(t, server, nil, layoutRows, path)
		for i, fields := range subsets(layoutFields) {
			s.Fields = fields
			want, err := scanRows(t, x, relation(atHome(s)))
			if err != nil || len(fields) > 0 && want == "" {
				t.Fatalf("%s, local: %q, %v", path, want, err)
			}
			s.Objects = &counted{Store: real, scope: fmt.Sprint(path, i)}
			if got, err := scanRows(t, x, relation(s)); err != nil || got != want {
				t.Errorf("%s, columns %d: %v, rows equal: %t", path, i, err, got == want)
			}
			s.Objects = once
			if got, err := scanRows(t, x, relation(s)); err != nil || got != want {
				t.Errorf("%s, columns %d of one mirror: %v, rows equal: %t", path, i, err, got == want)
			}
			before := once.reads.Load()
			if _, err := scanRows(t, x, relation(s)); err != nil || once.reads.Load() != before {
				t.Errorf("%s, columns %d, once more: %v, %d requests", path, i, err, once.reads.Load()-before)
			}
		}
		for _, condition := range []string{"c1 = 4", "c1 = -3", "c3 = 'text 4'", "c3 = 'none'", "c2 IN (3, 5)", "c5 = 2.5", "c1 > 4990"} {
			s.Fields = layoutFields[:5]
			want, err := scanWhere(t, x, relation(atHome(s)), condition)
			s.Objects = &counted{Store: real, scope: path + condition}
			if got, failed := scanWhere(t, x, relation(s), condition); err != nil || failed != nil || got != want {
				t.Errorf("%s, %s: %v, %v: %.100q instead of %.100q", path, condition, err, failed, got, want)
			}
		}
	}
}

// TestMirrorMetrics counts the parts of an object that a statement needs, and the bytes that they bring, against what the store saw.
func TestMirrorMetrics(t *testing.T) {
	server := objectstest.Start(t)
	reg := prometheus.NewRegistry()
	x := sparse(open(t, Config{Metrics: reg}))
	readings := func() map[string]float64 {
		t.Helper()
		all, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]float64{}
		for _, f := range all {
			for _, m := range f.Metric {
				name := strings.TrimPrefix(f.GetName(), "gatehouse_")
				for _, l := range m.Label {
					name += " " + l.GetValue()
				}
				out[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
		return out
	}
	s := put(t, server, layoutFields[:2], layoutRows, layouts(t, t.TempDir())[0])
	store := &counted{Store: server.Store(t, server.Reader), scope: "x"}
	s.Objects = store
	for i, want := range []struct{ kept, fetched float64 }{{0, 3}, {3, 3}} {
		if _, err := scanRows(t, x, relation(s)); err != nil {
			t.Fatal(err)
		}
		got := readings()
		if got["mirror_parts_total kept"] != want.kept || got["mirror_parts_total fetched"] != want.fetched || got["mirror_parts_total awaited"] != 0 {
			t.Errorf("statement %d: %v, want %v", i+1, got, want)
		}
		if n := float64(store.bytes.Load()); n == 0 || got["mirror_fetched_bytes_total"] != n || got["copies_bytes"] != n {
			t.Errorf("statement %d: %v, and the store gave %v bytes", i+1, got, n)
		}
	}
}
