package duckdb

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sync/errgroup"

	"gatehouse/executors"
	"gatehouse/objects"
	"gatehouse/plan"
)

// mirror is one object of a store as a sparse file of the object's size, which holds the parts that statements have needed so far. A part is
// there as a whole or not at all: of a Parquet file the footer, and each column with all that the engine reads of it; of a Puffin file a
// deletion vector. Of a small object all is there at once.
//
// What one scope has read is shown to no other. The object is the one that was read first: if the store has another one later, the statement
// fails, and the next one starts anew under another name.
type mirror struct {
	files *files
	link  *link

	mu     sync.Mutex
	object objects.Object // with its tag after the first read
	whole  bool           // all of it is there
	parts  map[int64]*part
}

// part is one part that is there, or that somebody reads.
type part struct {
	done  chan struct{} // closed when it is there, or given up
	there bool
}

const (
	// footerPart is the part of a Parquet file that its columns are found by. A column is the part with the number of its place in the
	// file's schema, a deletion vector that of its offset.
	footerPart = -1

	footerBytes = 64 << 20 // largest footer
)

// isObject reports whether location is to be read through store.
func isObject(store objects.Store, location string) bool {
	return store != nil && objects.IsObject(location)
}

// objectKey names an object as one scope sees it.
func objectKey(store objects.Store, location string, size int64, extension string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %d", store.Scope(), location, size))
	return hex.EncodeToString(sum[:16]) + extension
}

// object returns the mirror of an object. Nothing is read yet.
func (p *pins) object(store objects.Store, location string, size int64, extension string) (*mirror, error) {
	key := objectKey(store, location, size, extension)
	if l := p.mirrors[key]; l != nil {
		return l.mirror, nil
	}
	if size <= 0 {
		return nil, dataError("%s has %d bytes by its manifest", location, size)
	}
	l := p.files.object(p.user, key, objects.Object{Location: location, Size: size}, extension)
	p.held = append(p.held, l)
	if l.err != nil {
		return nil, l.err
	}
	if p.mirrors == nil {
		p.mirrors = map[string]*link{}
	}
	p.mirrors[key] = l
	return l.mirror, nil
}

// object finds or makes the link of an object's mirror. Its name is never used again, as the engine remembers footers by name.
func (f *files) object(user, key string, o objects.Object, extension string) *link {
	f.mu.Lock()
	f.made++
	l, found := f.take(user, key, fmt.Sprintf("%s-%d%s", key[:len(key)-len(extension)], f.made, extension), o.Size)
	if !found {
		l.mirror = &mirror{files: f, link: l, object: o, parts: map[int64]*part{}}
	}
	f.mu.Unlock()
	if found {
		<-l.ready
		return l
	}
	defer close(l.ready)
	if l.err = makeSparse(l.path, o.Size); l.err != nil {
		f.drop(l)
	}
	return l
}

func makeSparse(path string, size int64) error {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return internal("%w", err)
	}
	if err := errors.Join(out.Truncate(size), out.Close()); err != nil {
		err = errors.Join(err, os.Remove(path))
		if isFull(err) {
			return noRoom(err)
		}
		if errors.Is(err, syscall.EFBIG) || errors.Is(err, syscall.EINVAL) {
			return dataError("a file of %d bytes: %w", size, err) // which no store has
		}
		return internal("%w", err)
	}
	return nil
}

// has reports whether all of these parts, which a statement needs, are there.
func (m *mirror) has(keys ...int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range keys {
		if p := m.parts[k]; !m.whole && (p == nil || !p.there) {
			return false
		}
	}
	m.files.metrics.kept.Add(float64(len(keys)))
	return true
}

// ensure makes the parts be there: load reads those that nobody else reads, and what others read is waited for. If they give up, it is tried
// here, since they may have had reasons of their own.
func (m *mirror) ensure(ctx context.Context, keys []int64, load func(missing []int64) error) error {
	for first := true; ; first = false {
		mine, others := m.claim(keys)
		m.files.metrics.fetched.Add(float64(len(mine)))
		if first {
			m.files.metrics.awaited.Add(float64(len(others)))
			m.files.metrics.kept.Add(float64(len(keys) - len(mine) - len(others)))
		}
		if len(mine) > 0 {
			if err := m.load(mine, load); err != nil {
				return err
			}
		}
		if len(others) == 0 {
			return nil
		}
		for _, p := range others {
			select {
			case <-p.done:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// claim divides the parts that are not there into those that the caller has to read now, and those that others read.
func (m *mirror) claim(keys []int64) (mine []int64, others []*part) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.whole {
		return nil, nil
	}
	for _, k := range keys {
		switch p := m.parts[k]; {
		case p == nil:
			m.parts[k] = &part{done: make(chan struct{})}
			mine = append(mine, k)
		case !p.there:
			others = append(others, p)
		}
	}
	return mine, others
}

// load reads parts that were claimed.
func (m *mirror) load(keys []int64, read func([]int64) error) error {
	there := false
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, k := range keys {
			p := m.parts[k]
			if p.there = there; !there {
				delete(m.parts, k)
			}
			close(p.done)
		}
	}()
	if err := read(keys); err != nil {
		return err
	}
	there = true
	return nil
}

// footer makes the footer of a Parquet file be there.
func (m *mirror) footer(ctx context.Context, c caller) error {
	return m.ensure(ctx, []int64{footerPart}, func([]int64) error {
		if m.link.size <= m.files.wholeBytes {
			return m.readAll(ctx, c)
		}
		tail := span{max(0, m.link.size-m.files.tailBytes), m.link.size}
		if err := m.read(ctx, c, []span{tail}); err != nil {
			return err
		}
		length, err := footerLength(m.link.path, m.link.size)
		if err != nil {
			return dataError("%s: %w", m.object.Location, err)
		}
		return m.read(ctx, c, []span{{m.link.size - length, tail.from}})
	})
}

// footerLength reads how long the footer at the end of a file is, with what follows it. Its size does not depend on what lies before.
func footerLength(path string, size int64) (int64, error) {
	in, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	var end [8]byte
	if _, err := in.ReadAt(end[:], size-8); err != nil {
		return 0, err
	}
	length := int64(binary.LittleEndian.Uint32(end[:4])) + 8
	if string(end[4:]) != "PAR1" || length > min(size, footerBytes) {
		return 0, fmt.Errorf("no footer: %q", end[:])
	}
	return length, nil
}

// columns makes these columns of a Parquet file be there, of which footer has made the footer be.
func (m *mirror) columns(ctx context.Context, c caller, columns []int64) error {
	return m.ensure(ctx, columns, func(missing []int64) error {
		chunks, err := columnChunks(m.link.path, missing)
		if err != nil {
			return dataError("%s: %w", m.object.Location, err)
		}
		var spans []span
		for _, k := range chunks {
			spans = append(spans, k.span, k.bloom)
		}
		if err := m.read(ctx, c, spans); err != nil {
			return err
		}
		more, err := checkChunks(ctx, m.link.path, m.link.size, chunks)
		if err != nil {
			return dataError("%s: %w", m.object.Location, err)
		}
		return m.read(ctx, c, more)
	})
}

// vectors makes deletion vectors of a Puffin file be there.
func (m *mirror) vectors(ctx context.Context, c caller, vectors []*plan.DeleteFile) error {
	spans := map[int64]span{}
	for _, d := range vectors {
		if err := executors.CheckDeletionVector(m.link.size, d); err != nil {
			return dataError("%s: %w", m.object.Location, err)
		}
		spans[d.Offset] = span{d.Offset, max(d.Offset+d.Length, spans[d.Offset].to)}
	}
	return m.ensure(ctx, slices.Collect(maps.Keys(spans)), func(missing []int64) error {
		if m.link.size <= m.files.wholeBytes {
			return m.readAll(ctx, c)
		}
		var needed []span
		for _, offset := range missing {
			needed = append(needed, spans[offset])
		}
		return m.read(ctx, c, needed)
	})
}

func (m *mirror) readAll(ctx context.Context, c caller) error {
	err := m.read(ctx, c, []span{{0, m.link.size}})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.whole = err == nil
	return err
}

// read copies spans of the object into the file, and what lies between them if that is little.
func (m *mirror) read(ctx context.Context, c caller, spans []span) error {
	spans = joined(spans)
	n := total(spans)
	if n == 0 {
		return nil
	}
	if err := m.files.reserve(c.user, m.link, n); err != nil {
		return err
	}
	written, err := m.copy(ctx, c, pieces(spans))
	m.files.metrics.bytes.Add(float64(written))
	if written < n {
		m.files.unreserve(m.link, n-written)
	}
	if isFull(err) {
		m.files.makeRoom()
		return noRoom(err)
	}
	return err
}

// makeRoom removes all copies and mirrors that nobody uses.
func (f *files) makeRoom() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.copies.Len() > 0 {
		f.remove(f.copies.Front().Value.(*link))
	}
}

// copy reads pieces of the object, several at once, and returns how many bytes it has written.
func (m *mirror) copy(ctx context.Context, c caller, pieces []span) (int64, error) {
	out, err := os.OpenFile(m.link.path, os.O_WRONLY, 0)
	if err != nil {
		return 0, internal("%w", err)
	}
	defer out.Close()
	var written atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for _, p := range pieces {
		if err = c.requests.enter(ctx); err != nil {
			break
		}
		group.Go(func() (err error) {
			defer c.requests.leave()
			defer func() {
				if v := recover(); v != nil {
					err = internal("panic in reading an object: %v", v)
				}
			}()
			if err := m.copyPiece(ctx, c.store, out, p); err != nil {
				return err
			}
			written.Add(p.size())
			return nil
		})
	}
	if failed := group.Wait(); failed != nil {
		err = failed // and not that the others were called off
	}
	return written.Load(), err
}

var buffers = sync.Pool{New: func() any { return new([pieceBytes]byte) }}

func (m *mirror) copyPiece(ctx context.Context, store objects.Store, out io.WriterAt, p span) error {
	buffer := buffers.Get().(*[pieceBytes]byte)
	defer buffers.Put(buffer)
	m.mu.Lock()
	object := m.object
	m.mu.Unlock()
	read, err := store.Read(ctx, object, buffer[:p.size()], p.from)
	if err == nil {
		err = m.same(read)
	}
	if err != nil {
		return m.failure(ctx, err)
	}
	if _, err := out.WriteAt(buffer[:p.size()], p.from); err != nil {
		return internal("%w", err)
	}
	return nil
}

// same checks that what was read is of the object of the first read, if this is not the first.
func (m *mirror) same(read objects.Object) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case read.Tag == "":
		return errors.New("the store does not say which content it has")
	case read.Size != m.object.Size, m.object.Tag != "" && m.object.Tag != read.Tag:
		return objects.ErrChanged
	}
	m.object.Tag = read.Tag
	return nil
}

// failure is the error of a statement that cannot read the object.
func (m *mirror) failure(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	if errors.Is(err, objects.ErrChanged) {
		m.files.drop(m.link)
	}
	err = fmt.Errorf("%s: %w", m.object.Location, err)
	if e := executors.StoreError(err); e != nil {
		return e
	}
	return &executors.Error{Kind: executors.KindInternal, Cause: err}
}
