package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// config says how long and how to look.
type config struct {
	statements int
	from       int // the first one
	seed       uint64
	policies   int
	workers    int
	dir        string
	sides      []side
	stop       int  // after so many findings; 0: at the first
	small      bool // make findings small
	progress   io.Writer
	verbose    bool // print every statement that fails
	aim        int  // how many of a hundred statements are aimed ones, 95 at most
	cluster    clusterConfig
}

// report is what was seen.
type report struct {
	statements int
	accepted   int            // ended with rows
	classes    map[string]int // of errors
	undefined  int            // differed where the statement leaves the outcome open
	timeouts   int
	plans      int // differed in errors from a side with fewer rows, see diffPlan
	findings   []*finding
	time       time.Duration
}

// prove compares statements until c.statements are through or enough findings are there.
func prove(ctx context.Context, c config) (*report, error) {
	w, err := newWorld(ctx, worldConfig{dir: c.dir, seed: c.seed, policies: c.policies, sides: c.sides, timeout: 20 * time.Second, cluster: c.cluster})
	if err != nil {
		return nil, err
	}
	p := &prover{config: c, next: c.from, world: w, report: report{classes: map[string]int{}}, start: time.Now()}
	ctx, p.cancel = context.WithCancel(ctx)
	defer p.cancel()
	var group sync.WaitGroup
	for range max(1, c.workers) {
		group.Go(func() { p.work(ctx) })
	}
	group.Wait()
	p.report.time = time.Since(p.start)
	return &p.report, w.close()
}

type prover struct {
	config
	world  *world
	start  time.Time
	cancel context.CancelFunc

	mu     sync.Mutex
	next   int
	report report
}

func (p *prover) work(ctx context.Context) {
	for ctx.Err() == nil {
		p.mu.Lock()
		n := p.next
		p.next++
		p.mu.Unlock()
		if n >= p.from+p.statements {
			return
		}
		p.one(ctx, n)
	}
}

// furtherEvery is how many statements hold one that further makes and one that beyond makes. It has no factor in common with usual numbers of policies, so that each of them
// meets all kinds.
const furtherEvery = 19

// generate makes statement n, and says under which policy it runs.
func (p *prover) generate(n int) (int, *statement) {
	pol := n % len(p.world.rules)
	st := p.make(n, rand.New(rand.NewPCG(p.seed, uint64(n))), p.world.rules[pol].shown)
	for try := range uint64(clusterTries) {
		if p.cluster.programs == "" || st.call != nil || mayRun(sqlOf(st)) {
			break
		}
		st = p.make(n, rand.New(rand.NewPCG(p.seed+(try+1)<<32, uint64(n))), p.world.rules[pol].shown)
	}
	return pol, st
}

func (p *prover) make(n int, r *rand.Rand, shown map[string][]column) *statement {
	g := &generator{r: r, shown: shown, aim: p.aim}
	switch n % furtherEvery {
	case furtherEvery - 1:
		return g.further()
	case furtherEvery / 2:
		return g.beyond()
	case furtherEvery / 3:
		return g.sums()
	}
	return g.statement()
}

func (p *prover) one(ctx context.Context, n int) {
	pol, st := p.generate(n)
	first, f := p.world.check(ctx, pol, n, st)
	if ctx.Err() != nil {
		return
	}
	if f != nil && f.what.violation() && p.small {
		f = p.shrink(ctx, f)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &p.report
	r.statements++
	if first.class == "" {
		r.accepted++
	} else {
		r.classes[first.class]++
		if p.verbose {
			sql, _ := st.render()
			fmt.Fprintf(p.progress, "%d: %s: %s (%s)\n    %s\n", n, first.class, first.text, first.cause, sql)
		}
	}
	switch {
	case f == nil:
	case f.what == diffUndefined:
		r.undefined++
	case f.what == diffPlan:
		r.plans++
	case f.what == diffTimeout:
		r.timeouts++
	default:
		r.findings = append(r.findings, f)
		fmt.Fprintf(p.progress, "statement %d of seed %d\n%s%s\n", n, p.seed, f, p.world.rules[pol].words)
		if len(r.findings) > p.stop {
			p.cancel()
		}
	}
	if r.statements%500 == 0 {
		fmt.Fprintf(p.progress, "%s", r)
	}
}

// shrink looks for a smaller statement with a difference of the same kind.
func (p *prover) shrink(ctx context.Context, f *finding) *finding {
	best := f
	minimise(f.st, 400, func() bool {
		_, g := p.world.check(ctx, f.policy, f.n, f.st)
		if g != nil && g.what == f.what {
			best = g
			return true
		}
		return false
	})
	return best
}

func (r *report) String() string {
	s := fmt.Sprintf("%d statements, %d with rows, %d findings, %d open by the statement, %d errors by the plan, %d timeouts",
		r.statements, r.accepted, len(r.findings), r.undefined, r.plans, r.timeouts)
	if r.time > 0 {
		s += fmt.Sprintf(", %.1f a second", float64(r.statements)/r.time.Seconds())
	}
	s += "\n "
	for _, c := range slices.SortedFunc(maps.Keys(r.classes), func(a, b string) int { return r.classes[b] - r.classes[a] }) {
		s += fmt.Sprintf(" %s: %d;", c, r.classes[c])
	}
	return s + "\n"
}
