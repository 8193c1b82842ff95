package flight

import (
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"
	"google.golang.org/grpc/codes"
)

// The bounds of what may be bound to the parameters of one statement.
const (
	maxBoundRows  = 10_000
	maxBoundBytes = 64 << 20
)

var (
	errBind      = &callError{codes.InvalidArgument, "the bound values cannot be read"}
	errBindCount = &callError{codes.InvalidArgument, "the number of bound columns is not the number of parameters"}
	errBindLimit = &callError{codes.ResourceExhausted, fmt.Sprintf("more values are bound than fit: at most %d rows and %d MiB", maxBoundRows, maxBoundBytes>>20)}
)

// upload is what a client sends along with DoPut: the message with the command, and those after it.
type upload struct {
	first *flight.FlightData
	rest  flight.FlightService_DoPutServer
	size  int
}

// hasRows reports whether a schema came with the command, that is, whether rows may follow.
func (u *upload) hasRows() bool { return len(u.first.GetDataHeader()) > 0 }

// Recv implements flight.DataStreamReader.
func (u *upload) Recv() (*flight.FlightData, error) {
	d := u.first
	if u.first = nil; d == nil {
		var err error
		if d, err = u.rest.Recv(); err != nil {
			return nil, err
		}
	}
	if u.size += len(d.DataHeader) + len(d.DataBody); u.size > maxBoundBytes {
		return nil, errBindLimit
	}
	return d, nil
}

// rows reads all values, row by row. Zero columns give no rows.
func (u *upload) rows(params int) (out [][]any, err error) {
	if !u.hasRows() {
		return nil, nil
	}
	mem := &bounded{Allocator: memory.DefaultAllocator}
	defer func() {
		// arrow-go panics on some malformed input, and on more than bounded gives.
		if x := recover(); x != nil {
			out, err = nil, errBind
			if x == any(errBindLimit) {
				err = errBindLimit
			}
		}
	}()
	r, err := flight.NewRecordReader(u, ipc.WithAllocator(mem))
	if err != nil {
		return nil, bindError(err)
	}
	defer r.Release()
	if n := r.Schema().NumFields(); n != params && params > 0 && n > 0 {
		return nil, errBindCount
	}
	for r.Next() {
		b := r.RecordBatch()
		if b.NumRows() > int64(maxBoundRows-len(out)) {
			return nil, errBindLimit
		}
		if int(b.NumCols()) != params {
			if b.NumRows() > 0 && params > 0 {
				return nil, errBindCount
			}
			continue
		}
		for i := range int(b.NumRows()) {
			row, err := valuesOf(b, i)
			if err != nil {
				return nil, err
			}
			out = append(out, row)
		}
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		return nil, bindError(err)
	}
	return out, nil
}

func bindError(err error) error {
	var limit *callError
	if errors.As(err, &limit) {
		return limit
	}
	return errBind
}

func valuesOf(b arrow.RecordBatch, row int) ([]any, error) {
	out := make([]any, b.NumCols())
	for i, c := range b.Columns() {
		v, err := valueOf(c, row)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// valueOf returns one value in the form that executors.Prepared takes: copies, so that it outlives the message.
func valueOf(a arrow.Array, i int) (any, error) {
	if i >= a.Len() {
		return nil, errBind
	}
	if a.IsNull(i) {
		return nil, nil
	}
	switch a := a.(type) {
	case *array.Null:
		return nil, nil
	case *array.Boolean:
		return a.Value(i), nil
	case *array.Int8:
		return int64(a.Value(i)), nil
	case *array.Int16:
		return int64(a.Value(i)), nil
	case *array.Int32:
		return int64(a.Value(i)), nil
	case *array.Int64:
		return a.Value(i), nil
	case *array.Uint8:
		return uint64(a.Value(i)), nil
	case *array.Uint16:
		return uint64(a.Value(i)), nil
	case *array.Uint32:
		return uint64(a.Value(i)), nil
	case *array.Uint64:
		return a.Value(i), nil
	case *array.Float16:
		return float64(a.Value(i).Float32()), nil
	case *array.Float32:
		return float64(a.Value(i)), nil
	case *array.Float64:
		return a.Value(i), nil
	case *array.Dictionary:
		return valueOf(a.Dictionary(), a.GetValueIndex(i))
	case array.ExtensionArray:
		if a.ExtensionType().ExtensionName() == "arrow.uuid" {
			return a.ValueStr(i), nil
		}
		return valueOf(a.Storage(), i)
	}
	return longValueOf(a, i)
}

// longValueOf is valueOf for text, bytes, decimals, times and nested values.
func longValueOf(a arrow.Array, i int) (any, error) {
	switch a := a.(type) {
	case *array.String:
		return string([]byte(a.Value(i))), nil
	case *array.LargeString:
		return string([]byte(a.Value(i))), nil
	case *array.StringView:
		return string([]byte(a.Value(i))), nil
	case *array.Binary:
		return append([]byte{}, a.Value(i)...), nil
	case *array.LargeBinary:
		return append([]byte{}, a.Value(i)...), nil
	case *array.BinaryView:
		return append([]byte{}, a.Value(i)...), nil
	case *array.FixedSizeBinary:
		return append([]byte{}, a.Value(i)...), nil
	case *array.Decimal32, *array.Decimal64, *array.Decimal128, *array.Decimal256:
		return decimalOf(a, i)
	case *array.Timestamp:
		t := a.DataType().(*arrow.TimestampType)
		return a.Value(i).ToTime(t.Unit), nil
	case *array.RunEndEncoded, *array.DenseUnion, *array.SparseUnion:
		return nil, errBind
	}
	v, err := scalar.GetScalar(a, i)
	if err != nil {
		return nil, errBind
	}
	return v, nil
}

// decimalOf returns a decimal as text. A type that no decimal has is an error, not a very large number.
func decimalOf(a arrow.Array, i int) (any, error) {
	t := a.DataType().(arrow.DecimalType)
	if p := t.GetPrecision(); p < 1 || p > 76 || t.GetScale() > p || t.GetScale() < 0 {
		return nil, errBind
	}
	return a.ValueStr(i), nil
}

// bounded refuses to allocate more than may be bound: a compressed buffer states its size itself.
type bounded struct {
	memory.Allocator
	used int
}

// Allocate implements memory.Allocator.
func (b *bounded) Allocate(size int) []byte {
	b.take(size)
	return b.Allocator.Allocate(size)
}

// Reallocate implements memory.Allocator.
func (b *bounded) Reallocate(size int, old []byte) []byte {
	b.take(size - len(old))
	return b.Allocator.Reallocate(size, old)
}

// Free implements memory.Allocator.
func (b *bounded) Free(buf []byte) {
	b.used -= len(buf)
	b.Allocator.Free(buf)
}

func (b *bounded) take(n int) {
	if n < 0 && -n > b.used || n > maxBoundBytes-b.used {
		panic(errBindLimit)
	}
	b.used += n
}
