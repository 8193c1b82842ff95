package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"gatehouse/catalog"
)

// oddPartition is a data file with a partition value of no kind that there is.
type oddPartition struct {
	iceberg.DataFile
	id int
}

func (f oddPartition) Partition() map[int]any { return map[int]any{f.id: struct{}{}} }

// A partition that is not understood, of one file or of a whole spec, refuses the table: rows would show under wrong values, or be left out.
func TestPartitionsThatAreNotRead(t *testing.T) {
	prim := iceberg.PrimitiveTypes
	s := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "a", Type: prim.Int32}, iceberg.NestedField{ID: 2, Name: "b", Type: prim.Int32})
	spec := iceberg.NewPartitionSpec(iceberg.PartitionField{SourceIDs: []int{1}, FieldID: 1000, Name: "p", Transform: iceberg.IdentityTransform{}})
	one := metadata(t, "", &spec, s)
	text, err := json.Marshal(one)
	if err != nil {
		t.Fatal(err)
	}
	many := strings.Replace(string(text), `"source-id":1`, `"source-ids":[1,2]`, 1)
	two, err := table.ParseMetadataString(strings.Replace(many, `"format-version":2`, `"format-version":3,"next-row-id":0`, 1))
	if err != nil || many == string(text) {
		t.Fatal(err, many)
	}
	builderOf := func(md table.Metadata) *builder {
		tbl, err := catalog.NewTable("lake", "s", "t", table.New([]string{"s", "t"}, md, "m", nil, nil), catalog.Files{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return &builder{table: tbl, out: &snapshot{specs: map[int]iceberg.PartitionSpec{0: md.PartitionSpec()}}, paths: map[string]bool{}}
	}
	m := iceberg.NewManifestFile(2, "none", 1, 0, 1).SequenceNum(1, 1).Build()
	for want, md := range map[string]table.Metadata{"partitioned by a transform of more than one column": two, "a manifest cannot be decoded": one} {
		if err := builderOf(md).manifest(m, manifestFiles{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	d, err := iceberg.NewDataFileBuilder(spec, iceberg.EntryContentData, "p", iceberg.ParquetFile, map[int]any{1000: int32(1)}, nil, nil, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	n := int64(1)
	for _, odd := range []bool{false, true} {
		b, file := builderOf(one), d.Build()
		if odd {
			file = oddPartition{file, 1000}
		}
		err := b.file(iceberg.NewManifestEntry(iceberg.EntryStatusADDED, &n, &n, &n, file))
		if (err != nil) != odd || len(b.out.data) == 1 == odd || odd && !strings.Contains(err.Error(), `the partition value of column "a" is not understood`) {
			t.Errorf("a value that is not understood %v: %v, %d files", odd, err, len(b.out.data))
		}
	}
}

// Renaming fields leaves all else of a schema as it is, numbers to the last digit.
func TestSchemaKeepsItsNumbers(t *testing.T) {
	h := avroHeader{meta: map[string][]byte{avroSchema: []byte(`{"fields":[{"default":9007199254740993,"name":"ö"}]}`)}, keys: []string{avroSchema}, sync: make([]byte, 16)}
	got, err := readAvroHeader(asciiNames(h.bytes()))
	if want := `{"fields":[{"default":9007199254740993,"name":"f_c3b6"}]}`; err != nil || !bytes.Equal(got.meta[avroSchema], []byte(want)) {
		t.Errorf("%s, %v", got.meta[avroSchema], err)
	}
}

// A file is judged by the partition values that it has: one that its spec has and the file does not say decides nothing.
func TestPartitionsOfFiles(t *testing.T) {
	number := iceberg.NestedField{ID: 1, Name: "i", Type: iceberg.PrimitiveTypes.Int32}
	field := func(source, id int) iceberg.PartitionField {
		return iceberg.PartitionField{SourceIDs: []int{source}, FieldID: id, Name: "p", Transform: iceberg.IdentityTransform{}}
	}
	s := &snapshot{specs: map[int]iceberg.PartitionSpec{0: *iceberg.UnpartitionedSpec, 1: iceberg.NewPartitionSpecID(1, field(2, 1000), field(1, 1001)), 2: iceberg.NewPartitionSpecID(2, field(2, 1001))}}
	five := leaf{field: number, op: equal, value: value{n: 5}}
	for _, c := range []struct {
		spec      int
		partition map[int]any
		want      bool
	}{
		{1, map[int]any{1000: int32(9), 1001: int32(5)}, true},
		{1, map[int]any{1000: int32(5), 1001: int32(9)}, false},
		{1, map[int]any{1001: nil}, false},
		{1, map[int]any{1000: int32(9)}, true},
		{1, nil, true},
		{2, map[int]any{1001: int32(9)}, true},
		{0, map[int]any{1001: int32(9)}, true},
	} {
		if got := five.mayMatch(s, &dataFile{spec: c.spec, partition: c.partition}); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// One delete hides rows as well as many do, and none hides none.
func TestOneDeleteHidesRows(t *testing.T) {
	c, p := openZoo(t), newPlanner(t)
	for name, deletes := range map[string]int{"v2_all_deleted": 1, "v1_plain": 0} {
		tbl, err := c.Table(t.Context(), alice, "spark", name)
		if err != nil {
			t.Fatal(err)
		}
		scan, err := p.scan(t.Context(), tbl, whole(tbl), nil)
		if err != nil || len(scan.Deletes) != deletes || (scan.Rough > 0) != (deletes > 0) {
			t.Errorf("%s: %d deletes, %d roughly, %v", name, len(scan.Deletes), scan.Rough, err)
		}
	}
}

// Columns that only deletes know have their last type, and an order.
func TestDroppedKeys(t *testing.T) {
	prim := iceberg.PrimitiveTypes
	f := func(id int, typ iceberg.Type) iceberg.NestedField {
		return iceberg.NestedField{ID: id, Name: fmt.Sprint("c", id), Type: typ}
	}
	schemas := []*iceberg.Schema{iceberg.NewSchema(0, f(1, prim.Int32)), iceberg.NewSchema(1, f(1, prim.Int32)), iceberg.NewSchema(2, f(1, prim.Int32))}
	for id := 2; id < 12; id++ {
		schemas[0] = iceberg.NewSchema(0, append(schemas[0].Fields(), f(id, prim.Int32))...)
		schemas[1] = iceberg.NewSchema(1, append(schemas[1].Fields(), f(id, prim.Int64))...)
	}
	md := metadata(t, "", iceberg.UnpartitionedSpec, schemas...)
	tbl, err := catalog.NewTable("lake", "s", "t", table.New([]string{"s", "t"}, md, "m", nil, nil), catalog.Files{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{}
	want := []Field{{ID: 1, Name: "c1", Type: "INTEGER"}}
	for id := 1; id < 12; id++ {
		if ids[id] = true; id > 1 {
			want = append(want, Field{ID: id, Name: fmt.Sprint("__gw_dropped_", id), Type: "BIGINT"})
		}
	}
	if got, err := fields(tbl, ids); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

// What does not fit together is no plan, and manifests are never removed.
func TestWhatDoesNotFit(t *testing.T) {
	c, p := openZoo(t), newPlanner(t)
	g, tables := govern(t, c, "SELECT * FROM orders", open)
	for n, all := range [][]*catalog.Table{{}, {tables[0]}, {tables[0], tables[0]}} {
		if got, err := p.Plan(t.Context(), alice, "q", g, all, time.Time{}); (err == nil) != (n == 1) || n != 1 && (!errors.Is(err, ErrInvalid) || got != nil) {
			t.Errorf("%d tables for one reference: %v", n, err)
		}
	}
	r := whole(tables[0])
	r.Columns = nil
	if scan, err := p.scan(t.Context(), tables[0], r, nil); !errors.Is(err, ErrInvalid) || scan.Files != nil {
		t.Errorf("a relation without columns: %v", err)
	}
	if err := (manifestFiles{ctx: t.Context(), files: tables[0].Files}).Remove("x"); err == nil {
		t.Error("a manifest was removed")
	}
	for _, c := range []struct {
		v    any
		want string // "": refused
	}{{int64(5), "5"}, {nil, ""}, {struct{}{}, ""}} {
		if got, err := jsonText(iceberg.PrimitiveTypes.Int64, c.v); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%v: %q, %v", c.v, got, err)
		}
	}
}
