package ballista

import (
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

// failed makes our error of a failure of a statement that ran.
func failed(f *wire.Failure) error {
	cause := errors.New("cluster: " + f.GetCause())
	if f.GetClass() == wire.Class_CLASS_LOST {
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

// lost are our words for a cluster that is not there, or that has lost what a statement needs.
const lost = "the cluster has lost a process that the statement needs; try again"

// unsupported refuses what the cluster does not do.
func unsupported(what string, cause error) error {
	return &executors.Error{Kind: executors.KindUnsupported, Hint: "the cluster cannot run this: " + what, Cause: cause}
}

// transport makes our error of a failed call.
func transport(err error) error {
	switch status.Code(err) {
	case codes.Unavailable, codes.Aborted:
		return &executors.Error{Kind: executors.KindInternal, Hint: lost, Cause: err}
	}
	return &executors.Error{Kind: executors.KindInternal, Cause: fmt.Errorf("cluster: %w", err)}
}

// internal is for what must not happen.
func internal(format string, args ...any) error {
	return &executors.Error{Kind: executors.KindInternal, Cause: fmt.Errorf("ballista: "+format, args...)}
}
