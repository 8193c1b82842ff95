package tpc

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	bindings "github.com/duckdb/duckdb-go-bindings"
)

// Stream is what a benchmark measures of streaming one statement's result inside this process.
type Stream struct {
	Rows  int64
	Bytes int64 // of the Arrow batches
}

// RunStream runs text over the tables of a namespace and takes every batch of the result as Arrow, in the engine's own conversion, as
// a program would that has the engine built in. first is called when the first batch is there. It needs a build with the tag
// duckdb_arrow.
func RunStream(_ context.Context, c ReferenceConfig, text string, first func()) (s Stream, err error) {
	var db bindings.Database
	var message string
	if bindings.OpenExt(":memory:", &db, bindings.Config{}, &message) == bindings.StateError {
		return s, errors.New(message)
	}
	defer bindings.Close(&db)
	var conn bindings.Connection
	if bindings.Connect(db, &conn) == bindings.StateError {
		return s, errors.New("tpc: no connection")
	}
	defer bindings.Disconnect(&conn)
	files, err := filepath.Glob(filepath.Join(c.Dir, c.Namespace, "*"))
	if err != nil {
		return s, err
	}
	setup := []string{"SET TimeZone = 'UTC'"}
	if c.Threads > 0 {
		setup = append(setup, fmt.Sprintf("SET threads = %d", c.Threads))
	}
	for _, f := range files {
		name := filepath.Base(f)
		setup = append(setup, "CREATE VIEW "+name+" AS SELECT * FROM read_parquet("+quote(dataFile(c.Dir, c.Namespace, name))+")")
	}
	for _, text := range setup {
		if err := effect(conn, text); err != nil {
			return s, err
		}
	}
	return stream(conn, text, first)
}

func effect(conn bindings.Connection, text string) error {
	var r bindings.Result
	defer bindings.DestroyResult(&r)
	if bindings.Query(conn, text, &r) == bindings.StateError {
		return errors.New(bindings.ResultError(&r))
	}
	return nil
}

func stream(conn bindings.Connection, text string, first func()) (s Stream, err error) {
	var stmt bindings.PreparedStatement
	defer bindings.DestroyPrepare(&stmt)
	if bindings.Prepare(conn, text, &stmt) == bindings.StateError {
		return s, errors.New(bindings.PrepareError(stmt))
	}
	var pending bindings.PendingResult
	defer bindings.DestroyPending(&pending)
	if bindings.PendingPreparedStreaming(stmt, &pending) == bindings.StateError {
		return s, errors.New(bindings.PendingError(pending))
	}
	var result bindings.Result
	defer bindings.DestroyResult(&result)
	if bindings.ExecutePending(pending, &result) == bindings.StateError {
		return s, errors.New(bindings.ResultError(&result))
	}
	convert, err := newConverter(&result)
	if err != nil {
		return s, err
	}
	defer convert.close()
	for {
		chunk := bindings.FetchChunk(result)
		if chunk.Ptr == nil {
			if message := bindings.ResultError(&result); message != "" {
				return s, errors.New(message)
			}
			return s, nil
		}
		if s.Rows == 0 && first != nil {
			first()
		}
		s.Rows += int64(bindings.DataChunkGetSize(chunk))
		n, err := convert.bytes(chunk)
		bindings.DestroyDataChunk(&chunk)
		if err != nil {
			return s, err
		}
		s.Bytes += n
	}
}
