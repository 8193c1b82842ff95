package classify

import (
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
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		d := fields.Get(i)
		if d.Kind() != protoreflect.MessageKind || !m.Has(d) {
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
