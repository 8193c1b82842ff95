package classify

import (
	"fmt"
	"strings"
	"testing"
)

// chain is a statement of n CTEs, each of which reads the one before twice.
func chain(n int, how string) string {
	var b strings.Builder
	b.WriteString("WITH a0 AS " + how + " (SELECT id FROM t)")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, ", a%d AS %s (SELECT p.id FROM a%d p JOIN a%d q ON p.id = q.id)", i, how, i-1, i-1)
	}
	return b.String() + fmt.Sprintf(" SELECT count(*) FROM a%d", n-1)
}

// TestExpansions refuses what the engine would write out into very many tables, and nothing that it computes once.
func TestExpansions(t *testing.T) {
	for _, c := range []struct {
		what, sql string
		ok        bool
	}{
		{"a short chain", chain(6, "NOT MATERIALIZED"), true},
		{"a long chain", chain(16, "NOT MATERIALIZED"), false},
		{"a chain of very many", chain(200, "NOT MATERIALIZED"), false},
		{"a long chain that is computed once each", chain(40, "MATERIALIZED"), true},
		{"a long chain of which nothing is said", chain(40, ""), true},
		{"inside a subquery", "SELECT * FROM (" + chain(16, "NOT MATERIALIZED") + ") s", false},
		{"in an expression", "SELECT (" + chain(16, "NOT MATERIALIZED") + ")", false},
		{"in a WITH of its own", "WITH o AS NOT MATERIALIZED (" + chain(6, "NOT MATERIALIZED") + "), p AS NOT MATERIALIZED (SELECT * FROM o, o x, o y, o z) SELECT * FROM p, p q", false},
		{"many mentions of one", "WITH a AS NOT MATERIALIZED (SELECT id FROM t) SELECT 1 FROM a" + strings.Repeat(", a", 99), true},
		{"too many mentions of one", "WITH a AS NOT MATERIALIZED (SELECT id FROM t) SELECT 1 FROM a" + strings.Repeat(" CROSS JOIN a", 260), false},
	} {
		if _, err := Parse(c.sql); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}
