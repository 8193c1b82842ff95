package plan

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/iceberg-go"
	pgquery "github.com/pganalyze/pg_query_go/v6"

	"gatehouse/catalog"
	"gatehouse/catalog/catalogtest"
	"gatehouse/policy"
)

// No condition prunes a file that holds a row for which it is true: every comparison with every value that the zoo's files
// hold, and its neighbours, against the rows of every file.
func TestPruningLosesNothing(t *testing.T) {
	c := openZoo(t)
	judged, pruned := 0, 0
	for _, z := range catalogtest.ZooTables(t) {
		if z.Class != "ok" {
			continue
		}
		tbl, err := zooTable(t, c, z)
		if err != nil || tbl.Snapshot == nil {
			continue
		}
		snap, err := decode(t.Context(), tbl)
		if err != nil {
			t.Fatal(err)
		}
		for id := range pushableColumns(tbl.Iceberg.Metadata(), tbl.Fields) {
			f, _ := topLevel(tbl.Fields, id)
			rows := make([][]*value, len(snap.data))
			var literals []value
			for i := range snap.data {
				rows[i] = readColumn(t, tbl, snap.data[i].file, f)
				for _, v := range rows[i] {
					if v != nil && len(literals) < 60 {
						literals = append(literals, *v, neighbour(*v, 1), neighbour(*v, -1))
					}
				}
			}
			for i := range snap.data {
				for _, l := range leaves(f, literals) {
					judged++
					if l.mayMatch(snap, &snap.data[i]) {
						continue
					}
					pruned++
					for _, v := range rows[i] {
						if l.trueFor(v) {
							t.Errorf("%s: %s %v %v is true for %v in a pruned file", z.ID, f.Name, l.op, l.value, v)
						}
					}
				}
			}
		}
	}
	t.Logf("%d files judged, %d pruned", judged, pruned)
	if pruned < judged/20 {
		t.Error("nearly nothing was pruned, so that the test says nothing")
	}
}

func leaves(f iceberg.NestedField, literals []value) []leaf {
	out := []leaf{{field: f, op: isNull}, {field: f, op: notNull}}
	for _, v := range literals {
		for op := equal; op <= greaterEqual; op++ {
			out = append(out, leaf{field: f, op: op, value: v})
		}
	}
	return out
}

// trueFor evaluates the leaf on one value as SQL does.
func (l leaf) trueFor(v *value) bool {
	switch l.op {
	case isNull:
		return v == nil
	case notNull:
		return v != nil
	}
	if v == nil {
		return false
	}
	// Not by compare and holds, which are judged here as well.
	sign := strings.Compare(v.s, l.value.s)
	switch {
	case v.d != nil:
		sign = v.d.Cmp(l.value.d)
	case v.n < l.value.n:
		sign = -1
	case v.n > l.value.n:
		sign = 1
	}
	return slices.Contains(map[operator][]int{equal: {0}, less: {-1}, lessEqual: {-1, 0}, greater: {1}, greaterEqual: {1, 0}}[l.op], sign)
}

func neighbour(v value, by int64) value {
	if v.s != "" {
		if by > 0 {
			return value{s: v.s + "\x00"}
		}
		return value{s: v.s[:len(v.s)-1]}
	}
	if v.d != nil {
		return v
	}
	if v.n > 1<<60 || v.n < -1<<60 || v.n > 1<<30 && v.n < 1<<32 || v.n < -1<<30 && v.n > -1<<32 {
		return v // stay inside of the type
	}
	return value{n: v.n + by}
}

// readColumn reads a column of a data file by its field id; nil if the file lacks it.
func readColumn(t *testing.T, tbl *catalog.Table, f File, field iceberg.NestedField) []*value {
	t.Helper()
	path, err := tbl.Files.Path(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	pf, err := file.OpenParquetFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer pf.Close()
	r, err := pqarrow.NewFileReader(pf, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := r.Schema()
	if err != nil {
		t.Fatal(err)
	}
	for i, af := range schema.Fields() {
		id, ok := af.Metadata.GetValue("PARQUET:field_id")
		if !ok || id != strconv.Itoa(field.ID) {
			continue
		}
		leafIndex := leafOf(pf, i)
		rr, err := r.GetRecordReader(context.Background(), []int{leafIndex}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer rr.Release()
		var out []*value
		for rr.Next() {
			out = append(out, arrowValues(t, rr.RecordBatch().Column(0))...)
		}
		return out
	}
	return nil
}

// leafOf returns the number of the first leaf below a top-level column.
func leafOf(pf *file.Reader, top int) int {
	root := pf.MetaData().Schema.Root()
	for i := range pf.MetaData().Schema.NumColumns() {
		name := pf.MetaData().Schema.Column(i).ColumnPath()
		if name[0] == root.Field(top).Name() {
			return i
		}
	}
	return top
}

func arrowValues(t *testing.T, a arrow.Array) []*value {
	t.Helper()
	out := make([]*value, a.Len())
	for i := range out {
		if a.IsNull(i) {
			continue
		}
		switch a := a.(type) {
		case *array.Int32:
			out[i] = &value{n: int64(a.Value(i))}
		case *array.Int64:
			out[i] = &value{n: a.Value(i)}
		case *array.Date32:
			out[i] = &value{n: int64(a.Value(i))}
		case *array.Timestamp:
			if a.DataType().(*arrow.TimestampType).Unit != arrow.Microsecond {
				t.Fatalf("a timestamp in %v", a.DataType())
			}
			out[i] = &value{n: int64(a.Value(i))}
		case *array.String:
			out[i] = &value{s: a.Value(i)}
		case *array.LargeString:
			out[i] = &value{s: a.Value(i)}
		case *array.Decimal128:
			out[i] = &value{d: a.Value(i).BigInt()}
		default:
			t.Fatalf("an array of %v", a.DataType())
		}
	}
	return out
}

// where parses one expression.
func where(t testing.TB, text string) *pgquery.Node {
	t.Helper()
	tree, err := pgquery.Parse("SELECT 1 WHERE " + text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return tree.Stmts[0].Stmt.GetSelectStmt().WhereClause
}

// show writes a condition as text.
func show(c condition) string {
	switch c := c.(type) {
	case all:
		return list("and", c)
	case anyOf:
		return list("or", c)
	case leaf:
		v := strconv.FormatInt(c.value.n, 10)
		if c.value.d != nil {
			v = c.value.d.String()
		}
		if _, ok := c.field.Type.(iceberg.StringType); ok {
			v = strconv.Quote(c.value.s)
		}
		ops := []string{"=", "<", "<=", ">", ">="}
		if c.op >= isNull {
			return c.field.Name + []string{" null", " not null"}[c.op-isNull]
		}
		return c.field.Name + ops[c.op] + v
	}
	return "-"
}

func list(word string, cs []condition) string {
	var out []string
	for _, c := range cs {
		out = append(out, show(c))
	}
	return word + "(" + strings.Join(out, " ") + ")"
}

// What is translated, and what is left to the engine because DuckDB might mean something else by it.
func TestConditions(t *testing.T) {
	columns := map[string]iceberg.NestedField{}
	for i, f := range []iceberg.NestedField{
		{Name: "i", Type: iceberg.PrimitiveTypes.Int32},
		{Name: "l", Type: iceberg.PrimitiveTypes.Int64},
		{Name: "s", Type: iceberg.PrimitiveTypes.String},
		{Name: "d", Type: iceberg.PrimitiveTypes.Date},
		{Name: "t", Type: iceberg.PrimitiveTypes.Timestamp},
		{Name: "z", Type: iceberg.PrimitiveTypes.TimestampTz},
		{Name: "n", Type: iceberg.DecimalTypeOf(5, 2)},
	} {
		f.ID = i + 1
		columns[f.Name] = f
	}
	tr := translator{columns: columns}
	for _, c := range []struct{ text, want string }{
		{"i = 5", "i=5"},
		{"5 < i", "i>5"},
		{"5 <= i", "i>=5"},
		{"5 > i", "i<5"},
		{"5 >= i", "i<=5"},
		{"5 = i", "i=5"},
		{"i < 5", "i<5"},
		{"i <= 5", "i<=5"},
		{"i > 5", "i>5"},
		{"i OPERATOR(pg_catalog.=) 5", "-"},
		{"i = -(-5)", "i=5"},
		{"i = +5", "-"},
		{"i = (-5)", "i=-5"},
		{"i = 2147483647", "i=2147483647"},
		{"i = 2147483648", "-"},
		{"i = -2147483648", "i=-2147483648"},
		{"i BETWEEN $1 AND $1", "-"},
		{"i BETWEEN $1 AND 2", "and(i<=2)"},
		{"(i = 1 AND l = $1) OR i = 2", "or(and(i=1) i=2)"},
		{"l = $1 AND i = $1", "-"},
		{"$1 IN (1, 2)", "-"},
		{"l = true", "-"},
		{"l = -'5'", "-"},
		{"l = 5::bigint", "-"},
		{"s = 'a'::text", `s="a"`},
		{"s = 'a'::other.varchar[]", "-"},
		{"s = DATE '1970-01-02'", "-"},
		{"d = 'x'::varchar", "-"},
		{"d = DATE '1970-01-03'", "d=2"},
		{"d = DATE '2024-02-29'", "d=19782"},
		{"d = DATE '2023-02-29'", "-"},
		{"d = 19782", "-"},
		{"t = 5", "-"},
		{"t = TIMESTAMP '1969-12-31 23:59:59.999999'", "t=-1"},
		{"t = '1970-01-01 00:00:00.123456'", "t=123456"},
		{"t = '1970-01-01 00:00:00Z'", "-"},
		{"t = '1970-01-01'", "-"},
		{"t = DATE '1970-01-03'", "t=172800000000"},
		{"t = DATE '1969-12-31'", "t=-86400000000"},
		{"t = DATE '1970-01-32'", "-"},
		{"z = '1970-01-01 00:00:01Z'", "z=1000000"},
		{"z = '1970-01-01 00:00:01+00:00'", "z=1000000"},
		{"z = TIMESTAMP '1970-01-01 00:00:00Z'", "-"},
		{"n = 999.99", "n=99999"},
		{"n = -999.99", "n=-99999"},
		{"n = 0.5", "n=50"},
		{"n = .5", "n=50"},
		{"n = 5.", "n=500"},
		{"n = 0999.9", "n=99990"},
		{"n = 1000.0", "-"},
		{"n = 1.500", "-"},
		{"i >= -5", "i>=-5"},
		{"i = 5.0", "-"},
		{"i = 1e3", "-"},
		{"i = 3000000000", "-"},
		{"i = '5'", "-"},
		{"l = 3000000000", "l=3000000000"},
		{"l = 99999999999999999999", "-"},
		{"l::int = 5", "-"},
		{"l + 1 = 5", "-"},
		{"l = i", "-"},
		{"l = NULL", "-"},
		{"l = $1", "-"},
		{"l <> 5", "-"},
		{"l IN (1, 2)", "or(l=1 l=2)"},
		{"l IN (1, 2.5)", "-"},
		{"l NOT IN (1, 2)", "-"},
		{"l BETWEEN 1 AND 2", "and(l>=1 l<=2)"},
		{"l BETWEEN 1 AND $1", "and(l>=1)"},
		{"l NOT BETWEEN 1 AND 2", "-"},
		{"l BETWEEN SYMMETRIC 2 AND 1", "-"},
		{"l IS NULL", "l null"},
		{"l IS NOT NULL", "l not null"},
		{"NOT l = 1", "-"},
		{"l = 1 AND s LIKE 'a%' AND i < 2", "and(l=1 i<2)"},
		{"l = 1 OR s LIKE 'a%'", "-"},
		{"l = 1 OR (i = 2 AND s LIKE 'a%')", "or(l=1 and(i=2))"},
		{"unknown = 1", "-"},
		{"\"L\" = 1", "-"},
		{"x.l = 1", "-"},
		{"s = 'it''s'", `s="it's"`},
		{"s > 'a'::varchar", `s>"a"`},
		{"s = 5", "-"},
		{"s = 'a'::varchar(1)", "-"},
		{"d = DATE '1970-01-02'", "d=1"},
		{"d >= '1969-12-31'", "d>=-1"},
		{"d = '1970-1-2'", "-"},
		{"d = TIMESTAMP '1970-01-02 00:00:00'", "-"},
		{"d = 'epoch'", "-"},
		{"t = TIMESTAMP '1970-01-01 00:00:01.5'", "t=1500000"},
		{"t < DATE '1970-01-02'", "t<86400000000"},
		{"t = '1970-01-01T00:00:00'", "t=0"},
		{"t = '1970-01-01 00:00:00.1234567'", "-"},
		{"t = TIMESTAMPTZ '1970-01-01 00:00:00+00'", "-"},
		{"z = TIMESTAMPTZ '1970-01-01 00:00:00+00'", "z=0"},
		{"z = TIMESTAMPTZ '1970-01-01 00:00:00'", "-"},
		{"z = DATE '1970-01-01'", "-"},
		{"z = '1970-01-01 00:00:00+01'", "-"},
		{"n = 1", "n=100"},
		{"n > -1.5", "n>-150"},
		{"n = 1.25", "n=125"},
		{"n = 1.255", "-"},
		{"n = 1000", "-"},
		{"n = 1e1", "-"},
		{"n = '1.5'", "-"},
	} {
		if got := show(tr.node(where(t, c.text))); got != c.want {
			t.Errorf("%s: got %s, want %s", c.text, got, c.want)
		}
	}
}

// The filter reads raw columns and prunes by them, what is pushed beside it prunes by no masked column.
func TestMaskedColumnsDoNotPrune(t *testing.T) {
	c := openZoo(t)
	tbl, err := c.Table(t.Context(), alice, "spark", "many_files")
	if err != nil {
		t.Fatal(err)
	}
	p := newPlanner(t)
	count := func(change func(*policy.Relation)) int {
		r := whole(tbl)
		change(&r)
		scan, err := p.scan(t.Context(), tbl, r, nil)
		if err != nil {
			t.Fatal(err)
		}
		return len(scan.Files)
	}
	every := count(func(*policy.Relation) {})
	id := where(t, `id = 1`)
	pushed := count(func(r *policy.Relation) { r.Pushed = []*pgquery.Node{id} })
	filtered := count(func(r *policy.Relation) { r.Filter = id })
	masked := count(func(r *policy.Relation) { r.Pushed, r.Columns[0].Mask = []*pgquery.Node{id}, where(t, "NULL") })
	both := count(func(r *policy.Relation) { r.Filter, r.Columns[0].Mask = id, where(t, "NULL") })
	if every < 40 || pushed >= every/4 || filtered != pushed || masked != every || both != pushed {
		t.Errorf("files: all %d, pushed %d, filtered %d, pushed on a mask %d, filtered below a mask %d", every, pushed, filtered, masked, both)
	}
}
