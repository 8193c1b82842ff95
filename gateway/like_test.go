package gateway

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gatehouse/classify"
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

// What goes into the operator's log has no value of anybody's, and is short.
func TestScrub(t *testing.T) {
	long := strings.Repeat("é", 1000)
	for text, want := range map[string]string{
		"": "", "no value": "no value", "a 'b''c' d": "a ? d", `say "x\"y" now`: "say ? now", "id 12345 and 1234": "id ? and 1234", "a1234567": "a1234567",
		long: long, long + "x": long, "'" + long + long + "' x": "? x",
	} {
		if got := scrub(errors.New(text)); got != want {
			t.Errorf("%.40q: %.40q", text, got)
		}
	}
	if scrub(nil) != "" {
		t.Error("no error has a text")
	}
}

// A version has one name for the policy.
func TestTravelName(t *testing.T) {
	zero := int64(0)
	later := int64(1_500_000)
	for _, c := range []struct {
		travel classify.Travel
		want   string
	}{
		{classify.Travel{}, ""},
		{classify.Travel{Ref: "b", Snapshot: 7}, "b"},
		{classify.Travel{Snapshot: 7}, "7"},
		{classify.Travel{Snapshot: -1}, "-1"},
		{classify.Travel{Micros: &zero}, "@1970-01-01T00:00:00Z"},
		{classify.Travel{Micros: &later}, "@1970-01-01T00:00:01.5Z"},
	} {
		if got := travelName(c.travel); got != c.want {
			t.Errorf("%+v: %q", c.travel, got)
		}
	}
}
