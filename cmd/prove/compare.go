package main

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// difference says in what two observations of one statement differ; "" is in nothing.
type difference string

// The differences, the gravest first.
const (
	same          difference = ""
	diffBytes     difference = "hidden bytes"
	diffText      difference = "text that is not ours"
	diffErrors    difference = "errors"
	diffSchema    difference = "schema"
	diffCount     difference = "row count"
	diffRows      difference = "rows"
	diffOrder     difference = "order"
	diffBatches   difference = "batches"
	diffUndefined difference = "rows of an undefined order" // not a violation: the statement itself leaves it open
	diffTimeout   difference = "timeout"                    // not a violation
	// diffPlan is a difference of errors against the side with fewer rows, and no violation by itself: which of several errors of visible rows the
	// engine meets first is up to how long its parts run, and, where one table is of another magnitude, whether it meets one at all is up to
	// the plan. That no hidden value makes an error is what the twins with equal numbers of rows show, who must not differ then.
	diffPlan difference = "errors by the plan"
)

// violation reports whether d breaks the promise.
func (d difference) violation() bool {
	return d != same && d != diffUndefined && d != diffTimeout && d != diffPlan
}

// compare tells two observations of st apart.
func compare(st *statement, a, b observation) difference {
	switch {
	case a.canary != "" || b.canary != "":
		return diffBytes
	case a.foreign != "" || b.foreign != "":
		return diffText
	case a.class == "timeout" || b.class == "timeout":
		return diffTimeout
	case a.class != b.class || a.text != b.text:
		if st.loose && (a.class == "" || b.class == "" || a.class == b.class) {
			return diffUndefined
		}
		return diffErrors
	case a.schema != b.schema:
		return diffSchema
	case a.class != "":
		return same // how many rows went out before an error is up to scheduling
	case slices.Equal(a.rows, b.rows):
		if !slices.Equal(a.batches, b.batches) {
			return diffBatches
		}
		return same
	case st.loose:
		return diffUndefined
	case len(a.rows) != len(b.rows):
		return diffCount
	}
	x, y := slices.Clone(a.rows), slices.Clone(b.rows)
	sort.Strings(x)
	sort.Strings(y)
	if !slices.Equal(x, y) {
		return diffRows
	}
	if st.ordered {
		return diffOrder
	}
	return same
}

// finding is one violation.
type finding struct {
	what   difference
	sides  string
	st     *statement
	policy int
	n      int
	a, b   observation
}

// check runs st on the first side and on the n-th of the others and compares. A first difference is looked at again: the engine orders conditions by how
// long they took, so that one of several errors of visible rows may come first by chance; and where no table hides rows, a batch goes out when its time has come. Then
// the sets of outcomes count.
func (w *world) check(ctx context.Context, p, n int, st *statement) (first observation, f *finding) {
	first = w.twins[0].observe(ctx, p, st)
	if first.canary != "" || first.foreign != "" {
		return first, &finding{what: compare(st, first, first), sides: string(w.twins[0].side), st: st, policy: p, n: n, a: first, b: first}
	}
	t := w.twins[1+n%(len(w.twins)-1)]
	other := t.observe(ctx, p, st)
	d := compare(st, first, other)
	if d == diffErrors || d == diffUndefined || d == diffBatches {
		d = w.repeat(ctx, p, st, t, first, other)
	}
	bothFail := first.class != "" && other.class != ""
	if d == diffErrors && t.side == sideC && (bothFail || strings.Contains(strings.ToLower(sqlOf(st)), "orders")) {
		if _, equal := w.check(ctx, p, w.withEqualRows(), st); equal != nil && equal.what.violation() {
			return first, equal
		}
		d = diffPlan
	}
	if d != same {
		f = &finding{what: d, sides: fmt.Sprintf("%c %c", w.twins[0].side, t.side), st: st, policy: p, n: n, a: first, b: other}
	}
	return first, f
}

// withEqualRows is the place of the twin that has as many rows as the first one.
func (w *world) withEqualRows() int {
	return max(0, slices.IndexFunc(w.twins[1:], func(t *twin) bool { return t.side == sideB }))
}

func sqlOf(st *statement) string {
	sql, _ := st.render()
	return sql
}

// repeats is how often a statement is run again on each side before a difference counts.
const repeats = 3

func (w *world) repeat(ctx context.Context, p int, st *statement, t *twin, a, b observation) difference {
	as, bs := []observation{a}, []observation{b}
	for range repeats {
		as, bs = append(as, w.twins[0].observe(ctx, p, st)), append(bs, t.observe(ctx, p, st))
	}
	for _, x := range as {
		for _, y := range bs {
			if d := compare(st, x, y); d == same {
				return same
			}
		}
	}
	return compare(st, a, b)
}

func (f *finding) String() string {
	var b strings.Builder
	sql, args := f.st.render()
	fmt.Fprintf(&b, "VIOLATION: %s (sides %s, policy %d)\n%s\n", f.what, f.sides, f.policy, sql)
	if len(args) > 0 {
		fmt.Fprintf(&b, "arguments: %#v\n", args)
	}
	fmt.Fprintf(&b, "first:\n%ssecond:\n%s", f.a, f.b)
	return b.String()
}
