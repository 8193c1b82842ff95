package plan

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"gatehouse/catalog"
)

// snapshots are those that were decoded for a statement already, or why they were not.
type snapshots map[*catalog.Table]decoded

type decoded struct {
	snapshot *snapshot
	err      error
}

// of returns the snapshot of t, by decode if it is not known.
func (s snapshots) of(t *catalog.Table, decode func() (*snapshot, error)) (*snapshot, error) {
	if d, ok := s[t]; ok {
		return d.snapshot, d.err
	}
	return decode()
}

// together returns the snapshots of those tables that lie in object stores, so that all wait for the stores together, and each once.
func (p *Planner) together(ctx context.Context, tables []*catalog.Table) snapshots {
	out := snapshots{}
	for _, t := range tables {
		if t.Snapshot != nil && t.Files.Objects() != nil {
			out[t] = decoded{}
		}
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	slots := make(chan struct{}, maxAhead)
	for t := range maps.Clone(out) {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			var d decoded
			defer func() {
				if r := recover(); r != nil {
					d = decoded{err: unreadable(fmt.Errorf("panic: %v", r), "its manifests cannot be read")}
				}
				mu.Lock()
				defer mu.Unlock()
				out[t] = d
			}()
			d.snapshot, d.err = p.snapshot(ctx, t)
		})
	}
	all.Wait()
	return out
}
