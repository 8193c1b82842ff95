package main

import (
	"encoding/json"
	"fmt"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// instrumented is a set of packages with all of their mutants compiled in.
type instrumented struct {
	root    string
	dir     string // of what is built
	overlay string
	mutants []*mutation // by number
	sources []*source
}

// instrument finds the mutants of packages and writes the files that hold them.
func instrument(root, dir string, patterns []string, rules []*rule) (*instrumented, error) {
	l, targets, err := newLoader(root, patterns)
	if err != nil {
		return nil, err
	}
	in := &instrumented{root: root, dir: dir, overlay: filepath.Join(dir, "overlay.json")}
	slices.SortStableFunc(targets, func(a, b listed) int { // in the order that was asked for, not by what imports what
		return slices.Index(patterns, in.relative(a.Dir)) - slices.Index(patterns, in.relative(b.Dir))
	})
	replaced := map[string]string{}
	for _, p := range targets {
		s, err := l.load(p)
		if err != nil {
			return nil, err
		}
		in.sources = append(in.sources, s)
		texts, err := in.weave(l, s, rules)
		if err != nil {
			return nil, err
		}
		for i, f := range s.files {
			to := filepath.Join(dir, strings.ReplaceAll(f.name, "/", "__"))
			if err := os.WriteFile(to, texts[i], 0o600); err != nil {
				return nil, err
			}
			replaced[f.path] = to
		}
	}
	b, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return nil, err
	}
	return in, os.WriteFile(in.overlay, b, 0o600)
}

// weave finds the mutants of one package and returns its files with them.
func (in *instrumented) weave(l *loader, s *source, rules []*rule) ([][]byte, error) {
	finders := make([]*finder, len(s.files))
	for i, f := range s.files {
		finders[i] = find(s, f, l.fset, len(in.mutants))
		exclude(rules, finders[i].mutants)
		in.mutants = append(in.mutants, finders[i].mutants...)
	}
	texts := make([][]byte, len(s.files))
	for i, x := range finders {
		r := &renderer{text: s.files[i].text, edits: x.edits}
		texts[i] = []byte(r.render(0, len(r.text)))
	}
	trial := &source{path: s.path, files: append([]*file(nil), s.files...)}
	for i, f := range s.files {
		c := *f
		trial.files[i] = &c
	}
	faults, err := l.check(trial, texts)
	if err != nil {
		return nil, err
	}
	if len(faults) > 0 {
		return nil, faultOf(l, faults[0], texts, s)
	}
	return texts, nil
}

// faultOf shows what a finder wrote that is not Go.
func faultOf(l *loader, e types.Error, texts [][]byte, s *source) error {
	p := l.fset.Position(e.Pos)
	for i, f := range s.files {
		if f.path == p.Filename {
			lines := strings.Split(string(texts[i]), "\n")
			return fmt.Errorf("%s: %s\n%s", p, e.Msg, lines[p.Line-1])
		}
	}
	return e
}

// program is a test program with the mutants in it.
type program struct {
	pkg  string // relative to the module, as in "./policy"
	run  string // which of its tests; empty: all
	file string
	dir  string
}

// build compiles the tests of a package.
func (in *instrumented) build(pkg string) (*program, error) {
	p := &program{pkg: pkg, file: filepath.Join(in.dir, strings.ReplaceAll(strings.TrimPrefix(pkg, "./"), "/", "__")+".test"), dir: filepath.Join(in.root, pkg)}
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-overlay", in.overlay, "-o", p.file, pkg)
	cmd.Dir = in.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go test -c %s: %w\n%s", pkg, err, out)
	}
	return p, nil
}

// relative returns a folder as a pattern for the go command.
func (in *instrumented) relative(dir string) string {
	rel, err := filepath.Rel(in.root, dir)
	if err != nil {
		return dir
	}
	return "./" + filepath.ToSlash(rel)
}
