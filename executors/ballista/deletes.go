package ballista

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"golang.org/x/sync/errgroup"

	"gatehouse/executors"
	"gatehouse/objects"
	"gatehouse/plan"
)

// deletes are the delete files of one scan, by their place in it, each read once.
type deletes struct {
	scan    *plan.Scan
	vectors [][]int64
	byPath  []map[string][]int64 // a positional delete file's positions by the data files that it names
}

// requests is how many files of deletes are read at once where each takes a while.
const requests = 8

// loadDeletes reads those of a scan's delete files that hold positions.
func loadDeletes(ctx context.Context, s *plan.Scan) (*deletes, error) {
	d := &deletes{scan: s, vectors: make([][]int64, len(s.Deletes)), byPath: make([]map[string][]int64, len(s.Deletes))}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(1)
	if s.Objects != nil {
		g.SetLimit(requests)
	}
	for i := range s.Deletes {
		if !slices.ContainsFunc(s.Files, func(f plan.File) bool { return slices.Contains(f.Deletes, i) }) {
			continue
		}
		g.Go(func() error { return d.load(ctx, i) })
	}
	return d, g.Wait()
}

// of returns the deleted positions of a data file as executors read them: ascending, each as the varint of its distance from the one before.
// The equality deletes that apply are given by their place in the scan.
func (d *deletes) of(f *plan.File) (deleted []byte, equality []int32, err error) {
	var positions []int64
	for _, i := range f.Deletes {
		if i < 0 || i >= len(d.scan.Deletes) {
			return nil, nil, internal("delete file %d of %d", i, len(d.scan.Deletes))
		}
		if d.scan.Deletes[i].Kind == plan.EqualityDeletes {
			equality = append(equality, int32(i))
			continue
		}
		positions = append(positions, d.vectors[i]...)
		for _, path := range plan.Spellings(f.Path) {
			positions = append(positions, d.byPath[i][path]...)
		}
	}
	slices.Sort(positions)
	positions = slices.Compact(positions)
	last := int64(0)
	for _, p := range positions {
		if p < 0 {
			return nil, nil, dataError("position %d", p)
		}
		deleted = binary.AppendUvarint(deleted, uint64(p-last))
		last = p
	}
	return deleted, equality, nil
}

// load reads one delete file.
func (d *deletes) load(ctx context.Context, i int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	df := &d.scan.Deletes[i]
	if df.Kind == plan.EqualityDeletes {
		return nil // executors do
	}
	in, done, err := openDeletes(ctx, d.scan, df)
	if err != nil {
		return err
	}
	defer done()
	switch df.Kind {
	case plan.DeletionVector:
		d.vectors[i], err = readVector(in, df)
	case plan.PositionDeletes:
		d.byPath[i], err = readPositions(in, df.Rows)
	default:
		return unsupported("reading this kind of delete files", nil)
	}
	if e := executors.StoreError(err); e != nil {
		return e
	}
	if err != nil {
		return dataError("%s: %w", df.Path, err)
	}
	return ctx.Err()
}

// readPositions reads a positional delete file.
func readPositions(in parquet.ReaderAtSeeker, rows int64) (map[string][]int64, error) {
	r, err := file.NewParquetReader(in)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if r.NumRows() != rows {
		return nil, fmt.Errorf("%d rows, its manifest says %d", r.NumRows(), rows)
	}
	pathAt, positionAt := -1, -1
	for i := range r.MetaData().Schema.NumColumns() {
		switch r.MetaData().Schema.Column(i).SchemaNode().FieldID() {
		case executors.DeletePathID:
			pathAt = i
		case executors.DeletePositionID:
			positionAt = i
		}
	}
	if pathAt < 0 || positionAt < 0 {
		return nil, errors.New("a column of paths or positions is missing")
	}
	out := map[string][]int64{}
	for g := range r.NumRowGroups() {
		if err := readGroup(r.RowGroup(g), pathAt, positionAt, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func readGroup(g *file.RowGroupReader, pathAt, positionAt int, out map[string][]int64) error {
	pathColumn, err := g.Column(pathAt)
	if err != nil {
		return err
	}
	positionColumn, err := g.Column(positionAt)
	if err != nil {
		return err
	}
	paths, ok := pathColumn.(*file.ByteArrayColumnChunkReader)
	positions, also := positionColumn.(*file.Int64ColumnChunkReader)
	if !ok || !also {
		return errors.New("a column of another type")
	}
	n := int(g.NumRows())
	path, position := make([]parquet.ByteArray, n), make([]int64, n)
	levels := make([]int16, n)
	for at := 0; at < n; {
		total, read, err := paths.ReadBatch(int64(n-at), path[at:], levels, nil)
		if err != nil || total == 0 || int(total) != read {
			return fmt.Errorf("paths: %w", errors.Join(err, io.ErrUnexpectedEOF))
		}
		// The reader's buffers are used again.
		for i := at; i < at+read; i++ {
			path[i] = slices.Clone(path[i])
		}
		at += read
	}
	for at := 0; at < n; {
		total, read, err := positions.ReadBatch(int64(n-at), position[at:], levels, nil)
		if err != nil || total == 0 || int(total) != read {
			return fmt.Errorf("positions: %w", errors.Join(err, io.ErrUnexpectedEOF))
		}
		at += read
	}
	for i := range n {
		out[string(path[i])] = append(out[string(path[i])], position[i])
	}
	return nil
}

func readVector(in io.ReaderAt, d *plan.DeleteFile) ([]int64, error) {
	bitmap, err := executors.ReadDeletionVector(in, d.Size, d)
	if err != nil {
		return nil, err
	}
	var out []int64
	for p := range bitmap.Positions() {
		if p > math.MaxInt64 {
			return nil, fmt.Errorf("position %d", p)
		}
		out = append(out, int64(p))
	}
	return out, nil
}

// maxDeletes bounds a delete file of an object store, which is held in memory, in bytes.
const maxDeletes = 1 << 30

// openDeletes opens a delete file that has the size that its manifest says. The caller calls done.
func openDeletes(ctx context.Context, s *plan.Scan, d *plan.DeleteFile) (in parquet.ReaderAtSeeker, done func(), err error) {
	if !objects.IsObject(d.Path) || s.Objects == nil {
		path, err := localPath(d.Path)
		if err != nil {
			return nil, nil, err
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, nil, dataError("%w", err)
		}
		if info, err := f.Stat(); err != nil || info.Size() != d.Size {
			_ = f.Close()
			return nil, nil, dataError("%s is not the file that its manifest names: %w", path, errors.Join(err))
		}
		return f, func() { _ = f.Close() }, nil
	}
	o := objects.Object{Location: d.Path, Size: d.Size}
	if d.Kind == plan.DeletionVector {
		// One of many in a file.
		return io.NewSectionReader(objectAt{ctx, s.Objects, o}, 0, d.Size), func() {}, nil
	}
	if d.Size > maxDeletes {
		return nil, nil, dataError("%s has %d bytes", d.Path, d.Size)
	}
	all, err := s.Objects.ReadAll(ctx, o, d.Size)
	if err != nil {
		return nil, nil, storeError(err)
	}
	return bytes.NewReader(all), func() {}, nil
}

// objectAt reads an object at a place. The object may be another one each time.
type objectAt struct {
	ctx    context.Context
	store  objects.Store
	object objects.Object
}

// ReadAt implements io.ReaderAt.
func (o objectAt) ReadAt(p []byte, off int64) (int, error) {
	if _, err := o.store.Read(o.ctx, o.object, p, off); err != nil {
		return 0, err
	}
	return len(p), nil
}

func dataError(format string, args ...any) error {
	return &executors.Error{Kind: executors.KindData, Cause: fmt.Errorf(format, args...)}
}
