package plan

import (
	"context"
	"fmt"
	"sync"

	"github.com/apache/iceberg-go"

	"gatehouse/catalog"
	"gatehouse/objects"
)

// Manifests of an object store are read ahead, up to maxAhead at once, unless they are longer than aheadBytes: one after another, each would
// wait for the store's answer.
const (
	maxAhead   = 8
	aheadBytes = 16 << 20
)

// ahead reads manifests before they are decoded. Its user takes them in their order and closes it.
type ahead struct {
	place   map[string]int // in results
	results []chan fetched
	slots   chan struct{}
	taken   int // so many slots were given back
	cancel  context.CancelFunc
	workers sync.WaitGroup
}

// fetched is a manifest that was read, or why it was not.
type fetched struct {
	data []byte
	err  error
}

// readAhead begins to read those of manifests that lie in an object store.
func readAhead(ctx context.Context, files catalog.Files, manifests []iceberg.ManifestFile) *ahead {
	a := &ahead{place: map[string]int{}, slots: make(chan struct{}, maxAhead)}
	ctx, a.cancel = context.WithCancel(ctx)
	var paths []string
	for _, m := range manifests {
		path := m.FilePath()
		if _, twice := a.place[path]; !twice && objects.IsObject(path) && m.Length() <= aheadBytes {
			a.place[path] = len(paths)
			paths = append(paths, path)
			a.results = append(a.results, make(chan fetched, 1))
		}
	}
	if len(paths) < 2 {
		clear(a.place)
		return a
	}
	a.workers.Go(func() { a.start(ctx, files, paths) })
	return a
}

// start reads paths in their order, each in a goroutine of its own. A slot is free again when its manifest, or a later one, was taken.
func (a *ahead) start(ctx context.Context, files catalog.Files, paths []string) {
	for i, path := range paths {
		select {
		case <-ctx.Done():
			return
		case a.slots <- struct{}{}:
		}
		a.workers.Go(func() {
			var f fetched
			defer func() {
				if r := recover(); r != nil {
					f = fetched{err: fmt.Errorf("panic: %v", r)}
				}
				a.results[i] <- f
			}()
			f.data, f.err = files.ReadFile(ctx, path)
		})
	}
}

// take returns a manifest that is read ahead, once; ok is false if it is none.
func (a *ahead) take(ctx context.Context, path string) (data []byte, ok bool, err error) {
	i, ok := a.place[path]
	if !ok {
		return nil, false, nil
	}
	delete(a.place, path)
	for ; a.taken <= i; a.taken++ {
		select {
		case f := <-a.results[a.taken]:
			<-a.slots
			a.results[a.taken] <- f
		case <-ctx.Done():
			return nil, true, context.Cause(ctx)
		}
	}
	f := <-a.results[i]
	return f.data, true, f.err
}

// close ends what still reads, and waits for it.
func (a *ahead) close() {
	a.cancel()
	a.workers.Wait()
}
