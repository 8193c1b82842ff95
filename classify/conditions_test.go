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
	"c > (SELECT c_int FROM u LIMIT 2)", "c > (SELECT count(*) FROM u GROUP BY c_int)", "c = (SELECT c_int FROM u UNION SELECT 1)", "c IN (SELECT c_int FROM u)", "c NOT IN (SELECT c_text FROM u)", "(c, 1) IN (SELECT c_int, 1 FROM u)", "EXISTS (SELECT 1 FROM u WHERE u.c_int = c)", "NOT EXISTS (SELECT c FROM u)",
	"ARRAY(SELECT c_int FROM u) = c", "list_contains(list_transform([c], x -> x + 1), 2)", "c = 1 AND random() > 0", "c IS DISTINCT FROM 1", "c COLLATE nocase = 'x'", "starts_with(c, 'x')", "unnest([c]) = 1", "c = 1 AND (c = 2 AND (c = 3 OR c = 4))", "c AND c IS TRUE", "1 = 1", "1 / 0 = 1", "CAST('x' AS INTEGER) = 1", "true",
}

// places are statements with a condition, F, in each place where one may stand. Its column is of table t.
var places = []string{
	"SELECT 1 FROM t WHERE F", "SELECT F FROM t", "SELECT 1 FROM t LEFT JOIN u ON t.k = u.k WHERE F", "SELECT 1 FROM u LEFT JOIN t ON t.k = u.k WHERE F", "SELECT 1 FROM u FULL JOIN t ON t.k = u.k WHERE F", "SELECT 1 FROM t JOIN u ON F", "SELECT 1 FROM t LEFT JOIN u ON F",
	"SELECT 1 FROM u LEFT JOIN t ON F", "SELECT 1 FROM t RIGHT JOIN u ON F", "SELECT 1 FROM (SELECT * FROM t) t WHERE F", "SELECT 1 FROM (SELECT F AS f FROM t) s WHERE f", "SELECT 1 FROM (SELECT F AS f FROM t GROUP BY 1) s WHERE f = true", "SELECT count(*) FROM t GROUP BY k HAVING F",
	"SELECT 1 FROM t QUALIFY F", "SELECT k FROM t ORDER BY F", "SELECT sum(k) FILTER (WHERE F) FROM t", "SELECT sum(k) OVER (PARTITION BY F) FROM t", "SELECT 1 FROM u WHERE EXISTS (SELECT 1 FROM t WHERE F)", "SELECT F FROM t INTERSECT SELECT true FROM u", "SELECT F FROM t UNION ALL SELECT true FROM u", "WITH s AS (SELECT F AS f FROM t) SELECT 1 FROM s JOIN u ON s.f = u.c_bool",
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
		tables.declare(name + "(k BIGINT, " + strings.Join(columns, ", ") + ")")
	}
	var out strings.Builder
	out.WriteString("# Conditions over columns of table t: by place and by type of c. See conditions_test.go.\n")
	for _, form := range slices.Concat(expressionForms, moreForms) {
		fmt.Fprintf(&out, "\n%s\n", form)
		groups, order := map[string][]string{}, []string{}
		for i, place := range places {
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
