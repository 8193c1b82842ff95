package main

import (
	"context"
	"slices"
	"strconv"
	"time"

	"gatehouse/cmd/mutate/mutant"
)

// What becomes of a mutant.
const (
	killed    = "killed"    // a test failed, or the process ended
	timeout   = "timeout"   // tests took many times longer: killed as well, but counted apart
	survived  = "survived"  // tests came by it and passed
	unreached = "unreached" // no test came by it
)

// quick is how long the tests take that are tried before the others.
const quick = 400 * time.Millisecond

// try runs the tests that come by a mutant, quick ones first, until one fails.
func (p *program) try(ctx context.Context, m *mutation, b *baseline, patience time.Duration) (status, by string, err error) {
	var guards []guard
	for _, g := range b.guards {
		if g.reached[m.id] != 0 || b.always[m.id] != 0 {
			guards = append(guards, g)
		}
	}
	if len(guards) == 0 {
		return unreached, "", nil
	}
	slices.SortStableFunc(guards, func(a, b guard) int { return int(a.took - b.took) })
	n, sum := 0, time.Duration(0)
	for n < len(guards) && (n == 0 || sum+guards[n].took < quick) {
		sum += guards[n].took
		n++
	}
	for _, part := range [][]guard{guards[:n], guards[n:]} {
		if len(part) == 0 {
			continue
		}
		names, limit := []string{}, patience
		for _, g := range part {
			names = append(names, g.name)
			limit += 4 * g.took
		}
		o, err := p.start(ctx, limit, []string{mutant.EnvActive + "=" + strconv.Itoa(m.id)}, "-test.run", exactly(names...))
		switch {
		case err != nil:
			return "", "", err
		case o.timeout:
			return timeout, names[0], nil
		case !o.passed:
			if o.by == "" {
				o.by = "the process ends" // a panic, or before all tests
			}
			return killed, o.by, nil
		}
	}
	return survived, "", nil
}
