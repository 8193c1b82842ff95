package classify

import (
	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// fromItem binds one item of FROM. The items before it are visible to its subqueries and functions, since the
// engine takes every one of them for LATERAL.
func (b *binder) fromItem(n *pgquery.Node, up *scope, before *from) (*from, error) {
	b.depth++
	defer func() { b.depth-- }()
	if b.depth > maxDepth {
		return nil, overLimit("nesting that deep", -1)
	}
	switch f := n.GetNode().(type) {
	case *pgquery.Node_RangeVar:
		return b.rangeVar(f.RangeVar)
	case *pgquery.Node_RangeTableSample:
		rv := f.RangeTableSample.Relation.GetRangeVar()
		if !timeTravel(f.RangeTableSample) || rv == nil || b.walk.ctes[rv] != nil {
			return nil, &UnsupportedError{Construct: "TABLESAMPLE", Pos: int(f.RangeTableSample.Location)}
		}
		return b.rangeVar(rv)
	case *pgquery.Node_RangeSubselect:
		sel := f.RangeSubselect.Subquery.GetSelectStmt()
		if sel == nil {
			return nil, &UnsupportedError{Construct: "subquery that is no SELECT", Pos: -1}
		}
		alias := f.RangeSubselect.Alias
		cols, err := b.query(sel, &scope{up: up, from: before}, shape{named: len(alias.GetColnames()) == 0})
		if err != nil {
			return nil, err
		}
		return relation(alias, alias.GetAliasname(), -1, cols)
	case *pgquery.Node_RangeFunction:
		return b.rangeFunction(f.RangeFunction, &scope{up: up, from: before})
	case *pgquery.Node_JoinExpr:
		return b.joinExpr(f.JoinExpr, up, before)
	}
	return nil, &UnsupportedError{Construct: nodeName(n) + " in FROM", Pos: -1}
}

// timeTravel reports whether a sample clause is the mark of FOR VERSION or TIMESTAMP AS OF.
func timeTravel(t *pgquery.RangeTableSample) bool {
	if len(t.Method) != 1 || t.Repeatable != nil {
		return false
	}
	m := t.Method[0].GetString_().GetSval()
	return m == MarkerAtVersion || m == MarkerAtTimestamp
}

// relation wraps columns as one item of FROM.
func relation(alias *pgquery.Alias, name string, table int, cols []*column) (*from, error) {
	if alias != nil {
		name = alias.Aliasname
	}
	named, err := rename(cols, alias.GetColnames(), -1)
	if err != nil {
		return nil, err
	}
	it := &item{name: name, table: table, cols: named, pos: -1}
	for _, c := range named {
		c.item = it
	}
	return &from{items: []*item{it}, cols: named}, nil
}

// rangeVar binds the mention of a table or CTE.
func (b *binder) rangeVar(rv *pgquery.RangeVar) (*from, error) {
	b.visited[rv] = true
	if cte := b.walk.ctes[rv]; cte != nil {
		cols, bound := b.ctes[cte]
		if !bound {
			return nil, &NameError{Kind: "table", Name: rv.Relname, Why: "does not exist", Pos: int(rv.Location)}
		}
		if rv.Alias != nil && len(rv.Alias.Colnames) > 0 {
			for _, c := range cols {
				demand(c.val, RoleOutput)
			}
		}
		f, err := relation(rv.Alias, rv.Relname, -1, cols)
		if err != nil {
			return nil, err
		}
		f.items[0].pos = int(rv.Location)
		return f, nil
	}
	i, ok := b.index[rv]
	if !ok {
		return nil, &NameError{Kind: "table", Name: rv.Relname, Why: "does not exist", Pos: int(rv.Location)}
	}
	cols := make([]*column, len(b.base[i]))
	for j, v := range b.base[i] {
		cols[j] = &column{name: b.rels[i].Columns[j].Name, val: v}
	}
	f, err := relation(rv.Alias, rv.Relname, i, cols)
	if err != nil {
		return nil, err
	}
	it := f.items[0]
	it.pos = int(rv.Location)
	if rv.Alias == nil {
		it.schema, it.catalog = b.rels[i].Name.Schema, b.rels[i].Name.Catalog
	} else if len(rv.Alias.Colnames) > 0 {
		b.all(it) // the aliases go by position
	}
	return f, nil
}

// rangeFunction binds unnest and its like. What they return is as wide as the alias list, or has the function's name.
func (b *binder) rangeFunction(f *pgquery.RangeFunction, s *scope) (*from, error) {
	if f.IsRowsfrom || len(f.Coldeflist) > 0 || len(f.Functions) != 1 {
		return nil, &UnsupportedError{Construct: "ROWS FROM", Pos: -1}
	}
	items := f.Functions[0].GetList().GetItems()
	if len(items) == 0 {
		return nil, &UnsupportedError{Construct: "table function", Pos: -1}
	}
	call := items[0].GetFuncCall()
	name := funcName(call)
	if call == nil || !IsSetReturning(name) {
		return nil, &NameError{Kind: "function", Name: name, Why: "does not exist", Pos: int(call.GetLocation())}
	}
	e, err := b.expr(items[0], s)
	if err != nil {
		return nil, err
	}
	e.demand(RoleOutput)
	v := e.derived(items[0], "")
	v.raises = len(v.plain) > 0
	cols := []*column{{name: name, val: v}}
	if f.Ordinality {
		cols = append(cols, &column{name: "ordinality", val: &value{table: -1, typ: "BIGINT"}})
	}
	return relation(f.Alias, name, -1, cols)
}

// joinExpr binds a join. ON sees its two sides.
func (b *binder) joinExpr(j *pgquery.JoinExpr, up *scope, before *from) (*from, error) {
	if j.Alias != nil || j.JoinUsingAlias != nil {
		return nil, &UnsupportedError{Construct: "alias of a join", Pos: -1}
	}
	switch j.Jointype {
	case pgquery.JoinType_JOIN_INNER, pgquery.JoinType_JOIN_LEFT, pgquery.JoinType_JOIN_RIGHT, pgquery.JoinType_JOIN_FULL:
	default:
		return nil, &UnsupportedError{Construct: "this kind of join", Pos: -1}
	}
	left, err := b.fromItem(j.Larg, up, before)
	if err != nil {
		return nil, err
	}
	right, err := b.fromItem(j.Rarg, up, before.join(left))
	if err != nil {
		return nil, err
	}
	both := left.join(right)
	if err := distinctNames(both); err != nil {
		return nil, err
	}
	var using []string
	for _, n := range j.UsingClause {
		using = append(using, n.GetString_().GetSval())
	}
	if j.IsNatural {
		using = b.natural(left, right)
		if len(using) == 0 {
			return nil, &UnsupportedError{Construct: "NATURAL JOIN without a common column", Pos: -1}
		}
	}
	if len(using) > 0 {
		return b.using(j.Jointype, left, right, both, using)
	}
	if f, _ := asof(j); f != nil {
		b.nearest = true
	}
	on := &scope{up: &scope{up: up, from: before}, from: both}
	return both, b.condition(j.Quals, on, RoleJoin)
}

// natural returns the names that both sides have, and says that all columns of both must be there: which are
// common shows.
func (b *binder) natural(left, right *from) []string {
	var names []string
	for _, l := range left.cols {
		demand(l.val, RoleJoin)
		for _, r := range right.cols {
			if same(l.name, r.name) {
				names = append(names, l.name)
				break
			}
		}
	}
	for _, r := range right.cols {
		demand(r.val, RoleJoin)
	}
	return names
}

// using merges the columns that both sides share. The merged one stands where the left one was.
func (b *binder) using(join pgquery.JoinType, left, right, both *from, names []string) (*from, error) {
	merged := map[*column]*column{}
	gone := map[*column]bool{}
	for _, name := range names {
		l, err := one(left, name)
		if err != nil {
			return nil, err
		}
		r, err := one(right, name)
		if err != nil {
			return nil, err
		}
		v := &value{table: -1, plain: []*value{l.val, r.val}, typ: l.val.typ, raises: !b.equatable(l.val.typ, r.val.typ)}
		demand(v, RoleJoin)
		b.filters = append(b.filters, filter{on: []*value{v}})
		merged[l] = &column{name: l.name, val: v}
		if join == pgquery.JoinType_JOIN_INNER || join == pgquery.JoinType_JOIN_LEFT {
			merged[l].left = l
		}
		gone[r] = true
	}
	out := &from{items: both.items}
	for _, c := range both.cols {
		switch {
		case merged[c] != nil:
			out.cols = append(out.cols, merged[c])
		case !gone[c]:
			out.cols = append(out.cols, c)
		}
	}
	return out, nil
}

func one(f *from, name string) (*column, error) {
	cols, twice := f.find(name)
	switch {
	case twice || len(cols) > 1:
		return nil, ambiguous([]string{name}, -1)
	case len(cols) == 0:
		return nil, noColumn([]string{name}, -1)
	}
	return cols[0], nil
}
