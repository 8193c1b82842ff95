package classify

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// moreForms are conditions of the kinds that a scan can use, and such as look like them.
var moreForms = []string{
	"c = 1", "1 = c", "c <> 1", "c < c", "NOT c = 1", "c = 1 AND c > 2", "c = 1 OR c > 2", "c = 1 OR c IS NULL", "(c = 1 AND c IS NULL) OR c > 2", "c = ?", "? = c", "c IS NOT NULL", "(c = 1) IS NOT NULL", "(c = 1) IS TRUE", "c.f = 1", "t = 1", "c LIKE ?", "c IN (1, ?)",
	"c IN (SELECT 1)", "c = 'x' || 'y'", "lower(c) LIKE 'x'", "random() = c", "c = current_date", "c >= DATE '2020-01-31' - INTERVAL '90' DAY", "DATE '2020-01-31' + INTERVAL '1' MONTH > c", "c BETWEEN DATE '2020-01-31' AND DATE '2020-01-31' + INTERVAL 1 YEAR",
	"c NOT BETWEEN DATE '2020-01-31' - INTERVAL 2 WEEK AND DATE '2020-01-31' + INTERVAL '1 hour'", "c < DATE '2020-01-31' + INTERVAL '90' HOUR", "c < DATE '2020-02-31' + INTERVAL 90 DAY", "c < DATE '2020-01-31' + INTERVAL 1 DAY + INTERVAL 2 MONTH", "c < DATE '2020-01-31' + INTERVAL 1 DAY - INTERVAL 2 HOUR",
	"c < DATE '2020-01-31' + INTERVAL 123456 DAY", "c < TIMESTAMP '2020-01-31 00:00:00' + INTERVAL 1 DAY", "CAST(c AS DATE) < DATE '2020-01-31' + INTERVAL 1 DAY", "c < CAST(DATE '2020-01-31' + INTERVAL 1 DAY AS DATE)", "c + DATE '2020-01-31' < 1", "c < 1 + 2", "c < 1 + 2 * 3", "c < 1.5 + 2", "c < 1.5 + 2.5 + 3",
	"c < 1 / 2", "c < -1", "c < -(1 + 2)", "c < 123456789.5 + 1", "c * 1.5 > 2", "c * 2 > c_double", "1.5 * c = c", "c - c = c", "c * 1.12345678901234567 > 2", "1 - c > 2.5", "(c * (1 - c)) > 1", "CASE WHEN c = 1 THEN true END", "CASE c WHEN 1 THEN c_bool ELSE false END", "coalesce(c, 1) = 1",
	"count(c) > 1", "sum(c) > 1", "avg(c) > 1", "min(c) = c", "max(c) > 'x'", "sum(c) > 1.5", "any_value(c) = 1", "row_number() OVER (ORDER BY c) = 1", "sum(c) OVER (PARTITION BY c) > 1", "count(*) FILTER (WHERE c = 1) > 1", "c = ALL (SELECT 1)", "c = (SELECT max(c) FROM u)", "c > (SELECT c_int FROM u LIMIT 1)",
	"c > (SELECT c_int FROM u LIMIT 2)", "c > (SELECT count(*) FROM u GROUP BY c_int)", "c = (SELECT c_int FROM u UNION SELECT 1)", "c = (VALUES (1))", "c = (VALUES (1), (2))", "c = (SELECT count(*) FROM u LIMIT 2)", "c = (SELECT unnest([max(c_int)]) FROM u)", "c = (SELECT (SELECT max(c_int) FROM u) FROM u)", "c = (SELECT max(c_int) OVER () FROM u)", "c IN (SELECT c_int FROM u)", "c NOT IN (SELECT c_text FROM u)", "(c, 1) IN (SELECT c_int, 1 FROM u)", "EXISTS (SELECT 1 FROM u WHERE u.c_int = c)", "NOT EXISTS (SELECT c FROM u)",
	"ARRAY(SELECT c_int FROM u) = c", "list_contains(list_transform([c], x -> x + 1), 2)", "c = 1 AND random() > 0", "c IS DISTINCT FROM 1", "c COLLATE nocase = 'x'", "starts_with(c, 'x')", "unnest([c]) = 1", "c = 1 AND (c = 2 AND (c = 3 OR c = 4))", "c AND c IS TRUE", "1 = 1", "1 / 0 = 1", "sum((SELECT c)) > 1", "max(c + (SELECT 1)) = 1", "sum(c) OVER (ORDER BY (SELECT c)) = 1",
	"t.c_ts + t.c_interval > t.c_ts", "t.c_tstz + INTERVAL 1 DAY > now()", "t.c_time + INTERVAL 1 HOUR > t.c_time", "CAST(c AS TIME) + INTERVAL 1 HOUR > t.c_time", "c + t.c_int > 1 AND t.c_time = t.c_time", "c - 1 > current_date", "c < DATE '2020-01-31' + INTERVAL (5) DAY", "c < DATE '2020-01-31' + INTERVAL (123456) DAY",
	"c < DATE '2020-01-31' + INTERVAL (k) DAY", "c < DATE '2020-01-31' + INTERVAL '1 day'", "c < DATE '2020-01-31' + INTERVAL '1.5 days'", "c < DATE '2020-01-31' + INTERVAL '-1 day'", "c < DATE '2020-01-31' - INTERVAL -5 DAY", "c < DATE '2020-01-31' + INTERVAL '1 quarter'", "c < DATE '2020-01-31' + INTERVAL '1 years'", "c < DATE '2020-01-31' + (INTERVAL 1 DAY)", "c = DATE 'x' + INTERVAL 1 DAY", "c <= DATE '2020-01-31' * INTERVAL 1 DAY", "c IN (DATE '2020-01-31' + INTERVAL 1 DAY)",
	"t.c_int = 1 AND random() > 1", "regexp_matches(t.c_text, 'x') AND c IS NULL", "list_sum([c]) = 1", "c = 1 AND t.k = 2", "c = t.k", "c = u.k", "c = 1 OR u.k = 2", "CAST('x' AS INTEGER) = 1", "true",
}

// places are statements with a condition, F, in each place where one may stand. Its column is of table t.
var places = []string{
	"SELECT 1 FROM t WHERE F", "SELECT F FROM t", "SELECT 1 FROM t LEFT JOIN u ON t.k = u.k WHERE F", "SELECT 1 FROM u LEFT JOIN t ON t.k = u.k WHERE F", "SELECT 1 FROM u FULL JOIN t ON t.k = u.k WHERE F", "SELECT 1 FROM t JOIN u ON F", "SELECT 1 FROM t LEFT JOIN u ON F",
	"SELECT 1 FROM u LEFT JOIN t ON F", "SELECT 1 FROM t RIGHT JOIN u ON F", "SELECT 1 FROM (SELECT * FROM t) t WHERE F", "SELECT 1 FROM (SELECT F AS f FROM t) s WHERE f", "SELECT 1 FROM (SELECT F AS f FROM t GROUP BY 1) s WHERE f = true", "SELECT count(*) FROM t GROUP BY k HAVING F",
	"SELECT 1 FROM t QUALIFY F", "SELECT k FROM t ORDER BY F", "SELECT sum(k) FILTER (WHERE F) FROM t", "SELECT sum(k) OVER (PARTITION BY F) FROM t", "SELECT 1 FROM u WHERE EXISTS (SELECT 1 FROM t WHERE F)", "SELECT F FROM t INTERSECT SELECT true FROM u", "SELECT F FROM t UNION ALL SELECT true FROM u", "WITH s AS (SELECT F AS f FROM t) SELECT 1 FROM s JOIN u ON s.f = u.c_bool",
}

// valueForms are expressions whose type matters to what is computed from them, and valuePlaces statements with one, V, that compare it.
var valueForms = []string{
	"1", "1.5", "'x'", "true", "NULL", "c_int", "c_text", "c_date", "c_dec", "c_dec38", "c_double", "d20", "d21", "d22", "c_int + 1", "c_int * 1.5", "c_double + 1", "c_double - 1.5", "1.5 * c_double", "c_double * c_int", "c_double * c_text", "c_double / 2", "c_dec * 1.5", "1.5 * c_dec", "c_dec + 1.5", "c_dec * 2", "c_dec * c_dec",
	"c_dec * 12345678.1234567890", "c_dec * 12345678.12345678901", "c_dec * .5", "d20 * 0.12345678901234567", "d21 * 0.12345678901234567", "d22 * 0.12345678901234567", "c_dec18 * 1.5", "-c_double + 1", "CAST(c_text AS INTEGER)", "CAST(c_int AS DECIMAL(5, 1))", "CAST(c_int AS VARCHAR(3))", "CAST(c_text AS INTEGER[])", "count(*)", "count(c_text)",
	"sum(c_int)", "sum(c_dec)", "sum(c_double)", "sum(c_text)", "sum(c_ubig)", "sum(c_utiny)", "avg(c_int)", "avg(c_text)", "mean(c_dec)", "min(c_int)", "max(c_text)", "any_value(c_date)", "first(c_int)", "last(c_int)", "min(c_int, 2)", "sum(c_int) OVER ()", "lag(c_int) OVER ()", "lower(c_text)", "coalesce(c_int, 1)", "c_real", "c_real * 1.5", "c_huge", "c_tiny",
	"c_int = 1", "(SELECT c_int FROM u LIMIT 1)", "(SELECT max(c_int) FROM u)", "CAST(c_text AS INTEGER) + count(*) OVER ()", "CAST(c_text AS INTEGER) + sum(c_int) OVER (PARTITION BY c_int)", "count(*) / 0", "{'a': c_int}", "c_list", "c_bool", "current_date", "min(c_int) FILTER (WHERE c_bool)", "t",
}

var valuePlaces = []string{
	"SELECT 1 FROM (SELECT V AS f FROM t) s WHERE f IS NULL", "SELECT 1 FROM (SELECT V AS f FROM t) s WHERE f = 1", "SELECT 1 FROM (SELECT V AS f FROM t) s WHERE f = 1.5", "SELECT 1 FROM (SELECT V AS f FROM t) s WHERE f = 'x'", "SELECT 1 FROM (SELECT V AS f FROM t) s WHERE f > 12345678901234567.5", "SELECT 1 FROM (SELECT V AS f FROM t) s, u WHERE f = u.c_int", "SELECT 1 FROM (SELECT V AS f FROM t) s, u WHERE f < u.c_dec38",
	"SELECT 1 FROM (SELECT V AS f FROM t UNION ALL SELECT c_int FROM u) s WHERE f = 1", "SELECT 1 FROM (SELECT V AS f FROM t UNION SELECT c_text FROM u) s WHERE f = 'x'", "SELECT 1 FROM (SELECT V AS f FROM t) s JOIN (SELECT c_int AS f FROM u) r USING (f)", "SELECT 1 FROM (SELECT V AS f FROM t) s NATURAL JOIN (SELECT c_text AS f FROM u) r",
	"SELECT V FROM t INTERSECT SELECT c_int FROM u", "SELECT V FROM t EXCEPT SELECT c_dec FROM u", "SELECT 1 FROM u WHERE c_int IN (SELECT V FROM t)", "SELECT 1 FROM u WHERE c_int = (SELECT V FROM t LIMIT 1)", "SELECT 1 FROM u WHERE c_text > (SELECT V FROM t)", "SELECT 1 FROM (VALUES (1, 2), ((SELECT V FROM t), 3)) s(f, g) WHERE f = 1",
	"WITH RECURSIVE r(f) AS (SELECT V FROM t UNION ALL SELECT c_int FROM r, u) SELECT 1 FROM r WHERE f = 1", "SELECT 1 FROM (SELECT V AS f, count(*) OVER (PARTITION BY k) FROM t) s WHERE f = 1", "SELECT 1 FROM (SELECT DISTINCT V AS f FROM t LIMIT 3) s WHERE f = 1", "SELECT 1 FROM (SELECT f * 2 AS g FROM (SELECT V AS f FROM t) s) r WHERE g = 1.5", "SELECT sum(f) FROM (SELECT V AS f FROM t) s HAVING sum(f) > 1",
}

// TestConditions writes down, for every form of an expression in every place, what is used of the tables, what may fail on hidden rows and what a
// scan may evaluate.
func TestConditions(t *testing.T) {
	tables := shapes{}
	for _, name := range []string{"t", "u"} {
		var columns []string
		for _, c := range slices.Sorted(maps.Keys(columnTypes)) {
			if columnTypes[c] != "" {
				columns = append(columns, "c_"+c+" "+columnTypes[c])
			}
		}
		tables.declare(name + "(k BIGINT, d20 DECIMAL(38,20), d21 DECIMAL(38,21), d22 DECIMAL(38,22), " + strings.Join(columns, ", ") + ")")
	}
	var out strings.Builder
	out.WriteString("# Conditions over columns of table t: by place and by type of c. See conditions_test.go.\n")
	for k, form := range slices.Concat(moreForms, expressionForms) {
		fmt.Fprintf(&out, "\n%s\n", form)
		groups, order := map[string][]string{}, []string{}
		for i, place := range places {
			if k >= len(moreForms) && i%3 != k%3 {
				continue // what all forms have in common does not need each of them
			}
			for _, c := range []string{"int", "text", "date"} {
				said := sayCondition(t, tables, replaceWord(place, "F", "("+replaceWord(form, "c", "t.c_"+c)+")"), "c_"+c)
				if groups[said] == nil {
					order = append(order, said)
				}
				groups[said] = append(groups[said], fmt.Sprintf("%d%s", i+1, c))
			}
		}
		for _, said := range order {
			fmt.Fprintf(&out, "  %s: %s\n", said, compact(groups[said]))
		}
	}
	out.WriteString("\n# Values that something is compared with: by form.\n")
	for _, place := range valuePlaces {
		fmt.Fprintf(&out, "\n%s\n", place)
		groups, order := map[string][]string{}, []string{}
		for _, form := range valueForms {
			said := sayCondition(t, tables, replaceWord(place, "V", "("+form+")"), "")
			if groups[said] == nil {
				order = append(order, said)
			}
			groups[said] = append(groups[said], form)
		}
		for _, said := range order {
			fmt.Fprintf(&out, "  %s: %s\n", said, strings.Join(groups[said], " | "))
		}
	}
	golden(t, "testdata/conditions.txt", out.String())
}

// compact writes types that share a place together.
func compact(where []string) string {
	byPlace, order := map[string][]string{}, []string{}
	for _, w := range where {
		n := strings.TrimRight(w, "abcdefghijklmnopqrstuvwxyz")
		if byPlace[n] == nil {
			order = append(order, n)
		}
		byPlace[n] = append(byPlace[n], w[len(n):])
	}
	byTypes, types := map[string][]string{}, []string{}
	for _, n := range order {
		who := strings.Join(byPlace[n], ",")
		if len(byPlace[n]) == 3 {
			who = ""
		}
		if byTypes[who] == nil {
			types = append(types, who)
		}
		byTypes[who] = append(byTypes[who], n)
	}
	var out []string
	for _, who := range types {
		out = append(out, strings.Join(byTypes[who], ",")+" "+who)
	}
	return strings.TrimSpace(strings.Join(out, " "))
}

// sayCondition says what Bind makes of a statement: for each table, how c and the key are used, whether something may fail there, and
// each condition for its scan.
func sayCondition(t *testing.T, tables shapes, text, c string) string {
	t.Helper()
	b, err := tables.bind(text)
	if err != nil {
		what, _ := sayRefused(t, text, err)
		return what
	}
	var out []string
	for i, rel := range b.Relations() {
		said := rel.Name.Table
		for _, u := range b.Uses(i) {
			name := rel.Columns[u.Column].Name
			if name == "k" {
				continue
			}
			if name == c {
				name = "c"
			}
			said += " " + name + "/" + roleLetters(u.Roles)
		}
		if b.Raises(i) {
			said += " RAISES"
		}
		for _, k := range b.Conjuncts(i) {
			said += " where " + replaceWord(deparseExpr(t, k.Expr), c, "c")
			if k.Raises {
				said += " RAISES"
			}
		}
		out = append(out, said)
	}
	return strings.Join(out, "; ")
}
