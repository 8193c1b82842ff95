package ballista

import "testing"

// TestLeastInteger: -2147483648 is a BIGINT by itself and beside other numbers that are written down, and an INTEGER beside one, as in the other executor. What an
// expression is shows when it is multiplied: a BIGINT goes on, and an INTEGER is out of range.
func TestLeastInteger(t *testing.T) {
	alone, local := manyTasks(t)
	const from = " FROM (SELECT id, CAST(id AS INTEGER) AS i FROM v2_many_row_groups WHERE id < 30) t"
	for _, c := range []struct {
		bigint bool
		expr   string
	}{
		{true, "(7 * -2147483648) * 7"},
		{true, "-2147483648 - 1"},
		{true, "-(-2147483648) * 7"},
		{true, "(-2147483648 // -1) * 7"},
		{true, "(-2147483648 % 2147483647) * 2147483647"},
		{true, "abs(-2147483648) * 7"},
		{true, "coalesce(-2147483648, 7, i) * 7"},
		{true, "coalesce(NULL, -2147483648, 7) * 7"},
		{true, "greatest(-2147483648, 2147483647) * 7"},
		{true, "least(7, -2147483648) * 7"},
		{true, "ifnull(7, -2147483648) * 2147483647"},
		{true, "(CASE WHEN i = 1 THEN -2147483648 END) * 7"},
		{true, "(CASE WHEN i = 1 THEN 2147483647 ELSE -2147483648 END) * 7"},
		{true, "(CASE WHEN i = 1 THEN -2147483648 WHEN i = 2 THEN 7 ELSE 5 END) * 7"},
		{true, "(SELECT max(x) FROM (SELECT -2147483648 AS x) u) * 7"},
		{true, "(SELECT -2147483648) * 7"},
		{true, "(SELECT min(x - 1) FROM (VALUES (-2147483648), (7)) v(x))"},
		{true, "(SELECT min(x - 1) FROM (VALUES (NULL), (-2147483648), (7)) v(x))"},
		{true, "first_value(-2147483648) OVER (ORDER BY id) * 7"},
		{true, "count(*) OVER (ORDER BY CASE WHEN i = 1 THEN 7 ELSE -2147483648 END RANGE 1 PRECEDING)"},
		{true, "id + -2147483648 - 100"},
		{true, "-9223372036854775808 + id"},
		{true, "i - 2147483648 - 100"},
		{true, "0 - 2147483648 - 100"},
		{false, "i + -2147483648 - 100"},
		{false, "-2147483647 - 2"},
		{false, "CAST(-2147483648 AS INTEGER) - 1"},
		{false, "coalesce(i - 30, -2147483648) * 2147483647"},
		{false, "coalesce(NULL, 7, -2147483648) * 2147483647"},
		{false, "greatest(7, 8, -2147483648) * 2147483647"},
		{false, "(CASE WHEN i = 1 THEN 7 WHEN i = 2 THEN -2147483648 ELSE 5 END) * 2147483647"},
		{false, "(SELECT min(x - 1) FROM (VALUES (7), (-2147483648)) v(x))"},
		{false, "-9223372036854775808 - id - 1"},
		{false, "7 * -9223372036854775808"},
	} {
		t.Run(c.expr, func(t *testing.T) {
			text := "SELECT " + c.expr + " AS x" + from
			if c.bigint {
				agree(t, alone, local, hidingMany, text)
				return
			}
			_, want := local.Rows(t.Context(), text, hidingMany)
			if _, err := alone.Rows(t.Context(), text, hidingMany); kindIs(err) != kindIs(want) || want == nil {
				t.Errorf("%v, and in the other executor %v", err, want)
			}
		})
	}
}
