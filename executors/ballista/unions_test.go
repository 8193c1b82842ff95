package ballista

import (
	"errors"
	"testing"

	"gatehouse/executors"
	"gatehouse/executors/executortest"
)

// TestUnions: where several tasks read a table, a part of a UNION that is gathered would come once for each task, and one without a table
// would keep the statement from ending. The first is refused by name, before its first row; with auto the embedded engine has it.
func TestUnions(t *testing.T) {
	split := func(c *Config) { c.GroupBytes = 4 << 10 }
	alone := executortest.Zoo(t, sharedCluster(t).opener(t, split))
	auto := executortest.Zoo(t, sharedCluster(t).opener(t, func(c *Config) { split(c); c.Choices, c.LocalBytes = []string{Auto}, 1 }))
	_, local := twins(t)
	const t1 = " FROM v2_many_row_groups"
	for text, runs := range map[string]bool{
		"SELECT id" + t1 + " WHERE id < 20 UNION SELECT 700 ORDER BY 1":                                               true,
		"SELECT 700 AS id UNION ALL SELECT id" + t1 + " WHERE id < 20":                                                true,
		"SELECT id" + t1 + " WHERE id < 20 UNION ALL SELECT id" + t1 + " WHERE id > 90":                               true,
		"SELECT count(*) AS n" + t1 + " GROUP BY id % 3 UNION ALL SELECT id % 5" + t1:                                 true,
		"SELECT count(*) AS n" + t1 + " WHERE id < 20 UNION ALL SELECT count(id)" + t1:                                false,
		"SELECT sum(n) AS n FROM (SELECT count(*) AS n" + t1 + " UNION ALL SELECT id" + t1 + ") u":                    false,
		"SELECT id FROM (SELECT id" + t1 + " ORDER BY id LIMIT 3) a UNION ALL SELECT id" + t1 + " WHERE id % 100 = 1": false,
	} {
		want, err := local.Rows(t.Context(), text, nil)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := alone.Rows(t.Context(), text, nil)
		switch {
		case runs && err != nil:
			t.Errorf("%s: %v (%v)", text, err, errors.Unwrap(err))
		case runs:
			compare(t, got, want)
		case kindIs(err) != executors.KindUnsupported:
			t.Errorf("%s: %v, %v", text, got, err)
		}
		if got, err = auto.Rows(t.Context(), text, nil); err != nil {
			t.Errorf("%s: with auto %v", text, err)
		} else {
			compare(t, got, want)
		}
	}
}
