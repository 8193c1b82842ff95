package classify

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// Date is an argument of WithArgs that is a day, as YYYY-MM-DD.
type Date string

// WithArgs returns s with the values of its parameters in it, as constants of the tree, and which of them are still to be bound, by
// index: the parameters that are left are numbered anew, in that order. A value that is known here can be weighed like one that the user wrote:
// a condition on a column may then be evaluated at the scan.
//
// A parameter gives way only where that can change neither the result nor its type: beside a column in a comparison, IN or
// BETWEEN, as a pattern of LIKE, and as what a CAST converts. Of the values nil, booleans, integers, strings and Dates do; others stay, since a literal of
// them would not be of the type that they are bound as. Text and Hash stay those of the text that the user wrote. It is an
// UnsupportedError if the number of values is not that of the parameters.
func (s *Statement) WithArgs(args []any) (*Statement, []int, error) {
	if s == nil || len(args) != s.params {
		return nil, nil, &UnsupportedError{Construct: "a number of values that is not that of the parameters", Pos: -1}
	}
	var rest []int
	if s.kind != KindSelect || len(args) == 0 {
		for i := range args {
			rest = append(rest, i)
		}
		return s, rest, nil
	}
	a := &arguments{values: args, used: make([]bool, len(args)), kept: make([]bool, len(args))}
	tree := proto.CloneOf(s.tree)
	eachNode(tree, a.settle)
	number := make([]int32, len(args))
	for _, p := range all[*pgquery.ParamRef](tree) {
		if i := int(p.Number) - 1; i >= 0 && i < len(args) {
			a.kept[i] = true
		}
	}
	for i := range args {
		if a.kept[i] || !a.used[i] {
			rest = append(rest, i)
			number[i] = int32(len(rest))
		}
	}
	for _, p := range all[*pgquery.ParamRef](tree) {
		p.Number = number[p.Number-1]
	}
	c, err := s.withTree(tree)
	if err != nil {
		return nil, nil, err
	}
	c.params, c.sizes = len(rest), make([]int, len(rest))
	for k, i := range rest {
		switch v := args[i].(type) {
		case string:
			c.sizes[k] = len(v)
		case []byte:
			c.sizes[k] = len(v)
		}
	}
	return c, rest, nil
}

// withTree returns s with a copy of its tree in which no table has come or gone.
func (s *Statement) withTree(tree *pgquery.SelectStmt) (*Statement, error) {
	w, err := walkTables(tree)
	if err != nil {
		return nil, err
	}
	if len(w.bases) != len(s.tables) {
		return nil, &UnsupportedError{Construct: "another number of tables", Pos: -1}
	}
	c := *s
	c.tree, c.nodes = tree, w.bases
	return &c, nil
}

// arguments are values on their way into a tree.
type arguments struct {
	values []any
	used   []bool // a constant has taken the place of the parameter somewhere
	kept   []bool // the parameter still stands somewhere
}

// settle replaces the parameters directly in n whose place allows it.
func (a *arguments) settle(n *pgquery.Node) {
	if c := n.GetTypeCast(); c != nil {
		if _, date := a.value(c.Arg).(Date); !date {
			a.replace(c.Arg)
		}
		return
	}
	e := n.GetAExpr()
	if e == nil {
		return
	}
	column := e.Lexpr.GetColumnRef() != nil
	switch e.Kind {
	case pgquery.A_Expr_Kind_AEXPR_OP:
		if isComparison(e) && column {
			a.replace(e.Rexpr)
		} else if isComparison(e) && e.Rexpr.GetColumnRef() != nil {
			a.replace(e.Lexpr)
		}
	case pgquery.A_Expr_Kind_AEXPR_IN, pgquery.A_Expr_Kind_AEXPR_BETWEEN, pgquery.A_Expr_Kind_AEXPR_NOT_BETWEEN:
		for _, item := range e.Rexpr.GetList().GetItems() {
			if column {
				a.replace(item)
			}
		}
	case pgquery.A_Expr_Kind_AEXPR_LIKE, pgquery.A_Expr_Kind_AEXPR_ILIKE:
		// A pattern is text, whatever it is compared with. One that would be refused as a literal stays a value.
		p, text := a.value(e.Rexpr).(string)
		if text && e.Lexpr.GetParamRef() == nil && (len(p) <= maxPattern || len(p) <= maxNeedle && !strings.Contains(p, "_")) {
			a.replace(e.Rexpr)
		}
	}
}

// value returns the value of a parameter, nil for any other node.
func (a *arguments) value(n *pgquery.Node) any {
	if p := n.GetParamRef(); p != nil && p.Number >= 1 && int(p.Number) <= len(a.values) {
		return a.values[p.Number-1]
	}
	return nil
}

func (a *arguments) replace(n *pgquery.Node) {
	p := n.GetParamRef()
	if p == nil || p.Number < 1 || int(p.Number) > len(a.values) {
		return
	}
	if c := literalNode(a.value(n)); c != nil {
		n.Node = c.Node
		a.used[p.Number-1] = true
	}
}

// literalNode returns v as the parser would read its literal, nil if v has none of just its type.
func literalNode(v any) *pgquery.Node {
	switch v := v.(type) {
	case nil:
		return &pgquery.Node{Node: &pgquery.Node_AConst{AConst: &pgquery.A_Const{Isnull: true, Location: -1}}}
	case bool:
		return &pgquery.Node{Node: &pgquery.Node_AConst{AConst: &pgquery.A_Const{
			Val: &pgquery.A_Const_Boolval{Boolval: &pgquery.Boolean{Boolval: v}}, Location: -1,
		}}}
	case int64:
		return integerNode(v)
	case uint64:
		if int64(v) >= 0 {
			return integerNode(int64(v))
		}
	case string:
		if utf8.ValidString(v) && !strings.ContainsRune(v, 0) {
			return pgquery.MakeAConstStrNode(v, -1)
		}
	case Date:
		if t, err := time.Parse(time.DateOnly, string(v)); err != nil || t.Year() < 1 {
			return nil
		}
		return &pgquery.Node{Node: &pgquery.Node_TypeCast{TypeCast: &pgquery.TypeCast{
			Arg:      pgquery.MakeAConstStrNode(string(v), -1),
			TypeName: &pgquery.TypeName{Names: []*pgquery.Node{pgquery.MakeStrNode("date")}, Typemod: -1},
			Location: -1,
		}}}
	}
	return nil
}

// integerNode returns an integer literal. The parser keeps one of more than 32 bits as text.
func integerNode(v int64) *pgquery.Node {
	if int64(int32(v)) == v {
		return pgquery.MakeAConstIntNode(v, -1)
	}
	return &pgquery.Node{Node: &pgquery.Node_AConst{AConst: &pgquery.A_Const{
		Val: &pgquery.A_Const_Fval{Fval: &pgquery.Float{Fval: strconv.FormatInt(v, 10)}}, Location: -1,
	}}}
}
