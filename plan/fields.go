package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"gatehouse/catalog"
	"gatehouse/policy"
)

// needed returns the ids of the top-level columns that a relation reads: what it projects, what its masks read, and the columns of its
// filter and of what is pushed.
func needed(t *catalog.Table, r policy.Relation) (map[int]bool, error) {
	if len(r.Columns) == 0 {
		return nil, fmt.Errorf("%w: relation %s has no columns", ErrInvalid, r.CTE)
	}
	out := map[int]bool{}
	types := map[int]string{}
	for _, c := range t.Columns {
		types[c.FieldID] = c.SQLType
	}
	for _, c := range r.Columns {
		if _, ok := types[c.FieldID]; !ok || len(c.Reads) == 0 {
			return nil, fmt.Errorf("%w: relation %s projects a column that the table does not have", ErrInvalid, r.CTE)
		}
		if c.Mask == nil && types[c.FieldID] != c.Type {
			return nil, fmt.Errorf("%w: relation %s projects a column with another type", ErrInvalid, r.CTE)
		}
		for _, id := range c.Reads {
			if _, ok := types[id]; !ok {
				return nil, fmt.Errorf("%w: a mask in relation %s reads a column that the table does not have", ErrInvalid, r.CTE)
			}
			out[id] = true
		}
	}
	names := columnNames(append(slices.Clone(r.Pushed), r.Filter))
	for _, c := range t.Columns {
		if names[strings.ToLower(c.Name)] {
			out[c.FieldID] = true
		}
	}
	return out, nil
}

// columnNames returns the first parts of all column references in nodes, in lower case. Lambda parameters are among them; taking
// a column of that name along does no harm.
func columnNames(nodes []*pgquery.Node) map[string]bool {
	out := map[string]bool{}
	var walk func(m protoreflect.Message)
	walk = func(m protoreflect.Message) {
		if ref, ok := m.Interface().(*pgquery.ColumnRef); ok {
			for _, f := range ref.Fields {
				out[strings.ToLower(f.GetString_().GetSval())] = true
			}
		}
		m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			switch {
			case fd.Kind() != protoreflect.MessageKind:
			case fd.IsList():
				for i := range v.List().Len() {
					walk(v.List().Get(i).Message())
				}
			default:
				walk(v.Message())
			}
			return true
		})
	}
	for _, n := range nodes {
		if n != nil {
			walk(n.ProtoReflect())
		}
	}
	return out
}

// fields returns the columns with the given ids, in schema order; columns that only deletes know come last.
func fields(t *catalog.Table, ids map[int]bool) ([]Field, error) {
	var out []Field
	have := map[int]bool{}
	for _, f := range t.Fields.Fields() {
		if !ids[f.ID] {
			continue
		}
		field, err := newField(f)
		if err != nil {
			return nil, err
		}
		out, have[f.ID] = append(out, field), true
	}
	for _, c := range t.Columns {
		if ids[c.FieldID] && (c.FieldID == catalog.RowIDField || c.FieldID == catalog.LastUpdatedField) {
			out, have[c.FieldID] = append(out, Field{ID: c.FieldID, Name: c.Name, Type: c.SQLType}), true
		}
	}
	var dropped []int
	for id := range ids {
		if !have[id] {
			dropped = append(dropped, id)
		}
	}
	slices.Sort(dropped)
	for _, id := range dropped {
		field, err := keyField(t, id)
		if err != nil {
			return nil, err
		}
		out = append(out, field)
	}
	return out, nil
}

// droppedPrefix starts the names of columns that the schema does not have any more. No statement can use it.
const droppedPrefix = "__gw_dropped_"

// keyField returns the field of an equality delete's key with its current type: that of the schema to read with, or else, for
// a column that was dropped since, of the last schema that has it.
func keyField(t *catalog.Table, id int) (Field, error) {
	if f, ok := topLevel(t.Fields, id); ok {
		return newField(f)
	}
	if f, ok := lastField(t.Iceberg.Metadata(), id); ok {
		// Another column may have the name by now, and a filter must not take this one for it.
		f.Name = fmt.Sprintf("%s%d", droppedPrefix, f.ID)
		return newField(f)
	}
	return Field{}, unreadable(nil, "an equality delete has a key that is no top-level column")
}

func topLevel(s *iceberg.Schema, id int) (iceberg.NestedField, bool) {
	for _, f := range s.Fields() {
		if f.ID == id {
			return f, true
		}
	}
	return iceberg.NestedField{}, false
}

// lastField returns a top-level field from the current schema, or else from the newest schema that has it.
func lastField(md table.Metadata, id int) (iceberg.NestedField, bool) {
	if f, ok := topLevel(md.CurrentSchema(), id); ok {
		return f, true
	}
	schemas := slices.Clone(md.Schemas())
	slices.SortFunc(schemas, func(a, b *iceberg.Schema) int { return b.ID - a.ID })
	for _, s := range schemas {
		if f, ok := topLevel(s, id); ok {
			return f, true
		}
	}
	return iceberg.NestedField{}, false
}

func newField(f iceberg.NestedField) (Field, error) {
	name, err := catalog.SQLType(f.Type)
	if err != nil {
		return Field{}, unreadable(err, "column %q has the type %s", f.Name, f.Type)
	}
	out := Field{ID: f.ID, Name: f.Name, Type: name}
	if out.Default, err = defaultText(f); err != nil {
		return Field{}, unreadable(err, "the default of column %q is not understood", f.Name)
	}
	switch t := f.Type.(type) {
	case iceberg.Float32Type, iceberg.Float64Type:
		out.NaN = true
	case *iceberg.StructType:
		out.Nested, err = nested(t.FieldList)
	case *iceberg.ListType:
		out.Nested, err = nested([]iceberg.NestedField{{ID: t.ElementID, Name: "element", Type: t.Element}})
	case *iceberg.MapType:
		out.Nested, err = nested([]iceberg.NestedField{
			{ID: t.KeyID, Name: "key", Type: t.KeyType}, {ID: t.ValueID, Name: "value", Type: t.ValueType},
		})
	}
	return out, err
}

func nested(fs []iceberg.NestedField) ([]Field, error) {
	out := make([]Field, len(fs))
	for i, f := range fs {
		var err error
		if out[i], err = newField(f); err != nil {
			return nil, err
		}
	}
	return out, nil
}
