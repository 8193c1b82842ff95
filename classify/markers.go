package classify

// Markers are how syntax that PostgreSQL's grammar lacks survives it. The pre-pass rewrites the source form to
// the marker form, the tree holds the marker, and classify/printer prints the engine's syntax from it. No user can
// write one: the guard refuses every identifier that starts with MarkerPrefix.
//
// In the tree a marker is a FuncCall with one name part, unless it says otherwise. Nothing else in the tree starts
// with MarkerPrefix, but for the CTE names of governed relations ("__gw_1", "__gw_2", …), which only a rewrite adds.
//
//	marker                        arguments                              source form
//	__gw_try(x)                   one TypeCast                           TRY_CAST(e AS t)
//	__gw_all()                    none; the whole GROUP BY item, or the  GROUP BY ALL; ORDER BY ALL [DESC]
//	                              node of the only SortBy
//	__gw_star([q.*], part…)       a ColumnRef ending in A_Star if the    * or q.* with EXCLUDE (…), REPLACE (…), RENAME (…)
//	                              star was qualified, then parts; it is
//	                              the val of a ResTarget without name
//	__gw_exclude(c, …)            ColumnRefs                             EXCLUDE (c, …): a part of __gw_star
//	__gw_replace(__gw_as(e,n), …) e any expression over the star's       REPLACE (e AS n, …): a part of __gw_star
//	                              relations, n a one-part ColumnRef:
//	                              the name of the column replaced
//	__gw_rename(__gw_as(c,n), …)  c a ColumnRef, n a one-part ColumnRef  RENAME (c AS n, …): a part of __gw_star
//	                              that names an OUTPUT, never a column
//	__gw_list(e, …)               expressions, none for []               [e, …]
//	__gw_struct(__gw_field(k,v)…) k a string A_Const: the field's name   {'k': v, …}, {k: v, …}
//	__gw_map(__gw_entry(k,v)…)    expressions, none for MAP {}           MAP {k: v, …}
//	__gw_lambda(p, …, e)          p, … one-part ColumnRefs that DECLARE  lambda p, …: e; p -> e; (p, …) -> e
//	                              names seen only inside e, the last
//	                              argument; e also sees all outer names
//	__gw_interval(e, 'unit')      e any expression, unit a lower-case    INTERVAL (e) unit; INTERVAL ? unit
//	                              singular string A_Const
//	struct(__gw_field(k,v)…),     a TypeName whose modifiers are those;  STRUCT(k type, …), MAP(key, value)
//	map(v, v)                     v a CAST of NULL to the part's type
//	__gw_asof()                   none; the first of the ANDed           a ASOF JOIN b ON e, a ASOF LEFT JOIN b ON e
//	                              conditions of an INNER or LEFT join's
//	                              ON
//	__gw_ignore_nulls()           none; the last argument of a window    IGNORE NULLS
//	                              function that knows it
//
// Not FuncCalls:
//
//   - QUALIFY e: the SelectStmt's window_clause has, last, a WindowDef with name QualifyWindow and no reference, whose
//     only order_clause item is a SortBy with node e (default direction). e is a predicate, not an ordering; it may name
//     output aliases.
//   - time travel: the RangeVar sits in a RangeTableSample (relation = the RangeVar, which carries the alias) whose method
//     is one String, MarkerAtVersion or MarkerAtTimestamp, and whose args is one constant. The point in time is already in
//     TableRef.Travel, and a rewrite must drop the RangeTableSample. No other RangeTableSample is ever accepted.
//   - integer division: an A_Expr AEXPR_OP whose name is "//". PostgreSQL never produces that name by itself here; its
//     precedence in the tree is that of "/".
//   - ? and $n: ParamRef, numbered from 1. A statement uses one of the two styles.
//   - an unquoted identifier with upper-case letters keeps them in the tree; every look-up is case-insensitive, exact match first.
//     Function and type names are lower-case, with no schema.
const (
	MarkerPrefix = "__gw_"

	MarkerTry      = "__gw_try"
	MarkerAll      = "__gw_all"
	MarkerStar     = "__gw_star"
	MarkerExclude  = "__gw_exclude"
	MarkerReplace  = "__gw_replace"
	MarkerRename   = "__gw_rename"
	MarkerAs       = "__gw_as"
	MarkerList     = "__gw_list"
	MarkerStruct   = "__gw_struct"
	MarkerField    = "__gw_field"
	MarkerMap      = "__gw_map"
	MarkerEntry    = "__gw_entry"
	MarkerLambda   = "__gw_lambda"
	MarkerInterval = "__gw_interval"
	MarkerIgnore   = "__gw_ignore_nulls"
	MarkerAsof     = "__gw_asof"

	QualifyWindow     = "__gw_qualify"
	MarkerAtVersion   = "__gw_at_version"
	MarkerAtTimestamp = "__gw_at_timestamp"
)
