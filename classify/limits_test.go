package classify

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// The guard's limits hold to the unit: what is just within passes it, and one more does not. It looks at tokens alone, so that no
// text here needs to be a statement.
func TestGuardLimits(t *testing.T) {
	words := func(n int) string { return strings.Repeat("a ", n) }
	for _, c := range []struct {
		what     string
		within   string
		over     string
		refusal  string
		position int // of the refusal; -2: not looked at
	}{
		{"bytes", "'" + strings.Repeat("x", maxText-2) + "'", "'" + strings.Repeat("x", maxText-1) + "'", "longer than 1 MiB", -1},
		{"words", words(maxTokens), words(maxTokens + 1), "that many tokens", 2 * maxTokens},
		{"operators", "a" + strings.Repeat(" +", maxTokens-1), "a" + strings.Repeat(" +", maxTokens), "that many tokens", -2},
		{"quoted words", strings.Repeat(`"a" `, maxTokens), strings.Repeat(`"a" `, maxTokens+1), "that many tokens", -2},
		{"parameters", strings.Repeat("$1 ", maxTokens), strings.Repeat("$1 ", maxTokens+1), "that many tokens", -2},
		{"points", strings.Repeat(". ", maxTokens), strings.Repeat(". ", maxTokens+1), "that many tokens", -2},
		{"casts", strings.Repeat(":: ", maxTokens), strings.Repeat(":: ", maxTokens+1), "that many tokens", -2},
		{"brackets in a row", strings.Repeat("( ) ", maxTokens), strings.Repeat("( ) ", maxTokens) + "(", "that many tokens", -2},
		{"square brackets in a row", strings.Repeat("[ ] ", maxTokens), strings.Repeat("[ ] ", maxTokens) + "[", "that many tokens", -2},
		{"curly brackets in a row", strings.Repeat("{ } ", maxTokens), strings.Repeat("{ } ", maxTokens) + "{", "that many tokens", -2},
		{"numbers", strings.Repeat("1,", maxLiterals), strings.Repeat("1,", maxLiterals+1), "that many tokens", -2},
		{"texts", strings.Repeat("'',", maxLiterals), strings.Repeat("'',", maxLiterals+1), "that many tokens", -2},
		{"brackets", strings.Repeat("(", maxNesting), strings.Repeat("(", maxNesting+1), "nesting that deep", maxNesting},
		{"square brackets", strings.Repeat("[", maxNesting), strings.Repeat("[", maxNesting+1), "nesting that deep", maxNesting},
		{"curly brackets", strings.Repeat("{", maxNesting), strings.Repeat("{", maxNesting+1), "nesting that deep", maxNesting},
		{"mixed brackets", strings.Repeat("([{", maxNesting/3) + "(", strings.Repeat("([{", maxNesting/3+1), "nesting that deep", -2},
		{"unions", strings.Repeat("union ", maxSetArms), strings.Repeat("union ", maxSetArms+1), "that many set operations", 6 * maxSetArms},
		{"mixed set operations", strings.Repeat("Except ", maxSetArms), strings.Repeat("EXCEPT ", maxSetArms) + "Intersect", "that many set operations", -2},
		{"comments", strings.Repeat("/*", maxComments) + strings.Repeat("*/", maxComments) + " a", strings.Repeat("/*", maxComments+1) + strings.Repeat("*/", maxComments+1) + " a", "comment", -2},
		{"an identifier", strings.Repeat("x", maxIdentifier), strings.Repeat("x", maxIdentifier+1), "longer than 63 bytes", 0},
		{"a quoted identifier", `a "` + strings.Repeat("x", maxIdentifier) + `"`, `a "` + strings.Repeat("x", maxIdentifier+1) + `"`, "longer than 63 bytes", 2},
		{"a wide identifier", strings.Repeat("é", maxIdentifier/2), strings.Repeat("é", maxIdentifier/2+1), "longer than 63 bytes", 0},
		{"a parameter's number", "$1000", "$1001", "parameter", -2},
		{"an empty identifier", `" "`, `a ""`, "empty identifier", 2},
		{"our own prefix", `"` + MarkerPrefix[:len(MarkerPrefix)-1] + `"`, `"` + strings.ToUpper(MarkerPrefix) + `x"`, "starts with", 0},
		{"a zero byte", "a", "ab\x00", "NUL", 2},
		{"what is not UTF-8", "é€😀", "é€\xf0\x9f", "UTF-8", 5},
	} {
		if _, err := guard(c.within); err != nil {
			t.Errorf("%s, just within: %v", c.what, err)
		}
		_, err := guard(c.over)
		if err == nil || !strings.Contains(err.Error(), c.refusal) {
			t.Errorf("%s, one more: %v", c.what, err)
			continue
		}
		pos := -2
		if syntax, ok := errors.AsType[*SyntaxError](err); ok {
			pos = syntax.Pos
		}
		if unsupported, ok := errors.AsType[*UnsupportedError](err); ok {
			pos = unsupported.Pos
		}
		if c.position != -2 && pos != c.position {
			t.Errorf("%s: refused at %d, not at %d", c.what, pos, c.position)
		}
	}
}

// Tokens are what the C parser takes them for: where one ends decides what is a text and what is a name.
func TestTokens(t *testing.T) {
	for text, want := range map[string][]string{
		`a.b`: {"a", ".", "b"}, `A_1$`: {"A_1$"}, `é`: {"é"}, `"a""b"`: {`"a""b"`}, `'a''b'`: {"'a''b'"}, `E'a\'b'`: {`E'a\'b'`}, `e'\\'`: {`e'\\'`},
		`1.5`: {"1.5"}, `1.`: {"1."}, `.5`: {".5"}, `1e5`: {"1e5"}, `1e+5`: {"1e+5"}, `1E-5`: {"1E-5"}, `1_0`: {"1_0"}, `1 e5`: {"1", "e5"},
		`$1`: {"$1"}, `$$a$$`: {"$$a$$"}, `$x$a$$b$x$`: {"$x$a$$b$x$"}, `a--b`: {"a"}, "a--b\nc": {"a", "c"}, `a/*b*/c`: {"a", "c"}, `a/*b/*c*/d*/e`: {"a", "e"},
		`a<=b`: {"a", "<=", "b"}, `a<>b`: {"a", "<>", "b"}, `a!=b`: {"a", "!=", "b"}, `a::b`: {"a", "::", "b"}, `a:=b`: {"a", ":=", "b"}, `a->b`: {"a", "->", "b"}, `a->>b`: {"a", "->>", "b"},
		`a||b`: {"a", "||", "b"}, `a-1`: {"a", "-", "1"}, `(a)`: {"(", "a", ")"}, `[a]`: {"[", "a", "]"}, `{a}`: {"{", "a", "}"}, `a,b;`: {"a", ",", "b", ";"}, ``: nil, " \t\n": nil,
	} {
		toks, err := guard(text)
		var got []string
		for _, tok := range toks {
			if tok.text != "" {
				got = append(got, tok.text)
			}
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for _, bad := range []string{`'a`, `"a`, `$$a`, `$x$a$$`, `/*a`, `/*/*a*/`, `E'a\'`, `$x`, "a\u00a0b", "a\u200bb", "\ufeff", `$0`, `U&'a'`, `X'0'`, `B'0'`, `N'a'`, `1a`, `0x1`, `0b1`, `0o1`} {
		if toks, err := guard(bad); err == nil {
			t.Errorf("%q passes as %d tokens", bad, len(toks))
		}
	}
}
