package duckdb

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gatehouse/classify"
)

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// printed returns what the engine gets for a statement.
func printed(t *testing.T, text string) string {
	t.Helper()
	s, err := classify.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	out, err := printSelect(s.Tree())
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

// TestLike compares LIKE as it is printed with the engine's own, over texts and patterns by chance: short ones, for which going
// back costs nothing.
func TestLike(t *testing.T) {
	x := open(t, Config{Threads: 1})
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(from []string, n int) string {
		var b strings.Builder
		for range r.IntN(n) {
			b.WriteString(from[r.IntN(len(from))])
		}
		return b.String()
	}
	letters := []string{"a", "a", "b", "A", "B", "\n", "é", "É", "ß", "ẞ", "İ", "€", "😀", "\\", ".", "*", "(", "[", "]", "^", "$", "|", "{2}", "?", "+", "%", "_", "!", "-", "'", " "}
	wild := append([]string{"%", "%", "%", "%", "%%", "_", "_", "_", "_"}, letters...)
	ascii := []string{"%", "%", "%", "_", "_", "!%", "!_", "!!", "!a", "a", "B", "\\", ".", "!(", "\n", "[", "%%"}
	changed := 0
	var queries []string
	for range 3000 {
		text, pattern := pick(letters, 8), pick(wild, 7)
		word := []string{"LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE"}[r.IntN(4)]
		form := quoted(pattern)
		switch r.IntN(4) {
		case 0:
			form = quoted(pick(ascii, 7)) + " ESCAPE '!'"
		case 1:
			form = "p"
		}
		queries = append(queries, fmt.Sprintf("SELECT v %s %s FROM (SELECT %s, %s) r(v, p)", word, form, quoted(text), quoted(pattern)))
	}
	queries = append(
		queries,
		"SELECT v LIKE p FROM (SELECT NULL::VARCHAR, 'a') r(v, p)", "SELECT v NOT ILIKE p FROM (SELECT 'a', NULL::VARCHAR) r(v, p)",
		"SELECT v LIKE NULL FROM (SELECT 'a') r(v)", "SELECT v NOT LIKE '%_%_' FROM (SELECT NULL::VARCHAR) r(v)",
	)
	for from := 0; from < len(queries); from += 300 {
		part := queries[from:min(from+300, len(queries))]
		var engine, ours []string
		for _, q := range part {
			out := printed(t, q)
			if strings.Contains(out, "regexp_full_match") {
				changed++
			}
			engine, ours = append(engine, "("+q+")"), append(ours, "("+out+")")
		}
		_, want := rows(t, x, "SELECT unnest(["+strings.Join(engine, ", ")+"])")
		_, got := rows(t, x, "SELECT unnest(["+strings.Join(ours, ", ")+"])")
		w, g := strings.Split(want[0], "|"), strings.Split(got[0], "|")
		for i, q := range part {
			if w[i] != g[i] {
				t.Errorf("%q\nis printed as %q\nand gives %s, not %s", q, printed(t, q), g[i], w[i])
			}
		}
	}
	if changed < 1000 {
		t.Errorf("only %d of %d became regular expressions", changed, len(queries))
	}
}

// TestPatternsEnd: a text of some kilobytes and several wildcards keep no thread for long. Most of these would not return within a day if the engine got
// them as they are written.
func TestPatternsEnd(t *testing.T) {
	x := open(t, Config{Threads: 2})
	for _, condition := range []string{
		"v LIKE '%_a%_a%_b'",
		"v NOT LIKE '%_a%_a%_a%_b%'",
		"v ILIKE '%_A%_a%_b'",
		"v ~~ '%_a%_a%_a%_b'",
		"v LIKE '%a!%%a%a%_b' ESCAPE '!'",
		"v ILIKE '%a%a%a%a%b' ESCAPE '!'",
		"v LIKE p",
		"v NOT ILIKE lower(p)",
		"v LIKE '%_a%_a' || '%_a%_b'",
		"v SIMILAR TO '%_a%_a%_b'",
		"regexp_matches(v, '^.*.a.*.a.*.a.*.b$', 's')",
		"regexp_matches(v, '(?s)^.*.a.*.a.*.a.*.b$')",
		"regexp_matches(v, '^.*.a.{0,}.a.*.a.{0,}.b$', 's')",
		"regexp_matches(v, '^.*.a.*.a' || '.*.a.*.b$', 's')",
	} {
		// 300 rows of their own, so that nothing is constant.
		text := printed(t, "SELECT count(*) FROM (SELECT repeat('a', 3000) || i, '%_a%_a%_a%_b' FROM range(300) r(i)) s(v, p) WHERE "+condition)
		s, err := x.raw(text, 0)
		if err != nil {
			t.Fatalf("%s: %v (%v)", condition, err, cause1(err))
		}
		start := time.Now()
		r, err := s.Execute(context.Background(), nil)
		if err != nil {
			t.Fatalf("%s: %v", condition, err)
		}
		got, err := drain(r)
		r.Release()
		want := "0"
		if strings.Contains(condition, "NOT") {
			want = "300"
		}
		if err != nil || got[0] != want {
			t.Errorf("%s: %v, %v", condition, got, err)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s took %v", condition, took)
		}
		_ = s.Close()
	}
}

// TestLongPattern: a pattern that is computed, and too long to be compiled for each row, is an error of its value.
func TestLongPattern(t *testing.T) {
	x := open(t, Config{Threads: 1})
	for size, ok := range map[int]bool{900: true, 1000: true, 1001: false, 5000: false} {
		text := printed(t, fmt.Sprintf("SELECT count(*) FROM (SELECT repeat('a', %d) || CASE WHEN i < 0 THEN 'x' ELSE '' END FROM range(3) r(i)) s(p) WHERE p LIKE p", size))
		s, err := x.raw(text, 0)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Execute(context.Background(), nil)
		if err == nil {
			_, err = drain(r)
			r.Release()
		}
		if (err == nil) != ok {
			t.Errorf("a pattern of %d: %v (%v)", size, err, cause1(err))
		}
		_ = s.Close()
	}
}
