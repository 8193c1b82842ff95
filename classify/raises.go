package classify

import (
	"fmt"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// filter is something that an optimiser may turn into a condition on rows: a part of WHERE, ON, HAVING or QUALIFY, a key of
// PARTITION BY, or the equality behind USING and INTERSECT.
type filter struct {
	node      *pgquery.Node // nil if it is just the equality of values
	on        []*value
	opaque    []*value // behind aggregates and windows
	predicate bool     // node is used as a condition, so that a cast to BOOLEAN may hide at its top
}

func (b *binder) filter(n *pgquery.Node, e need) {
	b.filters = append(b.filters, filter{node: n, on: e.values(), opaque: e.opaque})
}

func (b *binder) predicate(n *pgquery.Node, e need) {
	b.filters = append(b.filters, filter{node: n, on: e.values(), opaque: e.opaque, predicate: true})
}

// raising says for each table reference whether something that may raise could run on its hidden rows. What stands in a
// target list runs above every filter, so it does not count by itself but for what dictionaries finds; it does once a condition
// above uses it, since conditions move down and take what they are computed from along. Aggregates and windows stop them.
// Beside a join or a LIMIT it is all tables or none (see early).
func (b *binder) raising(tree *pgquery.SelectStmt) []bool {
	out := make([]bool, len(b.rels))
	for _, f := range all[*pgquery.FuncCall](tree) {
		name := funcName(f)
		if !strings.HasPrefix(name, MarkerPrefix) && ClassOf(name) != ClassLeakproof && ClassOf(name) != ClassRaising {
			return everything(out)
		}
	}
	lone := map[*pgquery.Node]bool{} // conditions without a join below or beside them, but for those below an aggregate
	for _, sel := range b.selects {
		for _, c := range conjuncts(sel.HavingClause) {
			lone[c] = true
		}
		if len(sel.FromClause) == 1 && sel.FromClause[0].GetRangeSubselect() != nil && len(ownLinks(sel)) == 0 {
			for _, c := range conjuncts(sel.WhereClause) {
				lone[c] = true
			}
		}
	}
	may := map[*value]bool{}
	for _, f := range b.filters {
		raises := f.node != nil && b.class(f.node, f.predicate) != ClassLeakproof
		above := aggregated(f.opaque, f.node)
		var bases []int
		rowwise(f.on, func(v *value) {
			if v.table >= 0 {
				bases = append(bases, v.table)
				return
			}
			if _, known := may[v]; !known {
				// What has only aggregates in it is not computed on rows of a table. What has nothing in it may be a constant that
				// fails, and the engine computes that with the first rows that come by.
				may[v] = (len(v.plain) > 0 || !aggregated(v.opaque, v.node)) && (v.raises || (v.node != nil && b.class(v.node, false) != ClassLeakproof))
			}
			raises, above = raises || may[v], above || aggregated(v.opaque, v.node)
		})
		if raises && (len(bases) > 0 || !above || !lone[f.node]) {
			return everything(out)
		}
	}
	if (early{b}).query(tree, nothing) {
		return everything(out)
	}
	b.dictionaries(tree, out)
	return out
}

func everything(out []bool) []bool {
	for i := range out {
		out[i] = true
	}
	return out
}

// aggregated reports whether something stands above an aggregate or a window.
func aggregated(opaque []*value, n *pgquery.Node) bool {
	found := len(opaque) > 0
	if n != nil && !found {
		for _, f := range all[*pgquery.FuncCall](n) {
			found = found || f.Over != nil || isAggregate(f)
		}
	}
	return found
}

// class returns the class of an expression of the statement. What is behind an aggregate, a window or a subquery counts
// as a plain value here: its own parts are looked at where they run.
func (b *binder) class(n *pgquery.Node, predicate bool) Class {
	key := classed{n, predicate}
	c, known := b.classes[key]
	if !known {
		c = b.classOf(n, predicate)
		b.classes[key] = c
	}
	return c
}

// classed is an expression whose class was asked for.
type classed struct {
	node      *pgquery.Node
	predicate bool
}

func (b *binder) classOf(n *pgquery.Node, predicate bool) Class {
	if b.asWritten(n) {
		return ExprClassTyped(condition(n, predicate), func(c *pgquery.ColumnRef) string {
			if r := b.refs[c]; r != nil {
				return r.typ
			}
			return ""
		})
	}
	c := cloneNode(n)
	types := map[*pgquery.ColumnRef]string{}
	theirs := all[*pgquery.ColumnRef](c)
	for i, ref := range all[*pgquery.ColumnRef](n) {
		if r := b.refs[ref]; r != nil {
			types[theirs[i]] = r.typ
		}
	}
	b.edits.castDates(n, c)
	links := map[*pgquery.SubLink]*pgquery.SubLink{}
	linked := all[*pgquery.SubLink](c)
	for i, l := range all[*pgquery.SubLink](n) {
		links[linked[i]] = l
	}
	safe := true
	descend(c, func(m proto.Message) bool {
		x, ok := m.(*pgquery.Node)
		if !ok {
			return true
		}
		if k := constantOf(x, types); k != nil {
			x.Node = k
			return false
		}
		if l := x.GetSubLink(); l != nil {
			safe = b.replaceLink(x, l, links[l], types) && safe
			return l.Testexpr != nil
		}
		if f := x.GetFuncCall(); f != nil && (f.Over != nil || f.AggStar || isAggregate(f)) {
			x.Node = placeholder(types, aggregateType(f, types))
			return false
		}
		return true
	})
	if !safe {
		return ClassRaising
	}
	return ExprClassTyped(condition(c, predicate), func(c *pgquery.ColumnRef) string { return types[c] })
}

// condition returns n as something that must be a boolean, if it is used as one.
func condition(n *pgquery.Node, predicate bool) *pgquery.Node {
	if !predicate {
		return n
	}
	return &pgquery.Node{Node: &pgquery.Node_BoolExpr{BoolExpr: &pgquery.BoolExpr{
		Boolop: pgquery.BoolExprType_AND_EXPR, Args: []*pgquery.Node{n},
	}}}
}

// asWritten reports whether classOf would replace nothing in n.
func (b *binder) asWritten(n *pgquery.Node) bool {
	as := true
	descend(n, func(m proto.Message) bool {
		switch x := m.(type) {
		case *pgquery.SubLink:
			as = false
		case *pgquery.FuncCall:
			as = as && x.Over == nil && !isAggregate(x)
		case *pgquery.Node:
			as = as && constantType(x) == "" && !b.edits.dates[x.GetAExpr()]
		}
		return as
	})
	return as
}

// replaceLink puts what a subquery means for its surroundings in its place.
func (b *binder) replaceLink(x *pgquery.Node, l, original *pgquery.SubLink, types map[*pgquery.ColumnRef]string) bool {
	sub, one := b.subs[original]
	switch l.SubLinkType {
	case pgquery.SubLinkType_EXISTS_SUBLINK:
		x.Node = pgquery.MakeAConstIntNode(1, -1).Node
		return true
	case pgquery.SubLinkType_EXPR_SUBLINK:
		x.Node = placeholder(types, sub.typ)
		return one && sub.single
	case pgquery.SubLinkType_ANY_SUBLINK, pgquery.SubLinkType_ALL_SUBLINK:
		op := l.OperName
		if len(op) == 0 {
			op = []*pgquery.Node{pgquery.MakeStrNode("=")}
		}
		right := &pgquery.Node{Node: placeholder(types, sub.typ)}
		x.Node = &pgquery.Node_AExpr{AExpr: &pgquery.A_Expr{Kind: pgquery.A_Expr_Kind_AEXPR_OP, Name: op, Lexpr: l.Testexpr, Rexpr: right}}
		return one
	}
	x.Node = placeholder(types, "")
	return true
}

func placeholder(types map[*pgquery.ColumnRef]string, typ string) *pgquery.Node_ColumnRef {
	c := &pgquery.ColumnRef{Fields: []*pgquery.Node{pgquery.MakeStrNode("value")}}
	types[c] = typ
	return &pgquery.Node_ColumnRef{ColumnRef: c}
}

func isAggregate(f *pgquery.FuncCall) bool {
	return f.AggStar || f.AggDistinct || f.AggWithinGroup || f.AggFilter != nil || len(f.AggOrder) > 0 ||
		IsAggregate(funcName(f)) || IsWindow(funcName(f))
}

// aggregateType knows the aggregates that return the type of their argument, and count.
func aggregateType(f *pgquery.FuncCall, types map[*pgquery.ColumnRef]string) string {
	switch funcName(f) {
	case "count", "row_number", "rank", "dense_rank", "ntile":
		return "BIGINT"
	case "percent_rank", "cume_dist":
		return "DOUBLE"
	case "min", "max", "any_value", "first", "last":
		if len(f.Args) == 1 {
			return types[f.Args[0].GetColumnRef()]
		}
	case "sum":
		if len(f.Args) == 1 {
			return sumType(types[f.Args[0].GetColumnRef()])
		}
	case "avg", "mean":
		if len(f.Args) == 1 && sumType(types[f.Args[0].GetColumnRef()]) != "" {
			return "DOUBLE"
		}
	}
	return ""
}

// typeName returns the type of an expression if it can be told at a glance.
func (b *binder) typeName(n *pgquery.Node) string {
	switch e := n.GetNode().(type) {
	case *pgquery.Node_ColumnRef:
		if r := b.refs[e.ColumnRef]; r != nil {
			return r.typ
		}
	case *pgquery.Node_TypeCast:
		t := e.TypeCast.TypeName
		if len(t.GetTypmods()) == 0 && len(t.GetArrayBounds()) == 0 && len(t.GetNames()) > 0 {
			if name := t.Names[len(t.Names)-1].GetString_().GetSval(); name != "decimal" {
				return strings.ToUpper(name)
			}
		}
	case *pgquery.Node_AExpr:
		return b.arithmeticType(e.AExpr)
	case *pgquery.Node_FuncCall:
		if e.FuncCall.Over == nil || isAggregate(e.FuncCall) {
			if scale, ok := b.scaleOfSum(e.FuncCall); ok {
				return fmt.Sprintf("DECIMAL(%d,%d)", maxDecimal, scale)
			}
			types := map[*pgquery.ColumnRef]string{}
			if a := e.FuncCall.Args; len(a) == 1 && a[0].GetColumnRef() == nil {
				if typ := b.typeName(a[0]); typ != "" {
					of := &pgquery.Node{Node: placeholder(types, typ)}
					return aggregateType(&pgquery.FuncCall{Funcname: e.FuncCall.Funcname, Args: []*pgquery.Node{of}}, types)
				}
			}
			for _, c := range all[*pgquery.ColumnRef](n) {
				if r := b.refs[c]; r != nil {
					types[c] = r.typ
				}
			}
			return aggregateType(e.FuncCall, types)
		}
	}
	return ""
}

// constType returns the type of a literal, as the engine gives it to a column of VALUES.
func (b *binder) constType(n *pgquery.Node) string {
	switch c := n.GetAConst(); {
	case c == nil:
		return b.typeName(n)
	case c.GetIval() != nil:
		return "INTEGER"
	case c.GetSval() != nil:
		return "VARCHAR"
	case c.GetBoolval() != nil:
		return "BOOLEAN"
	}
	return ""
}

// equatable reports whether two types compare without a cast that may raise.
func (b *binder) equatable(l, r string) bool {
	types := map[*pgquery.ColumnRef]string{}
	n := &pgquery.Node{Node: &pgquery.Node_AExpr{AExpr: &pgquery.A_Expr{
		Kind:  pgquery.A_Expr_Kind_AEXPR_OP,
		Name:  []*pgquery.Node{pgquery.MakeStrNode("=")},
		Lexpr: &pgquery.Node{Node: placeholder(types, l)},
		Rexpr: &pgquery.Node{Node: placeholder(types, r)},
	}}}
	return ExprClassTyped(n, func(c *pgquery.ColumnRef) string { return types[c] }) == ClassLeakproof
}

// singleRow reports whether a subquery can't return two rows.
func singleRow(sel *pgquery.SelectStmt) bool {
	if sel.Op != pgquery.SetOperation_SETOP_NONE || len(sel.ValuesLists) > 1 || len(sel.GroupClause) > 0 {
		return false
	}
	if sel.LimitCount.GetAConst().GetIval().GetIval() == 1 && sel.LimitOption != pgquery.LimitOption_LIMIT_OPTION_WITH_TIES {
		return true
	}
	found, many := false, false
	for _, t := range sel.TargetList {
		descend(t, func(m proto.Message) bool {
			switch x := m.(type) {
			case *pgquery.SubLink:
				return false
			case *pgquery.FuncCall:
				if x.Over == nil && (x.AggStar || IsAggregate(funcName(x))) {
					found = true
				}
				many = many || IsSetReturning(funcName(x)) // makes rows again
			}
			return true
		})
	}
	return found && !many
}
