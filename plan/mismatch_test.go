package plan

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	pgquery "github.com/pganalyze/pg_query_go/v6"

	"gatehouse/catalog"
	"gatehouse/classify"
	"gatehouse/policy"
)

// A relation is planned over its own table only, and only with the read restrictions that were applied.
func TestScanOfAnotherTable(t *testing.T) {
	c, p := openZoo(t), newPlanner(t)
	tbl, err := c.Table(t.Context(), alice, "spark", "orders")
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*policy.Relation){
		"catalog": func(r *policy.Relation) { r.Name.Catalog += "x" }, "schema": func(r *policy.Relation) { r.Name.Schema += "x" }, "table": func(r *policy.Relation) { r.Name.Table += "x" },
	} {
		r := whole(tbl)
		change(&r)
		if s, err := p.scan(t.Context(), tbl, r, nil); !errors.Is(err, ErrInvalid) || len(s.Files) > 0 {
			t.Errorf("another %s: %v", what, err)
		}
	}
	r := whole(tbl)
	r.Restricted = `{"x":1}`
	if s, err := p.scan(t.Context(), tbl, r, nil); err == nil || len(s.Files) > 0 {
		t.Error("restrictions that the table does not have")
	}
	restricted := *tbl
	restricted.Restrictions = []byte("{}")
	var refused *UnreadableError
	if _, err := p.scan(t.Context(), &restricted, whole(tbl), nil); !errors.As(err, &refused) {
		t.Errorf("restrictions that were not applied: %v", err)
	}
	if s, err := p.scan(t.Context(), tbl, whole(tbl), nil); err != nil || len(s.Files) == 0 {
		t.Errorf("control: %v", err)
	}
}

// A computed table's rows are cut to the columns that are read, and a row of another width is refused.
func TestComputedScan(t *testing.T) {
	p := newPlanner(t)
	text := func(s string) *string { return &s }
	tbl := catalog.Computed("zoo", "information_schema", "x", []catalog.Column{catalog.TextColumn(1, "a"), catalog.TextColumn(2, "b"), catalog.NumberColumn(3, "c")})
	tbl.Rows = [][]*string{{text("a1"), text("b1"), text("1")}, {nil, text("b2"), text("2")}}
	r := policy.Relation{CTE: "__gw_1", Name: classify.Name{Catalog: "zoo", Schema: "information_schema", Table: "x"}}
	for _, i := range []int{2, 0} {
		c := tbl.Columns[i]
		r.Columns = append(r.Columns, policy.Output{Name: c.Name, FieldID: c.FieldID, Type: c.SQLType, Reads: []int{c.FieldID}})
	}
	s, err := p.scan(t.Context(), tbl, r, nil)
	if err != nil || !s.Computed || s.Rows != 2 || len(s.Values) != 2 || len(s.Fields) != 2 {
		t.Fatalf("%+v, %v", s, err)
	}
	if row := s.Values[0]; len(row) != 2 || *row[0] != "a1" || *row[1] != "1" || s.Values[1][0] != nil {
		t.Errorf("%v", s.Values)
	}
	plan := Plan{relations: []Relation{{Relation: r, Scan: s}}}
	if got := plan.Explain(); !strings.Contains(got, "rows      2, computed by the gateway\n") || strings.Contains(got, "snapshot") {
		t.Error(got)
	}
	if got := (&Plan{}).Explain(); got != "no table is read\n" {
		t.Error(got)
	}
	for _, rows := range [][][]*string{{{nil, nil}}, {{nil, nil, nil, nil}}} {
		tbl.Rows = rows
		if _, err := p.scan(t.Context(), tbl, r, nil); !errors.Is(err, ErrInvalid) {
			t.Errorf("a row of %d values: %v", len(rows[0]), err)
		}
	}
}

// Nested types are read by the ids of all that is in them.
func TestNestedFields(t *testing.T) {
	prim := iceberg.PrimitiveTypes
	f := iceberg.NestedField{ID: 1, Name: "s", Type: &iceberg.StructType{FieldList: []iceberg.NestedField{
		{ID: 2, Name: "l", Type: &iceberg.ListType{ElementID: 3, Element: prim.Float64}},
		{ID: 4, Name: "m", Type: &iceberg.MapType{KeyID: 5, KeyType: prim.String, ValueID: 6, ValueType: prim.Float32}},
	}}}
	got, err := newField(f)
	if err != nil {
		t.Fatal(err)
	}
	var flat []string
	var walk func(Field)
	walk = func(f Field) {
		flat = append(flat, strings.Join([]string{string(rune('0' + f.ID)), f.Name, map[bool]string{true: "NaN"}[f.NaN]}, " "))
		for _, n := range f.Nested {
			walk(n)
		}
	}
	walk(got)
	if s := strings.Join(flat, ", "); s != "1 s , 2 l , 3 element NaN, 4 m , 5 key , 6 value NaN" {
		t.Error(s)
	}
	f.InitialDefault = struct{}{}
	var refused *UnreadableError
	if _, err := newField(f); !errors.As(err, &refused) {
		t.Errorf("a default that is not understood: %v", err)
	}
}

// Constants are told from expressions.
func TestConstantForms(t *testing.T) {
	for text, want := range map[string]string{
		"1": "1", "-1": "-1", "1.5": "1.5", "-1.5": "-1.5", "'a'": "a", "date '2020-01-01'": "2020-01-01",
		"-'1'": "", "1 - 1": "", "-(1 - 1)": "", "- -x": "", "+1": "", "true": "", "NULL": "", "'1'::int": "", "5::varchar": "", "'a'::varchar(2)": "", "'a'::varchar[]": "", "x": "", "f(1)": "", "-date '2020-01-01'": "",
	} {
		n := where(t, text+" = x").GetAExpr().GetLexpr()
		got, _, ok := constant(n)
		if !ok {
			got = ""
		}
		if got != want {
			t.Errorf("%s: %q, %v", text, got, ok)
		}
	}
	empty := &pgquery.BoolExpr{Boolop: pgquery.BoolExprType_OR_EXPR}
	if c := (translator{}).boolean(empty); c != nil {
		t.Errorf("nothing at all is %s, which no row fulfils", show(c))
	}
}
