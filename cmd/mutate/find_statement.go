package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// statements finds "drop-return", "drop-continue", "drop-call" and "drop-assign" in a list of statements.
func (x *finder) statements(list []ast.Stmt) {
	for i, s := range list {
		switch s := s.(type) {
		case *ast.ReturnStmt:
			if x.refuses(s) || len(s.Results) == 0 && i == len(list)-1 {
				x.drop("drop-return", s)
			}
		case *ast.BranchStmt:
			if s.Tok == token.CONTINUE {
				x.drop("drop-continue", s)
			}
		case *ast.ExprStmt:
			if c, ok := s.X.(*ast.CallExpr); ok && !x.ends(c) {
				x.drop("drop-call", s)
			}
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE && !blank(s.Lhs) {
				x.drop("drop-assign", s)
			}
		case *ast.IncDecStmt:
			x.drop("drop-assign", s)
		}
	}
}

func (x *finder) drop(op string, s ast.Stmt) {
	x.wrap(s, fmt.Sprintf("if !mutant.On(%d) { ", x.add(op, s, x.textOf(s))), " }")
}

// refuses reports whether a return gives an error, as its last value.
func (x *finder) refuses(r *ast.ReturnStmt) bool {
	if len(r.Results) == 0 {
		return false
	}
	last := r.Results[len(r.Results)-1]
	if tv := x.s.info.Types[last]; tv.IsNil() || tv.Type == nil {
		return false
	}
	sig := x.results()
	return sig != nil && sig.Len() == len(r.Results) && isError(sig.At(sig.Len()-1).Type())
}

// results returns what the function around the present place returns. The node at hand may be that function's own body.
func (x *finder) results() *types.Tuple {
	for k := 0; ; k++ {
		switch p := x.parent(k).(type) {
		case nil:
			return nil
		case *ast.FuncLit:
			return x.typeOf(p).(*types.Signature).Results()
		case *ast.FuncDecl:
			return x.s.info.Defs[p.Name].Type().(*types.Signature).Results()
		}
	}
}

// ends reports whether a call ends the process or closes something, so that without it nothing else comes about.
func (x *finder) ends(c *ast.CallExpr) bool {
	b, ok := x.callee(c).(*types.Builtin)
	return ok && b.Name() == "panic"
}

func blank(lhs []ast.Expr) bool {
	for _, e := range lhs {
		if id, ok := e.(*ast.Ident); !ok || id.Name != "_" {
			return false
		}
	}
	return true
}

// ending puts a return of nothing, and of no error, behind a function's last statement: where a function goes on to if its last
// return is dropped.
func (x *finder) ending(t *ast.FuncType, body *ast.BlockStmt) {
	if t.Results == nil || body == nil || len(t.Results.List) == 0 {
		return
	}
	end := x.at(body.End()) - 1
	if len(t.Results.List[0].Names) > 0 {
		x.edits = append(x.edits, edit{lo: end, hi: end, pre: "; return "})
		return
	}
	var zero []string
	start := x.at(body.Lbrace) + 1
	var vars strings.Builder
	for i, f := range t.Results.List {
		name := fmt.Sprintf("mutantZero%d", i)
		fmt.Fprintf(&vars, " var %s %s;", name, x.textOf(f.Type))
		zero = append(zero, name)
	}
	x.edits = append(x.edits,
		edit{lo: start, hi: start, pre: vars.String(), seq: -1},
		edit{lo: end, hi: end, pre: "; return " + strings.Join(zero, ", ") + " "})
}

// result finds "error-class" in what is returned.
func (x *finder) result(r *ast.ReturnStmt) {
	if !x.refuses(r) {
		return
	}
	last := r.Results[len(r.Results)-1]
	switch e := ast.Unparen(last).(type) {
	case *ast.UnaryExpr: // &DeniedError{…}
	case *ast.Ident, *ast.SelectorExpr:
		if !x.sentinel(last) {
			return
		}
	case *ast.CallExpr:
		if isError(x.typeOf(e)) && !(x.calls(e, "fmt", "Errorf") && strings.Contains(x.textOf(e), "%w")) {
			return
		}
	default:
		return
	}
	x.wrap(last, fmt.Sprintf("mutant.Err(%d, ", x.add("error-class", r, x.textOf(r))), ")")
}

// sentinel reports whether e names a package-level error.
func (x *finder) sentinel(e ast.Expr) bool {
	var o types.Object
	switch e := e.(type) {
	case *ast.Ident:
		o = x.s.info.Uses[e]
	case *ast.SelectorExpr:
		o = x.s.info.Uses[e.Sel]
	}
	v, ok := o.(*types.Var)
	return ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope()
}

// swapped finds "swap-args" at a call: two neighbours of one type.
func (x *finder) swapped(c *ast.CallExpr) {
	sig, ok := x.typeOf(c.Fun).(*types.Signature)
	if !ok || c.Ellipsis.IsValid() || x.symmetric(c) || len(c.Args) < 2 {
		return
	}
	fixed := sig.Params().Len()
	if sig.Variadic() {
		fixed--
	}
	for i := 0; i+1 < len(c.Args) && i+1 < fixed; i++ {
		a, b := c.Args[i], c.Args[i+1]
		t := sig.Params().At(i).Type()
		if !types.Identical(t, sig.Params().At(i+1).Type()) || types.IsInterface(t) || x.textOf(a) == x.textOf(b) ||
			!types.Identical(x.typeOf(a), t) || !types.Identical(x.typeOf(b), t) {
			continue
		}
		if x.s.info.Types[a].Value != nil && x.s.info.Types[b].Value != nil {
			if _, basic := t.(*types.Basic); !basic {
				continue // the type would be lost
			}
		}
		if len(c.Args) == 2 && fixed == 2 && !sig.Variadic() {
			id := x.add("swap-args", c, x.textOf(c))
			lo, hi := x.at(a.Pos()), x.at(b.End())
			x.edits = append(x.edits, edit{lo: lo, hi: hi, pre: fmt.Sprintf("mutant.Swap(%d, ", id), post: ")", seq: -1})
			return
		}
		if simple(a) && simple(b) {
			id := x.add("swap-args", c, x.textOf(c))
			x.wrap(a, fmt.Sprintf("mutant.Pick(%d, ", id), ", "+x.textOf(b)+")")
			x.wrap(b, fmt.Sprintf("mutant.Pick(%d, ", id), ", "+x.textOf(a)+")")
			i++
		}
	}
}

// symmetric reports whether the order of a call's arguments means nothing.
func (x *finder) symmetric(c *ast.CallExpr) bool {
	if _, builtin := x.callee(c).(*types.Builtin); builtin {
		return true
	}
	return x.calls(c, "bytes", "Equal") || x.calls(c, "strings", "EqualFold") || x.calls(c, "slices", "Equal") ||
		x.calls(c, "google.golang.org/protobuf/proto", "Equal") || x.calls(c, "crypto/subtle", "ConstantTimeCompare")
}

// simple reports whether e can be evaluated twice.
func simple(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident, *ast.BasicLit:
		return true
	case *ast.SelectorExpr:
		return simple(e.X)
	}
	return false
}
