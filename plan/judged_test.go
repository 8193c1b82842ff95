package plan

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	pgquery "github.com/pganalyze/pg_query_go/v6"

	"gatehouse/auth"
	"gatehouse/catalog"
	"gatehouse/policy"
)

// metadata makes a table's metadata of schemas, the last of which is the current one.
func metadata(t *testing.T, mapping string, spec *iceberg.PartitionSpec, schemas ...*iceberg.Schema) table.Metadata {
	t.Helper()
	props := iceberg.Properties{}
	if mapping != "" {
		props[table.DefaultNameMappingKey] = mapping
	}
	md, err := table.NewMetadata(schemas[0], spec, table.UnsortedSortOrder, "file:///lake/t", props)
	if err != nil {
		t.Fatal(err)
	}
	b, err := table.MetadataBuilderFromBase(md, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range schemas[1:] {
		if err := b.AddSchema(s); err != nil {
			t.Fatal(err)
		}
		if err := b.SetCurrentSchemaID(-1); err != nil {
			t.Fatal(err)
		}
	}
	if md, err = b.Build(); err != nil {
		t.Fatal(err)
	}
	return md
}

// Which columns may decide what is read: by their type, and never if the statistics may be about another type or column.
func TestPushableColumnsByMetadata(t *testing.T) {
	prim := iceberg.PrimitiveTypes
	f := func(id int, name string, typ iceberg.Type) iceberg.NestedField {
		return iceberg.NestedField{ID: id, Name: name, Type: typ}
	}
	schema := func(id int, fs ...iceberg.NestedField) *iceberg.Schema { return iceberg.NewSchema(id, fs...) }
	for _, x := range []struct {
		what, mapping string
		schemas       []*iceberg.Schema
		want          []int
	}{
		{"types", "", []*iceberg.Schema{schema(
			0, f(1, "a", prim.Int32), f(2, "b", prim.Int64), f(3, "c", prim.Date), f(4, "d", prim.Timestamp), f(5, "e", prim.TimestampTz),
			f(6, "f", iceberg.DecimalTypeOf(5, 2)), f(7, "g", prim.String), f(8, "h", prim.Bool), f(9, "i", prim.Float64), f(10, "j", prim.Float32), f(11, "k", prim.Binary), f(12, "l", prim.UUID), f(13, "m", prim.Time),
		)}, []int{1, 2, 3, 4, 5, 6, 7}},
		{"another type once", "", []*iceberg.Schema{schema(0, f(1, "a", prim.Int32), f(2, "b", prim.Int32)), schema(1, f(1, "a", prim.Int64), f(2, "b", prim.Int32))}, []int{2}},
		{"another name once", "", []*iceberg.Schema{schema(0, f(1, "a", prim.Int32)), schema(1, f(1, "b", prim.Int32))}, []int{1}},
		{"another name once, files without ids", `[{"field-id":1,"names":["b"]}]`, []*iceberg.Schema{schema(0, f(1, "a", prim.Int32), f(2, "c", prim.Int32)), schema(1, f(1, "b", prim.Int32), f(2, "c", prim.Int32))}, []int{2}},
		{"a name of another column once", `[{"field-id":2,"names":["c"]}]`, []*iceberg.Schema{schema(0, f(1, "a", prim.Int32), f(2, "c", prim.Int32)), schema(1, f(3, "a", prim.Int32), f(2, "c", prim.Int32))}, []int{2}},
		{"mapped by its name", `[{"field-id":1,"names":["a"]}]`, []*iceberg.Schema{schema(0, f(1, "a", prim.Int32), f(2, "b", prim.Int32))}, []int{1, 2}},
		{"mapped by another name too", `[{"field-id":1,"names":["a","x"]},{"field-id":2,"names":["b"]}]`, []*iceberg.Schema{schema(0, f(1, "a", prim.Int32), f(2, "b", prim.Int32))}, []int{2}},
		{"a mapping to nothing", `[{"names":["a"]}]`, []*iceberg.Schema{schema(0, f(1, "a", prim.Int32))}, []int{1}},
	} {
		md := metadata(t, x.mapping, iceberg.UnpartitionedSpec, x.schemas...)
		var got []int
		for id := range pushableColumns(md, md.CurrentSchema()) {
			got = append(got, id)
		}
		slices.Sort(got)
		if !slices.Equal(got, x.want) {
			t.Errorf("%s: %v, want %v", x.what, got, x.want)
		}
	}
}

// A mapping of names that says two things of one name is none.
func TestNameMappingClash(t *testing.T) {
	prim := iceberg.PrimitiveTypes
	s := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "a", Type: &iceberg.StructType{FieldList: []iceberg.NestedField{{ID: 2, Name: "b", Type: prim.Int32}}}}, iceberg.NestedField{ID: 3, Name: "c", Type: prim.Int32})
	for mapping, want := range map[string]map[string]int{
		"": nil,
		`[{"field-id":1,"names":["a","x"],"fields":[{"field-id":2,"names":["b"]}]}]`:                                                         {"a": 1, "x": 1, "a.b": 2, "x.b": 2},
		`[{"names":["a"],"fields":[{"field-id":2,"names":["b"]}]}]`:                                                                          {"a.b": 2},
		`[{"field-id":1,"names":["a"],"fields":[{"field-id":2,"names":["b"]}]},{"field-id":3,"names":["c"]}]`:                                {"a": 1, "a.b": 2, "c": 3},
		`[{"field-id":3,"names":["a.b"]},{"field-id":1,"names":["a"],"fields":[{"field-id":2,"names":["b"]}]},{"field-id":4,"names":["z"]}]`: nil,
	} {
		if got := nameMapping(metadata(t, mapping, iceberg.UnpartitionedSpec, s)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", mapping, got, want)
		}
	}
}

// Constants are the values of identity partitions of top-level columns; one that is not understood refuses the table.
func TestConstantsOfSpecs(t *testing.T) {
	prim := iceberg.PrimitiveTypes
	inner := iceberg.NestedField{ID: 3, Name: "c", Type: prim.Int32}
	s := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "a", Type: prim.Int32}, iceberg.NestedField{ID: 2, Name: "s", Type: &iceberg.StructType{FieldList: []iceberg.NestedField{inner}}}, iceberg.NestedField{ID: 4, Name: "d", Type: prim.Date})
	spec := iceberg.NewPartitionSpec(
		iceberg.PartitionField{SourceIDs: []int{1}, FieldID: 1000, Name: "a_bucket", Transform: iceberg.BucketTransform{NumBuckets: 4}},
		iceberg.PartitionField{SourceIDs: []int{1}, FieldID: 1001, Name: "a", Transform: iceberg.IdentityTransform{}},
		iceberg.PartitionField{SourceIDs: []int{3}, FieldID: 1002, Name: "c", Transform: iceberg.IdentityTransform{}},
		iceberg.PartitionField{SourceIDs: []int{4}, FieldID: 1003, Name: "d", Transform: iceberg.IdentityTransform{}},
	)
	md := metadata(t, "", &spec, s)
	tbl, err := catalog.NewTable("lake", "s", "t", table.New([]string{"s", "t"}, md, "m", nil, nil), catalog.Files{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := func(s string) *string { return &s }
	got, err := constants(tbl, md.PartitionSpec(), map[int]any{1000: int32(9), 1001: int32(5), 1002: int32(7), 1003: nil})
	if want := map[int]*string{1: text("5"), 4: nil}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	var refused *UnreadableError
	if got, err := constants(tbl, md.PartitionSpec(), map[int]any{1001: struct{}{}}); !errors.As(err, &refused) || got != nil {
		t.Errorf("a value of no kind: %v, %v", got, err)
	}
	if got, err := constants(tbl, *iceberg.UnpartitionedSpec, nil); got != nil || err != nil {
		t.Errorf("no partitions: %v, %v", got, err)
	}
}

// A disjunction excludes a file if each of its parts does, a conjunction if one does.
func TestConditionsTogether(t *testing.T) {
	i := iceberg.NestedField{ID: 1, Name: "i", Type: iceberg.PrimitiveTypes.Int32}
	yes, no := leaf{field: i, op: equal, value: value{n: 5}}, leaf{field: i, op: equal, value: value{n: 9}}
	s := &snapshot{specs: map[int]iceberg.PartitionSpec{0: *iceberg.UnpartitionedSpec}}
	d := &dataFile{stats: map[int]stat{1: {values: 2, lower: []byte{5, 0, 0, 0}, upper: []byte{6, 0, 0, 0}}}}
	for _, x := range []struct {
		c    condition
		want bool
	}{
		{yes, true},
		{no, false},
		{anyOf{no, yes}, true},
		{anyOf{yes, no}, true},
		{anyOf{no, no}, false},
		{all{yes, yes}, true},
		{all{yes, no}, false},
		{all{no, yes}, false},
		{all{}, true},
	} {
		if got := x.c.mayMatch(s, d); got != x.want {
			t.Errorf("%s: %v", show(x.c), got)
		}
	}
	d.stats = nil
	if !no.mayMatch(s, d) {
		t.Error("a file without statistics is left out")
	}
}

// The text that a plan gives the user who asked has every relation, keeps a name inside of its line, and tells a barrier and an empty table.
func TestExplainText(t *testing.T) {
	output := func(names ...string) []policy.Output {
		var out []policy.Output
		for _, n := range names {
			out = append(out, policy.Output{Name: n, Type: "BIGINT"})
		}
		return out
	}
	table := func(name string, r policy.Relation, s Scan) Relation {
		r.Name.Catalog, r.Name.Schema, r.Name.Table = "c", "s", name
		return Relation{Relation: r, Scan: s}
	}
	masked := output("n", "m")
	masked[1].Mask = where(t, "NULL")
	rows := output(policy.RowMarker)
	rows[0].Mask = where(t, "NULL")
	for _, x := range []struct {
		relations []Relation
		want      string
	}{
		{nil, "no table is read\n"},
		{[]Relation{table("t", policy.Relation{Columns: output("a")}, Scan{})}, "scan c.s.t\n  columns   a\n  snapshot  none, the table is empty\n"},
		{
			[]Relation{
				table("t", policy.Relation{Columns: output("a", "b c", "d,e", "f\ng", `q"`), Barrier: true}, Scan{Snapshot: 7, Files: make([]File, 2), FilesTotal: 3, Deletes: make([]DeleteFile, 1), Rows: 9}),
				table("u", policy.Relation{Columns: masked, Barrier: true}, Scan{Snapshot: 8, Files: make([]File, 2), FilesTotal: 3, Rows: 9}),
				table("v", policy.Relation{Columns: rows, Filter: where(t, "a = 1"), Pushed: []*pgquery.Node{where(t, "B = 1"), where(t, "c = 1")}}, Scan{Computed: true, Fields: []Field{{Name: "a"}, {Name: "b"}, {Name: "c"}}}),
			},
			"scan c.s.t\n  columns   a, \"b c\", \"d,e\", \"f\\ng\", \"q\\\"\"\n  barrier   computed in full before the statement's own expressions\n  snapshot  7\n  files     2 of 3\n  deletes   1\n  rows      at most 9\n" +
				"\nscan c.s.u\n  columns   n, m\n  masked    m\n  barrier   computed in full before the statement's own expressions\n  files     not shown, a policy applies\n" +
				"\nscan c.s.v\n  columns   (rows only)\n  filter    yes\n  pushed    2 of the statement's conditions, on b, c\n  files     not shown, a policy applies\n",
		},
	} {
		if got := (&Plan{relations: x.relations}).Explain(); got != x.want {
			t.Errorf("got\n%s\nwant\n%s", got, x.want)
		}
	}
}

// Row lineage is read if it is asked for, a key of an equality delete that was never a column is refused, and so is a column that no engine reads.
func TestFieldsOfTables(t *testing.T) {
	c := openZoo(t)
	tbl, err := c.Table(t.Context(), alice, "java", "eq_and_dv_v3")
	if err != nil {
		t.Fatal(err)
	}
	tbl, ok := tbl.WithLineage()
	if !ok {
		t.Fatal("no row lineage")
	}
	id := tbl.Fields.Fields()[0].ID
	for _, x := range []struct {
		ids  map[int]bool
		want []int
	}{
		{map[int]bool{id: true}, []int{id}},
		{map[int]bool{id: true, catalog.RowIDField: true}, []int{id, catalog.RowIDField}},
		{map[int]bool{catalog.LastUpdatedField: true, id: true}, []int{id, catalog.LastUpdatedField}},
	} {
		fs, err := fields(tbl, x.ids)
		var got []int
		for _, f := range fs {
			got = append(got, f.ID)
			if f.Name == "" || f.Type == "" {
				t.Errorf("%+v", f)
			}
		}
		if err != nil || !slices.Equal(got, x.want) {
			t.Errorf("%v: %v, %v", x.ids, got, err)
		}
	}
	var refused *UnreadableError
	if fs, err := fields(tbl, map[int]bool{9999: true}); !errors.As(err, &refused) || fs != nil {
		t.Errorf("a key that is no column: %v, %v", fs, err)
	}
	odd := *tbl
	odd.Fields = iceberg.NewSchema(0, iceberg.NestedField{ID: id, Name: "x", Type: iceberg.PrimitiveTypes.TimestampTzNs})
	if fs, err := fields(&odd, map[int]bool{id: true}); !errors.As(err, &refused) || fs != nil {
		t.Errorf("a type that is not read: %v, %v", fs, err)
	}
}

// brokenMinter signs nothing.
type brokenMinter struct{}

var errMint = errors.New("no key")

func (brokenMinter) Mint(auth.TaskClaims) (auth.Secret, error) { return auth.Secret{}, errMint }

// A plan without credentials, or over manifests that are not there, is no plan; what a caller did wrong is told from what a table lacks.
func TestPlanFails(t *testing.T) {
	c := openZoo(t)
	g, tables := govern(t, c, "SELECT * FROM orders", open)
	p, err := New(Config{Minter: brokenMinter{}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.Plan(t.Context(), alice, "q", g, tables, time.Time{}); !errors.Is(err, errMint) || got != nil {
		t.Errorf("no credential: %v, %v", got, err)
	}
	lost := *tables[0]
	if lost.Files, err = catalog.NewFiles(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	got, err := newPlanner(t).Plan(t.Context(), alice, "q", g, []*catalog.Table{&lost}, time.Time{})
	if u, ok := errors.AsType[*UnreadableError](err); !ok || got != nil || u.Table != "zoo.spark.orders" || u.Unwrap() == nil || strings.Contains(err.Error(), string(filepath.Separator)) {
		t.Errorf("no manifests: %v, %v", got, err)
	}
	none := *tables[0]
	none.Iceberg = nil
	if _, err := newPlanner(t).Plan(t.Context(), alice, "q", g, []*catalog.Table{&none}, time.Time{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a table without metadata: %v", err)
	}
	// The credential lives until the statement ends, and not a second longer than it takes to have whole seconds.
	for _, x := range []struct{ deadline, want time.Time }{
		{now.Truncate(time.Second).Add(time.Minute), now.Truncate(time.Second).Add(time.Minute)},
		{now.Truncate(time.Second).Add(time.Minute + 1), now.Truncate(time.Second).Add(time.Minute + time.Second)},
		{now.Add(48 * time.Hour), now.Add(time.Hour).Truncate(time.Second).Add(time.Second)},
	} {
		m := &minter{}
		p, err := New(Config{Minter: m, Now: func() time.Time { return now }, Issuer: "gw"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Plan(t.Context(), alice, "q", g, tables, x.deadline)
		if err != nil || !m.claims[0].Expires.Equal(x.want) || m.claims[0].Issuer != "gw" {
			t.Errorf("%v: %+v, %v", x.deadline, m.claims, err)
			continue
		}
		if r := got.Relations()[0]; r.Task.ID != "q/"+r.CTE || r.Task.Token.Reveal() != "token of "+r.CTE || got.Tree() != g.Tree() || got.Params() != 0 {
			t.Errorf("%+v", r.Task)
		}
	}
	if _, err := newPlanner(t).end(now, alice, now); !errors.Is(err, ErrInvalid) {
		t.Errorf("at the deadline itself: %v", err)
	}
	if s := fmt.Sprint(named(ErrInvalid, tables[0])); s != ErrInvalid.Error() {
		t.Error(s)
	}
}

// A statement over a computed table beside an Iceberg table is planned.
func TestConsistent(t *testing.T) {
	c := openZoo(t)
	tbl, err := c.Table(t.Context(), alice, "spark", "orders")
	if err != nil {
		t.Fatal(err)
	}
	computed := catalog.Computed("zoo", "information_schema", "x", []catalog.Column{catalog.TextColumn(1, "a")})
	if err := consistent([]*catalog.Table{tbl, computed, tbl, computed}); err != nil {
		t.Error(err)
	}
	for what, change := range map[string]func(*catalog.Table){"catalog": func(t *catalog.Table) { t.Catalog += "x" }, "schema": func(t *catalog.Table) { t.Schema += "x" }, "table": func(t *catalog.Table) { t.Name += "x" }} {
		other := *tbl
		change(&other)
		other.UUID = "another"
		if err := consistent([]*catalog.Table{tbl, &other}); err != nil {
			t.Errorf("another %s: %v", what, err)
		}
	}
	changed := *tbl
	changed.UUID = "another"
	if err := consistent([]*catalog.Table{tbl, &changed}); !errors.Is(err, ErrInvalid) {
		t.Errorf("another table of one name: %v", err)
	}
}
