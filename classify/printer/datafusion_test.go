package printer_test

import (
	"errors"
	"testing"

	"gatehouse/classify"
	"gatehouse/classify/printer"
)

// The dialect of DataFusion spells types and constants so that they mean what they mean in DuckDB, and knows only what is on its lists.
func TestDataFusion(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"SELECT 1", `SELECT CAST(1 AS INT)`},
		{"SELECT 3000000000", `SELECT 3000000000`},
		{"SELECT -1.50", `SELECT -1.50`},
		{"SELECT 1e3", `SELECT CAST('1e3' AS DOUBLE)`},
		{"SELECT a FROM t ORDER BY 1 LIMIT 2 OFFSET 3", `SELECT "a" FROM "t" ORDER BY 1 LIMIT 2 OFFSET 3`},
		{"SELECT a, count(*) FROM t GROUP BY 1", `SELECT "a", "count"(*) FROM "t" GROUP BY 1`},
		{"SELECT avg(a + 1) FROM t", `SELECT (CAST(sum("a" + CAST(1 AS INT)) AS DOUBLE) / CAST(count("a" + CAST(1 AS INT)) AS DOUBLE)) FROM "t"`},
		{"SELECT d - INTERVAL '90' DAY FROM t", `SELECT "d" - INTERVAL '90' DAY FROM "t"`},
		{
			"SELECT CAST(a AS DECIMAL), CAST(a AS DECIMAL(9, 2)), CAST(a AS TIMESTAMP) FROM t",
			`SELECT CAST("a" AS DECIMAL(18, 3)), CAST("a" AS DECIMAL(9, 2)), CAST("a" AS TIMESTAMP(6)) FROM "t"`,
		},
		{"SELECT substring(a, 1, 2), length(a) FROM t", `SELECT "substr"("a", CAST(1 AS INT), CAST(2 AS INT)), "character_length"("a") FROM "t"`},
	} {
		got, err := printed(t, c.text)
		if err != nil || got != c.want {
			t.Errorf("%s:\n got %s, %v\nwant %s", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{
		"SELECT upper(a) FROM t", "SELECT avg(DISTINCT a) FROM t", "SELECT a // 2 FROM t", "SELECT a % 2 FROM t", "SELECT current_date",
		"SELECT TRY_CAST(a AS INTEGER) FROM t", "SELECT [1, 2]", "SELECT CAST(a AS INTEGER[]) FROM t", "SELECT CAST(a AS UUID) FROM t",
		"SELECT 99999999999999999999", "SELECT d - to_days(3) FROM t", "SELECT a ~ 'x' FROM t", "SELECT d + INTERVAL '1 day 2 hours' FROM t",
		"SELECT * FROM generate_series(1, 3)", "SELECT CAST(a AS TIMESTAMPTZ) FROM t",
	} {
		got, err := printed(t, text)
		if _, ok := errors.AsType[*printer.UnknownError](err); !ok {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

func printed(t *testing.T, text string) (string, error) {
	t.Helper()
	s, err := classify.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return printer.PrintSelect(s.Tree(), printer.DataFusion())
}
