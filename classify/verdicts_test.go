package classify

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

var update = flag.Bool("update", false, "write the verdicts to testdata/verdicts.txt")

// columnTypes are the columns of the expressions below, "c_" and a word.
var columnTypes = map[string]string{
	"bool": "BOOLEAN", "tiny": "TINYINT", "small": "SMALLINT", "int": "INTEGER", "big": "BIGINT", "huge": "HUGEINT",
	"utiny": "UTINYINT", "usmall": "USMALLINT", "uint": "UINTEGER", "ubig": "UBIGINT", "real": "FLOAT", "double": "DOUBLE",
	"dec": "DECIMAL(10,2)", "dec18": "DECIMAL(18,6)", "dec38": "DECIMAL(38,10)", "text": "VARCHAR", "blob": "BLOB", "date": "DATE",
	"time": "TIME", "ts": "TIMESTAMP", "tstz": "TIMESTAMP WITH TIME ZONE", "interval": "INTERVAL", "uuid": "UUID", "list": "INTEGER[]", "none": "",
}

func columnType(c *pgquery.ColumnRef) string {
	return columnTypes[strings.TrimPrefix(c.Fields[len(c.Fields)-1].GetString_().GetSval(), "c_")]
}

// verdict returns how an expression is classified: its class by a letter, "!" if a mask of this form may fail unseen, and its
// type where that is known; "-" if it is refused.
func verdict(text string) string {
	s, err := Parse("SELECT " + text)
	if err != nil {
		return "-"
	}
	n := s.tree.TargetList[0].GetResTarget().GetVal()
	out := map[Class]string{ClassLeakproof: "L", ClassRaising: "R", ClassDictionary: "D"}[ExprClassTyped(n, columnType)]
	if out == "" {
		return "F"
	}
	if FailsUnseen(n, columnType) {
		out += "!"
	}
	c := classifier{types: columnType}
	if t := c.typeOf(n); t != "" {
		out += " " + strings.ToLower(t)
	}
	return out
}

// row writes the verdicts of one form over all columns, those with the same one together.
func row(out *strings.Builder, name string, form func(column string) string) {
	groups := map[string][]string{}
	for _, c := range slices.Sorted(maps.Keys(columnTypes)) {
		v := verdict(form("c_" + c))
		groups[v] = append(groups[v], c)
	}
	fmt.Fprintf(out, "%s:", name)
	for _, v := range slices.Sorted(maps.Keys(groups)) {
		who := strings.Join(groups[v], ",")
		if len(groups) == 1 {
			who = "all"
		}
		fmt.Fprintf(out, " [%s] %s", v, who)
	}
	out.WriteString("\n")
}

// expressionForms are expressions over one column, c, of each kind.
var expressionForms = []string{
	"c", "c IS NULL", "c IS TRUE", "NOT c", "c AND c", "c OR c_bool", "coalesce(c, c)", "coalesce(c, 'x')", "coalesce(c, 0)", "greatest(c, c)", "greatest(c, 1)",
	"CASE WHEN c THEN 1 END", "CASE c WHEN c THEN 1 END", "CASE c WHEN 1 THEN 2 END", "CASE WHEN c_bool THEN c ELSE 'x' END", "CASE WHEN c_bool THEN c ELSE c_int END",
	"c IN (1, 2)", "c IN ('1', '2')", "c IN (c, c_int)", "c BETWEEN 1 AND 2", "c NOT BETWEEN '1' AND '2'", "c LIKE 'x%'", "c LIKE c", "c ILIKE 'x%'", "c ILIKE c",
	"c SIMILAR TO 'x'", "c SIMILAR TO c_text", "c IS DISTINCT FROM c", "c IS NOT DISTINCT FROM 1", "nullif(c, c)", "nullif(c, 1)", "c = ANY (SELECT c)",
	"c = (SELECT 1)", "EXISTS (SELECT c)", "c || c", "c || 'x'", "c || 1", "-c", "c[1]", "[c]", "{'a': c}", "c + INTERVAL 1 DAY", "c - INTERVAL '1 day'", "c + 1.5", "c * 1.5",
	"substring(c, 1, 2)", "substring(c, c_int)", "substring(c, -1)", "date_part('year', c)", "date_part(c_text, c)", "date_trunc('month', c)", "extract(year FROM c)",
	"TRY_CAST(c AS INTEGER)", "CAST(c AS VARCHAR)", "CAST(c AS VARCHAR(3))", "CAST(c AS INTEGER)", "CAST(c AS BIGINT)", "CAST(c AS DECIMAL(10, 2))", "CAST(c AS DOUBLE)",
	"CAST(c AS DATE)", "CAST(c AS TIMESTAMP)", "CAST(c AS TIMESTAMPTZ)", "CAST(c AS BOOLEAN)", "CAST(c AS UUID)", "CAST(c AS INTEGER[])", "lower(c) = 'x'", "lower(c) = c_text",
	"length(c) > 1", "length(c) > c_big", "year(c) = 2020", "year(c) = c_big", "starts_with(c, 'x') AND c_bool", "coalesce(c, c) = c", "coalesce(NULL, c) = c", "-c = c",
	"c = NULL", "c = 1.5", "c = 123456789012345678901.5", "c = -1", "c = '2020-01-01'", "c = '00000000-0000-0000-0000-000000000000'", "c = true", "list_contains([1], c)", "contains(c, 'x')",
	"count(*)", "sum(c)", "sum(c) FILTER (WHERE c)", "row_number() OVER (ORDER BY c)", "current_date", "c = current_date", "CAST('2020-01-01' AS DATE) = c", "(c, 1) = (c, 1)",
	"year('x') = c", "month('x') = c", "day('x') = c", "isinf('x') AND true", "isfinite('x') AND true", "sign('x') = c", "isnan('x') OR c", "year('x', c)", "c IN (c_huge, 1.5)", "c IN (c_tiny, c_huge, 1.5)", "c IN (1.5, c_tiny, c_huge)", "c IN (c_int, c_double, 1.5)", "c = 1234567890123456.5", "c = 12345678901234567.5", "c = 1e5", "c IN (1.5, 'x')",
	"round(c, -1)", "round(c, +1)", "round(2, c)", "round(c, c)", "replace(c, 'a', 'b')", "split_part(c, 'x', 1)", "trunc(c, 2)", "ceil(c, 1)", "floor(c, 1)", "regexp_replace(c, 'a', 'b')", "regexp_matches(c, 'a')", "regexp_matches(c, c_text)", "regexp_extract(c, 'a', -1)", "strftime(c, '%Y')",
	"substring(c, c_int, 2)", "substring(c)", "left(c, 3)", "left(c, -3)", "right(c, 1)", "left(c, 'x')", "date_part('year', c, 1)", "CAST(1.5 AS INTEGER) = c", "CAST(1.5 AS DECIMAL(3, 1)) = c", "CAST(NULL AS INTEGER) = c", "CAST(true AS INTEGER) = c", "CAST(true AS VARCHAR) = c", "CAST(true AS DATE) = c",
	"CAST(true AS BOOLEAN) = c", "CAST(5 AS TINYINT) = c", "CAST(500 AS TINYINT) = c", "CAST('x' AS INTEGER) = c", "CAST('5' AS DECIMAL(3, 1)) = c", "CAST('5' AS INTEGER[])", "c || NULL", "concat(c, NULL)", "concat(c, 1.5)", "concat(c, c_text, 'x')", "list(c ORDER BY CAST(c AS INTEGER))", "regexp_matches(c, 'x', options := c)",
	"-'5' = c", "-NULL = c", "round(c, -'1')", "substring(c, -'1')", "c ~ 'x'", "c ~ c", "c !~ 'x'", "~ c", "c ^@ 'x' AND true", "(c = 1) AND (c ^@ 'x')", "nullif(c_bool, true) AND c", "c OR 'true'", "c OR 'x'", "c OR NULL", "(-c) OR true", "c = (1 = 1)", "NOT (SELECT c)", "c IS UNKNOWN", "[c, 1]", "[c, 'x']", "coalesce(c, 'x', NULL) = c", "coalesce(c, c_int)", "coalesce(c, 1, c_big) = 2",
	"coalesce(NULL, 'x')", "coalesce(1, c) = c", "coalesce(1.5, c)", "greatest(c, c_int, 1.5)", "CASE WHEN c_bool THEN NULL ELSE c END = c", "list_has([c], 1)", "array_has(c, 1)", "list_contains(c, 1)", "list_contains(c, 'x')", "list_contains(c, c_int)", "contains(c, c)", "c[c_int]", "c[1:c_int]", "c[1:2]", "(c).f", "{'a': CAST(c AS INTEGER)}",
	"MAP {c: 1}", "INTERVAL (c) DAY", "c + 1 = c", "c_tstz + c", "c_time - c", "c - c_interval", "c + now()", "CAST(c AS TIME) + INTERVAL 1 HOUR", "CAST('10:00' AS TIME) + c", "CAST('1 day' AS INTERVAL) + c", "avg(c) OVER ()", "sum(DISTINCT c)", "quantile_cont(0.5) WITHIN GROUP (ORDER BY c)", "c = ANY (c_list)", "c = ALL ([1])", "c < ANY (SELECT c)", "c SIMILAR TO c || 'x'",
}

// TestVerdicts writes down what is said of every function, operator and literal over every type, so that a change of any of
// them is seen: what counts as leakproof runs on hidden rows.
func TestVerdicts(t *testing.T) {
	var out strings.Builder
	out.WriteString("# Functions over columns of each type, with one, two and three arguments. See verdict in verdicts_test.go.\n")
	for _, name := range slices.Sorted(maps.Keys(functions())) {
		switch functions()[name].kind {
		case "scalar":
			row(&out, name+"/1", func(c string) string { return name + "(" + c + ")" })
			row(&out, name+"/2", func(c string) string { return name + "(" + c + ", 2)" })
			row(&out, name+"/2'", func(c string) string { return name + "(" + c + ", 'x')" })
			row(&out, name+"/2c", func(c string) string { return name + "(" + c + ", " + c + ")" })
			row(&out, name+"/3", func(c string) string { return name + "(" + c + ", 2, 3)" })
		case "operator":
			if strings.Trim(name, "=<>!+-*/%|&#~^@") == "" {
				row(&out, "c "+name+" c", func(c string) string { return c + " " + name + " " + c })
				row(&out, "c "+name+" 2", func(c string) string { return c + " " + name + " 2" })
				row(&out, "c "+name+" 'x'", func(c string) string { return c + " " + name + " 'x'" })
				row(&out, "2 "+name+" c", func(c string) string { return "2 " + name + " " + c })
				row(&out, name+" c", func(c string) string { return name + " " + c })
			}
		}
	}
	out.WriteString("\n# Forms.\n")
	for _, form := range expressionForms {
		row(&out, form, func(c string) string { return replaceWord(form, "c", c) })
	}
	out.WriteString("\n# Columns compared with columns.\n")
	for _, a := range slices.Sorted(maps.Keys(columnTypes)) {
		row(&out, a, func(c string) string { return "c_" + a + " = " + c })
	}
	out.WriteString("\n# Texts, and the types that they surely convert to.\n")
	for _, text := range texts {
		var to []string
		for _, c := range slices.Sorted(maps.Keys(columnTypes)) {
			if converts(text, columnTypes[c]) {
				to = append(to, c)
			}
		}
		for _, more := range []string{"DECIMAL", "DECIMAL(3)", "DECIMAL(3,3)", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "UHUGEINT", "number", "DECIMAL(x)", "DECIMAL(3,1)[]"} {
			if converts(text, more) {
				to = append(to, more)
			}
		}
		fmt.Fprintf(&out, "%q: %s\n", text, strings.Join(to, ","))
	}
	out.WriteString("\n# Names of types: what trees hold, what compares alike, and what its sum is.\n")
	for _, name := range append(slices.Sorted(maps.Keys(typeNames)), "float", "timestamp with time zone", "time with time zone", "literal", "number", "fraction",
		"DECIMAL(18,3)", "DECIMAL(19,3)", "DECIMAL(18)", "NUMERIC( 10 , 2 )", "INTEGER[]", "STRUCT(a INTEGER)", "MAP(INTEGER, INTEGER)", "UNION(a INTEGER)", "VARCHAR(3)", "nosuch", "") {
		part, mods := typeParts(name)
		fmt.Fprintf(&out, "%s: %s, %s, %s%v, %s\n", name, typeNames[strings.ToLower(name)], family(name), part, mods, sumType(name))
	}

	golden(t, "testdata/verdicts.txt", out.String())
}

// replaceWord replaces a word that stands by itself.
func replaceWord(s, word, with string) string {
	var out strings.Builder
	letter := func(i int) bool {
		return i >= 0 && i < len(s) && (s[i] == '_' || s[i] == '\'' || 'a' <= s[i] && s[i] <= 'z' || 'A' <= s[i] && s[i] <= 'Z' || '0' <= s[i] && s[i] <= '9')
	}
	for i := 0; i < len(s); i++ {
		if strings.HasPrefix(s[i:], word) && !letter(i-1) && !letter(i+len(word)) {
			out.WriteString(with)
			i += len(word) - 1
			continue
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

// texts are literals at the edges of what converts.
var texts = []string{
	"", " ", "x", "true", "false", "t", "f", "TRUE", "yes", "1", "0", "-1", "+1", " 1", "1 ", "01", "1.", ".5", "1.5", "-1.5", "1e3", "NaN", "Infinity",
	"127", "128", "-128", "-129", "255", "256", "32767", "32768", "-32768", "-32769", "65535", "2147483647", "2147483648", "-2147483648", "-2147483649", "4294967295",
	"9223372036854775807", "9223372036854775808", "-9223372036854775808", "99999999", "100000000", "99999999.99", "99999999.999", "999999999.99", "0.001", "0.0001", "999", "1000", "0.999", "1.0",
	"123456789012345678901234567890", "1234567890123456789012345678901", "0.123456789012345678901234567890", "_1", "1_0", "0x10", "１",
	"2020-01-01", "2020-1-1", "2020-02-30", "2020-02-29", "2021-02-29", "0000-01-01", "0001-01-01", "9999-12-31", "10000-01-01", "-2020-01-01", "2020/01/01", "2020-01-01 ", "epoch", "infinity", "today",
	"2020-01-01 00:00:00", "2020-01-01T00:00:00", "2020-01-01 24:00:00", "2020-01-01 23:59:59.999999", "2020-01-01 23:59:59.9999999", "2020-01-01 23:59", "2020-01-01 23:59:60",
	"2020-01-01 00:00:00Z", "2020-01-01 00:00:00+00", "2020-01-01 00:00:00+00:00", "2020-01-01 00:00:00+01", "2020-01-01 00:00:00 UTC", "1600-01-01 00:00:00", "2300-01-01 00:00:00", "1677-09-22 00:00:00",
	"00:00:00", "23:59:59", "23:59:59.123456", "23:59:59.1234567", "24:00:00", "1:00:00", "00:00",
	"1 day", "1 days", "-1 day", "1 day 2 hours", "1 fortnight", "day", "1.5 days", "1day", "99999999 years", "1 year 1 month 1 day 1 hour 1 minute 1 second", "P1D",
	"00000000-0000-0000-0000-000000000000", "0000000000000000000000000000000", "00000000000000000000000000000000", "{00000000-0000-0000-0000-000000000000}", "00000000-0000-0000-0000-00000000000g", "FFFFFFFF-ffff-ffff-ffff-ffffffffffff",
	"plain", "a\\b", "\\x41", "é", "a\tb", "\x7f", "~", "[1, 2]", "{}",
}
