package classes

import (
	"fmt"
	"regexp"
	"strings"
)

// pools hold, by type, SQL texts of values that are likely to raise: extremes, invalid text, NaN, empty and nested ones.
// The first one of each is harmless.
var pools = map[string][]string{
	"BOOLEAN":        {"true", "false", "NULL"},
	"TINYINT":        {"1::TINYINT", "0::TINYINT", "(-1)::TINYINT", "127::TINYINT", "(-128)::TINYINT", "NULL::TINYINT"},
	"SMALLINT":       {"1::SMALLINT", "0::SMALLINT", "(-1)::SMALLINT", "32767::SMALLINT", "(-32768)::SMALLINT", "NULL::SMALLINT"},
	"INTEGER":        {"1", "0", "-1", "65", "31", "2147483647", "(-2147483648)::INTEGER", "1114112", "55296", "NULL::INTEGER"},
	"BIGINT":         {"1::BIGINT", "0::BIGINT", "(-1)::BIGINT", "3::BIGINT", "64::BIGINT", "9223372036854775807", "(-9223372036854775808)::BIGINT", "253402300800000::BIGINT", "NULL::BIGINT"},
	"HUGEINT":        {"1::HUGEINT", "0::HUGEINT", "(-1)::HUGEINT", "170141183460469231731687303715884105727::HUGEINT", "(-170141183460469231731687303715884105728)::HUGEINT", "NULL::HUGEINT"},
	"UTINYINT":       {"1::UTINYINT", "0::UTINYINT", "255::UTINYINT", "NULL::UTINYINT"},
	"USMALLINT":      {"1::USMALLINT", "0::USMALLINT", "65535::USMALLINT", "NULL::USMALLINT"},
	"UINTEGER":       {"1::UINTEGER", "0::UINTEGER", "4294967295::UINTEGER", "NULL::UINTEGER"},
	"UBIGINT":        {"1::UBIGINT", "0::UBIGINT", "18446744073709551615::UBIGINT", "NULL::UBIGINT"},
	"UHUGEINT":       {"1::UHUGEINT", "0::UHUGEINT", "340282366920938463463374607431768211455::UHUGEINT", "NULL::UHUGEINT"},
	"BIGNUM":         {"1::BIGNUM", "0::BIGNUM", "(-170141183460469231731687303715884105728)::HUGEINT::BIGNUM", "repeat('9', 400)::BIGNUM"},
	"FLOAT":          {"1::FLOAT", "0::FLOAT", "'-0'::FLOAT", "'nan'::FLOAT", "'inf'::FLOAT", "'-inf'::FLOAT", "3.4e38::FLOAT", "(-3.4e38)::FLOAT", "1e-45::FLOAT", "NULL::FLOAT"},
	"DOUBLE":         {"1::DOUBLE", "0.5::DOUBLE", "0::DOUBLE", "'-0'::DOUBLE", "-1.5::DOUBLE", "'nan'::DOUBLE", "'inf'::DOUBLE", "'-inf'::DOUBLE", "1.7e308::DOUBLE", "(-1.7e308)::DOUBLE", "5e-324::DOUBLE", "1e19::DOUBLE", "171.5::DOUBLE", "NULL::DOUBLE"},
	"DECIMAL(4,1)":   {"1.5::DECIMAL(4,1)", "0::DECIMAL(4,1)", "999.9::DECIMAL(4,1)", "(-999.9)::DECIMAL(4,1)", "NULL::DECIMAL(4,1)"},
	"DECIMAL(18,3)":  {"1.5::DECIMAL(18,3)", "0::DECIMAL(18,3)", "999999999999999.999::DECIMAL(18,3)", "(-999999999999999.999)::DECIMAL(18,3)", "NULL::DECIMAL(18,3)"},
	"DECIMAL(38,0)":  {"1::DECIMAL(38,0)", "0::DECIMAL(38,0)", "99999999999999999999999999999999999999::DECIMAL(38,0)", "(-99999999999999999999999999999999999999)::DECIMAL(38,0)"},
	"DECIMAL(38,37)": {"1.5::DECIMAL(38,37)", "0::DECIMAL(38,37)", "9.9999999999999999999999999999999999999::DECIMAL(38,37)", "(-9.9999999999999999999999999999999999999)::DECIMAL(38,37)"},
	"VARCHAR": {
		"'1'", "''", "'a'", "'HIDDEN-7'", "'[1]'", `'{"a":1}'`, "'$.a'", "'('", "'%'", `'\'`, "'day'", "'2020-02-29'", "'2020-02-29 12:00:00+01'", "'12:30:00'",
		"'%Y-%m-%d'", "'infinity'", "'-1'", "'1e400'", "'9999999999999999999999'", "'{}'", "'%d'", "'é́ß😀'", "'a' || chr(0) || 'b'", "repeat('ab', 3000)",
		"'00000000-0000-0000-0000-000000000001'", `'\x00'`, "'true'", "'UTC'", "'1 day'", "'/a/b.c'", "'%zz'", "NULL::VARCHAR",
	},
	"BLOB":                           {`'ab'::BLOB`, `''::BLOB`, `'\xFF\xFE\x00'::BLOB`, `'1'::BLOB`, `'\x01\x00\x00\x00'::BLOB`, "NULL::BLOB"},
	"BIT":                            {"'101'::BIT", "'0'::BIT", "repeat('1', 200)::BIT", "NULL::BIT"},
	"DATE":                           {"DATE '2020-02-29'", "DATE '1970-01-01'", "'5881580-07-10'::DATE", "'5877642-06-25 (BC)'::DATE", "'infinity'::DATE", "'-infinity'::DATE", "'290309-12-22 (BC)'::DATE", "'294247-01-10'::DATE", "DATE '0001-01-01'", "NULL::DATE"},
	"TIME":                           {"TIME '12:30:00'", "TIME '00:00:00'", "TIME '24:00:00'", "NULL::TIME"},
	"TIME_NS":                        {"'12:30:00'::TIME_NS", "'24:00:00'::TIME_NS", "NULL::TIME_NS"},
	"TIMETZ":                         {"'12:30:00+01'::TIMETZ", "'24:00:00-15:59:59'::TIMETZ", "'00:00:00+15:59:59'::TIMETZ", "NULL::TIMETZ"},
	"TIMESTAMP":                      {"TIMESTAMP '2020-02-29 12:00:00'", "TIMESTAMP '1970-01-01'", "'infinity'::TIMESTAMP", "'-infinity'::TIMESTAMP", "'294247-01-10 04:00:54.775806'::TIMESTAMP", "'290309-12-22 (BC) 00:00:00'::TIMESTAMP", "NULL::TIMESTAMP"},
	"TIMESTAMPTZ":                    {"TIMESTAMPTZ '2020-02-29 12:00:00+00'", "'infinity'::TIMESTAMPTZ", "'-infinity'::TIMESTAMPTZ", "'294247-01-10 04:00:54.775806+00'::TIMESTAMPTZ", "'290309-12-22 (BC) 00:00:00+00'::TIMESTAMPTZ", "NULL::TIMESTAMPTZ"},
	"TIMESTAMP_S":                    {"'2020-02-29 12:00:00'::TIMESTAMP_S", "'infinity'::TIMESTAMP_S", "'-infinity'::TIMESTAMP_S", "'294247-01-10 04:00:54'::TIMESTAMP_S", "'290309-12-22 (BC) 00:00:00'::TIMESTAMP_S", "NULL::TIMESTAMP_S"},
	"TIMESTAMP_MS":                   {"'2020-02-29 12:00:00'::TIMESTAMP_MS", "'infinity'::TIMESTAMP_MS", "'-infinity'::TIMESTAMP_MS", "'294247-01-10 04:00:54'::TIMESTAMP_MS", "'290309-12-22 (BC) 00:00:00'::TIMESTAMP_MS", "NULL::TIMESTAMP_MS"},
	"TIMESTAMP_NS":                   {"'2020-02-29 12:00:00'::TIMESTAMP_NS", "'infinity'::TIMESTAMP_NS", "'-infinity'::TIMESTAMP_NS", "'2262-04-11 23:47:16.854775806'::TIMESTAMP_NS", "'1677-09-22 00:00:00'::TIMESTAMP_NS", "NULL::TIMESTAMP_NS"},
	"INTERVAL":                       {"INTERVAL 1 DAY", "INTERVAL 0 DAY", "to_months(2147483647)", "to_months(-2147483648)", "to_days(2147483647)", "to_days(-2147483648)", "to_microseconds(9223372036854775807)", "to_microseconds((-9223372036854775808)::BIGINT)", "NULL::INTERVAL"},
	"UUID":                           {"'00000000-0000-0000-0000-000000000001'::UUID", "'ffffffff-ffff-ffff-ffff-ffffffffffff'::UUID", "'0190163d-8694-739b-aea5-966c26f8ad91'::UUID", "NULL::UUID"},
	"JSON":                           {`'{"a":1}'::JSON`, `'[1,null,"x"]'::JSON`, `'"s"'::JSON`, "'null'::JSON", "'1e300'::JSON", `(repeat('[', 900) || repeat(']', 900))::JSON`, "NULL::JSON"},
	"ENUM('a', 'HIDDEN-7')":          {"'a'::ENUM('a', 'HIDDEN-7')", "'HIDDEN-7'::ENUM('a', 'HIDDEN-7')", "NULL::ENUM('a', 'HIDDEN-7')"},
	"INTEGER[]":                      {"[1]", "[]::INTEGER[]", "[1, NULL, -1]", "[2147483647, 2147483647]", "[NULL]::INTEGER[]", "NULL::INTEGER[]"},
	"BIGINT[]":                       {"[1::BIGINT]", "[]::BIGINT[]", "[9223372036854775807, 1]::BIGINT[]", "[-9223372036854775808]::BIGINT[]", "[NULL]::BIGINT[]", "NULL::BIGINT[]"},
	"UBIGINT[]":                      {"[1::UBIGINT]", "[]::UBIGINT[]", "[18446744073709551615]::UBIGINT[]", "NULL::UBIGINT[]"},
	"BOOLEAN[]":                      {"[true]", "[]::BOOLEAN[]", "[false, NULL]", "NULL::BOOLEAN[]"},
	"DOUBLE[]":                       {"[1.0::DOUBLE]", "[]::DOUBLE[]", "[0::DOUBLE]", "['nan'::DOUBLE, 'inf'::DOUBLE]", "[1.7e308::DOUBLE, 1.7e308::DOUBLE]", "[NULL]::DOUBLE[]", "NULL::DOUBLE[]"},
	"FLOAT[]":                        {"[1.0::FLOAT]", "[]::FLOAT[]", "[0::FLOAT]", "['nan'::FLOAT, 'inf'::FLOAT]", "[3.4e38::FLOAT, 3.4e38::FLOAT]", "[NULL]::FLOAT[]", "NULL::FLOAT[]"},
	"FLOAT[3]":                       {"[1, 2, 3]::FLOAT[3]", "[0, 0, 0]::FLOAT[3]", "['nan'::FLOAT, 'inf'::FLOAT, 1::FLOAT]::FLOAT[3]", "[3.4e38, 3.4e38, 3.4e38]::FLOAT[3]", "[1, NULL, 3]::FLOAT[3]", "NULL::FLOAT[3]"},
	"DOUBLE[3]":                      {"[1, 2, 3]::DOUBLE[3]", "[0, 0, 0]::DOUBLE[3]", "['nan'::DOUBLE, 'inf'::DOUBLE, 1::DOUBLE]::DOUBLE[3]", "[1.7e308, 1.7e308, 1.7e308]::DOUBLE[3]", "[1, NULL, 3]::DOUBLE[3]", "NULL::DOUBLE[3]"},
	"VARCHAR[]":                      {"['a']", "[]::VARCHAR[]", "['HIDDEN-7', NULL]", "['(', '$.a']", "['1', '1']", "NULL::VARCHAR[]"},
	"INTEGER[][]":                    {"[[1]]", "[]::INTEGER[][]", "[[1], NULL, []]", "NULL::INTEGER[][]"},
	"STRUCT(a INTEGER, b VARCHAR)":   {"{'a': 1, 'b': 'x'}", "{'a': 2147483647, 'b': 'HIDDEN-7'}", "{'a': NULL, 'b': NULL}::STRUCT(a INTEGER, b VARCHAR)", "NULL::STRUCT(a INTEGER, b VARCHAR)"},
	"STRUCT(k VARCHAR, v INTEGER)[]": {"[{'k': 'a', 'v': 1}]", "[{'k': 'a', 'v': 1}, {'k': 'a', 'v': 2}]", "[{'k': NULL, 'v': 1}]::STRUCT(k VARCHAR, v INTEGER)[]", "NULL::STRUCT(k VARCHAR, v INTEGER)[]"},
	"MAP(VARCHAR, INTEGER)":          {"MAP {'a': 1}", "MAP {}::MAP(VARCHAR, INTEGER)", "MAP {'HIDDEN-7': NULL}::MAP(VARCHAR, INTEGER)", "NULL::MAP(VARCHAR, INTEGER)"},
	"MAP(INTEGER, VARCHAR)":          {"MAP {1: 'a'}", "MAP {}::MAP(INTEGER, VARCHAR)", "MAP {2147483647: 'HIDDEN-7'}", "NULL::MAP(INTEGER, VARCHAR)"},
	"UNION(i INTEGER, s VARCHAR)":    {"1::UNION(i INTEGER, s VARCHAR)", "'x'::UNION(i INTEGER, s VARCHAR)", "union_value(s := 'HIDDEN-7')::UNION(i INTEGER, s VARCHAR)", "NULL::UNION(i INTEGER, s VARCHAR)"},
	"VARIANT":                        {"1::VARIANT", "'a'::VARIANT", "{'a': 1}::VARIANT", "[1, 2]::VARIANT", "NULL::VARIANT"},
	"GEOMETRY":                       {"'POINT(1 2)'::GEOMETRY", "'POINT EMPTY'::GEOMETRY", "NULL::GEOMETRY"},
}

// counts replace the pools of whole numbers for functions whose argument is a size: probing shall not use up the machine.
var counts = []string{"1", "0", "-1", "3", "40", "NULL"}

// sized are functions with an argument that sets the size of the result.
var sized = set(`repeat lpad rpad range generate_series list_resize array_resize bitstring format printf to_base bar equi_width_bins repeat_row factorial "!__postfix"`)

// generic lists the types that stand for a type parameter.
var generic = map[string][]string{
	"ANY": {
		"INTEGER", "VARCHAR", "DOUBLE", "TIMESTAMP", "DECIMAL(18,3)", "INTEGER[]", "STRUCT(a INTEGER, b VARCHAR)", "DATE", "BLOB", "INTERVAL", "JSON", "MAP(VARCHAR, INTEGER)",
		"HUGEINT", "BOOLEAN", "UUID", "ENUM('a', 'HIDDEN-7')", "UNION(i INTEGER, s VARCHAR)", "FLOAT[3]", "VARIANT", "TIMESTAMPTZ", "BIT", "TIME", "BIGNUM",
	},
	"T":       {"INTEGER", "VARCHAR", "DOUBLE", "INTEGER[]", "DATE", "DECIMAL(18,3)"},
	"K":       {"VARCHAR"},
	"V":       {"INTEGER"},
	"DECIMAL": {"DECIMAL(18,3)", "DECIMAL(4,1)", "DECIMAL(38,0)", "DECIMAL(38,37)"},
	"ANY[]":   {"INTEGER[]", "VARCHAR[]", "DOUBLE[]", "INTEGER[][]", "STRUCT(k VARCHAR, v INTEGER)[]"},
	"T[]":     {"INTEGER[]", "VARCHAR[]", "DOUBLE[]"},
	"V[]":     {"INTEGER[]"}, "K[]": {"VARCHAR[]"},
	"ANY[][]": {"INTEGER[][]"}, "T[][]": {"INTEGER[][]"},
	"LIST":  {"INTEGER[]", "VARCHAR[]"},
	"ARRAY": {"FLOAT[3]"}, "FLOAT[ANY]": {"FLOAT[3]"}, "DOUBLE[ANY]": {"DOUBLE[3]"}, "T[ANY]": {"FLOAT[3]"},
	"STRUCT": {"STRUCT(a INTEGER, b VARCHAR)"}, "STRUCT()": {"STRUCT(a INTEGER, b VARCHAR)"},
	"MAP": {"MAP(VARCHAR, INTEGER)"}, "MAP(K, V)": {"MAP(VARCHAR, INTEGER)"}, "MAP(ANY, ANY)": {"MAP(VARCHAR, INTEGER)", "MAP(INTEGER, VARCHAR)"},
	"STRUCT(K, V)[]":           {"STRUCT(k VARCHAR, v INTEGER)[]"},
	"UNION":                    {"UNION(i INTEGER, s VARCHAR)"},
	"ENUM":                     {"ENUM('a', 'HIDDEN-7')"},
	"":                         {"INTEGER", "VARCHAR", "DOUBLE", "INTEGER[]", "VARCHAR[]", "DATE", "TIMESTAMP", "INTERVAL", "MAP(VARCHAR, INTEGER)", "JSON", "DECIMAL(18,3)"}, // a macro's parameter
	"LAMBDA":                   {"LAMBDA"},
	"STRUCT(INTEGER, VARCHAR)": {"STRUCT(a INTEGER, b VARCHAR)"},
}

// lambdas are tried in this order until one binds.
var lambdas = []string{"lambda x: x", "lambda x: x IS NOT NULL", "lambda x, y: x", "lambda x, y, z: x"}

var spellings = map[string]string{
	"TIMESTAMP WITH TIME ZONE": "TIMESTAMPTZ", "TIME WITH TIME ZONE": "TIMETZ", "INTEGER_LITERAL": "INTEGER", "STRING_LITERAL": "VARCHAR", `"NULL"`: "INTEGER",
}

var list = regexp.MustCompile(`^(TIMESTAMP|DATE|HUGEINT|TIMESTAMPTZ)\[\]$`)

// concrete returns the types that a parameter of the catalog's type t is probed with.
func concrete(t string) []string {
	if s, ok := spellings[t]; ok {
		t = s
	}
	if pools[t] != nil {
		return []string{t}
	}
	if m := list.FindStringSubmatch(t); m != nil {
		var values []string
		for _, v := range pools[m[1]][:4] {
			values = append(values, "["+v+"]")
		}
		pools[t] = append(values, "[]::"+t, "NULL::"+t)
		return []string{t}
	}
	if g, ok := generic[t]; ok {
		return g
	}
	if strings.HasPrefix(t, "STRUCT(") {
		return generic["STRUCT"]
	}
	if strings.HasPrefix(t, "MAP(") {
		return generic["MAP(ANY, ANY)"]
	}
	return nil
}

// values returns the pool of t for a call of the function.
func values(function, t string) []string {
	if sized[function] && strings.Contains("TINYINT SMALLINT INTEGER BIGINT HUGEINT DOUBLE", t) {
		var out []string
		for _, v := range counts {
			out = append(out, "("+v+")::"+t)
		}
		return out
	}
	return pools[t]
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[strings.Trim(w, `"`)] = true
	}
	return m
}

// combinations lists tuples of values, at most n: all of them, or else a spread that starts with each value once.
func combinations(lists [][]string, n int) [][]string {
	total := 1
	for _, l := range lists {
		total *= len(l)
		if total > 1<<20 {
			total = 1 << 20
		}
	}
	var out [][]string
	seen := map[string]bool{}
	add := func(tuple []string) {
		if key := fmt.Sprint(tuple); !seen[key] && len(out) < n {
			seen[key] = true
			out = append(out, tuple)
		}
	}
	if total <= n {
		for i := range total {
			tuple := make([]string, len(lists))
			for j, l := range lists {
				tuple[j], i = l[i%len(l)], i/len(l)
			}
			add(tuple)
		}
		return out
	}
	for j := range lists {
		for _, v := range lists[j] {
			tuple := make([]string, len(lists))
			for k := range lists {
				tuple[k] = lists[k][0]
			}
			tuple[j] = v
			add(tuple)
		}
	}
	state := uint64(1)
	for try := 0; len(out) < n && try < 8*n; try++ {
		tuple := make([]string, len(lists))
		for j, l := range lists {
			state = state*6364136223846793005 + 1442695040888963407
			tuple[j] = l[int(state>>33)%len(l)]
		}
		add(tuple)
	}
	return out
}
