package classify

import (
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// unknown are functions whose result can be of any length, whatever that of their arguments.
var unknown = set(
	"list_reduce", "reduce", "array_reduce", "range", "generate_series", "list_resize", "array_resize", "json_pretty",
	"list", "array_agg", "string_agg", "group_concat", "listagg", "histogram", "histogram_exact", "approx_top_k", "json_group_array",
	"json_group_object", "map", "bitstring_agg", "map_from_entries",
)

// escaping are functions that write each byte of their argument as up to eight.
var escaping = set(
	"hex", "to_hex", "bin", "to_binary", "to_base64", "base64", "encode", "url_encode", "json_quote", "to_json", "row_to_json",
	"array_to_json", "json_object", "json_array", "strftime", "json",
)

// growing are functions that make a long text of short ones.
var growing = set("repeat", "replace", "regexp_replace", "format", "printf", "concat_ws", "lpad", "rpad")

// elementOf are functions that return an element of a list.
var elementOf = set("unnest", "list_extract", "array_extract", "list_element", "element_at", "list_first", "list_last", "list_min", "list_max", "list_any_value", "list_mode")

// made bounds the result of a call.
func (l *lengths) made(f *pgquery.FuncCall) int64 {
	name, args := nameOf(f), f.Args
	if l.series[f] {
		return naturally
	}
	of := func(i int) int64 {
		if i >= len(args) {
			return 0
		}
		return l.of(args[i])
	}
	number := func(i int) int64 {
		if i < len(args) {
			if k, ok := wholeNumber(args[i]); ok {
				return max(0, k)
			}
		}
		return anyLength
	}
	all := max(naturally, l.sum(args...))
	switch {
	case name == MarkerLambda && len(args) > 0:
		return of(len(args) - 1)
	case unknown[name], (name == "min" || name == "max" || strings.HasPrefix(name, "arg_m")) && len(args) == 3:
		return anyLength
	case escaping[name]:
		return product(8, all)
	case elementOf[name] && len(args) > 0:
		return max(naturally, l.element(args[0]))
	}
	switch name {
	case "repeat":
		return product(of(0), number(1))
	case "lpad", "rpad":
		return max(of(0), product(4, number(1)))
	case "translate":
		return product(4, of(0))
	case "regexp_escape":
		return product(2, all)
	case "to_base", "bitstring":
		return all + maxSize
	case "left", "right":
		return min(of(0), product(4, number(1)))
	case "substring", "substr":
		if len(args) < 3 {
			return of(0)
		}
		return min(of(0), product(4, number(2)))
	case "list_filter", "filter", "array_filter", "split_part", "regexp_extract", "string_split", "split", "str_split", "string_to_array":
		return of(0)
	case "replace":
		if from := args[min(1, len(args)-1)].GetAConst().GetSval().GetSval(); from != "" {
			return product(of(0), max(1, (of(2)+int64(len(from))-1)/int64(len(from))))
		}
		return product(of(0), max(1, of(2)))
	case "regexp_replace":
		return product(of(0)+1, of(2)+1)
	case "concat_ws":
		return product(of(0), int64(len(args))) + all
	case "array_to_string", "list_aggregate", "list_aggr", "list_string_agg", "array_aggregate":
		return product(of(0), 1+all-of(0))
	case "list_transform", "list_apply", "apply", "array_transform", "array_apply":
		return product(of(0), of(len(args)-1))
	case "format", "printf":
		text := args[0].GetAConst().GetSval().GetSval()
		return all + product(int64(strings.Count(text, "{")+strings.Count(text, "%")), all+1000)
	}
	return all
}

func set(names ...string) map[string]bool {
	m := map[string]bool{}
	for _, n := range names {
		m[n] = true
	}
	return m
}
