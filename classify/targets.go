package classify

import (
	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// targets binds a target list and returns the output columns. Each one may use the names of those before it.
func (b *binder) targets(sel *pgquery.SelectStmt, s *scope, sh shape) ([]*column, error) {
	if counted(sel) {
		sh.named = false
	}
	var cols []*column
	for _, n := range sel.TargetList {
		t := n.GetResTarget()
		if t == nil || len(t.Indirection) > 0 {
			return nil, &UnsupportedError{Construct: "this kind of target", Pos: -1}
		}
		more, err := b.target(t, s, sh)
		if err != nil {
			return nil, err
		}
		cols = append(cols, more...)
		if t.Name != "" {
			s.aliases = append(s.aliases, more...)
		}
	}
	return cols, nil
}

// counted reports whether the statement itself counts its columns.
func counted(sel *pgquery.SelectStmt) bool {
	number := func(n *pgquery.Node) bool {
		return n.GetAConst() != nil || funcName(n.GetFuncCall()) == MarkerAll
	}
	for _, g := range sel.GroupClause {
		if number(g) || g.GetGroupingSet() != nil || g.GetRowExpr() != nil {
			return true
		}
	}
	for _, o := range sel.SortClause {
		if number(o.GetSortBy().GetNode()) {
			return true
		}
	}
	return len(sel.DistinctClause) > 0
}

func (b *binder) target(t *pgquery.ResTarget, s *scope, sh shape) ([]*column, error) {
	if c := t.Val.GetColumnRef(); c != nil {
		if names, star := parts(c); star {
			cols, err := b.star(c, names, s)
			b.seen(cols, sh)
			if err == nil && len(names) == 0 && s.from.merges() {
				b.spell(c, plain(s.from.cols, cols), s.from)
			}
			return cols, err
		}
	}
	if f := t.Val.GetFuncCall(); f != nil && funcName(f) == MarkerStar {
		return b.editedStar(f, s, sh)
	}
	e, err := b.expr(t.Val, s)
	if err != nil {
		return nil, err
	}
	return []*column{{name: outputName(t), val: b.output(t.Val, e)}}, nil
}

// output makes the value of a target. A bare column is that column.
func (b *binder) output(n *pgquery.Node, e need) *value {
	if c := n.GetColumnRef(); c != nil {
		if r := b.refs[c]; len(r.cols) == 1 && r.fields == 0 && r.row == nil {
			return &value{table: -1, plain: e.values(), typ: r.typ}
		}
	}
	return e.derived(n, b.constType(n))
}

// outputName is what an enclosing query may call a target; the engine's names for expressions can't be written
// without quotes, and nobody should.
func outputName(t *pgquery.ResTarget) string {
	if t.Name != "" {
		return t.Name
	}
	switch v := t.Val.GetNode().(type) {
	case *pgquery.Node_ColumnRef:
		names, _ := parts(v.ColumnRef)
		return names[len(names)-1]
	case *pgquery.Node_AIndirection:
		list := v.AIndirection.Indirection
		return list[len(list)-1].GetString_().GetSval()
	}
	return ""
}

// seen says that the columns of a star are counted by somebody, so that none may be missing.
func (b *binder) seen(cols []*column, sh shape) {
	if sh.named {
		return
	}
	for _, c := range cols {
		demand(c.val, RoleOutput)
	}
}

// star expands * and q.*.
func (b *binder) star(c *pgquery.ColumnRef, qualifier []string, s *scope) ([]*column, error) {
	b.record(c, &resolved{in: s})
	if len(qualifier) == 0 {
		if s.from == nil || len(s.from.items) == 0 {
			return nil, &UnsupportedError{Construct: "* without FROM", Pos: int(c.Location)}
		}
		return rename(s.from.cols, nil, -1)
	}
	if len(qualifier) > 3 {
		return nil, &NameError{Kind: "alias", Name: qualifier[0], Why: "does not exist", Pos: int(c.Location)}
	}
	for sc := s; sc != nil; sc = sc.up {
		if sc.from == nil {
			continue
		}
		if it := sc.from.item(qualifier); it != nil {
			b.record(c, &resolved{in: sc, drop: len(qualifier) - 1})
			return rename(it.cols, nil, -1)
		}
	}
	return nil, &NameError{Kind: "alias", Name: qualifier[len(qualifier)-1], Why: "does not exist", Pos: int(c.Location)}
}

// editedStar expands * EXCLUDE/REPLACE/RENAME. What it names must exist.
func (b *binder) editedStar(f *pgquery.FuncCall, s *scope, sh shape) ([]*column, error) {
	args := f.Args
	star := &pgquery.ColumnRef{Location: f.Location}
	var qualifier []string
	if len(args) > 0 && args[0].GetColumnRef() != nil {
		star = args[0].GetColumnRef()
		qualifier, _ = parts(star)
		args = args[1:]
	}
	cols, err := b.star(star, qualifier, s)
	if err != nil {
		return nil, err
	}
	b.seen(cols, sh)
	gone, as := map[*column]bool{}, map[*column]*pgquery.FuncCall{}
	for _, a := range args {
		part := a.GetFuncCall()
		for _, arg := range part.GetArgs() {
			if err := b.edit(funcName(part), arg, cols, gone, as, s); err != nil {
				return nil, err
			}
		}
	}
	in := b.refs[star].in.from
	sources := in.cols
	if len(qualifier) > 0 {
		sources = in.item(qualifier).cols
	}
	var out []*column
	var spelled []starColumn
	for i, c := range cols {
		if !gone[c] {
			out, spelled = append(out, c), append(spelled, starColumn{sources[i], c, as[c]})
		}
	}
	b.spell(f, spelled, in)
	return out, nil
}

// edit applies one item of EXCLUDE, REPLACE or RENAME to the columns of a star.
func (b *binder) edit(part string, arg *pgquery.Node, cols []*column, gone map[*column]bool, as map[*column]*pgquery.FuncCall, s *scope) error {
	named := func(n *pgquery.Node) (*column, error) {
		c := n.GetColumnRef()
		names, _ := parts(c)
		if len(names) == 0 {
			return nil, &UnsupportedError{Construct: "item of an edited *", Pos: -1}
		}
		b.record(c, &resolved{in: s})
		if len(names) > 1 && part != MarkerReplace {
			if _, err := b.resolve(c, s); err != nil {
				return nil, err
			}
		}
		found := pick(cols, names[len(names)-1])
		if len(found) == 0 {
			return nil, noColumn(names, int(c.GetLocation()))
		}
		demand(found[0].val, RoleOutput)
		return found[0], nil
	}
	switch part {
	case MarkerExclude:
		c, err := named(arg)
		if err == nil {
			gone[c] = true
		}
		return err
	case MarkerReplace, MarkerRename:
		pair := arg.GetFuncCall()
		if funcName(pair) != MarkerAs || len(pair.Args) != 2 {
			return &UnsupportedError{Construct: "item of an edited *", Pos: -1}
		}
		if part == MarkerRename {
			c, err := named(pair.Args[0])
			if err != nil {
				return err
			}
			names, _ := parts(pair.Args[1].GetColumnRef())
			if len(names) != 1 {
				return &UnsupportedError{Construct: "item of an edited *", Pos: -1}
			}
			b.record(pair.Args[1].GetColumnRef(), &resolved{in: s})
			c.name = names[0]
			return nil
		}
		c, err := named(pair.Args[1])
		if err != nil {
			return err
		}
		e, err := b.expr(pair.Args[0], s)
		if err != nil {
			return err
		}
		c.val, as[c] = b.output(pair.Args[0], e), pair
		return nil
	}
	return &UnsupportedError{Construct: "part of an edited *", Pos: -1}
}
