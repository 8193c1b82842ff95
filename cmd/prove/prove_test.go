package main

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestTwins compares some statements. "make prove" compares many.
func TestTwins(t *testing.T) {
	n := 300
	if testing.Short() {
		n = 100
	}
	var out strings.Builder
	r, err := prove(t.Context(), config{
		statements: n, seed: 20, policies: 6, workers: 2, dir: t.TempDir(), stop: 2, small: true, aim: 30, progress: &out,
		sides: []side{sideA, sideB, sideC},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.clean(t)
}

// clean fails the test if something was found, or if the statements say little.
func (r *report) clean(t *testing.T) {
	t.Helper()
	for _, f := range r.findings {
		t.Error(f)
	}
	t.Logf("%s", r)
	if r.accepted*3 < r.statements {
		t.Errorf("%d of %d statements ended with rows: the rest shows little", r.accepted, r.statements)
	}
	if r.undefined*20 > r.statements || r.plans*50 > r.statements || r.timeouts*50 > r.statements {
		t.Errorf("too many statements say nothing: %s", r)
	}
}

// TestGenerate: a statement depends on its number alone, and a smaller one is never longer than twice the first.
func TestGenerate(t *testing.T) {
	r, err := newRules(1)
	if err != nil {
		t.Fatal(err)
	}
	p := &prover{config: config{seed: 3}, world: &world{rules: []*rules{r}}}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 1<<30).Draw(t, "n")
		_, a := p.generate(n)
		_, b := p.generate(n)
		x, _ := a.render()
		y, _ := b.render()
		if x != y {
			t.Fatalf("%s\nand then\n%s", x, y)
		}
		tried := 0
		minimise(a, 20, func() bool { tried++; return tried%3 == 0 })
		if tried > 20 {
			t.Fatalf("%d tries of 20", tried)
		}
	})
}

// TestCompare: what counts as a difference.
func TestCompare(t *testing.T) {
	base := observation{schema: "a", rows: []string{"1", "2"}, batches: []int64{2}}
	change := func(f func(*observation)) observation {
		o := base
		o.rows = append([]string{}, base.rows...)
		f(&o)
		return o
	}
	for name, c := range map[string]struct {
		st   statement
		b    observation
		want difference
	}{
		"nothing":              {b: base, want: same},
		"order":                {st: statement{ordered: true}, b: change(func(o *observation) { o.rows = []string{"2", "1"} }), want: diffOrder},
		"order left open":      {b: change(func(o *observation) { o.rows = []string{"2", "1"} }), want: same},
		"value":                {b: change(func(o *observation) { o.rows[1] = "3" }), want: diffRows},
		"value left open":      {st: statement{loose: true}, b: change(func(o *observation) { o.rows[1] = "3" }), want: diffUndefined},
		"count":                {b: change(func(o *observation) { o.rows = o.rows[:1] }), want: diffCount},
		"schema":               {b: change(func(o *observation) { o.schema = "b" }), want: diffSchema},
		"batches":              {b: change(func(o *observation) { o.batches = []int64{1, 1} }), want: diffBatches},
		"error":                {b: change(func(o *observation) { o.class = "x" }), want: diffErrors},
		"hidden bytes":         {b: change(func(o *observation) { o.canary = "x" }), want: diffBytes},
		"text of the engine":   {b: change(func(o *observation) { o.foreign = "x" }), want: diffText},
		"error left open":      {st: statement{loose: true}, b: change(func(o *observation) { o.class = "x" }), want: diffUndefined},
		"timeout says nothing": {b: change(func(o *observation) { o.class = "timeout" }), want: diffTimeout},
	} {
		if got := compare(&c.st, base, c.b); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if foreignWords(`LINE 1: SELECT x`, "SELECT x") == "" || foreignWords("bad HIDDEN-1", "SELECT 'HIDDEN-1'") != "" {
		t.Error("foreign words are not told from those of the statement")
	}
}
