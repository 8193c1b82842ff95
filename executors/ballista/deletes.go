package ballista

import (
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

	"gatehouse/executors"
	"gatehouse/plan"
)

// deletes reads the delete files of one scan, each once.
type deletes struct {
	scan *plan.Scan
	// byPath are the positions of a positional delete file by the data files that it names.
	byPath map[int]map[string][]int64
}

func newDeletes(s *plan.Scan) *deletes {
	return &deletes{scan: s, byPath: map[int]map[string][]int64{}}
}

// of returns the deleted positions of a data file as executors read them: ascending, each as the varint of its distance from the one before.
// The equality deletes that apply are given by their place in the scan.
func (d *deletes) of(ctx context.Context, f *plan.File) (deleted []byte, equality []int32, err error) {
	var positions []int64
	for _, i := range f.Deletes {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if i < 0 || i >= len(d.scan.Deletes) {
			return nil, nil, internal("delete file %d of %d", i, len(d.scan.Deletes))
		}
		if d.scan.Deletes[i].Kind == plan.EqualityDeletes {
			equality = append(equality, int32(i))
			continue
		}
		found, err := d.positions(i, f)
		if err != nil {
			return nil, nil, err
		}
		positions = append(positions, found...)
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

func (d *deletes) positions(i int, f *plan.File) ([]int64, error) {
	df := &d.scan.Deletes[i]
	path, err := localPath(df.Path)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err != nil || info.Size() != df.Size {
		return nil, dataError("%s is not the file that its manifest names: %w", path, errors.Join(err))
	}
	switch df.Kind {
	case plan.DeletionVector:
		found, err := readVector(path, df)
		if err != nil {
			return nil, dataError("%s: %w", path, err)
		}
		return found, nil
	case plan.PositionDeletes:
		if d.byPath[i] == nil {
			if d.byPath[i], err = readPositions(path, df.Rows); err != nil {
				return nil, dataError("%s: %w", path, err)
			}
		}
		return d.byPath[i][f.Path], nil
	}
	return nil, unsupported("reading this kind of delete files", nil)
}

func readVector(path string, d *plan.DeleteFile) ([]int64, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
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

// readPositions reads a positional delete file.
func readPositions(path string, rows int64) (map[string][]int64, error) {
	r, err := file.OpenParquetFile(path, false)
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

func dataError(format string, args ...any) error {
	return &executors.Error{Kind: executors.KindData, Cause: fmt.Errorf(format, args...)}
}
