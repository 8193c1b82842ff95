package duckdb

import (
	"slices"
	"strings"
	"testing"

	"gatehouse/classify"
)

// arranged is the statement of a text without relations.
func arranged(t *testing.T, x *Executor, text string, params int) *statement {
	t.Helper()
	tree, err := classify.Reparse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	s, err := x.newPrepared(owner{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	defer s.free()
	st, err := s.arrange(tree, params, &relationTexts{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return st
}

const someRows = " FROM (VALUES (1, 1.5::DOUBLE, 2.5::DECIMAL(9,2), 0.5::FLOAT, 'a')) AS v(i, d, c, f, s)"

// TestForms: each aggregate whose value would hang on the order of rows gets the form that its type asks for, the others stay, and columns
// have the names that they would have had.
func TestForms(t *testing.T) {
	x := open(t, Config{Threads: 2})
	for text, want := range map[string]string{
		"sum(i)":                                    "sum(i)",
		"sum(c), avg(i), avg(c)":                    "sum(c), avg(i), avg(c)",
		"count(d), min(d), median(d)":               "count(d), min(d), median(d)",
		"sum(d)":                                    `__gw_sum(d) AS "sum(d)"`,
		"Sum(d) + 1 AS x":                           "__gw_sum(d) + 1 AS x",
		"avg(f), mean(i / 2)":                       `__gw_avg(f) AS "avg(f)", __gw_avg(i / 2) AS "mean((i / 2))"`,
		"sum(c * 1.5), sum(c * 1e0)":                `sum(c * 1.5), __gw_sum(c * 1e0) AS "sum((c * 1.0))"`,
		"fsum(i), kahan_sum(d), favg(d)":            `__gw_sum(i) AS "fsum(i)", __gw_sum(d) AS "kahan_sum(d)", __gw_avg(d) AS "favg(d)"`,
		"sum(DISTINCT d) FILTER (WHERE i > 1)":      `__gw_sum(DISTINCT d) FILTER (WHERE i > 1) AS "sum(DISTINCT d) FILTER (WHERE (i > 1))"`,
		"sum(d ORDER BY i)":                         `__gw_sum(d) AS "sum(d ORDER BY i)"`,
		"stddev(i), variance(c)":                    `__gw_stddev_samp(i) AS "stddev(i)", __gw_var_samp(c) AS "variance(c)"`,
		"var_pop(f), stddev_pop(d)":                 `__gw_var_pop(f) AS "var_pop(f)", __gw_stddev_pop(d) AS "stddev_pop(d)"`,
		"sem(DISTINCT d) FILTER (WHERE i > 1)":      `__gw_sem(DISTINCT d) FILTER (WHERE i > 1) AS "sem(DISTINCT d) FILTER (WHERE (i > 1))"`,
		"skewness(1.5), corr(d, 2.0)":               `skewness(1.5 ORDER BY 1) AS "skewness(1.5)", corr(d, 2.0 ORDER BY d) AS "corr(d, 2.0)"`,
		"corr(d, i)":                                `corr(d, i ORDER BY d, i) AS "corr(d, i)"`,
		"stddev(d ORDER BY i)":                      `__gw_stddev_samp(d) AS "stddev(d ORDER BY i)"`,
		"skewness(d ORDER BY i)":                    `skewness(d ORDER BY d) AS "skewness(d ORDER BY i)"`,
		"mode(s), any_value(s)":                     `mode(s ORDER BY s) AS "mode(s)", min(s) AS "any_value(s)"`,
		"any_value(s ORDER BY i)":                   "any_value(s ORDER BY i)",
		"mode(s COLLATE NOCASE)":                    `mode(s COLLATE NOCASE ORDER BY s) AS mode(s COLLATE NOCASE)`,
		"geomean(d)":                                `exp(__gw_avg(ln(d))) AS "geomean(d)"`,
		"wavg(d, i) AS w":                           "__gw_sum(d * i) / sum(CASE WHEN d IS NOT NULL THEN i ELSE 0 END) AS w",
		"sum(d) OVER (ORDER BY i)":                  `__gw_sum(d) OVER (ORDER BY i) AS "sum(d) OVER (ORDER BY i)"`,
		"sum(d) OVER (PARTITION BY s)":              `sum(d ORDER BY d) OVER (PARTITION BY s) AS "sum(d) OVER (PARTITION BY s)"`,
		"var_samp(d) OVER (ORDER BY i)":             `__gw_var_samp(d) OVER (ORDER BY i) AS "var_samp(d) OVER (ORDER BY i)"`,
		"var_samp(i) OVER (PARTITION BY s)":         `var_samp(i ORDER BY i) OVER (PARTITION BY s) AS "var_samp(i) OVER (PARTITION BY s)"`,
		"sum(DISTINCT d) OVER (ORDER BY i)":         `sum(DISTINCT d ORDER BY d) OVER (ORDER BY i) AS "sum(DISTINCT d) OVER (ORDER BY i)"`,
		"(SELECT sum(d) FROM (VALUES (1)) AS w(i))": `(SELECT __gw_sum(d) AS sum(d) FROM (VALUES (1)) AS w(i)) AS (SELECT sum(d) FROM`,
	} {
		st := arranged(t, x, "SELECT "+text+someRows, 0)
		if !strings.HasPrefix(strings.ReplaceAll(st.text, `"`, ""), strings.ReplaceAll("SELECT "+want, `"`, "")) {
			t.Errorf("%s becomes %s, want %s", text, st.text, want)
		}
		before, err := x.raw("SELECT "+text+someRows, 0)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		after, err := x.raw(st.text, 0)
		if err != nil {
			t.Fatalf("%s: %v", st.text, err)
		}
		if !before.Schema().Equal(after.Schema()) {
			t.Errorf("%s: %v becomes %v", text, before.Schema(), after.Schema())
		}
		_ = before.Close()
		_ = after.Close()
	}
}

// TestGroupedByInput: the engine leaves sorting by a key of the groups out, so another one is added.
func TestGroupedByInput(t *testing.T) {
	x := open(t, Config{Threads: 2})
	for _, text := range []string{"SELECT d, skewness(d)" + someRows + " GROUP BY d", "SELECT product(i) OVER (PARTITION BY i)" + someRows} {
		if st := arranged(t, x, text, 0); !strings.Contains(st.text, ", 1)") {
			t.Errorf("%s becomes %s", text, st.text)
		}
	}
}

// TestFormsOfParameters: a sum whose type a parameter could change is one for which that does not count.
func TestFormsOfParameters(t *testing.T) {
	x := open(t, Config{Threads: 2})
	for text, want := range map[string][2]string{
		"SELECT sum(i)" + someRows + " WHERE d > $1":          {"SELECT sum(i)", ""},
		"SELECT sum(i) FILTER (WHERE d > $1)" + someRows:      {"SELECT sum(i)", ""},
		"SELECT sum(coalesce(i, $1))" + someRows:              {"SELECT sum(coalesce(i, $1))", "SELECT sum(coalesce(i, $1) ORDER BY coalesce(i, $1))"},
		"SELECT sum(i * $1)" + someRows:                       {"SELECT sum(i * $1 ORDER BY i * $1)", ""},
		"SELECT sum($1)" + someRows:                           {"SELECT sum($1 ORDER BY 1)", ""},
		"SELECT sum(x) FROM (SELECT $1 AS x" + someRows + ")": {"SELECT sum(x ORDER BY x)", ""},
	} {
		st := arranged(t, x, text, 1)
		if !strings.HasPrefix(st.text, want[0]) || !strings.HasPrefix(st.safe, want[1]) || (want[1] == "") != (st.safe == "") {
			t.Errorf("%s becomes %s and %q", text, st.text, st.safe)
		}
	}
	// A value of another type makes the engine bind again, as another sum.
	st := arranged(t, x, "SELECT sum(coalesce(i, $1)) AS s FROM (VALUES (1), (NULL), (2)) AS v(i)", 1)
	for value, want := range map[any]string{int64(5): "8", int64(3_000_000_000): "3000000003"} {
		s, err := x.newPrepared(owner{})
		if err != nil {
			t.Fatal(err)
		}
		err = s.bind(st, 1)
		s.free()
		if err != nil {
			t.Fatal(err)
		}
		if s.safe == "" {
			t.Fatal("nothing to fall back to")
		}
		r, err := s.Execute(t.Context(), []any{value})
		if err != nil {
			t.Fatal(err)
		}
		r.Next()
		if got := r.RecordBatch().Column(0).ValueStr(0); got != want || (s.safe == "") != (want == "3000000003") {
			t.Errorf("%v: %s, want %s", value, got, want)
		}
		r.Release()
		_ = s.Close()
	}
}

// TestEveryAggregateIsKnown: of each aggregate that users may call somebody decided whether its value hangs on the order of its input.
func TestEveryAggregateIsKnown(t *testing.T) {
	free := []string{
		"approx_count_distinct", "bit_and", "bit_or", "bit_xor", "bitstring_agg", "bool_and", "bool_or", "count", "count_if", "countif", "grouping", "grouping_id",
		"histogram", "histogram_exact", "mad", "max", "median", "min", "quantile", "quantile_cont", "quantile_disc", "percentile_cont", "percentile_disc", "regr_count",
	}
	// These give what comes first, or all in the order in which it comes: docs/security.md says so.
	left := []string{
		"arbitrary", "arg_max", "arg_max_null", "arg_max_nulls_last", "arg_min", "arg_min_null", "arg_min_nulls_last", "argmax", "argmin", "array_agg", "first",
		"group_concat", "json_group_array", "json_group_object", "last", "list", "listagg", "max_by", "min_by", "string_agg",
	}
	for _, name := range classify.Aggregates() {
		known := slices.Contains(free, name) || slices.Contains(left, name) || name == "any_value"
		if formed := summing[name] != "" || swaying[name] || macros[name] != nil; formed == known {
			t.Errorf("%s: has a form %v, is listed here %v", name, formed, known)
		}
	}
}
