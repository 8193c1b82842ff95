package duckdb

import (
	queue "container/list"
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

	"github.com/prometheus/client_golang/prometheus"

	"gatehouse/executors"
	"gatehouse/objects"
	"gatehouse/plan"
)

// maxIdleLinks is how many names without a running statement stay, of those that take space and of those that do not, so that the next
// statement finds the engine's cached footers under the same name.
const maxIdleLinks = 20_000

// files gives data files names inside the one folder that the engine may read. A name is a hash of what identifies the file's
// content, so it has no glob characters, and a file that is replaced under its path gets another name.
//
// Names are hard links: the engine compares the real path with the allowed folder, so a symbolic link is refused. Where a file
// cannot be linked, because it lies on another file system or belongs to somebody else, it is copied. An object of an object store
// becomes a file that holds what statements need of it, see mirror.go.
type files struct {
	root     string
	data     string
	space    int64 // bound of what copies and mirrors hold together
	log      *slog.Logger
	warn     sync.Once
	metrics  *metrics
	requests chan struct{} // one for each request to an object store that is under way
	// An object of up to wholeBytes is read at once; of a larger one tailBytes, at first, to find its footer.
	wholeBytes, tailBytes int64

	mu     sync.Mutex
	links  map[string]*link // by key
	users  map[string]*use  // by user
	names  queue.List       // of links without users that take no space, oldest first
	copies queue.List       // of those that take some
	copied int64            // bytes of all copies and mirrors
	made   int              // mirrors so far
}

// link is one file inside the private folder.
type link struct {
	key    string
	path   string // inside the private folder
	size   int64
	mirror *mirror       // of an object of a store, nil for a local file
	ready  chan struct{} // closed when the link exists or err is set
	err    error

	// These belong to files.
	users int
	held  int64          // bytes of space
	idle  *queue.Element // nil while there are users
	stale bool           // not the file of its key any more
}

func newFiles(root string, space int64, log *slog.Logger, reg prometheus.Registerer) (_ *files, err error) {
	f := &files{
		root: root, space: space, log: log, data: filepath.Join(root, dataFolder), links: map[string]*link{}, users: map[string]*use{},
		requests: make(chan struct{}, processRequests), wholeBytes: 512 << 10, tailBytes: 64 << 10,
	}
	if f.metrics, err = newMetrics(reg, f.onDisk); err != nil {
		return nil, err
	}
	return f, os.Mkdir(f.data, 0o700)
}

// onDisk is how many bytes copies and mirrors have.
func (f *files) onDisk() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.copied
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
	files   *files
	user    string
	held    []*link
	mirrors map[string]*link // by key
}

// open returns the private name of the file at location, which must have size bytes. The file keeps its content under that
// name until release. An object of store has been given to object before.
func (p *pins) open(store objects.Store, location string, size int64, extension string) (*link, error) {
	if isObject(store, location) {
		if l := p.mirrors[objectKey(store, location, size, extension)]; l != nil {
			return l, nil
		}
		return nil, internal("object %q was not asked for", location)
	}
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
	l := p.files.local(p.user, path, info, extension)
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
		p.files.give(p.user, l)
	}
	p.held, p.mirrors = nil, nil
	p.files.sweep()
}

// give says that l has a user less. What could not be made is not kept, nor a mirror of nothing. It needs mu.
func (f *files) give(user string, l *link) {
	f.users[user].less(l)
	if len(f.users[user].links) == 0 {
		delete(f.users, user)
	}
	if l.users--; l.users > 0 || l.err != nil {
		return
	}
	switch {
	case l.stale, l.mirror != nil && l.held == 0:
		f.remove(l)
	case l.held > 0:
		l.idle = f.copies.PushBack(l)
	default:
		l.idle = f.names.PushBack(l)
	}
}

// take finds the link of key, or else adds one, which the caller then makes. It needs mu.
func (f *files) take(user, key, name string, size int64) (l *link, found bool) {
	l, found = f.links[key]
	if !found {
		l = &link{key: key, path: filepath.Join(f.data, name), size: size, ready: make(chan struct{})}
		f.links[key] = l
	} else if l.idle != nil {
		f.unlist(l)
	}
	l.users++
	if f.users[user] == nil {
		f.users[user] = &use{links: map[*link]int{}}
	}
	f.users[user].more(l)
	return l, found
}

// local finds or makes the link of the file at path.
func (f *files) local(user, path string, info fs.FileInfo, extension string) *link {
	name := contentName(path, info) + extension
	f.mu.Lock()
	l, found := f.take(user, name, name, info.Size())
	f.mu.Unlock()
	if found {
		<-l.ready
		return l
	}
	defer close(l.ready)
	if l.err = f.place(user, path, info, l); l.err != nil {
		f.mu.Lock()
		delete(f.links, name) // users of this link see its error; the next one tries again
		f.mu.Unlock()
	}
	return l
}

// sweep removes idle names beyond the bound. It needs mu.
func (f *files) sweep() {
	for _, idle := range []*queue.List{&f.names, &f.copies} {
		for idle.Len() > maxIdleLinks {
			f.remove(idle.Front().Value.(*link))
		}
	}
}

// remove removes a link without users. It needs mu.
func (f *files) remove(l *link) {
	f.unlist(l)
	_ = os.Remove(l.path)
	if f.links[l.key] == l {
		delete(f.links, l.key)
	}
	f.copied -= l.held
	l.held = 0
}

func (f *files) unlist(l *link) {
	if l.idle != nil {
		f.names.Remove(l.idle) // it is in one of the two
		f.copies.Remove(l.idle)
		l.idle = nil
	}
}

// use is what the running statements of one user hold.
type use struct {
	links map[*link]int // how often each is held
	held  int64         // bytes of all of them
}

func (u *use) more(l *link) {
	if u.links[l]++; u.links[l] == 1 {
		u.held += l.held
	}
}

func (u *use) less(l *link) {
	if u.links[l]--; u.links[l] == 0 {
		delete(u.links, l)
		u.held -= l.held
	}
}

// reserve makes room for n bytes of l, by removing what was not used for the longest time. Nobody's statements hold more than half of
// the space, so that others have some.
func (f *files) reserve(user string, l *link, n int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users[user].held+n > f.space/2 {
		return noRoom(fmt.Errorf("the statements of one user need more than %d bytes of copies and of what was read of object stores", f.space/2))
	}
	for f.copied+n > f.space && f.copies.Len() > 0 {
		f.remove(f.copies.Front().Value.(*link))
	}
	if f.copied+n > f.space {
		return noRoom(fmt.Errorf("copies of data files, and what was read of object stores, need more than %d bytes", f.space))
	}
	f.grow(l, n)
	return nil
}

func (f *files) unreserve(l *link, n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.grow(l, -n)
}

// grow counts n bytes more of l. It needs mu.
func (f *files) grow(l *link, n int64) {
	f.copied += n
	l.held += n
	for _, u := range f.users {
		if u.links[l] > 0 {
			u.held += n
		}
	}
}

// drop makes the next statement start anew with the file of l, which goes with its last user.
func (f *files) drop(l *link) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l.stale = true
	if f.links[l.key] == l {
		delete(f.links, l.key)
	}
}

// noRoom is the error of a statement whose files do not fit into the private folder.
func noRoom(cause error) error {
	return &executors.Error{
		Kind:  executors.KindMemory,
		Hint:  "the tables' files need more room than executor.copies gives one user, or than the disk of executor.dir has",
		Cause: cause,
	}
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
func (f *files) place(user, source string, info fs.FileInfo, l *link) error {
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
	if err := f.reserve(user, l, l.size); err != nil {
		return err
	}
	if err := copyFile(source, info, l.path); err != nil {
		f.unreserve(l, l.size)
		err = errors.Join(err, os.RemoveAll(l.path))
		if isFull(err) {
			return noRoom(err)
		}
		return dataError("%w", err)
	}
	return nil
}

// isFull reports whether a disk was full.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

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
