package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	iceio "github.com/apache/iceberg-go/io"

	"gatehouse/objects"
)

// Files reads the files of tables: local ones, and objects of the stores that it was given, see With.
//
// A location is opened literally: its scheme is taken off and nothing is decoded, because the writers of Iceberg tables do
// not encode either ("region=n%2Fa" is the name of a folder). Files outside of the roots are refused, so that nobody who may
// write a table's metadata makes the gateway read a file for him. The zero value has no roots and refuses everything.
type Files struct {
	roots  []string           // local
	places []objects.Location // in object stores
	opened []opened           // longest prefix first
	scope  string
	vended bool
}

// NewFiles returns Files that reads below the given roots only: local folders, each of which must exist, and prefixes of object stores,
// "s3://bucket/prefix", which end at a slash.
func NewFiles(roots ...string) (Files, error) {
	var out Files
	for _, r := range roots {
		if objects.IsObject(r) {
			place, err := objects.Parse(r)
			if err != nil {
				return Files{}, fmt.Errorf("%q: %w", r, err)
			}
			out.places = append(out.places, place)
			continue
		}
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

// Check reports whether a location may be read: that it lies below a root, and, in an object store, below the prefix of credentials that
// open it. Nothing is asked of a store. The error wraps ErrUnreadable.
func (f Files) Check(location string) error {
	if objects.IsObject(location) {
		_, err := f.choose(location)
		return err
	}
	_, err := f.Path(location)
	return err
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
	return "", fmt.Errorf("%w: %s", ErrOutside, location)
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

// open opens a local file.
func (f Files) open(location string) (*os.File, error) {
	path, err := f.Path(location)
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// maxFile bounds what ReadFile reads.
const maxFile = 256 << 20

// ReadFile returns a whole file of at most 256 MiB.
func (f Files) ReadFile(ctx context.Context, location string) ([]byte, error) {
	return f.readAtMost(ctx, location, maxFile)
}

// readAtMost reads a whole object, or a whole regular file, of at most limit bytes.
func (f Files) readAtMost(ctx context.Context, location string, limit int64) ([]byte, error) {
	if objects.IsObject(location) {
		store, err := f.choose(location)
		if err != nil {
			return nil, err
		}
		return store.ReadAll(ctx, objects.Object{Location: location, Size: -1}, limit)
	}
	file, err := f.open(location)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, &fs.PathError{Op: "read", Path: location, Err: errors.New("not a regular file, or too large")}
	}
	data := make([]byte, info.Size())
	_, err = io.ReadFull(file, data)
	return data, err
}

// IO returns f as iceberg-go's IO for local files, which a table of that library has to have. What we read ourselves goes by ReadFile.
func (f Files) IO(context.Context) (iceio.IO, error) { return localIO{f}, nil }

// localIO is the IO of Files.IO. It only reads.
type localIO struct{ files Files }

// Open implements iceberg-go's IO.
func (l localIO) Open(name string) (iceio.File, error) { return l.files.open(name) }

// Remove implements iceberg-go's IO and always fails.
func (localIO) Remove(name string) error {
	return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrPermission}
}
