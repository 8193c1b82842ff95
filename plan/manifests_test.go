package plan

import (
	"bytes"
	"encoding/binary"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/iceberg-go"

	"gatehouse/policy"
)

// A delete that a manifest lists applies to the data files that its scope has, from the listing on: forgotten, deleted rows would show.
func TestListedDeletesApply(t *testing.T) {
	c := openZoo(t)
	tbl, err := c.Table(t.Context(), alice, "spark", "nested_plain")
	if err != nil {
		t.Fatal(err)
	}
	snap, err := decode(t.Context(), tbl)
	if err != nil {
		t.Fatal(err)
	}
	path, key := snap.data[0].file.Path, tbl.Fields.Fields()[0].ID
	spec := tbl.Iceberg.Metadata().PartitionSpec()
	base, err := iceberg.NewDataFileBuilder(spec, iceberg.EntryContentData, path, iceberg.ParquetFile, nil, nil, nil, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	n := func(n int64) *int64 { return &n }
	positional, equality := iceberg.EntryContentPosDeletes, iceberg.EntryContentEqDeletes
	for _, x := range []struct {
		what string
		f    listedFile
		want DeleteKind // 0: it does not apply
	}{
		{"positions", listedFile{content: positional, format: iceberg.ParquetFile}, PositionDeletes},
		{"positions of the file", listedFile{content: positional, format: iceberg.ParquetFile, ref: path}, PositionDeletes},
		{"positions of another", listedFile{content: positional, format: iceberg.ParquetFile, ref: path + "x"}, 0},
		{"its vector", listedFile{content: positional, format: iceberg.PuffinFile, ref: path, offset: n(4), length: n(9)}, DeletionVector},
		{"the vector of another", listedFile{content: positional, format: iceberg.PuffinFile, ref: path + "x", offset: n(4), length: n(9)}, 0},
		{"keys", listedFile{content: equality, format: iceberg.ParquetFile, keys: []int{key}}, EqualityDeletes},
	} {
		b := &builder{table: tbl, out: &snapshot{specs: map[int]iceberg.PartitionSpec{spec.ID(): spec}}, paths: map[string]bool{}}
		x.f.DataFile, x.f.path = base.Build(), path+".deletes"
		entry := func(seq int64, d iceberg.DataFile) iceberg.ManifestEntry {
			return iceberg.NewManifestEntry(iceberg.EntryStatusADDED, n(1), n(seq), n(seq), d)
		}
		if err := b.delete(entry(2, x.f)); err != nil {
			t.Fatal(err)
		}
		if err := b.file(entry(1, base.Build())); err != nil {
			t.Fatal(err)
		}
		if err := b.finish(); err != nil {
			t.Fatal(err)
		}
		var scan Scan
		b.out.choose(&scan, nil, true)
		var got DeleteKind
		for _, d := range scan.Files[0].Deletes {
			got = scan.Deletes[d].Kind
		}
		if got != x.want {
			t.Errorf("%s: a delete of kind %d applies, want %d", x.what, got, x.want)
		}
	}
}

// What may fail on a row that was deleted runs above the barrier, also where no policy hides anything.
func TestBarrierOverDeletes(t *testing.T) {
	c, p := openZoo(t), newPlanner(t)
	for _, x := range []struct {
		table, condition string
		want             bool
	}{
		{"v2_all_deleted", "id / (id - 1) = 1 OR CAST(name AS INT) = 1", true},
		{"v2_all_deleted", "id = 1", false},
		{"v1_plain", "id / (id - 1) = 1 OR CAST(name AS INT) = 1", false},
	} {
		g, tables := govern(t, c, "SELECT id FROM "+x.table+" WHERE "+x.condition, func(policy.Table) policy.Decision { return policy.Decision{ID: "d1"} })
		got, err := p.Plan(t.Context(), alice, "q1", g, tables, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if r := got.Relations()[0]; r.Barrier != x.want {
			t.Errorf("%s over %s: barrier %v", x.condition, x.table, r.Barrier)
		}
	}
}

// Where rows are hidden, the one file that is read for nothing is read also if it is the only one.
func TestOneFileIsRead(t *testing.T) {
	no := leaf{field: iceberg.NestedField{ID: 1, Name: "i", Type: iceberg.PrimitiveTypes.Int32}, op: equal, value: value{n: 9}}
	full := map[int]stat{1: {values: 1, nulls: 1}}
	for n, data := range [][]dataFile{{}, {{file: File{Path: "a", Size: 5}, stats: full}}, {{file: File{Path: "a", Size: 5}, stats: full}, {file: File{Path: "b", Size: 6}, stats: full}}, {{file: File{Path: "a", Size: 5}, stats: full}, {file: File{Path: "b", Size: 5}, stats: full}, {file: File{Path: "c", Size: 6}, stats: full}}} {
		s := &snapshot{specs: map[int]iceberg.PartitionSpec{0: *iceberg.UnpartitionedSpec}, data: data}
		for hides, want := range map[bool]int{true: min(n, 1), false: 0} {
			var scan Scan
			s.choose(&scan, no, hides)
			if len(scan.Files) != want || want == 1 && scan.Files[0].Path != "a" || scan.FilesTotal != n {
				t.Errorf("%d files, hiding %v: %+v", n, hides, scan.Files)
			}
		}
	}
}

// Partitions are told apart by field as well as by value.
func TestPartitionKeyOfFields(t *testing.T) {
	seen := map[string]map[int]any{}
	for _, p := range []map[int]any{{1: int32(1)}, {2: int32(1)}, {1: []byte("1")}, {1: []byte("2")}, {1: []byte{}}, {1: nil}, {1: nil, 2: nil}, {}} {
		k := partitionKey(1, p)
		if other, dup := seen[k]; dup {
			t.Errorf("%v and %v are one", p, other)
		}
		seen[k] = p
	}
}

// A value of a manifest that is of another kind than its column decides nothing, and a decimal is a literal of its column.
func TestValuesOfColumns(t *testing.T) {
	prim, dec := iceberg.PrimitiveTypes, iceberg.DecimalTypeOf(5, 2)
	five := iceberg.Decimal{Val: decimal128.FromI64(5), Scale: 2}
	all := []any{int32(5), int64(5), iceberg.Date(5), iceberg.Timestamp(5), "5", five, iceberg.Decimal{Val: decimal128.FromI64(5), Scale: 1}, 5.0, true}
	for _, x := range []struct {
		t    iceberg.Type
		want []bool
	}{
		{prim.Int64, []bool{true, true, true, true, false, false, false, false, false}},
		{prim.String, []bool{false, false, false, false, true, false, false, false, false}},
		{dec, []bool{false, false, false, false, false, true, false, false, false}},
	} {
		for i, v := range all {
			if _, isDecimal := v.(iceberg.Decimal); isDecimal && !x.t.Equals(dec) {
				continue
			}
			if _, ok := valueOf(x.t, v); ok != x.want[i] {
				t.Errorf("%T %v of a column of %s: %v", v, v, x.t, ok)
			}
		}
	}
	if got := (value{d: big.NewInt(5)}).literal(dec); got == nil || got.Any() != any(five) {
		t.Errorf("%v", got)
	}
	// Dates become instants as far as DuckDB has both.
	for text, want := range map[string]bool{"1970-01-02": true, "9999-12-31": true} {
		if _, ok := literalValue(prim.Timestamp, where(t, "t = DATE '"+text+"'").GetAExpr().GetRexpr()); ok != want {
			t.Errorf("%s: %v", text, ok)
		}
	}
}

// The head of an Avro file may have its metadata in blocks with and without their sizes, and empty values.
func TestAvroBlocks(t *testing.T) {
	entry := func(b []byte, k, v string) []byte {
		b = append(binary.AppendVarint(b, int64(len(k))), k...)
		return append(binary.AppendVarint(b, int64(len(v))), v...)
	}
	sync := []byte("0123456789abcdef")
	plain := entry(entry(binary.AppendVarint([]byte(avroMagic), 2), "a", "1"), "b", "")
	plain = append(binary.AppendVarint(plain, 0), sync...)
	sized := binary.AppendVarint(binary.AppendVarint([]byte(avroMagic), -1), 4)
	sized = entry(binary.AppendVarint(entry(sized, "a", "1"), 1), "b", "")
	sized = append(binary.AppendVarint(sized, 0), sync...)
	for _, data := range [][]byte{plain, sized} {
		h, err := readAvroHeader(append(slices.Clone(data), "rest"...))
		if err != nil || h.size != len(data) || string(h.meta["a"]) != "1" || len(h.meta["b"]) != 0 || len(h.keys) != 2 || !bytes.Equal(h.bytes(), plain) {
			t.Errorf("%q: %+v, %v", data, h, err)
		}
	}
	for what, data := range map[string][]byte{
		"a key twice": append(binary.AppendVarint(entry(entry(binary.AppendVarint([]byte(avroMagic), 2), "a", "1"), "a", "2"), 0), sync...),
		"cut":         plain[:len(plain)-1], "a length below zero": append(binary.AppendVarint(binary.AppendVarint([]byte(avroMagic), 1), -1), plain...),
	} {
		if h, err := readAvroHeader(data); err != errAvro {
			t.Errorf("%s: %+v, %v", what, h, err)
		}
	}
}

// A data file has one deletion vector; a second one makes the table unreadable, since either might lack deleted rows.
func TestTwoVectors(t *testing.T) {
	n := func(n int64) *int64 { return &n }
	v := listedFile{content: iceberg.EntryContentPosDeletes, format: iceberg.PuffinFile, ref: "x", offset: n(1), length: n(1)}
	b := &builder{}
	if err := b.vector(&deleteFile{}, v); err != nil {
		t.Fatal(err)
	}
	b.index.vectors = map[string]int{"x": 0}
	if _, ok := b.vector(&deleteFile{}, v).(*UnreadableError); !ok {
		t.Error("two vectors of one file")
	}
}
