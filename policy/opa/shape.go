package opa

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
)

// Fault is one thing that is wrong with a policy although it compiles.
type Fault struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Col  int    `json:"column,omitempty"`
	Text string `json:"text"`
}

// Error returns "file:line:column: text".
func (f Fault) Error() string {
	if f.Col == 0 {
		return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Text)
	}
	return fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Col, f.Text)
}

// Columns returns the columns of a table by its catalog, schema and name; false if there is no such table.
type Columns func(catalog, schema, table string) ([]string, bool)

// tableRules are what the router reads of a table's package.
var tableRules = []string{"read", "hidden", "row_filters", "masks"}

// expressionKeys are the keys of a filter or mask.
var expressionKeys = []string{"expression", "id", "any_of", "params", "priority", "reason", "identity"}

// Shape checks what the compiler cannot know: that the rules of tables are those that the router asks, and have the shape that the
// gateway accepts. With columns it also checks the names of tables and columns. The second result are tables that do
// not exist, which is no fault: they may be made later.
func (x *Explorer) Shape(columns Columns) (faults, absent []Fault) {
	s := &shape{columns: columns, used: x.references()}
	for _, m := range x.bundle.Modules {
		path := m.Parsed.Package.Path
		switch {
		case len(path) >= 2 && path[1].Equal(ast.StringTerm("tables")) && len(m.Parsed.Rules) > 0:
			s.table(m)
		case path.String() == "data.global":
			for _, r := range m.Parsed.Rules {
				s.rule(m, r, nil)
			}
		}
	}
	byPlace := func(a, b Fault) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, a.Col-b.Col, strings.Compare(a.Text, b.Text))
	}
	slices.SortFunc(s.faults, byPlace)
	slices.SortFunc(s.absent, byPlace)
	return slices.Compact(s.faults), slices.Compact(s.absent)
}

// references are the data that rules refer to, as text.
func (x *Explorer) references() map[string]bool {
	out := map[string]bool{}
	for _, m := range x.compiler.Modules {
		ast.WalkRefs(m, func(r ast.Ref) bool {
			out[r.GroundPrefix().String()] = true
			return false
		})
	}
	return out
}

type shape struct {
	columns        Columns
	used           map[string]bool
	faults, absent []Fault
}

func at(m bundle.ModuleFile, l *ast.Location) Fault {
	f := Fault{File: strings.TrimPrefix(m.Path, "/")}
	if l != nil {
		f.Line, f.Col = l.Row, l.Col
	}
	return f
}

func (s *shape) fault(m bundle.ModuleFile, l *ast.Location, format string, args ...any) {
	f := at(m, l)
	f.Text = fmt.Sprintf(format, args...)
	s.faults = append(s.faults, f)
}

// table checks the package of one table.
func (s *shape) table(m bundle.ModuleFile) {
	path := m.Parsed.Package.Path
	if len(path) != 5 {
		s.fault(m, m.Parsed.Package.Location, "a table's package is tables.CATALOG.SCHEMA.TABLE")
		return
	}
	name := func(i int) string { text, _ := path[i].Value.(ast.String); return string(text) }
	var known []string
	if s.columns != nil {
		var ok bool
		if known, ok = s.columns(name(2), name(3), name(4)); !ok {
			f := at(m, m.Parsed.Package.Location)
			f.Text = fmt.Sprintf("there is no table %s.%s.%s", name(2), name(3), name(4))
			s.absent = append(s.absent, f)
		}
	}
	for _, r := range m.Parsed.Rules {
		s.rule(m, r, known)
	}
}

// rule checks one rule of a table's package, or of data.global.
func (s *shape) rule(m bundle.ModuleFile, r *ast.Rule, columns []string) {
	ref := r.Head.Ref()
	first, ok := ref[0].Value.(ast.Var)
	if !ok {
		return
	}
	name := string(first)
	switch name {
	case "read":
		if v := r.Head.Value; v != nil && literalOther(v, "boolean") {
			s.fault(m, v.Location, "read is true or false")
		}
	case "hidden":
		s.hidden(m, r, columns)
	case "row_filters":
		s.filters(m, r)
	case "masks":
		s.masks(m, r, ref, columns)
	case "mask":
		if m.Parsed.Package.Path.String() == "data.global" {
			s.expression(m, r.Head.Value)
			return
		}
		s.unknown(m, r, name)
	default:
		s.unknown(m, r, name)
	}
}

// unknown finds misspelt names: a rule that nobody asks and whose name is nearly that of one that the router asks.
func (s *shape) unknown(m bundle.ModuleFile, r *ast.Rule, name string) {
	if s.used[m.Parsed.Package.Path.String()+"."+name] || strings.HasPrefix(name, "test_") {
		return
	}
	for _, known := range tableRules {
		if near(name, known) {
			s.fault(m, r.Location, "nobody asks the rule %s; did you mean %s?", name, known)
		}
	}
}

func (s *shape) hidden(m bundle.ModuleFile, r *ast.Rule, columns []string) {
	if r.Head.Key == nil {
		if v := r.Head.Value; v != nil && literalOther(v, "set") && literalOther(v, "array") {
			s.fault(m, v.Location, "hidden is a set of names of columns: hidden contains \"column\"")
		}
		return
	}
	if literalOther(r.Head.Key, "string") {
		s.fault(m, r.Head.Key.Location, "hidden holds names of columns")
		return
	}
	if text, ok := r.Head.Key.Value.(ast.String); ok {
		s.column(m, r.Head.Key.Location, string(text), columns)
	}
}

func (s *shape) filters(m bundle.ModuleFile, r *ast.Rule) {
	if r.Head.Key != nil {
		s.expression(m, r.Head.Key)
		return
	}
	v := r.Head.Value
	if v == nil || literalOther(v, "set") && literalOther(v, "array") {
		s.fault(m, r.Location, "row_filters is a set of expressions: row_filters contains {\"expression\": …}")
	}
}

func (s *shape) masks(m bundle.ModuleFile, r *ast.Rule, ref ast.Ref, columns []string) {
	switch {
	case len(ref) == 1 && r.Head.Key != nil:
		s.fault(m, r.Location, "masks is an object: masks.column := {\"expression\": …}")
	case len(ref) == 1:
		if o, ok := r.Head.Value.Value.(ast.Object); ok {
			o.Foreach(func(k, v *ast.Term) {
				if text, ok := k.Value.(ast.String); ok {
					s.column(m, k.Location, string(text), columns)
				}
				s.expression(m, v)
			})
			return
		}
		if literalOther(r.Head.Value, "object") {
			s.fault(m, r.Location, "masks is an object: masks.column := {\"expression\": …}")
		}
	case len(ref) == 2:
		if text, ok := ref[1].Value.(ast.String); ok {
			s.column(m, r.Location, string(text), columns)
		}
		s.expression(m, r.Head.Value)
	default:
		s.fault(m, r.Location, "a mask is masks.column, without more parts")
	}
}

// column checks that a table has a column. A filter or mask of a column that is not there protects nothing.
func (s *shape) column(m bundle.ModuleFile, l *ast.Location, name string, columns []string) {
	if columns == nil || slices.ContainsFunc(columns, func(c string) bool { return strings.EqualFold(c, name) }) {
		return
	}
	for _, c := range columns {
		if near(strings.ToLower(name), strings.ToLower(c)) {
			s.fault(m, l, "the table has no column %q; did you mean %q?", name, c)
			return
		}
	}
	s.fault(m, l, "the table has no column %q", name)
}

// expression checks what is written out of a filter or mask.
func (s *shape) expression(m bundle.ModuleFile, t *ast.Term) {
	if t == nil {
		return
	}
	if set, ok := t.Value.(ast.Set); ok { // several masks of one column
		set.Foreach(func(t *ast.Term) { s.expression(m, t) })
		return
	}
	if literalOther(t, "object") {
		s.fault(m, t.Location, "a filter or mask is an object with the key \"expression\"")
		return
	}
	o, ok := t.Value.(ast.Object)
	if !ok {
		return
	}
	types := map[string]string{"expression": "string", "id": "string", "any_of": "string", "params": "object", "priority": "number", "reason": "string", "identity": "string"}
	found := map[string]bool{}
	o.Foreach(func(k, v *ast.Term) {
		text, ok := k.Value.(ast.String)
		if !ok {
			return
		}
		key := string(text)
		found[key] = true
		switch {
		case !slices.Contains(expressionKeys, key):
			s.fault(m, k.Location, "a filter or mask has no key %q; there are %s", key, strings.Join(slices.Sorted(maps.Keys(types)), ", "))
		case literalOther(v, types[key]):
			s.fault(m, v.Location, "%s has the wrong type, it is a %s", key, types[key])
		case key == "expression" && v.Value.Compare(ast.String("")) == 0:
			s.fault(m, v.Location, "the expression is empty")
		}
	})
	if !found["expression"] {
		s.fault(m, t.Location, "a filter or mask without the key \"expression\"")
	}
}

// literalOther reports whether t is written out and has another type than want. What is computed may be anything.
func literalOther(t *ast.Term, want string) bool {
	switch t.Value.(type) {
	case ast.Null, ast.Boolean, ast.Number, ast.String, ast.Object, ast.Set, *ast.Array:
		return ast.ValueName(t.Value) != want
	default:
		return false
	}
}

// near reports whether two names differ by at most two edits, and not in more than a third of their letters.
func near(a, b string) bool {
	d := edits(a, b)
	return d > 0 && d <= 2 && 3*d <= max(len(a), len(b))
}

// edits is the distance of Levenshtein.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := last
			if a[i] != b[j] {
				cost++
			}
			last = row[j+1]
			row[j+1] = min(row[j+1]+1, row[j]+1, cost)
		}
	}
	return row[len(b)]
}
