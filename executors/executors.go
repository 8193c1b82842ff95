// Package executors holds the contract of what runs a plan and streams Arrow; each subfolder is one implementation.
package executors

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"gatehouse/plan"
)

// Executor runs plans. It is safe for use by many goroutines at once.
type Executor interface {
	// Capabilities says what the executor can guarantee.
	Capabilities() Capabilities
	// Prepare checks the plan's task credentials, binds it in the engine and opens nothing else. The caller closes what it returns.
	Prepare(ctx context.Context, p *plan.Plan) (Prepared, error)
	// Close ends running statements and frees the engine.
	Close() error
}

// Healthy is what an Executor may also be: one that can become unable to run statements before it is closed.
type Healthy interface {
	// Healthy reports whether a statement would be run as well as after a new start.
	Healthy() bool
}

// Chooser is what an Executor may also be: one that has several places to run a statement in, of which a session may choose.
type Chooser interface {
	// Choices are the names of those that sessions may choose. The first one is taken without a choice.
	Choices() []string
	// Choose returns what runs statements by the choice name, false if that is none of Choices. It is closed with the Executor alone.
	Choose(name string) (Executor, bool)
}

// Explainer is what an Executor may also be: one that can say how it would run a plan.
type Explainer interface {
	// Explain describes in lines of our own words how p would run, for the user whose plan it is. Nothing in it depends on what is hidden
	// from him, and it runs nothing.
	Explain(ctx context.Context, p *plan.Plan) string
}

// Prepared is one plan bound in the engine.
type Prepared interface {
	// Schema is the exact schema of the stream. Column names are those that the client sees.
	Schema() *arrow.Schema
	// Params are the parameters' types, arrow.Null where the engine could not infer one; field names are empty.
	Params() *arrow.Schema
	// Execute runs the plan once with args bound by position (one value each; nil: NULL; Go values as arrow-go's
	// GetOneForMarshal-free natives: bool, int64, uint64, float64, string, []byte, time.Time, decimal as string,
	// arrow scalars for the rest). The reader's Err is set if the stream ends early; Release stops the engine and
	// frees its memory within 100 ms, as does the end of ctx. Rows go out as the engine makes them: batches hold at
	// most 64 Ki rows and 3 MiB, the first one is sent at once. If a relation hides rows, batches end after numbers of
	// rows and bytes that visible rows alone decide. Buffers hold visible values only: no unused
	// capacity, no value under a NULL, no offset before the first row.
	Execute(ctx context.Context, args []any) (array.RecordReader, error)
	// Close frees the statement; running readers end with an error.
	Close() error
}

// The bounds of a batch. Small batches cost the client more than the server; one message must stay under the usual 4 MiB.
const (
	MaxBatchRows  = 64 << 10
	MaxBatchBytes = 3 << 20
	// FirstRows is how many rows the first batch waits for where a relation hides rows.
	FirstRows = 1024
)

// Placed is what the reader of an execution may also be, so that the record says where a statement ran if there are several places.
type Placed interface {
	// Place is the Name of Capabilities of the executor that runs it.
	Place() string
}

// Capabilities is what an executor declares; a plan that needs more is refused before it runs.
type Capabilities struct {
	Name    string // "duckdb"
	Version string
	Dialect string
	Barrier bool // the barrier form of this executor has been proven by the attack battery
	Tasks   TaskIdentity
	Writes  bool
}

// TaskIdentity is how an executor carries the user's rights.
type TaskIdentity int

// The levels, weakest first.
const (
	IdentityNone TaskIdentity = iota
	IdentitySession
	IdentityTask // every task verifies a credential of its own
)

// Kind is the class of an engine's failure; the gateway words the message, so no text of the engine gets out.
type Kind int

// The kinds of Error.
const (
	KindInternal    Kind = iota
	KindBind             // the statement does not type-check: no such function for these types, …
	KindConversion       // a value could not be cast
	KindRange            // overflow, value out of range
	KindDivision         // division by zero where the engine raises it
	KindCardinality      // a scalar subquery returned more than one row
	KindArgument         // a function refused an argument
	KindMemory           // out of memory or of spill space
	KindUnsupported      // the engine, file format, delete kind or type is one that we do not read
	KindData             // a data file is missing, changed or damaged
	KindCredential       // a task credential did not verify
	KindRefused          // an object store refuses the caller's credentials
	KindUnavailable      // an object store does not answer; another try may succeed
)

// Error is a typed failure of an executor. Cause is for the operator's log and never reaches a client.
type Error struct {
	Kind  Kind
	Hint  string // our own words about the user's own text, safe to show; may be ""
	Cause error
}

func (e *Error) Error() string {
	if e.Hint != "" {
		return e.Hint
	}
	return kindText[e.Kind]
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

var kindText = map[Kind]string{
	KindInternal:    "the statement failed in the executor",
	KindBind:        "the statement does not type-check",
	KindConversion:  "a value cannot be converted to the requested type",
	KindRange:       "a value is out of range",
	KindDivision:    "division by zero",
	KindCardinality: "a scalar subquery returned more than one row",
	KindArgument:    "a function does not accept one of its argument values",
	KindMemory:      "the statement needs more memory than it may use",
	KindUnsupported: "the table uses something that cannot be read here",
	KindData:        "a data file of the table cannot be read",
	KindCredential:  "a task credential was refused",
	KindRefused:     "the object store does not let the caller read the table's files",
	KindUnavailable: "the object store does not answer; try again",
}

// ErrClosed is returned after Close.
var ErrClosed = errors.New("executor closed")
