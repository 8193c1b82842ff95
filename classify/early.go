package classify

import (
	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// DuckDB ends a chain of operators early if a join above turns out to have no rows on its other side, or a LIMIT above has
// enough; not at once, but after so many rows as the scans hand them on, hidden ones counted (PipelineExecutor::Execute and
// CachingPhysicalOperator of DuckDB 1.5.6). And the bounds that a join or a top-N finds while it runs leave out row groups by raw bounds.
// So if something that may fail stands below a join or a LIMIT, hidden rows would decide which visible rows it meets. Then
// all tables are read behind the barrier, which hands on visible rows only. Above an aggregate hidden rows decide nothing, since
// it takes all rows that there are.

// early finds out whether something in a target list may fail below a join or a LIMIT.
type early struct{ b *binder }

// ender is what stands above a query and can end it early.
type ender int

const (
	nothing ender = iota
	cut           // a LIMIT that the engine puts below target lists, which then are computed for those rows alone that come out
	ends          // a join, or another LIMIT
)

// query looks at sel, and at what is below.
func (e early) query(sel *pgquery.SelectStmt, up ender) bool {
	if sel == nil {
		return false
	}
	for _, n := range sel.WithClause.GetCtes() {
		if e.query(n.GetCommonTableExpr().GetCtequery().GetSelectStmt(), ends) { // whoever reads it may join it
			return true
		}
	}
	if sel.LimitCount != nil || sel.LimitOffset != nil {
		up = max(up, cut)
	}
	if up == cut && !cutsFirst(sel) {
		up = ends
	}
	if sel.Op != pgquery.SetOperation_SETOP_NONE {
		arms := up
		if sel.Op != pgquery.SetOperation_SETOP_UNION { // the others are joins
			arms = ends
		}
		return up == ends && e.outputs(sel) || e.query(sel.Larg, arms) || e.query(sel.Rarg, arms)
	}
	links := ownLinks(sel)
	for _, l := range links {
		if e.query(l.Subselect.GetSelectStmt(), ends) {
			return true
		}
	}
	if aggregates(sel) {
		up = nothing
	}
	if up == ends && e.outputs(sel) {
		return true
	}
	if len(sel.FromClause) > 1 || len(links) > 0 {
		up = ends
	}
	for _, n := range sel.FromClause {
		if e.from(n, up) {
			return true
		}
	}
	return false
}

// from looks at an item of FROM.
func (e early) from(n *pgquery.Node, up ender) bool {
	if j := n.GetJoinExpr(); j != nil {
		return e.from(j.Larg, ends) || e.from(j.Rarg, ends)
	}
	return e.query(n.GetRangeSubselect().GetSubquery().GetSelectStmt(), up)
}

// outputs reports whether a column of sel or an item of its ORDER BY or DISTINCT ON may fail.
func (e early) outputs(sel *pgquery.SelectStmt) bool {
	for _, c := range e.b.outputs[sel] {
		if c.val.raises || e.fails(c.val.node) {
			return true
		}
		for _, n := range c.val.rows {
			if e.fails(n) {
				return true
			}
		}
	}
	for _, n := range sel.SortClause {
		if e.fails(n.GetSortBy().GetNode()) {
			return true
		}
	}
	for _, n := range sel.DistinctClause {
		if e.fails(n) {
			return true
		}
	}
	return false
}

func (e early) fails(n *pgquery.Node) bool {
	return e.b.class(n, false) != ClassLeakproof
}

// cutsFirst reports whether the engine puts a LIMIT on sel, or the one above it, below the target list (LimitPushdown of DuckDB 1.5.6).
func cutsFirst(sel *pgquery.SelectStmt) bool {
	const most = 8192
	small := func(n *pgquery.Node) bool {
		return n == nil || n.GetAConst().GetIval() != nil && n.GetAConst().GetIval().GetIval() < most
	}
	if sel.Op != pgquery.SetOperation_SETOP_NONE || sel.LimitCount == nil && sel.LimitOffset != nil || !small(sel.LimitCount) || !small(sel.LimitOffset) ||
		len(sel.SortClause)+len(sel.DistinctClause)+len(sel.WindowClause) > 0 {
		return false
	}
	for _, t := range sel.TargetList {
		for _, f := range all[*pgquery.FuncCall](t) {
			if IsSetReturning(funcName(f)) || f.Over != nil {
				return false
			}
		}
	}
	return true
}

// aggregates reports whether sel, a plain SELECT, makes one row of many.
func aggregates(sel *pgquery.SelectStmt) bool {
	found := len(sel.GroupClause) > 0 || sel.HavingClause != nil
	for _, t := range sel.TargetList {
		descend(t, func(m proto.Message) bool {
			f, ok := m.(*pgquery.FuncCall)
			found = found || ok && f.Over == nil && isAggregate(f)
			_, link := m.(*pgquery.SubLink)
			return !found && !link
		})
	}
	return found
}

// ownLinks returns the subqueries in expressions of sel, but not those inside of them or of subqueries in FROM.
func ownLinks(sel *pgquery.SelectStmt) []*pgquery.SubLink {
	var out []*pgquery.SubLink
	var walk func(m proto.Message) bool
	walk = func(m proto.Message) bool {
		switch x := m.(type) {
		case *pgquery.SubLink:
			out = append(out, x)
			descend(x.Testexpr, walk)
			return false
		case *pgquery.RangeSubselect, *pgquery.WithClause:
			return false
		}
		return true
	}
	descend(sel, walk)
	return out
}
