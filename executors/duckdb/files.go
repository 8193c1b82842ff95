package duckdb

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"

	"gatehouse/executors"
	"gatehouse/plan"
)

// maxIdleLinks is how many names without a running statement stay, so that the next statement finds the engine's cached
// footers under the same name.
const maxIdleLinks = 20_000

// files gives data files names inside the one folder that the engine may read. A name is a hash of what identifies the file's
// content, so it has no glob characters, and a file that is replaced under its path gets another name.
//
// Names are hard links: the engine compares the real path with the allowed folder, so a symbolic link is refused. Where a file
// cannot be linked, because it lies on another file system or belongs to somebody else, it is copied.
type files struct {
	root  string
	data  string
	space int64 // bound of all copies
	log   *slog.Logger
	warn  sync.Once

	mu     sync.Mutex
	links  map[string]*link
	idle   int
	copied int64 // bytes
}

// link is one file inside the private folder.
type link struct {
	path  string // inside the private folder
	size  int64
	users int
	copy  bool
	ready chan struct{} // closed when the link exists or err is set
	err   error
}

func newFiles(root string, space int64, log *slog.Logger) (*files, error) {
	f := &files{root: root, space: space, log: log, data: filepath.Join(root, dataFolder), links: map[string]*link{}}
	return f, os.Mkdir(f.data, 0o700)
}

func (f *files) close() error { return os.RemoveAll(f.root) }

var scheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*):`)

// localPath returns the path of a location as the planner reads it, which has checked that it lies where tables may.
func localPath(location string) (string, error) {
	if m := scheme.FindStringSubmatch(location); m != nil && m[1] != "file" {
		return "", &executors.Error{
			Kind:  executors.KindUnsupported,
			Hint:  fmt.Sprintf("data files at %q locations cannot be read here", strings.ToLower(m[1])+":"),
			Cause: fmt.Errorf("location %q", location),
		}
	}
	path, err := plan.LocalPath(location)
	if err != nil {
		return "", dataError("location %q: %w", location, err)
	}
	return path, nil
}

func dataError(format string, args ...any) error {
	return &executors.Error{Kind: executors.KindData, Cause: fmt.Errorf(format, args...)}
}

// pins are the links that one statement holds.
type pins struct {
	files *files
	held  []*link
}

// open returns the private name of the file at location, which must have size bytes. The file keeps its content under that
// name until release.
func (p *pins) open(location string, size int64, extension string) (*link, error) {
	path, err := localPath(location)
	if err != nil {
		return nil, err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return nil, dataError("%w", err)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, dataError("%w", err)
	case !info.Mode().IsRegular():
		return nil, dataError("%s is not a regular file", path)
	case info.Size() != size:
		return nil, dataError("%s has %d bytes, its manifest says %d", path, info.Size(), size)
	}
	l := p.files.acquire(path, info, extension)
	p.held = append(p.held, l)
	if l.err != nil {
		return nil, l.err
	}
	return l, nil
}

// release gives all links back.
func (p *pins) release() {
	p.files.mu.Lock()
	defer p.files.mu.Unlock()
	for _, l := range p.held {
		if l.users--; l.users == 0 && l.err == nil { // one that could not be made is not kept
			p.files.idle++
		}
	}
	p.held = nil
	p.files.sweep()
}

// acquire finds or makes the link of the file at path.
func (f *files) acquire(path string, info fs.FileInfo, extension string) *link {
	name := contentName(path, info) + extension
	f.mu.Lock()
	l, found := f.links[name]
	if !found {
		l = &link{path: filepath.Join(f.data, name), size: info.Size(), ready: make(chan struct{})}
		f.links[name] = l
	} else if l.users == 0 {
		f.idle--
	}
	l.users++
	f.mu.Unlock()
	if found {
		<-l.ready
		return l
	}
	defer close(l.ready)
	if l.err = f.place(path, info, l); l.err != nil {
		f.mu.Lock()
		delete(f.links, name) // users of this link see its error; the next one tries again
		f.mu.Unlock()
	}
	return l
}

// sweep removes idle names beyond the bounds, some in advance. It needs mu.
func (f *files) sweep() {
	if f.idle > maxIdleLinks {
		f.evict(func(*link) bool { return f.idle > maxIdleLinks/2 })
	}
	if f.copied > f.space/2 {
		f.evict(func(l *link) bool { return l.copy && f.copied > f.space/4 })
	}
}

// evict removes the idle names that want says. It needs mu.
func (f *files) evict(want func(*link) bool) {
	for name, l := range f.links {
		if l.users > 0 || !want(l) {
			continue
		}
		_ = os.Remove(l.path)
		delete(f.links, name)
		f.idle--
		if l.copy {
			f.copied -= l.size
		}
	}
}

// reserve makes room for a copy of l.
func (f *files) reserve(l *link) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.copied+l.size > f.space {
		f.evict(func(l *link) bool { return l.copy })
	}
	if f.copied+l.size > f.space {
		return &executors.Error{
			Kind:  executors.KindMemory,
			Cause: fmt.Errorf("copies of data files need more than %d bytes; a folder on the file system of the data needs none", f.space),
		}
	}
	f.copied += l.size
	l.copy = true
	return nil
}

func (f *files) unreserve(l *link) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.copied -= l.size
	l.copy = false
}

func contentName(path string, info fs.FileInfo) string {
	id := fmt.Sprintf("%s\x00%d\x00%d", path, info.Size(), info.ModTime().UnixNano())
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		id += fmt.Sprintf("\x00%d\x00%d", s.Dev, s.Ino)
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}

// place makes l the same file as source, or a copy of it, and checks that source is still the file of info.
func (f *files) place(source string, info fs.FileInfo, l *link) error {
	if err := os.Link(source, l.path); err == nil {
		linked, err := os.Lstat(l.path)
		if err == nil && !os.SameFile(linked, info) {
			err = fmt.Errorf("%s was replaced while it was opened", source)
		}
		if err != nil {
			return dataError("%w", errors.Join(err, os.Remove(l.path)))
		}
		return nil
	}
	f.warn.Do(func() {
		f.log.Warn("data files are copied because they cannot be linked; a folder on their file system avoids it", "folder", f.root)
	})
	if err := f.reserve(l); err != nil {
		return err
	}
	if err := copyFile(source, info, l.path); err != nil {
		f.unreserve(l)
		return dataError("%w", errors.Join(err, os.RemoveAll(l.path)))
	}
	return nil
}

func copyFile(source string, info fs.FileInfo, target string) error {
	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer in.Close()
	if opened, err := in.Stat(); err != nil || !os.SameFile(opened, info) {
		return errors.Join(err, fmt.Errorf("%s was replaced while it was opened", source))
	}
	out, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, in)
	if err == nil && n != info.Size() {
		err = fmt.Errorf("%s changed while it was copied", source)
	}
	return errors.Join(err, out.Close())
}
