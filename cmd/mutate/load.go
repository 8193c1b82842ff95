package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// source is one package to be mutated: its files as text and as typed trees.
type source struct {
	path  string // import path
	dir   string
	files []*file
	info  *types.Info
	pkg   *types.Package
}

// file is one file of a package; offsets of edits count in text.
type file struct {
	path string // absolute
	name string // relative to the module
	text []byte
	tree *ast.File
}

// listed is what we need of an answer of go list.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	DepOnly                 bool
	Error                   *struct{ Err string }
}

// loader type-checks packages from their text, and what they import from the compiler's export data.
type loader struct {
	root    string // of the module
	fset    *token.FileSet
	exports map[string]string
}

// newLoader finds the packages that the patterns name. It compiles what they import, if that is not done.
func newLoader(root string, patterns []string) (*loader, []listed, error) {
	args := append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,DepOnly,Error", runtimePackage}, patterns...)
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("go list: %w", err)
	}
	l := &loader{root: root, fset: token.NewFileSet(), exports: map[string]string{}}
	var targets []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return l, targets, nil
		} else if err != nil {
			return nil, nil, err
		}
		if p.Error != nil {
			return nil, nil, errors.New(p.Error.Err)
		}
		l.exports[p.ImportPath] = p.Export
		if !p.DepOnly && p.ImportPath != runtimePackage {
			targets = append(targets, p)
		}
	}
}

// load reads and checks one package.
func (l *loader) load(p listed) (*source, error) {
	s := &source{path: p.ImportPath, dir: p.Dir}
	for _, name := range p.GoFiles {
		path := filepath.Join(p.Dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(l.root, path)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, &file{path: path, name: filepath.ToSlash(rel), text: text})
	}
	texts := make([][]byte, len(s.files))
	for i, f := range s.files {
		texts[i] = f.text
	}
	faults, err := l.check(s, texts)
	if err == nil && len(faults) > 0 {
		err = faults[0]
	}
	return s, err
}

// check parses and types texts as the files of s, and sets their trees. It returns the faults that the types have; an error
// if it is not even Go.
func (l *loader) check(s *source, texts [][]byte) ([]types.Error, error) {
	var trees []*ast.File
	for i, f := range s.files {
		tree, err := parser.ParseFile(l.fset, f.path, texts[i], parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		f.tree = tree
		trees = append(trees, tree)
	}
	var faults []types.Error
	conf := types.Config{
		Importer: importer.ForCompiler(l.fset, "gc", func(path string) (io.ReadCloser, error) {
			return os.Open(l.exports[path])
		}),
		Error: func(err error) {
			if e, ok := err.(types.Error); ok && !e.Soft {
				faults = append(faults, e)
			} else if ok {
				faults = append(faults, e)
			}
		},
	}
	s.info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
		Implicits: map[ast.Node]types.Object{},
	}
	s.pkg, _ = conf.Check(s.path, l.fset, trees, s.info) // the faults say it all
	return faults, nil
}
