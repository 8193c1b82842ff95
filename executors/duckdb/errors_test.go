package duckdb

import (
	"errors"
	"strings"
	"testing"

	bindings "github.com/duckdb/duckdb-go-bindings"

	"gatehouse/executors"
)

// TestHints lists texts of the engine and what a client sees of them. What is not in the list of hints is not seen at all.
func TestHints(t *testing.T) {
	for _, c := range []struct{ engine, want string }{
		{
			"Binder Error: No function matches the given name and argument types 'upper(INTEGER, DECIMAL(9,2))'. You might need to add explicit type casts.",
			"no function upper takes the argument types (INTEGER, DECIMAL(9,2)); add a cast",
		},
		{
			"Binder Error: No function matches the given name and argument types '+(VARCHAR, INTEGER[])'.",
			"operator + does not take the argument types (VARCHAR, INTEGER[]); add a cast",
		},
		{"Binder Error: Cannot compare values of type BIGINT and type DATE - an explicit cast is required", "cannot compare BIGINT with DATE; add a cast"},
		{`Binder Error: column "total" must appear in the GROUP BY clause or must be part of an aggregate function.`, `column "total" must appear in GROUP BY or inside an aggregate function`},
		{`Binder Error: column "__gw_raw_c1" must appear in the GROUP BY clause`, "a column must appear in GROUP BY or inside an aggregate function"},
		{"Parser Error: Maximum grouping set count of 65535 exceeded", "there are too many grouping sets"},
		{"Serialization Error: Cannot copy BoundSubqueryExpression", "a subquery cannot stand inside a window function; compute it in a WITH"},
		// Names inside of types, values and statement text never match.
		{"Binder Error: No function matches the given name and argument types 'upper(STRUCT(hidden INTEGER))'.", ""},
		{"Binder Error: No function matches the given name and argument types 'upper(ENUM('hidden'))'.", ""},
		{`Binder Error: Referenced column "hidden" not found in FROM clause! Candidate bindings: "salary"`, ""},
		{"Binder Error: something new\nLINE 1: No function matches the given name and argument types 'upper(INTEGER)'", ""},
	} {
		e, ok := errors.AsType[*executors.Error](prepareError(c.engine))
		if !ok || e.Kind != executors.KindBind || e.Hint != c.want {
			t.Errorf("%s:\n got %v %q\nwant %q", c.engine, e.Kind, e.Hint, c.want)
		}
	}
}

func TestKinds(t *testing.T) {
	for _, c := range []struct {
		class   bindings.ErrorType
		message string
		want    executors.Kind
	}{
		{bindings.ErrorTypeConversion, "Conversion Error: Could not convert string 'x' to INT32", executors.KindConversion},
		{bindings.ErrorTypeOutOfRange, "Out of Range Error: Overflow in addition", executors.KindRange},
		{bindings.ErrorTypeInvalidInput, "Invalid Input Error: More than one row returned by a subquery used as an expression", executors.KindCardinality},
		{bindings.ErrorTypeInvalidInput, "Invalid Input Error: bad argument", executors.KindArgument},
		{bindings.ErrorTypeInvalidInput, "Invalid Input Error: No magic bytes in " + rootPrefix + "1/data/x.parquet", executors.KindData},
		{bindings.ErrorTypeOutOfMemory, "Out of Memory Error: …", executors.KindMemory},
		{bindings.ErrorTypeNotImplemented, "Not implemented Error: Unknown TimeZone 'Mars/X'!", executors.KindArgument},
		{bindings.ErrorTypeNotImplemented, "Not implemented Error: Unsupported page type", executors.KindUnsupported},
		{bindings.ErrorTypeSyntax, "Syntax Error: Invalid escape string. Escape string must be empty or one character.", executors.KindArgument},
		{bindings.ErrorTypeParser, "Parser Error: Maximum grouping set count of 65535 exceeded", executors.KindBind},
		{bindings.ErrorTypePermission, "Permission Error: Cannot access file", executors.KindInternal},
		{bindings.ErrorTypeFatal, "FATAL Error: …", executors.KindInternal},
		{bindings.ErrorTypeHTTP, "…", executors.KindInternal},
	} {
		e, ok := errors.AsType[*executors.Error](engineError(c.class, c.message))
		if !ok || e.Kind != c.want {
			t.Errorf("%s: %v, want %v", c.message, e, c.want)
		}
		if strings.Contains(e.Error(), c.message) {
			t.Errorf("the engine's text is shown: %q", e)
		}
	}
}

// TestPlanMemory keeps what says nothing about the statement: that there was not enough memory to plan it.
func TestPlanMemory(t *testing.T) {
	_, err := verifyPlan(`{"error": true, "error_type": "Out of Memory", "error_message": "failed to allocate"}`)
	if !isMemory(err) || isUnplanned(err) {
		t.Errorf("too little memory: %v", err)
	}
	if _, err := verifyPlan(`{"error": true, "error_type": "Binder", "error_message": "x"}`); isMemory(err) || !isUnplanned(err) {
		t.Errorf("control: %v", err)
	}
	if !isMemory(prepareError("Out of Memory Error: failed to allocate")) {
		t.Error("preparing without memory")
	}
}
