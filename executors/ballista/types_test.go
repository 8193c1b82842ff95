package ballista

import (
	"errors"
	"testing"

	"gatehouse/executors"
	"gatehouse/executors/executortest"
	"gatehouse/policy"
)

// alike runs a statement on both executors, as a policy of one table has it: either both have the same rows, or errors of one class. It reports
// whether there are rows.
func alike(t *testing.T, alone, local *executortest.Pipeline, text string, demands executortest.Policy) bool {
	t.Helper()
	want, wantErr := local.Rows(t.Context(), text, demands)
	got, err := alone.Rows(t.Context(), text, demands)
	switch {
	case wantErr != nil || err != nil:
		if wantErr == nil || kindIs(err) != kindIs(wantErr) {
			t.Errorf("%s: %v (%v), and in the other executor %v", text, err, errors.Unwrap(err), wantErr)
		}
		return false
	default:
		compare(t, got, want)
		return len(want) > 0
	}
}

// TestUUIDs reads columns of UUIDs, times and bytes under policies, compares, groups, joins and orders by them, and makes texts of them and them of
// texts.
func TestUUIDs(t *testing.T) {
	alone, local := twins(t)
	hidden := executortest.Policy{"java.types_all": {ID: "d", Filters: []policy.Expression{{ID: "f", SQL: "k <> 1"}}}}
	masked := executortest.Policy{"java.types_all": {ID: "d", Masks: map[string]policy.Expression{"uid": {ID: "m", SQL: "NULL"}}}}
	equal := executortest.Policy{"java.types_all": {ID: "d", Filters: []policy.Expression{{ID: "f", SQL: "uid IS NULL OR uid > '11111111-1111-1111-1111-111111111111'"}}}}
	const all = " FROM java.types_all"
	for _, demands := range []executortest.Policy{nil, hidden, masked, equal} {
		for _, text := range []string{
			"SELECT k, uid, dt, bin, fx" + all,
			"SELECT k, CAST(uid AS VARCHAR) AS u, CAST(bin AS VARCHAR) AS b, CAST(fx AS VARCHAR) AS f" + all,
			"SELECT uid, count(*) AS n FROM (SELECT * FROM java.types_all UNION ALL SELECT * FROM java.types_all) x GROUP BY uid ORDER BY uid DESC",
			"SELECT bin, count(DISTINCT uid) AS n, min(uid) AS a, max(uid) AS b, max(bin) AS c" + all + " GROUP BY bin ORDER BY bin",
			"SELECT a.k, b.uid FROM java.types_all a JOIN java.types_all b ON a.uid = b.uid AND a.bin = b.bin",
			"SELECT count(*) AS n" + all + " WHERE uid IN (SELECT uid FROM java.types_all WHERE uid IS NOT NULL)",
			"SELECT k, row_number() OVER (PARTITION BY b ORDER BY uid, k) AS n, lag(uid) OVER (ORDER BY k) AS l" + all,
			"SELECT k FROM java.types_all ORDER BY uid NULLS FIRST, bin, k",
			"SELECT DISTINCT uid, bin" + all,
			"SELECT length(CAST(uid AS VARCHAR)) AS n, coalesce(uid, CAST('00000000-0000-0000-0000-000000000000' AS UUID)) AS c, greatest(bin, fx) AS g, CAST(CAST(CASE WHEN k < 3 THEN '12:00:00' ELSE '13:01:02.5' END AS TIME) AS VARCHAR) AS t" + all,
		} {
			if !alike(t, alone, local, text, demands) && demands == nil {
				t.Errorf("%s: no rows", text)
			}
		}
	}
	for _, text := range []string{
		"SELECT k FROM java.types_all WHERE uid = '80000000-0000-0000-0000-000000000001'",
		"SELECT k FROM java.types_all WHERE uid > '0fffffff-677c-4bbd-A479-3f349cb785e7' ORDER BY k",
		"SELECT k FROM java.types_all WHERE uid BETWEEN '00000000-0000-0000-0000-000000000000' AND 'ffffffff-ffff-ffff-ffff-ffffffffffff' ORDER BY k",
		"SELECT k FROM java.types_all WHERE CAST(s || '10:00:00' AS TIME) > '00:00:01' AND length(s) = 0",
	} {
		if !alike(t, alone, local, text, hidden) {
			t.Errorf("%s: no rows", text)
		}
	}
	for kind, all := range map[string][]string{
		"UUID": {"'0A1B2c3d-4e5f-6071-8293-a4b5c6d7e8f9'", "'0A1B2c3d-4e5f-6071-8293-a4b5c6d7e8fg'", "'{0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9}'", "''", "'x'"},
		"TIME": {"'12:30:00.25'", "'12:30'", "'23:59:60'", "'noon'", "' 12:30:00'"},
		"BLOB": {`'\x00\xfF'`, `'\x0'`, `'\'`, "'ä'", `'a''b'`},
	} {
		for _, value := range all {
			text := "SELECT CAST(CAST(s || " + value + " AS " + kind + ") AS VARCHAR) AS x FROM (SELECT '' AS s FROM java.types_all) t"
			if _, err := alone.Rows(t.Context(), text, hidden); kindIs(err) != executors.KindUnsupported {
				alike(t, alone, local, text, hidden)
			} else if plain := all[0]; value == plain {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}
