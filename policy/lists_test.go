package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"gatehouse/auth"
	"gatehouse/classify"
)

// TestLists goes through all that the lists of this package allow, and what stands right beside it: one expression a line,
// each with what is merged, and whether it is surely a condition or a text.
func TestLists(t *testing.T) {
	datadriven.RunTest(t, "testdata/lists.dd", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSpace(line)
			sql, params, _ := strings.Cut(line, " :: ")
			e := Expression{SQL: sql}
			if params != "" {
				dec := json.NewDecoder(strings.NewReader(params))
				dec.UseNumber()
				if err := dec.Decode(&e.Params); err != nil {
					t.Fatal(err)
				}
			}
			n, reads, err := expression(e, customers)
			if err != nil {
				fmt.Fprintf(&out, "%s: refused: %v\n", line, err)
				continue
			}
			kind := ""
			if isBoolean(n, customers) {
				kind = ", a condition"
			}
			if isText(n, customers) {
				kind += ", a text"
			}
			fmt.Fprintf(&out, "%s, reads %v%s\n", show(t, n), reads, kind)
		}
		return out.String()
	})
}

// A hash is expanded wherever a policy may write it: what is left of a marker is a function that no engine has.
func TestHashAnywhere(t *testing.T) {
	for _, sql := range []string{
		"gw_hash(email)", "gw_hash(email) = 'x'", "'x' = gw_hash(email)", "region IN ('x', gw_hash(email))", "gw_hash(email) IS NULL",
		"active AND gw_hash(email) = 'x'", "(gw_hash(email) = 'x') IS TRUE", "CASE gw_hash(email) WHEN 'x' THEN 1 END",
		"CASE WHEN gw_hash(email) = 'x' THEN 1 END", "CASE WHEN active THEN gw_hash(email) END", "CASE WHEN active THEN 'x' ELSE gw_hash(email) END",
		"coalesce(gw_hash(email), 'x')", "greatest('x', gw_hash(email))", "CAST(gw_hash(email) AS varchar)", "left(gw_hash(email), 4)",
	} {
		n, _, err := expression(Expression{SQL: sql}, customers)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		expanded, err := ExpandHash(n, auth.NewSecret("key"))
		if err != nil || strings.Contains(expanded.String(), HashMarker) || strings.Count(expanded.String(), `"sha256"`) != 2 {
			t.Errorf("%s became %s: %v", sql, expanded, err)
		}
		if _, err := ExpandHash(n, auth.Secret{}); !errors.Is(err, ErrNoKey) {
			t.Errorf("%s without a key: %v", sql, err)
		}
	}
}

// The hash of a value is part of what people store and join: it stays what it is over versions.
func TestHashStaysTheSame(t *testing.T) {
	const want = "b554985061602bbfa66bc968b157af0a622651e7e00d60c66f4148552d64c36f" // computed by another program
	if got, err := KeyedHash("a@example.com", auth.NewSecret("key")); got != want || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := KeyedHash("a@example.com", auth.Secret{}); !errors.Is(err, ErrNoKey) {
		t.Errorf("without a key: %v", err)
	}
}

// The limits of texts hold to the byte, the token and the bracket.
func TestExpressionLimits(t *testing.T) {
	for name, c := range map[string]struct {
		sql  string
		want string // a part of the error
	}{
		"as long as may be": {"region = '" + strings.Repeat("x", maxExpression-11) + "'", ""},
		"a byte longer":     {"region = '" + strings.Repeat("x", maxExpression-10) + "'", "longer than"},
		"tokens":            {"-id IN (" + strings.Repeat("1,", (maxTokens-6)/2) + "1)", ""},
		"more tokens":       {"- -id IN (" + strings.Repeat("1,", (maxTokens-6)/2) + "1)", "tokens"},
		"brackets":          {strings.Repeat("(", maxBrackets) + "active" + strings.Repeat(")", maxBrackets), ""},
		"a bracket more":    {strings.Repeat("(", maxBrackets+1) + "active" + strings.Repeat(")", maxBrackets+1), "nested brackets"},
		"square brackets":   {strings.Repeat("[", maxBrackets+1) + "1" + strings.Repeat("]", maxBrackets+1), "nested brackets"},
		"brackets in a row": {strings.Repeat("(active) OR ", maxBrackets+1) + "active", ""},
		"a long identifier": {strings.Repeat("x", maxIdentifier+1), "too long"},
		"nothing":           {"", "empty"},
		"blanks":            {" \n\t ", "empty"},
		"not UTF-8":         {"region = '\xff'", "UTF-8"},
		"a zero byte":       {"region = 'a\x00b'", "UTF-8"},
		"an open text":      {"region = 'a", "not SQL tokens"},
	} {
		_, _, err := expression(Expression{SQL: c.sql}, customers)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	long := customers
	long.Columns = append(long.Columns[:len(long.Columns):len(long.Columns)], long.Columns[1])
	long.Columns[len(long.Columns)-1].Name = strings.Repeat("x", maxIdentifier)
	if _, _, err := expression(Expression{SQL: strings.Repeat("x", maxIdentifier)}, long); err != nil {
		t.Errorf("the longest identifier: %v", err)
	}
	if _, _, err := expression(Expression{SQL: strings.Repeat("x", maxIdentifier+1)}, long); err == nil {
		t.Error("a longer one is cut to a column's name")
	}
	for n, ok := range map[int]bool{maxList: true, maxList + 1: false} {
		values := make([]any, n)
		for i := range values {
			values[i] = "x"
		}
		if _, _, err := expression(Expression{SQL: "region IN (:p)", Params: map[string]any{"p": values}}, customers); (err == nil) != ok {
			t.Errorf("a list of %d values: %v", n, err)
		}
	}
	for n, ok := range map[int]bool{maxFilters: true, maxFilters + 1: false} {
		d := Decision{ID: "d"}
		for i := range n {
			d.Filters = append(d.Filters, Expression{SQL: fmt.Sprintf("id = %d", i)})
		}
		_, _, err := rowFilter(customers, d)
		if _, typed := errors.AsType[*PolicyError](err); (err == nil) != ok || typed == ok {
			t.Errorf("%d filters: %v", n, err)
		}
	}
}

// Names of parameters are words of letters, digits and underscores.
func TestParameterNames(t *testing.T) {
	longest := strings.Repeat("n", maxIdentifier-len(paramPrefix)-1)
	for name, ok := range map[string]bool{
		"p": true, "_": true, "a_1": true, "zZ9": true, "Az0": true, longest: true,
		"": false, "1": false, "9a": false, "é": false, "a$": false, "a b": false, longest + "n": false, "a`": false, "a{": false, "a@": false, "a[": false, "a/": false, "a:": false,
	} {
		if isName(name) != ok {
			t.Errorf("%q is a name: %v", name, !ok)
		}
	}
	if _, _, err := expression(Expression{SQL: `region = "gw:q"`, Params: map[string]any{"p": "x"}}, customers); err == nil {
		t.Error("a parameter that is not there, by its inner name")
	}
	if _, _, err := expression(Expression{SQL: `region = :`, Params: map[string]any{"": "x"}}, customers); err == nil {
		t.Error("a parameter without a name")
	}
}

// Two masks with the same text and other parameters are two masks, and so are those whose names mean other columns.
func TestMasksDifferByParameters(t *testing.T) {
	mask := func(v any, fields map[string]int) Expression {
		return Expression{SQL: "right(tax_id, :n)", Params: map[string]any{"n": v}, Fields: fields, Rule: "p.rego:" + fmt.Sprint(v), ID: fmt.Sprint("id ", v)}
	}
	for name, c := range map[string]struct {
		a, b Expression
		ok   bool
	}{
		"the same":      {mask(json.Number("4"), nil), mask(json.Number("4"), nil), true},
		"other values":  {mask(json.Number("4"), nil), mask(json.Number("9"), nil), false},
		"other types":   {mask(json.Number("4"), nil), mask("4", nil), false},
		"other columns": {mask("4", map[string]int{"tax_id": 9}), mask("4", map[string]int{"tax_id": 2}), false},
	} {
		for _, masks := range [][]Expression{{c.a, c.b}, {c.b, c.a}} {
			_, err := CombineMasks("tax_id", masks)
			conflict, typed := errors.AsType[*MaskConflict](err)
			if (err == nil) != c.ok || typed == c.ok {
				t.Errorf("%s: %v", name, err)
			}
			if typed && (!strings.HasPrefix(conflict.A, "p.rego:") || !strings.HasPrefix(conflict.B, "p.rego:") || conflict.Column != "tax_id") {
				t.Errorf("%s: the conflict names %+v", name, conflict)
			}
		}
	}
	if _, err := CombineMasks("tax_id", nil); err == nil {
		t.Error("no mask is a mask")
	}
	if m, err := CombineMasks("tax_id", []Expression{mask("4", nil)}); err != nil || m.Params["n"] != "4" {
		t.Errorf("one mask: %v, %v", m, err)
	}
}

// Numbers are integers where the engine has them as such, and exact decimals else.
func TestNumbersKeepTheirKind(t *testing.T) {
	for text, integer := range map[string]bool{"0": true, "7": true, "2147483647": true, "2147483648": false, "1.5": false, "1e1": true, "9223372036854775808": false} {
		n, err := literal(json.Number(text))
		if err != nil || (n.GetAConst().GetIval() != nil) != integer || (n.GetAConst().GetFval() != nil) == integer {
			t.Errorf("%s: %v, %v", text, n, err)
		}
	}
}

// A mask that gives text does not fit a column of another type, and one that cannot be bound fits none.
func TestCheckMask(t *testing.T) {
	id, email := customers.Columns[0], customers.Columns[1]
	for _, c := range []struct {
		sql    string
		column classify.Column
		ok     bool
	}{
		{"gw_hash(email)", email, true},
		{"gw_hash(id)", id, false},
		{"'x'", id, false},
		{"NULL", id, true},
		{"0", id, true},
		{"id / 10", id, true},
		{"length(email)", id, true},
		{"nosuch", email, false},
		{"nosuch", id, false},
		{"CASE WHEN active THEN id END", id, true},
		{"CASE WHEN active THEN 'x' END", id, false},
	} {
		if err := CheckMask(Expression{SQL: c.sql}, customers, c.column); (err == nil) != c.ok {
			t.Errorf("%s for %s: %v", c.sql, c.column.Name, err)
		}
	}
}
