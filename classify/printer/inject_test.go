package printer

import (
	"testing"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"gatehouse/classify"
)

// hostileNames close what they stand in and open something else, if they are printed raw.
var hostileNames = []string{`x),(select 1 from evil`, `x" as y, (select 1 from evil) as "z`, `x' or 'a'='a`, `x from evil --`, `/*`, `*/ $$`, `select`, `a.b`}

// TestHostileNames puts each hostile text into each string of each tree, one by one: it is refused, or it reads back as the
// same tree with the text still one name or one literal.
func TestHostileNames(t *testing.T) {
	printed, refused := 0, 0
	for _, text := range corpus(t) {
		s, err := classify.Parse(text)
		if err != nil || s.Kind() != classify.KindSelect {
			continue
		}
		tree := s.In(classify.Namespace{Catalog: "lake", Schema: "main"}, "o'hara", "all").Tree()
		for n := range stringFields(tree.ProtoReflect(), -1, "") {
			for _, name := range hostileNames {
				c := proto.CloneOf(tree)
				stringFields(c.ProtoReflect(), n, name)
				out, err := PrintSelect(c, DuckDB())
				if err != nil {
					refused++
					continue
				}
				printed++
				if err := Verify(c, out); err != nil {
					t.Fatalf("%q in %s:\n%s\n%v", name, text, out, err)
				}
			}
		}
	}
	if printed < 1000 || refused < 10 {
		t.Errorf("%d printed, %d refused: the test has lost its subject", printed, refused)
	}
}

// stringFields sets the n-th string field below m to value, and returns how many there are.
func stringFields(m protoreflect.Message, n int, value string) int {
	count := 0
	var walk func(protoreflect.Message)
	walk = func(m protoreflect.Message) {
		if _, ok := m.Interface().(*pgquery.RangeTableSample); ok {
			return
		}
		fields := m.Descriptor().Fields()
		for i := range fields.Len() {
			f := fields.Get(i)
			switch {
			case !m.Has(f):
			case f.Kind() == protoreflect.StringKind && !f.IsList() && f.Name() != "relpersistence":
				if count == n {
					m.Set(f, protoreflect.ValueOfString(value))
				}
				count++
			case f.Kind() != protoreflect.MessageKind:
			case f.IsList():
				for j := range m.Get(f).List().Len() {
					walk(m.Get(f).List().Get(j).Message())
				}
			default:
				walk(m.Get(f).Message())
			}
		}
	}
	walk(m)
	return count
}
