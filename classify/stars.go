package classify

import (
	"slices"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// starColumn is one column that a star stands for.
type starColumn struct {
	from *column           // what it is in FROM
	is   *column           // what it became by EXCLUDE, REPLACE or RENAME
	as   *pgquery.FuncCall // the item of REPLACE that it is computed by, or nil
}

// spell notes the columns of a star, if each of them can be written by itself: it belongs to one relation, whose name and the column's in it mean nothing else, or
// USING merged it and its name means nothing else. Other stars are left as they are, for engines that know what they mean.
func (b *binder) spell(star proto.Message, cols []starColumn, in *from) {
	for _, c := range cols {
		if c.as == nil && !c.from.named(in) {
			return
		}
	}
	b.stars[star] = cols
}

// named reports whether a column of FROM can be written so that it means nothing else.
func (c *column) named(in *from) bool {
	if c.left != nil {
		return c.left.named(in)
	}
	if c.name == "" {
		return false
	}
	if c.item == nil {
		found, ambiguous := in.find(c.name)
		return len(found) == 1 && !ambiguous && found[0] == c
	}
	relations, names := 0, 0
	for _, other := range in.items {
		if same(other.name, c.item.name) {
			relations++
		}
	}
	for _, other := range c.item.cols {
		if same(other.name, c.name) {
			names++
		}
	}
	return c.item.name != "" && relations == 1 && names == 1
}

// fields are the parts of a column of FROM as it is written.
func (c *column) fields() []*pgquery.Node {
	switch {
	case c.left != nil:
		return c.left.fields()
	case c.item != nil:
		return []*pgquery.Node{pgquery.MakeStrNode(c.item.name), pgquery.MakeStrNode(c.name)}
	}
	return []*pgquery.Node{pgquery.MakeStrNode(c.name)}
}

// plain are the columns of a star without EXCLUDE and the like. Where some are merged, engines differ in their order, and in whose value they have.
func plain(from, is []*column) []starColumn {
	out := make([]starColumn, len(is))
	for i, c := range is {
		out[i] = starColumn{from: from[i], is: c}
	}
	return out
}

// merges reports whether USING or NATURAL made one column of two.
func (f *from) merges() bool {
	return slices.ContainsFunc(f.cols, func(c *column) bool { return c.item == nil })
}

// spellStars writes the columns of stars; copies are the calls of the statement's tree in the one that is changed. A column of a table that nobody asks for is none
// of the governed relation. Where nobody asks for any, there is one that is TRUE.
func spellStars(tree *pgquery.SelectStmt, stars map[proto.Message][]starColumn, copies map[*pgquery.FuncCall]*pgquery.FuncCall) {
	for _, sel := range all[*pgquery.SelectStmt](tree) {
		var list []*pgquery.Node
		for _, t := range sel.TargetList {
			val := t.GetResTarget().GetVal()
			cols := stars[val.GetFuncCall()]
			if c := val.GetColumnRef(); c != nil {
				cols = stars[c]
			}
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
	fields, name := c.from.fields(), c.is.name
	if name == fields[len(fields)-1].GetString_().GetSval() {
		name = ""
	}
	return targetNode(name, pgquery.MakeColumnRefNode(fields, -1))
}

func targetNode(name string, val *pgquery.Node) *pgquery.Node {
	return &pgquery.Node{Node: &pgquery.Node_ResTarget{ResTarget: &pgquery.ResTarget{Name: name, Val: val}}}
}
