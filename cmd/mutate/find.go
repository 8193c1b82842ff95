package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

const runtimePackage = "gatehouse/cmd/mutate/mutant"

// mutation is one mutant: a change to one place, compiled in beside the original and switched on by its number.
type mutation struct {
	id   int
	file string // relative to the module
	line int
	fn   string // function, method or package-level variable
	op   string // see operators
	text string // what is changed, on one line
	nth  int    // of those that are alike in fn
	hash string // of all the text of fn
	off  string // why it is left out: a rule of exclusions, or that it cannot be built
}

// key names a mutant whatever happens in the rest of the file.
func (m *mutation) key() string {
	return fmt.Sprintf("%s %s %s %q %d", m.file, m.fn, m.op, m.text, m.nth)
}

// finder finds the mutants of one file.
type finder struct {
	s       *source
	f       *file
	fset    *token.FileSet
	next    int // number of the next mutant
	mutants []*mutation
	edits   []edit
	stack   []ast.Node
	base    int // of the file in fset
	fn      string
	fnHash  string
	seen    map[string]int
}

// find returns the mutants of a file, numbered from first, with the edits that compile all of them in.
func find(s *source, f *file, fset *token.FileSet, first int) *finder {
	x := &finder{s: s, f: f, fset: fset, next: first, base: fset.File(f.tree.FileStart).Base(), seen: map[string]int{}}
	for _, d := range f.tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body != nil {
				x.within(funcName(d), d)
			}
		case *ast.GenDecl:
			if d.Tok != token.VAR {
				continue
			}
			for _, sp := range d.Specs {
				x.within("var "+sp.(*ast.ValueSpec).Names[0].Name, sp)
			}
		}
	}
	if len(x.mutants) > 0 {
		end := x.at(f.tree.Name.End())
		x.edits = append(x.edits, edit{lo: end, hi: end, pre: `; import mutant "` + runtimePackage + `"`},
			edit{lo: len(f.text), hi: len(f.text), pre: "\nvar _ = mutant.On\n"})
	}
	return x
}

func funcName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if g, ok := t.(*ast.IndexExpr); ok {
		t = g.X
	}
	return types.ExprString(t) + "." + d.Name.Name
}

// within finds what is in one declaration.
func (x *finder) within(name string, n ast.Node) {
	sum := sha256.Sum256([]byte(x.textOf(n)))
	x.fn, x.fnHash = name, hex.EncodeToString(sum[:8])
	ast.Inspect(n, func(n ast.Node) bool {
		if n == nil {
			x.stack = x.stack[:len(x.stack)-1]
			return true
		}
		if !x.enter(n) {
			return false
		}
		x.stack = append(x.stack, n)
		return true
	})
}

// enter looks at one node, whose parents are on the stack, and reports whether to look into it.
func (x *finder) enter(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		x.ending(n.Type, n.Body)
	case *ast.FuncLit:
		x.ending(n.Type, n.Body)
	case *ast.BlockStmt:
		x.statements(n.List)
	case *ast.CaseClause:
		x.statements(n.Body)
	case *ast.SwitchStmt:
		x.valueSwitch(n)
	case *ast.TypeSwitchStmt:
		x.typeSwitch(n)
	case *ast.ReturnStmt:
		x.result(n)
	case *ast.CompositeLit:
		x.elements(n)
	case *ast.CallExpr:
		x.swapped(n)
	case *ast.GenDecl:
		return n.Tok == token.VAR
	case *ast.KeyValueExpr, *ast.ImportSpec, *ast.SelectorExpr:
	}
	if e, ok := n.(ast.Expr); ok {
		if x.isType(e) {
			return false
		}
		x.boolean(e)
		x.constant(e)
	}
	return true
}

func (x *finder) isType(e ast.Expr) bool {
	switch e.(type) {
	case *ast.ArrayType, *ast.MapType, *ast.FuncType, *ast.StructType, *ast.InterfaceType, *ast.ChanType:
		return true
	}
	tv, ok := x.s.info.Types[e]
	return ok && tv.IsType()
}

// parent returns the k-th node above the present one.
func (x *finder) parent(k int) ast.Node {
	if len(x.stack) <= k {
		return nil
	}
	return x.stack[len(x.stack)-1-k]
}

func (x *finder) at(p token.Pos) int { return int(p) - x.base }

func (x *finder) textOf(n ast.Node) string { return string(x.f.text[x.at(n.Pos()):x.at(n.End())]) }

// maxKey is how much of the changed text a key shows.
const maxKey = 70

// add makes a mutant of n and returns its number.
func (x *finder) add(op string, n ast.Node, text string) int {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > maxKey {
		text = string(r[:maxKey])
	}
	like := x.fn + "\x00" + op + "\x00" + text
	m := &mutation{
		id: x.next, file: x.f.name, line: x.fset.Position(n.Pos()).Line,
		fn: x.fn, op: op, text: text, nth: x.seen[like], hash: x.fnHash,
	}
	x.seen[like]++
	x.next++
	x.mutants = append(x.mutants, m)
	return m.id
}

// wrap puts text around a node.
func (x *finder) wrap(n ast.Node, pre, post string) {
	x.edits = append(x.edits, edit{lo: x.at(n.Pos()), hi: x.at(n.End()), pre: pre, post: post, seq: len(x.edits)})
}

// typeOf returns the type of an expression, nil if it has none.
func (x *finder) typeOf(e ast.Expr) types.Type { return x.s.info.TypeOf(e) }

// callee returns the object that a call calls, nil if it has no name.
func (x *finder) callee(c *ast.CallExpr) types.Object {
	switch f := ast.Unparen(c.Fun).(type) {
	case *ast.Ident:
		return x.s.info.Uses[f]
	case *ast.SelectorExpr:
		return x.s.info.Uses[f.Sel]
	case *ast.IndexExpr:
		if id, ok := f.X.(*ast.Ident); ok {
			return x.s.info.Uses[id]
		}
	}
	return nil
}

// calls reports whether c calls a function of a package.
func (x *finder) calls(c *ast.CallExpr, pkg string, names ...string) bool {
	o := x.callee(c)
	if o == nil || o.Pkg() == nil || o.Pkg().Path() != pkg {
		return false
	}
	for _, n := range names {
		if o.Name() == n {
			return true
		}
	}
	return len(names) == 0
}
