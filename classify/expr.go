package classify

import (
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// ParseExpr parses one bare expression for policy. It accepts what Parse accepts in a scalar expression, but no subqueries,
// aggregates, windows, parameters, comments, markers of target lists, nor functions of ClassDictionary.
func ParseExpr(text string) (*pgquery.Node, error) {
	toks, err := guard(text)
	if err != nil {
		return nil, err
	}
	if err := bareExpression(text, toks); err != nil {
		return nil, err
	}
	prefix := mkWord("SELECT", 0)
	sel, _, err := parseSelect(text, append([]token{prefix}, toks...))
	if err != nil {
		return nil, err
	}
	if len(sel.TargetList) != 1 {
		return nil, &SyntaxError{Message: "expected one expression", Pos: -1}
	}
	target := sel.TargetList[0].GetResTarget()
	sel.TargetList = nil
	sel.Op, sel.LimitOption = 0, 0
	if target.GetName() != "" || target.GetVal() == nil || !empty(sel.ProtoReflect()) {
		return nil, &SyntaxError{Message: "expected one expression", Pos: -1}
	}
	a := newAllow()
	a.exprOnly = true
	if err := a.message(target.Val.ProtoReflect()); err != nil {
		return nil, err
	}
	return target.Val, nil
}

// bareExpression refuses text that holds more than tokens of one expression.
func bareExpression(text string, toks []token) error {
	if len(toks) == 0 {
		return &SyntaxError{Message: "no expression", Pos: -1}
	}
	if toks[0].is("all") || toks[0].is("distinct") {
		return &SyntaxError{Message: "expected one expression", Pos: toks[0].pos}
	}
	end := 0
	for _, t := range toks {
		if gap := text[end:t.pos]; strings.Contains(gap, "--") || strings.Contains(gap, "/*") {
			return &UnsupportedError{Construct: "a comment in an expression", Pos: end}
		}
		end = t.end()
		switch {
		case t.kind == tokParam:
			return &UnsupportedError{Construct: "a parameter in an expression", Pos: t.pos}
		case t.punct(";"), endsClause(t) && !t.is("from") && !t.is("for") && !t.is("offset"), t.is("into"), t.is("select"), t.is("with"), t.is("values"):
			return &SyntaxError{Message: "expected one expression", Pos: t.pos}
		}
	}
	if gap := text[end:]; strings.Contains(gap, "--") || strings.Contains(gap, "/*") {
		return &UnsupportedError{Construct: "a comment in an expression", Pos: end}
	}
	return balanced(toks)
}

// empty reports whether no field of m is set.
func empty(m protoreflect.Message) bool {
	set := false
	m.Range(func(protoreflect.FieldDescriptor, protoreflect.Value) bool {
		set = true
		return false
	})
	return !set
}

// ExprColumn is one column reference of an expression.
type ExprColumn struct {
	Parts []string
	Pos   int
}

// ExprColumns returns every column reference of n, in order of the tree, without the parameters of lambdas.
func ExprColumns(n *pgquery.Node) []ExprColumn {
	var out []ExprColumn
	columns(n.ProtoReflect(), nil, 0, &out)
	return out
}

// columns collects the references below m; bound holds the names that lambdas around declare.
func columns(m protoreflect.Message, bound []string, depth int, out *[]ExprColumn) {
	if depth > maxDepth {
		return
	}
	switch n := m.Interface().(type) {
	case *pgquery.Node:
		if f := m.WhichOneof(m.Descriptor().Oneofs().Get(0)); f != nil {
			columns(m.Get(f).Message(), bound, depth+1, out)
		}
		return
	case *pgquery.ColumnRef:
		c := ExprColumn{Pos: int(n.Location)}
		for _, f := range n.Fields {
			if s := f.GetString_(); s != nil {
				c.Parts = append(c.Parts, s.Sval)
			} else {
				c.Parts = append(c.Parts, "*")
			}
		}
		for _, b := range bound {
			if len(c.Parts) > 0 && fold(b) == fold(c.Parts[0]) {
				return
			}
		}
		*out = append(*out, c)
		return
	case *pgquery.FuncCall:
		if nameOf(n) == MarkerLambda && len(n.Args) > 1 {
			inner := append([]string(nil), bound...)
			for _, p := range n.Args[:len(n.Args)-1] {
				if c := p.GetColumnRef(); c != nil && len(c.Fields) == 1 {
					inner = append(inner, c.Fields[0].GetString_().GetSval())
				}
			}
			columns(n.Args[len(n.Args)-1].ProtoReflect(), inner, depth+1, out)
			return
		}
	}
	below(m, func(m protoreflect.Message) { columns(m, bound, depth+1, out) })
}

// below calls f for every message directly in m, in order of the fields.
func below(m protoreflect.Message, f func(protoreflect.Message)) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if field.Kind() != protoreflect.MessageKind || !m.Has(field) {
			continue
		}
		if !field.IsList() {
			f(m.Get(field).Message())
			continue
		}
		for list, j := m.Get(field).List(), 0; j < list.Len(); j++ {
			f(list.Get(j).Message())
		}
	}
}
