package classify

import (
	"strings"
	"testing"
)

// TestLikeBounds says which forms of LIKE there are. What they match is asked of the engine: executors/duckdb TestLike.
func TestLikeBounds(t *testing.T) {
	long := strings.Repeat("a", maxPattern)
	for _, c := range []struct {
		sql string
		ok  bool
	}{
		{"SELECT a LIKE 'x%y%z', a NOT ILIKE '%_x%_y%', a ~~ b, a !~~* 'x' FROM t", true},
		{"SELECT a LIKE '%" + long + "%' FROM t", true},
		{"SELECT a LIKE '" + long + "_%' FROM t", false},
		{"SELECT a LIKE '" + long + "_' FROM t", true},
		{"SELECT a LIKE 'x!%%y%' ESCAPE '!' FROM t", true},
		{"SELECT a LIKE '%x%y!' ESCAPE '!' FROM t", false},
		{"SELECT a LIKE '%x%y' ESCAPE 'é' FROM t", false},
		{"SELECT a LIKE b ESCAPE '!' FROM t", false},
		{"SELECT a LIKE '%x' ESCAPE b FROM t", false},
		{"SELECT a LIKE ? ESCAPE '!' FROM t", false},
		{"SELECT a LIKE '%x' ESCAPE ? FROM t", false},
		{"SELECT a ILIKE '%é!%%' ESCAPE '!' FROM t", false},
		{"SELECT a LIKE '%é!%%' ESCAPE '!' FROM t", true},
		{"SELECT a COLLATE nocase LIKE 'x%y%' FROM t", true},
		{"SELECT a COLLATE nocase LIKE '_%y%' FROM t", false},
		{"SELECT a LIKE b FROM t ORDER BY a COLLATE nocase", false},
		{"SELECT like_escape(a, 'x', '!') FROM t", false},
		{"SELECT ilike_escape(a, 'x', '!') FROM t", false},
		{"SELECT not_like_escape(a, 'x', '!') FROM t", false},
		{"SELECT not_ilike_escape(a, 'x', '!') FROM t", false},
		{"SELECT a ~~ like_escape('x', '!') FROM t", true}, // what the grammar makes of LIKE … ESCAPE
		{"SELECT a = like_escape('x', '!') FROM t", false},
	} {
		if _, err := Parse(c.sql); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.sql, err)
		}
	}
}

// TestCanonicalLike: an operator is what it stands for, so that what holds for LIKE holds for it.
func TestCanonicalLike(t *testing.T) {
	for op, word := range map[string]string{"~~": "LIKE", "!~~": "NOT LIKE", "~~*": "ILIKE", "!~~*": "NOT ILIKE"} {
		a, err := Parse("SELECT a " + op + " 'x%' FROM t")
		if err != nil {
			t.Fatal(err)
		}
		b, err := Parse("SELECT a " + word + " 'x%' FROM t")
		if err != nil || !EqualTrees(a.Tree(), b.Tree()) {
			t.Errorf("%s is not %s: %v", op, word, err)
		}
	}
}
