package classify

import (
	"sync"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// descend calls f for m and every message below it, in the order of declaration, until f says not to go deeper.
func descend(m proto.Message, f func(proto.Message) bool) {
	if m == nil || !m.ProtoReflect().IsValid() {
		return
	}
	descendMessage(m.ProtoReflect(), f)
}

func descendMessage(m protoreflect.Message, f func(proto.Message) bool) {
	if !f(m.Interface()) {
		return
	}
	if _, ok := m.Interface().(*pgquery.Node); ok {
		if d := m.WhichOneof(m.Descriptor().Oneofs().Get(0)); d != nil {
			descendMessage(m.Get(d).Message(), f)
		}
		return
	}
	for _, d := range inner(m.Descriptor()) {
		if !m.Has(d) {
			continue
		}
		if !d.IsList() {
			descendMessage(m.Get(d).Message(), f)
			continue
		}
		list := m.Get(d).List()
		for j := range list.Len() {
			descendMessage(list.Get(j).Message(), f)
		}
	}
}

// innerFields caches what inner returns, by message descriptor: there are a few hundred of them.
var innerFields sync.Map

// inner returns the fields of a message type that hold messages, in the order of declaration.
func inner(m protoreflect.MessageDescriptor) []protoreflect.FieldDescriptor {
	if found, ok := innerFields.Load(m); ok {
		return found.([]protoreflect.FieldDescriptor)
	}
	var out []protoreflect.FieldDescriptor
	for i, fields := 0, m.Fields(); i < fields.Len(); i++ {
		if f := fields.Get(i); f.Kind() == protoreflect.MessageKind {
			out = append(out, f)
		}
	}
	innerFields.Store(m, out)
	return out
}

// all lists the messages of one type below m, in the order of descend: of two equal trees the lists correspond.
func all[T proto.Message](m proto.Message) []T {
	var out []T
	descend(m, func(x proto.Message) bool {
		if t, ok := x.(T); ok {
			out = append(out, t)
		}
		return true
	})
	return out
}

func cloneNode(n *pgquery.Node) *pgquery.Node { return proto.Clone(n).(*pgquery.Node) }

func hasSubLink(list []*pgquery.Node) bool {
	for _, n := range list {
		if len(all[*pgquery.SubLink](n)) > 0 {
			return true
		}
	}
	return false
}
