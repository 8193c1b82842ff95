package classify

import (
	"reflect"
	"strings"
	"sync"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// layout is what a type of message consists of, and what of that the allow-list has. It is made from the descriptor
// once, so that a field that a later version of the parser adds is in it and not allowed.
type layout struct {
	name    protoreflect.Name
	allowed bool
	unknown int // which struct field holds the fields that the descriptor does not know
	fields  []layoutField
}

// layoutField is one field, by the index of the struct field that holds it.
type layoutField struct {
	index   int
	kind    fieldKind
	name    protoreflect.Name
	allowed bool
	ignored bool                         // by EqualTrees
	enum    protoreflect.FieldDescriptor // of a fieldEnum
	values  map[int64]bool               // which of its values are allowed
}

type fieldKind int

const (
	fieldOther   fieldKind = iota // never allowed unless it is empty
	fieldScalar                   // a boolean, string or number
	fieldEnum                     // a number with names
	fieldNodes                    // a list of Node
	fieldMessage                  // a pointer to a message
	fieldUnion                    // the one union that is no Node: A_Const.val
)

var layouts sync.Map // layout by reflect.Type; there are a few hundred types

func layoutOf(m proto.Message) *layout {
	t := reflect.TypeOf(m)
	if found, ok := layouts.Load(t); ok {
		return found.(*layout)
	}
	l := newLayout(m, t.Elem())
	layouts.Store(t, l)
	return l
}

func newLayout(m proto.Message, t reflect.Type) *layout {
	d := m.ProtoReflect().Descriptor()
	fields, ok := allowedFields()[d.Name()]
	l := &layout{name: d.Name(), allowed: ok, unknown: -1}
	covered := 0
	for i := range t.NumField() {
		s := t.Field(i)
		if s.Name == "unknownFields" {
			l.unknown = i
		}
		f := layoutField{index: i}
		if union := s.Tag.Get("protobuf_oneof"); union != "" {
			if o := d.Oneofs().ByName(protoreflect.Name(union)); o != nil {
				covered += o.Fields().Len()
			}
			if d.Name() == "A_Const" {
				f.kind = fieldUnion
			}
			f.name = protoreflect.Name(union)
			l.fields = append(l.fields, f)
			continue
		}
		p := fieldOf(d, s.Tag.Get("protobuf"))
		if p == nil {
			continue
		}
		covered++
		f.name, f.allowed, f.ignored = p.Name(), fields[p.Name()], ignored[p.Name()]
		f.describe(p, s.Type)
		l.fields = append(l.fields, f)
	}
	l.allowed = l.allowed && l.unknown >= 0 && covered == d.Fields().Len()
	return l
}

// fieldOf returns the field that the tag of a struct field speaks of.
func fieldOf(d protoreflect.MessageDescriptor, tag string) protoreflect.FieldDescriptor {
	for part := range strings.SplitSeq(tag, ",") {
		if name, ok := strings.CutPrefix(part, "name="); ok {
			return d.Fields().ByName(protoreflect.Name(name))
		}
	}
	return nil
}

func (f *layoutField) describe(p protoreflect.FieldDescriptor, t reflect.Type) {
	switch {
	case t == reflect.TypeFor[[]*pgquery.Node]():
		f.kind = fieldNodes
	case p.IsList():
	case p.Kind() == protoreflect.MessageKind:
		f.kind = fieldMessage
	case p.Kind() == protoreflect.EnumKind:
		f.kind, f.enum, f.values = fieldEnum, p, map[int64]bool{}
		for i, vs := 0, p.Enum().Values(); i < vs.Len(); i++ {
			f.values[int64(vs.Get(i).Number())] = allowedValues()[vs.Get(i).Name()]
		}
	default:
		f.kind = fieldScalar
	}
}

// nodes returns a fieldNodes of the message v.
func (f *layoutField) nodes(v reflect.Value) []*pgquery.Node {
	return *v.Field(f.index).Addr().Interface().(*[]*pgquery.Node)
}

// message returns a fieldMessage of the message v; it must be set.
func (f *layoutField) message(v reflect.Value) proto.Message {
	return v.Field(f.index).Interface().(proto.Message)
}
