package classify

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// bindable are the statements of the tests that Bind takes, each with its tables: the first one has a column more, secret.
type bindable struct {
	text string
	tree *pgquery.SelectStmt
	rels []Relation
}

func bindables(t *testing.T) []bindable {
	t.Helper()
	var out []bindable
	statements := trees(t)
	for _, text := range slices.Sorted(maps.Keys(statements)) {
		s := &Statement{kind: KindSelect, tree: statements[text]}
		walk, err := walkTables(s.tree)
		if err != nil || len(walk.bases) == 0 {
			continue
		}
		columns := map[string]bool{} // every name that the statement has is a column of every table, if that is not ambiguous
		for _, c := range all[*pgquery.ColumnRef](s.tree) {
			names, _ := parts(c)
			for _, n := range names {
				columns[fold(n)] = true
			}
		}
		rels := make([]Relation, len(walk.bases))
		for i, rv := range walk.bases {
			rels[i] = Relation{Name: tableRef(i, rv, Travel{}).Resolve(testNamespace)}
			for j, c := range sorted(columns) {
				if i == 0 || strings.Contains(text, ".") && j%2 == 0 {
					rels[i].Columns = append(rels[i].Columns, Column{Name: c, FieldID: j + 1, Type: []string{"BIGINT", "VARCHAR", "DATE", "", "DECIMAL(10,2)"}[(i+j)%5]})
				}
			}
			if i == 0 {
				rels[i].Columns = append(rels[i].Columns, Column{Name: "secret", FieldID: 99, Type: "BIGINT"})
			}
		}
		if _, err := s.Bind(rels); err == nil {
			out = append(out, bindable{text, s.tree, rels})
		}
	}
	if len(out) < 200 {
		t.Fatalf("only %d statements bind", len(out))
	}
	return out
}

// declares reports whether a node is there to give a name, or is a part of one.
func declares(tree *pgquery.SelectStmt) map[*pgquery.Node]bool {
	out := map[*pgquery.Node]bool{}
	names := func(lists ...[]*pgquery.Node) {
		for _, l := range lists {
			for _, n := range l {
				descend(n, func(m proto.Message) bool {
					if n, ok := m.(*pgquery.Node); ok {
						out[n] = true
					}
					return true
				})
			}
		}
	}
	descend(tree, func(m proto.Message) bool {
		switch n := m.(type) {
		case *pgquery.ColumnRef:
			names(n.Fields)
		case *pgquery.TypeName:
			names(n.Names, n.Typmods, n.ArrayBounds)
		case *pgquery.A_Expr:
			names(n.Name)
		case *pgquery.SubLink:
			names(n.OperName)
		case *pgquery.Alias:
			names(n.Colnames)
		case *pgquery.CommonTableExpr:
			names(n.Aliascolnames)
		case *pgquery.CollateClause:
			names(n.Collname)
		case *pgquery.JoinExpr:
			names(n.UsingClause)
		case *pgquery.RangeTableSample:
			names(n.Method, n.Args)
		case *pgquery.FuncCall:
			names(n.Funcname)
			switch nameOf(n) {
			case MarkerLambda:
				names(n.Args[:len(n.Args)-1])
			case MarkerAs:
				names(n.Args[1:])
			case MarkerField, MarkerInterval:
				names(n.Args[1:], n.Args[:1])
			}
		}
		return true
	})
	return out
}

// isExpression reports whether a node is one where the grammar takes any other.
func isExpression(n *pgquery.Node) bool {
	switch n.Node.(type) {
	case *pgquery.Node_ColumnRef, *pgquery.Node_AConst, *pgquery.Node_ParamRef, *pgquery.Node_SqlvalueFunction, *pgquery.Node_AExpr, *pgquery.Node_BoolExpr, *pgquery.Node_NullTest,
		*pgquery.Node_BooleanTest, *pgquery.Node_CaseExpr, *pgquery.Node_CoalesceExpr, *pgquery.Node_MinMaxExpr, *pgquery.Node_TypeCast, *pgquery.Node_CollateClause, *pgquery.Node_AArrayExpr,
		*pgquery.Node_RowExpr, *pgquery.Node_NamedArgExpr, *pgquery.Node_GroupingFunc, *pgquery.Node_AIndirection, *pgquery.Node_SubLink, *pgquery.Node_FuncCall:
		return true
	}
	return false
}

// isPart reports whether a node is a part of an edited *: in its place a name is that of a relation.
func isPart(n *pgquery.Node) bool { return n.GetFuncCall() != nil || n.GetColumnRef() != nil }

// TestNoNameEscapes puts a name that nothing has in each place where a name can be resolved, and wants it to be refused: what is
// passed over there would be looked up by the engine alone. Then a name that one table has: it is refused there, or counts as used.
func TestNoNameEscapes(t *testing.T) {
	unknown := &pgquery.Node{Node: &pgquery.Node_ColumnRef{ColumnRef: &pgquery.ColumnRef{Fields: []*pgquery.Node{pgquery.MakeStrNode("nosuch")}, Location: 5}}}
	known := &pgquery.Node{Node: &pgquery.Node_ColumnRef{ColumnRef: &pgquery.ColumnRef{Fields: []*pgquery.Node{pgquery.MakeStrNode("secret")}, Location: 5}}}
	places, used := 0, 0
	for _, b := range bindables(t) {
		names := declares(b.tree)
		s := &Statement{kind: KindSelect, tree: b.tree}
		eachPlace(b.tree, unknown, func(at, was *pgquery.Node) {
			if names[at] || !isExpression(was) {
				return
			}
			places++
			_, err := s.Bind(b.rels)
			if err == nil {
				t.Errorf("a %T can be a name that nothing has: %s", was.Node, b.text)
				return
			}
			if name, ok := errors.AsType[*NameError](err); ok && name.Name == "nosuch" && (name.Pos != 5 || name.Kind != "column" && !isPart(was)) {
				t.Errorf("%v: %s", err, b.text)
			}
		})
		eachPlace(b.tree, known, func(at, was *pgquery.Node) {
			if names[at] || !isExpression(was) {
				return
			}
			bound, err := s.Bind(b.rels)
			if err != nil {
				return
			}
			used++
			last := len(b.rels[0].Columns) - 1
			if !slices.ContainsFunc(bound.Uses(0), func(u ColumnUse) bool { return u.Column == last }) {
				t.Errorf("a column in place of a %T does not count as used: %s", was.Node, b.text)
			}
		})
	}
	if places < 2000 || used < 2000 {
		t.Errorf("only %d places, %d of which take a column", places, used)
	}
}
