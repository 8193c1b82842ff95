package opa

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"gatehouse/policy"
)

// boolean accepts exactly true and false; undefined is false.
func boolean(v any, err error) (bool, error) {
	if errors.Is(err, errUndefined) {
		return false, nil
	}
	b, ok := v.(bool)
	if !ok {
		return false, errors.New("not a boolean")
	}
	return b, nil
}

// indices accepts a list or set of different indices below n.
func indices(v any, n int) ([]int, error) {
	items, ok := v.([]any)
	if !ok {
		return nil, errors.New("not a list or set")
	}
	seen := map[int]bool{}
	out := make([]int, 0, len(items))
	for _, item := range items {
		i, err := index(item, n)
		if err != nil {
			return nil, err
		}
		if seen[i] {
			return nil, fmt.Errorf("index %d twice", i)
		}
		seen[i] = true
		out = append(out, i)
	}
	return out, nil
}

func index(v any, n int) (int, error) {
	num, ok := v.(json.Number)
	if !ok {
		return 0, errors.New("an index is not a number")
	}
	i, err := num.Int64()
	if err != nil || i < 0 || i >= int64(n) {
		return 0, fmt.Errorf("index %s is not below %d", num, n)
	}
	return int(i), nil
}

// indexed accepts {"index": i, "viewExpression": {…}}.
func indexed(v any, n int) (int, any, error) {
	m, ok := v.(map[string]any)
	if !ok || len(m) != 2 || m["viewExpression"] == nil {
		return 0, nil, errors.New("not an object of index and viewExpression")
	}
	i, err := index(m["index"], n)
	return i, m["viewExpression"], err
}

// expression accepts one filter or mask. Whatever has another type than it should, or a key that we do not know, is
// refused: what it was meant to say would be lost.
func (j *judge) expression(v any, path string, t policy.Table) (policy.Expression, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return policy.Expression{}, fmt.Errorf("data.%s: an expression is not an object", dotted(path))
	}
	var e policy.Expression
	var reason, identity string
	var err error
	for key, v := range m {
		ok := true
		switch key {
		case "expression":
			e.SQL, ok = v.(string)
		case "id":
			e.ID, ok = v.(string)
		case "any_of":
			e.AnyOf, ok = v.(string)
		case "params":
			e.Params, ok = v.(map[string]any)
		case "priority":
			e.Priority, err = integer(v)
			ok = err == nil
		case "fields":
			e.Fields, err = fields(v)
			ok = err == nil
		case "origin":
			e.Rule, ok = v.(string)
		case "reason":
			reason, ok = v.(string)
		case "identity": // whose rights a subquery would have; there are no subqueries
			identity, ok = v.(string)
		default:
			return e, fmt.Errorf("data.%s: unknown key %q in an expression", dotted(path), key)
		}
		if !ok {
			return e, fmt.Errorf("data.%s: %s has the wrong type", dotted(path), key)
		}
	}
	_, _ = reason, identity
	if strings.TrimSpace(e.SQL) == "" {
		return e, fmt.Errorf("data.%s: an expression is empty", dotted(path))
	}
	if e.Rule == "" {
		e.Rule = j.e.places.of(e, path, t)
	}
	if j.injected(e.SQL) {
		return e, fmt.Errorf("%s: suspected_injection: a value of the caller stands in the text, use params", e.Rule)
	}
	return e, nil
}

// fields accepts an object of field ids.
func fields(v any) (map[string]int, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("not an object")
	}
	out := make(map[string]int, len(m))
	for name, id := range m {
		n, err := integer(id)
		if err != nil {
			return nil, err
		}
		out[name] = n
	}
	return out, nil
}

func integer(v any) (int, error) {
	if i, ok := v.(int); ok { // from the rights, which hold Go's integers
		return i, nil
	}
	n, ok := v.(json.Number)
	if !ok {
		return 0, errors.New("not a number")
	}
	i, err := n.Int64()
	if err != nil || i < -1<<31 || i >= 1<<31 {
		return 0, errors.New("not a 32-bit integer")
	}
	return int(i), nil
}

// injected reports whether a text of the caller's that holds a quote stands in sql as it is. Such a sql is a valid expression that
// means something else; a parameter, or a quoted literal, would not hold it like this.
func (j *judge) injected(sql string) bool {
	return slices.ContainsFunc(j.quotes, func(s string) bool { return strings.Contains(sql, s) })
}

// quotes returns every string of the input's context that holds a quote: what the policy knows of the caller, all of it.
func quotes(context ast.Value) []string {
	var out []string
	ast.WalkTerms(ast.NewTerm(context), func(t *ast.Term) bool {
		if s, ok := t.Value.(ast.String); ok && strings.ContainsAny(string(s), `'"`) {
			out = append(out, string(s))
		}
		return false
	})
	return out
}
