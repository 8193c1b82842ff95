package main

import (
	"fmt"
	"strings"
)

// statement is one generated statement.
type statement struct {
	root *node
	// ordered: the statement defines the order of its rows. loose: it leaves open which rows or values come (LIMIT without ORDER BY,
	// first(), sums of fractions in any order).
	ordered, loose bool
	// door: it goes through the Flight SQL server. call is what goes there instead of the statement, which then is a description only.
	door bool
	call call
}

// node is a piece of a statement: texts, parameters and further nodes in the order of the text. An expression's kind is that of its type.
type node struct {
	kind     string
	parts    []any // string, *node or param
	optional bool  // may be left out
	leaf     bool  // cannot be made smaller
}

// param is the value of a parameter.
type param struct{ value any }

func expr(kind string, parts ...any) *node { return &node{kind: kind, parts: parts} }
func clause(parts ...any) *node            { return &node{parts: parts} }
func option(parts ...any) *node            { return &node{parts: parts, optional: true} }
func word(kind, text string) *node         { return &node{kind: kind, parts: []any{text}, leaf: true} }

func list(sep string, nodes ...*node) []any {
	var out []any
	for i, n := range nodes {
		if i > 0 {
			out = append(out, sep)
		}
		out = append(out, n)
	}
	return out
}

// render returns the statement's text and the values of its parameters.
func (s *statement) render() (string, []any) {
	var b strings.Builder
	var args []any
	s.root.render(&b, &args)
	return b.String(), args
}

func (n *node) render(b *strings.Builder, args *[]any) {
	for _, p := range n.parts {
		switch p := p.(type) {
		case string:
			b.WriteString(p)
		case *node:
			p.render(b, args)
		case param:
			*args = append(*args, p.value)
			fmt.Fprintf(b, "$%d", len(*args))
		}
	}
}

// walk visits n and all below it.
func (n *node) walk(visit func(*node)) {
	visit(n)
	for _, p := range n.parts {
		if k, ok := p.(*node); ok {
			k.walk(visit)
		}
	}
}
