package classify

import (
	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// starColumn is one column that * EXCLUDE, REPLACE or RENAME stands for.
type starColumn struct {
	from *column           // what it is in FROM
	is   *column           // what it became
	as   *pgquery.FuncCall // the item of REPLACE that it is computed by, or nil
}

// spell notes the columns of an edited star, if each of them can be written by itself: it belongs to one relation, whose name and the column's in it mean nothing
// else. Other stars are left as they are, for engines that know such syntax.
func (b *binder) spell(f *pgquery.FuncCall, cols []starColumn, in *from) {
	for _, c := range cols {
		if c.as != nil {
			continue
		}
		it, relations, names := c.from.item, 0, 0
		if it == nil || it.name == "" || c.from.name == "" {
			return
		}
		for _, other := range in.items {
			if same(other.name, it.name) {
				relations++
			}
		}
		for _, other := range it.cols {
			if same(other.name, c.from.name) {
				names++
			}
		}
		if relations != 1 || names != 1 {
			return
		}
	}
	b.stars[f] = cols
}

// spellStars writes the columns of edited stars; copies are the calls of the statement's tree in the one that is changed. A column of a table that nobody asks
// for is none of the governed relation. Where nobody asks for any, there is one that is TRUE.
func (e *edits) spellStars(tree *pgquery.SelectStmt, copies map[*pgquery.FuncCall]*pgquery.FuncCall) {
	stars := map[*pgquery.FuncCall][]starColumn{}
	for f, cols := range e.stars {
		stars[copies[f]] = cols
	}
	for _, sel := range all[*pgquery.SelectStmt](tree) {
		var list []*pgquery.Node
		for _, t := range sel.TargetList {
			cols := stars[t.GetResTarget().GetVal().GetFuncCall()]
			if len(cols) == 0 {
				list = append(list, t)
			}
			for _, c := range cols {
				if v := c.is.val; c.as != nil || v.table < 0 || v.roles != 0 {
					list = append(list, c.target(copies))
				}
			}
		}
		if len(list) == 0 && len(sel.TargetList) > 0 {
			yes := &pgquery.A_Const{Val: &pgquery.A_Const_Boolval{Boolval: &pgquery.Boolean{Boolval: true}}}
			list = append(list, targetNode("", &pgquery.Node{Node: &pgquery.Node_AConst{AConst: yes}}))
		}
		sel.TargetList = list
	}
}

// target is the column as an item of a list.
func (c starColumn) target(copies map[*pgquery.FuncCall]*pgquery.FuncCall) *pgquery.Node {
	if c.as != nil {
		return targetNode(c.is.name, copies[c.as].Args[0])
	}
	name := c.is.name
	if name == c.from.name {
		name = ""
	}
	return targetNode(name, pgquery.MakeColumnRefNode([]*pgquery.Node{pgquery.MakeStrNode(c.from.item.name), pgquery.MakeStrNode(c.from.name)}, -1))
}

func targetNode(name string, val *pgquery.Node) *pgquery.Node {
	return &pgquery.Node{Node: &pgquery.Node_ResTarget{ResTarget: &pgquery.ResTarget{Name: name, Val: val}}}
}
