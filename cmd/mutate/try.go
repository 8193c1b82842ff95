package main

import (
	"cmp"
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

// quick is how long the tests take that are tried first; each part after that takes four times as long.
const quick = 400 * time.Millisecond

// parts sorts tests by how long they take, and cuts them into runs: most mutants die of a quick test.
func parts(guards []guard) [][]guard {
	slices.SortStableFunc(guards, func(a, b guard) int { return cmp.Compare(a.took, b.took) })
	var out [][]guard
	for budget := quick; len(guards) > 0; budget *= 4 {
		n, sum := 0, time.Duration(0)
		for n < len(guards) && (n == 0 || sum+guards[n].took < budget) {
			sum += guards[n].took
			n++
		}
		out, guards = append(out, guards[:n]), guards[n:]
	}
	return out
}

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
	for _, part := range parts(guards) {
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
