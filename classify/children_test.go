package classify

import (
	"testing"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// TestChildrenMissNothing fills every field of every node that the parser has, and wants the switch to find what reflection finds.
// A parser that has a field more, or another order, fails here.
func TestChildrenMissNothing(t *testing.T) {
	var n pgquery.Node
	union := n.ProtoReflect().Descriptor().Oneofs().Get(0).Fields()
	for i := range union.Len() {
		m := n.ProtoReflect().NewField(union.Get(i)).Message()
		fill(m)
		var got, want []proto.Message
		err := children(m.Interface(), func(c proto.Message) error {
			got = append(got, c)
			return nil
		})
		e := &each{f: func(c proto.Message) error {
			want = append(want, c)
			return nil
		}}
		e.reflected(m)
		if err != nil || len(got) != len(want) {
			t.Errorf("%s: %d messages, %d by reflection, %v", m.Descriptor().Name(), len(got), len(want), err)
			continue
		}
		for j := range got {
			if got[j] != want[j] {
				t.Errorf("%s: message %d is %T, %T by reflection", m.Descriptor().Name(), j, got[j], want[j])
			}
		}
		in := &pgquery.Node{}
		in.ProtoReflect().Set(union.Get(i), protoreflect.ValueOfMessage(m))
		if c := content(in); c != m.Interface() {
			t.Errorf("%s: content is %T", m.Descriptor().Name(), c)
		}
		if at, ok := locationOf(m.Interface()); ok && (at != nil) != (m.Descriptor().Fields().ByName("location") != nil) {
			t.Errorf("%s: location %v", m.Descriptor().Name(), at)
		}
	}
	for name := range allowedFields() {
		m := newMessage(t, name)
		if _, ok := locationOf(m.Interface()); !ok {
			t.Errorf("the position of %s is found by reflection", name)
		}
		if e := (&each{}); !e.known(m.Interface()) {
			t.Errorf("%s is walked by reflection", name)
		}
		in := &pgquery.Node{}
		in.ProtoReflect().Set(nodeField(t, name), protoreflect.ValueOfMessage(m))
		if knownContent(in) != m.Interface() {
			t.Errorf("%s is found by reflection", name)
		}
	}
}

// nodeField returns the field of a Node for a message.
func nodeField(t *testing.T, name protoreflect.Name) protoreflect.FieldDescriptor {
	t.Helper()
	fields := (&pgquery.Node{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if fields.Get(i).Message().Name() == name {
			return fields.Get(i)
		}
	}
	t.Fatalf("no node %s", name)
	return nil
}

// fill sets every field that holds messages, lists to two.
func fill(m protoreflect.Message) {
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		switch {
		case f.Kind() != protoreflect.MessageKind:
		case f.IsList():
			m.Mutable(f).List().AppendMutable()
			m.Mutable(f).List().AppendMutable()
		default:
			m.Mutable(f)
		}
	}
}

// TestChildrenStop: an error ends the walk at once.
func TestChildrenStop(t *testing.T) {
	s, err := Parse("SELECT a, b FROM t, u WHERE c")
	if err != nil {
		t.Fatal(err)
	}
	stop, calls := &SyntaxError{}, 0
	err = children(s.tree, func(proto.Message) error {
		calls++
		return stop
	})
	if err != stop || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

// TestEqualTreesSeesEveryField changes each field of each message that is allowed, and wants a difference but for the ignored ones.
func TestEqualTreesSeesEveryField(t *testing.T) {
	for name, fields := range allowedFields() {
		for f := range fields {
			a, b := newMessage(t, name), newMessage(t, name)
			d := a.Descriptor().Fields().ByName(f)
			if d.Kind() == protoreflect.EnumKind {
				b.Set(d, protoreflect.ValueOfEnum(1))
			} else {
				setField(b, d)
			}
			if equal(a.Interface(), b.Interface(), 0) != without[f] || !equal(b.Interface(), proto.Clone(b.Interface()), 0) {
				t.Errorf("%s.%s", name, f)
			}
		}
	}
}
