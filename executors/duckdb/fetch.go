package duckdb

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"gatehouse/objects"
	"gatehouse/plan"
)

// How many requests to object stores are under way at once. Each has a buffer of pieceBytes.
const (
	userRequests    = 16
	processRequests = 32
)

// requests bounds the requests of one user's statements, and of all.
type requests struct{ own, all chan struct{} }

func (r requests) enter(ctx context.Context) error {
	select {
	case r.own <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case r.all <- struct{}{}:
		return nil
	case <-ctx.Done():
		<-r.own
		return ctx.Err()
	}
}

func (r requests) leave() {
	<-r.all
	<-r.own
}

// caller is who reads an object: with whose rights, and within which bounds.
type caller struct {
	store    objects.Store
	requests requests
	user     string
}

// want is what a scan needs of one object before it can run: columns, or deletion vectors.
type want struct {
	mirror  *mirror
	columns []int64
	vectors []*plan.DeleteFile
}

// openObjects takes the mirrors of all objects that relations read, and makes the footers be there that binding needs.
func (s *Prepared) openObjects(ctx context.Context, relations []plan.Relation) error {
	var fetches []func(context.Context) error
	open := func(c caller, location string, size int64, extension string) error {
		if !isObject(c.store, location) {
			return nil
		}
		m, err := s.pins.object(c.store, location, size, extension)
		if err == nil && extension == dataExtension && !m.has(footerPart) {
			fetches = append(fetches, func(ctx context.Context) error { return m.footer(ctx, c) })
		}
		return err
	}
	for i := range relations {
		scan := &relations[i].Scan
		if scan.Objects == nil {
			continue
		}
		c := s.caller(scan.Objects)
		for _, f := range scan.Files {
			if err := open(c, f.Path, f.Size, dataExtension); err != nil {
				return err
			}
		}
		for _, d := range scan.Deletes {
			if err := open(c, d.Path, d.Size, deleteExtension(d.Kind)); err != nil {
				return err
			}
		}
	}
	return s.fetch(ctx, fetches)
}

func (s *Prepared) caller(store objects.Store) caller {
	return caller{store, requests{own: s.conn.engine.turns.requests, all: s.x.files.requests}, s.pins.user}
}

// fetchWants makes all be there that the scans read. The files stay as they are while the statement is prepared, so it is done once.
func (s *Prepared) fetchWants(ctx context.Context) error {
	if s.fetched {
		return nil
	}
	var fetches []func(context.Context) error
	all := map[*mirror]*want{} // a table may be read several times
	for _, sc := range s.scans {
		if len(sc.wants) == 0 {
			continue
		}
		c := s.caller(sc.relation.Scan.Objects)
		for _, w := range sc.wants {
			if w.mirror.has(w.columns...) && len(w.vectors) == 0 {
				continue
			}
			if all[w.mirror] == nil {
				together := &want{mirror: w.mirror}
				all[w.mirror] = together
				fetches = append(fetches, func(ctx context.Context) error { return together.fetch(ctx, c) })
			}
			all[w.mirror].add(w)
		}
	}
	if err := s.fetch(ctx, fetches); err != nil {
		return err
	}
	s.fetched = true
	return nil
}

func (w *want) add(other want) {
	w.vectors = append(w.vectors, other.vectors...)
	w.columns = append(w.columns, other.columns...)
	slices.Sort(w.columns)
	w.columns = slices.Compact(w.columns)
}

func (w *want) fetch(ctx context.Context, c caller) error {
	if len(w.vectors) > 0 {
		return w.mirror.vectors(ctx, c, w.vectors)
	}
	return w.mirror.columns(ctx, c, w.columns)
}

// fetch runs fetches at once, until the first fails or the statement ends. Their requests are bounded by themselves.
func (s *Prepared) fetch(ctx context.Context, fetches []func(context.Context) error) error {
	if len(fetches) == 0 {
		return nil
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	s.giveUp = cancel
	s.mu.Unlock()
	err := s.ended(ctx) // before giveUp was there
	if err == nil {
		group, waiting := errgroup.WithContext(waiting)
		group.SetLimit(userRequests)
		for _, f := range fetches {
			group.Go(func() (err error) {
				defer func() {
					if v := recover(); v != nil {
						err = internal("panic in fetching: %v", v)
					}
				}()
				if err := waiting.Err(); err != nil {
					return err
				}
				return f(waiting)
			})
		}
		err = group.Wait()
	}
	s.mu.Lock()
	s.giveUp = nil
	s.mu.Unlock()
	if err != nil {
		if ended := s.ended(ctx); ended != nil {
			return ended
		}
	}
	return err
}

// columnsOf are the places of the columns in a file's schema that the engine may look at to read fields: all that have such an id, or the
// name of one in a file without ids, whose case the engine may not mind.
func columnsOf(fields []plan.Field, ft *footer, mapping map[string]int) []int64 {
	ids, names := map[int]bool{}, map[string]bool{}
	mapped := ft
	if !ft.ids {
		mapped = withMapping(ft, mapping)
	}
	for _, f := range fields {
		ids[f.ID] = true
		if n := mapped.byID(f.ID); n != nil && !ft.ids {
			names[strings.ToLower(n.name)] = true
		}
	}
	out := []int64{}
	for i, n := range mapped.columns {
		if ids[n.id] || names[strings.ToLower(n.name)] {
			out = append(out, int64(i))
		}
	}
	return out
}
