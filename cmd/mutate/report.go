package main

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
)

// tally counts what became of the mutants of one package.
type tally struct {
	all, out, killed, timeout, listed, open int
}

// score is the part that died, in percent of all that count.
func (t tally) score() float64 {
	if n := t.all - t.out; n > 0 {
		return 100 * float64(t.killed+t.timeout) / float64(n)
	}
	return 100
}

// verdict is what became of one mutant at last.
type verdict struct {
	m      *mutation
	status string
	by     string
	reason string // of a survivor that is listed
}

// report prints survivors that no list explains, then a line for each package.
func report(out io.Writer, vs []verdict) map[string]tally {
	sums := map[string]tally{}
	open := []verdict{}
	for _, v := range vs {
		pkg := path.Dir(v.m.file)
		t := sums[pkg]
		t.all++
		switch {
		case v.m.off != "":
			t.out++
		case v.status == killed:
			t.killed++
		case v.status == timeout:
			t.timeout++
		case v.reason != "":
			t.listed++
		default:
			t.open++
			open = append(open, v)
		}
		sums[pkg] = t
	}
	slices.SortStableFunc(open, func(a, b verdict) int { return cmp.Or(cmp.Compare(a.m.file, b.m.file), a.m.line-b.m.line) })
	for _, v := range open {
		fmt.Fprintf(out, "%s:%d: %s %s\n", v.m.file, v.m.line, v.status, v.m.key())
	}
	fmt.Fprintf(out, "%-18s %7s %7s %7s %7s %7s %7s %6s\n", "package", "mutants", "left out", "killed", "timeout", "listed", "open", "score")
	var names []string
	for n := range sums {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		t := sums[n]
		fmt.Fprintf(out, "%-18s %7d %7d %7d %7d %7d %7d %5.1f%%\n", n, t.all, t.out, t.killed, t.timeout, t.listed, t.open, t.score())
	}
	return sums
}
