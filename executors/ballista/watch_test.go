package ballista

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"gatehouse/executors"
	"gatehouse/executors/ballista/wire"
	"gatehouse/plan"
)

// testWatch is a watch whose scheduler says what the test wants.
func testWatch(t *testing.T, now func() time.Time, ask func(name string, end bool) (*wire.Progress, error)) *watch {
	t.Helper()
	m, err := newMetrics(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := newWatch(now, slog.New(slog.DiscardHandler), m, func(_ context.Context, name string, end bool) (*wire.Progress, error) { return ask(name, end) })
	t.Cleanup(w.close)
	return w
}

// reading is the value of one counter or gauge.
func reading(t *testing.T, c prometheus.Collector) float64 {
	t.Helper()
	reg := prometheus.NewRegistry()
	reg.MustRegister(c)
	all, err := reg.Gather()
	if err != nil || len(all) != 1 || len(all[0].Metric) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	return all[0].Metric[0].GetCounter().GetValue() + all[0].Metric[0].GetGauge().GetValue()
}

// What is remembered of jobs is bounded, by number and by time, and those that run are never forgotten.
func TestJobsAreForgotten(t *testing.T) {
	at := time.Unix(0, 0)
	w := testWatch(t, func() time.Time { return at }, func(string, bool) (*wire.Progress, error) { return &wire.Progress{}, nil })
	running := w.begin(new(plan.Plan), "running")
	for i := range keepJobs + 50 {
		at = at.Add(time.Millisecond)
		w.end(w.begin(new(plan.Plan), fmt.Sprint(i)), Done)
	}
	all := w.list()
	if len(all) != keepJobs+1 || all[0].name != fmt.Sprint(keepJobs+49) || all[len(all)-1].name != "running" {
		t.Errorf("%d jobs are known, from %s to %s", len(all), all[0].name, all[len(all)-1].name)
	}
	ids := map[string]bool{}
	for _, j := range all {
		ids[j.job.ID] = true
	}
	if len(ids) != len(all) {
		t.Errorf("%d jobs have %d ids", len(all), len(ids))
	}
	at = at.Add(keepFor + time.Second)
	if left := w.list(); len(left) != 1 || left[0].name != "running" {
		t.Errorf("after the time, %d jobs are known", len(left))
	}
	w.end(running, Cancelled)
	if left := w.list(); len(left) != 1 || left[0].job.Result != Cancelled {
		t.Errorf("the last job: %+v", left)
	}
	w.close()
	if got := reading(t, w.metrics.jobs.WithLabelValues("done")); got != keepJobs+50 {
		t.Errorf("%v jobs are counted", got)
	}
	if got := reading(t, w.metrics.running); got != 0 {
		t.Errorf("%v jobs run", got)
	}
	w.end(w.begin(new(plan.Plan), "late"), Done) // nothing is asked any more
}

// What a job has done is counted once, when it has ended; before that and after it, it is shown.
func TestLastWords(t *testing.T) {
	words := &wire.Progress{State: wire.State_STATE_SUCCESSFUL, Stages: []*wire.Stage{{
		ReadBytes: 5, ShuffledBytes: 7, SpilledBytes: 11,
		Tasks: []*wire.Task{
			{State: wire.TaskState_TASK_SUCCESSFUL},
			{State: wire.TaskState_TASK_SUCCESSFUL},
			{State: wire.TaskState_TASK_RETRIED},
			{State: wire.TaskState_TASK_FAILED},
			{State: wire.TaskState_TASK_KILLED},
			{State: wire.TaskState_TASK_RUNNING},
		},
	}}}
	w := testWatch(t, time.Now, func(_ string, end bool) (*wire.Progress, error) {
		if end {
			return words, nil
		}
		return &wire.Progress{State: wire.State_STATE_RUNNING}, nil
	})
	j := w.begin(new(plan.Plan), "a")
	if got := w.progress(t.Context(), w.list()[0]); got.Progress.GetState() != wire.State_STATE_RUNNING {
		t.Errorf("while it runs: %+v", got)
	}
	w.end(j, Done)
	w.wg.Wait()
	if got := w.progress(t.Context(), w.list()[0]); got.Progress != words {
		t.Errorf("at its end: %+v", got)
	}
	for name, want := range map[string]float64{"done": 2, "retried": 1, "failed": 1, "cancelled": 1} {
		if got := reading(t, w.metrics.tasks.WithLabelValues(name)); got != want {
			t.Errorf("%v tasks %s, want %v", got, name, want)
		}
	}
	for got, want := range map[float64]float64{
		reading(t, w.metrics.read): 5, reading(t, w.metrics.shuffled): 7, reading(t, w.metrics.spilled): 11,
	} {
		if got != want {
			t.Errorf("%v bytes, want %v", got, want)
		}
	}
}

// A scheduler that says nothing, or has forgotten the job, leaves what the gateway knows.
func TestNoLastWords(t *testing.T) {
	for _, answer := range []error{nil, errors.New("canary")} {
		w := testWatch(t, time.Now, func(string, bool) (*wire.Progress, error) { return &wire.Progress{}, answer })
		w.begin(new(plan.Plan), "a")
		if got := w.progress(t.Context(), w.list()[0]); got.Progress != nil || got.Result != "" {
			t.Errorf("with %v: %+v", answer, got)
		}
	}
}

func TestResultOf(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		ctx  context.Context
		err  error
		want Result
	}{
		{t.Context(), nil, Done},
		{over, nil, Done},
		{over, errors.New("any"), Cancelled},
		{t.Context(), overdue(errors.New("any")), Cancelled},
		{t.Context(), errors.New("any"), Failed},
		{t.Context(), &executors.Error{Kind: executors.KindDivision}, Failed},
		{t.Context(), &executors.Error{Hint: lost}, Lost},
	} {
		if got := resultOf(tt.ctx, tt.err); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.err, got, tt.want)
		}
	}
}
