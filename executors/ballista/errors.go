package ballista

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"gatehouse/executors"
	"gatehouse/executors/ballista/wire"
)

// kinds maps the cluster's classes.
var kinds = map[wire.Class]executors.Kind{
	wire.Class_CLASS_CONVERSION:  executors.KindConversion,
	wire.Class_CLASS_RANGE:       executors.KindRange,
	wire.Class_CLASS_DIVISION:    executors.KindDivision,
	wire.Class_CLASS_CARDINALITY: executors.KindCardinality,
	wire.Class_CLASS_ARGUMENT:    executors.KindArgument,
	wire.Class_CLASS_MEMORY:      executors.KindMemory,
	wire.Class_CLASS_UNSUPPORTED: executors.KindUnsupported,
	wire.Class_CLASS_DATA:        executors.KindData,
	wire.Class_CLASS_CREDENTIAL:  executors.KindCredential,
	wire.Class_CLASS_REFUSED:     executors.KindRefused,
	wire.Class_CLASS_UNAVAILABLE: executors.KindUnavailable,
}

// failed makes our error of a failure of a statement that ran. Nobody listens to a job that was cancelled otherwise than by its deadline.
func failed(f *wire.Failure) error {
	cause := errors.New("cluster: " + f.GetCause())
	switch f.GetClass() {
	case wire.Class_CLASS_CANCELLED:
		return overdue(cause)
	case wire.Class_CLASS_LOST:
		return &executors.Error{Kind: executors.KindInternal, Hint: lost, Cause: cause}
	}
	if f.GetClass() == wire.Class_CLASS_UNSUPPORTED && f.GetHint() != "" {
		return unsupported(f.GetHint(), cause)
	}
	kind, ok := kinds[f.GetClass()]
	if !ok {
		kind = executors.KindInternal
	}
	return &executors.Error{Kind: kind, Cause: cause}
}

// overdue is the error of a statement that the cluster ended because the deadline has passed. It may know that before a timer here goes off.
func overdue(cause error) error { return fmt.Errorf("%w: %w", context.DeadlineExceeded, cause) }

// lost are our words for a cluster that is not there, or that has lost what a statement needs.
const lost = "the cluster has lost a process that the statement needs; try again"

// unsupported refuses what the cluster does not do.
func unsupported(what string, cause error) error {
	return &executors.Error{Kind: executors.KindUnsupported, Hint: "the cluster cannot run this: " + what, Cause: cause}
}

// transport makes our error of a failed call.
func transport(err error) error {
	switch code := status.Code(err); {
	case code == codes.Unavailable, code == codes.Aborted:
		return &executors.Error{Kind: executors.KindInternal, Hint: lost, Cause: err}
	case code == codes.DeadlineExceeded, errors.Is(err, context.DeadlineExceeded):
		return overdue(err)
	}
	return &executors.Error{Kind: executors.KindInternal, Cause: fmt.Errorf("cluster: %w", err)}
}

// internal is for what must not happen.
func internal(format string, args ...any) error {
	return &executors.Error{Kind: executors.KindInternal, Cause: fmt.Errorf("ballista: "+format, args...)}
}
