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
	defaults:  map[string]string{"decimal": "(18, 3)"},
	operators: same("=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "||"),
	functions: map[string]string{
		"count": "count", "sum": "sum", "min": "min", "max": "max", "substring": "substr", "substr": "substr", "length": "character_length", "left": "left",
		"date_part": "date_part",
	},
	closed: true,
	// An average is the quotient of the exact sum.
	rewrites: map[string]string{"avg": "(CAST(sum(%[1]s) AS DOUBLE) / CAST(count(%[1]s) AS DOUBLE))"},
	words:    func(string) bool { return true },
	number:   datafusionNumber,
	quoted:   true,
}

// datafusionNumber gives a literal the type that DuckDB gives it.
func datafusionNumber(text string) (string, bool) {
	switch {
	case strings.ContainsAny(text, "eE"):
		return "CAST('" + text + "' AS DOUBLE)", true
	case strings.Contains(text, "."):
		return text, len(text) <= 38
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return "", false
	case n >= math.MinInt32 && n <= math.MaxInt32:
		return "CAST(" + text + " AS INT)", true
	}
	return text, true
}
