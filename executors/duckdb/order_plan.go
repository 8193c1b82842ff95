package duckdb

import (
	"fmt"
	"maps"
	"reflect"
)

// order is what a plan says of the order in which its aggregates get their values.
type order struct {
	types map[int]string // by tag: the type of the argument, "" if there are several that need different forms
	// loose: some aggregate's value hangs on that order, and it is not sorted. dropped: the engine would take the sorting away, since it
	// is by what the rows are grouped by.
	loose, dropped bool
}

// look notes one node of a plan.
func (o *order) look(node map[string]any) {
	switch {
	case node["type"] == "LOGICAL_AGGREGATE_AND_GROUP_BY":
		groups, _ := node["groups"].([]any)
		expressions, _ := node["expressions"].([]any)
		for _, e := range expressions {
			aggregate, _ := e.(map[string]any)
			by, _ := aggregate["order_bys"].(map[string]any)
			orders, _ := by["orders"].([]any)
			o.aggregate(aggregate, aggregate["filter"], orders, groups, true)
		}
	case node["expression_class"] == "BOUND_WINDOW" && node["type"] == "WINDOW_AGGREGATE":
		orders, _ := node["arg_orders"].([]any)
		partitions, _ := node["partitions"].([]any)
		o.aggregate(node, node["filters"], orders, partitions, slides(node))
	}
}

// slides reports whether a window's frame is another one for each row. The engine hands states of other frames over in a way in which
// its C interface reads beyond them (WindowConstantAggregator in DuckDB 1.5.6), so that aggregates of ours may not be there.
func slides(window map[string]any) bool {
	keys, _ := window["orders"].([]any)
	distinct, _ := window["distinct"].(bool)
	whole := window["start"] == "UNBOUNDED_PRECEDING" && window["end"] == "UNBOUNDED_FOLLOWING"
	return len(keys) > 0 && !distinct && !whole && window["exclude_clause"] == "NO_OTHER"
}

// aggregate notes one. fits says whether it could be one of ours.
func (o *order) aggregate(node map[string]any, filter any, orders, groups []any, fits bool) {
	name, _ := node["name"].(string)
	o.loose = o.loose || isOurs(name) && (!fits || len(orders) > 0)
	if summing[name] == "" && !swaying[name] {
		return
	}
	args, _ := node["arguments"].([]any)
	typ := typeText(first(args))
	if key, ok := tagOf(filter); ok && summing[name] != "" {
		if ours(name, typ) != "" && !fits {
			typ = "" // to be sorted
		}
		if o.types == nil {
			o.types = map[int]string{}
		}
		if old, known := o.types[key]; known {
			typ = together(name, old, typ)
		}
		o.types[key] = typ
	}
	switch {
	case summing[name] != "" && isExact(name, typeText(first(args))):
	case len(orders) == 0:
		o.loose = true
	case allAmong(orders, groups):
		o.dropped = true
	}
}

// together is a type whose sum may take the place of the sums of two types, "" if there is none.
func together(name, a, b string) string {
	width, scale, isDecimal := decimal(a)
	otherWidth, other, areDecimals := decimal(b)
	switch {
	case a == b:
		return a
	case isDecimal && areDecimals && scale == other:
		return fmt.Sprintf("DECIMAL(%d,%d)", max(width, otherWidth), scale)
	case whole[a] && whole[b]:
		return a
	case (whole[a] || a == "HUGEINT") && (whole[b] || b == "HUGEINT"):
		return "HUGEINT"
	case isExact(name, a) && isExact(name, b):
		return several
	}
	return ""
}

func first(list []any) any {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// typeText is the name of a type of a plan.
func typeText(v any) string {
	t, _ := v.(map[string]any)
	id, _ := t["id"].(string)
	if info, ok := t["type_info"].(map[string]any); ok && id == "DECIMAL" {
		scale, _ := info["scale"].(float64) // none is 0
		return fmt.Sprintf("DECIMAL(%v,%v)", info["width"], scale)
	}
	return id
}

// tagOf reads the tag that a tagged tree has at the end of a filter.
func tagOf(filter any) (int, bool) {
	f, _ := filter.(map[string]any)
	if children, ok := f["children"].([]any); ok && f["type"] == "CONJUNCTION_AND" && len(children) > 0 {
		f, _ = children[len(children)-1].(map[string]any)
	}
	if f["type"] != "COMPARE_EQUAL" {
		return 0, false
	}
	left, ok := constantOf(f["left"])
	right, and := constantOf(f["right"])
	return left, ok && and && left == right
}

func constantOf(v any) (int, bool) {
	n, _ := v.(map[string]any)
	for n["type"] == "OPERATOR_CAST" {
		n, _ = n["child"].(map[string]any)
	}
	value, ok := n["value"].(map[string]any)
	number, _ := value["value"].(float64) // none is 0
	return int(number), ok && n["type"] == "VALUE_CONSTANT"
}

// allAmong reports whether all keys of a sorting are groups.
func allAmong(orders, groups []any) bool {
	for _, o := range orders {
		by, _ := o.(map[string]any)
		found := false
		for _, g := range groups {
			found = found || reflect.DeepEqual(bare(by["expression"]), bare(g))
		}
		if !found {
			return false
		}
	}
	return true
}

// bare is a part of a plan without what does not count for its meaning.
func bare(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		delete(out, "alias")
		delete(out, "query_location")
		for k, x := range out {
			out[k] = bare(x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = bare(x)
		}
		return out
	}
	return v
}
