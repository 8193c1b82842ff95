package opa

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Roles returns the roles that the policy asks about with the library's has_role, sorted.
func (x *Explorer) Roles() []string {
	var out []string
	for _, m := range x.bundle.Modules {
		ast.WalkTerms(m.Parsed, func(t *ast.Term) bool {
			call, ok := t.Value.(ast.Call)
			if ok && len(call) == 2 {
				out = append(out, rolesIn(call[0], call[1])...)
			}
			return false
		})
		ast.WalkExprs(m.Parsed, func(e *ast.Expr) bool {
			if terms, ok := e.Terms.([]*ast.Term); ok && len(terms) == 2 {
				out = append(out, rolesIn(terms[0], terms[1])...)
			}
			return false
		})
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// rolesIn returns the names in has_role({"a", "b"}).
func rolesIn(function, argument *ast.Term) []string {
	ref, ok := function.Value.(ast.Ref)
	if !ok || len(ref) == 0 || !ref[len(ref)-1].Equal(ast.StringTerm("has_role")) {
		return nil
	}
	names, ok := argument.Value.(ast.Set)
	if !ok {
		return nil
	}
	var out []string
	names.Foreach(func(t *ast.Term) {
		if s, ok := t.Value.(ast.String); ok {
			out = append(out, string(s))
		}
	})
	return out
}
