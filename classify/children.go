package classify

import (
	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// children calls f for every message directly in m, in the order of declaration, until f returns an error, which it returns.
// The switch holds the messages that allow lets through, with all of their fields, since reflection takes ten times as
// long. Any other message is walked by reflection: none is passed over.
func children(m proto.Message, f func(proto.Message) error) error {
	e := &each{f: f}
	if !e.known(m) {
		e.reflected(m.ProtoReflect())
	}
	return e.err
}

// known is children for the messages of the switch. It reports whether m is one of them.
func (e *each) known(m proto.Message) bool {
	switch n := m.(type) {
	case *pgquery.Node:
		if c := content(n); c != nil {
			e.err = e.f(c)
		}
	case *pgquery.SelectStmt:
		e.nodes(n.DistinctClause)
		single(e, n.IntoClause)
		e.nodes(n.TargetList)
		e.nodes(n.FromClause)
		e.node(n.WhereClause)
		e.nodes(n.GroupClause)
		e.node(n.HavingClause)
		e.nodes(n.WindowClause)
		e.nodes(n.ValuesLists)
		e.nodes(n.SortClause)
		e.node(n.LimitOffset)
		e.node(n.LimitCount)
		e.nodes(n.LockingClause)
		single(e, n.WithClause)
		single(e, n.Larg)
		single(e, n.Rarg)
	case *pgquery.ResTarget:
		e.nodes(n.Indirection)
		e.node(n.Val)
	case *pgquery.ColumnRef:
		e.nodes(n.Fields)
	case *pgquery.A_Const:
		e.constant(n)
	case *pgquery.List:
		e.nodes(n.Items)
	case *pgquery.A_Expr:
		e.nodes(n.Name)
		e.node(n.Lexpr)
		e.node(n.Rexpr)
	case *pgquery.BoolExpr:
		e.node(n.Xpr)
		e.nodes(n.Args)
	case *pgquery.FuncCall:
		e.nodes(n.Funcname)
		e.nodes(n.Args)
		e.nodes(n.AggOrder)
		e.node(n.AggFilter)
		single(e, n.Over)
	case *pgquery.NamedArgExpr:
		e.node(n.Xpr)
		e.node(n.Arg)
	case *pgquery.TypeCast:
		e.node(n.Arg)
		single(e, n.TypeName)
	case *pgquery.TypeName:
		e.nodes(n.Names)
		e.nodes(n.Typmods)
		e.nodes(n.ArrayBounds)
	case *pgquery.RangeVar:
		single(e, n.Alias)
	case *pgquery.RangeSubselect:
		e.node(n.Subquery)
		single(e, n.Alias)
	case *pgquery.RangeFunction:
		e.nodes(n.Functions)
		single(e, n.Alias)
		e.nodes(n.Coldeflist)
	case *pgquery.RangeTableSample:
		e.node(n.Relation)
		e.nodes(n.Method)
		e.nodes(n.Args)
		e.node(n.Repeatable)
	case *pgquery.JoinExpr:
		e.node(n.Larg)
		e.node(n.Rarg)
		e.nodes(n.UsingClause)
		single(e, n.JoinUsingAlias)
		e.node(n.Quals)
		single(e, n.Alias)
	case *pgquery.Alias:
		e.nodes(n.Colnames)
	case *pgquery.SubLink:
		e.node(n.Xpr)
		e.node(n.Testexpr)
		e.nodes(n.OperName)
		e.node(n.Subselect)
	case *pgquery.CaseExpr:
		e.node(n.Xpr)
		e.node(n.Arg)
		e.nodes(n.Args)
		e.node(n.Defresult)
	case *pgquery.CaseWhen:
		e.node(n.Xpr)
		e.node(n.Expr)
		e.node(n.Result)
	case *pgquery.SortBy:
		e.node(n.Node)
		e.nodes(n.UseOp)
	case *pgquery.WindowDef:
		e.nodes(n.PartitionClause)
		e.nodes(n.OrderClause)
		e.node(n.StartOffset)
		e.node(n.EndOffset)
	case *pgquery.WithClause:
		e.nodes(n.Ctes)
	case *pgquery.CommonTableExpr:
		e.nodes(n.Aliascolnames)
		e.node(n.Ctequery)
		single(e, n.SearchClause)
		single(e, n.CycleClause)
		e.nodes(n.Ctecolnames)
		e.nodes(n.Ctecoltypes)
		e.nodes(n.Ctecoltypmods)
		e.nodes(n.Ctecolcollations)
	case *pgquery.NullTest:
		e.node(n.Xpr)
		e.node(n.Arg)
	case *pgquery.BooleanTest:
		e.node(n.Xpr)
		e.node(n.Arg)
	case *pgquery.CoalesceExpr:
		e.node(n.Xpr)
		e.nodes(n.Args)
	case *pgquery.MinMaxExpr:
		e.node(n.Xpr)
		e.nodes(n.Args)
	case *pgquery.SQLValueFunction:
		e.node(n.Xpr)
	case *pgquery.GroupingSet:
		e.nodes(n.Content)
	case *pgquery.GroupingFunc:
		e.node(n.Xpr)
		e.nodes(n.Args)
		e.nodes(n.Refs)
	case *pgquery.A_Indirection:
		e.node(n.Arg)
		e.nodes(n.Indirection)
	case *pgquery.A_Indices:
		e.node(n.Lidx)
		e.node(n.Uidx)
	case *pgquery.A_ArrayExpr:
		e.nodes(n.Elements)
	case *pgquery.RowExpr:
		e.node(n.Xpr)
		e.nodes(n.Args)
		e.nodes(n.Colnames)
	case *pgquery.CollateClause:
		e.node(n.Arg)
		e.nodes(n.Collname)
	case *pgquery.A_Star, *pgquery.Integer, *pgquery.Float, *pgquery.Boolean, *pgquery.String, *pgquery.ParamRef:
	default:
		return false
	}
	return true
}

// each calls f until it returns an error.
type each struct {
	f   func(proto.Message) error
	err error
}

func (e *each) node(n *pgquery.Node) {
	if n != nil && e.err == nil {
		e.err = e.f(n)
	}
}

func (e *each) nodes(list []*pgquery.Node) {
	for _, n := range list {
		e.node(n)
	}
}

func single[T any, P interface {
	*T
	proto.Message
}](e *each, m P) {
	if m != nil && e.err == nil {
		e.err = e.f(m)
	}
}

func (e *each) constant(n *pgquery.A_Const) {
	switch v := n.Val.(type) {
	case nil:
	case *pgquery.A_Const_Ival:
		single(e, v.Ival)
	case *pgquery.A_Const_Fval:
		single(e, v.Fval)
	case *pgquery.A_Const_Boolval:
		single(e, v.Boolval)
	case *pgquery.A_Const_Sval:
		single(e, v.Sval)
	default:
		e.reflected(n.ProtoReflect())
	}
}

// reflected is children for a message of any type.
func (e *each) reflected(m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		d := fields.Get(i)
		if d.Kind() != protoreflect.MessageKind || !m.Has(d) {
			continue
		}
		if !d.IsList() {
			if e.err == nil {
				e.err = e.f(m.Get(d).Message().Interface())
			}
			continue
		}
		for list, j := m.Get(d).List(), 0; j < list.Len() && e.err == nil; j++ {
			e.err = e.f(list.Get(j).Message().Interface())
		}
	}
}

// content returns the one message in n, nil if there is none.
func content(n *pgquery.Node) proto.Message {
	if n.GetNode() == nil {
		return nil
	}
	if c := knownContent(n); c != nil {
		return c
	}
	m := n.ProtoReflect()
	if d := m.WhichOneof(m.Descriptor().Oneofs().Get(0)); d != nil {
		return m.Get(d).Message().Interface()
	}
	return nil
}

// knownContent is content for the messages that known knows, nil for any other.
func knownContent(n *pgquery.Node) proto.Message {
	switch t := n.GetNode().(type) {
	case *pgquery.Node_SelectStmt:
		return t.SelectStmt
	case *pgquery.Node_ResTarget:
		return t.ResTarget
	case *pgquery.Node_ColumnRef:
		return t.ColumnRef
	case *pgquery.Node_AStar:
		return t.AStar
	case *pgquery.Node_AConst:
		return t.AConst
	case *pgquery.Node_Integer:
		return t.Integer
	case *pgquery.Node_Float:
		return t.Float
	case *pgquery.Node_Boolean:
		return t.Boolean
	case *pgquery.Node_String_:
		return t.String_
	case *pgquery.Node_List:
		return t.List
	case *pgquery.Node_AExpr:
		return t.AExpr
	case *pgquery.Node_BoolExpr:
		return t.BoolExpr
	case *pgquery.Node_FuncCall:
		return t.FuncCall
	case *pgquery.Node_NamedArgExpr:
		return t.NamedArgExpr
	case *pgquery.Node_TypeCast:
		return t.TypeCast
	case *pgquery.Node_TypeName:
		return t.TypeName
	case *pgquery.Node_RangeVar:
		return t.RangeVar
	case *pgquery.Node_RangeSubselect:
		return t.RangeSubselect
	case *pgquery.Node_RangeFunction:
		return t.RangeFunction
	case *pgquery.Node_RangeTableSample:
		return t.RangeTableSample
	case *pgquery.Node_JoinExpr:
		return t.JoinExpr
	case *pgquery.Node_Alias:
		return t.Alias
	case *pgquery.Node_SubLink:
		return t.SubLink
	case *pgquery.Node_CaseExpr:
		return t.CaseExpr
	case *pgquery.Node_CaseWhen:
		return t.CaseWhen
	case *pgquery.Node_SortBy:
		return t.SortBy
	case *pgquery.Node_WindowDef:
		return t.WindowDef
	case *pgquery.Node_WithClause:
		return t.WithClause
	case *pgquery.Node_CommonTableExpr:
		return t.CommonTableExpr
	case *pgquery.Node_NullTest:
		return t.NullTest
	case *pgquery.Node_BooleanTest:
		return t.BooleanTest
	case *pgquery.Node_CoalesceExpr:
		return t.CoalesceExpr
	case *pgquery.Node_MinMaxExpr:
		return t.MinMaxExpr
	case *pgquery.Node_SqlvalueFunction:
		return t.SqlvalueFunction
	case *pgquery.Node_GroupingSet:
		return t.GroupingSet
	case *pgquery.Node_GroupingFunc:
		return t.GroupingFunc
	case *pgquery.Node_AIndirection:
		return t.AIndirection
	case *pgquery.Node_AIndices:
		return t.AIndices
	case *pgquery.Node_AArrayExpr:
		return t.AArrayExpr
	case *pgquery.Node_RowExpr:
		return t.RowExpr
	case *pgquery.Node_CollateClause:
		return t.CollateClause
	case *pgquery.Node_ParamRef:
		return t.ParamRef
	}
	return nil
}

// locationOf returns where m keeps its position, nil if it has none. It is not ok for a type that children does not know.
func locationOf(m proto.Message) (location *int32, ok bool) {
	switch n := m.(type) {
	case *pgquery.ResTarget:
		return &n.Location, true
	case *pgquery.ColumnRef:
		return &n.Location, true
	case *pgquery.A_Const:
		return &n.Location, true
	case *pgquery.A_Expr:
		return &n.Location, true
	case *pgquery.BoolExpr:
		return &n.Location, true
	case *pgquery.FuncCall:
		return &n.Location, true
	case *pgquery.NamedArgExpr:
		return &n.Location, true
	case *pgquery.TypeCast:
		return &n.Location, true
	case *pgquery.TypeName:
		return &n.Location, true
	case *pgquery.RangeVar:
		return &n.Location, true
	case *pgquery.RangeTableSample:
		return &n.Location, true
	case *pgquery.SubLink:
		return &n.Location, true
	case *pgquery.CaseExpr:
		return &n.Location, true
	case *pgquery.CaseWhen:
		return &n.Location, true
	case *pgquery.SortBy:
		return &n.Location, true
	case *pgquery.WindowDef:
		return &n.Location, true
	case *pgquery.WithClause:
		return &n.Location, true
	case *pgquery.CommonTableExpr:
		return &n.Location, true
	case *pgquery.NullTest:
		return &n.Location, true
	case *pgquery.BooleanTest:
		return &n.Location, true
	case *pgquery.CoalesceExpr:
		return &n.Location, true
	case *pgquery.MinMaxExpr:
		return &n.Location, true
	case *pgquery.SQLValueFunction:
		return &n.Location, true
	case *pgquery.GroupingSet:
		return &n.Location, true
	case *pgquery.GroupingFunc:
		return &n.Location, true
	case *pgquery.A_ArrayExpr:
		return &n.Location, true
	case *pgquery.RowExpr:
		return &n.Location, true
	case *pgquery.CollateClause:
		return &n.Location, true
	case *pgquery.ParamRef:
		return &n.Location, true
	case *pgquery.Node, *pgquery.SelectStmt, *pgquery.A_Star, *pgquery.Integer, *pgquery.Float, *pgquery.Boolean, *pgquery.String, *pgquery.List, *pgquery.RangeSubselect, *pgquery.RangeFunction, *pgquery.JoinExpr, *pgquery.Alias, *pgquery.A_Indirection, *pgquery.A_Indices:
		return nil, true
	}
	return nil, false
}
