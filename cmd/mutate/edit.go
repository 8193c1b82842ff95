package main

import (
	"cmp"
	"slices"
	"strings"
)

// edit puts text around a stretch of a file, or in its place. Stretches nest or are apart.
type edit struct {
	lo, hi    int
	pre, post string
	replace   bool // pre stands in place of the stretch
	seq       int  // of two edits of one stretch, the later one is inside
	// preOf makes pre when the file is rendered: a copy of another stretch of it.
	preOf func(r *renderer) string
}

// renderer applies the edits of one file.
type renderer struct {
	text  []byte
	edits []edit
}

// render returns the stretch [lo, hi) with all edits inside of it.
func (r *renderer) render(lo, hi int) string {
	type event struct {
		at   int
		kind int // at one place, stretches end before others begin
		rank []int
		e    *edit
	}
	var events []event
	for i := range r.edits {
		e := &r.edits[i]
		if e.lo < lo || e.hi > hi {
			continue
		}
		if e.replace {
			events = append(events, event{e.lo, 1, []int{0, e.seq}, e})
			continue
		}
		events = append(events,
			event{e.lo, 1, []int{-e.hi, e.seq}, e},  // of those that begin here, the widest is outermost
			event{e.hi, 0, []int{-e.lo, -e.seq}, e}) // of those that end here, the narrowest ends first
	}
	slices.SortStableFunc(events, func(a, b event) int {
		return cmp.Or(a.at-b.at, a.kind-b.kind, slices.Compare(a.rank, b.rank))
	})
	var out strings.Builder
	at := lo
	for _, ev := range events {
		if ev.at > at {
			out.Write(r.text[at:ev.at])
			at = ev.at
		}
		switch {
		case ev.kind == 0:
			out.WriteString(ev.e.post)
		case ev.e.preOf != nil:
			out.WriteString(ev.e.preOf(r))
		default:
			out.WriteString(ev.e.pre)
		}
		if ev.e.replace {
			at = ev.e.hi
		}
	}
	out.Write(r.text[at:hi])
	return out.String()
}
