package plan

import (
	"errors"
	"testing"

	"github.com/apache/iceberg-go"
	pgquery "github.com/pganalyze/pg_query_go/v6"

	"gatehouse/policy"
)

// A relation that does not fit the table is refused, whoever made it; what fits reads what it names and no more.
func TestNeeded(t *testing.T) {
	c := openZoo(t)
	tbl, err := c.Table(t.Context(), alice, "spark", "orders")
	if err != nil {
		t.Fatal(err)
	}
	id := func(name string) int {
		for _, col := range tbl.Columns {
			if col.Name == name {
				return col.FieldID
			}
		}
		t.Fatalf("no column %s", name)
		return 0
	}
	output := func(name string) policy.Output {
		for _, o := range whole(tbl).Columns {
			if o.Name == name {
				return o
			}
		}
		t.Fatalf("no column %s", name)
		return policy.Output{}
	}
	for what, change := range map[string]func(*policy.Relation){
		"no columns":                  func(r *policy.Relation) { r.Columns = nil },
		"a column that is not there":  func(r *policy.Relation) { r.Columns[0].FieldID = 9999 },
		"a column that reads nothing": func(r *policy.Relation) { r.Columns[0].Reads = nil },
		"a column of another type":    func(r *policy.Relation) { r.Columns[0].Type = "BLOB" },
		"a mask that reads no column": func(r *policy.Relation) { r.Columns[0].Mask, r.Columns[0].Reads = where(t, "NULL"), []int{9999} },
		"the second reads no column":  func(r *policy.Relation) { r.Columns[0].Reads = append(r.Columns[0].Reads, 9999) },
	} {
		r := whole(tbl)
		change(&r)
		if _, err := needed(tbl, r); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, x := range []struct {
		what   string
		change func(*policy.Relation)
		want   []string
	}{
		{"one column", func(*policy.Relation) {}, []string{"id"}},
		{"a mask of another type", func(r *policy.Relation) { r.Columns[0].Mask, r.Columns[0].Type = where(t, "NULL"), "BLOB" }, []string{"id"}},
		{"a mask that reads another", func(r *policy.Relation) {
			r.Columns[0].Mask, r.Columns[0].Reads = where(t, "region"), []int{id("region")}
		}, []string{"region"}},
		{"a filter", func(r *policy.Relation) { r.Filter = where(t, "region = 'x' AND lower(customer) = 'y'") }, []string{"id", "region", "customer"}},
		{"in any case", func(r *policy.Relation) { r.Filter = where(t, `"REGION" = 'x'`) }, []string{"id", "region"}},
		{"what is pushed", func(r *policy.Relation) {
			r.Pushed = []*pgquery.Node{where(t, "CASE WHEN amount > 1 THEN true ELSE region IN ('x') END")}
		}, []string{"id", "amount", "region"}},
	} {
		r := whole(tbl)
		r.Columns = []policy.Output{output("id")}
		x.change(&r)
		got, err := needed(tbl, r)
		if err != nil || len(got) != len(x.want) {
			t.Errorf("%s: %v, %v", x.what, got, err)
		}
		for _, name := range x.want {
			if !got[id(name)] {
				t.Errorf("%s: %s is not read", x.what, name)
			}
		}
	}
}

// Only columns whose order is the same everywhere are judged by statistics.
func TestPushableTypes(t *testing.T) {
	f := func(id int, ty iceberg.Type) iceberg.NestedField { return iceberg.NestedField{ID: id, Type: ty} }
	for want, l := range map[bool][]leaf{
		true: {
			{f(1, iceberg.PrimitiveTypes.Int32), equal, value{n: 5}},
			{f(1, iceberg.PrimitiveTypes.Int64), equal, value{n: 5}},
			{f(1, iceberg.PrimitiveTypes.Date), equal, value{n: 5}},
			{f(1, iceberg.PrimitiveTypes.Timestamp), equal, value{n: 5}},
			{f(1, iceberg.PrimitiveTypes.TimestampTz), equal, value{n: 5}},
			{f(1, iceberg.PrimitiveTypes.String), equal, value{s: "5"}},
		},
		false: {{f(1, iceberg.PrimitiveTypes.Float64), equal, value{n: 5}}, {f(1, iceberg.PrimitiveTypes.UUID), equal, value{s: "5"}}},
	} {
		for _, x := range l {
			if got := x.value.literal(x.field.Type) != nil; got != want {
				t.Errorf("%s has a literal: %v", x.field.Type, got)
			}
		}
	}
}

// Statistics decide at the bounds themselves, not beside them.
func TestStatsAtTheBounds(t *testing.T) {
	i := iceberg.NestedField{ID: 1, Name: "i", Type: iceberg.PrimitiveTypes.Int32}
	at := func(n byte) []byte { return []byte{n, 0, 0, 0} }
	between := stat{values: 10, nulls: 1, lower: at(3), upper: at(5)}
	for _, c := range []struct {
		s    stat
		op   operator
		n    int64
		want bool
	}{
		{between, equal, 2, false},
		{between, equal, 3, true},
		{between, equal, 5, true},
		{between, equal, 6, false},
		{between, less, 3, false},
		{between, less, 4, true},
		{between, lessEqual, 2, false},
		{between, lessEqual, 3, true},
		{between, greater, 5, false},
		{between, greater, 4, true},
		{between, greaterEqual, 6, false},
		{between, greaterEqual, 5, true},
		{between, greater, 2, true},
		{between, greaterEqual, 2, true},
		{between, less, 6, true},
		{between, lessEqual, 6, true},
		{between, isNull, 0, true},
		{between, notNull, 0, true},
		{stat{values: 10, nulls: 0}, isNull, 0, false},
		{stat{values: 10, nulls: 0}, notNull, 0, true},
		{stat{values: 10, nulls: 10}, notNull, 0, false},
		{stat{values: 10, nulls: 10}, equal, 1, false},
		{stat{values: 10, nulls: 10}, isNull, 0, true},
		{stat{values: 1, nulls: 1}, equal, 1, false},
		{stat{values: 0, nulls: 0}, notNull, 0, true},
		{stat{values: 0, nulls: 0}, equal, 1, true},
		{stat{values: 10, nulls: -1}, isNull, 0, true},
		{stat{values: -1, nulls: -1}, notNull, 0, true},
		{stat{values: -1, nulls: -1}, equal, 1, true},
		{stat{values: 10, lower: at(3)}, equal, 9, true},
		{stat{values: 10, upper: at(5)}, equal, 1, true},
		{stat{values: 10, lower: []byte{1}, upper: []byte{1}}, equal, 1, true}, // not a value of the type
	} {
		l := leaf{field: i, op: c.op, value: value{n: c.n}}
		if got := l.statsMayMatch(c.s); got != c.want {
			t.Errorf("%+v %s: %v", c.s, show(l), got)
		}
	}
	for op, want := range map[operator][3]bool{
		equal: {false, true, false}, less: {true, false, false}, lessEqual: {true, true, false},
		greater: {false, false, true}, greaterEqual: {false, true, true}, isNull: {true, true, true},
	} {
		for c := -1; c <= 1; c++ {
			if (leaf{op: op}).holds(c) != want[c+1] {
				t.Errorf("operator %d with %d", op, c)
			}
		}
	}
}

// What a partition's value says, for each transform, at its edges.
func TestPartitionsAtTheirEdges(t *testing.T) {
	day := iceberg.NestedField{ID: 1, Name: "d", Type: iceberg.PrimitiveTypes.Date}
	number := iceberg.NestedField{ID: 1, Name: "i", Type: iceberg.PrimitiveTypes.Int32}
	instant := iceberg.NestedField{ID: 1, Name: "t", Type: iceberg.PrimitiveTypes.Timestamp}
	for _, c := range []struct {
		f    iceberg.NestedField
		tr   iceberg.Transform
		op   operator
		n    int64
		part any
		want bool
	}{
		{number, iceberg.IdentityTransform{}, equal, 5, int32(5), true},
		{number, iceberg.IdentityTransform{}, equal, 5, int32(6), false},
		{number, iceberg.IdentityTransform{}, less, 5, int32(5), false},
		{number, iceberg.IdentityTransform{}, greaterEqual, 5, int32(5), true},
		{number, iceberg.IdentityTransform{}, equal, 5, "text", true}, // not understood
		{number, iceberg.IdentityTransform{}, equal, 5, nil, false},
		{number, iceberg.IdentityTransform{}, isNull, 0, nil, true},
		{number, iceberg.IdentityTransform{}, notNull, 0, nil, false},
		{number, iceberg.IdentityTransform{}, isNull, 0, int32(5), false},
		{number, iceberg.IdentityTransform{}, notNull, 0, int32(5), true},
		{number, iceberg.VoidTransform{}, equal, 5, nil, true},
		{number, iceberg.VoidTransform{}, notNull, 0, nil, true},
		{number, iceberg.TruncateTransform{Width: 10}, equal, 15, int32(10), true},
		{number, iceberg.TruncateTransform{Width: 10}, equal, 15, int32(20), false},
		{number, iceberg.TruncateTransform{Width: 10}, less, 10, int32(10), true},
		{number, iceberg.TruncateTransform{Width: 10}, less, 9, int32(10), false},
		{number, iceberg.TruncateTransform{Width: 10}, greater, 19, int32(10), true},
		{number, iceberg.TruncateTransform{Width: 10}, greater, 20, int32(10), false},
		{number, iceberg.BucketTransform{NumBuckets: 4}, less, 5, int32(0), true},
		{number, iceberg.BucketTransform{NumBuckets: 4}, greater, 5, int32(3), true},
		{number, iceberg.BucketTransform{NumBuckets: 4}, notNull, 5, int32(3), true},
		{number, iceberg.BucketTransform{NumBuckets: 4}, isNull, 5, int32(3), false},
		{number, iceberg.YearTransform{}, equal, 5, int32(70), true}, // no years of a number
		{day, iceberg.YearTransform{}, equal, 366, int32(1), true},
		{day, iceberg.YearTransform{}, equal, 366, int32(0), false},
		{day, iceberg.YearTransform{}, equal, 366, int32(2), false},
		{day, iceberg.YearTransform{}, less, 365, int32(1), true},
		{day, iceberg.YearTransform{}, less, 364, int32(1), false},
		{day, iceberg.MonthTransform{}, equal, 31, int32(1), true},
		{day, iceberg.MonthTransform{}, equal, 30, int32(1), false},
		{day, iceberg.DayTransform{}, equal, 7, int32(7), true},
		{day, iceberg.DayTransform{}, equal, 7, int32(8), false},
		{instant, iceberg.HourTransform{}, equal, 3600e6, int32(1), true},
		{instant, iceberg.HourTransform{}, equal, 3600e6 - 1, int32(1), false},
		{instant, iceberg.HourTransform{}, equal, 3600e6, int32(0), false},
		{instant, iceberg.HourTransform{}, equal, -3601e6, int32(-1), true}, // as of old writers
		{instant, iceberg.HourTransform{}, equal, -3601e6, int32(-2), true},
		{instant, iceberg.HourTransform{}, equal, -3601e6, int32(0), false},
		{instant, iceberg.HourTransform{}, less, 0, int32(1), false},
		{day, iceberg.YearTransform{}, equal, -400, int32(-2), true},
		{day, iceberg.YearTransform{}, equal, -400, int32(-1), true},
		{day, iceberg.YearTransform{}, equal, -400, int32(0), false},
		{day, iceberg.DayTransform{}, equal, -2, int32(-1), true},
		{day, iceberg.DayTransform{}, equal, -2, int32(0), false},
		// Before 1970 the value may be one too high, and no more.
		{day, iceberg.MonthTransform{}, equal, -40, int32(-2), true},
		{day, iceberg.MonthTransform{}, equal, -40, int32(-1), true},
		{day, iceberg.MonthTransform{}, equal, -40, int32(0), false},
		{day, iceberg.MonthTransform{}, equal, -40, int32(-3), false},
		{day, iceberg.MonthTransform{}, equal, 0, int32(1), false},
		{day, iceberg.MonthTransform{}, less, -40, int32(-1), true},
		{number, iceberg.TruncateTransform{Width: 10}, equal, -15, int32(-20), true},
		{number, iceberg.TruncateTransform{Width: 10}, equal, -15, int32(-19), false},
	} {
		l := leaf{field: c.f, op: c.op, value: value{n: c.n}}
		if got := l.partitionMayMatch(c.tr, c.part); got != c.want {
			t.Errorf("%s of %s with %v: %v", c.tr, show(l), c.part, got)
		}
	}
	in := iceberg.BucketTransform{NumBuckets: 4}.Apply(iceberg.Optional[iceberg.Literal]{Val: iceberg.NewLiteral(int32(5)), Valid: true}).Val.Any().(int32)
	for b := range int32(4) {
		if (leaf{field: number, op: equal, value: value{n: 5}}).partitionMayMatch(iceberg.BucketTransform{NumBuckets: 4}, b) != (b == in) {
			t.Errorf("bucket %d, the value's own is %d", b, in)
		}
	}
}
