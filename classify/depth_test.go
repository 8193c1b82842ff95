package classify

import (
	"errors"
	"testing"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// nots is a column with n times NOT before it.
func nots(n int) *pgquery.Node {
	at := &pgquery.Node{Node: &pgquery.Node_ColumnRef{ColumnRef: &pgquery.ColumnRef{Fields: []*pgquery.Node{pgquery.MakeStrNode("a")}}}}
	for range n {
		at = &pgquery.Node{Node: &pgquery.Node_BoolExpr{BoolExpr: &pgquery.BoolExpr{Boolop: pgquery.BoolExprType_NOT_EXPR, Args: []*pgquery.Node{at}}}}
	}
	return at
}

func selectOf(target, from *pgquery.Node) *pgquery.SelectStmt {
	s := &pgquery.SelectStmt{
		TargetList:  []*pgquery.Node{{Node: &pgquery.Node_ResTarget{ResTarget: &pgquery.ResTarget{Val: target}}}},
		LimitOption: pgquery.LimitOption_LIMIT_OPTION_DEFAULT, Op: pgquery.SetOperation_SETOP_NONE,
	}
	if from != nil {
		s.FromClause = []*pgquery.Node{from}
	}
	return s
}

func table(name string) *pgquery.Node {
	return &pgquery.Node{Node: &pgquery.Node_RangeVar{RangeVar: &pgquery.RangeVar{Relname: name, Inh: true}}}
}

// TestDepths holds how deep each walk over a tree goes: exactly so far, and it refuses one level more. No parser gives such a tree, and
// without an end it would take the process with it.
func TestDepths(t *testing.T) {
	for _, c := range []struct {
		what string
		most int // levels
		walk func(levels int) bool
	}{
		{"allow", maxDepth/2 - 2, func(n int) bool { return newAllow().message(nots(n)) == nil }},
		{"visit", maxDepth/2 - 2, func(n int) bool { return visit(nots(n), func(proto.Message) error { return nil }) == nil }},
		{"equal", maxDepth/2 - 3, func(n int) bool {
			a := selectOf(nots(n), nil)
			return EqualTrees(a, proto.CloneOf(a))
		}},
		{"class", maxDepth - 1, func(n int) bool {
			return ExprClassTyped(nots(n), func(*pgquery.ColumnRef) string { return "BOOLEAN" }) == ClassLeakproof
		}},
		{"tables", maxDepth/2 - 3, func(n int) bool { _, err := walkTables(selectOf(nots(n), nil)); return err == nil }},
		{"tables in a subquery", maxDepth/4 - 2, func(n int) bool {
			from := table("t")
			for range n {
				from = &pgquery.Node{Node: &pgquery.Node_RangeSubselect{RangeSubselect: &pgquery.RangeSubselect{Subquery: &pgquery.Node{Node: &pgquery.Node_SelectStmt{SelectStmt: selectOf(nots(0), from)}}}}}
			}
			_, err := walkTables(selectOf(nots(0), from))
			return err == nil
		}},
		{"bind an expression", maxDepth - 1, func(n int) bool {
			_, err := (&binder{refs: map[*pgquery.ColumnRef]*resolved{}}).expr(nots(n), &scope{lambdas: []string{"a"}, from: &from{}})
			return !tooDeep(err)
		}},
		{"bind a FROM item", maxDepth - 1, func(n int) bool {
			from := table("t")
			for range n {
				from = &pgquery.Node{Node: &pgquery.Node_JoinExpr{JoinExpr: &pgquery.JoinExpr{Jointype: pgquery.JoinType_JOIN_INNER, Larg: from}}}
			}
			_, err := (&binder{walk: &tableWalk{}, visited: map[*pgquery.RangeVar]bool{}}).fromItem(from, nil, nil)
			return !tooDeep(err)
		}},
		{"bind a query", maxDepth - 2, func(n int) bool {
			sel := &pgquery.SelectStmt{Op: pgquery.SetOperation_SETOP_NONE}
			for range n {
				sel = &pgquery.SelectStmt{Op: pgquery.SetOperation_SETOP_UNION, Larg: sel, Rarg: &pgquery.SelectStmt{Op: pgquery.SetOperation_SETOP_NONE}}
			}
			_, err := (&binder{outputs: map[*pgquery.SelectStmt][]*column{}}).query(sel, nil, shape{})
			return !tooDeep(err)
		}},
	} {
		lo, hi := 0, 2*maxDepth
		for lo+1 < hi {
			if mid := (lo + hi) / 2; c.walk(mid) {
				lo = mid
			} else {
				hi = mid
			}
		}
		if lo != c.most {
			t.Errorf("%s: %d levels, want %d", c.what, lo, c.most)
		}
	}
}

// TestDepthsSideBySide: what stands side by side is not deep, however much there is of it.
func TestDepthsSideBySide(t *testing.T) {
	b := &binder{walk: &tableWalk{}, visited: map[*pgquery.RangeVar]bool{}, outputs: map[*pgquery.SelectStmt][]*column{}, refs: map[*pgquery.ColumnRef]*resolved{}}
	for what, walk := range map[string]func() error{
		"expressions": func() error { _, err := b.expr(nots(1), &scope{lambdas: []string{"a"}, from: &from{}}); return err },
		"FROM items":  func() error { _, err := b.fromItem(table("t"), nil, nil); return err },
		"queries": func() error {
			_, err := b.query(&pgquery.SelectStmt{Op: pgquery.SetOperation_SETOP_NONE}, nil, shape{})
			return err
		},
	} {
		for n := range maxDepth + 1 {
			if err := walk(); tooDeep(err) {
				t.Errorf("%d %s: %v", n, what, err)
				break
			}
		}
	}
}

func tooDeep(err error) bool {
	e, ok := errors.AsType[*UnsupportedError](err)
	return ok && e.Limit
}
