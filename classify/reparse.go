package classify

import (
	"reflect"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Reparse reads text that the DuckDB printer wrote, for comparison with the tree that it was written from. It is Parse
// without the allow-list, and it lets the names of governed relations pass. It says nothing about who wrote the text: a
// Statement never comes from it.
func Reparse(text string) (*pgquery.SelectStmt, error) {
	toks, err := lex(text)
	if err != nil {
		return nil, err
	}
	err = guardTokens(toks, limits{tokens: 2*maxTokens + 2000, nesting: 2000, identifier: printedIdentifier})
	if err != nil {
		return nil, err
	}
	sel, _, err := parseSelect(text, toks)
	return sel, err
}

func printedIdentifier(t token) error {
	if n, ok := strings.CutPrefix(t.value, MarkerPrefix); ok && n != "" && strings.Trim(n, "0123456789") == "" {
		return nil
	}
	return guardIdentifier(t)
}

// EqualTrees reports whether two trees mean the same: it ignores positions, and the grouping of AND and OR, which the
// parser flattens on the left.
func EqualTrees(a, b *pgquery.SelectStmt) bool {
	return equal(a, b, 0)
}

// ignored are fields that hold no meaning in a tree after Parse.
var ignored = map[protoreflect.Name]bool{
	"location": true, "funcformat": true, "relpersistence": true, "typemod": true,
	"limit_option": true,
}

func equal(a, b proto.Message, depth int) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if depth > maxDepth || x.Type() != y.Type() || x.IsNil() || y.IsNil() {
		return false
	}
	switch p := a.(type) {
	case *pgquery.BoolExpr:
		q := b.(*pgquery.BoolExpr)
		return p.Boolop == q.Boolop && equalNodes(flat(p, nil), flat(q, nil), depth)
	case *pgquery.Node:
		c, d := content(p), content(b.(*pgquery.Node))
		if c == nil || d == nil {
			return c == d
		}
		return equal(c, d, depth+1)
	case *pgquery.A_Const:
		q := b.(*pgquery.A_Const)
		return p.Isnull == q.Isnull && (p.Val == nil) == (q.Val == nil) && (p.Val == nil || equalConstants(p, q))
	}
	for _, f := range layoutOf(a).fields {
		if !f.ignored && !equalField(x.Elem(), y.Elem(), &f, depth) {
			return false
		}
	}
	return true
}

func equalConstants(a, b *pgquery.A_Const) bool {
	switch v := a.Val.(type) {
	case *pgquery.A_Const_Ival:
		w, ok := b.Val.(*pgquery.A_Const_Ival)
		return ok && v.Ival.GetIval() == w.Ival.GetIval()
	case *pgquery.A_Const_Fval:
		w, ok := b.Val.(*pgquery.A_Const_Fval)
		return ok && v.Fval.GetFval() == w.Fval.GetFval()
	case *pgquery.A_Const_Boolval:
		w, ok := b.Val.(*pgquery.A_Const_Boolval)
		return ok && v.Boolval.GetBoolval() == w.Boolval.GetBoolval()
	case *pgquery.A_Const_Sval:
		w, ok := b.Val.(*pgquery.A_Const_Sval)
		return ok && v.Sval.GetSval() == w.Sval.GetSval()
	}
	return false
}

func equalField(a, b reflect.Value, f *layoutField, depth int) bool {
	switch f.kind {
	case fieldNodes:
		return equalNodes(f.nodes(a), f.nodes(b), depth)
	case fieldMessage:
		if a.Field(f.index).IsNil() || b.Field(f.index).IsNil() {
			return a.Field(f.index).IsNil() && b.Field(f.index).IsNil()
		}
		return equal(f.message(a), f.message(b), depth+1)
	case fieldScalar, fieldEnum:
		return a.Field(f.index).Equal(b.Field(f.index))
	}
	return a.Field(f.index).IsZero() && b.Field(f.index).IsZero()
}

func equalNodes(a, b []*pgquery.Node, depth int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !equal(a[i], b[i], depth+1) {
			return false
		}
	}
	return true
}

// flat appends the arguments of e, those of a first argument of the same kind in its place.
func flat(e *pgquery.BoolExpr, out []*pgquery.Node) []*pgquery.Node {
	for i, a := range e.Args {
		if inner := a.GetBoolExpr(); i == 0 && inner != nil && inner.Boolop == e.Boolop && e.Boolop != pgquery.BoolExprType_NOT_EXPR {
			out = flat(inner, out)
			continue
		}
		out = append(out, a)
	}
	return out
}
