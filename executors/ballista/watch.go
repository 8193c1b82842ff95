package ballista

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gatehouse/executors"
	"gatehouse/executors/ballista/wire"
	"gatehouse/plan"
)

// Job is one run of a statement on the cluster, as an operator sees it: names and numbers, and nothing of the statement's text, of values, or
// of paths.
type Job struct {
	// ID is the statement's query id, or with a number behind it where a statement ran more than once. The cluster's own name of the job
	// is not told: it is part of what it takes to fetch a result.
	ID     string
	Query  string
	User   string
	Issuer string
	Tables []Table
	Begun  time.Time
	Ended  time.Time // zero: it runs
	Result Result    // "": it runs
	// Progress is what the scheduler says; nil if it has not said anything.
	Progress *wire.Progress
}

// Table is one governed relation of a job.
type Table struct {
	Relation string   // its name in the plan
	Name     string   // the table's
	Filters  []string // the ids of the policy's row filters
	Masks    []string // "column=id"
}

// Result is how a job ended.
type Result string

// The results.
const (
	Done      Result = "done"
	Failed    Result = "failed"
	Cancelled Result = "cancelled"
	Lost      Result = "lost" // the cluster lost a process that the job needed
)

// ErrNoJob says that there is no such job, or that it has been forgotten.
var ErrNoJob = errors.New("no such job")

// The bounds of what is remembered of jobs that have ended.
const (
	keepJobs = 200
	keepFor  = 15 * time.Minute
)

// lastWords is how long the scheduler has to say what a job has done, once it has ended.
const lastWords = 5 * time.Second

// watch knows the jobs that run, and for a while those that have ended.
type watch struct {
	now     func() time.Time
	log     *slog.Logger
	ask     func(ctx context.Context, id string, end bool) (*wire.Progress, error)
	metrics *metrics

	ctx  context.Context // ends at close
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu     sync.Mutex
	closed bool
	ended  []*watched // oldest first
	all    map[string]*watched
}

// watched is a job with its name in the cluster.
type watched struct {
	job  Job
	name string
}

func newWatch(now func() time.Time, log *slog.Logger, m *metrics, ask func(context.Context, string, bool) (*wire.Progress, error)) *watch {
	ctx, stop := context.WithCancel(context.Background())
	return &watch{now: now, log: log, ask: ask, metrics: m, ctx: ctx, stop: stop, all: map[string]*watched{}}
}

// close waits for nobody's last words.
func (w *watch) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.stop()
	w.wg.Wait()
}

// begin registers a job that the scheduler has accepted under a name.
func (w *watch) begin(p *plan.Plan, name string) *watched {
	j := &watched{name: name, job: Job{Query: p.Query(), User: p.Identity().User, Issuer: p.Identity().Issuer, Begun: w.now()}}
	for i := range p.Relations() {
		r := &p.Relations()[i]
		j.job.Tables = append(j.job.Tables, Table{Relation: r.CTE, Name: r.Name.String(), Filters: r.Filters, Masks: r.Masks})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	j.job.ID = p.Query()
	for n := 2; w.all[j.job.ID] != nil; n++ {
		j.job.ID = p.Query() + "." + strconv.Itoa(n)
	}
	w.all[j.job.ID] = j
	w.metrics.running.Inc()
	return j
}

// end says how a job ended. What it has done is asked for while others go on.
func (w *watch) end(j *watched, r Result) {
	w.metrics.running.Dec()
	w.metrics.jobs.WithLabelValues(string(r)).Inc()
	w.mu.Lock()
	defer w.mu.Unlock()
	j.job.Result, j.job.Ended = r, w.now()
	w.ended = append(w.ended, j)
	w.forget()
	if !w.closed {
		w.wg.Go(func() { w.hear(j) })
	}
}

// hear gets a job's last words.
func (w *watch) hear(j *watched) {
	ctx, cancel := context.WithTimeout(w.ctx, lastWords)
	defer cancel()
	p, err := w.ask(ctx, j.name, true)
	if err != nil {
		w.log.DebugContext(ctx, "the cluster does not say what a job has done", "query", j.job.Query, "why", err)
		return
	}
	w.metrics.count(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	j.job.Progress = p
}

// forget needs mu.
func (w *watch) forget() {
	oldest := w.now().Add(-keepFor)
	for len(w.ended) > keepJobs || len(w.ended) > 0 && w.ended[0].job.Ended.Before(oldest) {
		delete(w.all, w.ended[0].job.ID)
		w.ended = w.ended[1:]
	}
}

// list returns all jobs, the newest first.
func (w *watch) list() []*watched {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forget()
	out := make([]*watched, 0, len(w.all))
	for _, j := range w.all {
		out = append(out, &watched{j.job, j.name})
	}
	slices.SortFunc(out, func(a, b *watched) int {
		if c := b.job.Begun.Compare(a.job.Begun); c != 0 {
			return c
		}
		return strings.Compare(a.job.ID, b.job.ID)
	})
	return out
}

// find returns a job, or nil.
func (w *watch) find(id string) *watched {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forget()
	j := w.all[id]
	if j == nil {
		return nil
	}
	return &watched{j.job, j.name}
}

// progress asks for the progress of a job unless its last words are known.
func (w *watch) progress(ctx context.Context, j *watched) Job {
	if j.job.Progress == nil {
		p, err := w.ask(ctx, j.name, false)
		if err == nil && p.State != wire.State_STATE_UNKNOWN {
			j.job.Progress = p
		}
	}
	return j.job
}

// Jobs lists the jobs of this gateway, the newest first: those that run, and for a while those that have ended.
func (x *Executor) Jobs(ctx context.Context) []Job {
	var out []Job
	for _, j := range x.watch.list() {
		out = append(out, x.watch.progress(ctx, j))
	}
	return out
}

// Job returns one job, or ErrNoJob.
func (x *Executor) Job(ctx context.Context, id string) (Job, error) {
	if j := x.watch.find(id); j != nil {
		return x.watch.progress(ctx, j), nil
	}
	return Job{}, ErrNoJob
}

// Members lists the cluster's executors.
func (x *Executor) Members(ctx context.Context) ([]*wire.Member, error) {
	m, err := x.client.members(ctx)
	if err != nil {
		return nil, transport(err)
	}
	return m.Executors, nil
}

// resultOf is how a job ended that ended with an error.
func resultOf(ctx context.Context, err error) Result {
	e, ok := errors.AsType[*executors.Error](err)
	switch {
	case err == nil:
		return Done
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded):
		return Cancelled
	case ok && e.Hint == lost:
		return Lost
	}
	return Failed
}
