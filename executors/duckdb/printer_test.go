package duckdb_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"
	"github.com/google/go-cmp/cmp"

	"gatehouse/classify"
	"gatehouse/classify/printer"
)

// TestPrintedTextMeansTheSame asks DuckDB's own parser: the printed text of each statement must have the same syntax tree
// as the user's text, but for positions and for spellings that DuckDB itself folds later.
func TestPrintedTextMeansTheSame(t *testing.T) {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	queries := map[string]string{}
	files, err := filepath.Glob(filepath.Join("..", "..", "classify", "testdata", "queries", "*", "*.sql"))
	if err != nil || len(files) < 164 {
		t.Fatalf("%d query files: %v", len(files), err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		queries[filepath.Base(filepath.Dir(f))+"/"+filepath.Base(f)] = string(text)
	}
	for _, q := range dialectQueries {
		queries[q] = q
	}
	for name, text := range queries {
		t.Run(name, func(t *testing.T) {
			s, err := classify.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			out, err := printer.PrintSelect(s.Tree(), printer.DuckDB())
			if err != nil {
				t.Fatal(err)
			}
			want, got := serialize(t, db, text), serialize(t, db, out)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("another tree in DuckDB\nprinted %s\n%s", out, diff)
			}
		})
	}
}

// dialectQueries are written so that DuckDB reads the original too.
var dialectQueries = []string{
	`SELECT CAST(a AS STRUCT(a INT, "B c" VARCHAR[], s STRUCT(x FLOAT))), b::MAP(VARCHAR, DECIMAL(10, 2))[], TRY_CAST(c AS MAP(INT, STRUCT(y DATE))[3]) FROM t`,
	"SELECT count(*) FILTER (a > 1), lag(a IGNORE NULLS) OVER (ORDER BY b), last_value(a RESPECT NULLS) OVER w FROM t WINDOW w AS (ORDER BY b)",
	"SELECT first_value(a IGNORE NULLS) OVER (PARTITION BY (c)[1] ORDER BY b) FROM t GROUP BY (c)[1:2]",
	"SELECT a, SUM(Foo) FROM T WHERE x = ? AND y IN (1,2,3) GROUP BY ALL ORDER BY ALL DESC",
	"FROM t SELECT a, b WHERE c > 1",
	"FROM lake.main.t",
	"SELECT * EXCLUDE (a) REPLACE (b + 1 AS b) FROM t",
	"SELECT t.* EXCLUDE a, * RENAME (b AS c) FROM t QUALIFY row_number() OVER (PARTITION BY a ORDER BY b) = 1",
	"SELECT list_transform(l, lambda x: x + 1), [1,2,3][1], {'a': 1}.a, array_agg(x)[1] FROM t",
	"SELECT INTERVAL 90 DAY, INTERVAL '90 days', INTERVAL (x) DAYS, TRY_CAST(a AS FLOAT), a // b, a ** 2, a == b, a != b FROM t",
	"SELECT 6+1//2, 2*3//4, -a//b, a//b*c FROM t",
	"SELECT count(*) FILTER (WHERE x > 1), extract(year FROM d), d AT TIME ZONE 'UTC', substring(a FROM 1 FOR 2), a LIKE 'x' ESCAPE '!' FROM t",
	"SELECT (SELECT max(a) FROM u) + 1, EXISTS (SELECT 1), a IN (SELECT 1), a = ANY (SELECT 1), row(1,2) = (1,2) FROM t",
	"SELECT sum(a) OVER w FROM t WINDOW w AS (PARTITION BY b ROWS BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING) QUALIFY sum(a) OVER w > 1",
	"SELECT sum(a) OVER (ORDER BY b RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW EXCLUDE TIES) FROM t",
	"SELECT a, b, GROUPING(a) FROM t GROUP BY GROUPING SETS ((a, b), (a), ()), ROLLUP (c, d), CUBE (e)",
	"SELECT a FROM t AS x(a,b) LEFT JOIN LATERAL (SELECT 1) y ON true NATURAL JOIN z CROSS JOIN w FULL JOIN v USING (k)",
	"SELECT MAP {'a': 1, 'b': 2}, {a: 1}, [], list_filter(l, lambda x, i: x > i) FROM t",
	"SELECT a ->> '$.b', -5, - -5, -(-a), 1e5, .5, 'it''s', E'a\\nb', $$x$$, NULL, TRUE FROM t",
	`SELECT "Foo".bar, foo."Bar baz", count(DISTINCT x) FROM s."T" AS Foo`,
	"SELECT nullif(a, b), greatest(a,b), coalesce(a, b), now(), a IS DISTINCT FROM b, a NOT BETWEEN 1 AND 2, a SIMILAR TO 'x', a ~ 'b' FROM t",
	"SELECT current_date, current_timestamp, localtime, localtimestamp",
	"SELECT string_agg(a, ',' ORDER BY b DESC NULLS LAST), percentile_cont(0.5) WITHIN GROUP (ORDER BY a) FROM t",
	"SELECT mode() WITHIN GROUP (ORDER BY a), ARRAY[1,2], a[1:2], s.x.y, (s).z, trim(BOTH 'x' FROM a), position('a' IN b) FROM t",
	"SELECT CAST(a AS decimal(10,2)[]), a::text, DATE '2020-01-01', TIMESTAMP '2020-01-01', a::timestamp with time zone, a::uinteger, a::float FROM t",
	"SELECT DISTINCT ON (a, b) a, b FROM t ORDER BY a LIMIT 10 OFFSET 5",
	"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5), m AS MATERIALIZED (SELECT 1) SELECT * FROM r, m",
	"(SELECT 1 UNION SELECT 2) INTERSECT (SELECT 2 EXCEPT ALL SELECT 3) ORDER BY 1",
	"SELECT 1 UNION ALL SELECT 2 UNION SELECT 3 INTERSECT SELECT 4",
	"VALUES (1, 'a'), (2, 'b')",
	"SELECT * FROM (VALUES (1, 2)) v(a, b), unnest([1, 2]) u(x), range(5) r, generate_series(1, 3)",
	"SELECT struct_pack(a := 1, b := 2), CASE a WHEN 1 THEN 2 ELSE 3 END, CASE WHEN a THEN b END FROM t",
	`SELECT "pivot", "qualify", "asof", "select" FROM "semi" AS "anti"`,
	"SELECT a COLLATE NOCASE, NOT a, a IS NULL, a IS NOT TRUE, a AND b OR c AND NOT d FROM t",
	"SELECT x.a FROM (t AS y JOIN u ON y.a = u.a) JOIN (v JOIN w USING (b)) ON v.c = y.c, LATERAL (SELECT y.a) x",
	"SELECT a, FROM t WHERE a IN (1, 2) GROUP BY a,",
	"SELECT lag(a, 1) OVER (PARTITION BY b ORDER BY c), first_value(a) OVER w2 FROM t WINDOW w2 AS (ORDER BY a)",
	"SELECT -2 ^ 2, a ^ b ^ c, a ** b * c, a % b * c, a || b + c, NOT a = b, a + b < c * d, a & b | c, a << 1 + b, -a::int, a::int::text FROM t",
	"SELECT a IS NULL = b, a LIKE b || c, a BETWEEN b AND c AND d, NOT a IN (1), a = b IS NULL, a <> b IS NOT NULL FROM t",
	"SELECT d AT TIME ZONE 'a' AT TIME ZONE 'b', - d AT TIME ZONE 'a', a || b || c, a - b - c, a / b / c, (a, b) < (c, d) FROM t",
	"SELECT a FROM t WHERE a LIKE 'x%' AND b NOT ILIKE '%y' AND c NOT IN (SELECT d FROM u) AND e <> ALL (SELECT f FROM v)",
}

// serialize returns DuckDB's syntax tree of a SELECT without positions.
func serialize(t *testing.T, db *sql.DB, text string) any {
	t.Helper()
	var out string
	if err := db.QueryRow("SELECT json_serialize_sql($1::VARCHAR)::VARCHAR", text).Scan(&out); err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal([]byte(out), &tree); err != nil {
		t.Fatal(err)
	}
	if tree["error"] != false {
		t.Fatalf("DuckDB does not read %s: %v", text, tree["error_message"])
	}
	return strip(tree)
}

// strip removes positions, and folds the spellings that DuckDB itself treats alike: special syntax names its functions with
// the schema main, and INTERVAL '1' DAY is a call of to_days.
func strip(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "query_location")
		if i := interval(v); i != "" {
			return "INTERVAL " + i
		}
		if v["class"] == "FUNCTION" && v["schema"] == "main" {
			v["schema"] = ""
		}
		if v["function_name"] == "**" {
			v["function_name"] = "^"
		}
		for k, x := range v {
			v[k] = strip(x)
		}
	case []any:
		for i, x := range v {
			v[i] = strip(x)
		}
	}
	return v
}

// interval returns the interval that a node builds from a constant, such as "90 day"; "" for other nodes.
func interval(v map[string]any) string {
	if name, _ := v["function_name"].(string); strings.HasPrefix(name, "to_") {
		if c := constantIn(v["children"]); c != "" {
			return c + " " + strings.TrimSuffix(strings.TrimPrefix(name, "to_"), "s")
		}
	}
	if t, _ := v["cast_type"].(map[string]any); t["id"] == "INTERVAL" {
		return constantIn(v["child"])
	}
	return ""
}

// constantIn returns the constant below casts and trunc.
func constantIn(v any) string {
	switch v := v.(type) {
	case []any:
		if len(v) == 1 {
			return constantIn(v[0])
		}
	case map[string]any:
		switch {
		case v["class"] == "CONSTANT":
			return fmt.Sprint(v["value"].(map[string]any)["value"])
		case v["class"] == "CAST":
			return constantIn(v["child"])
		case v["function_name"] == "trunc":
			return constantIn(v["children"])
		}
	}
	return ""
}
