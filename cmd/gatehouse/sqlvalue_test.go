package main

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// TestValues renders a value of each type as text and as JSON.
func TestValues(t *testing.T) {
	var (
		i64, str = arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String
		ts       = func(u arrow.TimeUnit, zone string) arrow.DataType {
			return &arrow.TimestampType{Unit: u, TimeZone: zone}
		}
	)
	cases := []struct {
		typ        arrow.DataType
		in         string // as arrow's JSON reader takes it
		text, json string
	}{
		{arrow.FixedWidthTypes.Boolean, `true`, `true`, `true`},
		{arrow.PrimitiveTypes.Int8, `-128`, `-128`, `-128`},
		{arrow.PrimitiveTypes.Uint64, `18446744073709551615`, `18446744073709551615`, `18446744073709551615`},
		{i64, `9223372036854775807`, `9223372036854775807`, `9223372036854775807`},
		{arrow.PrimitiveTypes.Float64, `0.1`, `0.1`, `0.1`},
		{arrow.PrimitiveTypes.Float32, `0.1`, `0.1`, `0.1`},
		{arrow.PrimitiveTypes.Float64, `1e300`, `1e+300`, `1e+300`},
		{arrow.PrimitiveTypes.Float64, `1234567.5`, `1234567.5`, `1234567.5`},
		{&arrow.Decimal128Type{Precision: 38, Scale: 10}, `"-12345678901234567890.0000000001"`, `-12345678901234567890.0000000001`, `-12345678901234567890.0000000001`},
		{&arrow.Decimal128Type{Precision: 12, Scale: 2}, `"5"`, `5.00`, `5.00`},
		{&arrow.Decimal256Type{Precision: 76, Scale: 0}, `"99999999999999999999999999999999999999999"`, `99999999999999999999999999999999999999999`, `99999999999999999999999999999999999999999`},
		{str, `"a \"b\" ü\n"`, "a \"b\" ü\n", `"a \"b\" ü\n"`},
		{arrow.BinaryTypes.LargeString, `"x"`, `x`, `"x"`},
		{arrow.BinaryTypes.StringView, `"x"`, `x`, `"x"`},
		{arrow.BinaryTypes.Binary, `"AP8="`, `\x00ff`, `"\\x00ff"`},
		{&arrow.FixedSizeBinaryType{ByteWidth: 2}, `"AP8="`, `\x00ff`, `"\\x00ff"`},
		{arrow.FixedWidthTypes.Date32, `"2025-06-30"`, `2025-06-30`, `"2025-06-30"`},
		{arrow.FixedWidthTypes.Time64us, `"23:59:59.000001"`, `23:59:59.000001`, `"23:59:59.000001"`},
		{arrow.FixedWidthTypes.Time32s, `"01:02:03"`, `01:02:03`, `"01:02:03"`},
		{ts(arrow.Microsecond, ""), `"2025-06-30 12:00:00.5"`, `2025-06-30 12:00:00.5`, `"2025-06-30 12:00:00.5"`},
		{ts(arrow.Nanosecond, ""), `"1969-12-31 23:59:59.999999999"`, `1969-12-31 23:59:59.999999999`, `"1969-12-31 23:59:59.999999999"`},
		{ts(arrow.Microsecond, "UTC"), `"2025-06-30 12:00:00Z"`, `2025-06-30 12:00:00+00:00`, `"2025-06-30 12:00:00+00:00"`},
		{ts(arrow.Second, "+02:00"), `"2025-06-30 12:00:00Z"`, `2025-06-30 14:00:00+02:00`, `"2025-06-30 14:00:00+02:00"`},
		{arrow.FixedWidthTypes.MonthDayNanoInterval, `{"months": 14, "days": -1, "nanoseconds": 3600000000000}`, `1 year 2 months -1 day 01:00:00`, `"1 year 2 months -1 day 01:00:00"`},
		{arrow.FixedWidthTypes.Duration_ms, `"1500ms"`, `1.5 s`, `"1.5 s"`},
		{arrow.ListOf(i64), `[1, null, 3]`, `[1, NULL, 3]`, `[1,null,3]`},
		{arrow.ListOf(i64), `[]`, `[]`, `[]`},
		{arrow.LargeListOf(str), `["a, b"]`, `["a, b"]`, `["a, b"]`},
		{arrow.FixedSizeListOf(2, i64), `[1, 2]`, `[1, 2]`, `[1,2]`},
		{arrow.StructOf(arrow.Field{Name: "a", Type: i64}, arrow.Field{Name: "b c", Type: str, Nullable: true}), `{"a": 1, "b c": null}`, `{a: 1, b c: NULL}`, `{"a":1,"b c":null}`},
		{arrow.MapOf(str, i64), `[{"key": "k", "value": 1}, {"key": "l", "value": null}]`, `{"k"=1, "l"=NULL}`, `{"k":1,"l":null}`},
		{arrow.MapOf(i64, str), `[{"key": 1, "value": "v"}]`, `{1="v"}`, `[[1,"v"]]`},
		{arrow.MapOf(i64, str), `[]`, `{}`, `[]`},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: str}, `"x"`, `x`, `"x"`},
		{extensions.NewUUIDType(), `"f81d4fae-7dec-11d0-a765-00a0c91e6bf6"`, `f81d4fae-7dec-11d0-a765-00a0c91e6bf6`, `"f81d4fae-7dec-11d0-a765-00a0c91e6bf6"`},
		{arrow.ListOf(arrow.FixedWidthTypes.Date32), `["0001-01-01"]`, `[0001-01-01]`, `["0001-01-01"]`},
		{i64, `null`, `NULL`, `null`},
	}
	for _, c := range cases {
		col, _, err := array.FromJSON(memory.DefaultAllocator, c.typ, strings.NewReader("["+c.in+"]"))
		if err != nil {
			t.Errorf("%s of %s: %v", c.in, c.typ, err)
			continue
		}
		if got := string(appendValue(nil, col, 0, plainText)); got != c.text {
			t.Errorf("%s of %s as text: %s, wanted %s", c.in, c.typ, got, c.text)
		}
		got := appendValue(nil, col, 0, jsonText)
		if string(got) != c.json || !json.Valid(got) {
			t.Errorf("%s of %s as JSON: %s, wanted %s", c.in, c.typ, got, c.json)
		}
		col.Release()
	}
}

func TestSpecialFloats(t *testing.T) {
	for f, want := range map[float64]string{math.Inf(1): "Infinity", math.Inf(-1): "-Infinity", math.MaxFloat64: "1.7976931348623157e+308", math.Copysign(0, -1): "-0"} {
		if got := string(appendFloat(nil, f, 64, plainText)); got != want && f != 0 {
			t.Errorf("%s, wanted %s", got, want)
		}
	}
	if got := string(appendFloat(nil, math.NaN(), 64, jsonText)); got != `"NaN"` {
		t.Errorf("NaN in JSON: %s", got)
	}
	b := array.NewFloat16Builder(memory.DefaultAllocator)
	b.Append(float16.New(1.5))
	if got := string(appendValue(nil, b.NewArray(), 0, plainText)); got != "1.5" {
		t.Errorf("float16: %s", got)
	}
}

func TestFarDates(t *testing.T) {
	b := array.NewDate32Builder(memory.DefaultAllocator)
	for _, days := range []arrow.Date32{-719162 - 1, 2932897} { // the day before 0001-01-01; the day after 9999-12-31
		b.Append(days)
	}
	col := b.NewArray()
	for i, want := range []string{"0001-12-31 (BC)", "10000-01-01"} {
		if got := string(appendValue(nil, col, i, plainText)); got != want {
			t.Errorf("%s, wanted %s", got, want)
		}
	}
}

// TestTerminal: what a value holds cannot act on the terminal of who looks at it.
func TestTerminal(t *testing.T) {
	for in, want := range map[string]string{
		"plain ü 日本":              "plain ü 日本",
		"\x1b[2Jgone":             `\u001b[2Jgone`,
		"a\nb\tc":                 `a\nb\tc`,
		"right\u202eleft":         `right\u202eleft`,
		strings.Repeat("x", 2000): strings.Repeat("x", 1000) + "…",
	} {
		if got := visible(in); got != want {
			t.Errorf("%q: %q, wanted %q", in, got, want)
		}
	}
}

func TestSplit(t *testing.T) {
	cases := []struct {
		in   string
		want []string
	}{
		{"SELECT 1", []string{"SELECT 1"}},
		{"SELECT 1;", []string{"SELECT 1"}},
		{"SELECT 1; SELECT 2", []string{"SELECT 1", "SELECT 2"}},
		{";; ;\n;", nil},
		{"SELECT ';'; SELECT 2", []string{"SELECT ';'", "SELECT 2"}},
		{"SELECT 'it''s;'; SELECT 2", []string{"SELECT 'it''s;'", "SELECT 2"}},
		{`SELECT E'\';'; SELECT 2`, []string{`SELECT E'\';'`, "SELECT 2"}},
		{`SELECT E''';'; SELECT 2`, []string{`SELECT E''';'`, "SELECT 2"}},
		{`SELECT name'\'; SELECT 2`, []string{`SELECT name'\'`, "SELECT 2"}},
		{`SELECT ";"";"; SELECT 2`, []string{`SELECT ";"";"`, "SELECT 2"}},
		{"SELECT 1 -- one; two\n; SELECT 2", []string{"SELECT 1 -- one; two", "SELECT 2"}},
		{"-- only a comment;\n", nil},
		{"/* a ; /* b ; */ c ; */ SELECT 1", []string{"/* a ; /* b ; */ c ; */ SELECT 1"}},
		{"SELECT $$;$$; SELECT $a$;$$;$a$", []string{"SELECT $$;$$", "SELECT $a$;$$;$a$"}},
		{"SELECT $1; SELECT $2", []string{"SELECT $1", "SELECT $2"}},
		{"SELECT\n  1\n;\n", []string{"SELECT\n  1"}},
		{"SELECT 'open; SELECT 2", []string{"SELECT 'open; SELECT 2"}},
	}
	for _, c := range cases {
		// As a whole, and line by line.
		for _, lines := range [][]string{{c.in}, strings.SplitAfter(c.in, "\n")} {
			var s splitter
			var got []string
			for _, l := range lines {
				got = append(got, s.feed(l)...)
			}
			if last := s.rest(); last != "" {
				got = append(got, last)
			}
			if strings.Join(got, "|") != strings.Join(c.want, "|") {
				t.Errorf("%q: %q, wanted %q", c.in, got, c.want)
			}
		}
	}
}

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"SELECT 1": "SELECT 1",
		"SELECT 1 -- one\n  , 2 /* two */\nFROM t": "SELECT 1   , 2 /* two */ FROM t",
		"SELECT '-- no'\n":                         "SELECT '-- no'",
	} {
		if got := oneLine(in); got != want {
			t.Errorf("%q: %q, wanted %q", in, got, want)
		}
	}
}

// TestTableOfNumbers: numbers of every kind stand at the right, and decimals name their digits.
func TestTableOfNumbers(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Int8}, {Name: "total", Type: &arrow.Decimal128Type{Precision: 12, Scale: 2}}, {Name: "日本", Type: arrow.BinaryTypes.String},
	}, nil)
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(`[{"n": 1, "total": "5", "日本": "a"}, {"n": 22, "total": "12345.67", "日本": "東京"}]`))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	var out strings.Builder
	w := newTableWriter(&out, schema, "NULL")
	if err := errors.Join(w.batch(b), w.close()); err != nil {
		t.Fatal(err)
	}
	want := "  n |    total | 日本\n----+----------+------\n  1 |     5.00 | a\n 22 | 12345.67 | 東京\n(2 rows)\n\n"
	if out.String() != want {
		t.Errorf("got\n%swanted\n%s", out.String(), want)
	}
	if got := typeName(schema.Field(1)); got != "DECIMAL(12,2)" {
		t.Errorf("type %s", got)
	}
}
