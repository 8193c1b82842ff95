package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// boolean finds "negate", "and-or", "boundary" and "flip" at e.
func (x *finder) boolean(e ast.Expr) {
	if !x.plainBool(e) {
		return
	}
	if id, ok := e.(*ast.Ident); ok && (id.Name == "true" || id.Name == "false") && x.s.info.Uses[id] == types.Universe.Lookup(id.Name) {
		if !x.inConst() && !x.mapKey(e) {
			not := ""
			if id.Name == "true" {
				not = "!"
			}
			x.replace(e, fmt.Sprintf("%smutant.On(%d)", not, x.add("flip", x.parent(0), x.around())))
		}
		return
	}
	if tv := x.s.info.Types[e]; tv.Value != nil {
		return
	}
	if b, ok := e.(*ast.BinaryExpr); ok {
		switch b.Op {
		case token.LAND, token.LOR:
			x.andOr(b)
			return
		default:
			if x.errNotNil(b) || x.counting() {
				return
			}
			x.negate(e)
			x.bounds(b)
			return
		}
	}
	switch e.(type) {
	case *ast.ParenExpr, *ast.UnaryExpr:
		return
	}
	if x.conditionPlace(e) {
		x.negate(e)
	}
}

// plainBool reports whether e is a value of type bool itself: what the mutants make of it is one, too.
func (x *finder) plainBool(e ast.Expr) bool {
	tv, ok := x.s.info.Types[e]
	if !ok || !tv.IsValue() {
		return false
	}
	b, ok := tv.Type.(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

func (x *finder) negate(e ast.Expr) {
	x.wrap(e, "((", fmt.Sprintf(") != mutant.On(%d))", x.add("negate", e, x.textOf(e))))
}

// andOr uses that (a≠m && b≠m) ≠ m is a && b without, and a || b with m, with the laziness of each.
func (x *finder) andOr(b *ast.BinaryExpr) {
	on := fmt.Sprintf(" != mutant.On(%d))", x.add("and-or", b, x.textOf(b)))
	x.wrap(b, "((", ")"+on)
	x.wrap(b.X, "((", ")"+on)
	x.wrap(b.Y, "((", ")"+on)
}

var comparisons = map[token.Token]string{token.LSS: "Less", token.LEQ: "LessEq", token.GTR: "Greater", token.GEQ: "GreaterEq"}

func (x *finder) bounds(b *ast.BinaryExpr) {
	name := comparisons[b.Op]
	if name == "" || x.s.info.Types[b.X].Value != nil && x.s.info.Types[b.Y].Value != nil {
		return
	}
	x.wrap(b, fmt.Sprintf("mutant.%s(%d, ", name, x.add("boundary", b, x.textOf(b))), ")")
	at := x.at(b.OpPos)
	x.edits = append(x.edits, edit{lo: at, hi: at + len(b.Op.String()), pre: ",", replace: true})
}

// errNotNil reports whether b asks whether an error is one: its opposite fails at the first success, so it says nothing
// about the tests. Dropping the return that follows does.
func (x *finder) errNotNil(b *ast.BinaryExpr) bool {
	y, ok := b.Y.(*ast.Ident)
	return ok && y.Name == "nil" && isError(x.typeOf(b.X))
}

// counting reports whether the present expression is the condition of a loop with a counter: its opposite runs over the end
// or not at all.
func (x *finder) counting() bool {
	f, ok := x.parent(0).(*ast.ForStmt)
	return ok && f.Post != nil
}

// conditionPlace reports whether e decides something where it stands: a condition, a part of one, or a result.
func (x *finder) conditionPlace(e ast.Expr) bool {
	switch p := x.parent(0).(type) {
	case *ast.IfStmt, *ast.ForStmt, *ast.ReturnStmt:
		return true
	case *ast.BinaryExpr:
		return p.Op == token.LAND || p.Op == token.LOR
	case *ast.UnaryExpr:
		return p.Op == token.NOT
	case *ast.ParenExpr:
		return true
	case *ast.CaseClause:
		s, ok := x.parent(2).(*ast.SwitchStmt)
		return ok && s.Tag == nil
	}
	return false
}

func (x *finder) replace(n ast.Node, text string) {
	x.edits = append(x.edits, edit{lo: x.at(n.Pos()), hi: x.at(n.End()), pre: text, replace: true})
}

// inConst reports whether the present place must be a constant.
func (x *finder) inConst() bool {
	for _, n := range x.stack {
		if g, ok := n.(*ast.GenDecl); ok && g.Tok == token.CONST {
			return true
		}
	}
	c, ok := x.parent(0).(*ast.CaseClause)
	if !ok {
		return false
	}
	s, ok := x.parent(2).(*ast.SwitchStmt)
	return ok && s.Tag == nil && c != nil // "case true" has no other cases beside it
}

func (x *finder) mapKey(e ast.Expr) bool {
	kv, ok := x.parent(0).(*ast.KeyValueExpr)
	return ok && kv.Key == e
}

// around shows the statement or entry in which a small thing stands.
func (x *finder) around() string {
	for k := 0; ; k++ {
		switch p := x.parent(k).(type) {
		case nil:
			return x.fn
		case ast.Stmt, *ast.KeyValueExpr, *ast.CallExpr, *ast.ValueSpec:
			return strings.SplitN(x.textOf(p), "\n", 2)[0]
		}
	}
}

// constant finds "limit" and "enum" at e.
func (x *finder) constant(e ast.Expr) {
	tv := x.s.info.Types[e]
	if tv.Value == nil || x.inConst() || x.mapKey(e) {
		return
	}
	switch e := e.(type) {
	case *ast.Ident:
		if s, ok := x.parent(0).(*ast.SelectorExpr); ok && s.Sel == e {
			return
		}
	case *ast.BasicLit, *ast.SelectorExpr:
	default:
		return
	}
	if isInteger(tv.Type) && x.bound(e) {
		x.next1("limit", e)
		return
	}
	named, ok := types.Unalias(tv.Type).(*types.Named)
	if !ok || !isInteger(tv.Type) || named.Obj().Pkg() == nil || named.Obj().Pkg().Path() == "time" {
		return
	}
	if _, lit := e.(*ast.BasicLit); lit {
		return
	}
	switch p := x.parent(0).(type) {
	case *ast.ReturnStmt, *ast.AssignStmt, *ast.CompositeLit, *ast.KeyValueExpr:
		x.next1("enum", e)
	case *ast.CallExpr:
		if p.Fun != e {
			x.next1("enum", e)
		}
	}
}

func (x *finder) next1(op string, e ast.Expr) {
	name := "mutant.Next"
	if b, ok := x.typeOf(e).(*types.Basic); ok && b.Info()&types.IsUntyped == 0 {
		name += "[" + b.Name() + "]"
	}
	x.wrap(e, fmt.Sprintf("%s(%d, ", name, x.add(op, e, x.around())), ")")
}

// bound reports whether e bounds something: it is compared with, or set as a field.
func (x *finder) bound(e ast.Expr) bool {
	switch p := x.parent(0).(type) {
	case *ast.BinaryExpr:
		switch p.Op {
		case token.LSS, token.LEQ, token.GTR, token.GEQ, token.EQL, token.NEQ:
			other := p.X
			if other == e {
				other = p.Y
			}
			return x.s.info.Types[other].Value == nil && x.plainInteger(x.typeOf(e))
		}
	case *ast.KeyValueExpr:
		_, lit := e.(*ast.BasicLit)
		return lit && x.plainInteger(x.typeOf(e))
	}
	return false
}

func (x *finder) plainInteger(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return ok && b.Info()&types.IsInteger != 0 && b.Kind() != types.Uint8 && b.Kind() != types.Int32 // bytes and runes are texts
}

func isInteger(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsInteger != 0
}

var errorType = types.Universe.Lookup("error").Type()

func isError(t types.Type) bool { return t != nil && types.Identical(t, errorType) }
