package ballista

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gatehouse/executors"
	"gatehouse/executors/executortest"
	"gatehouse/policy"
)

// TestPatterns compares regular expressions of both executors over texts that they could take apart in different ways: those of a list, and made
// ones. Others than plain ones are refused.
func TestPatterns(t *testing.T) {
	p := newProber(t)
	hidden := executortest.Policy{"spark.v2_many_row_groups": {ID: "d", Filters: []policy.Expression{{ID: "f", SQL: "id <> " + p.ids[1]}}}}
	r := rand.New(rand.NewPCG(1, 2))
	texts := strings.Split(`|a|b|ab|aab|abab|abc|a.c|a b|A|Ab1|12|1234-x|x_1|-|[x]|a|b|aaa|ä|aäb|日本|🦆|é|aA0 _|x+y|(a)|^a$|\|foo@bar.eu|2024-01-02|`, "|")
	texts = append(texts, "a\nb", "\n", "a\n", "\na", "a\tb", "a\vb", "a\fb", "a\u00a0b", "a\u2003b", "٣", "ſ", "K", "e\u0301", "|", "a|b", "a\r\n", strings.Repeat("ab", 60))
	var cases strings.Builder
	for i, s := range texts {
		fmt.Fprintf(&cases, " WHEN %s THEN '%s'", p.ids[i], s)
	}
	from := " FROM (SELECT id, CASE id" + cases.String() + " END AS s FROM spark.v2_many_row_groups) t"
	patterns := []string{
		"a", "^a", "a$", "^a$", ".", "^.$", "^.*$", "a.b", "^a.b$", "[^a]", "^[^a]$", `\d`, `^\d+$`, `\D`, `\w`, `^\w+$`, `\W`, `\s`, `^\S+$`, `a\sb`, `[\s\d]`, `[^\w]`,
		"(a|b)+", "^(ab)*$", "^(?:ab)+?$", "a{2}", "^a{1,2}b?$", "x|^$", `\.`, `\|`, `[.]`, "[|]", "ä", "^.ä", "[ä]", "日", "a*", "(a*)+", "(a*)*b", "^(a|ab)(c|bcd)?$", `^\S+@\S+\.eu$`,
		`^\d{4}-\d\d-\d\d$`, "[a-c]+[0-9]?", `[+\-]`, "[a-]", `\(a\)`, `\^a\$`, `\\`,
	}
	atoms := []string{"a", "b", "ä", ".", "[ab]", "[^a]", `\d`, `\w`, `\s`, `\.`, "1", " ", "(?:a|b)", "(ab|a)", "^", "$"}
	for range 60 {
		var b strings.Builder
		for range 1 + r.IntN(5) {
			atom := atoms[r.IntN(len(atoms))]
			b.WriteString(atom)
			if atom != "^" && atom != "$" {
				b.WriteString([]string{"", "", "", "*", "+", "?", "*?", "+?"}[r.IntN(8)])
			}
		}
		patterns = append(patterns, b.String())
	}
	for len(patterns) > 0 {
		n := min(len(patterns), 6)
		text := "SELECT id"
		for i, pattern := range patterns[:n] {
			text += fmt.Sprintf(", regexp_matches(s, '%s') AS m%d, s ~ '%s' AS f%d, s NOT SIMILAR TO '%s' AS n%d", pattern, i, pattern, i, pattern, i)
			text += fmt.Sprintf(", regexp_replace(s, '%s', '<$1\\0>') AS r%d, regexp_replace(s, '%s', '-', 'g') AS l%d, regexp_extract(s, '%s') AS e%d", pattern, i, pattern, i, pattern, i)
			if strings.HasPrefix(pattern, "(") && !strings.HasPrefix(pattern, "(?") {
				text += fmt.Sprintf(", regexp_extract(s, '%s', 1) AS g%d, regexp_replace(s, '%s', '\\1-\\1') AS h%d", pattern, i, pattern, i)
			}
		}
		if !alike(t, p.alone, p.local, text+from, hidden) {
			t.Errorf("%q: no rows", patterns[:n])
		}
		patterns = patterns[n:]
	}
	masked := executortest.Policy{"spark.strings": {ID: "d", Masks: map[string]policy.Expression{"s": {ID: "m", SQL: `regexp_replace(s, '^.*(..)$', 'X-\1')`}}}}
	if !alike(t, p.alone, p.local, "SELECT id, s FROM spark.strings WHERE s ~ 'X.*'", masked) {
		t.Error("a mask shows nothing")
	}
	for _, pattern := range []string{`\ba`, `(?i)a`, `\pL`, "[[:alpha:]]", "a{51}", "(a{2}){3}", `\x41`, `a\Z`, "(?s)a.b", "[a&&b]"} {
		_, err := p.alone.Rows(t.Context(), "SELECT regexp_matches(s, '"+pattern+"') AS x"+from, hidden)
		if err == nil || kindIs(err) != executors.KindUnsupported && kindIs(err) != executors.KindArgument {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	for _, call := range []string{"regexp_matches(s, s)", "regexp_matches(s, 'a', 'i')", "regexp_replace(s, 'a', 'b', 'i')", "regexp_replace(s, 'a', s)", `regexp_replace(s, 'a', '\1')`, "s ~ (s || 'a')"} {
		_, err := p.alone.Rows(t.Context(), "SELECT "+call+" AS x"+from, hidden)
		kind(t, err, executors.KindUnsupported)
	}
}
