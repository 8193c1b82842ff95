package duckdb

import (
	"errors"
	"strings"
	"testing"

	"gatehouse/executors"
)

func TestTypes(t *testing.T) {
	x := open(t, Config{})
	for _, c := range []struct{ expr, typ, want string }{
		{"NULL", "int32", "(null)"},
		{"true", "bool", "true"},
		{"(-5)::TINYINT", "int8", "-5"},
		{"300::SMALLINT", "int16", "300"},
		{"7::INTEGER", "int32", "7"},
		{"9007199254740993::BIGINT", "int64", "9007199254740993"},
		{"18446744073709551615::UBIGINT", "uint64", "18446744073709551615"},
		{"sum(7::BIGINT)", "decimal(38, 0)", "7"},
		{"(-12)::HUGEINT", "decimal(38, 0)", "-12"},
		{"99999999999999999999999999999999999999::HUGEINT", "decimal(38, 0)", "99999999999999999999999999999999999999"},
		{"1.5::FLOAT", "float32", "1.5"},
		{"'nan'::DOUBLE", "float64", "NaN"},
		{"(-1.25)::DECIMAL(4,2)", "decimal(4, 2)", "-1.25"},
		{"(-12345.25)::DECIMAL(9,2)", "decimal(9, 2)", "-12345.25"},
		{"(-123456789012.25)::DECIMAL(18,2)", "decimal(18, 2)", "-123456789012.25"},
		{"123456789012345678901234567.1::DECIMAL(38,1)", "decimal(38, 1)", "123456789012345678901234567.1"},
		{"'déjà vu, a long one'", "utf8", "déjà vu, a long one"},
		{"'short'", "utf8", "short"},
		{`'\x00\xff'::BLOB`, "binary", "AP8="},
		{"'0c8b8f3e-9a3b-4cbb-8f0a-0123456789ab'::UUID", "utf8", "0c8b8f3e-9a3b-4cbb-8f0a-0123456789ab"},
		{"'f0000000-0000-0000-0000-000000000000'::UUID", "utf8", "f0000000-0000-0000-0000-000000000000"},
		{"'b'::ENUM('a','b')", "utf8", "b"},
		{"DATE '1969-12-31'", "date32", "1969-12-31"},
		{"TIME '12:34:56.789012'", "time64[us]", "12:34:56.789012"},
		{"TIMESTAMP '1969-12-31 23:59:59.999999'", "timestamp[us]", "1969-12-31T23:59:59.999999"},
		{"'2024-01-02 03:04:05.123456789'::TIMESTAMP_NS", "timestamp[ns]", "2024-01-02T03:04:05.123456789"},
		{"'2024-01-02 03:04:05'::TIMESTAMP_S", "timestamp[s]", "2024-01-02T03:04:05"},
		{"TIMESTAMPTZ '2024-01-02 03:04:05+02'", "timestamp[us, tz=UTC]", "2024-01-02T01:04:05Z"},
		{"INTERVAL 14 MONTH + INTERVAL 3 DAY + INTERVAL 2 SECOND", "month_day_nano_interval", `{"months":14,"days":3,"nanoseconds":2000000000}`},
		{"[1, NULL, 3]", "list<item: int32, nullable>", "[1,null,3]"},
		{"[]::INTEGER[]", "list<item: int32, nullable>", "[]"},
		{"NULL::INTEGER[]", "list<item: int32, nullable>", "(null)"},
		{"[['a'], NULL, ['b', NULL]]", "list<item: list<item: utf8, nullable>, nullable>", `[["a"],null,["b",null]]`},
		{"{'a': 1, 'b': 'x'}", "struct<a: int32 nullable, b: utf8 nullable>", `{"a":1,"b":"x"}`},
		{"MAP {'k': 1, 'l': NULL}", "map<utf8, int32, items_nullable>", `[{"key":"k","value":1},{"key":"l","value":null}]`},
		{"[1, 2]::INTEGER[2]", "fixed_size_list<item: int32, nullable>[2]", "[1,2]"},
		{"[{'a': MAP {1: [true]}}]", "list<item: struct<a: map<int32, list<item: bool, nullable>, items_nullable> nullable>, nullable>", `[{"a":[{"key":1,"value":[true]}]}]`},
	} {
		schema, got := rows(t, x, "SELECT "+c.expr+" AS v")
		if typ := schema.Field(0).Type.String(); typ != c.typ {
			t.Errorf("%s has type %s, want %s", c.expr, typ, c.typ)
		}
		if s := strings.Join(got, "\n"); s != c.want {
			t.Errorf("%s is %s, want %s", c.expr, s, c.want)
		}
	}
}

func TestUnsupportedTypes(t *testing.T) {
	x := open(t, Config{})
	for _, expr := range []string{"'101'::BIT", "TIMETZ '12:00:00+01'", "[union_value(a := 1)]"} {
		_, err := x.raw("SELECT "+expr, 0)
		e, ok := errors.AsType[*executors.Error](err)
		if !ok || e.Kind != executors.KindUnsupported || !strings.Contains(e.Hint, "cast it") {
			t.Errorf("%s: %v", expr, err)
		}
	}
	_, err := x.raw("SELECT 170141183460469231731687303715884105727::HUGEINT AS v", 0)
	if err != nil {
		t.Fatal(err)
	}
}

// TestOpenTypes checks parameters whose type the engine cannot infer, and columns that depend on them.
func TestOpenTypes(t *testing.T) {
	x := open(t, Config{})
	s, err := x.raw("SELECT $1 AS v, $2::DATE AS d", 2)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Params().Field(0).Type.String() + " " + s.Params().Field(1).Type.String(); got != "null date32" && got != "null null" {
		t.Errorf("parameters %s", got)
	}
	if got := s.Schema(); got.NumFields() != 2 || got.Field(0).Name != "v" || got.Field(1).Type.String() != "date32" {
		t.Errorf("schema %s", got)
	}
	_ = s.Close()
	schema, got := rows(t, x, "SELECT $1 AS v, $2::DATE AS d", "x", "2024-02-29")
	if schema.Field(0).Type.String() != "utf8" || got[0] != "x" || got[1] != "2024-02-29" {
		t.Errorf("%s: %v", schema, got)
	}
	schema, got = rows(t, x, "SELECT $1 AS v", int64(5))
	if schema.Field(0).Type.String() != "int64" || got[0] != "5" {
		t.Errorf("%s: %v", schema, got)
	}
}
