package classify_test

import (
	"testing"

	"gatehouse/classify"
)

// A column that cannot be named has no part in what a statement means; where something stands for all columns, every one has.
func TestMentions(t *testing.T) {
	for text, want := range map[string]bool{
		`SELECT id FROM t`:                                             false,
		`SELECT secret FROM t`:                                         true,
		`SELECT t.secret FROM t`:                                       true,
		`SELECT SECRET FROM t`:                                         true,
		`SELECT "Secret" FROM t`:                                       true,
		`SELECT id FROM t WHERE "seCret" = 1`:                          true,
		`SELECT id FROM t ORDER BY secret`:                             true,
		`SELECT id FROM t GROUP BY id HAVING max(secret) > 1`:          true,
		`SELECT id FROM t WHERE id IN (SELECT id FROM u WHERE secret)`: true,
		`SELECT id FROM t WINDOW w AS (PARTITION BY secret)`:           true,
		`SELECT * FROM t`:                                              true,
		`SELECT t.* FROM t`:                                            true,
		`SELECT * EXCLUDE (id) FROM t`:                                 true,
		`SELECT id FROM (SELECT * FROM t)`:                             true,
		`WITH x AS (SELECT * FROM t) SELECT id FROM x`:                 true,
		`SELECT count(*) FROM t`:                                       false,
		`SELECT count(t) FROM t`:                                       true,
		`SELECT t FROM t`:                                              true,
		`SELECT a FROM t AS a`:                                         true,
		`SELECT id FROM t AS a`:                                        false,
		`SELECT x FROM t AS a(x)`:                                      true,
		`SELECT id FROM t NATURAL JOIN u`:                              true,
		`SELECT id FROM t JOIN u USING (secret)`:                       true,
		`SELECT id FROM t JOIN u USING (id)`:                           false,
		`SELECT id FROM t WHERE name = 'secret'`:                       true,
		`SELECT 1 AS secret`:                                           false,
		`TABLE t`:                                                      true,
	} {
		s, err := classify.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := s.Mentions()("secret"); got != want {
			t.Errorf("%s: secret is mentioned: %t, want %t", text, got, want)
		}
	}
}
