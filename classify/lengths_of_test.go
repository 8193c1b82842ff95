package classify

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// made are functions whose results are of lengths of their own, or that take lists apart, and some that are neither.
var made = strings.Fields(`list_reduce reduce range generate_series list_resize array_resize json_pretty list array_agg string_agg group_concat listagg histogram approx_top_k json_group_array json_group_object map bitstring_agg
 map_from_entries hex to_hex bin to_binary to_base64 base64 encode url_encode regexp_escape json_quote to_json row_to_json array_to_json json_object json_array strftime translate json repeat replace regexp_replace format printf concat_ws
 lpad rpad unnest list_extract array_extract list_element element_at list_first list_last list_min list_max list_any_value list_mode min max arg_max arg_min to_base bitstring left right substring substr list_filter filter array_filter split_part
 regexp_extract string_split split str_split string_to_array array_to_string list_aggregate list_aggr list_string_agg array_aggregate list_transform list_apply apply array_transform array_apply list_value list_pack list_sort array_sort
 list_distinct array_distinct list_reverse list_slice array_slice list_unique lower upper trim concat length md5 reverse coalesce first any_value count sum list_concat flatten struct_pack string_split_regex regexp_split_to_array contains`)

// lengthForms are calls, F, and other expressions over the columns of a table: texts a and b, a list l and a number n.
var lengthForms = []string{
	"F(a)", "F(a, 'xyz')", "F(a, 5)", "F('xyz', 3)", "F(a, 'x', 'yyyyy')", "F(a, '', 'yy')", "F(a, b, 7)", "F(a, 5, 'xyz')", "F(l)", "F([a, 'xyz'])", "F(l, 1)", "F(l, ', ')", "F([a, b || b], 1)", "F(l, x -> x || a)", "F([a || b], x -> x)", "F(['xyz'], (x, y) -> y)", "F('{} %s {}', a, b)", "F(a, a || b, 'xyz', b)",
}

var otherLengths = []string{
	"a", "'xyz'", "'xyzxyzxyz'", "5", "NULL", "n", "l", "t", "a || b", "a || 'xyz' || n", "a || NULL", "a = b", "a < b AND b < a", "a IS NULL", "(a = b) IS TRUE", "nullif(a, b || b)", "a LIKE 'x'", "a IN ('x', b)", "CASE WHEN a = b THEN a || b ELSE 'x' END", "CASE a WHEN 'x' THEN b END", "CASE WHEN a = b THEN a || b || a END", "coalesce(a, b || b)",
	"greatest(a || b, b)", "CAST(a AS VARCHAR)", "CAST(n AS VARCHAR)", "CAST(a || b AS VARCHAR)", "a COLLATE nocase", "(a || b) COLLATE nocase", "ARRAY[a, b]", "ROW(a, b)", "[a, b]", "{'k': a, 'm': b}", "MAP {'k': a || b}", "l[1]", "l[1:2]", "[a || b, a][1]", "[a || b, a][1:2]", "(s).f", "current_date", "grouping(a)", "EXISTS (SELECT a FROM t)",
	"(SELECT a FROM t LIMIT 1)", "(SELECT a || b FROM t LIMIT 1)", "a = ANY (SELECT b FROM t)", "ARRAY(SELECT a FROM t)", "$1", "$1 || a", "(SELECT x FROM (SELECT a || b AS x FROM t UNION ALL SELECT 'xyz' FROM t) u LIMIT 1)", "(SELECT x FROM (VALUES ('xyz'), ('xyzxyzxyzxyz')) u(x) LIMIT 1)", "(SELECT max(x) FROM (SELECT a || b AS x FROM t) u)", "interval (n) day", "-n", "TRY_CAST(a || b AS VARCHAR)",
}

// TestBoundsOfLengths writes down how long the values of expressions may become, by how much can be added until they are too long to be
// searched for.
func TestBoundsOfLengths(t *testing.T) {
	tables := shapes{}
	tables.declare("t(a VARCHAR, b VARCHAR, l VARCHAR[], n BIGINT, s STRUCT(f VARCHAR))")
	var out strings.Builder
	out.WriteString("# How long, in bytes, the values of expressions may become: columns count as 64. See lengths_of_test.go.\n\n")
	for _, text := range otherLengths {
		fmt.Fprintf(&out, "%s: %s\n", text, sayLength(tables, text))
	}
	for _, form := range lengthForms {
		fmt.Fprintf(&out, "\n%s\n", form)
		groups, order := map[string][]string{}, []string{}
		for _, name := range made {
			said := sayLength(tables, replaceWord(form, "F", name))
			if groups[said] == nil {
				order = append(order, said)
			}
			groups[said] = append(groups[said], name)
		}
		slices.Sort(order)
		for _, said := range order {
			fmt.Fprintf(&out, "  %s: %s\n", said, strings.Join(groups[said], " "))
		}
	}
	golden(t, "testdata/lengths.txt", out.String())
}

// sayLength returns the bound of an expression's values, or why there is none.
func sayLength(tables shapes, text string) string {
	try := func(n int) (string, bool) {
		_, err := tables.bind("SELECT contains('x', (" + text + ") || '" + strings.Repeat("x", n) + "') FROM t")
		switch {
		case err == nil:
			return "", true
		case strings.HasPrefix(err.Error(), "unsupported: contains: what is searched for"):
			return "", false
		}
		what, _, _ := strings.Cut(err.Error(), " (at character ")
		return what, false
	}
	if what, ok := try(8); !ok {
		if what == "" {
			what = "more than 992"
		}
		return what
	}
	lo, hi := 8, maxNeedle+1
	for lo+1 < hi {
		if mid := (lo + hi) / 2; func() bool { _, ok := try(mid); return ok }() {
			lo = mid
		} else {
			hi = mid
		}
	}
	return fmt.Sprint(maxNeedle - lo)
}

// TestLengthEdges: what is just within each bound on lengths, and what is one more.
func TestLengthEdges(t *testing.T) {
	tables := shapes{}
	tables.declare("t(a VARCHAR, b VARCHAR)")
	x := func(n int) string { return strings.Repeat("x", n) }
	type edge struct{ within, over, refusal string }
	edges := []edge{
		{"a LIKE '%" + x(999) + "'", "a LIKE '%" + x(1000) + "'", "unsupported: a pattern of LIKE with % that is longer than 1000 bytes (at character 10)"},
		{"a LIKE '" + x(2000) + "%'", "a LIKE '" + x(2000) + "%x'", "unsupported: a pattern of LIKE with % that is longer than 1000 bytes (at character 10)"},
		{"a ILIKE '" + x(2000) + "'", "a NOT ILIKE '%" + x(2000) + "%'", "unsupported: a pattern of LIKE with % that is longer than 1000 bytes (at character 10)"},
		{"regexp_matches(a, repeat(b, 8))", "regexp_matches(a, repeat(b, 9))", "unsupported: regexp_matches: a pattern that is not a literal and may be longer than 512 bytes (at character 8)"},
		{"a ~ repeat(b, 8)", "a !~ repeat(b, 9)", "unsupported: operator !~: a pattern that is not a literal and may be longer than 512 bytes (at character 10)"},
		{"a SIMILAR TO repeat(b, 8)", "a SIMILAR TO repeat(b, 9)", "unsupported: SIMILAR TO: a pattern that is not a literal and may be longer than 512 bytes (at character 10)"},
		{"regexp_matches(repeat(a, 32), 'a{1000}')", "regexp_matches(repeat(a, 33), 'a{1000}')", "unsupported: regexp_matches: a pattern that large on a text that may be that long (at character 8)"},
		{"regexp_matches(repeat(a, 9000), 'a{62}')", "regexp_matches(repeat(a, 9000), 'a{63}')", "unsupported: regexp_matches: a pattern that large on a text that may be that long (at character 8)"},
		{"levenshtein(repeat(a, 16), '" + x(256) + "')", "levenshtein(repeat(a, 17), '" + x(256) + "')", "unsupported: levenshtein of texts that may be that long (at character 8)"},
		{"levenshtein(repeat(a, 63), '" + x(65) + "')", "levenshtein(repeat(a, 63) || 'x', '" + x(65) + "')", "unsupported: levenshtein of texts that may be that long (at character 8)"},
		{"repeat(repeat(a, 26), 10000)", "repeat(repeat(a, 27), 10000)", "unsupported: what repeat makes may be longer than 16777216 bytes (at character 8)"},
	}
	for _, name := range []string{"contains", "instr", "strpos", "position", "replace", "split", "split_part", "string_split", "str_split", "string_to_array", "trim", "ltrim", "rtrim"} {
		call := func(n int) string {
			if name == "replace" || name == "split_part" {
				return name + "(a, '" + x(n) + "', '1')"
			}
			return name + "(a, '" + x(n) + "')"
		}
		if name == "position" {
			call = func(n int) string { return "position('" + x(n) + "' IN a)" }
		}
		edges = append(edges, edge{call(1000), call(1001), "unsupported: " + name + ": what is searched for may be longer than 1000 bytes (at character 8)"})
	}
	for _, e := range edges {
		if _, err := tables.bind("SELECT " + e.within + " FROM t"); err != nil {
			t.Errorf("%.60s: %v", e.within, err)
		}
		_, err := tables.bind("SELECT " + e.over + " FROM t")
		if err == nil || err.Error() != e.refusal {
			t.Errorf("%.60s: %v, want %s", e.over, err, e.refusal)
			continue
		}
		wantOurError(t, "SELECT "+e.over+" FROM t", err)
	}
}
