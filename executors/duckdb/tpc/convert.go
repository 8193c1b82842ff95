//go:build duckdb_arrow

package tpc

import (
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/util"
	bindings "github.com/duckdb/duckdb-go-bindings"
)

// converter makes Arrow batches of chunks with the engine's own code.
type converter struct {
	options bindings.ArrowOptions
	schema  *arrow.Schema
}

func newConverter(r *bindings.Result) (*converter, error) {
	c := &converter{options: bindings.ResultGetArrowOptions(r)}
	var types []bindings.LogicalType
	var names []string
	for i := range bindings.ColumnCount(r) {
		types, names = append(types, bindings.ColumnLogicalType(r, i)), append(names, bindings.ColumnName(r, i))
	}
	defer func() {
		for i := range types {
			bindings.DestroyLogicalType(&types[i])
		}
	}()
	schema, fault := bindings.NewArrowSchema(c.options, types, names)
	if err := failed(fault); err != nil {
		c.close()
		return nil, err
	}
	c.schema = schema
	return c, nil
}

// bytes converts one chunk and returns the size of the batch.
func (c *converter) bytes(chunk bindings.DataChunk) (int64, error) {
	batch, fault := bindings.DataChunkToArrowArray(c.options, c.schema, chunk)
	if err := failed(fault); err != nil {
		return 0, err
	}
	defer batch.Release()
	return util.TotalRecordSize(batch), nil
}

func (c *converter) close() { bindings.DestroyArrowOptions(&c.options) }

func failed(fault bindings.ErrorData) error {
	defer bindings.DestroyErrorData(&fault)
	if fault.Ptr != nil && bindings.ErrorDataHasError(fault) {
		return errors.New(bindings.ErrorDataMessage(fault))
	}
	return nil
}
