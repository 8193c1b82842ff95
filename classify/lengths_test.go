package classify

import (
	"errors"
	"strings"
	"testing"
)

// TestLengths: what is searched for must be short, also where it is made elsewhere; columns, and what ordinary statements make of them, are.
func TestLengths(t *testing.T) {
	rels := map[string]Relation{"t": {Columns: []Column{{Name: "a", Type: "VARCHAR"}, {Name: "b", Type: "VARCHAR"}, {Name: "l", Type: "VARCHAR[]"}, {Name: "n", Type: "BIGINT"}}}}
	long, path := strings.Repeat("a", 1001), "WITH RECURSIVE r(id, p) AS (SELECT n, a FROM t UNION ALL SELECT t.n, r.p || '/' || t.a FROM r JOIN t ON t.n = r.id "
	for text, why := range map[string]string{
		"SELECT contains(a, b) FROM t":                                                                                            "",
		"SELECT contains(lower(a), lower(trim(b)) || '%' || n) FROM t":                                                            "",
		"SELECT position(b IN a), instr(a, $1), replace(a, b, ''), split(a, b) FROM t":                                            "",
		"SELECT contains(string_agg(a, ','), 'x') FROM t":                                                                         "",
		"SELECT contains(string_agg(a, ','), min(b)) FROM t":                                                                      "",
		"SELECT contains(list(n), 5) FROM t":                                                                                      "",
		"SELECT trim(a, ' -') FROM t":                                                                                             "",
		"SELECT list_filter(l, x -> contains(a, x)) FROM t":                                                                       "",
		"SELECT list_filter(string_split(a, ','), x -> contains(a, trim(x))) FROM t":                                              "",
		"SELECT list_filter(list(a), x -> contains(x, 'y')) FROM t":                                                               "",
		"WITH c AS (SELECT upper(a) u FROM t) SELECT contains(t.b, c.u) FROM c, t":                                                "",
		path + "WHERE NOT contains(r.p, t.a)) SELECT * FROM r":                                                                    "",
		"SELECT contains(a, (SELECT max(b) FROM t)) FROM t":                                                                       "",
		"SELECT contains(a, CASE WHEN n > 1 THEN 'x' ELSE b END) FROM t":                                                          "",
		"SELECT contains(a, x) FROM t, (VALUES ('one'), ('two')) v(x)":                                                            "",
		"SELECT contains(a, i::VARCHAR) FROM t, range(1000000) r(i)":                                                              "",
		"SELECT contains(a, u) FROM t, unnest(['x', 'y']) r(u)":                                                                   "",
		"SELECT contains(a, l[1]) FROM t":                                                                                         "",
		"SELECT contains(a, regexp_replace(b, '[^a-z]', '', 'g')) FROM t":                                                         "",
		"SELECT a LIKE '%" + long + "' FROM t":                                                                                    "LIKE",
		"SELECT a = '" + long + "', a LIKE '" + long + "%' FROM t":                                                                "",
		"SELECT contains(a, '" + long + "') FROM t":                                                                               "contains",
		"SELECT contains(a, repeat('a', 5000)) FROM t":                                                                            "contains",
		"SELECT contains(a, repeat(b, 500)) FROM t":                                                                               "contains",
		"SELECT instr(a, repeat('a', 5000) || 'b') FROM t":                                                                        "instr",
		"SELECT position(lower(repeat('a', 5000)) IN a) FROM t":                                                                   "position",
		"SELECT replace(a, lpad(b, 5000, 'a'), '') FROM t":                                                                        "replace",
		"SELECT split(a, repeat(b, 5000)) FROM t":                                                                                 "split",
		"SELECT trim(a, repeat(b, 5000)) FROM t":                                                                                  "trim",
		"SELECT contains(a, left(repeat(b, 5000), 100)) FROM t":                                                                   "",
		"SELECT contains(a, (SELECT string_agg(b, '') FROM t)) FROM t":                                                            "contains",
		"WITH c AS (SELECT string_agg(b, '') s FROM t) SELECT contains(a, s) FROM c, t":                                           "contains",
		"SELECT contains(a, x) FROM t, (VALUES ('one'), (repeat('a', 5000))) v(x)":                                                "contains",
		"SELECT contains(a, s) FROM t, (SELECT b AS s FROM t UNION ALL SELECT repeat(b, 5000) FROM t) u":                          "contains",
		path + "WHERE NOT contains(t.a, r.p)) SELECT * FROM r":                                                                    "contains",
		"SELECT contains(a, list_reduce(['x', b], (x, y) -> x || x || y)) FROM t":                                                 "contains",
		"SELECT list_filter([repeat('a', 5000)], x -> contains(a, x)) FROM t":                                                     "contains",
		"SELECT contains(a, u) FROM t, unnest([repeat('a', 5000), 'y']) r(u)":                                                     "contains",
		"SELECT contains(a, array_to_string(list(b), '')) FROM t":                                                                 "contains",
		"SELECT contains(a, replace(b, 'a', repeat('a', 5000))) FROM t":                                                           "contains",
		"SELECT contains(a, list(b)::VARCHAR) FROM t":                                                                             "contains",
		"SELECT contains(a, CASE WHEN n > 1 THEN 'x' ELSE repeat(b, 5000) END) FROM t":                                            "contains",
		"SELECT repeat(repeat('a', 10000), 10000) FROM t":                                                                         "repeat",
		"SELECT replace(repeat('a', 10000), 'a', repeat('b', 10000)) FROM t":                                                      "replace",
		"SELECT repeat(string_agg(a, ''), 10) FROM t":                                                                             "repeat",
		"SELECT replace(string_agg(a, ','), ',', '; ') FROM t":                                                                    "",
		"SELECT levenshtein(a, 'smith'), levenshtein(repeat(a, 100), 'smith') FROM t":                                             "",
		"SELECT levenshtein(repeat(a, 1000), 'smith') FROM t":                                                                     "levenshtein",
		"SELECT levenshtein(string_agg(a, ','), 'smith') FROM t":                                                                  "levenshtein",
		"SELECT levenshtein('smith'), regexp_matches('smith') FROM t":                                                             "",
		"SELECT regexp_matches(a, b), regexp_replace(a, '^' || b || '$', '') FROM t":                                              "",
		"SELECT regexp_matches(a, '^' || lower(regexp_escape(a)) || '|' || regexp_escape(b) || '$') FROM t":                       "",
		"SELECT a ~ translate(b, 'SAPC', '(((('), a ~ (replace(a, 'EU', 'x') || replace(replace(a, 'EU', ''), 'A', '('))  FROM t": "",
		"SELECT regexp_matches(a, repeat(b, 500)) FROM t":                                                                         "regexp_matches",
		"SELECT regexp_matches(a, '^[ab]{1,64}@[a-z.]{1,255}$') FROM t":                                                           "",
		"SELECT regexp_matches(repeat(a, 5000), '[ab]*a[ab]{1000}') FROM t":                                                       "regexp_matches",
		"SELECT repeat(a, 5000) SIMILAR TO '[ab]*a[ab]{1000}' FROM t":                                                             "SIMILAR",
		"SELECT repeat(a, 5000) ~ '[ab]*a[ab]{1000}' FROM t":                                                                      "operator ~",
		"SELECT a !~ repeat(b, 500) FROM t":                                                                                       "operator !~",
		"SELECT a SIMILAR TO 'a{1,20}', a ~ b FROM t":                                                                             "",
		"SELECT regexp_replace(string_agg(a, ','), ',+$', '') FROM t":                                                             "",
		"SELECT list_transform(l, x -> contains(a, x) OR n > 5) FROM t":                                                           "",
		"SELECT list_transform(l, x -> list_transform(string_split(x, ','), y -> length(x) + length(y))) FROM t":                  "",
		"SELECT list_filter(l, x -> levenshtein(x, 'smith') < 3 OR regexp_matches(x, b)) FROM t":                                  "",
		"SELECT list_filter(range(100), x -> regexp_matches(a, '^a+$')), list_transform(list(a), x -> lower(trim(x))) FROM t":     "",
		"SELECT list_transform(range(1000), x -> levenshtein(a || x, 'smith')) FROM t":                                            "lambda",
		"SELECT list_transform(range(1000), x -> regexp_matches(a, 'a' || x)) FROM t":                                             "lambda",
		"SELECT list_transform(range(1000), x -> length(repeat('a' || x, 5000))) FROM t":                                          "lambda",
		"SELECT list_transform(list(a), x -> damerau_levenshtein(x, 'smith')) FROM t":                                             "lambda",
		"SELECT list_transform([" + strings.Repeat("1, ", 500) + "1], x -> list_transform([" + strings.Repeat("1, ", 500) + "1], y -> levenshtein(y::VARCHAR || x, 'smith'))) FROM t": "lambda",
		"SELECT list_transform(list_filter(list(a), x -> x > 'm'), y -> levenshtein(y, 'smith')) FROM t":                                                                              "lambda",
		"SELECT list_transform(list_filter(l, x -> x > 'm'), y -> levenshtein(y, 'smith')) FROM t":                                                                                    "",
		"SELECT list_transform(range(1000), x -> contains('" + long + "' || x, 'b')) FROM t":                                                                                          "lambda",
		"SELECT list_filter(range(1000), x -> regexp_matches(a || x, '[ab]*a[ab]{1000}')) FROM t":                                                                                     "lambda",
		"SELECT list_filter(list(a), x -> regexp_matches(x, '^[a-z]{1,32}@[a-z.]+$')) FROM t":                                                                                         "",
		"SELECT list_filter(list(n), x -> list_contains([" + strings.Repeat("1, ", 500) + "1], x)) FROM t":                                                                            "",
		"SELECT damerau_levenshtein(repeat(a, 100), '" + long[:200] + "') FROM t":                                                                                                     "damerau",
		"SELECT list_transform(list(a), x -> length(x)), list_reduce(l, (x, y) -> x || y) FROM t":                                                                                     "",
		"SELECT list_transform([repeat(a, 9000), repeat(b, 9000)], x -> list_transform(l, y -> length(x || y))) FROM t":                                                               "lambda",
		"WITH c AS (SELECT string_agg(b, '') s FROM t) SELECT list_transform(l, x -> length(s)) FROM c, t":                                                                            "lambda",
	} {
		s, err := Parse(text)
		if err != nil {
			t.Errorf("%.200s: %v", text, err)
			continue
		}
		var seen []Relation
		for _, ref := range s.Tables() {
			seen = append(seen, rels[ref.Parts[len(ref.Parts)-1]])
		}
		_, err = s.Bind(seen)
		if u, refused := errors.AsType[*UnsupportedError](err); err != nil && !refused || (why == "") != (err == nil) || refused && !strings.Contains(u.Construct, why) {
			t.Errorf("%.200s: %v, want %q", text, err, why)
		}
	}
}
