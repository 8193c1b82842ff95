package printer

import (
	"math"
	"strconv"
	"strings"
)

// DataFusion is the SQL of DataFusion 55, as far as it means the same as DuckDB's. Names and types are a closed list: what is not on it
// can't be printed. What an operator or function means for the types at hand is decided where types are known, see executors/ballista.
func DataFusion() Dialect { return datafusion }

var datafusion = Dialect{
	name: "datafusion",
	types: map[string]string{
		"boolean": "BOOLEAN", "tinyint": "TINYINT", "smallint": "SMALLINT", "integer": "INT", "bigint": "BIGINT", "real": "REAL",
		"double": "DOUBLE", "decimal": "DECIMAL", "varchar": "VARCHAR", "date": "DATE", "timestamp": "TIMESTAMP(6)",
	},
	casts:     map[string]string{"uuid": "gw_to_uuid({x})", "time": "gw_to_time({x})", "blob": "gw_to_blob({x})"},
	defaults:  map[string]string{"decimal": "(18, 3)"},
	operators: same("=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "||"),
	functions: map[string]string{
		"count": "count", "sum": "sum", "bool_and": "bool_and", "bool_or": "bool_or",
		"row_number": "row_number", "rank": "rank", "dense_rank": "dense_rank", "percent_rank": "percent_rank", "cume_dist": "cume_dist", "ntile": "ntile",
		"lag": "lag", "lead": "lead", "first_value": "first_value", "last_value": "last_value", "nth_value": "nth_value",
		"ifnull": "coalesce", "greatest": "gw_greatest", "least": "gw_least",
		"abs": "gw_abs", "sign": "gw_sign", "ceil": "gw_ceil", "ceiling": "gw_ceil", "floor": "gw_floor",
		"sqrt": "gw_sqrt", "exp": "gw_exp", "ln": "gw_ln", "log10": "gw_log10", "log2": "gw_log2", "pow": "gw_pow", "power": "gw_pow",
		"upper": "gw_upper", "ucase": "gw_upper", "lower": "gw_lower", "lcase": "gw_lower", "strlen": "gw_strlen",
		"length": "gw_length", "len": "gw_length", "char_length": "gw_length", "character_length": "gw_length",
		"ascii": "gw_ascii", "strpos": "gw_strpos", "instr": "gw_strpos", "position": "gw_strpos", "contains": "gw_contains", "starts_with": "gw_starts_with",
		"prefix": "gw_starts_with", "ends_with": "gw_ends_with", "suffix": "gw_ends_with", "replace": "gw_replace", "concat": "gw_concat",
		"concat_ws": "gw_concat_ws", "left": "gw_left", "right": "gw_right", "split_part": "gw_split_part", "lpad": "gw_lpad", "rpad": "gw_rpad",
		"sha256": "gw_sha256", "__gw_hash": "gw_hash", "last_day": "gw_last_day", "dayname": "gw_dayname", "monthname": "gw_monthname",
		"year": "gw_part_year", "month": "gw_part_month", "day": "gw_part_day", "dayofmonth": "gw_part_day", "quarter": "gw_part_quarter",
		"dayofweek": "gw_part_dow", "weekday": "gw_part_dow", "isodow": "gw_part_isodow", "dayofyear": "gw_part_doy", "week": "gw_part_week",
		"weekofyear": "gw_part_week", "hour": "gw_part_hour", "minute": "gw_part_minute", "second": "gw_part_second",
	},
	closed: true,
	own:    func(name string) bool { return name == "__gw_hash" }, // of policies: their executor has its key
	// An average is the quotient of the exact sum. What is not finite is an error.
	rewrites: map[string]string{
		"avg": "gw_quotient(sum({distinct}{x}){over}, count({distinct}{x}){over})", "mean": "gw_quotient(sum({distinct}{x}){over}, count({distinct}{x}){over})",
		"min": "gw_sorted(min(gw_sortable({x})){over})", "max": "gw_sorted(max(gw_sortable({x})){over})",
		"stddev": spread("gw_stddev"), "stddev_samp": spread("gw_stddev"), "stddev_pop": spread("gw_stddev_pop"),
		"variance": spread("gw_var"), "var_samp": spread("gw_var"), "var_pop": spread("gw_var_pop"),
	},
	byArgs: parts(map[string]string{
		"substring/2": "gw_substr_2", "substr/2": "gw_substr_2", "substring/3": "gw_substr_3", "substr/3": "gw_substr_3",
		"round/1": "gw_round_0", "round/2.0": "gw_round_0", "round/2.1": "gw_round_1", "round/2.2": "gw_round_2", "round/2.3": "gw_round_3",
		"round/2.4": "gw_round_4", "trim/1": "gw_trim", "ltrim/1": "gw_ltrim", "rtrim/1": "gw_rtrim", "trim/2": "gw_trim_of", "ltrim/2": "gw_ltrim_of",
		"rtrim/2": "gw_rtrim_of", "log/1": "gw_log10", "regexp_matches/2": "gw_regexp_matches", "regexp_full_match/2": "gw_regexp_full",
		"regexp_replace/3": "gw_regexp_replace", "regexp_replace/4.g": "gw_regexp_replace_all", "regexp_extract/2": "gw_regexp_extract_0", "regexp_extract/3.0": "gw_regexp_extract_0",
		"regexp_extract/3.1": "gw_regexp_extract_1", "regexp_extract/3.2": "gw_regexp_extract_2", "regexp_extract/3.3": "gw_regexp_extract_3",
	}),
	calls:    map[string]string{"%": "gw_mod", "//": "gw_div", "~": "gw_regexp_full"},
	grouping: "CAST(grouping({x}) AS BIGINT)",
	words:    func(string) bool { return true },
	number:   datafusionNumber,
	quoted:   true,
}

// spread is a measure of dispersion by its name in the engine.
func spread(name string) string {
	return "gw_finite(" + name + "(gw_cast({x}, CAST(NULL AS DOUBLE))){over})"
}

// parts adds the functions that take the name of a part of a date.
func parts(names map[string]string) map[string]string {
	for _, f := range []struct{ name, ours, parts string }{
		{"date_part", "gw_part_", "year month day quarter dow isodow doy week hour minute second"},
		{"date_trunc", "gw_trunc_", "year quarter month week day hour minute second"},
		{"datetrunc", "gw_trunc_", "year quarter month week day hour minute second"},
		{"date_diff", "gw_diff_", "year quarter month day"},
		{"datediff", "gw_diff_", "year quarter month day"},
	} {
		for _, part := range strings.Fields(f.parts) {
			names[f.name+"/"+part] = f.ours + part
		}
	}
	names["date_part/dayofweek"], names["date_part/dayofyear"] = "gw_part_dow", "gw_part_doy"
	return names
}

// datafusionNumber gives a literal the type that DuckDB gives it.
func datafusionNumber(text string) (string, bool) {
	switch {
	case strings.ContainsAny(text, "eE"):
		return "CAST('" + text + "' AS DOUBLE)", true
	case strings.Contains(text, ".") && len(text) > 39: // more digits than a decimal has
		return "CAST('" + text + "' AS DOUBLE)", true
	case strings.Contains(text, "."):
		return text, true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case text == "9223372036854775808": // a BIGINT with its sign, and none without
		return "", false
	case err != nil:
		return "CAST(" + text + ". AS DECIMAL(38, 0))", len(text) <= 38 && strings.Trim(text, "0123456789") == ""
	case n >= math.MinInt32 && n <= math.MaxInt32:
		return "CAST(" + text + " AS INT)", true
	}
	return text, true
}
