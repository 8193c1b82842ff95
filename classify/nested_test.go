package classify

import (
	"strings"
	"testing"
)

// TestNestedLists refuses what goes through one list for each element of another.
func TestNestedLists(t *testing.T) {
	tables := shapes{}
	tables.declare("t(l BIGINT[], m BIGINT[], n BIGINT[][], a BIGINT)")
	const long = "WITH c AS (SELECT list(a) l FROM t) "
	for _, c := range []struct {
		sql string
		ok  bool
	}{
		{"SELECT list_transform(l, x -> x + a) FROM t", true},
		{"SELECT list_filter(l, x -> list_contains(m, x)) FROM t", true},
		{"SELECT list_filter(l, x -> x = ANY(m)) FROM t", true},
		{"SELECT list_filter(l, x -> list_contains([1, 2, a], x)) FROM t", true},
		{"SELECT list_transform(n, x -> list_transform(x, y -> y + 1)) FROM t", true},
		{"SELECT list_transform(n, x -> list_sum(x)) FROM t", true},
		{long + "SELECT list_transform(l, x -> x + 1) FROM c", true},
		{long + "SELECT list_filter(l, x -> list_contains([1, 2], x)) FROM c", true},
		{long + "SELECT list_filter(l, x -> list_contains(l, x)) FROM c", false},
		{long + "SELECT list_filter(l, x -> list_position(list_sort(l), x) = 1) FROM c", false},
		{long + "SELECT list_filter(l, x -> array_has(l, x)) FROM c", false},
		{long + "SELECT list_filter(l, x -> x = ANY(l)) FROM c", false},
		{long + "SELECT list_filter(l, x -> l @> [x]) FROM c", false},
		{long + "SELECT list_transform(l, x -> list_transform(l, y -> x + y)) FROM c", false},
		{long + "SELECT list_transform([l], x -> list_transform(x, y -> list_contains(x, y))) FROM c", false},
		{long + "SELECT list_filter(l, x -> list_contains((SELECT list(a) FROM t), x)) FROM c", false},
		{"SELECT list_filter(list(a), x -> list_contains((SELECT l FROM t), x)) FROM t", false},
		{"SELECT list_transform(l, x -> len(range(1000))) FROM t", false},
		{"SELECT list_transform(l, x -> generate_series(1, 10)) FROM t", false},
		{"SELECT list_transform(range(1000), x -> x) FROM t", true},
		{"SELECT list_reduce(l, (x, y) -> x + y, a) FROM t", true},
		{"SELECT list_reduce([(SELECT max(a) FROM t)], (x, y) -> x + y, 1) FROM t", true},
		{"SELECT list_reduce(l, (x, y) -> x + y, (SELECT 1)) FROM t", false},
		{"SELECT reduce(l, lambda x, y: x + y, a + (SELECT max(a) FROM t)) FROM t", false},
		{"SELECT array_reduce([a], (x, y) -> x, CASE WHEN EXISTS (SELECT 1 FROM t u WHERE u.a = t.a) THEN 1 END) FROM t", false},
	} {
		if _, err := tables.bind(c.sql); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.sql, err)
		} else if err != nil {
			wantOurError(t, c.sql, err)
		}
	}
}

// TestWalkers: each function that goes through a list is known to.
func TestWalkers(t *testing.T) {
	tables := shapes{}
	tables.declare("t(a BIGINT)")
	for _, name := range []string{
		"contains", "filter", "reduce", "apply", "flatten", "unnest", "map_contains", "map_contains_value", "map_extract", "map_extract_value", "map_keys", "map_values", "map_entries", "map_from_entries", "map_concat", "map",
		"cardinality", "element_at", "json_contains", "to_json", "row_to_json", "struct_contains", "struct_position", "list_sum", "list_sort", "array_length", "array_has",
	} {
		_, err := tables.bind("WITH c AS (SELECT list(a) l FROM t) SELECT list_filter(l, x -> " + name + "(l) IS NULL) FROM c")
		if _, known := lookFunction(name); known && (err == nil || !strings.Contains(err.Error(), name+" inside of a lambda")) {
			t.Errorf("%s: %v", name, err)
		}
		if walksList(name) != true {
			t.Errorf("%s does not go through lists", name)
		}
	}
	for _, name := range []string{"list_value", "list_pack", "array_value", "lower", "length"} {
		if walksList(name) {
			t.Errorf("%s goes through lists", name)
		}
	}
}
