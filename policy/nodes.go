package policy

import (
	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

func sameMessage(a, b proto.Message) bool { return proto.Equal(a, b) }

func wrap(c *pgquery.A_Const) *pgquery.Node {
	return &pgquery.Node{Node: &pgquery.Node_AConst{AConst: c}}
}

func boolConst(v bool) *pgquery.Node {
	return wrap(&pgquery.A_Const{Val: &pgquery.A_Const_Boolval{Boolval: &pgquery.Boolean{Boolval: v}}})
}

func stringConst(v string) *pgquery.Node {
	return wrap(&pgquery.A_Const{Val: &pgquery.A_Const_Sval{Sval: &pgquery.String{Sval: v}}})
}

func nullConst() *pgquery.Node { return wrap(&pgquery.A_Const{Isnull: true}) }

// intConst returns the literal of 0 ≤ v that fits the tree's 32 bits.
func intConst(v int32) *pgquery.Node {
	return wrap(&pgquery.A_Const{Val: &pgquery.A_Const_Ival{Ival: &pgquery.Integer{Ival: v}}})
}

// decimalConst returns the literal of a number's own digits.
func decimalConst(digits string) *pgquery.Node {
	return wrap(&pgquery.A_Const{Val: &pgquery.A_Const_Fval{Fval: &pgquery.Float{Fval: digits}}})
}

func stringNode(s string) *pgquery.Node {
	return &pgquery.Node{Node: &pgquery.Node_String_{String_: &pgquery.String{Sval: s}}}
}

func columnNode(name string) *pgquery.Node {
	return &pgquery.Node{Node: &pgquery.Node_ColumnRef{ColumnRef: &pgquery.ColumnRef{Fields: []*pgquery.Node{stringNode(name)}}}}
}

func call(name string, args ...*pgquery.Node) *pgquery.Node {
	return &pgquery.Node{Node: &pgquery.Node_FuncCall{FuncCall: &pgquery.FuncCall{
		Funcname: []*pgquery.Node{stringNode(name)}, Args: args, Funcformat: pgquery.CoercionForm_COERCE_EXPLICIT_CALL,
	}}}
}

func operator(op string, left, right *pgquery.Node) *pgquery.Node {
	return &pgquery.Node{Node: &pgquery.Node_AExpr{AExpr: &pgquery.A_Expr{
		Kind: pgquery.A_Expr_Kind_AEXPR_OP, Name: []*pgquery.Node{stringNode(op)}, Lexpr: left, Rexpr: right,
	}}}
}

func castTo(n *pgquery.Node, typeName string) *pgquery.Node {
	return &pgquery.Node{Node: &pgquery.Node_TypeCast{TypeCast: &pgquery.TypeCast{
		Arg: n, TypeName: &pgquery.TypeName{Names: []*pgquery.Node{stringNode(typeName)}, Typemod: -1},
	}}}
}

// boolExpr joins nodes; one alone stays as it is.
func boolExpr(op pgquery.BoolExprType, nodes ...*pgquery.Node) *pgquery.Node {
	if len(nodes) == 1 {
		return nodes[0]
	}
	return &pgquery.Node{Node: &pgquery.Node_BoolExpr{BoolExpr: &pgquery.BoolExpr{Boolop: op, Args: nodes}}}
}
