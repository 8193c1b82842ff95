package classify

import "testing"

// TestBounds refuses calls that make a result of any size in one step; each kind has one that is allowed.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		sql string
		ok  bool
	}{
		{"SELECT repeat(a, 100) FROM t", true},
		{"SELECT repeat(a, -1) FROM t", true},
		{"SELECT repeat('x', 1000000000)", false},
		{"SELECT repeat('x', 1e9)", false},
		{"SELECT repeat('x', b) FROM t", false},
		{"SELECT repeat('x', 5000 * 5000)", false},
		{"SELECT repeat('x', ?)", false},
		{"SELECT lpad(a, 10, '0'), rpad(a, 10, '0') FROM t", true},
		{"SELECT lpad(a, 1000000000, '0') FROM t", false},
		{"SELECT rpad(a, b, '0') FROM t", false},
		{"SELECT list_resize(a, 5) FROM t", true},
		{"SELECT list_resize(a, 100000000) FROM t", false},
		{"SELECT array_resize(a, b) FROM t", false},
		{"SELECT bitstring('1', 1000000000)", false},
		{"SELECT * FROM range(1000000000000)", true},
		{"SELECT * FROM t, generate_series(1, t.a)", true},
		{"SELECT len(range(10)), generate_series(1, 100, 5), range(10, 0, -1)", true},
		{"SELECT len(range(1000000000))", false},
		{"SELECT len(range(a)) FROM t", false},
		{"SELECT len(generate_series(-1000000, 1000000))", false},
		{"SELECT * FROM unnest(range(1000000000))", false},
		{"SELECT * FROM range(len(range(1000000000)))", false},
		{"SELECT unnest(range(1, 1000000000))", false},
		{"SELECT printf('%05d %s', a, b), format('{:>10} {}', a, b) FROM t", true},
		{"SELECT printf('%1000000000d', 1)", false},
		{"SELECT printf('%*d', 1000000000, 1)", false},
		{"SELECT format('{:1000000000d}', 1)", false},
		{"SELECT format('{:{}}', 1, 1000000000)", false},
		{"SELECT format(a, 1) FROM t", false},
		{"SELECT levenshtein(a, 'smith'), jaro_similarity('smith', a) FROM t", true},
		{"SELECT levenshtein(a, b) FROM t", false},
		{"SELECT damerau_levenshtein(a, a) FROM t", false},
	} {
		if _, err := Parse(c.sql); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.sql, err)
		}
	}
}
