package plan

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
)

// listedFile is a file as a manifest lists it, which may say what no writer of ours would.
type listedFile struct {
	iceberg.DataFile
	content        iceberg.ManifestEntryContent
	format         iceberg.FileFormat
	path, ref      string
	rows, size     int64
	key            []byte
	offset, length *int64
	keys           []int
}

func (f listedFile) ContentType() iceberg.ManifestEntryContent { return f.content }
func (f listedFile) FileFormat() iceberg.FileFormat            { return f.format }
func (f listedFile) FilePath() string                          { return f.path }
func (f listedFile) Count() int64                              { return f.rows }
func (f listedFile) FileSizeBytes() int64                      { return f.size }
func (f listedFile) KeyMetadata() []byte                       { return f.key }
func (f listedFile) ContentOffset() *int64                     { return f.offset }
func (f listedFile) ContentSizeInBytes() *int64                { return f.length }
func (f listedFile) EqualityFieldIDs() []int                   { return f.keys }
func (f listedFile) ReferencedDataFile() *string {
	if f.ref == "" {
		return nil
	}
	return &f.ref
}

// What a manifest may list, and what ends the plan because a reader that skipped it would show rows that are not there.
func TestListedFiles(t *testing.T) {
	c := openZoo(t)
	tbl, err := c.Table(t.Context(), alice, "spark", "nested_plain")
	if err != nil {
		t.Fatal(err)
	}
	snap, err := decode(t.Context(), tbl)
	if err != nil {
		t.Fatal(err)
	}
	path, nestedKey, plainKey := snap.data[0].file.Path, 0, 0
	for _, f := range tbl.Fields.Fields() {
		if _, ok := f.Type.(iceberg.PrimitiveType); ok {
			plainKey = f.ID
		} else {
			nestedKey = f.ID
		}
	}
	spec := tbl.Iceberg.Metadata().PartitionSpec()
	base, err := iceberg.NewDataFileBuilder(spec, iceberg.EntryContentData, path, iceberg.ParquetFile, nil, nil, nil, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	const data, positional, equality = iceberg.EntryContentData, iceberg.EntryContentPosDeletes, iceberg.EntryContentEqDeletes
	n := func(n int64) *int64 { return &n }
	vector := func(change func(*listedFile)) func(*listedFile) {
		return func(f *listedFile) {
			f.content, f.format, f.ref, f.offset, f.length = positional, iceberg.PuffinFile, path, n(4), n(10)
			change(f)
		}
	}
	for _, x := range []struct {
		what    string
		refused string // "": it is taken
		seq     int64
		change  func(*listedFile)
	}{
		{"a data file", "", 1, func(*listedFile) {}},
		{"an empty one of the first commit", "", 0, func(f *listedFile) { f.rows, f.size = 0, 0 }},
		{"a key", "encrypted", 1, func(f *listedFile) { f.key = []byte{1} }},
		{"another folder", "may not be read", 1, func(f *listedFile) { f.path = "/etc/passwd" }},
		{"no sequence number", "without its", -1, func(*listedFile) {}},
		{"no rows", "without its", 1, func(f *listedFile) { f.rows = -1 }},
		{"no size", "without its", 1, func(f *listedFile) { f.size = -1 }},
		{"data in another format", "data files of the format ORC", 1, func(f *listedFile) { f.format = iceberg.OrcFile }},
		{"deletes in another format", "delete files of the format AVRO", 1, func(f *listedFile) { f.content, f.format = positional, iceberg.AvroFile }},
		{"deletes of a later kind", "unknown kind", 1, func(f *listedFile) { f.content = 7 }},
		{"positions", "", 1, func(f *listedFile) { f.content = positional }},
		{"positions of one file", "", 1, func(f *listedFile) { f.content, f.ref = positional, path }},
		{"a key column", "", 1, func(f *listedFile) { f.content, f.keys = equality, []int{plainKey} }},
		{"no key column", "no key", 1, func(f *listedFile) { f.content = equality }},
		{"a nested key column", "has the key", 1, func(f *listedFile) { f.content, f.keys = equality, []int{plainKey, nestedKey} }},
		{"a key column that never was", "no top-level column", 1, func(f *listedFile) { f.content, f.keys = equality, []int{9999} }},
		{"a vector", "", 1, vector(func(*listedFile) {})},
		{"a vector at the start, of one byte", "", 1, vector(func(f *listedFile) { f.offset, f.length = n(0), n(1) })},
		{"a vector that ends with the numbers", "", 1, vector(func(f *listedFile) { f.offset, f.length = n(math.MaxInt64-1), n(1) })},
		{"a vector beyond all numbers", "lacks its place", 1, vector(func(f *listedFile) { f.offset, f.length = n(math.MaxInt64), n(1) })},
		{"a vector before the start", "lacks its place", 1, vector(func(f *listedFile) { f.offset = n(-1) })},
		{"a vector without bytes", "lacks its place", 1, vector(func(f *listedFile) { f.length = n(0) })},
		{"a vector of no length", "lacks its place", 1, vector(func(f *listedFile) { f.length = nil })},
		{"a vector of no offset", "lacks its place", 1, vector(func(f *listedFile) { f.offset = nil })},
		{"a vector of no file", "lacks its place", 1, vector(func(f *listedFile) { f.ref = "" })},
	} {
		f := listedFile{DataFile: base.Build(), path: path, content: data, format: iceberg.ParquetFile, rows: 1, size: 1}
		x.change(&f)
		for _, wrong := range []bool{false, true} {
			b := &builder{table: tbl, out: &snapshot{specs: map[int]iceberg.PartitionSpec{spec.ID(): spec}}, paths: map[string]bool{}, vectors: map[string]int{}}
			in, refused := iceberg.ManifestContentData, x.refused
			if (f.content == data) == wrong {
				in = iceberg.ManifestContentDeletes
			}
			if wrong && refused == "" {
				refused = "mixes data and deletes"
			}
			e := iceberg.NewManifestEntry(iceberg.EntryStatusADDED, n(1), n(x.seq), n(x.seq), f)
			m := iceberg.NewManifestFile(2, "m", 1, int32(spec.ID()), 1).Content(in).Build()
			err := b.entry(e, m)
			taken := len(b.out.data) + len(b.out.deletes)
			if refused == "" {
				if err != nil || taken != 1 {
					t.Errorf("%s: %v", x.what, err)
				}
				continue
			}
			if _, ok := err.(*UnreadableError); !ok || taken != 0 || !wrong && !strings.Contains(err.Error(), refused) {
				t.Errorf("%s, in a manifest of the wrong kind: %v: %v, want %q", x.what, wrong, err, refused)
			}
		}
	}
	b := &builder{table: tbl, out: &snapshot{specs: map[int]iceberg.PartitionSpec{spec.ID(): spec}}, paths: map[string]bool{}}
	for _, x := range []struct {
		f    listedFile
		take func(iceberg.DataFile) error
	}{
		{listedFile{DataFile: base.Build(), path: path, format: iceberg.ParquetFile}, func(d iceberg.DataFile) error {
			return b.file(iceberg.NewManifestEntry(iceberg.EntryStatusADDED, n(1), n(1), n(1), d))
		}},
		{listedFile{DataFile: base.Build(), path: path, content: positional, format: iceberg.PuffinFile, ref: path, offset: n(4), length: n(10)}, func(d iceberg.DataFile) error {
			return b.delete(iceberg.NewManifestEntry(iceberg.EntryStatusADDED, n(1), n(1), n(1), d))
		}},
	} {
		if err := x.take(x.f); err != nil {
			t.Error(err)
		}
		if err := x.take(x.f); err == nil {
			t.Errorf("%+v twice", x.f)
		}
	}
}

// A manifest that is encrypted, or of a partition spec that the table does not have, is not read.
func TestManifestsRefused(t *testing.T) {
	c := openZoo(t)
	tbl, err := c.Table(t.Context(), alice, "spark", "orders")
	if err != nil {
		t.Fatal(err)
	}
	b := func() *builder {
		return &builder{table: tbl, out: &snapshot{specs: map[int]iceberg.PartitionSpec{}}, paths: map[string]bool{}}
	}
	fs := manifestFiles{ctx: t.Context(), files: tbl.Files}
	manifests, err := tbl.Snapshot.Manifests(fs)
	if err != nil {
		t.Fatal(err)
	}
	m := manifests[0]
	if err := b().manifest(m, fs); err != nil {
		t.Fatal(err)
	}
	for what, odd := range map[string]iceberg.ManifestFile{
		"encrypted":                 iceberg.NewManifestFile(2, m.FilePath(), m.Length(), m.PartitionSpecID(), 1).SequenceNum(1, 1).KeyMetadata([]byte{1}).Build(),
		"a manifest names a":        iceberg.NewManifestFile(2, m.FilePath(), m.Length(), 99, 1).SequenceNum(1, 1).Build(),
		"a manifest cannot be deco": iceberg.NewManifestFile(2, m.FilePath()+"x", m.Length(), m.PartitionSpecID(), 1).SequenceNum(1, 1).Build(),
	} {
		if err := b().manifest(odd, fs); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Statistics are kept for the columns that may be judged by them, also if there are some of one kind only.
func TestStatsOf(t *testing.T) {
	spec := *iceberg.UnpartitionedSpec
	build := func(change func(*iceberg.DataFileBuilder)) iceberg.DataFile {
		b, err := iceberg.NewDataFileBuilder(spec, iceberg.EntryContentData, "p", iceberg.ParquetFile, nil, nil, nil, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		change(b)
		return b.Build()
	}
	for _, x := range []struct {
		change func(*iceberg.DataFileBuilder)
		want   map[int]stat
	}{
		{func(*iceberg.DataFileBuilder) {}, map[int]stat{}},
		{func(b *iceberg.DataFileBuilder) { b.ValueCounts(map[int]int64{1: 0, 2: 5}) }, map[int]stat{1: {values: 0, nulls: -1}}},
		{func(b *iceberg.DataFileBuilder) { b.NullValueCounts(map[int]int64{1: 3}) }, map[int]stat{1: {values: -1, nulls: 3}}},
		{func(b *iceberg.DataFileBuilder) { b.LowerBoundValues(map[int][]byte{1: {7}}) }, map[int]stat{1: {values: -1, nulls: -1, lower: []byte{7}}}},
		{func(b *iceberg.DataFileBuilder) { b.UpperBoundValues(map[int][]byte{1: {8}}) }, map[int]stat{1: {values: -1, nulls: -1, upper: []byte{8}}}},
		{func(b *iceberg.DataFileBuilder) {
			b.ValueCounts(map[int]int64{1: 4}).NullValueCounts(map[int]int64{1: 3}).LowerBoundValues(map[int][]byte{1: {7}}).UpperBoundValues(map[int][]byte{1: {8}})
		}, map[int]stat{1: {values: 4, nulls: 3, lower: []byte{7}, upper: []byte{8}}}},
	} {
		if got := statsOf(build(x.change), map[int]bool{1: true}); !reflect.DeepEqual(got, x.want) {
			t.Errorf("%v, want %v", got, x.want)
		}
	}
}

// A type that no executor reads, at any depth, refuses the table; so does a default that is not understood.
func TestFieldsRefused(t *testing.T) {
	prim := iceberg.PrimitiveTypes
	bad := iceberg.NestedField{ID: 2, Name: "x", Type: prim.TimestampTzNs}
	for _, typ := range []iceberg.Type{
		bad.Type, &iceberg.ListType{ElementID: 2, Element: bad.Type}, &iceberg.StructType{FieldList: []iceberg.NestedField{bad}},
		&iceberg.MapType{KeyID: 2, KeyType: bad.Type, ValueID: 3, ValueType: prim.Int32}, &iceberg.MapType{KeyID: 2, KeyType: prim.Int32, ValueID: 3, ValueType: bad.Type},
	} {
		if f, err := newField(iceberg.NestedField{ID: 1, Name: "c", Type: typ}); err == nil {
			t.Errorf("%s is %+v", typ, f)
		}
	}
	odd := iceberg.NestedField{ID: 2, Name: "x", Type: prim.Int32, InitialDefault: "five"}
	if f, err := newField(iceberg.NestedField{ID: 1, Name: "c", Type: &iceberg.StructType{FieldList: []iceberg.NestedField{odd}}}); err == nil {
		t.Errorf("the default is %+v", f)
	}
}

// A planner's bounds are the ones that were asked for, or the documented ones.
func TestPlannerConfig(t *testing.T) {
	for _, c := range []Config{{}, {Minter: &minter{}, MaxTTL: -1}, {Minter: &minter{}, CacheFiles: -1}} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
	p, err := New(Config{Minter: &minter{}})
	if err != nil || p.cache.max != 200_000 || p.ttl.Hours() != 1 || p.issuer != "gatehouse" {
		t.Errorf("%+v, %v", p, err)
	}
}

// The cache keeps no more files than it may, forgets the oldest first, and what is larger than all of it is not kept.
func TestCacheBounds(t *testing.T) {
	c, err := newCache(10)
	if err != nil {
		t.Fatal(err)
	}
	key := func(n int) cacheKey { return cacheKey{uuid: fmt.Sprint(n)} }
	c.put(key(0), &snapshot{data: make([]dataFile, 10)}) // costs 11
	for n := 1; n <= 3; n++ {
		c.put(key(n), &snapshot{data: make([]dataFile, 3), deletes: make([]deleteFile, 1)}) // 5
		c.put(key(n), &snapshot{data: make([]dataFile, 4)})
	}
	for n, want := range []bool{false, false, true, true} {
		if s, ok := c.get(key(n)); ok != want || ok && len(s.data) != 3 {
			t.Errorf("%d: %v", n, ok)
		}
	}
	if c.files != 10 {
		t.Errorf("%d files are counted", c.files)
	}
	c.put(key(4), &snapshot{data: make([]dataFile, 9)})
	if _, ok := c.get(key(4)); !ok || c.files != 10 {
		t.Errorf("what just fits: %v, %d files are counted", ok, c.files)
	}
}
