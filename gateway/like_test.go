package gateway

import (
	"strings"
	"testing"
	"time"
)

func TestLike(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true},
		{"", "a", false},
		{"%", "", true},
		{"%", "anything", true},
		{"a%", "abc", true},
		{"a%", "ba", false},
		{"_", "ö", true},
		{"_", "", false},
		{"_", "ab", false},
		{"a_c", "abc", true},
		{"a_c", "ac", false},
		{`a\_c`, "a_c", true},
		{`a\_c`, "abc", false},
		{`\%`, "%", true},
		{`\%`, "x", false},
		{`a\`, `a\`, true},
		{"%a%b%", "xxaxxbxx", true},
		{"%a%b%", "xxbxxaxx", false},
		{"A", "a", false},
	} {
		if got := like(&c.pattern)(c.s); got != c.want {
			t.Errorf("%q LIKE %q = %v", c.s, c.pattern, got)
		}
		literal := escapeLike(c.s)
		if !like(&literal)(c.s) {
			t.Errorf("the escaped %q does not match itself", c.s)
		}
	}
	if !like(nil)("x") {
		t.Error("no pattern must match all")
	}
	start := time.Now()
	pattern := strings.Repeat("%a", 200)
	if like(&pattern)(strings.Repeat("a", 5000) + "b"); time.Since(start) > 5*time.Second {
		t.Error("a pattern takes exponential time")
	}
}
