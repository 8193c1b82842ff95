// Package shadow evaluates a candidate policy beside the live one, and tells the operator where the two differ.
//
// The live policy alone decides. What it was asked and what it answered goes into a queue that never blocks, and one worker asks the
// candidate the same; what the queue does not take is counted and forgotten. So nobody sees the candidate, and nobody waits for it.
package shadow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"gatehouse/policy"
)

// Config says what is compared. Live and Candidate must be set; New takes over neither.
type Config struct {
	Live      policy.Decider
	Candidate policy.Decider
	Queue     int                    // questions that may wait; default 1024
	Log       *slog.Logger           // default: slog.Default
	Counter   *prometheus.CounterVec // of NewCounter; default: none
}

// maxSeen bounds the differences that are remembered so that each is logged once.
const maxSeen = 10_000

// Decider is the live policy, with a candidate in its shadow. It is safe for use by many goroutines at once.
type Decider struct {
	cfg   Config
	queue chan question
	stop  context.CancelFunc
	done  sync.WaitGroup

	seen map[string]bool // of the worker
	last struct {        // the worker's judge for the statement that it is at
		query string
		judge policy.Judge
		err   error
	}
}

var _ policy.Decider = (*Decider)(nil)

// NewCounter registers the number of questions by what came of them: same, different, failed (of the candidate) and dropped.
func NewCounter(reg prometheus.Registerer) (*prometheus.CounterVec, error) {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "gatehouse_policy_shadow_total", Help: "Questions that a candidate policy was asked beside the live one, by result.",
	}, []string{"result"})
	for _, r := range []string{same, different, failed, dropped} {
		c.WithLabelValues(r)
	}
	return c, reg.Register(c)
}

// The results of one question.
const (
	same      = "same"
	different = "different"
	failed    = "failed"
	dropped   = "dropped"
)

// New starts the worker. The caller closes it before the two policies.
func New(c Config) (*Decider, error) {
	if c.Live == nil || c.Candidate == nil {
		return nil, errors.New("shadow: two policies are needed")
	}
	if c.Queue <= 0 {
		c.Queue = 1024
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	ctx, stop := context.WithCancel(context.Background())
	d := &Decider{cfg: c, queue: make(chan question, c.Queue), stop: stop, seen: map[string]bool{}}
	d.done.Go(func() { d.work(ctx) })
	return d, nil
}

// Close stops the worker. Questions that wait are forgotten.
func (d *Decider) Close() error {
	d.stop()
	d.done.Wait()
	return nil
}

// Judge implements policy.Decider: it is the live policy's.
func (d *Decider) Judge(ctx context.Context, c policy.Caller) (policy.Judge, error) {
	j, err := d.cfg.Live.Judge(ctx, c)
	if err != nil {
		return nil, err
	}
	s := &judge{Judge: j, d: d, caller: c}
	if p, ok := j.(policy.Pinned); ok {
		return &pinned{s, p}, nil
	}
	return s, nil
}

// judge is the live judge, whose answers go into the queue as well.
type judge struct {
	policy.Judge
	d      *Decider
	caller policy.Caller
}

// pinned is a judge that decides with a store of rights.
type pinned struct {
	*judge
	policy.Pinned
}

// Allow implements policy.Judge.
func (j *judge) Allow(ctx context.Context, op policy.Operation, rs []policy.Resource) ([]bool, error) {
	ok, err := j.Judge.Allow(ctx, op, rs)
	if err == nil {
		j.d.ask(question{caller: j.caller, live: j.Revision(), op: op, resources: rs, allowed: ok})
	}
	return ok, err
}

// Table implements policy.Judge.
func (j *judge) Table(ctx context.Context, t policy.Table, columns []string) (policy.Decision, error) {
	out, err := j.Judge.Table(ctx, t, columns)
	if err == nil {
		j.d.ask(question{caller: j.caller, live: j.Revision(), table: &t, columns: columns, decision: out})
	}
	return out, err
}

// question is what the live policy was asked, with its answer.
type question struct {
	caller    policy.Caller
	live      string // revision
	op        policy.Operation
	resources []policy.Resource
	allowed   []bool
	table     *policy.Table // nil: it was about resources
	columns   []string
	decision  policy.Decision
}

func (d *Decider) ask(q question) {
	select {
	case d.queue <- q:
	default:
		d.count(dropped)
	}
}

func (d *Decider) count(result string) {
	if d.cfg.Counter != nil {
		d.cfg.Counter.WithLabelValues(result).Inc()
	}
}

func (d *Decider) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case q := <-d.queue:
			d.answer(ctx, q)
		}
	}
}

// answer asks the candidate and compares.
func (d *Decider) answer(ctx context.Context, q question) {
	defer func() {
		if p := recover(); p != nil {
			d.count(failed)
			d.cfg.Log.Error("shadow policy failed", slog.String("query", q.caller.Query), slog.String("cause", fmt.Sprint(p)))
		}
	}()
	if d.last.judge == nil || d.last.query != q.caller.Query {
		d.last.query = q.caller.Query
		d.last.judge, d.last.err = d.cfg.Candidate.Judge(ctx, q.caller)
	}
	differences, err := []difference(nil), d.last.err
	if err == nil {
		differences, err = q.compare(ctx, d.last.judge)
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		d.count(failed)
		d.report(q, difference{object: q.object(), live: "an answer", candidate: "a fault", fault: err})
	case len(differences) == 0:
		d.count(same)
	default:
		d.count(different)
		for _, x := range differences {
			d.report(q, x)
		}
	}
}

// report logs a difference once for each pair of revisions.
func (d *Decider) report(q question, x difference) {
	revision := ""
	if d.last.judge != nil {
		revision = d.last.judge.Revision()
	}
	key := fmt.Sprintf("%s\x00%s\x00%s\x00%s\x00%s\x00%s\x00%s", q.live, revision, q.caller.Identity.User, q.op, x.object, x.live, x.candidate)
	if d.seen[key] {
		return
	}
	if len(d.seen) >= maxSeen {
		d.seen = map[string]bool{}
	}
	d.seen[key] = true
	fields := []any{
		slog.String("query", q.caller.Query), slog.String("user", q.caller.Identity.User), slog.String("operation", q.operation()),
		slog.String("object", x.object), slog.String("live", x.live), slog.String("candidate", x.candidate),
		slog.String("live_revision", q.live), slog.String("candidate_revision", revision),
	}
	var fault *policy.PolicyError
	switch {
	case errors.As(x.fault, &fault):
		fields = append(fields, slog.String("rule", fault.Rule), slog.Any("cause", fault.Cause))
	case x.fault != nil:
		fields = append(fields, slog.Any("cause", x.fault))
	}
	d.cfg.Log.Warn("shadow policy differs", fields...)
}
