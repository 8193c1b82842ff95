package ballista

import (
	"cmp"

	pgquery "github.com/pganalyze/pg_query_go/v6"

	"gatehouse/plan"
)

// estimate is how many rows there are at most, for the optimiser. Where some are hidden it says the order of magnitude alone: by the plan,
// statements with errors of their own fail or do not. Of the size of values the scheduler is told nothing: it goes by their types.
func estimate(r *plan.Relation) int64 { return cmp.Or(r.Scan.Rough, r.Scan.Rows) }

// expected is how many of them meet the statement's own conditions on the relation, by the form of these alone. It says of which relations keys are
// few enough to leave out rows by.
func expected(r *plan.Relation) int64 {
	share := 1.0
	for _, n := range r.Pushed {
		share *= selectivity(n)
	}
	// Conditions depend on each other: a product of many says too little.
	return int64(float64(estimate(r)) * max(share, least))
}

// The shares of rows for which a condition is true, as System R guesses them without an index: "Access Path Selection in a Relational Database
// Management System", table 1.
const (
	ofEqual   = 1.0 / 10
	ofRange   = 1.0 / 3
	ofBetween = 1.0 / 4
	ofNull    = 1.0 / 10
	mostIn    = 1.0 / 2
	ofOther   = 1.0 / 3
	least     = 1.0 / 1000
)

// selectivity is the share of rows for which a condition is true.
func selectivity(n *pgquery.Node) float64 {
	switch x := n.GetNode().(type) {
	case *pgquery.Node_BoolExpr:
		return combined(x.BoolExpr)
	case *pgquery.Node_NullTest:
		if x.NullTest.Nulltesttype == pgquery.NullTestType_IS_NOT_NULL {
			return 1 - ofNull
		}
		return ofNull
	case *pgquery.Node_AExpr:
		return compared(x.AExpr)
	}
	return ofOther
}

func combined(b *pgquery.BoolExpr) float64 {
	all, none := 1.0, 1.0
	for _, a := range b.Args {
		s := selectivity(a)
		all, none = all*s, none*(1-s)
	}
	switch b.Boolop {
	case pgquery.BoolExprType_AND_EXPR:
		return all
	case pgquery.BoolExprType_OR_EXPR:
		return 1 - none
	}
	return none // NOT has one argument
}

func compared(e *pgquery.A_Expr) float64 {
	name := e.Name[len(e.Name)-1].GetString_().GetSval()
	share := ofOther
	switch e.Kind {
	case pgquery.A_Expr_Kind_AEXPR_OP:
		switch name {
		case "=":
			share = ofEqual
		case "<>", "!=":
			share = 1 - ofEqual
		case "<", "<=", ">", ">=":
			share = ofRange
		}
	case pgquery.A_Expr_Kind_AEXPR_IN:
		share = min(ofEqual*float64(len(e.Rexpr.GetList().GetItems())), mostIn)
		if name == "<>" {
			share = 1 - share
		}
	case pgquery.A_Expr_Kind_AEXPR_BETWEEN:
		share = ofBetween
	case pgquery.A_Expr_Kind_AEXPR_NOT_BETWEEN:
		share = 1 - ofBetween
	case pgquery.A_Expr_Kind_AEXPR_LIKE, pgquery.A_Expr_Kind_AEXPR_ILIKE:
		share = ofEqual
		if name == "!~~" || name == "!~~*" {
			share = 1 - ofEqual
		}
	}
	return share
}
