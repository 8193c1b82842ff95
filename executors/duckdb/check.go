package duckdb

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	bindings "github.com/duckdb/duckdb-go-bindings"
)

// maxChecked bounds the memory of shapes that were checked.
const maxChecked = 20_000

// checks remembers which shapes were found to read nothing but their relations.
//
// The engine's own unoptimised plan is the second opinion on what a printed text means. To serialise it takes as long as a small
// query, so it is asked of each shape once: a shape is everything that the user and the policies wrote, with each scan replaced
// by typed NULLs, and so has no files of its own. A scan that the printer let through by mistake shows in it. The scans' text is
// made by scan.go alone, out of numbers, type names and hashed file names.
type checks struct {
	mu    sync.Mutex
	known map[[32]byte]*outline
	// See arrange.go.
	names    kept[string] // of columns
	arranged kept[*arrangement]
}

func newChecks() *checks { return &checks{known: map[[32]byte]*outline{}} }

// operators are the plan operators that compute on what others read.
var operators = set(
	"PROJECTION", "FILTER", "AGGREGATE_AND_GROUP_BY", "WINDOW", "UNNEST", "LIMIT", "ORDER_BY", "TOP_N", "DISTINCT", "SAMPLE",
	"JOIN", "DELIM_JOIN", "COMPARISON_JOIN", "ANY_JOIN", "CROSS_PRODUCT", "POSITIONAL_JOIN", "ASOF_JOIN", "DEPENDENT_JOIN",
	"UNION", "EXCEPT", "INTERSECT", "RECURSIVE_CTE", "MATERIALIZED_CTE",
	// These read, but only what the statement itself holds or has computed.
	"CHUNK_GET", "DELIM_GET", "EXPRESSION_GET", "DUMMY_SCAN", "EMPTY_RESULT", "CTE_REF",
)

// tableFunctions are the functions that make rows of their arguments alone.
var tableFunctions = set("unnest", "range", "generate_series")

func set(names ...string) map[string]bool {
	out := map[string]bool{}
	for _, n := range names {
		out[n] = true
	}
	return out
}

// verify refuses a shape that reads anything.
func (k *checks) verify(c *connection, statement string) (*outline, error) {
	sum := sha256.Sum256([]byte(statement))
	k.mu.Lock()
	found, known := k.known[sum]
	k.mu.Unlock()
	if known {
		return found, nil
	}
	var serialised string
	query := "SELECT json_serialize_plan(" + literal(statement) + ", skip_null := true, skip_empty := true, skip_default := true)::VARCHAR"
	err := c.query(query, func(chunk bindings.DataChunk) error {
		v := bindings.DataChunkGetVector(chunk, 0)
		strs := values[bindings.StringT](&vector{data: bindings.VectorGetData(v)}, 0, 1)
		serialised = string(text(&strs[0]))
		return nil
	})
	if err != nil {
		return nil, withoutHint(err)
	}
	if found, err = verifyPlan(serialised); err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.known) >= maxChecked {
		clear(k.known)
	}
	k.known[sum] = found
	return found, nil
}

// verifyPlan checks a serialised plan.
func verifyPlan(text string) (*outline, error) {
	var plan struct {
		Error   bool   `json:"error"`
		Type    string `json:"error_type"`
		Message string `json:"error_message"`
		Plans   []any  `json:"plans"`
	}
	if err := json.Unmarshal([]byte(text), &plan); err != nil {
		return nil, internal("the plan cannot be read: %w", err)
	}
	if plan.Error && strings.EqualFold(plan.Type, "out of memory") {
		return nil, engineError(bindings.ErrorTypeOutOfMemory, plan.Message)
	}
	if plan.Error {
		return nil, &unplanned{plan.Type, plan.Message}
	}
	if len(plan.Plans) != 1 {
		return nil, internal("%d plans", len(plan.Plans))
	}
	seen := &outline{}
	if err := walkPlan(plan.Plans[0], seen); err != nil {
		return nil, err
	}
	if seen.operators == 0 {
		return nil, internal("a plan without operators")
	}
	return seen, nil
}

// unplanned says that the engine could not bind the shape; preparing the statement tells why.
type unplanned struct{ class, message string }

func (u *unplanned) Error() string { return fmt.Sprintf("%s: %s", u.class, u.message) }

func walkPlan(v any, seen *outline) error {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if err := walkPlan(e, seen); err != nil {
				return err
			}
		}
	case map[string]any:
		seen.look(v)
		if t, ok := v["type"].(string); ok {
			if operator, ok := strings.CutPrefix(t, "LOGICAL_"); ok {
				seen.operators++
				name, _ := v["name"].(string)
				if !operators[operator] && !(operator == "GET" && tableFunctions[name]) {
					return internal("the statement's plan has %s %s", t, name)
				}
			}
		}
		for _, e := range v {
			if err := walkPlan(e, seen); err != nil {
				return err
			}
		}
	}
	return nil
}
