package ballista

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"gatehouse/auth"
	"gatehouse/executors"
	"gatehouse/executors/executortest"
)

// A hundred statements at once are all right, and a user with one of them does not wait for the ninety-nine of another.
func TestShares(t *testing.T) {
	c := startCluster(t)
	p := executortest.Zoo(t, c.opener(t, func(c *Config) { c.GroupBytes = 1 << 20 }))
	const text = "SELECT id, count(*) AS n FROM v2_many_row_groups GROUP BY id"
	want, err := p.Rows(t.Context(), text, nil)
	if err != nil {
		t.Fatalf("%v (%v)", err, errors.Unwrap(err))
	}
	prepare := func(id auth.Identity) executors.Prepared {
		pl, err := p.Plan(t.Context(), id, text, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := p.Executor.Prepare(t.Context(), pl)
		if err != nil {
			t.Fatalf("%v (%v)", err, errors.Unwrap(err))
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	const many = 99
	var alices []executors.Prepared
	for range many {
		alices = append(alices, prepare(executortest.Alice))
	}
	bob := prepare(executortest.Bob)
	var ended atomic.Int64
	var all sync.WaitGroup
	for _, s := range alices {
		all.Go(func() {
			if err := reads(t, s, len(want)); err != nil {
				t.Errorf("%v (%v)", err, errors.Unwrap(err))
			}
			ended.Add(1)
		})
	}
	eventually(t, "some have ended, so that all have begun", func() bool { return ended.Load() >= 3 })
	before := ended.Load()
	if err := reads(t, bob, len(want)); err != nil {
		t.Errorf("the one: %v (%v)", err, errors.Unwrap(err))
	}
	after := ended.Load()
	all.Wait()
	t.Logf("of %d statements %d had ended when the one began, and %d when it ended", many, before, after)
	if after-before > many/3 {
		t.Errorf("the one waited for %d others", after-before)
	}
}

// reads runs a statement and counts its rows.
func reads(t *testing.T, s executors.Prepared, want int) error {
	r, err := s.Execute(t.Context(), nil)
	if err != nil {
		return err
	}
	defer r.Release()
	rows := 0
	for r.Next() {
		rows += int(r.RecordBatch().NumRows())
	}
	if rows != want && r.Err() == nil {
		return fmt.Errorf("%d rows instead of %d", rows, want)
	}
	return r.Err()
}
