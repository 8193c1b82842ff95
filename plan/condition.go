package plan

import (
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	pgquery "github.com/pganalyze/pg_query_go/v6"

	"gatehouse/catalog"
	"gatehouse/policy"
)

// condition decides from a manifest entry alone whether a file may hold a row for which it is true. It is never the last word: the
// expression that it stands for is evaluated again on every row that is read. What cannot be judged may match.
type condition interface {
	mayMatch(s *snapshot, d *dataFile) bool
}

// all is a conjunction, anyOf a disjunction.
type (
	all   []condition
	anyOf []condition
)

func (c all) mayMatch(s *snapshot, d *dataFile) bool {
	for _, x := range c {
		if !x.mayMatch(s, d) {
			return false
		}
	}
	return true
}

func (c anyOf) mayMatch(s *snapshot, d *dataFile) bool {
	for _, x := range c {
		if x.mayMatch(s, d) {
			return true
		}
	}
	return false
}

// operator is what a leaf compares with.
type operator int

const (
	equal operator = iota
	less
	lessEqual
	greater
	greaterEqual
	isNull
	notNull
)

// leaf compares one column with one value; isNull and notNull have none.
type leaf struct {
	field iceberg.NestedField
	op    operator
	value value
}

// conditions translates what it can of a relation's filter and of what is pushed beside it; nil if there is nothing.
func conditions(t *catalog.Table, r policy.Relation) condition {
	tr := translator{columns: map[string]iceberg.NestedField{}}
	pushable := pushableColumns(t.Iceberg.Metadata(), t.Fields)
	for _, f := range t.Fields.Fields() {
		if pushable[f.ID] {
			tr.columns[f.Name] = f
		}
	}
	var out all
	if c := tr.node(r.Filter); c != nil {
		out = append(out, c)
	}
	// The filter reads raw columns. What the user wrote means the masked ones, so that a masked column must not prune.
	for _, c := range r.Columns {
		if c.Mask != nil {
			delete(tr.columns, c.Name)
		}
	}
	for _, n := range r.Pushed {
		if c := tr.node(n); c != nil {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// pushableColumns returns the top-level columns whose partition values and bounds can be trusted to mean what the column means today:
// of a type with one order everywhere (floats are not: bounds leave NaN out, engines sort it above all), never of another
// type (bounds have the bytes of the old one), and with names that lead to no other column in files without field ids.
func pushableColumns(md table.Metadata, schema *iceberg.Schema) map[int]bool {
	out := map[int]bool{}
	for _, f := range schema.Fields() {
		switch f.Type.(type) {
		case iceberg.Int32Type, iceberg.Int64Type, iceberg.DateType, iceberg.TimestampType, iceberg.TimestampTzType,
			iceberg.DecimalType, iceberg.StringType:
			out[f.ID] = true
		}
	}
	mapping := md.NameMapping()
	for _, s := range md.Schemas() {
		for _, old := range s.Fields() {
			now, ok := topLevel(schema, old.ID)
			if ok && !now.Type.Equals(old.Type) {
				delete(out, old.ID)
			}
			if mapping == nil {
				continue
			}
			for _, f := range schema.Fields() {
				if (f.Name == old.Name) != (f.ID == old.ID) {
					delete(out, f.ID)
				}
			}
		}
	}
	for _, m := range mapping {
		f := iceberg.NestedField{}
		if m.FieldID != nil {
			f, _ = topLevel(schema, *m.FieldID)
		}
		for _, name := range m.Names {
			if name != f.Name {
				delete(out, f.ID)
			}
		}
	}
	return out
}

// translator makes conditions from expressions.
type translator struct {
	columns map[string]iceberg.NestedField // by exact name
}

// node returns a condition that is true wherever n is, nil if none is known.
func (t translator) node(n *pgquery.Node) condition {
	if n == nil {
		return nil
	}
	switch x := n.Node.(type) {
	case *pgquery.Node_BoolExpr:
		return t.boolean(x.BoolExpr)
	case *pgquery.Node_NullTest:
		f, ok := t.column(x.NullTest.Arg)
		if !ok {
			return nil
		}
		if x.NullTest.Nulltesttype == pgquery.NullTestType_IS_NULL {
			return leaf{field: f, op: isNull}
		}
		return leaf{field: f, op: notNull}
	case *pgquery.Node_AExpr:
		return t.comparison(x.AExpr)
	}
	return nil
}

func (t translator) boolean(b *pgquery.BoolExpr) condition {
	switch b.Boolop {
	case pgquery.BoolExprType_AND_EXPR:
		var out all
		for _, a := range b.Args {
			if c := t.node(a); c != nil {
				out = append(out, c)
			}
		}
		if len(out) > 0 {
			return out
		}
	case pgquery.BoolExprType_OR_EXPR:
		var out anyOf
		for _, a := range b.Args {
			c := t.node(a)
			if c == nil {
				return nil
			}
			out = append(out, c)
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

var operators = map[string]operator{"=": equal, "<": less, "<=": lessEqual, ">": greater, ">=": greaterEqual}

// flipped is the operator with its sides exchanged.
var flipped = map[operator]operator{equal: equal, less: greater, lessEqual: greaterEqual, greater: less, greaterEqual: lessEqual}

func (t translator) comparison(e *pgquery.A_Expr) condition {
	name := ""
	if len(e.Name) == 1 {
		name = e.Name[0].GetString_().GetSval()
	}
	switch e.Kind {
	case pgquery.A_Expr_Kind_AEXPR_OP:
		op, ok := operators[name]
		if !ok {
			return nil
		}
		if f, ok := t.column(e.Lexpr); ok {
			return t.leaf(f, op, e.Rexpr)
		}
		if f, ok := t.column(e.Rexpr); ok {
			return t.leaf(f, flipped[op], e.Lexpr)
		}
	case pgquery.A_Expr_Kind_AEXPR_IN:
		f, ok := t.column(e.Lexpr)
		list := e.Rexpr.GetList().GetItems()
		if !ok || name != "=" || len(list) == 0 {
			return nil
		}
		var out anyOf
		for _, item := range list {
			c := t.leaf(f, equal, item)
			if c == nil {
				return nil
			}
			out = append(out, c)
		}
		return out
	case pgquery.A_Expr_Kind_AEXPR_BETWEEN:
		f, ok := t.column(e.Lexpr)
		list := e.Rexpr.GetList().GetItems()
		if !ok || len(list) != 2 {
			return nil
		}
		bounds := []condition{t.leaf(f, greaterEqual, list[0]), t.leaf(f, lessEqual, list[1])}
		bounds = slices.DeleteFunc(bounds, func(c condition) bool { return c == nil })
		if len(bounds) > 0 {
			return all(bounds)
		}
	}
	return nil
}

// leaf returns nil, not a leaf, if the literal does not have an exact counterpart in the column's type.
func (t translator) leaf(f iceberg.NestedField, op operator, literal *pgquery.Node) condition {
	v, ok := literalValue(f.Type, literal)
	if !ok {
		return nil
	}
	return leaf{field: f, op: op, value: v}
}

func (t translator) column(n *pgquery.Node) (iceberg.NestedField, bool) {
	parts := n.GetColumnRef().GetFields()
	if len(parts) != 1 {
		return iceberg.NestedField{}, false
	}
	f, ok := t.columns[parts[0].GetString_().GetSval()]
	return f, ok
}
