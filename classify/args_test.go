package classify_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gatehouse/classify"
	"gatehouse/classify/printer"
)

// TestWithArgs: what a statement reads like with values in it, and which values are left to bind.
func TestWithArgs(t *testing.T) {
	for _, c := range []struct {
		text string
		args []any
		want string
		left string
	}{
		{"SELECT a FROM t WHERE id = ?", []any{int64(7)}, "SELECT a FROM t WHERE id = 7", "[]"},
		{"SELECT a FROM t WHERE ? < id", []any{int64(-5_000_000_000)}, "SELECT a FROM t WHERE (-5000000000) < id", "[]"},
		{"SELECT a FROM t WHERE s = $1 OR s LIKE $1", []any{"x' OR 1=1 --"}, "SELECT a FROM t WHERE (s = 'x'' OR 1=1 --') OR (s LIKE 'x'' OR 1=1 --')", "[]"},
		{"SELECT a FROM t WHERE d BETWEEN ? AND ?", []any{classify.Date("2020-01-31"), nil}, "SELECT a FROM t WHERE d BETWEEN CAST('2020-01-31' AS DATE) AND NULL", "[]"},
		{"SELECT a FROM t WHERE id IN (?, ?) AND b = ?", []any{int64(1), 1.5, true}, "SELECT a FROM t WHERE (id IN (1, $1)) AND (b = TRUE)", "[1]"},
		// The type of a parameter that can be seen in the result stays that of the parameter.
		{"SELECT ?, a FROM t WHERE id = ?", []any{int64(1), int64(2)}, "SELECT CAST(1 AS VARCHAR), a FROM t WHERE id = 2", "[]"},
		{"SELECT $1, a FROM t WHERE id = $1 AND s = $2 LIMIT $3", []any{int64(1), "x", int64(9)}, "SELECT CAST(1 AS VARCHAR), a FROM t WHERE (id = 1) AND (s = 'x') LIMIT $1", "[2]"},
		{"SELECT CAST(? AS BIGINT) FROM t WHERE id + 1 = ?", []any{"12", int64(2)}, "SELECT CAST('12' AS BIGINT) FROM t WHERE (id + 1) = $1", "[1]"},
		{"SELECT a FROM t WHERE s = ? AND s LIKE ?", []any{"a\x00", int64(1)}, "SELECT a FROM t WHERE (s = $1) AND (s LIKE $2)", "[0 1]"},
		{"SELECT a FROM t WHERE d = ?", []any{classify.Date("12020-01-31")}, "SELECT a FROM t WHERE d = $1", "[0]"},
	} {
		s, err := classify.Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		before, _ := printer.PrintSelect(s.Tree(), printer.DuckDB())
		bound, left, err := s.WithArgs(c.args)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		got, err := printer.PrintSelect(bound.Tree(), printer.DuckDB())
		if err != nil || got != c.want || fmt.Sprint(left) != c.left || bound.Params() != len(left) {
			t.Errorf("%s\ngot  %s %v %v\nwant %s %s", c.text, got, left, err, c.want, c.left)
		}
		if err := printer.Verify(bound.Tree(), got); err != nil {
			t.Errorf("%s: %v", got, err)
		}
		if after, _ := printer.PrintSelect(s.Tree(), printer.DuckDB()); after != before || bound.Hash() != s.Hash() || bound.Text() != c.text {
			t.Errorf("%s: the statement itself changed", c.text)
		}
	}
	s, err := classify.Parse("SELECT a FROM t WHERE id = ?")
	if err != nil {
		t.Fatal(err)
	}
	var unsupported *classify.UnsupportedError
	if _, _, err := s.WithArgs(nil); !errors.As(err, &unsupported) {
		t.Errorf("no values: %v", err)
	}
}

// TestWithArgsNeedsNoBarrier: a look-up by parameter is weighed like one by a literal once its value is known.
func TestWithArgsNeedsNoBarrier(t *testing.T) {
	table := classify.Relation{Columns: []classify.Column{{Name: "id", Type: "BIGINT"}, {Name: "s", Type: "VARCHAR"}}}
	s, err := classify.Parse("SELECT s FROM t WHERE id = ? AND s LIKE ?")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"parameter": true, "value": false} {
		bound := s
		if name == "value" {
			if bound, _, err = s.WithArgs([]any{int64(3), "x%"}); err != nil {
				t.Fatal(err)
			}
		}
		b, err := bound.Bind([]classify.Relation{table})
		if err != nil {
			t.Fatal(err)
		}
		if b.Raises(0) != want {
			t.Errorf("%s: raises %v", name, b.Raises(0))
		}
		for _, c := range b.Conjuncts(0) {
			if c.Raises != want {
				t.Errorf("%s: conjunct raises %v", name, c.Raises)
			}
		}
	}
}

// TestWithArgsMeasures: what is left to bind counts with its length, whatever it is sent as.
func TestWithArgsMeasures(t *testing.T) {
	table := classify.Relation{Columns: []classify.Column{{Name: "a", Type: "VARCHAR"}}}
	s, err := classify.Parse("SELECT contains(a, ?) FROM t")
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]string{1000: "", 1001: "unsupported: contains: what is searched for may be longer than 1000 bytes (at character 8)"} {
		for _, v := range []any{strings.Repeat("\x00", n), make([]byte, n)} {
			bound, left, err := s.WithArgs([]any{v})
			if err != nil || len(left) != 1 {
				t.Fatalf("%T: %v, left are %v", v, err, left)
			}
			if _, err = bound.Bind([]classify.Relation{table}); err == nil && want != "" || err != nil && err.Error() != want {
				t.Errorf("%T of %d bytes: %v, want %q", v, n, err, want)
			}
		}
	}
}
