package duckdb

import (
	"fmt"
	"strings"

	"gatehouse/executors"
	"gatehouse/plan"
)

// source says how one column of a relation comes out of a group of files.
type source struct {
	key  string // in the schema map: a field id, or a quoted name for files without ids
	typ  string // the type to read
	expr string // over d."c<id>": "" if the value is used as it is
}

// layout is how a file's columns are read. Files with equal text can be read by one table function.
type layout struct {
	byName  bool
	sources []source    // by Scan.Fields
	missing map[int]int // field id → index in Scan.Fields, for columns that the file does not have
}

// newLayout maps the fields to a file's columns: by field id, or by the table's name mapping if the file has none. It never goes by
// a column's own name.
func newLayout(fields []plan.Field, ft *footer, mapping map[string]int) (*layout, error) {
	if !ft.ids {
		if mapping == nil {
			return nil, &executors.Error{
				Kind: executors.KindUnsupported,
				Hint: "a data file has no field ids and the table has no name mapping",
			}
		}
		ft = withMapping(ft, mapping)
	}
	l := &layout{byName: !ft.ids, missing: map[int]int{}}
	for i, f := range fields {
		n := ft.byID(f.ID)
		s := source{key: fmt.Sprint(f.ID), typ: f.Type}
		if l.byName {
			s.key = literal(fmt.Sprintf("__gw_none_%d", f.ID))
		}
		if n == nil {
			l.missing[f.ID] = i
			l.sources = append(l.sources, s)
			continue
		}
		if l.byName {
			s.key = literal(n.name)
		}
		if n.shape == leaf && widened(n.written, f.Type) {
			s.typ, s.expr = n.written, columnRef(f.ID)
		}
		if len(f.Nested) > 0 && !sameNames(f.Nested, n) {
			var err error
			if s.typ, err = fileType(f, n); err != nil {
				return nil, err
			}
			if s.expr, err = remap(columnRef(f.ID), f, n, 0); err != nil {
				return nil, err
			}
		}
		l.sources = append(l.sources, s)
	}
	return l, nil
}

// widened reports whether a column was written narrower than the table's schema has it now. It is read as it was written
// and cast above the scan: DuckDB 1.5 can push a join's Bloom filter into a scan, but not into one that casts ("Can't convert
// TableFilterType (BLOOM_FILTER) from global to local indexes").
func widened(from, to string) bool {
	switch from {
	case "INTEGER":
		return to == "BIGINT"
	case "FLOAT":
		return to == "DOUBLE"
	}
	return strings.HasPrefix(from, "DECIMAL(") && strings.HasPrefix(to, "DECIMAL(") && from != to
}

// text identifies the layout.
func (l *layout) text() string {
	var b strings.Builder
	fmt.Fprint(&b, l.byName)
	for _, s := range l.sources {
		fmt.Fprintf(&b, "\x00%s\x00%s\x00%s", s.key, s.typ, s.expr)
	}
	return b.String()
}

// withMapping is ft with the ids of a name mapping.
func withMapping(ft *footer, mapping map[string]int) *footer {
	return &footer{rows: ft.rows, columns: mapNodes(ft.columns, mapping, "")}
}

func mapNodes(nodes []node, mapping map[string]int, prefix string) []node {
	out := make([]node, len(nodes))
	for i, n := range nodes {
		out[i] = n
		out[i].id = -1
		name := prefix + n.name
		if id, ok := mapping[name]; ok {
			out[i].id = id
		}
		children := n.children
		switch n.shape {
		case listShape:
			children = []node{renamed(children[0], "element")}
		case mapShape:
			children = []node{renamed(children[0], "key"), renamed(children[1], "value")}
		}
		out[i].children = mapNodes(children, mapping, name+".")
	}
	return out
}

func renamed(n node, name string) node { n.name = name; return n }

// sameNames reports whether the engine's matching of nested fields, which goes by name, finds what matching by id finds.
func sameNames(fields []plan.Field, n *node) bool {
	if n.shape != structShape {
		if len(fields) != len(n.children) {
			return false
		}
		for i, f := range fields {
			if f.ID != n.children[i].id || len(f.Nested) > 0 && !sameNames(f.Nested, &n.children[i]) {
				return false
			}
		}
		return true
	}
	if len(fields) != len(n.children) {
		return false
	}
	for i, f := range fields {
		c := &n.children[i]
		if c.id != f.ID || c.name != f.Name || len(f.Nested) > 0 && !sameNames(f.Nested, c) {
			return false
		}
	}
	return true
}

// child returns the nested field of n that holds f; nil if the file lacks it. The parts of lists and maps go by position.
func (n *node) child(f plan.Field, i int) *node {
	if n.shape != structShape {
		return &n.children[i]
	}
	for j := range n.children {
		if n.children[j].id == f.ID {
			return &n.children[j]
		}
	}
	return nil
}

func (n *node) check(f plan.Field) error {
	want := map[shape]int{listShape: 1, mapShape: 2}[n.shape]
	nested := len(f.Nested) > 0
	switch {
	case nested != (n.shape != leaf),
		want > 0 && len(f.Nested) != want,
		n.shape == structShape && !strings.HasPrefix(f.Type, "STRUCT("),
		n.shape == mapShape && !strings.HasPrefix(f.Type, "MAP("),
		n.shape == listShape && !strings.HasSuffix(f.Type, "]"):
		return dataError("field %d is stored with another shape than its type %s", f.ID, f.Type)
	}
	return nil
}

// fileType is the type of f with the names that the file has and without the fields that it lacks.
func fileType(f plan.Field, n *node) (string, error) {
	if err := n.check(f); err != nil {
		return "", err
	}
	if n.shape == leaf {
		return f.Type, nil
	}
	var parts []string
	for i, c := range f.Nested {
		cn := n.child(c, i)
		if cn == nil {
			continue
		}
		t, err := fileType(c, cn)
		if err != nil {
			return "", err
		}
		if n.shape == structShape {
			t = identifier(cn.name) + " " + t
		}
		parts = append(parts, t)
	}
	if len(parts) == 0 {
		// A struct has to have a field to be read: its presence says which rows are NULL.
		return "", &executors.Error{Kind: executors.KindUnsupported, Hint: "a data file has none of the fields of a struct column"}
	}
	switch n.shape {
	case listShape:
		return parts[0] + "[]", nil
	case mapShape:
		return "MAP(" + strings.Join(parts, ", ") + ")", nil
	}
	return "STRUCT(" + strings.Join(parts, ", ") + ")", nil
}

// remap builds the value of f out of in, an expression of type fileType(f, n). depth names the lambda parameters apart.
func remap(in string, f plan.Field, n *node, depth int) (string, error) {
	if n.shape == leaf || sameNames(f.Nested, n) {
		return in, nil
	}
	x := fmt.Sprintf("__gw_x%d", depth)
	switch n.shape {
	case listShape:
		e, err := remap(x, f.Nested[0], &n.children[0], depth+1)
		return fmt.Sprintf("list_transform(%s, lambda %s: %s)", in, x, e), err
	case mapShape:
		k, err := remap(extract(x, "key"), f.Nested[0], &n.children[0], depth+1)
		if err != nil {
			return "", err
		}
		v, err := remap(extract(x, "value"), f.Nested[1], &n.children[1], depth+1)
		entries := fmt.Sprintf("list_transform(map_entries(%s), lambda %s: struct_pack(k := %s, v := %s))", in, x, k, v)
		return fmt.Sprintf("CASE WHEN %s IS NULL THEN NULL ELSE map_from_entries(%s) END", in, entries), err
	}
	var parts []string
	for i, c := range f.Nested {
		value := fmt.Sprintf("CAST(%s AS %s)", defaultLiteral(c), c.Type)
		if cn := n.child(c, i); cn != nil {
			var err error
			if value, err = remap(extract(in, cn.name), c, cn, depth); err != nil {
				return "", err
			}
		}
		parts = append(parts, identifier(c.Name)+" := "+value)
	}
	return fmt.Sprintf("CASE WHEN %s IS NULL THEN NULL ELSE struct_pack(%s) END", in, strings.Join(parts, ", ")), nil
}

func extract(in, name string) string { return "struct_extract(" + in + ", " + literal(name) + ")" }

func defaultLiteral(f plan.Field) string {
	if f.Default == nil {
		return "NULL"
	}
	return literal(*f.Default)
}
