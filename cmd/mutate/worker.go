package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// worker takes mutants through programs.
type worker struct {
	o     *options
	in    *instrumented
	known *results
	built map[string]*measured
}

// measured is a program with its baseline.
type measured struct {
	*program
	base *baseline
}

// chosen returns the mutants of a package that this run is about.
func (w *worker) chosen(s *source) []verdict {
	var vs []verdict
	for _, m := range w.in.mutants {
		if filepath.Dir(filepath.Join(w.in.root, m.file)) == s.dir && w.o.only.MatchString(m.key()) {
			vs = append(vs, verdict{m: m})
		}
	}
	if n := w.o.sample; n > 0 && n < len(vs) {
		counted := slices.DeleteFunc(vs, func(v verdict) bool { return v.m.off != "" })
		// By a hash of each, so that an edit elsewhere leaves the choice as it is.
		rank := func(v verdict) [32]byte { return sha256.Sum256(fmt.Append(nil, w.o.seed, v.m.key())) }
		slices.SortFunc(counted, func(a, b verdict) int {
			x, y := rank(a), rank(b)
			return bytes.Compare(x[:], y[:])
		})
		vs = counted[:min(n, len(counted))]
	}
	return vs
}

// stage takes the mutants that live through one program.
func (w *worker) stage(ctx context.Context, p *program, vs []verdict) error {
	tests, err := folderHash(filepath.Join(w.in.root, p.pkg))
	if err != nil {
		return err
	}
	name := strings.TrimSpace(p.pkg + " " + p.run)
	var pending []*verdict
	for i := range vs {
		v := &vs[i]
		if v.m.off != "" || v.status == killed || v.status == timeout {
			continue
		}
		if r, ok := w.known.find(v.m, name, tests); ok {
			v.take(r.Status, r.By)
			continue
		}
		pending = append(pending, v)
	}
	if len(pending) == 0 {
		return nil
	}
	m, err := w.prepare(ctx, p)
	if err != nil {
		return err
	}
	began := time.Now()
	for i, v := range pending {
		status, by, err := m.try(ctx, v.m, m.base, w.o.patience)
		if err != nil {
			return err
		}
		v.take(status, by)
		if err := w.known.add(result{v.m.key(), v.m.hash, name, tests, status, by}); err != nil {
			return err
		}
		if (i+1)%100 == 0 || i+1 == len(pending) {
			fmt.Fprintf(w.o.out, "%s: %d of %d in %s\n", name, i+1, len(pending), time.Since(began).Round(time.Second))
		}
	}
	return nil
}

// take notes what a stage found. Tests that do not come by a mutant say nothing new about one that survived others.
func (v *verdict) take(status, by string) {
	if status == unreached && v.status != "" {
		return
	}
	v.status, v.by = status, by
}

// prepare builds a program and measures its tests, once in a run.
func (w *worker) prepare(ctx context.Context, p *program) (*measured, error) {
	key := p.pkg + " " + p.run
	if m := w.built[key]; m != nil {
		return m, nil
	}
	began := time.Now()
	if w.o.building != nil {
		w.o.building(p.pkg)
	}
	b, err := w.in.build(p.pkg)
	if err != nil {
		return nil, err
	}
	b.run = p.run
	m := &measured{program: b}
	m.base, err = b.measure(ctx, len(w.in.mutants), func(s string) { fmt.Fprintln(w.o.out, s) })
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(w.o.out, "%s: built and measured in %s\n", key, time.Since(began).Round(time.Second))
	if w.built == nil {
		w.built = map[string]*measured{}
	}
	w.built[key] = m
	return m, nil
}

// aboves takes survivors of a package through the programs above it.
func (w *worker) aboves(ctx context.Context, s *source, vs []verdict) error {
	for i := range above {
		if above[i].pkg == w.in.relative(s.dir) || !w.o.above.MatchString(above[i].pkg) {
			continue
		}
		if err := w.stage(ctx, &above[i], vs); err != nil {
			return err
		}
	}
	return nil
}
