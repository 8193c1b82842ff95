package classify

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// TestTokensAreTheParsers compares where tokens begin and end with the C parser's own scanner, over all short texts of characters that
// can matter to each other: where one ends decides what is a text and what is a name.
func TestTokensAreTheParsers(t *testing.T) {
	var out strings.Builder
	out.WriteString("# Short texts that are refused: how many, and the first ones. See lexer_test.go.\n")
	refused := map[string][]string{}
	compared := 0
	for _, text := range shortTexts() {
		toks, err := guard(text)
		theirs, scanError := pgquery.Scan(text)
		if err != nil {
			what, mark := sayRefused(t, text, err)
			refused[what] = append(refused[what], fmt.Sprintf("%q%s", text, mark))
			continue
		}
		if strings.Contains(text, "?") || strings.Contains(text, "..") || strings.Contains(text, "._") {
			continue // to them ? is an operator or a part of one, .. is one token, and no digits begin with _
		}
		if scanError != nil && strings.Contains(scanError.Error(), "Unicode escape") {
			continue // the parser is left to refuse what a text has in it
		}
		if scanError != nil {
			t.Errorf("%q: %d tokens, to the parser: %v", text, len(toks), scanError)
			continue
		}
		compared++
		var got, want []string
		for _, k := range toks {
			got = append(got, fmt.Sprintf("%d %s", k.pos, k.text))
		}
		for _, k := range theirs.Tokens {
			if k.Token != pgquery.Token_SQL_COMMENT && k.Token != pgquery.Token_C_COMMENT {
				want = append(want, fmt.Sprintf("%d %s", k.Start, text[k.Start:k.End]))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, to the parser %q", text, got, want)
		}
	}
	if compared < 1000 {
		t.Errorf("only %d texts were compared", compared)
	}
	for _, what := range slices.Sorted(maps.Keys(refused)) {
		fmt.Fprintf(&out, "%s: %d %s\n", what, len(refused[what]), strings.Join(refused[what][:min(12, len(refused[what]))], " "))
	}
	out.WriteString("\n# Characters that are refused outside of quotes.\n")
	for r, from := rune(0x80), rune(-1); r <= utf8.MaxRune+1; r++ {
		odd := r <= utf8.MaxRune && oddRune(r)
		switch {
		case odd && from < 0:
			from = r
		case !odd && from >= 0:
			fmt.Fprintf(&out, "%U to %U\n", from, r-1)
			from = -1
		}
	}
	golden(t, "testdata/tokens.txt", out.String())
}

func shortTexts() []string {
	var out []string
	add := func(parts []string, n int) {
		for i := range pow(len(parts), n) {
			text := ""
			for range n {
				text += parts[i%len(parts)]
				i /= len(parts)
			}
			out = append(out, text)
		}
	}
	for n := range 4 {
		add([]string{"a", "1", "_", ".", "'", `"`, "$", "+", "-", "*", "/", "<", "=", ">", "~", ":", ";", "(", ",", " ", "\n", "e", "?", "\\", "x"}, n)
	}
	add([]string{"1", ".", "e", "_", "-", "+"}, 5)
	add([]string{"$", "a", "1", "'"}, 5)
	add([]string{"/*", "*/", "--", "\n", "-", "*"}, 4)
	add([]string{"E'", "\\", "'", "a", "u&'"}, 4)
	add([]string{"+", "-", "@", "=", "<", "1"}, 5)
	add([]string{"u", "a", "&", "'", `"`}, 4)
	return out
}

func pow(a, n int) int {
	p := 1
	for range n {
		p *= a
	}
	return p
}
