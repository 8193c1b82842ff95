package catalog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	iceio "github.com/apache/iceberg-go/io"
)

// Files reads the local files of tables. It implements iceberg-go's IO for reading only.
//
// A location is opened literally: its scheme is taken off and nothing is decoded, because the writers of Iceberg tables do
// not encode either ("region=n%2Fa" is the name of a folder). Files outside of the roots are refused, so that nobody who may
// write a table's metadata makes the gateway read a file for him. The zero value has no roots and refuses everything.
type Files struct{ roots []string }

var _ iceio.ReadFileIO = Files{}

// NewFiles returns Files that reads under the given folders only. Each must exist.
func NewFiles(roots ...string) (Files, error) {
	var out Files
	for _, r := range roots {
		abs, err := filepath.Abs(r)
		if err != nil {
			return Files{}, fmt.Errorf("folder %q: %w", r, err)
		}
		info, err := os.Stat(abs)
		if err != nil {
			return Files{}, fmt.Errorf("folder %q: %w", r, err)
		}
		if !info.IsDir() {
			return Files{}, fmt.Errorf("%q is not a folder", r)
		}
		out.roots = append(out.roots, abs)
		if real, err := filepath.EvalSymlinks(abs); err == nil && real != abs {
			out.roots = append(out.roots, real)
		}
	}
	return out, nil
}

// Path returns the path of a local location, "file:/a", "file:///a", "file://localhost/a" or "/a", below one of the roots. The error wraps
// ErrUnreadable.
func (f Files) Path(location string) (string, error) {
	path, err := LocalPath(location)
	if err != nil {
		return "", err
	}
	// With "..", what a path means depends on links on its way.
	for _, part := range strings.Split(path, "/") {
		if part == ".." {
			return "", fmt.Errorf("%w: a location with two dots goes up", ErrUnreadable)
		}
	}
	clean := filepath.Clean(path)
	for _, r := range f.roots {
		if clean == r || strings.HasPrefix(clean, strings.TrimSuffix(r, "/")+"/") {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: a file lies outside of the folders that may be read", ErrUnreadable)
}

// LocalPath returns the path that a local location names, wherever it lies. The error wraps ErrUnreadable.
func LocalPath(location string) (string, error) {
	path := location
	if rest, ok := strings.CutPrefix(location, "file:"); ok {
		path = rest
		if after, ok := strings.CutPrefix(rest, "//"); ok {
			path = strings.TrimPrefix(after, "localhost")
		}
	}
	if !strings.HasPrefix(path, "/") || strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("%w: a location is not one of a local file", ErrUnreadable)
	}
	return path, nil
}

// Open implements iceberg-go's IO.
func (f Files) Open(name string) (iceio.File, error) {
	path, err := f.Path(name)
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// ReadFile implements iceberg-go's ReadFileIO, for files of at most 256 MiB.
func (f Files) ReadFile(name string) ([]byte, error) { return f.readAtMost(name, 256<<20) }

// readAtMost reads a whole regular file of at most limit bytes.
func (f Files) readAtMost(name string, limit int64) ([]byte, error) {
	file, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("not a regular file, or too large")}
	}
	data := make([]byte, info.Size())
	_, err = io.ReadFull(file, data)
	return data, err
}

// Remove implements iceberg-go's IO and always fails.
func (f Files) Remove(name string) error {
	return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrPermission}
}
