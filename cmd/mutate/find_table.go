package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// maxElements bounds how many elements of one table are dropped, one at a time: evenly spaced ones.
const maxElements = 24

// elements finds "element" in a literal: what an entry of a list or table does.
func (x *finder) elements(c *ast.CompositeLit) {
	if len(c.Elts) < 2 || c.Type == nil {
		return
	}
	if u, ok := x.parent(0).(*ast.UnaryExpr); ok && u.Op == token.AND {
		return
	}
	switch t := x.typeOf(c).Underlying().(type) {
	case *types.Slice:
		x.listElements(c)
	case *types.Map:
		x.tableEntries(c, t)
	}
}

func chosen(k, n int) bool {
	return n <= maxElements || k*maxElements/n != (k-1)*maxElements/n || k == 0
}

func (x *finder) listElements(c *ast.CompositeLit) {
	ids := make([]string, len(c.Elts))
	for k, e := range c.Elts {
		if _, keyed := e.(*ast.KeyValueExpr); keyed {
			return
		}
		ids[k] = "-1"
		if chosen(k, len(c.Elts)) {
			ids[k] = fmt.Sprint(x.add("element", e, x.textOf(e)))
		}
	}
	x.wrap(c, "mutant.Drop(", ", "+strings.Join(ids, ", ")+")")
}

func (x *finder) tableEntries(c *ast.CompositeLit, t *types.Map) {
	var ids, keys []string
	for k, e := range c.Elts {
		kv := e.(*ast.KeyValueExpr)
		if x.s.info.Types[kv.Key].Value == nil || !chosen(k, len(c.Elts)) {
			continue
		}
		ids = append(ids, fmt.Sprint(x.add("element", e, x.textOf(e))))
		keys = append(keys, x.textOf(kv.Key))
	}
	if len(ids) > 0 {
		x.wrap(c, "mutant.Omit(", fmt.Sprintf(", []int{%s}, %s)", strings.Join(ids, ", "), strings.Join(keys, ", ")))
	}
}

// valueSwitch finds "case" in a switch over values: a value that is no longer there.
func (x *finder) valueSwitch(s *ast.SwitchStmt) {
	for _, st := range s.Body.List {
		cl := st.(*ast.CaseClause)
		for _, e := range cl.List {
			if s.Tag == nil {
				if x.plainBool(e) && x.s.info.Types[e].Value == nil {
					x.wrap(e, "((", fmt.Sprintf(") && !mutant.On(%d))", x.add("case", e, x.textOf(e))))
				}
				continue
			}
			if f := x.skipper(e); f != "" {
				x.wrap(e, fmt.Sprintf("mutant.%s(%d, ", f, x.add("case", e, x.textOf(e))), ")")
			} else if len(cl.List) == 1 {
				x.instead(cl, fallback(s.Body), func(id int) string { return fmt.Sprintf("mutant.On(%d)", id) }, e)
			}
		}
	}
}

// skipper returns the function that takes a constant out of a switch, empty if none does.
func (x *finder) skipper(e ast.Expr) string {
	tv := x.s.info.Types[e]
	if tv.Value == nil {
		return ""
	}
	b, basic := tv.Type.(*types.Basic)
	_, literal := e.(*ast.BasicLit)
	under, ok := tv.Type.Underlying().(*types.Basic)
	switch {
	case !ok || literal && !basic:
		return ""
	case under.Info()&types.IsString != 0:
		return "SkipText"
	case under.Info()&types.IsInteger == 0:
		return ""
	case basic:
		return "Skip[" + b.Name() + "]"
	}
	return "Skip"
}

func fallback(b *ast.BlockStmt) *ast.CaseClause {
	for _, st := range b.List {
		if c := st.(*ast.CaseClause); c.List == nil {
			return c
		}
	}
	return nil
}

// typeSwitch finds "case" in a switch over types: a type that meets the default.
func (x *finder) typeSwitch(s *ast.TypeSwitchStmt) {
	bound, subject := "", ast.Expr(nil)
	switch a := s.Assign.(type) {
	case *ast.AssignStmt:
		bound, subject = a.Lhs[0].(*ast.Ident).Name, a.Rhs[0].(*ast.TypeAssertExpr).X
	case *ast.ExprStmt:
		subject = a.X.(*ast.TypeAssertExpr).X
	}
	other := fallback(s.Body)
	if other != nil && bound != "" && mentions(other, bound) {
		return
	}
	for _, st := range s.Body.List {
		cl := st.(*ast.CaseClause)
		for _, e := range cl.List {
			on := func(id int) string { return fmt.Sprintf("mutant.On(%d)", id) }
			if len(cl.List) > 1 {
				v := bound
				if v == "" && simple(subject) {
					v = x.textOf(subject)
				}
				if v == "" || x.s.info.Types[e].IsNil() {
					continue
				}
				on = func(id int) string { return fmt.Sprintf("mutant.Is[%s](%d, %s)", x.textOf(e), id, v) }
			}
			x.instead(cl, other, on, e)
		}
	}
}

// instead makes a mutant that runs the default's statements in place of a clause's own.
func (x *finder) instead(cl, other *ast.CaseClause, on func(id int) string, e ast.Expr) {
	if other == cl || jumps(cl) || other != nil && jumps(other) {
		return
	}
	cond := on(x.add("case", e, x.textOf(e)))
	lo := x.at(cl.Colon) + 1
	hi := lo
	if n := len(cl.Body); n > 0 {
		hi = x.at(cl.Body[n-1].End())
	}
	open := func(r *renderer) string {
		if other == nil || len(other.Body) == 0 {
			return " if " + cond + " { } else { "
		}
		return " if " + cond + " { " + r.render(x.at(other.Colon)+1, x.at(other.Body[len(other.Body)-1].End())) + "\n } else { "
	}
	if lo == hi { // nothing stands where several of them could nest
		x.edits = append(x.edits, edit{lo: lo, hi: hi, seq: len(x.edits), preOf: func(r *renderer) string { return open(r) + "};" }})
		return
	}
	x.edits = append(x.edits, edit{lo: lo, hi: hi, seq: len(x.edits), preOf: open, post: " }"})
}

// jumps reports whether a clause cannot be copied or put into a block: it falls through, or has a label.
func jumps(c *ast.CaseClause) bool {
	found := false
	for _, s := range c.Body {
		ast.Inspect(s, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.LabeledStmt:
				found = true
			case *ast.BranchStmt:
				found = found || n.Tok == token.FALLTHROUGH
			}
			return !found
		})
	}
	return found
}

func mentions(n ast.Node, name string) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}
