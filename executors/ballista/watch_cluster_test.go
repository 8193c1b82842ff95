package ballista

import (
	"context"
	"testing"
	"time"

	"gatehouse/executors/ballista/wire"
	"gatehouse/executors/executortest"
)

// A job is listed while it runs, with what it has done so far, and one that is given up ends as cancelled, with its last words.
func TestJobsAreWatched(t *testing.T) {
	c := startCluster(t)
	p := executortest.Zoo(t, c.opener(t, func(c *Config) { c.GroupBytes = 4 << 10 }))
	x := p.Executor.(*Executor)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := p.Rows(ctx, "SELECT count(*) AS n FROM v2_many_row_groups a JOIN v2_many_row_groups b ON a.id >= b.id JOIN v2_many_row_groups c ON c.id <= a.id", nil)
		ended <- err
	}()
	job := func(done func(Job) bool) Job {
		t.Helper()
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		late := time.After(time.Minute)
		for {
			if all := x.Jobs(t.Context()); len(all) == 1 && done(all[0]) {
				return all[0]
			}
			select {
			case <-tick.C:
			case <-late:
				t.Fatalf("the jobs are %+v", x.Jobs(t.Context()))
			}
		}
	}
	running := job(func(j Job) bool {
		return j.Progress.GetState() == wire.State_STATE_RUNNING && len(j.Progress.Stages) > 0
	})
	if running.Result != "" || !running.Ended.IsZero() || len(running.Tables) != 3 {
		t.Errorf("while it runs: %+v", running)
	}
	cancel()
	<-ended
	over := job(func(j Job) bool { return j.Result != "" && j.Progress.GetState() == wire.State_STATE_FAILED })
	if over.Result != Cancelled || over.Ended.IsZero() || over.ID != running.ID {
		t.Errorf("at its end: %+v", over)
	}
	if _, err := x.Job(t.Context(), over.ID); err != nil {
		t.Errorf("the job by its id: %v", err)
	}
	if _, err := x.Job(t.Context(), "none"); err != ErrNoJob {
		t.Errorf("a job that is not there: %v", err)
	}
	if all, err := x.Members(t.Context()); err != nil || len(all) != 2 || all[0].Cores != 1 || all[0].Seen == 0 {
		t.Errorf("the executors: %v, %v", all, err)
	}
}

// TestRowsOfStages: the rows of a job's last stage are those of its result, also where a part of a UNION is one row, or has none: its tasks have other
// operators then than the stage.
func TestRowsOfStages(t *testing.T) {
	c := startCluster(t)
	p := executortest.Zoo(t, c.opener(t, func(c *Config) { c.GroupBytes = 4 << 10 }))
	x := p.Executor.(*Executor)
	const t1, none = " FROM v2_many_row_groups", "(SELECT id FROM v2_many_row_groups WHERE abs(id) < 0 GROUP BY id)"
	for _, text := range []string{
		"SELECT id" + t1 + " WHERE id < 20 UNION ALL SELECT a.id" + t1 + " a JOIN " + none + " b ON a.id = b.id UNION ALL SELECT max(id)" + t1 + " GROUP BY id % 3",
		"SELECT id" + t1 + " WHERE id < 20 UNION ALL SELECT lag(id) OVER (PARTITION BY id % 3 ORDER BY id) FROM " + none + " a UNION ALL SELECT 7",
		"SELECT id" + t1 + " WHERE id < 20 UNION ALL SELECT a.id" + t1 + " a FULL JOIN " + none + " b ON a.id = b.id",
	} {
		rows, err := p.Rows(t.Context(), text, nil)
		if err != nil {
			t.Fatal(err)
		}
		stages := x.Jobs(t.Context())[0].Progress.GetStages()
		if last := stages[len(stages)-1]; last.GetOutputRows() != int64(len(rows)) {
			t.Errorf("%s: %d rows, and of the last stage %v", text, len(rows), last)
		}
	}
}
