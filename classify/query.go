package classify

import (
	"strconv"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// shape says who sees the columns of a query. If only their names are used, a column that nobody names may be left
// out of the tables below it; if they are counted, as in a UNION or by IN, all have to stay.
type shape struct{ named bool }

// query binds a SELECT, VALUES or set operation and returns its output columns.
func (b *binder) query(sel *pgquery.SelectStmt, up *scope, sh shape) ([]*column, error) {
	b.depth++
	defer func() { b.depth-- }()
	if b.depth > maxDepth {
		return nil, overLimit("nesting that deep", -1)
	}
	if err := b.with(sel.WithClause, up); err != nil {
		return nil, err
	}
	var cols []*column
	var s *scope
	var err error
	switch {
	case sel.Op == pgquery.SetOperation_SETOP_UNION, sel.Op == pgquery.SetOperation_SETOP_INTERSECT, sel.Op == pgquery.SetOperation_SETOP_EXCEPT:
		cols, s, err = b.setOperation(sel, up)
	case len(sel.ValuesLists) > 0:
		cols, err = b.values(sel.ValuesLists, up)
		s = &scope{up: up, aliases: cols}
	default:
		cols, s, err = b.plainSelect(sel, up, sh)
	}
	if err != nil {
		return nil, err
	}
	b.outputs[sel] = cols
	return cols, b.orderAndLimit(sel, cols, s)
}

// with binds the CTEs of a statement. Which mention means which one is settled already.
func (b *binder) with(w *pgquery.WithClause, up *scope) error {
	for _, n := range w.GetCtes() {
		cte := n.GetCommonTableExpr()
		if cte.SearchClause != nil || cte.CycleClause != nil {
			return &UnsupportedError{Construct: "SEARCH or CYCLE", Pos: int(cte.Location)}
		}
		sel := cte.Ctequery.GetSelectStmt()
		recursive := w.Recursive && sel.Op == pgquery.SetOperation_SETOP_UNION
		if recursive {
			if err := b.recursive(cte, sel, up); err != nil {
				return err
			}
			continue
		}
		cols, err := b.query(sel, up, shape{named: len(cte.Aliascolnames) == 0})
		if err != nil {
			return err
		}
		if b.ctes[cte], err = rename(cols, cte.Aliascolnames, int(cte.Location)); err != nil {
			return err
		}
	}
	return nil
}

// recursive binds a recursive CTE: the left arm gives the names, and the right arm may read them.
func (b *binder) recursive(cte *pgquery.CommonTableExpr, sel *pgquery.SelectStmt, up *scope) error {
	if err := b.with(sel.WithClause, up); err != nil {
		return err
	}
	left, err := b.query(sel.Larg, up, shape{})
	if err != nil {
		return err
	}
	cols := make([]*column, len(left))
	for i, c := range left {
		cols[i] = &column{name: c.name, val: &value{table: -1, plain: []*value{c.val}, typ: c.val.typ}}
	}
	named, err := rename(cols, cte.Aliascolnames, int(cte.Location))
	if err != nil {
		return err
	}
	b.ctes[cte] = named
	right, err := b.query(sel.Rarg, up, shape{})
	if err != nil {
		return err
	}
	if len(right) != len(cols) {
		return &UnsupportedError{Construct: "set operation of different widths", Pos: int(cte.Location)}
	}
	for i, c := range right {
		cols[i].val.plain = append(cols[i].val.plain, c.val)
		cols[i].val.raises = c.val.typ == "" || c.val.typ != cols[i].val.typ
		demand(cols[i].val, RoleGroup)
	}
	return b.orderAndLimit(sel, cols, &scope{up: up, aliases: cols})
}

// rename gives columns the names of an alias list, which may be shorter.
func rename(cols []*column, names []*pgquery.Node, pos int) ([]*column, error) {
	if len(names) > len(cols) {
		return nil, &UnsupportedError{Construct: "more column aliases than columns", Pos: pos}
	}
	out := make([]*column, len(cols))
	for i, c := range cols {
		out[i] = &column{name: c.name, val: c.val}
		if i < len(names) {
			out[i].name = names[i].GetString_().GetSval()
		}
	}
	return out, nil
}

// setOperation binds both arms. Only UNION ALL keeps rows as they are; the others compare whole rows.
func (b *binder) setOperation(sel *pgquery.SelectStmt, up *scope) ([]*column, *scope, error) {
	left, err := b.query(sel.Larg, up, shape{})
	if err != nil {
		return nil, nil, err
	}
	right, err := b.query(sel.Rarg, up, shape{})
	if err != nil {
		return nil, nil, err
	}
	if len(left) != len(right) {
		return nil, nil, &UnsupportedError{Construct: "set operation of different widths", Pos: -1}
	}
	cols := make([]*column, len(left))
	s := &scope{up: up}
	for i, l := range left {
		v := &value{table: -1, plain: []*value{l.val, right[i].val}, typ: l.val.typ}
		if right[i].val.typ != l.val.typ || v.typ == "" {
			v.typ, v.raises = "", true
		}
		cols[i] = &column{name: l.name, val: v}
		if sel.Op != pgquery.SetOperation_SETOP_UNION {
			b.filters = append(b.filters, filter{on: []*value{v}})
		}
		if sel.Op != pgquery.SetOperation_SETOP_UNION || !sel.All {
			demand(v, RoleGroup)
		}
	}
	s.aliases = append(s.aliases, cols...)
	for i, r := range right { // the engine lets ORDER BY use the names of any arm
		if len(pick(cols, r.name)) == 0 {
			s.aliases = append(s.aliases, &column{name: r.name, val: cols[i].val})
		}
	}
	return cols, s, nil
}

// values binds VALUES; the engine calls its columns col0, col1, ….
func (b *binder) values(lists []*pgquery.Node, up *scope) ([]*column, error) {
	var cols []*column
	s := &scope{up: up}
	for i, l := range lists {
		items := l.GetList().GetItems()
		if i > 0 && len(items) != len(cols) {
			return nil, &UnsupportedError{Construct: "VALUES rows of different widths", Pos: -1}
		}
		for j, n := range items {
			e, err := b.expr(n, s)
			if err != nil {
				return nil, err
			}
			if i == 0 {
				cols = append(cols, &column{name: "col" + strconv.Itoa(j), val: &value{table: -1, typ: b.constType(n)}})
			}
			v := cols[j].val
			if v.typ != b.constType(n) {
				v.typ = ""
			}
			v.rows = append(v.rows, n)
			v.plain, v.opaque = append(v.plain, e.values()...), append(v.opaque, e.opaque...)
			v.raises = len(v.plain) > 0
		}
	}
	return cols, nil
}

// plainSelect binds one SELECT … FROM … up to QUALIFY and DISTINCT.
func (b *binder) plainSelect(sel *pgquery.SelectStmt, up *scope, sh shape) ([]*column, *scope, error) {
	if sel.IntoClause != nil || len(sel.LockingClause) > 0 {
		return nil, nil, &UnsupportedError{Construct: "INTO or FOR UPDATE", Pos: -1}
	}
	s := &scope{up: up, from: &from{}, windows: map[string]bool{}}
	for _, n := range sel.FromClause {
		f, err := b.fromItem(n, up, s.from)
		if err != nil {
			return nil, nil, err
		}
		s.from = s.from.join(f)
	}
	if err := distinctNames(s.from); err != nil {
		return nil, nil, err
	}
	for _, w := range sel.WindowClause {
		s.windows[fold(w.GetWindowDef().GetName())] = true
	}
	cols, err := b.targets(sel, s, sh)
	if err != nil {
		return nil, nil, err
	}
	if err := b.condition(sel.WhereClause, s, RoleFilter); err != nil {
		return nil, nil, err
	}
	b.selects = append(b.selects, sel)
	for _, g := range sel.GroupClause {
		if err := b.groupItem(g, cols, s); err != nil {
			return nil, nil, err
		}
	}
	late := &scope{up: up, from: s.from, aliases: cols, alias: eitherOne, windows: s.windows}
	if err := b.condition(sel.HavingClause, late, RoleFilter); err != nil {
		return nil, nil, err
	}
	if err := b.windowClause(sel.WindowClause, s, late); err != nil {
		return nil, nil, err
	}
	order := &scope{up: up, from: s.from, aliases: cols, alias: eitherOne, windows: s.windows, sorts: true}
	return cols, order, b.distinct(sel.DistinctClause, cols, order)
}

// distinctNames refuses a FROM clause in which two relations go by one name: nothing could tell them apart.
func distinctNames(f *from) error {
	seen := map[string]bool{}
	for _, it := range f.items {
		if it.name != "" && seen[fold(it.name)] {
			return &NameError{Kind: "alias", Name: it.name, Why: "is ambiguous", Pos: it.pos}
		}
		seen[fold(it.name)] = true
	}
	return nil
}

// condition binds a predicate, and takes note of each of its AND-ed parts as something that can move down.
func (b *binder) condition(n *pgquery.Node, s *scope, r Role) error {
	for _, c := range conjuncts(n) {
		e, err := b.expr(c, s)
		if err != nil {
			return err
		}
		e.demand(r)
		b.predicate(c, e)
	}
	return nil
}

// conjuncts splits n at AND.
func conjuncts(n *pgquery.Node) []*pgquery.Node {
	if n == nil {
		return nil
	}
	if e := n.GetBoolExpr(); e != nil && e.Boolop == pgquery.BoolExprType_AND_EXPR {
		var out []*pgquery.Node
		for _, a := range e.Args {
			out = append(out, conjuncts(a)...)
		}
		return out
	}
	return []*pgquery.Node{n}
}

// windowClause binds WINDOW, whose last item may be QUALIFY in disguise.
func (b *binder) windowClause(list []*pgquery.Node, s, late *scope) error {
	for _, n := range list {
		w := n.GetWindowDef()
		if w.GetName() == QualifyWindow {
			for _, o := range w.OrderClause {
				if err := b.condition(o.GetSortBy().GetNode(), late, RoleFilter); err != nil {
					return err
				}
			}
			continue
		}
		b.defining = w
		e, err := b.window(w, s)
		b.defining = nil
		if err != nil {
			return err
		}
		e.demand(RoleOrder)
	}
	return nil
}

// groupItem binds one item of GROUP BY.
func (b *binder) groupItem(n *pgquery.Node, cols []*column, s *scope) error {
	if g := n.GetGroupingSet(); g != nil {
		for _, c := range g.Content {
			if err := b.groupItem(c, cols, s); err != nil {
				return err
			}
		}
		return nil
	}
	if r := n.GetRowExpr(); r != nil && r.RowFormat == pgquery.CoercionForm_COERCE_IMPLICIT_CAST {
		for _, c := range r.Args {
			if err := b.groupItem(c, cols, s); err != nil {
				return err
			}
		}
		return nil
	}
	return b.outputOrExpr(n, cols, s, RoleGroup)
}

// outputOrExpr binds an item of GROUP BY, ORDER BY or DISTINCT ON: ALL, an ordinal, or an expression.
func (b *binder) outputOrExpr(n *pgquery.Node, cols []*column, s *scope, r Role) error {
	if f := n.GetFuncCall(); f != nil && funcName(f) == MarkerAll {
		for _, c := range cols {
			demand(c.val, r)
		}
		return nil
	}
	if c := n.GetAConst(); c != nil {
		if i := c.GetIval(); i != nil || c.GetVal() != nil {
			k := int(i.GetIval())
			if i == nil || k < 1 || k > len(cols) {
				return &NameError{Kind: "column", Name: strconv.Itoa(k), Why: "does not exist", Pos: int(c.Location)}
			}
			demand(cols[k-1].val, r)
		}
		return nil
	}
	scoped := *s
	if r == RoleGroup && len(scoped.aliases) == 0 {
		scoped.aliases = cols
	}
	if r == RoleOrder && isOutput(n, s) {
		scoped.from = nil
	}
	e, err := b.expr(n, &scoped)
	e.demand(r)
	return err
}

// isOutput reports whether an item of ORDER BY is the bare name of an output column that two relations have, too: there the output
// column is meant, and nothing is ambiguous.
func isOutput(n *pgquery.Node, s *scope) bool {
	ref := n.GetColumnRef()
	if ref == nil {
		return false
	}
	names, star := parts(ref)
	if star || len(names) != 1 || len(pick(s.aliases, names[0])) == 0 {
		return false
	}
	_, twice := s.from.find(names[0])
	return twice
}

func (b *binder) distinct(list []*pgquery.Node, cols []*column, s *scope) error {
	for _, n := range list {
		if n == nil || n.Node == nil { // plain DISTINCT
			for _, c := range cols {
				demand(c.val, RoleGroup)
			}
			continue
		}
		if err := b.outputOrExpr(n, cols, s, RoleGroup); err != nil {
			return err
		}
	}
	return nil
}

func (b *binder) orderAndLimit(sel *pgquery.SelectStmt, cols []*column, s *scope) error {
	for _, n := range sel.SortClause {
		if err := b.outputOrExpr(n.GetSortBy().GetNode(), cols, s, RoleOrder); err != nil {
			return err
		}
	}
	limits, err := b.exprs(&scope{up: s.up}, sel.LimitOffset, sel.LimitCount)
	limits.demand(RoleFilter)
	return err
}
