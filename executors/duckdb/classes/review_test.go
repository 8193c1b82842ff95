package classes

import (
	"strings"

	"gatehouse/classify"
)

// reads says of functions that are not VOLATILE for the engine why nobody may call them.
var reads = map[string]string{
	"alias": "shows names of the rewritten statement", "vector_type": "shows how values are stored, also hidden ones", "stats": "shows statistics of hidden rows",
	"current_setting": "reads settings", "getvariable": "reads the session", "current_query": "shows the rewritten statement", "current_connection_id": "reads the session",
	"current_query_id": "reads the session", "current_transaction_id": "reads the session", "txid_current": "reads the session", "current_schemas": "reads the session",
	"in_search_path": "reads the session", "currval": "reads a sequence", "nextval": "changes a sequence", "write_log": "writes the log", "sleep_ms": "takes time", "pg_sleep": "takes time",
	"setseed": "changes the session", "error": "raises any text", "json_serialize_plan": "reads the catalog", "json_serialize_sql": "parses statements",
	"json_deserialize_sql": "parses statements", "which_secret": "reads secrets", "parse_duckdb_log_message": "reads logs",
}

// reviewed are the functions of which people have read that they are total: whatever the values, they return. Only one of these
// can be leakproof, and only as long as probing finds nothing against it.
var reviewed = set(`
	= <> < <= > >= ~~ !~~ ~~* !~~* ^@ ||
	count min max any_value arbitrary first last bool_and bool_or grouping grouping_id
	row_number rank dense_rank rank_dense percent_rank cume_dist
	coalesce ifnull nullif greatest least typeof hash struct_pack row list_value
	lower lcase upper ucase trim ltrim rtrim reverse ascii ord unicode
	length len strlen char_length character_length bit_length octet_length
	starts_with prefix ends_with suffix contains instr strpos position concat md5 sha1 sha256
	list_contains list_has array_contains array_has
	isnan isinf isfinite sign signbit json_valid
	year month day dayofmonth quarter dayofweek weekday isodow dayofyear week weekofyear hour minute second
	pi version now current_date today transaction_timestamp get_current_timestamp get_current_time current_localtime current_localtimestamp
`)

// clock are the functions that a statement may read the time with.
var clock = set("now current_date today transaction_timestamp get_current_timestamp get_current_time current_localtime current_localtimestamp")

// rank orders classes from best to worst.
var rank = map[string]int{"leakproof": 0, "raising": 1, "dictionary": 2, "forbidden": 3}

// callable reports whether classify lets anybody call o at all.
func callable(o overload) bool {
	name := strings.ToLower(o.name)
	switch o.kind {
	case "table", "table_macro":
		return classify.IsSetReturning(name)
	case "pragma":
		return false // has no syntax that classify takes
	}
	return o.kind == "cast" || o.kind == "comparison" || classify.ClassOf(name) != classify.ClassForbidden || classify.ClassOfOperator(name) != classify.ClassForbidden
}

// barrier reports whether a statement gets the barrier; refused, that nobody can run it. What stands for the call in the
// statement is %s; columns c0, c1, … have the given types.
func barrier(statement, call string, types []string) (raises, refused bool) {
	s, err := classify.Parse(strings.Replace(statement, "%s", call, 1))
	if err != nil {
		return false, true
	}
	rel := classify.Relation{Name: classify.Name{Catalog: "lake", Schema: "s", Table: "t"}}
	for i, c := range names(len(types)) {
		rel.Columns = append(rel.Columns, classify.Column{Name: c, FieldID: i + 1, Type: types[i]})
	}
	b, err := s.Bind([]classify.Relation{rel})
	if err != nil {
		return false, true
	}
	return b.Raises(0), false
}

// spelled writes a call as a statement has it.
func spelled(o overload, args []string) string {
	switch op := map[string]string{"~~": "LIKE", "!~~": "NOT LIKE", "~~*": "ILIKE", "!~~*": "NOT ILIKE"}[o.name]; {
	case op != "":
		return args[0] + " " + op + " " + args[1]
	case o.kind == "cast" || o.kind == "comparison":
		return o.text()(args)
	case strings.Trim(o.name, "+-*/%^|&<>=!~@#") == "" && len(args) == 2:
		return args[0] + " " + o.name + " " + args[1]
	case strings.Trim(o.name, "+-*/%^|&<>=!~@#") == "" && len(args) == 1:
		return o.name + " " + args[0]
	}
	return o.name + "(" + strings.Join(args, ", ") + ")"
}

// judge turns what is known without probing into a class; done is false if it takes probing.
func judge(o overload) (class, evidence string, done bool) {
	if why, ok := reads[strings.ToLower(o.name)]; ok {
		return "forbidden", why, true
	}
	switch {
	case o.kind == "table" && (o.name == "range" || o.name == "generate_series" || o.name == "unnest"):
		return "raising", "makes rows, as a stream that can be interrupted", true
	case o.kind == "table" || o.kind == "table_macro" || o.kind == "pragma":
		return "forbidden", "reads files, settings or the catalog", true
	case o.kind == "scalar" && (o.name == "range" || o.name == "generate_series"):
		return "raising", "makes lists of any length in one step that nothing interrupts; classify takes few numbers, as literals", true
	case o.stability == "VOLATILE":
		return "forbidden", "volatile", true
	case strings.Contains(strings.ToUpper(o.macro), "SELECT") || strings.Contains(o.macro, "duckdb_"):
		return "forbidden", "reads the catalog", true
	case o.kind == "scalar" && len(o.params) == 0 && clock[o.name]:
		return "leakproof", "the clock, one value a statement", true
	case !callable(o):
		return "forbidden", "nobody has asked for it", true
	case shims[o.name]:
		return "leakproof", "classify answers by itself", true
	}
	return "", "", false
}

// shims are replaced before a statement reaches the engine.
var shims = set("current_schema current_catalog current_database version")

const unprobed = "not probed: taken for one that raises"

const unbindable = "no call with these types binds"

// respell writes a call in a row of the table, which has the name in quotes, as a statement has it.
func respell(o overload, call string) string {
	args, ok := strings.CutPrefix(call, `"`+o.name+`"(`)
	if !ok || strings.Trim(o.name, "+-*/%^|&<>=!~@#") != "" {
		return strings.Replace(call, `"`+o.name+`"`, o.name, 1)
	}
	args = strings.TrimSuffix(args, ")")
	if a, b, two := strings.Cut(args, ", "); two {
		return spelled(o, []string{a, b})
	}
	return spelled(o, []string{args})
}

// conclude makes a class of what probing found.
func conclude(o overload, f finding, known bool) (class, evidence string) {
	if !known {
		return "raising", unbindable
	}
	switch {
	case f.raises == "crash":
		return "forbidden", "crashes the process"
	case f.raises == invalid || f.raises == broken:
		return "forbidden", string(f.raises) + ": " + f.example
	case f.raises == "time":
		return "forbidden", "takes more than 20 s: " + f.example
	case f.leak == "barrier":
		return "forbidden", "evaluated on hidden rows through the barrier: " + f.leaking
	case f.volatile && o.kind == "cast":
		return "raising", "two evaluations differ"
	case f.volatile:
		return "forbidden", "two evaluations differ"
	case f.leak == "dictionary":
		return "dictionary", "evaluated on dictionaries: " + f.leaking + " [" + f.types + "]"
	case f.raises != none && f.shown:
		return "raising", string(f.raises) + ": " + f.example + "; not on dictionaries"
	case f.raises != none:
		return "raising", string(f.raises) + ": " + f.example
	case reviewed[strings.ToLower(o.name)] || o.kind == "cast" || o.kind == "comparison":
		return "leakproof", "total on all that was tried, and reviewed"
	}
	return "raising", "total on all that was tried, not reviewed"
}
