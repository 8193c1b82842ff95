package ballista

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// edges are values at which engines may differ, by type. Each is spelled so that both engines read it.
var edges = map[string][]string{
	"BOOLEAN":  {"NULL", "TRUE", "FALSE"},
	"SMALLINT": {"NULL", "0", "-1", "32767", "-32768"},
	"INTEGER":  {"NULL", "0", "1", "-1", "7", "-8", "2147483647", "(-2147483647 - 1)"},
	"BIGINT":   {"NULL", "0", "1", "-3", "100", "9223372036854775807", "(-9223372036854775807 - 1)"},
	"DOUBLE": {
		"NULL", "0", "-CAST(0 AS DOUBLE)", "1.5", "-2.5", "0.5", "2.675", "123456.789", "1e300", "-1e300", "1e-300",
		"CAST(0 AS DOUBLE) / CAST(0 AS DOUBLE)", "CAST(1 AS DOUBLE) / CAST(0 AS DOUBLE)", "CAST(-1 AS DOUBLE) / CAST(0 AS DOUBLE)", "2147483647.6", "9.3e18",
	},
	"DECIMAL(9,2)":   {"NULL", "0", "1.25", "-1.25", "2.50", "-2.50", "0.01", "9999999.99", "-9999999.99"},
	"DECIMAL(18,3)":  {"NULL", "0", "1.005", "-1.005", "2.500", "999999999999999.999", "-999999999999999.999"},
	"DECIMAL(38,10)": {"NULL", "0", "1.0000000005", "-2.5", "9999999999999999999999999999.9999999999"},
	"VARCHAR": {
		"NULL", "''", "'a'", "'A b'", "' x '", "'ß'", "'ÀÉß'", "'e\u0301x'", "'日本語'", "'🦆x'", "'a,b,,c'", "'İi'", "'\ttab'", "'abcabc'", "'\u00a0n\u3000'", "'%_\\'",
	},
	"DATE": {
		"NULL", "CAST('1970-01-01' AS DATE)", "CAST('2024-02-29' AS DATE)", "CAST('2023-12-31' AS DATE)", "CAST('2021-01-03' AS DATE)", "CAST('0001-01-01' AS DATE)",
		"CAST('9999-12-31' AS DATE)", "CAST('1970-01-01' AS DATE) + 5000000", "CAST('1970-01-01' AS DATE) - 1000000",
	},
	"TIMESTAMP": {
		"NULL", "CAST('1970-01-01 00:00:00' AS TIMESTAMP)", "CAST('2024-02-29 23:59:59' AS TIMESTAMP)", "CAST('1969-12-31 23:59:59' AS TIMESTAMP)",
		"CAST('2023-12-31 12:30:00' AS TIMESTAMP) + INTERVAL '1' MICROSECOND", "CAST('0001-01-01 00:00:00' AS TIMESTAMP)",
		"CAST(CAST('1970-01-01' AS DATE) + 5000000 AS TIMESTAMP)", "CAST(CAST('1970-01-01' AS DATE) - 1000000 AS TIMESTAMP)",
	},
	"UUID": {
		"NULL", "'00000000-0000-0000-0000-000000000000'", "'7fffffff-ffff-ffff-ffff-ffffffffffff'", "'80000000-0000-0000-0000-000000000000'",
		"'FFFFFFFF-ffff-ffff-ffff-ffffffffffff'", "'0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9'", "'80000000-0000-0000-7fff-ffffffffffff'",
	},
	"BLOB": {"NULL", "''", "'a'", `'\x00'`, `'\xFF'`, `'a\x00b'`, `'~ \x7F\x27\x22\x5C'`, `'\xC3\xA9'`, "'ab'"},
	"TIME": {"NULL", "'00:00:00'", "'23:59:59.999999'", "'12:30:00.5'", "'01:02:03.000004'", "'12:30:00'"},
}

var edgeTypes = strings.Split("BOOLEAN SMALLINT INTEGER BIGINT DOUBLE DECIMAL(9,2) DECIMAL(18,3) DECIMAL(38,10) VARCHAR DATE TIMESTAMP UUID BLOB TIME", " ")

// probe is a call over columns a, b, c.
type probe struct {
	kind, name, form string
	types            []string
}

func (p probe) key() string { return p.kind + "\t" + p.name + "\t" + strings.Join(p.types, ", ") }

// The functions of one argument by what they take, and those of two.
var (
	oneArgument = map[string][]string{
		"number": strings.Fields("abs sign ceil ceiling floor round sqrt exp ln log log10 log2"),
		"text":   strings.Fields("upper ucase lower lcase trim ltrim rtrim length len char_length character_length strlen ascii sha256"),
		"moment": strings.Fields("year month day dayofmonth quarter dayofweek weekday isodow dayofyear week weekofyear hour minute second last_day dayname monthname"),
	}
	twoArguments = map[string][]string{
		"number": strings.Fields("pow greatest least coalesce nullif"),
		"text":   strings.Fields("contains starts_with prefix ends_with suffix strpos instr concat trim ltrim rtrim greatest least coalesce nullif"),
		"moment": strings.Fields("greatest least coalesce nullif"),
		"":       strings.Fields("greatest least coalesce nullif"),
	}
	textAndNumber  = strings.Fields("substring substr left right")
	threeArguments = map[string][][]string{
		"substring": {{"VARCHAR", "INTEGER", "INTEGER"}, {"VARCHAR", "BIGINT", "BIGINT"}}, "replace": {{"VARCHAR", "VARCHAR", "VARCHAR"}},
		"split_part": {{"VARCHAR", "VARCHAR", "INTEGER"}, {"VARCHAR", "VARCHAR", "BIGINT"}}, "lpad": {{"VARCHAR", "SMALLINT", "VARCHAR"}, {"VARCHAR", "INTEGER", "VARCHAR"}},
		"rpad": {{"VARCHAR", "SMALLINT", "VARCHAR"}, {"VARCHAR", "INTEGER", "VARCHAR"}}, "concat_ws": {{"VARCHAR", "VARCHAR", "VARCHAR"}},
		"concat": {{"VARCHAR", "VARCHAR", "VARCHAR"}}, "greatest": {{"INTEGER", "INTEGER", "INTEGER"}, {"DOUBLE", "DOUBLE", "DOUBLE"}, {"VARCHAR", "VARCHAR", "VARCHAR"}},
	}
	parameters = map[string][]string{
		"date_part('%s', a)":    strings.Fields("year month day quarter dow dayofweek isodow doy dayofyear week hour minute second"),
		"date_trunc('%s', a)":   strings.Fields("year quarter month week day hour minute second"),
		"date_diff('%s', a, b)": strings.Fields("year quarter month day"),
		"round(a, %s)":          strings.Fields("0 1 2 3 4"),
	}
	operators = strings.Fields("+ - * / % // || = <> < >= IS_DISTINCT_FROM")
	windows   = map[string]string{
		"row_number": "row_number() OVER (ORDER BY a, id)", "rank": "rank() OVER (ORDER BY a)", "dense_rank": "dense_rank() OVER (ORDER BY a DESC)",
		"percent_rank": "percent_rank() OVER (ORDER BY a)", "cume_dist": "cume_dist() OVER (ORDER BY a DESC)", "ntile": "ntile(3) OVER (ORDER BY a, id)",
		"lag": "lag(a) OVER (ORDER BY id)", "lag_2": "lag(a, 2, a) OVER (ORDER BY id)", "lead": "lead(a, 0) OVER (ORDER BY id DESC)",
		"first_value": "first_value(a) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
		"last_value":  "last_value(a) OVER (PARTITION BY id % 3 ORDER BY id)", "nth_value": "nth_value(a, 2) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)",
		"count": "count(a) OVER (ORDER BY a)", "min": "min(a) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING)", "max": "max(a) OVER (PARTITION BY a ORDER BY id)",
		"sum": "sum(a) OVER (PARTITION BY id % 2 ORDER BY id ROWS 1 PRECEDING)", "sum_all": "sum(a) OVER (PARTITION BY id % 2)", "avg": "avg(a) OVER (PARTITION BY id % 2 ORDER BY id)",
	}
	aggregates = strings.Fields("count sum avg mean min max stddev stddev_samp stddev_pop variance var_samp var_pop bool_and bool_or")
)

// probes are all calls that are tried.
func probes() []probe {
	var out []probe
	add := func(kind, name, form string, types ...string) { out = append(out, probe{kind, name, form, types}) }
	for _, a := range edgeTypes {
		for _, n := range oneArgument[family(a)] {
			add("function", n, n+"(a)", a)
		}
		add("operator", "-", "-a", a)
		for _, form := range slices.Sorted(maps.Keys(parameters)) {
			if strings.HasPrefix(form, "date") != (family(a) == "moment") {
				continue
			}
			for _, n := range parameters[form] {
				if call := fmt.Sprintf(form, n); strings.Contains(form, "b)") {
					add("function", fmt.Sprintf(form, n), call, a, a)
				} else {
					add("function", fmt.Sprintf(form, n), call, a)
				}
			}
		}
		for _, to := range edgeTypes {
			add("cast", to, "CAST(a AS "+to+")", a)
		}
		for _, n := range slices.Sorted(maps.Keys(windows)) {
			add("window", n, windows[n], a)
		}
		for _, n := range aggregates {
			add("aggregate", n, n+"(a)", a)
		}
		for _, b := range edgeTypes {
			if !meet(a, b) {
				continue
			}
			for _, n := range textAndNumber {
				if family(a) == "text" && b == "INTEGER" {
					add("function", n, n+"(a, b)", a, b)
				}
			}
			for _, op := range operators {
				add("operator", strings.ReplaceAll(op, "_", " "), "a "+strings.ReplaceAll(op, "_", " ")+" b", a, b)
			}
			for _, n := range twoArguments[family(a)] {
				add("function", n, n+"(a, b)", a, b)
			}
			add("operator", "CASE", "CASE WHEN id % 2 = 0 THEN a ELSE b END", a, b)
			add("operator", "CASE x", "CASE a WHEN b THEN 1 ELSE 2 END", a, b)
			add("operator", "BETWEEN", "a BETWEEN b AND b", a, b)
			add("operator", "IN", "a IN (b, b)", a, b)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(threeArguments)) {
		for _, types := range threeArguments[n] {
			add("function", n, n+"(a, b, c)", types...)
		}
	}
	return out
}

// family is the kind of functions that a type has.
func family(t string) string {
	switch t {
	case "VARCHAR":
		return "text"
	case "DATE", "TIMESTAMP":
		return "moment"
	case "BOOLEAN", "UUID", "BLOB", "TIME":
		return ""
	}
	return "number"
}

// meet are the pairs of types that are tried: the same ones, and some of each kind that meet often.
func meet(a, b string) bool {
	return a == b || strings.Contains(" INTEGER+BIGINT DOUBLE+INTEGER DECIMAL(9,2)+INTEGER INTEGER+DECIMAL(9,2) BIGINT+DECIMAL(18,3) DOUBLE+DECIMAL(9,2) "+
		"DECIMAL(9,2)+DECIMAL(18,3) DATE+INTEGER DATE+TIMESTAMP TIMESTAMP+DATE VARCHAR+INTEGER ", " "+a+"+"+b+" ")
}

// tuples are the combinations of the edges of types, at most most of them, spread evenly.
func tuples(types []string, most int) [][]string {
	total := 1
	for _, t := range types {
		total *= len(edges[t])
	}
	var out [][]string
	for n := range min(total, most) {
		at := n * total / min(total, most)
		row := make([]string, len(types))
		for i, t := range types {
			row[i] = fmt.Sprintf("CAST(%s AS %s)", edges[t][at%len(edges[t])], t)
			at /= len(edges[t])
		}
		out = append(out, row)
	}
	return out
}
