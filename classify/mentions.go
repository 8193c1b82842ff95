package classify

import (
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// Mentions returns what tells whether a KindSelect can mean a column of a name. False is certain: the name stands nowhere in the
// statement, in no spelling, and nothing in it, such as *, stands for columns that it does not name. What the statement means is
// then the same with and without that column. In doubt the answer is true.
func (s *Statement) Mentions() func(column string) bool {
	m := &mentions{words: map[string]bool{}, relations: map[string]bool{}}
	descend(s.tree, func(n proto.Message) bool {
		m.see(n)
		return !m.all
	})
	for _, name := range m.first {
		m.all = m.all || m.relations[name] // a whole row
	}
	if m.all || s.tree == nil {
		return func(string) bool { return true }
	}
	return func(column string) bool { return m.words[fold(column)] }
}

type mentions struct {
	words     map[string]bool // everything that could be a column's name, folded
	relations map[string]bool // names and aliases of FROM items, folded
	first     []string        // first identifiers of column references, folded
	all       bool
}

// see notes what one message of the tree names. Names stand in String messages, but for those that are fields of others, which name
// no columns of a relation; literals count as names, so that what looks a column up by a text is covered.
func (m *mentions) see(n proto.Message) {
	switch n := n.(type) {
	case *pgquery.String:
		m.words[fold(n.Sval)] = true
	case *pgquery.A_Star:
		m.all = true
	case *pgquery.JoinExpr:
		m.all = m.all || n.IsNatural
	case *pgquery.RangeVar:
		m.relations[fold(n.Relname)] = true
	case *pgquery.Alias:
		m.relations[fold(n.Aliasname)] = true
		m.all = m.all || len(n.Colnames) > 0
	case *pgquery.ColumnRef:
		if len(n.Fields) > 0 {
			m.first = append(m.first, fold(n.Fields[0].GetString_().GetSval()))
		}
	case *pgquery.FuncCall:
		name := funcName(n)
		m.all = m.all || name == "columns" || strings.HasPrefix(name, MarkerStar)
	}
}
