package classify

import (
	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// Bound is a statement whose names are resolved against the relations that one caller may see. It is immutable.
type Bound struct {
	statement *Statement
	rels      []Relation
	base      [][]*value // the columns of each table reference
	raises    []bool
	conjuncts [][]Conjunct // with nodes of tree
	refs      map[*pgquery.ColumnRef]*resolved
	tree      *pgquery.SelectStmt
	edits     edits
}

// binder is the state of one Bind.
type binder struct {
	rels     []Relation
	walk     *tableWalk
	index    map[*pgquery.RangeVar]int
	base     [][]*value
	ctes     map[*pgquery.CommonTableExpr][]*column
	refs     map[*pgquery.ColumnRef]*resolved
	subs     map[*pgquery.SubLink]subquery
	visited  map[*pgquery.RangeVar]bool
	selects  []*pgquery.SelectStmt
	outputs  map[*pgquery.SelectStmt][]*column
	filters  []filter
	classes  map[classed]Class // once the dates are found
	found    [][]Conjunct
	edits    edits
	tests    []test
	stars    map[proto.Message][]starColumn
	defining *pgquery.WindowDef
	depth    int
	nearest  bool // there is an ASOF join
}

// subquery is what is known of a subquery in an expression.
type subquery struct {
	typ    string
	val    *value
	single bool // it can't return a second row
}

// Bind resolves every name of s; rels[i] is what the caller may see of Tables()[i]. Its errors are *NameError,
// whose position is in the user's text, and *UnsupportedError. A hidden column is not in rels, so that it is refused
// with the very words for one that does not exist.
func (s *Statement) Bind(rels []Relation) (*Bound, error) {
	if s == nil || s.kind != KindSelect || s.tree == nil {
		return nil, &UnsupportedError{Construct: "binding of this kind of statement", Pos: -1}
	}
	walk, err := walkTables(s.tree)
	if err != nil {
		return nil, err
	}
	if len(walk.bases) != len(rels) {
		return nil, &UnsupportedError{Construct: "binding with a wrong number of relations", Pos: -1}
	}
	b := &binder{
		rels: rels, walk: walk,
		index:   map[*pgquery.RangeVar]int{},
		base:    make([][]*value, len(rels)),
		ctes:    map[*pgquery.CommonTableExpr][]*column{},
		refs:    map[*pgquery.ColumnRef]*resolved{},
		subs:    map[*pgquery.SubLink]subquery{},
		visited: map[*pgquery.RangeVar]bool{},
		outputs: map[*pgquery.SelectStmt][]*column{},
		classes: map[classed]Class{},
		stars:   map[proto.Message][]starColumn{},
		found:   make([][]Conjunct, len(rels)),
	}
	for i, rv := range walk.bases {
		b.index[rv] = i
		for j, c := range rels[i].Columns {
			b.base[i] = append(b.base[i], &value{table: i, column: j, typ: c.Type})
		}
	}
	cols, err := b.query(s.tree, nil, shape{})
	if err != nil {
		return nil, err
	}
	for _, c := range cols {
		demand(c.val, RoleOutput)
	}
	if err := b.complete(s.tree); err != nil {
		return nil, err
	}
	if err := b.lengths(s.tree, s.sizes); err != nil {
		return nil, err
	}
	b.mentions()
	if err := b.twins(); err != nil {
		return nil, err
	}
	b.findDates(s.tree)
	b.collectEdits(s.tree)
	for _, sel := range b.selects {
		b.where(sel)
	}
	raises := b.raising(s.tree)
	if b.nearest { // a condition at a scan would change which row is the nearest one
		b.found = make([][]Conjunct, len(rels))
		for i := range raises {
			raises[i] = true
		}
	}
	return &Bound{
		statement: s, rels: rels, base: b.base, tree: s.tree,
		raises: raises, conjuncts: b.found, edits: b.edits, refs: b.refs,
	}, nil
}

// mentions counts a column that is named, but whose value nobody asks for, as output: the name stays in the rewritten
// text, so that there must be such a column.
func (b *binder) mentions() {
	for _, r := range b.refs {
		for _, c := range r.cols {
			if c.val.table >= 0 && c.val.roles == 0 {
				c.val.roles = RoleOutput
			}
		}
	}
}

// twins refuses the use of two columns of one table whose names differ in case only: the engine can't keep them apart.
func (b *binder) twins() error {
	for i, vals := range b.base {
		used := map[string]bool{}
		for j, v := range vals {
			name := b.rels[i].Columns[j].Name
			if v.roles != 0 && used[fold(name)] {
				return ambiguous([]string{name}, int(b.walk.bases[i].Location))
			}
			used[fold(name)] = used[fold(name)] || v.roles != 0
		}
	}
	return nil
}

// complete refuses a tree of which some part was not bound. It can't happen, unless the walk over names and the binder
// have come to differ, and then nothing that the binder says holds.
func (b *binder) complete(tree *pgquery.SelectStmt) error {
	var err error
	descend(tree, func(m proto.Message) bool {
		switch n := m.(type) {
		case *pgquery.RangeVar:
			if !b.visited[n] {
				err = &UnsupportedError{Construct: "table in that place", Pos: int(n.Location)}
			}
		case *pgquery.ColumnRef:
			if b.refs[n] == nil {
				err = &UnsupportedError{Construct: "column in that place", Pos: int(n.Location)}
			}
		}
		return err == nil
	})
	return err
}

func (b *binder) record(c *pgquery.ColumnRef, r *resolved) { b.refs[c] = r }

// Statement returns the statement that was bound.
func (b *Bound) Statement() *Statement { return b.statement }

// Relations returns what the statement was bound against, by table reference.
func (b *Bound) Relations() []Relation { return append([]Relation(nil), b.rels...) }

// Uses returns the used columns of table reference i, ascending. It may hold more than are used, never less.
func (b *Bound) Uses(i int) []ColumnUse {
	var uses []ColumnUse
	for j, v := range b.base[i] {
		if v.roles != 0 {
			uses = append(uses, ColumnUse{Column: j, Roles: v.roles})
		}
	}
	return uses
}

// Raises reports whether something of the user's that could be evaluated on rows of table reference i before its
// row filter might raise there, or tell in another way what it was evaluated on.
func (b *Bound) Raises(i int) bool { return b.raises[i] }

// Conjuncts returns conditions on table reference i alone that hold for every row that can matter. The expressions are copies.
func (b *Bound) Conjuncts(i int) []Conjunct {
	out := make([]Conjunct, len(b.conjuncts[i]))
	for j, c := range b.conjuncts[i] {
		out[j] = b.conjunct(i, c)
	}
	return out
}
