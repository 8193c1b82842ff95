package catalog

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"

	"github.com/apache/iceberg-go/table"
)

// maxMetadata bounds a metadata file, also after decompression.
const maxMetadata = 512 << 20

// ReadMetadata reads a metadata file, which may be compressed with gzip, whatever its name. The error wraps ErrUnreadable, or
// ErrUnavailable where an object store does not answer, or is the context's.
func (f Files) ReadMetadata(ctx context.Context, location string) (md table.Metadata, size int, err error) {
	data, err := f.readAtMost(ctx, location, maxMetadata)
	if err != nil {
		return nil, 0, faulty("metadata file", err)
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		if data, err = gunzip(data); err != nil {
			return nil, 0, fmt.Errorf("%w: metadata file: %w", ErrUnreadable, err)
		}
	}
	// A reader of foreign files must not bring the process down.
	defer func() {
		if r := recover(); r != nil {
			md, err = nil, fmt.Errorf("%w: metadata file: %v", ErrUnreadable, r)
		}
	}()
	if md, err = table.ParseMetadataBytes(data); err != nil {
		return nil, 0, fmt.Errorf("%w: metadata file: %w", ErrUnreadable, err)
	}
	return md, len(data), nil
}

func gunzip(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(r, maxMetadata+1))
	if err != nil {
		return nil, err
	}
	if len(out) > maxMetadata {
		return nil, fmt.Errorf("more than %d bytes", maxMetadata)
	}
	return out, nil
}
