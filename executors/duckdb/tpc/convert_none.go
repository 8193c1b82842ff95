//go:build !duckdb_arrow

package tpc

import (
	"errors"

	bindings "github.com/duckdb/duckdb-go-bindings"
)

// converter is not there without the tag duckdb_arrow, which the engine's binding wants for Arrow.
type converter struct{}

func newConverter(*bindings.Result) (*converter, error) {
	return nil, errors.New("tpc: streaming as Arrow needs a build with -tags duckdb_arrow")
}

func (*converter) bytes(bindings.DataChunk) (int64, error) { return 0, nil }

func (*converter) close() {}
