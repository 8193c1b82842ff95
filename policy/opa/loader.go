package opa

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/loader/filter"
)

// loader gives files that are already in memory to OPA's bundle reader, so that what is compiled is exactly what
// the revision is the digest of.
type loader struct {
	files map[string][]byte
	names []string
}

func newLoader(files map[string][]byte) *loader {
	return &loader{files: files, names: slices.Sorted(maps.Keys(files))}
}

// NextFile implements bundle.DirectoryLoader.
func (l *loader) NextFile() (*bundle.Descriptor, error) {
	if len(l.names) == 0 {
		return nil, io.EOF
	}
	name := l.names[0]
	l.names = l.names[1:]
	path := "/" + strings.TrimPrefix(name, "/")
	return bundle.NewDescriptor(path, path, bytes.NewReader(l.files[name])), nil
}

// The options of a loader do not apply: what is read was chosen before.

func (l *loader) WithFilter(filter.LoaderFilter) bundle.DirectoryLoader   { return l }
func (l *loader) WithPathFormat(bundle.PathFormat) bundle.DirectoryLoader { return l }
func (l *loader) WithSizeLimitBytes(int64) bundle.DirectoryLoader         { return l }
func (l *loader) WithFollowSymlinks(bool) bundle.DirectoryLoader          { return l }

var _ bundle.DirectoryLoader = (*loader)(nil)
