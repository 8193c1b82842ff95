package duckdb

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	bindings "github.com/duckdb/duckdb-go-bindings"

	"gatehouse/executors"
)

// kinds maps the engine's error classes. Anything that is not here is internal: its words may speak of the rewritten text.
var kinds = map[bindings.ErrorType]executors.Kind{
	bindings.ErrorTypeBinder:               executors.KindBind,
	bindings.ErrorTypeCatalog:              executors.KindBind,
	bindings.ErrorTypeExpression:           executors.KindBind,
	bindings.ErrorTypeMismatchType:         executors.KindBind,
	bindings.ErrorTypeParameterNotResolved: executors.KindBind,
	bindings.ErrorTypeParameterNotAllowed:  executors.KindBind,
	bindings.ErrorTypeConversion:           executors.KindConversion,
	bindings.ErrorTypeDecimal:              executors.KindConversion,
	bindings.ErrorTypeOutOfRange:           executors.KindRange,
	bindings.ErrorTypeObjectSize:           executors.KindRange,
	bindings.ErrorTypeDivideByZero:         executors.KindDivision,
	bindings.ErrorTypeInvalidInput:         executors.KindArgument,
	bindings.ErrorTypeInvalidType:          executors.KindArgument,
	bindings.ErrorTypeOutOfMemory:          executors.KindMemory,
	bindings.ErrorTypeNotImplemented:       executors.KindUnsupported,
	bindings.ErrorTypeErrorIO:              executors.KindData,
}

// prefixes are the classes as they open an error's text. The C interface gives the class of an execution error, but only the
// text of an error in preparing a statement.
var prefixes = map[string]bindings.ErrorType{
	"Binder Error":                 bindings.ErrorTypeBinder,
	"Catalog Error":                bindings.ErrorTypeCatalog,
	"Expression Error":             bindings.ErrorTypeExpression,
	"Mismatch Type Error":          bindings.ErrorTypeMismatchType,
	"Parameter Not Resolved Error": bindings.ErrorTypeParameterNotResolved,
	"Parameter Not Allowed Error":  bindings.ErrorTypeParameterNotAllowed,
	"Conversion Error":             bindings.ErrorTypeConversion,
	"Decimal Error":                bindings.ErrorTypeDecimal,
	"Out of Range Error":           bindings.ErrorTypeOutOfRange,
	"Object Size Error":            bindings.ErrorTypeObjectSize,
	"Divide by Zero Error":         bindings.ErrorTypeDivideByZero,
	"Invalid Input Error":          bindings.ErrorTypeInvalidInput,
	"Invalid type Error":           bindings.ErrorTypeInvalidType,
	"Out of Memory Error":          bindings.ErrorTypeOutOfMemory,
	"Not implemented Error":        bindings.ErrorTypeNotImplemented,
	"IO Error":                     bindings.ErrorTypeErrorIO,
	"INTERRUPT Error":              bindings.ErrorTypeInterrupt,
	"Permission Error":             bindings.ErrorTypePermission,
	"FATAL Error":                  bindings.ErrorTypeFatal,
}

// prepareError maps the text of an error in preparing.
func prepareError(message string) error {
	err := pendingError(message)
	e, ok := err.(*executors.Error)
	if ok && e.Kind == executors.KindUnsupported {
		// The engine does not have a cast or function of the statement; the tables are read all the same.
		e.Kind, e.Hint = executors.KindBind, bindHint(message)
	}
	return err
}

// pendingError maps the text of an error in running.
func pendingError(message string) error {
	prefix, _, _ := strings.Cut(message, ":")
	class, ok := prefixes[prefix]
	if !ok {
		class = bindings.ErrorTypeInternal
	}
	return engineError(class, message)
}

// cause is what an engine said. It is for the operator's log only.
type cause struct {
	class   bindings.ErrorType
	message string
}

func (c *cause) Error() string { return c.message }

// errInterrupted marks that the engine ended a statement because it was asked to.
var errInterrupted = errors.New("interrupted")

// engineError makes our error of an engine's class and text.
func engineError(class bindings.ErrorType, message string) error {
	c := &cause{class, message}
	if class == bindings.ErrorTypeInterrupt {
		return fmt.Errorf("%w: %w", errInterrupted, c)
	}
	kind, ok := kinds[class]
	if !ok {
		kind = executors.KindInternal
	}
	if kind == executors.KindConversion && strings.Contains(message, "Unimplemented type for cast") {
		kind = executors.KindBind // found late, but it is about the types
	}
	if kind == executors.KindInternal || kind == executors.KindUnsupported {
		kind = lateKind(kind, message)
	}
	if kind == executors.KindArgument && strings.Contains(message, "More than one row returned by a subquery") {
		kind = executors.KindCardinality
	}
	if kind == executors.KindArgument && strings.Contains(message, noExactMemory) {
		kind = executors.KindMemory
	}
	if kind == executors.KindArgument && (strings.Contains(message, tooLarge) || strings.Contains(message, tooDisperse)) {
		kind = executors.KindRange
	}
	if kind == executors.KindArgument && strings.Contains(message, rootPrefix) {
		kind = executors.KindData // it speaks of a file in our folder
	}
	e := &executors.Error{Kind: kind, Cause: c}
	if kind == executors.KindBind {
		e.Hint = bindHint(message)
	}
	return e
}

// lateKind is the kind of an error whose class says something else than what is wrong; kind for all others.
func lateKind(kind executors.Kind, message string) executors.Kind {
	switch {
	case strings.Contains(message, "Unknown TimeZone"), strings.Contains(message, "Invalid escape string"), strings.Contains(message, "must not end with escape"):
		return executors.KindArgument
	case strings.Contains(message, "Maximum grouping set count"), strings.Contains(message, "Cannot copy BoundSubqueryExpression"):
		return executors.KindBind
	case strings.HasPrefix(message, "Invalid Error: TProtocolException"):
		return executors.KindData // no page of a Parquet file
	default:
		return kind
	}
}

// typeName is a type without names of its own: an engine's words about STRUCT types would carry field names.
const typeName = `[A-Z][A-Z0-9_]*(?: [A-Z0-9_]+)*(?:\([0-9]+(?:,[0-9]+)?\))?(?:\[[0-9]*\])*`

// hints make our words of those of the engine's that speak only of names and types that the user wrote. A text that
// matches none gives no hint. Neither values nor statement text can match.
var hints = []struct {
	engine *regexp.Regexp
	ours   string
}{
	{
		regexp.MustCompile(`No function matches the given name and argument types '([a-z][a-z0-9_]*)\(((?:` + typeName + `(?:, )?)*)\)'`),
		"no function $1 takes the argument types ($2); add a cast",
	},
	{
		regexp.MustCompile(`No function matches the given name and argument types '([-+*/%^<>=!~&|@#]+)\(((?:` + typeName + `(?:, )?)*)\)'`),
		"operator $1 does not take the argument types ($2); add a cast",
	},
	{
		regexp.MustCompile(`Could not choose a best candidate function for the function call "([a-z][a-z0-9_]*)\(((?:` + typeName + `(?:, )?)*)\)"`),
		"function $1 is ambiguous for the argument types ($2); add a cast",
	},
	{
		regexp.MustCompile(`Cannot compare values of type (` + typeName + `) and (?:type|values of type) (` + typeName + `)`),
		"cannot compare $1 with $2; add a cast",
	},
	{
		regexp.MustCompile(`Cannot mix values of type (` + typeName + `) and (` + typeName + `)`),
		"cannot mix $1 with $2; add a cast",
	},
	{
		regexp.MustCompile(`column "?([^"_.][^".]{0,62})"? must appear in the GROUP BY clause`),
		"column \"$1\" must appear in GROUP BY or inside an aggregate function",
	},
	{regexp.MustCompile(`must appear in the GROUP BY clause`), "a column must appear in GROUP BY or inside an aggregate function"},
	{regexp.MustCompile(`WHERE clause cannot contain aggregates`), "WHERE cannot contain an aggregate function; use HAVING"},
	{regexp.MustCompile(`GROUP BY clause cannot contain aggregates`), "GROUP BY cannot contain an aggregate function"},
	{regexp.MustCompile(`aggregate function calls cannot (?:be nested|contain)`), "aggregate functions cannot be nested"},
	{regexp.MustCompile(`WHERE clause cannot contain window functions`), "WHERE cannot contain a window function; use QUALIFY"},
	{regexp.MustCompile(`Set operations can only apply to expressions with the same number of result columns`), "both sides of UNION, INTERSECT or EXCEPT need the same number of columns"},
	{regexp.MustCompile(`Subquery returns \d+ columns - expected 1`), "a subquery used as a value must have exactly one column"},
	{regexp.MustCompile(`ORDER term out of range`), "ORDER BY names a position that the result does not have"},
	{regexp.MustCompile(`Cannot copy BoundSubqueryExpression`), "a subquery cannot stand inside a window function; compute it in a WITH"},
	{regexp.MustCompile(`Maximum grouping set count`), "there are too many grouping sets"},
	{regexp.MustCompile(`Unimplemented type for cast \((` + typeName + `) -> (` + typeName + `)\)`), "cannot cast $1 to $2"},
}

func bindHint(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	for _, h := range hints {
		if m := h.engine.FindStringSubmatchIndex(line); m != nil {
			return string(h.engine.ExpandString(nil, h.ours, line, m))
		}
	}
	return ""
}

// internal is for what must not happen.
func internal(format string, args ...any) error {
	return &executors.Error{Kind: executors.KindInternal, Cause: fmt.Errorf("duckdb: "+format, args...)}
}

// withoutHint is err without words about the statement, for statements that are not the user's.
func withoutHint(err error) error {
	if e, ok := errors.AsType[*executors.Error](err); ok && e.Hint != "" {
		return &executors.Error{Kind: e.Kind, Cause: e.Cause}
	}
	return err
}
