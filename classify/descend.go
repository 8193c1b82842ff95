package classify

import (
	"reflect"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// descend calls f for m and every message below it, in the order of declaration, until f says not to go deeper.
func descend(m proto.Message, f func(proto.Message) bool) {
	if m == nil || reflect.ValueOf(m).IsNil() {
		return
	}
	var walk func(proto.Message) error
	walk = func(m proto.Message) error {
		if f(m) {
			return children(m, walk)
		}
		return nil
	}
	_ = walk(m) // walk never fails
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
