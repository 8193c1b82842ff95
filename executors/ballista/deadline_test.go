package ballista

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"gatehouse/executors"
	"gatehouse/executors/ballista/wire"
	"gatehouse/executors/executortest"
)

// Whoever sees first that a statement's deadline has passed: the scheduler, an executor, or a call of ours, it ends as one that took too long.
func TestDeadline(t *testing.T) {
	c := sharedCluster(t)
	pipeline := executortest.Zoo(t, c.opener(t, nil))
	f := &forger{t, pipeline.Executor.(*Executor), pipeline, nil}
	_, s := f.statement(executortest.Alice, endless, nil)
	s.Deadline = time.Now().Add(1500 * time.Millisecond).UnixMilli()
	isOverdue(t, f.run(s))
	for _, tt := range []struct {
		err  error
		over bool
	}{
		{failed(&wire.Failure{Class: wire.Class_CLASS_CANCELLED}), true},
		{transport(status.Error(codes.DeadlineExceeded, "")), true},
		{transport(context.DeadlineExceeded), true},
		{failed(&wire.Failure{Class: wire.Class_CLASS_INTERNAL}), false},
		{failed(&wire.Failure{Class: wire.Class_CLASS_LOST}), false},
		{transport(status.Error(codes.Unavailable, "")), false},
	} {
		if tt.over {
			isOverdue(t, tt.err)
		} else {
			kind(t, tt.err, executors.KindInternal)
		}
	}
}

func isOverdue(t *testing.T, err error) {
	t.Helper()
	if e, ours := errors.AsType[*executors.Error](err); ours || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v (%v)", err, e)
	}
}
