package classify

import pgquery "github.com/pganalyze/pg_query_go/v6"

// value is one thing that a statement computes: a column of a base table, or an output column of a SELECT, a CTE or
// a table function. Values form a graph; what is used is found by walking it down from the statement's outputs.
type value struct {
	table, column int      // a base column if table >= 0
	plain         []*value // what it is computed from, row by row
	opaque        []*value // what it is computed from through an aggregate or a window: nothing above can move below
	typ           string   // DuckDB's name of the type, "" if not known
	node          *pgquery.Node
	rows          []*pgquery.Node // what VALUES has for it
	raises        bool            // computing it may raise, whatever node says
	roles         Role            // how it is used so far
}

// column is a value under a name that FROM or a target list gives it.
type column struct {
	name string
	val  *value
	item *item   // whose it is; nil for a column that USING or NATURAL merged
	left *column // the one of the left side that a merged column is in every row, if there is one
}

// demand marks v and all that it is computed from.
func demand(v *value, r Role) {
	if v.roles&r == r {
		return
	}
	v.roles |= r
	for _, d := range v.plain {
		demand(d, r)
	}
	for _, d := range v.opaque {
		demand(d, r)
	}
}

// rowwise calls each for vs and what they are computed from row by row, each once: the values which a condition on vs can
// be rewritten to be a condition on.
func rowwise(vs []*value, each func(*value)) {
	seen := map[*value]bool{}
	var walk func(v *value)
	walk = func(v *value) {
		if seen[v] {
			return
		}
		seen[v] = true
		each(v)
		for _, d := range v.plain {
			walk(d)
		}
	}
	for _, v := range vs {
		walk(v)
	}
}

// need is what an expression is computed from.
type need struct {
	plain  []dep
	opaque []*value
}

// dep is a value and the scope in which its name was found.
type dep struct {
	val *value
	in  *scope
}

func (n *need) add(m need) {
	n.plain = append(n.plain, m.plain...)
	n.opaque = append(n.opaque, m.opaque...)
}

// values returns all that n depends on row by row.
func (n *need) values() []*value {
	out := make([]*value, len(n.plain))
	for i, d := range n.plain {
		out[i] = d.val
	}
	return out
}

// derived makes the value of an expression.
func (n *need) derived(node *pgquery.Node, typ string) *value {
	return &value{table: -1, plain: n.values(), opaque: n.opaque, node: node, typ: typ}
}

// need marks everything that n depends on.
func (n *need) demand(r Role) {
	for _, d := range n.plain {
		demand(d.val, r)
	}
	for _, v := range n.opaque {
		demand(v, r)
	}
}
