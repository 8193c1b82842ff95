package classify

import (
	"strconv"
	"strings"
	"sync"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// allowedFields is the table allowed, split.
var allowedFields = sync.OnceValue(func() map[protoreflect.Name]map[protoreflect.Name]bool {
	m := make(map[protoreflect.Name]map[protoreflect.Name]bool, len(allowed))
	for message, fields := range allowed {
		m[message] = names(fields)
	}
	return m
})

// allowedValues is the list allowedEnums, split.
var allowedValues = sync.OnceValue(func() map[protoreflect.Name]bool { return names(allowedEnums) })

func names(s string) map[protoreflect.Name]bool {
	m := map[protoreflect.Name]bool{}
	for _, f := range strings.Fields(s) {
		m[protoreflect.Name(f)] = true
	}
	return m
}

// allowed lists, for each message that a tree may hold, the fields that may be set. A field that a later version of
// the parser adds is refused until it is listed.
var allowed = map[protoreflect.Name]string{
	"SelectStmt": `distinct_clause target_list from_clause where_clause group_clause group_distinct having_clause window_clause
 values_lists sort_clause limit_offset limit_count limit_option with_clause op all larg rarg`,
	"ResTarget":        "name val location",
	"ColumnRef":        "fields location",
	"A_Star":           "",
	"A_Const":          "isnull ival fval boolval sval location",
	"Integer":          "ival",
	"Float":            "fval",
	"Boolean":          "boolval",
	"String":           "sval",
	"List":             "items",
	"A_Expr":           "kind name lexpr rexpr location",
	"BoolExpr":         "boolop args location",
	"FuncCall":         "funcname args agg_order agg_filter over agg_within_group agg_star agg_distinct funcformat location",
	"NamedArgExpr":     "arg name argnumber location",
	"TypeCast":         "arg type_name location",
	"TypeName":         "names typmods typemod array_bounds location",
	"RangeVar":         "catalogname schemaname relname inh relpersistence alias location",
	"RangeSubselect":   "lateral subquery alias",
	"RangeFunction":    "lateral ordinality functions alias",
	"RangeTableSample": "relation method args location",
	"JoinExpr":         "jointype is_natural larg rarg using_clause quals alias",
	"Alias":            "aliasname colnames",
	"SubLink":          "sub_link_type testexpr oper_name subselect location",
	"CaseExpr":         "arg args defresult location",
	"CaseWhen":         "expr result location",
	"SortBy":           "node sortby_dir sortby_nulls location",
	"WindowDef":        "name refname partition_clause order_clause frame_options start_offset end_offset location",
	"WithClause":       "ctes recursive location",
	"CommonTableExpr":  "ctename aliascolnames ctematerialized ctequery location",
	"NullTest":         "arg nulltesttype location",
	"BooleanTest":      "arg booltesttype location",
	"CoalesceExpr":     "args location",
	"MinMaxExpr":       "op args location",
	"SQLValueFunction": "op typmod location",
	"GroupingSet":      "kind content location",
	"GroupingFunc":     "args location",
	"A_Indirection":    "arg indirection",
	"A_Indices":        "is_slice lidx uidx",
	"A_ArrayExpr":      "elements location",
	"RowExpr":          "args row_format location",
	"CollateClause":    "arg collname location",
	"ParamRef":         "number location",
}

const allowedEnums = `JOIN_INNER JOIN_LEFT JOIN_FULL JOIN_RIGHT
 AEXPR_OP AEXPR_OP_ANY AEXPR_OP_ALL AEXPR_DISTINCT AEXPR_NOT_DISTINCT AEXPR_NULLIF AEXPR_IN AEXPR_LIKE AEXPR_ILIKE AEXPR_SIMILAR
 AEXPR_BETWEEN AEXPR_NOT_BETWEEN
 EXISTS_SUBLINK ALL_SUBLINK ANY_SUBLINK EXPR_SUBLINK ARRAY_SUBLINK
 SETOP_NONE SETOP_UNION SETOP_INTERSECT SETOP_EXCEPT
 SORTBY_DEFAULT SORTBY_ASC SORTBY_DESC SORTBY_NULLS_DEFAULT SORTBY_NULLS_FIRST SORTBY_NULLS_LAST
 LIMIT_OPTION_DEFAULT LIMIT_OPTION_COUNT
 COERCE_EXPLICIT_CALL COERCE_SQL_SYNTAX COERCE_IMPLICIT_CAST
 AND_EXPR OR_EXPR NOT_EXPR IS_NULL IS_NOT_NULL
 IS_TRUE IS_NOT_TRUE IS_FALSE IS_NOT_FALSE IS_UNKNOWN IS_NOT_UNKNOWN IS_GREATEST IS_LEAST
 SVFOP_CURRENT_DATE SVFOP_CURRENT_TIME SVFOP_CURRENT_TIMESTAMP SVFOP_LOCALTIME SVFOP_LOCALTIMESTAMP
 SVFOP_CURRENT_CATALOG SVFOP_CURRENT_SCHEMA SVFOP_CURRENT_USER SVFOP_CURRENT_ROLE SVFOP_SESSION_USER SVFOP_USER
 GROUPING_SET_EMPTY GROUPING_SET_SIMPLE GROUPING_SET_ROLLUP GROUPING_SET_CUBE GROUPING_SET_SETS
 CTEMaterializeDefault CTEMaterializeAlways CTEMaterializeNever`

// constructNames are the words for messages that users know under another name.
var constructNames = map[string]string{
	"ExplainStmt": "EXPLAIN", "VariableShowStmt": "SHOW", "VariableSetStmt": "SET", "XmlExpr": "XML", "JsonIsPredicate": "IS JSON",
	"InsertStmt": "INSERT", "UpdateStmt": "UPDATE", "DeleteStmt": "DELETE", "MergeStmt": "MERGE", "IntoClause": "SELECT INTO",
	"LockingClause": "FOR UPDATE", "CTESearchClause": "SEARCH", "CTECycleClause": "CYCLE", "RangeTableFunc": "XMLTABLE",
	"JsonTable": "JSON_TABLE", "BitString": "a bit string", "CurrentOfExpr": "CURRENT OF", "SetToDefault": "DEFAULT",
	"JsonObjectConstructor": "JSON_OBJECT with key: value", "JsonArrayConstructor": "JSON_ARRAY", "MergeSupportFunc": "merge_action()",
	"SelectStmt": "a subquery", "SubLink": "a subquery", "ParamRef": "a parameter", "WindowDef": "a window", "GroupingFunc": "GROUPING",
}

func constructName(message string) string {
	if s := constructNames[message]; s != "" {
		return s
	}
	return strings.TrimSuffix(message, "Stmt")
}

// fieldNames are the words for fields that are refused.
var fieldNames = map[string]string{
	"SelectStmt.into_clause": "SELECT INTO", "SelectStmt.locking_clause": "FOR UPDATE", "CommonTableExpr.search_clause": "SEARCH",
	"CommonTableExpr.cycle_clause": "CYCLE", "JoinExpr.join_using_alias": "an alias of USING", "FuncCall.func_variadic": "VARIADIC",
	"ResTarget.indirection": "a target with a subscript", "RangeFunction.is_rowsfrom": "ROWS FROM",
	"RangeFunction.coldeflist": "a column definition list", "RangeTableSample.repeatable": "TABLESAMPLE", "SortBy.use_op": "ORDER BY … USING",
	"A_Const.bsval": "a bit string",
}

func fieldName(message, field string) string {
	if s := fieldNames[message+"."+field]; s != "" {
		return s
	}
	return strings.ReplaceAll(field, "_", " ") + " of " + constructName(message)
}

func enumName(f protoreflect.FieldDescriptor, v protoreflect.EnumValueDescriptor) string {
	if v == nil {
		return "an unknown " + string(f.Name())
	}
	switch v.Name() {
	case "LIMIT_OPTION_WITH_TIES":
		return "WITH TIES"
	case "AEXPR_BETWEEN_SYM", "AEXPR_NOT_BETWEEN_SYM":
		return "BETWEEN SYMMETRIC"
	case "SORTBY_USING":
		return "ORDER BY … USING"
	}
	s := string(v.Name())
	if t, ok := strings.CutPrefix(s, "SVFOP_"); ok {
		return t
	}
	return s
}

// statementName names a statement that is no SELECT.
func statementName(n *pgquery.Node) string {
	c := content(n)
	if c == nil {
		return "an empty statement"
	}
	return constructName(string(c.ProtoReflect().Descriptor().Name()))
}

// constant returns the text of a number or a string, and whether it is a string; "" for any other constant.
func constant(c *pgquery.A_Const) (string, bool) {
	switch v := c.Val.(type) {
	case *pgquery.A_Const_Ival:
		return strconv.Itoa(int(v.Ival.GetIval())), false
	case *pgquery.A_Const_Fval:
		return v.Fval.GetFval(), false
	case *pgquery.A_Const_Sval:
		return v.Sval.GetSval(), true
	}
	return "", false
}
