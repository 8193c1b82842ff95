package executors

import (
	"fmt"
	"io"
	"math"

	"github.com/apache/iceberg-go/table/dv"

	"gatehouse/plan"
)

// The reserved field ids of the two columns of a positional delete file (Iceberg specification, "Reserved Field IDs").
const (
	DeletePathID     = 2147483546
	DeletePositionID = 2147483545
)

// maxDeletionVector bounds what is read of a Puffin file for one deletion vector, in bytes.
const maxDeletionVector = 1 << 30

// ReadDeletionVector reads d, a deletion vector, from r, a file of size bytes, at one go. It fails if the vector is not within the file or has not as
// many positions as d says.
func ReadDeletionVector(r io.ReaderAt, size int64, d *plan.DeleteFile) (*dv.RoaringPositionBitmap, error) {
	if err := CheckDeletionVector(size, d); err != nil {
		return nil, err
	}
	blob := make([]byte, d.Length)
	if n, err := r.ReadAt(blob, d.Offset); n < len(blob) {
		return nil, err
	}
	return dv.DeserializeDV(blob, d.Rows)
}

// CheckDeletionVector reports whether d lies within a file of size bytes and is not too large to be read.
func CheckDeletionVector(size int64, d *plan.DeleteFile) error {
	if d.Length <= 0 || d.Length > maxDeletionVector || d.Offset < 0 || d.Offset > math.MaxInt64-d.Length || d.Offset+d.Length > size {
		return fmt.Errorf("a deletion vector of %d bytes at %d", d.Length, d.Offset)
	}
	return nil
}
