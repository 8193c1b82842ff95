package classify

import (
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// normalize gives a fresh tree its canonical names and the positions of the user's text. The names of functions and types
// become lower case without schema, an operator that the pre-pass had to spell otherwise gets its own name back.
func normalize(sel *pgquery.SelectStmt, r *rewritten) error {
	return visit(sel, func(m proto.Message) error {
		if e, ok := m.(*pgquery.A_Expr); ok && r.idiv[int(e.Location)] && len(e.Name) == 1 {
			if s := e.Name[0].GetString_(); s != nil && s.Sval == "/" {
				s.Sval = "//"
			}
		}
		relocate(m, r)
		switch n := m.(type) {
		case *pgquery.A_Expr:
			canonicalLike(n)
		case *pgquery.SelectStmt:
			if n.LimitCount.GetAConst().GetIsnull() { // LIMIT ALL
				n.LimitCount = nil
				n.LimitOption = pgquery.LimitOption_LIMIT_OPTION_DEFAULT
			}
		case *pgquery.ResTarget:
			textParameter(n)
		case *pgquery.FuncCall:
			return canonicalFunction(n)
		case *pgquery.TypeName:
			return canonicalTypeName(n)
		}
		return nil
	})
}

// textParameter makes a parameter that is a column by itself text, as PostgreSQL does: nothing else says of what type it is,
// and the column's type has to be known before the value is.
func textParameter(n *pgquery.ResTarget) {
	if n.Val.GetParamRef() == nil {
		return
	}
	n.Val = &pgquery.Node{Node: &pgquery.Node_TypeCast{TypeCast: &pgquery.TypeCast{
		Arg: n.Val, TypeName: &pgquery.TypeName{Names: []*pgquery.Node{pgquery.MakeStrNode("varchar")}, Typemod: -1, Location: -1}, Location: -1,
	}}}
}

// relocate maps the positions of one message to the user's text.
func relocate(m proto.Message, r *rewritten) {
	if at, ok := locationOf(m); ok {
		if at != nil && *at >= 0 {
			*at = int32(r.original(int(*at)))
		}
		return
	}
	relocateAny(m.ProtoReflect(), r)
}

// relocateAny does the same for a message of any type, with any number of positions.
func relocateAny(m protoreflect.Message, r *rewritten) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.Kind() != protoreflect.Int32Kind || f.IsList() || !strings.HasSuffix(string(f.Name()), "location") {
			continue
		}
		if off := int(m.Get(f).Int()); off >= 0 {
			m.Set(f, protoreflect.ValueOfInt32(int32(r.original(off))))
		}
	}
}

// grammarFunctions are the names that PostgreSQL's grammar puts in place of special syntax and that DuckDB calls otherwise.
var grammarFunctions = map[string]string{"btrim": "trim", "extract": "date_part"}

func canonicalFunction(n *pgquery.FuncCall) error {
	parts := make([]string, 0, 2)
	for _, p := range n.Funcname {
		parts = append(parts, fold(p.GetString_().GetSval()))
	}
	if len(parts) == 2 && parts[0] == "pg_catalog" {
		parts = parts[1:]
		if g := grammarFunctions[parts[0]]; g != "" {
			parts[0] = g
		}
	}
	if len(parts) != 1 {
		return &NameError{Kind: "function", Name: strings.Join(parts, "."), Why: "does not exist", Pos: int(n.Location)}
	}
	n.Funcname = []*pgquery.Node{pgquery.MakeStrNode(parts[0])}
	n.Funcformat = pgquery.CoercionForm_COERCE_EXPLICIT_CALL
	return nil
}

func canonicalTypeName(n *pgquery.TypeName) error {
	var parts []string
	for _, p := range n.Names {
		parts = append(parts, p.GetString_().GetSval())
	}
	name := canonicalType(parts)
	if name == "" || n.Setof || n.PctType || len(n.ArrayBounds) > 4 {
		return &UnsupportedError{Construct: "type " + strings.TrimPrefix(strings.Join(parts, "."), "pg_catalog."), Pos: int(n.Location)}
	}
	n.Names = []*pgquery.Node{pgquery.MakeStrNode(name)}
	n.Typemod = -1
	if dropsModifier[name] {
		n.Typmods = nil
	}
	if name == "struct" || name == "map" {
		if !nestedTypmods(name, n.Typmods) {
			return &UnsupportedError{Construct: "type " + name, Pos: int(n.Location)}
		}
		return nil
	}
	if name != "decimal" && len(n.Typmods) > 0 {
		return &UnsupportedError{Construct: "a modifier of type " + name, Pos: int(n.Location)}
	}
	for _, t := range n.Typmods {
		if c := t.GetAConst(); c == nil || c.Isnull {
			return &UnsupportedError{Construct: "a modifier of type " + name, Pos: int(n.Location)}
		} else if _, ok := c.Val.(*pgquery.A_Const_Ival); !ok {
			return &UnsupportedError{Construct: "a modifier of type " + name, Pos: int(n.Location)}
		}
	}
	return nil
}

// nestedTypmods reports whether the modifiers of a nested type are what the pre-pass makes of its parts.
func nestedTypmods(name string, mods []*pgquery.Node) bool {
	seen := map[string]bool{}
	for _, m := range mods {
		if name == "struct" {
			f := m.GetFuncCall()
			if nameOf(f) != MarkerField || len(f.GetArgs()) != 2 {
				return false
			}
			field := fold(f.Args[0].GetAConst().GetSval().GetSval())
			if field == "" || seen[field] {
				return false
			}
			seen[field] = true
			m = f.Args[1]
		}
		if c := m.GetTypeCast(); c == nil || !c.Arg.GetAConst().GetIsnull() {
			return false
		}
	}
	return len(mods) == 2 || name == "struct" && len(mods) > 0
}

// visit calls f for m and for every message below it but Nodes, parents first.
func visit(m proto.Message, f func(proto.Message) error) error {
	depth := 0
	var walk func(proto.Message) error
	walk = func(m proto.Message) error {
		if depth++; depth > maxDepth {
			return overLimit("nesting that deep", -1)
		}
		if _, ok := m.(*pgquery.Node); !ok {
			if err := f(m); err != nil {
				return err
			}
		}
		err := children(m, walk)
		depth--
		return err
	}
	return walk(m)
}
