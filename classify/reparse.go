package classify

import (
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
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
	return equal(a.ProtoReflect(), b.ProtoReflect(), 0)
}

// ignored are fields that hold no meaning in a tree after Parse.
var ignored = map[protoreflect.Name]bool{
	"location": true, "name_location": true, "arg_location": true, "funcformat": true, "relpersistence": true, "typemod": true,
	"limit_option": true,
}

func equal(a, b protoreflect.Message, depth int) bool {
	if depth > maxDepth || a.IsValid() != b.IsValid() || a.Descriptor() != b.Descriptor() {
		return false
	}
	if x, ok := a.Interface().(*pgquery.BoolExpr); ok {
		y := b.Interface().(*pgquery.BoolExpr)
		p, q := flat(x, nil), flat(y, nil)
		if x.Boolop != y.Boolop || len(p) != len(q) {
			return false
		}
		for i := range p {
			if !equal(p[i].ProtoReflect(), q[i].ProtoReflect(), depth+1) {
				return false
			}
		}
		return true
	}
	if a.Descriptor().Name() == "Node" {
		f, g := a.WhichOneof(a.Descriptor().Oneofs().Get(0)), b.WhichOneof(b.Descriptor().Oneofs().Get(0))
		return f == g && (f == nil || equal(a.Get(f).Message(), b.Get(f).Message(), depth+1))
	}
	fields := a.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if ignored[f.Name()] {
			continue
		}
		if a.Has(f) != b.Has(f) || a.Has(f) && !equalField(a.Get(f), b.Get(f), f, depth) {
			return false
		}
	}
	return true
}

func equalField(a, b protoreflect.Value, f protoreflect.FieldDescriptor, depth int) bool {
	switch {
	case f.IsList():
		x, y := a.List(), b.List()
		if x.Len() != y.Len() || f.Kind() != protoreflect.MessageKind {
			return false
		}
		for i := range x.Len() {
			if !equal(x.Get(i).Message(), y.Get(i).Message(), depth+1) {
				return false
			}
		}
		return true
	case f.Kind() == protoreflect.MessageKind:
		return equal(a.Message(), b.Message(), depth+1)
	}
	return a.Equal(b)
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
