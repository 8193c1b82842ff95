package duckdb

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	bindings "github.com/duckdb/duckdb-go-bindings"
	"go.uber.org/goleak"

	"gatehouse/auth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// nobody verifies nothing: the tests that use it go round plans, into the engine.
type nobody struct{}

func (nobody) Verify(auth.Secret, auth.TaskClaims) (auth.TaskClaims, error) {
	return auth.TaskClaims{}, auth.ErrBadTask
}

// open starts an executor whose buffers are counted.
func open(t *testing.T, c Config) *Executor {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	if c.Verifier == nil {
		c.Verifier = nobody{}
	}
	c.Dir, c.Allocator = t.TempDir(), mem
	x, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		mem.AssertSize(t, 0)
	})
	return x
}

// raw binds a statement that has no relations, of nobody.
func (x *Executor) raw(text string, params int) (*Prepared, error) {
	return x.rawAs("", text, params)
}

func (x *Executor) rawAs(user, text string, params int) (*Prepared, error) {
	s, err := x.rawIn(owner{name: user}, text, params)
	if errors.Is(err, errLosesStates) {
		return x.rawIn(owner{name: user, whole: true}, text, params)
	}
	return s, err
}

func (x *Executor) rawIn(user owner, text string, params int) (*Prepared, error) {
	s, err := x.newPrepared(user)
	if err != nil {
		return nil, err
	}
	constant := strings.NewReplacer("$1", "NULL", "$2", "NULL").Replace(text)
	err = s.bind(&statement{text: text, shape: text, constant: constant, governed: "SELECT 1"}, params)
	s.free()
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// rows runs a statement and returns the schema's text and each column's values.
func rows(t *testing.T, x *Executor, text string, args ...any) (*arrow.Schema, []string) {
	t.Helper()
	s, err := x.raw(text, len(args))
	if err != nil {
		t.Fatalf("%s: %v (%v)", text, err, cause1(err))
	}
	defer s.Close()
	r, err := s.Execute(context.Background(), args)
	if err != nil {
		t.Fatalf("%s: %v (%v)", text, err, cause1(err))
	}
	defer r.Release()
	out, err := drain(r)
	if err != nil {
		t.Fatalf("%s: %v (%v)", text, err, cause1(err))
	}
	return r.Schema(), out
}

func cause1(err error) error {
	if u, ok := err.(interface{ Unwrap() error }); ok {
		return u.Unwrap()
	}
	return nil
}

// drain returns each column's values, however many batches they came in.
func drain(r array.RecordReader) ([]string, error) {
	columns := make([][]string, r.Schema().NumFields())
	rows := int64(0)
	for r.Next() {
		rows += r.RecordBatch().NumRows()
		for i, col := range r.RecordBatch().Columns() {
			for j := range col.Len() {
				columns[i] = append(columns[i], col.ValueStr(j))
			}
		}
	}
	if rows == 0 {
		return nil, r.Err()
	}
	var out []string
	for _, values := range columns {
		out = append(out, strings.Join(values, "|"))
	}
	return out, r.Err()
}

// firstInt reads the first value of a BIGINT column.
func firstInt(n *int64) func(bindings.DataChunk) error {
	return func(chunk bindings.DataChunk) error {
		*n = *(*int64)(bindings.VectorGetData(bindings.DataChunkGetVector(chunk, 0)))
		return nil
	}
}
