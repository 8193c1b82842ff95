package main

import (
	"fmt"
	"strings"
)

// sqlName is the type of each kind of expression as statements spell it.
var sqlName = map[string]string{
	"boolean": "BOOLEAN", "int": "INTEGER", "bigint": "BIGINT", "hugeint": "HUGEINT", "double": "DOUBLE", "real": "FLOAT",
	"smallint": "SMALLINT", "tinyint": "TINYINT", "ubigint": "UBIGINT", "uinteger": "UINTEGER", "utinyint": "UTINYINT",
	"decimal": "DECIMAL(12,2)", "decimal38": "DECIMAL(38,4)", "varchar": "VARCHAR", "date": "DATE", "timestamp": "TIMESTAMP",
	"timestamptz": "TIMESTAMPTZ", "time": "TIME", "interval": "INTERVAL", "uuid": "UUID", "blob": "BLOB", "json": "JSON",
	"varchar[]": "VARCHAR[]", "int[]": "INTEGER[]", "bigint[]": "BIGINT[]", "double[]": "DOUBLE[]", "boolean[]": "BOOLEAN[]",
	"struct": "STRUCT(city VARCHAR, zip INTEGER)", "map": "MAP(VARCHAR, INTEGER)", "timestamp_ns": "TIMESTAMP_NS",
}

// common are the kinds that statements are mostly about, by weight.
var common = []string{
	"varchar", "varchar", "varchar", "varchar", "bigint", "bigint", "bigint", "int", "int", "boolean", "double", "double", "decimal", "date", "date",
	"timestamp", "timestamptz",
}

// targets are what casts go to.
var targets = []string{
	"boolean", "int", "bigint", "hugeint", "double", "real", "smallint", "tinyint", "ubigint", "decimal", "decimal38", "varchar", "date", "timestamp",
	"timestamptz", "time", "interval", "uuid", "blob", "json", "varchar[]", "int[]", "double[]", "timestamp_ns",
}

// literals are constants by kind, the nasty ones among them. Those of other kinds are casts of texts.
var literals = map[string][]string{
	"boolean":     {"true", "false", "NULL::BOOLEAN"},
	"int":         {"0", "1", "-1", "7", "80", "100", "2147483647", "-2147483648"},
	"bigint":      {"0", "1", "-1", "12", "60", "99500", "9223372036854775807", "4611686018427387904"},
	"double":      {"0.0::DOUBLE", "1.5::DOUBLE", "-1.0::DOUBLE", "1e308", "1e-300", "'nan'::DOUBLE", "'inf'::DOUBLE"},
	"decimal":     {"0.00", "1.50", "-0.01", "9999999.99", "12.34"},
	"varchar":     {"''", "'a'", "'1'", "'EU'", "'eu'", "'%'", "'_'", "'a@x.eu'", "'[1'", "'2020-01-01'", "'x''y'", "'Ann'", "'***'", "'(.)'", "'year'", "'HIDDEN-7'", "'US'", "','", "'é'"},
	"date":        {"DATE '2020-02-29'", "DATE '1970-01-01'", "DATE '9999-12-31'", "DATE '0001-01-01'", "DATE 'infinity'"},
	"timestamp":   {"TIMESTAMP '2020-02-29 12:00:00'", "TIMESTAMP '1970-01-01 00:00:00'", "TIMESTAMP 'infinity'", "TIMESTAMP '2021-06-30 23:59:59.999999'"},
	"timestamptz": {"TIMESTAMPTZ '2020-02-29 12:00:00+00'", "TIMESTAMPTZ '1970-01-01 00:00:00+02'"},
	"time":        {"TIME '00:00:00'", "TIME '23:59:59.999999'"},
	"interval":    {"INTERVAL 1 DAY", "INTERVAL '3 months'", "INTERVAL -5 HOUR", "INTERVAL 1000000 YEAR"},
	"uuid":        {"'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::UUID"},
	"blob":        {"'ab'::BLOB", "''::BLOB", "'\\xFF'::BLOB"},
	"json":        {`'{"a": 1}'::JSON`, "'[1, 2]'::JSON", "'null'::JSON"},
	"varchar[]":   {"['a', 'x']", "[]::VARCHAR[]", "['1', NULL]"},
	"int[]":       {"[1, 2]", "[]::INTEGER[]", "[3, NULL]"},
	"struct":      {"{'city': 'Ulm', 'zip': 1}"},
	"map":         {"MAP {'a': 1, 'b': 2}"},
}

// words are literals for parameters of functions that take a name out of a set, by function.
var argumentWords = map[string][]string{
	"date_part": {"'year'", "'month'", "'epoch'", "'dow'", "'isoyear'", "'week'"}, "datepart": {"'year'", "'hour'"}, "date_trunc": {"'year'", "'month'", "'day'"},
	"datetrunc": {"'year'", "'month'"}, "date_diff": {"'day'", "'year'"}, "datediff": {"'day'"}, "date_sub": {"'day'"}, "datesub": {"'day'"},
	"strftime": {"'%Y'", "'%m-%d'", "'%'"}, "strptime": {"'%Y-%m-%d'", "'%Y'"}, "try_strptime": {"'%Y-%m-%d'"}, "timezone": {"'UTC'", "'Europe/Berlin'", "'nowhere'"},
	"format": {"'{}'", "'{:d}'", "'x'"}, "printf": {"'%s'", "'%d'", "'x'"},
	"json_extract": {"'$.a'", "'a'", "'$['"}, "json_extract_string": {"'$.a'", "'a'"}, "json_value": {"'$.a'"}, "json_exists": {"'$.a'"},
	"regexp_extract": {"'(.)'", "'['"}, "regexp_matches": {"'a.*'", "'['"}, "regexp_replace": {"'a'", "'('"}, "to_base": {"2", "36", "1"},
}

func literal(kind string, g *generator) *node {
	if pool := literals[kind]; len(pool) > 0 {
		return word(kind, pick(g.r, pool...))
	}
	switch kind {
	case "smallint", "tinyint", "ubigint", "uinteger", "utinyint", "hugeint", "real", "decimal38":
		return word(kind, fmt.Sprintf("CAST(%d AS %s)", g.r.IntN(100), sqlName[kind]))
	case "timestamp_ns":
		return word(kind, "CAST('2020-01-01' AS TIMESTAMP_NS)")
	case "bigint[]", "double[]", "boolean[]":
		return word(kind, "CAST([1, 0] AS "+sqlName[kind]+")")
	}
	return word(kind, "NULL")
}

func isNumber(kind string) bool {
	return strings.Contains(" int bigint hugeint double real smallint tinyint ubigint uinteger utinyint decimal decimal38 ", " "+kind+" ")
}

// castable reports whether the engine has a cast between kinds: others fail whatever the values are.
func castable(from, to string) bool {
	timed := func(k string) bool { return strings.HasPrefix(k, "timestamp") || k == "date" }
	switch {
	case from == to || to == "varchar" || to == "json":
		return true
	case to == "struct" || to == "map":
		return false
	case from == "varchar" || from == "json":
		return true
	case isNumber(from) || from == "boolean":
		return isNumber(to) || to == "boolean"
	case timed(from):
		return timed(to) || to == "time" && from != "date"
	case strings.HasSuffix(from, "[]"):
		return strings.HasSuffix(to, "[]")
	}
	return false
}
