package printer_test

import (
	"errors"
	"testing"

	"gatehouse/classify"
	"gatehouse/classify/printer"
)

// The dialect of DataFusion spells types and constants so that they mean what they mean in DuckDB, and knows only what is on its lists.
func TestDataFusion(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"SELECT 1", `SELECT CAST(1 AS INT)`},
		{
			"SELECT id FROM b WHERE (SELECT b.k) = 1 AND (SELECT k) IN (SELECT k FROM a) AND (SELECT max(k) FROM a) = 1 AND k = (SELECT k FROM a)",
			`SELECT "id" FROM "b" WHERE ("b"."k" = CAST(1 AS INT)) AND ("k" IN (SELECT "k" FROM "a")) AND ((SELECT gw_sorted(max(gw_sortable("k"))) FROM "a") = CAST(1 AS INT)) ` +
				`AND ("k" = (SELECT "k" FROM "a"))`,
		},
		{"SELECT a FROM t WHERE a = (SELECT b LIMIT 0) AND a = (SELECT DISTINCT b) AND a = (SELECT b WHERE c)", `SELECT "a" FROM "t" WHERE ("a" = (SELECT "b" LIMIT 0)) AND ("a" = (SELECT DISTINCT "b")) AND ("a" = (SELECT "b" WHERE "c"))`},
		{"SELECT a.*, id FROM a JOIN b USING (id)", `SELECT "a".*, "id" FROM "a" INNER JOIN "b" USING ("id")`},
		{
			"SELECT 1 FROM o WHERE EXISTS (SELECT max(p.a) FROM p, (SELECT p.a FROM q AS p) x) AND EXISTS (SELECT 1 FROM p WHERE p.a = o.a AND p.b = (SELECT max(q.a) FROM q)) LIMIT 1",
			`SELECT CAST(1 AS INT) FROM "o" WHERE (EXISTS (SELECT gw_sorted(max(gw_sortable("p"."a"))) FROM "p", (SELECT "p"."a" FROM "q" AS "p") AS "x")) ` +
				`AND (EXISTS (SELECT CAST(1 AS INT) FROM "p" WHERE ("p"."a" = "o"."a") AND ("p"."b" = (SELECT gw_sorted(max(gw_sortable("q"."a"))) FROM "q")))) LIMIT 1`,
		},
		{"SELECT 3000000000", `SELECT 3000000000`},
		{"SELECT -2147483648, a, abs(-2147483648) FROM t", `SELECT -2147483648, "a", "gw_abs"(-2147483648) FROM "t"`},
		{"SELECT 7 * -2147483648, a * -2147483648, -2147483647 - 1 FROM t", `SELECT 7 * (-2147483648), "a" * (CAST(-2147483648 AS INT)), (CAST(-2147483647 AS INT)) - CAST(1 AS INT) FROM "t"`},
		{"SELECT max(a % -2147483648) + (7 // -2147483648) FROM t", `SELECT gw_sorted(max(gw_sortable(gw_mod("a", CAST(-2147483648 AS INT))))) + (gw_div(7, -2147483648)) FROM "t"`},
		{
			"SELECT coalesce(7, -2147483648, a), coalesce(7, a, -2147483648), coalesce(NULL, 7, -2147483648), ifnull(NULL, -2147483648) FROM t",
			`SELECT coalesce(7, -2147483648, "a"), coalesce(CAST(7 AS INT), "a", CAST(-2147483648 AS INT)), coalesce(NULL, CAST(7 AS INT), CAST(-2147483648 AS INT)), ` +
				`"coalesce"(NULL, -2147483648) FROM "t"`,
		},
		{
			"SELECT CASE WHEN a THEN -2147483648 WHEN b THEN 7 END, CASE WHEN a THEN 7 WHEN b THEN -2147483648 ELSE 5 END FROM t",
			`SELECT CASE WHEN "a" THEN -2147483648 WHEN "b" THEN 7 END, ` +
				`CASE WHEN "a" THEN CAST(7 AS INT) WHEN "b" THEN CAST(-2147483648 AS INT) ELSE CAST(5 AS INT) END FROM "t"`,
		},
		{
			"SELECT v.a, v.b FROM (VALUES (NULL, 7), (-2147483648, -2147483648), (1, 1)) v(a, b)",
			`SELECT "v"."a", "v"."b" FROM (VALUES (NULL, CAST(7 AS INT)), (-2147483648, CAST(-2147483648 AS INT)), (1, CAST(1 AS INT))) AS "v"("a", "b")`,
		},
		{"SELECT -1.50", `SELECT -1.50`},
		{"SELECT 99999999999999999999", `SELECT CAST(99999999999999999999. AS DECIMAL(38, 0))`},
		{"SELECT 0.123456789012345678901234567890123456789", `SELECT CAST('0.123456789012345678901234567890123456789' AS DOUBLE)`},
		{
			"SELECT lag(a IGNORE NULLS) OVER (ORDER BY b GROUPS 1 PRECEDING) FROM t",
			`SELECT "lag"("a") IGNORE NULLS OVER (ORDER BY "b" GROUPS 1 PRECEDING) FROM "t"`,
		},
		{"SELECT 1e3", `SELECT CAST('1e3' AS DOUBLE)`},
		{"SELECT a FROM t ORDER BY 1 LIMIT 2 OFFSET 3", `SELECT "a" FROM "t" ORDER BY 1 LIMIT 2 OFFSET 3`},
		{"SELECT a, count(*) FROM t GROUP BY 1", `SELECT "a", "count"(*) FROM "t" GROUP BY 1`},
		{"SELECT avg(a + 1) FROM t", `SELECT gw_quotient(sum("a" + CAST(1 AS INT)), count("a" + CAST(1 AS INT))) FROM "t"`},
		{"SELECT d - INTERVAL '90' DAY FROM t", `SELECT "d" - INTERVAL '90' DAY FROM "t"`},
		{
			"SELECT CAST(a AS DECIMAL), CAST(a AS DECIMAL(9, 2)), CAST(a AS TIMESTAMP) FROM t",
			`SELECT CAST("a" AS DECIMAL(18, 3)), CAST("a" AS DECIMAL(9, 2)), CAST("a" AS TIMESTAMP(6)) FROM "t"`,
		},
		{"SELECT substring(a, 1, 2), length(a) FROM t", `SELECT "gw_substr_3"("a", CAST(1 AS INT), CAST(2 AS INT)), "gw_length"("a") FROM "t"`},
		{
			"SELECT round(a, 2), round(a), extract(year FROM d), date_trunc('month', d) FROM t",
			`SELECT "gw_round_2"("a"), "gw_round_0"("a"), "gw_part_year"("d"), "gw_trunc_month"("d") FROM "t"`,
		},
		{"SELECT a % 2, a // 2, greatest(a, 2) FROM t", `SELECT gw_mod("a", CAST(2 AS INT)), gw_div("a", CAST(2 AS INT)), gw_greatest("a", CAST(2 AS INT)) FROM "t"`},
		{
			"SELECT avg(DISTINCT a) FILTER (WHERE a > 1) FROM t",
			`SELECT gw_quotient(sum(DISTINCT "a") FILTER (WHERE "a" > CAST(1 AS INT)), count(DISTINCT "a") FILTER (WHERE "a" > CAST(1 AS INT))) FROM "t"`,
		},
		{
			"SELECT max(a) OVER (PARTITION BY b ORDER BY c) FROM t",
			`SELECT gw_sorted(max(gw_sortable("a")) OVER (PARTITION BY "b" ORDER BY "c" RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)) FROM "t"`,
		},
		{
			"SELECT sum(a) OVER w FROM t WINDOW w AS (ORDER BY b ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING)",
			`SELECT "sum"("a") OVER "w" FROM "t" WINDOW "w" AS (ORDER BY "b" ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING)`,
		},
		{
			"SELECT a ~ 'x', a !~ 'x' AND true, a SIMILAR TO 'x', a NOT SIMILAR TO 'x', regexp_matches(a, 'x') FROM t",
			`SELECT gw_regexp_full("a", 'x'), (NOT gw_regexp_full("a", 'x')) AND TRUE, gw_regexp_full("a", 'x'), NOT gw_regexp_full("a", 'x'), "gw_regexp_matches"("a", 'x') FROM "t"`,
		},
		{"SELECT CAST(a || 'x' AS UUID), CAST('1' AS TIME) FROM t", `SELECT gw_to_uuid("a" || 'x'), gw_to_time('1') FROM "t"`},
		{"SELECT a, grouping(a) FROM t GROUP BY ROLLUP (a)", `SELECT "a", CAST(grouping("a") AS BIGINT) FROM "t" GROUP BY ROLLUP("a")`},
	} {
		got, err := printed(t, c.text)
		if err != nil || got != c.want {
			t.Errorf("%s:\n got %s, %v\nwant %s", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{
		"SELECT md5(a) FROM t", "SELECT max(DISTINCT a) FROM t", "SELECT round(a, b) FROM t", "SELECT current_date", "SELECT date_trunc(a, d) FROM t",
		"SELECT sum(a) OVER (GROUPS 1 PRECEDING) FROM t", "SELECT sum(a) OVER (ORDER BY b ROWS a PRECEDING) FROM t",
		"SELECT sum(a) OVER (ORDER BY b ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW) FROM t", "SELECT sum(a) OVER (w ORDER BY b) FROM t WINDOW w AS ()",
		"SELECT TRY_CAST(a AS INTEGER) FROM t", "SELECT [1, 2]", "SELECT CAST(a AS INTEGER[]) FROM t", "SELECT CAST(a AS UUID[]) FROM t",
		"SELECT 9223372036854775808", "SELECT d - to_days(3) FROM t", "SELECT regexp_matches(a, 'x', 'i') FROM t", "SELECT d + INTERVAL '1 day 2 hours' FROM t",
		"SELECT id FROM a RIGHT JOIN b USING (id)", "SELECT id FROM a FULL JOIN b USING (id)", "SELECT id FROM a NATURAL RIGHT JOIN b", "SELECT 1 FROM a NATURAL FULL JOIN b",
		"SELECT * FROM a JOIN b USING (id)", "SELECT 1 AS x, * FROM c, a NATURAL JOIN b",
		"SELECT 1 FROM o WHERE EXISTS (SELECT count(*) FROM p WHERE p.a = o.a)", "SELECT 1 FROM o WHERE o.a IN (SELECT p.a FROM p WHERE p.b = o.b LIMIT 1)",
		"SELECT 1 FROM o WHERE EXISTS (SELECT 1 FROM (SELECT max(p.a) OVER () FROM p, (SELECT 1 FROM q o) x WHERE p.a = o.a) y)", "SELECT 1 FROM o WHERE o.a NOT IN (SELECT p.a FROM p WHERE p.b = o.b)",
		"SELECT 1 FROM o WHERE EXISTS (SELECT p.a FROM p UNION ALL SELECT o.a)", "SELECT 1 FROM o WHERE o.a = ANY (SELECT unnest.a FROM range(3) t, unnest([o.b]) HAVING true)",
		"SELECT 1 FROM o WHERE NOT (o.a = 1 AND o.b IN (SELECT p.b FROM p))", "SELECT o.a IN (SELECT p.a FROM p) FROM o", "SELECT 1 FROM o WHERE o.a = 1 OR o.a NOT IN (SELECT p.a FROM p)",
		"SELECT 1 FROM o WHERE (SELECT max(p.a) FROM p WHERE p.b = o.b HAVING true) = 1", "SELECT 1 FROM o WHERE EXISTS (SELECT p.a FROM p WHERE p.b = o.b GROUP BY ROLLUP (p.a))",
		"SELECT * FROM generate_series(1, 3)", "SELECT CAST(a AS TIMESTAMPTZ) FROM t",
	} {
		got, err := printed(t, text)
		if _, ok := errors.AsType[*printer.UnknownError](err); !ok {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

func printed(t *testing.T, text string) (string, error) {
	t.Helper()
	s, err := classify.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return printer.PrintSelect(s.Tree(), printer.DataFusion())
}
