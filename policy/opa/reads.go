package opa

import (
	"github.com/open-policy-agent/opa/v1/ast"
)

// reads is what a policy can look at of a document: all of it, or some of its keys, or nothing (nil).
//
// The policy is shown no more than that. So what it answers is a function of what it was shown, which is what answers are kept
// by: should a part be missing here by mistake, no rule could see it, kept answers or not.
type reads struct {
	all   bool
	below map[string]*reads
}

// everything is a policy that looks at all of a document.
var everything = &reads{all: true}

// inputReads finds what the rules of modules, compiled ones, can look at of input. Every mention counts, also in rules that are
// never asked: a mention with a variable counts as all that the variable could mean, and input by itself as all of it.
func inputReads(modules map[string]*ast.Module) *reads {
	r := &reads{}
	for _, m := range modules {
		for _, rule := range m.Rules {
			r.collect(rule)
		}
	}
	return r
}

// collect notes the mentions of input in x.
func (r *reads) collect(x any) {
	ast.NewGenericVisitor(func(x any) bool {
		switch x := x.(type) {
		case *ast.Head:
			for _, t := range x.Reference[min(1, len(x.Reference)):] { // the visitor leaves it out
				r.collect(t)
			}
		case ast.Var:
			if x.Equal(ast.InputRootDocument.Value) {
				r.all = true
			}
		case ast.Ref:
			if len(x) == 0 || !x[0].Equal(ast.InputRootDocument) {
				return false
			}
			r.note(x[1:])
			for _, t := range x[1:] {
				r.collect(t)
			}
			return true
		}
		return false
	}).Walk(x)
}

// note adds the document at path, as far as that is known.
func (r *reads) note(path []*ast.Term) {
	for _, t := range path {
		key, ok := t.Value.(ast.String)
		if !ok {
			break
		}
		next := r.below[string(key)]
		if next == nil {
			if r.below == nil {
				r.below = map[string]*reads{}
			}
			next = &reads{}
			r.below[string(key)] = next
		}
		r = next
	}
	r.all = true
}

// at returns what is looked at below path; nil if nothing is.
func (r *reads) at(path ...string) *reads {
	for _, key := range path {
		if r == nil || r.all {
			return r
		}
		r = r.below[key]
	}
	return r
}

// cut returns v without what is not looked at.
func (r *reads) cut(v ast.Value) ast.Value {
	o, ok := v.(ast.Object)
	if r.all || !ok {
		return v
	}
	var kept [][2]*ast.Term
	o.Foreach(func(k, value *ast.Term) {
		if key, ok := k.Value.(ast.String); !ok {
			kept = append(kept, [2]*ast.Term{k, value})
		} else if below := r.below[string(key)]; below != nil {
			kept = append(kept, [2]*ast.Term{k, ast.NewTerm(below.cut(value.Value))})
		}
	})
	return ast.NewObject(kept...)
}
