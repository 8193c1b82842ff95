package printer

import (
	"errors"
	"strings"
	"unicode/utf8"

	"gatehouse/classify/keyword"
)

// Dialect is what one engine's SQL does differently. The zero value prints nothing.
type Dialect struct {
	name string
	// types maps the type names of a classified tree to the engine's.
	types map[string]string
	// operators maps operators to the engine's.
	operators map[string]string
	// functions maps names of functions to the engine's; a name that is not here is printed as it is, or not at all if closed.
	functions map[string]string
	closed    bool
	// own are functions that an executor adds to its engine. Their names start like markers, so that no user can write them.
	own func(name string) bool
	// rewrites are functions of one argument that are spelled out: {x} stands for the argument, {over} for what follows the call, FILTER and
	// OVER, and {distinct} for DISTINCT, which there can't be otherwise.
	rewrites map[string]string
	// byArgs are functions whose name in the engine depends on the number of arguments, "substr/2", or on a first or last argument that is
	// constant and no argument there: "date_part/year", "round/2.0", "regexp_replace/4.g".
	byArgs map[string]string
	// calls are operators that are functions in the engine.
	calls map[string]string
	// casts are casts to types that have no name in the engine: {x} stands for the value.
	casts map[string]string
	// defaults are the modifiers of types that have none.
	defaults map[string]string
	// grouping is the form of GROUPING, {x} its arguments; "": as it is.
	grouping string
	// number gives the text of a numeric literal inside of an expression; nil: as it is.
	number func(string) (string, bool)
	// quoted: an interval's number is a text.
	quoted bool
	// words reports whether an unquoted word is no plain identifier to the engine.
	words func(string) bool
	// values are the spellings of CURRENT_DATE and the like.
	values map[string]string
}

// Name returns the dialect's name, for logs.
func (d Dialect) Name() string { return d.name }

// DuckDB is the SQL of DuckDB 1.5.
func DuckDB() Dialect { return duckdb }

var duckdb = Dialect{
	name: "duckdb",
	types: map[string]string{
		"boolean": "BOOLEAN", "tinyint": "TINYINT", "smallint": "SMALLINT", "integer": "INTEGER", "bigint": "BIGINT", "hugeint": "HUGEINT",
		"utinyint": "UTINYINT", "usmallint": "USMALLINT", "uinteger": "UINTEGER", "ubigint": "UBIGINT", "uhugeint": "UHUGEINT",
		"real": "FLOAT", "double": "DOUBLE", "decimal": "DECIMAL", "varchar": "VARCHAR", "blob": "BLOB", "date": "DATE", "time": "TIME",
		"timetz": "TIMETZ", "timestamp": "TIMESTAMP", "timestamptz": "TIMESTAMPTZ", "timestamp_s": "TIMESTAMP_S",
		"timestamp_ms": "TIMESTAMP_MS", "timestamp_ns": "TIMESTAMP_NS", "interval": "INTERVAL", "uuid": "UUID", "json": "JSON",
		"struct": "STRUCT", "map": "MAP",
	},
	operators: same("=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "//", "%", "^", "||", "&", "|", "<<", ">>", "~", "!~", "->", "->>",
		"@>", "<@", "&&", "^@", "~~", "!~~", "~~*", "!~~*"),
	functions: map[string]string{},
	own: func(name string) bool {
		switch name {
		case "__gw_var_samp", "__gw_var_pop", "__gw_stddev_samp", "__gw_stddev_pop", "__gw_sem":
			return true
		}
		return strings.HasPrefix(name, "__gw_sum") || strings.HasPrefix(name, "__gw_avg")
	},
	words: func(w string) bool { return keyword.Of(w) != keyword.Word{} },
	values: map[string]string{
		"SVFOP_CURRENT_DATE": "current_date", "SVFOP_CURRENT_TIME": "current_time", "SVFOP_CURRENT_TIMESTAMP": "current_timestamp",
		"SVFOP_LOCALTIME": "localtime", "SVFOP_LOCALTIMESTAMP": "localtimestamp",
	},
}

func same(names ...string) map[string]string {
	m := make(map[string]string, len(names))
	for _, n := range names {
		m[n] = n
	}
	return m
}

var errText = errors.New("text that is empty, or holds NUL or invalid UTF-8")

// QuoteIdent returns s as an identifier of the dialect. A lower-case word that is a key word in no dialect we know
// stays bare; everything else is quoted.
func QuoteIdent(s string, d Dialect) (string, error) {
	if s == "" || strings.IndexByte(s, 0) >= 0 || !utf8.ValidString(s) {
		return "", errText
	}
	if plain(s) && d.words != nil && !d.words(s) {
		return s, nil
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`, nil
}

func plain(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// QuoteLiteral returns s as a string literal. All dialects read only a doubled quote as an escape in it.
func QuoteLiteral(s string) (string, error) {
	if strings.IndexByte(s, 0) >= 0 || !utf8.ValidString(s) {
		return "", errText
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'", nil
}
