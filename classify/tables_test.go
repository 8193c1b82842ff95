package classify

import (
	"slices"
	"strings"
	"testing"
)

// A table is found wherever a statement can name one, and a name that means a WITH item is none. What is not found is not
// governed, so that the engine must not see it either.
func TestTablesAreFoundEverywhere(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT 1": "", "SELECT * FROM a": "a", "SELECT * FROM a, b JOIN c ON b.x = c.x": "a b c", "SELECT (SELECT max(x) FROM a)": "a",
		"SELECT * FROM a WHERE x IN (SELECT x FROM b) AND EXISTS (SELECT 1 FROM c)": "a b c", "SELECT * FROM a GROUP BY (SELECT max(x) FROM b)": "a b",
		"SELECT x FROM a GROUP BY x HAVING x > (SELECT max(x) FROM b)": "a b", "SELECT * FROM a ORDER BY (SELECT max(x) FROM b)": "a b",
		"SELECT * FROM a LIMIT (SELECT max(x) FROM b) OFFSET (SELECT max(x) FROM c)": "a b c", "SELECT sum(x) OVER (ORDER BY (SELECT max(x) FROM b)) FROM a": "a b",
		"SELECT sum(x) OVER w FROM a WINDOW w AS (PARTITION BY (SELECT max(x) FROM b))": "a b", "SELECT sum(x) FILTER (WHERE x > (SELECT max(x) FROM b)) FROM a": "a b",
		"SELECT list(x ORDER BY (SELECT max(x) FROM b)) FROM a": "a b", "SELECT CASE WHEN (SELECT true FROM a) THEN (SELECT 1 FROM b) ELSE (SELECT 2 FROM c) END": "a b c",
		"SELECT * FROM a JOIN b ON a.x = (SELECT max(x) FROM c)": "a b c", "SELECT * FROM (SELECT * FROM a) s": "a", "SELECT * FROM a, LATERAL (SELECT * FROM b) s": "a b",
		"SELECT DISTINCT ON ((SELECT max(x) FROM b)) x FROM a": "a b", "VALUES ((SELECT max(x) FROM a))": "a", "SELECT * FROM range((SELECT max(x) FROM a))": "a",
		"SELECT x FROM a UNION SELECT x FROM b EXCEPT SELECT x FROM c": "a b c", "SELECT x FROM a UNION SELECT x FROM b ORDER BY (SELECT max(x) FROM c)": "a b c",
		"SELECT [(SELECT max(x) FROM a)], {'k': (SELECT max(x) FROM b)}": "a b", "SELECT x[(SELECT max(x) FROM b)] FROM a": "a b", "SELECT CAST((SELECT max(x) FROM a) AS VARCHAR)": "a",
		"SELECT coalesce((SELECT max(x) FROM a), greatest(1, (SELECT max(x) FROM b)))": "a b", "SELECT x = ANY (SELECT x FROM b) FROM a": "a b", "SELECT * FROM a QUALIFY row_number() OVER () = (SELECT max(x) FROM b)": "a b",
		"SELECT (SELECT true FROM a) IS TRUE, (SELECT 1 FROM b) IS NULL, NOT (SELECT true FROM c)": "a b c", "SELECT * REPLACE ((SELECT max(x) FROM b) AS x) FROM a": "a b",

		"WITH w AS (SELECT * FROM a) SELECT * FROM w": "a", "WITH w AS (SELECT * FROM a) SELECT * FROM W, b": "a b", "WITH a AS (SELECT * FROM a) SELECT * FROM a": "a",
		"WITH w AS (SELECT * FROM a), v AS (SELECT * FROM w, b) SELECT * FROM v": "a b", "WITH v AS (SELECT * FROM w), w AS (SELECT * FROM a) SELECT * FROM v, w": "w a",
		"SELECT * FROM (WITH w AS (SELECT * FROM a) SELECT * FROM w) s, w": "a w", "WITH w AS (SELECT 1) SELECT * FROM s.w": "s.w", "WITH w AS (SELECT 1) SELECT (SELECT 1 FROM w)": "",
		"WITH RECURSIVE w(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM w, a) SELECT * FROM w": "a", "WITH RECURSIVE w(n) AS (SELECT n FROM a UNION ALL SELECT n + 1 FROM w) SELECT * FROM w, b": "a b",
		"WITH RECURSIVE w(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM w ORDER BY (SELECT max(x) FROM a)) SELECT * FROM w":       "a",
		"WITH RECURSIVE w(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM w LIMIT (SELECT max(x) FROM a)) SELECT * FROM w":          "a",
		"WITH RECURSIVE w(n) AS (WITH v AS (SELECT * FROM a) SELECT 1 FROM v UNION ALL SELECT n + 1 FROM w, v) SELECT * FROM w": "a",
		"WITH RECURSIVE w AS (SELECT * FROM a) SELECT * FROM w":                                                                 "a",
	} {
		s, err := Parse(sql)
		if err != nil {
			// A form that is refused as a whole hides nothing, and the refusal must be one of ours.
			wantOurError(t, sql, err)
			t.Logf("%s: %v", sql, err)
			continue
		}
		var got []string
		for _, r := range s.Tables() {
			got = append(got, strings.Join(r.Parts, "."))
		}
		words := strings.Fields(want)
		slices.Sort(got)
		slices.Sort(words)
		if !slices.Equal(got, words) {
			t.Errorf("%s: %v, want %v", sql, got, words)
		}
	}
}
