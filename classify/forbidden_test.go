package classify

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// every holds statements in which, together, each message of the allow-list stands.
var every = []string{
	"SELECT a, t.b AS c, t.*, 1, 1.5, 'x', true, NULL, $1, -a, a + 1, a = ANY (SELECT b FROM t), a[1], a[1:2], (a).b, ARRAY[a, 1], ROW(a, b), (a, b) = (1, 2) FROM t",
	"SELECT coalesce(a, b), greatest(a, b), a IS NULL, a IS NOT TRUE, NOT a AND b OR c, CASE a WHEN 1 THEN b ELSE c END, a COLLATE nocase, CAST(a AS DECIMAL(10, 2)), a::int[], a BETWEEN 1 AND 2, a IN (1, 2), a LIKE 'x%' FROM t",
	"SELECT DISTINCT ON (a) count(*), sum(DISTINCT a ORDER BY b) FILTER (WHERE c), quantile_cont(0.5) WITHIN GROUP (ORDER BY a), grouping(a), current_date FROM s.t AS u (a, b) GROUP BY ROLLUP (a, b), c HAVING count(*) > 1 ORDER BY a DESC NULLS LAST LIMIT 3 OFFSET 4",
	"SELECT sum(a) OVER (PARTITION BY b ORDER BY c ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING), sum(a) OVER w FROM t WINDOW w AS (ORDER BY a) QUALIFY a > 1",
	"WITH RECURSIVE c (n) AS NOT MATERIALIZED (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c, LATERAL (SELECT 1) s (x), unnest(a) WITH ORDINALITY u (y) JOIN d ON a = b LEFT JOIN e USING (f)",
	"VALUES (1, (SELECT max(a) FROM t)), (2, list_transform(a, x -> x + 1))", "SELECT * EXCLUDE (a) REPLACE (b + 1 AS b) FROM t FOR VERSION AS OF 1", "SELECT {'k': a}, [a, b], MAP {a: b}, INTERVAL (a) DAY, TRY_CAST(a AS int), regexp_matches(a, 'x', options := 'i')",
	"SELECT a::STRUCT(b INTEGER, c MAP(INTEGER, INTEGER)) FROM a NATURAL JOIN b FULL JOIN c ON true RIGHT JOIN d ON false", "SELECT EXISTS (SELECT 1 FROM t) FROM t ASOF JOIN u ON t.a >= u.a GROUP BY ALL ORDER BY ALL", "SELECT a FROM t INTERSECT SELECT b FROM u EXCEPT ALL SELECT c FROM v",
}

// trees are the statements of the test files, and those of every, that are queries.
func trees(t *testing.T) map[string]*pgquery.SelectStmt {
	t.Helper()
	files, err := filepath.Glob("testdata/*/*.dd")
	if err != nil || len(files) == 0 {
		t.Fatal("no statements", err)
	}
	texts := slices.Clone(every)
	for _, file := range files {
		if strings.Contains(file, "changes") {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for block := range strings.SplitSeq(string(data), "\n\n") {
			if _, text, ok := strings.Cut(block, "\n"); ok {
				text, _, _ = strings.Cut(text, "\n----")
				texts = append(texts, text)
				texts = append(texts, strings.Split(text, "\n")...)
			}
		}
	}
	out := map[string]*pgquery.SelectStmt{}
	for _, text := range texts {
		if s, err := Parse(text); err == nil && s.tree != nil {
			out[text] = s.tree
		}
	}
	if len(out) < 500 {
		t.Fatalf("only %d statements", len(out))
	}
	return out
}

// eachPlace puts n in the place of every node of a tree, one after the other, and calls f each time with that place and what was there.
func eachPlace(tree proto.Message, n *pgquery.Node, f func(at, was *pgquery.Node)) {
	eachNode(tree, func(at *pgquery.Node) {
		was := &pgquery.Node{Node: at.Node}
		at.Node = n.Node
		f(at, was)
		at.Node = was.Node
	})
}

func namedCall(name string, at int32) *pgquery.Node {
	return pgquery.MakeFuncCallNode([]*pgquery.Node{pgquery.MakeStrNode(name)}, nil, at)
}

// TestForbiddenIsFoundEverywhere puts a call of a function that must never run in the place of each node of each statement that is
// known to pass, and wants a refusal; and a table, which has to be found.
func TestForbiddenIsFoundEverywhere(t *testing.T) {
	secret := &pgquery.RangeVar{Relname: "secret", Inh: true}
	places := 0
	for text, tree := range trees(t) {
		if err := newAllow().check(tree); err != nil {
			t.Errorf("control: %s: %v", text, err)
		}
		eachPlace(tree, namedCall("getenv", 1), func(_, _ *pgquery.Node) {
			places++
			if newAllow().check(tree) == nil {
				t.Errorf("a forbidden function passes in %s", text)
			}
		})
		eachPlace(tree, &pgquery.Node{Node: &pgquery.Node_RangeVar{RangeVar: secret}}, func(_, was *pgquery.Node) {
			if was.GetString_() != nil {
				return // a name: the grammar has nothing else there
			}
			if w, err := walkTables(tree); err == nil && !slices.Contains(w.bases, secret) {
				t.Errorf("a table is not found in %s", text)
			}
		})
		if err := newAllow().check(tree); err != nil {
			t.Fatalf("the tree was changed: %s: %v", text, err)
		}
	}
	if places < 8_000 {
		t.Errorf("only %d places", places)
	}
}

// samples returns, for each message of the allow-list, one that passes by itself.
func samples(t *testing.T) map[protoreflect.Name]proto.Message {
	t.Helper()
	out := map[protoreflect.Name]proto.Message{}
	for _, text := range every {
		s, err := Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		descend(s.tree, func(m proto.Message) bool {
			if name := m.ProtoReflect().Descriptor().Name(); out[name] == nil && newAllow().message(m) == nil {
				out[name] = m
			}
			return true
		})
	}
	for name := range allowedFields() {
		if out[name] == nil {
			t.Errorf("no statement of every has a %s", name)
		}
	}
	delete(out, "Node")
	return out
}

// TestRefusals writes down what is said of each message, field and value of an enumeration that is not in the allow-list, each
// beside what is. Where a message bears a position, that is 7, and a message that is refused in it bears 9.
func TestRefusals(t *testing.T) {
	var out strings.Builder
	out.WriteString("# What is said of what is not in the allow-list. See forbidden_test.go.\n\n# Fields and values.\n")
	passing := samples(t)
	for _, name := range slices.Sorted(maps.Keys(passing)) {
		fields := passing[name].ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			f := fields.Get(i)
			m := proto.Clone(passing[name]).ProtoReflect()
			if at, _ := locationOf(m.Interface()); at != nil {
				*at = 7
			}
			if f.Kind() == protoreflect.EnumKind && allowedFields()[name][f.Name()] {
				for j := range f.Enum().Values().Len() + 1 {
					v := protoreflect.EnumNumber(99)
					what := "99"
					if j < f.Enum().Values().Len() {
						v, what = f.Enum().Values().Get(j).Number(), string(f.Enum().Values().Get(j).Name())
					}
					m.Set(f, protoreflect.ValueOfEnum(v))
					fmt.Fprintf(&out, "%s.%s %s: %s\n", name, f.Name(), what, sayAllow(m.Interface()))
				}
				continue
			}
			if allowedFields()[name][f.Name()] {
				continue
			}
			setField(m, f)
			if f.Kind() == protoreflect.EnumKind {
				m.Set(f, protoreflect.ValueOfEnum(1))
			}
			bearPositions(m, f)
			fmt.Fprintf(&out, "%s.%s: %s\n", name, f.Name(), sayAllow(m.Interface()))
		}
		m := proto.Clone(passing[name])
		m.ProtoReflect().SetUnknown([]byte{8})
		if newAllow().message(m) == nil {
			t.Errorf("a field of %s that nobody knows passes", name)
		}
	}
	out.WriteString("\n# Messages.\n")
	var node pgquery.Node
	union := node.ProtoReflect().Descriptor().Oneofs().Get(0).Fields()
	for i := range union.Len() {
		f := union.Get(i)
		if allowedFields()[f.Message().Name()] != nil {
			continue
		}
		n := &pgquery.Node{}
		n.ProtoReflect().Set(f, n.ProtoReflect().NewField(f))
		list := &pgquery.List{Items: []*pgquery.Node{n}}
		fmt.Fprintf(&out, "%s: %s, as a statement %s\n", f.Message().Name(), sayAllow(list), statementName(n))
	}
	fmt.Fprintf(&out, "nothing: %s, as a statement %s\n", sayAllow(&pgquery.List{Items: []*pgquery.Node{nil}}), statementName(&pgquery.Node{}))
	golden(t, "testdata/refusals.txt", out.String())
}

// bearPositions gives the position 9 to what stands in a field.
func bearPositions(m protoreflect.Message, f protoreflect.FieldDescriptor) {
	if f.Kind() != protoreflect.MessageKind {
		return
	}
	if f.IsList() {
		if f.Message().Name() == "Node" {
			m.Mutable(f).List().Get(0).Message().Interface().(*pgquery.Node).Node = namedCall("lower", 9).Node
		}
		return
	}
	in := m.Mutable(f).Message()
	if n, ok := in.Interface().(*pgquery.Node); ok {
		n.Node = namedCall("lower", 9).Node
	} else if at := in.Descriptor().Fields().ByName("location"); at != nil {
		in.Set(at, protoreflect.ValueOfInt32(9))
	}
}

func sayAllow(m proto.Message) string {
	a := newAllow()
	a.pos = 3
	if err := a.message(m); err != nil {
		if _, ours := errors.AsType[*UnsupportedError](err); !ours {
			return fmt.Sprintf("%T %v", err, err)
		}
		return err.Error()
	}
	return "passes"
}

// TestAllowDepth: the walk ends at a depth that no parser gives.
func TestAllowDepth(t *testing.T) {
	nested := func(depth int) proto.Message {
		n := pgquery.MakeAConstIntNode(1, -1)
		for range depth {
			n = &pgquery.Node{Node: &pgquery.Node_List{List: &pgquery.List{Items: []*pgquery.Node{n}}}}
		}
		return n
	}
	// A constant is three messages, and a list around it two.
	if got := sayAllow(nested((maxDepth - 4) / 2)); got != "passes" {
		t.Errorf("within: %s", got)
	}
	if got := sayAllow(nested((maxDepth-4)/2 + 1)); !strings.Contains(got, "nesting that deep") {
		t.Errorf("over: %s", got)
	}
}
