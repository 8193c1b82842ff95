package duckdb

import (
	"context"
	"fmt"
	"os"
	"unsafe"

	"github.com/apache/iceberg-go/table/dv"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"gatehouse/executors"
	"gatehouse/plan"
)

// dataExtension ends the private names of Parquet files.
const dataExtension = ".parquet"

func deleteExtension(k plan.DeleteKind) string {
	if k == plan.DeletionVector {
		return ".puffin"
	}
	return dataExtension
}

// checkDelete makes sure that a delete file has the columns that it is read by, and returns their places; otherwise it would delete nothing.
func (x *Executor) checkDelete(d *plan.DeleteFile, l *link) ([]int64, error) {
	ft, err := x.footers.read(l)
	if err != nil {
		return nil, err
	}
	ids := []int{executors.DeletePathID, executors.DeletePositionID}
	if d.Kind == plan.EqualityDeletes {
		ids = nil
		for _, f := range d.Equality {
			ids = append(ids, f.ID)
		}
		if len(ids) == 0 {
			return nil, internal("an equality delete without keys")
		}
	}
	var fields []plan.Field
	for _, id := range ids {
		if ft.byID(id) == nil {
			return nil, dataError("delete file %s has no column with field id %d", d.Path, id)
		}
		fields = append(fields, plan.Field{ID: id})
	}
	if ft.rows != d.Rows {
		return nil, dataError("%s has %d rows, its manifest says %d", d.Path, ft.rows, d.Rows)
	}
	return columnsOf(fields, ft, nil), nil
}

// createKeys makes the empty key tables, so that the statement can be bound.
func (s *scan) createKeys(c *connection) error {
	for _, k := range s.keys {
		if err := c.exec("CREATE TEMP TABLE " + k.name + " (k BIGINT NOT NULL)"); err != nil {
			return withoutHint(err)
		}
	}
	return nil
}

// loadKeys fills the key tables.
func (s *scan) loadKeys(ctx context.Context, c *connection) error {
	for _, k := range s.keys {
		if err := s.loadPositions(c, k); err != nil {
			return withoutHint(err)
		}
		if err := s.loadVectors(ctx, c, k); err != nil {
			return err
		}
	}
	return nil
}

// loadPositions reads the positional delete files of an arm. Such a file may name other data files too, and data files that it
// does not apply to, so the pairs of delete file and data file are spelled out.
func (s *scan) loadPositions(c *connection, k keyTable) error {
	var links []*link
	var rows int64
	place := map[int]int{} // index into Scan.Deletes → place in links
	type pair struct {
		delete, file int
		path         string
	}
	var pairs []pair
	for i, f := range k.arm.files {
		for _, d := range f.Deletes {
			if s.relation.Scan.Deletes[d].Kind != plan.PositionDeletes {
				continue
			}
			if _, ok := place[d]; !ok {
				place[d] = len(links)
				links = append(links, s.deletes[d])
				rows += s.relation.Scan.Deletes[d].Rows
			}
			for _, path := range plan.Spellings(f.Path) {
				pairs = append(pairs, pair{place[d], i, path})
			}
		}
	}
	if len(links) == 0 {
		return nil
	}
	fields := []plan.Field{{ID: executors.DeletePathID, Type: "VARCHAR"}, {ID: executors.DeletePositionID, Type: "BIGINT"}}
	read := readParquet(list(links, func(l *link) string { return literal(l.path) }), fields, nil, rows)
	return c.exec(fmt.Sprintf(
		"INSERT INTO temp.main.%s SELECT DISTINCT (m.f << %d) | p.c%d FROM %s p JOIN (SELECT unnest(%s) AS d, unnest(%s) AS f, unnest(%s) AS path) m "+
			"ON p.file_index = m.d AND p.c%d = m.path",
		k.name, positionBits, executors.DeletePositionID, read,
		list(pairs, func(p pair) string { return fmt.Sprintf("%d::BIGINT", p.delete) }),
		list(pairs, func(p pair) string { return fmt.Sprintf("%d::BIGINT", p.file) }),
		list(pairs, func(p pair) string { return literal(p.path) }),
		executors.DeletePathID,
	))
}

// loadVectors decodes the deletion vectors of an arm.
func (s *scan) loadVectors(ctx context.Context, c *connection, k keyTable) error {
	var out *keyWriter
	for i, f := range k.arm.files {
		for _, d := range f.Deletes {
			df := &s.relation.Scan.Deletes[d]
			if df.Kind != plan.DeletionVector {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			bitmap, err := readVector(s.deletes[d], df)
			if err != nil {
				return dataError("%s: %w", df.Path, err)
			}
			if out == nil {
				if out, err = newKeyWriter(c, k.name); err != nil {
					return err
				}
				defer out.close()
			}
			for pos := range bitmap.Positions() {
				if pos >= 1<<positionBits {
					return dataError("%s: position %d", df.Path, pos)
				}
				if err := out.add(int64(i)<<positionBits | int64(pos)); err != nil {
					return err
				}
			}
		}
	}
	if out == nil {
		return nil
	}
	return out.flush()
}

func readVector(l *link, d *plan.DeleteFile) (*dv.RoaringPositionBitmap, error) {
	in, err := os.Open(l.path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return executors.ReadDeletionVector(in, l.size, d)
}

// keyWriter appends keys to a key table, a vector at a time.
type keyWriter struct {
	appender bindings.Appender
	chunk    bindings.DataChunk
	data     []int64
	n        int
}

func newKeyWriter(c *connection, table string) (*keyWriter, error) {
	w := &keyWriter{}
	if bindings.AppenderCreateExt(c.raw, "temp", "main", table, &w.appender) == bindings.StateError {
		err := internal("%s", bindings.AppenderError(w.appender))
		bindings.AppenderDestroy(&w.appender)
		return nil, err
	}
	t := bindings.CreateLogicalType(bindings.TypeBigInt)
	defer bindings.DestroyLogicalType(&t)
	w.chunk = bindings.CreateDataChunk([]bindings.LogicalType{t})
	w.data = unsafe.Slice((*int64)(bindings.VectorGetData(bindings.DataChunkGetVector(w.chunk, 0))), int(bindings.VectorSize()))
	return w, nil
}

func (w *keyWriter) add(key int64) error {
	w.data[w.n] = key
	w.n++
	if w.n < len(w.data) {
		return nil
	}
	return w.send()
}

func (w *keyWriter) send() error {
	bindings.DataChunkSetSize(w.chunk, bindings.IdxT(w.n))
	w.n = 0
	if bindings.AppendDataChunk(w.appender, w.chunk) == bindings.StateError {
		return w.failed()
	}
	return nil
}

func (w *keyWriter) flush() error {
	if w.n > 0 {
		if err := w.send(); err != nil {
			return err
		}
	}
	if bindings.AppenderClose(w.appender) == bindings.StateError {
		return w.failed()
	}
	return nil
}

func (w *keyWriter) failed() error {
	data := bindings.AppenderErrorData(w.appender)
	defer bindings.DestroyErrorData(&data)
	return withoutHint(engineError(bindings.ErrorDataErrorType(data), bindings.ErrorDataMessage(data)))
}

func (w *keyWriter) close() {
	bindings.DestroyDataChunk(&w.chunk)
	bindings.AppenderDestroy(&w.appender)
}
