package duckdb

import "errors"

// The engine loses the states of some aggregates. While it groups, it moves groups that are to be spilled out of its hash table, and a
// statement that ends then, by an error or by an interrupt, frees these groups without their states: what a state has outside of the
// engine's own blocks is nobody's for ever. An instance that has no place to spill to keeps all groups in its hash table, which frees
// both. So a statement that groups with such an aggregate runs in an instance of that kind.

// errLosesStates asks for an instance that does not spill.
var errLosesStates = errors.New("the statement's states would be lost")

// wholeStates are the aggregates whose states lie within the engine's blocks, for all types of arguments.
var wholeStates = set(
	"count", "count_star", "count_if", "countif", "sum", "sum_no_overflow", "avg", "mean", "fsum", "kahan_sum", "sumkahan", "favg", "product",
	"any_value", "arbitrary", "first", "arg_min", "arg_max", "argmin", "argmax", "min_by", "max_by", "arg_min_null", "arg_max_null",
	"arg_min_nulls_last", "arg_max_nulls_last", "list", "array_agg", "string_agg", "group_concat", "listagg", "bool_and", "bool_or",
	"stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop", "covar_samp", "covar_pop", "corr", "sem", "skewness", "kurtosis",
	"kurtosis_pop", "regr_avgx", "regr_avgy", "regr_count", "regr_intercept", "regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy",
)

// fixedStates are those of which that holds if the argument has a fixed width.
var fixedStates = set("min", "max", "last", "bit_and", "bit_or", "bit_xor")

var fixedWidth = set(
	"BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT", "FLOAT",
	"DOUBLE", "DECIMAL", "DATE", "TIME", "TIME_NS", "TIME WITH TIME ZONE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS",
	"TIMESTAMP WITH TIME ZONE", "INTERVAL", "UUID",
)

// outline is what a plan says of its statement.
type outline struct {
	operators int
	order     order
	outside   bool // some aggregate has states outside of the engine's blocks
	open      bool // some aggregate has if its argument's type is another one
	grouped   bool // some aggregate has groups, or a subquery could get them
}

// loses reports whether states could be lost. Where the types of parameters are not known, any type is possible.
func (s *outline) loses(typed bool) bool { return s.grouped && (s.outside || s.open && !typed) }

// look notes one node of a plan.
func (s *outline) look(node map[string]any) {
	switch node["type"] {
	case "LOGICAL_AGGREGATE_AND_GROUP_BY":
		groups, _ := node["groups"].([]any)
		s.grouped = s.grouped || len(groups) > 0
	case "LOGICAL_DEPENDENT_JOIN", "LOGICAL_DELIM_JOIN":
		s.grouped = true
	}
	s.order.look(node)
	if node["expression_class"] != "BOUND_AGGREGATE" {
		return
	}
	name, _ := node["name"].(string)
	args, _ := node["arguments"].([]any)
	_, sorted := node["order_bys"]
	switch {
	case sorted:
		s.outside = true
	case isOurs(name), wholeStates[name], len(args) > 1 && (name == "min" || name == "max"):
	case fixedStates[name] && len(args) == 1:
		arg, _ := args[0].(map[string]any)
		id, _ := arg["id"].(string)
		s.outside = s.outside || !fixedWidth[id]
		s.open = true
	default:
		s.outside = true
	}
}
