package duckdb_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// lines runs one statement and returns all values as text.
func lines(t *testing.T, db *sql.DB, text string) string {
	t.Helper()
	rows, err := db.Query(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer rows.Close()
	columns, _ := rows.Columns()
	var out strings.Builder
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(sql.NullString)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			out.WriteString(v.(*sql.NullString).String + "\n")
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestNoStatistics: files that are read by a schema of field ids give the engine no least and greatest values, so that nothing is known of
// hidden ones before they are read, even if statistics were propagated. The control reads the same file without such a schema.
func TestNoStatistics(t *testing.T) {
	db, path := estimates(t)
	byID := "read_parquet(['" + path + "'], schema=MAP {1: {name: 'c1', type: 'BIGINT', default_value: NULL::VARCHAR}}, explicit_cardinality=1000)"
	if got := lines(t, db, "SELECT stats(c1) FROM "+byID+" LIMIT 1"); !strings.Contains(got, "Min: NULL, Max: NULL") {
		t.Errorf("the engine knows %s", got)
	}
	if got := lines(t, db, "SELECT stats(id) FROM read_parquet(['"+path+"']) LIMIT 1"); !strings.Contains(got, "Max: 999") {
		t.Errorf("the control: %s", got)
	}
}

// TestEstimates: what the engine expects of a scan is the same with and without deletes, and with and without rows. Which side of
// a join it reads first hangs on that, and with it which of several errors of visible rows comes up.
func TestEstimates(t *testing.T) {
	db, path := estimates(t)
	for _, s := range []string{"CREATE TEMP TABLE one AS SELECT 5::BIGINT AS k", "CREATE TEMP TABLE many AS SELECT range AS k FROM range(1000)"} {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	scan := func(rows int, where string) string {
		return fmt.Sprintf("SELECT c1 AS id, c2 AS region FROM read_parquet(['%s'], schema=MAP {1: {name: 'c1', type: 'BIGINT', default_value: NULL::VARCHAR}, "+
			"2: {name: 'c2', type: 'VARCHAR', default_value: NULL::VARCHAR}}, explicit_cardinality=%d, hive_partitioning=false) d %s", path, rows, where)
	}
	deletes := "WHERE ((d.file_index::BIGINT << 40) | d.file_row_number) NOT IN (SELECT k FROM temp.main.%s)"
	last := regexp.MustCompile(`CTE_SCAN[^~]*~([0-9,]+) rows`)
	for _, filter := range []string{"region = 'EU'", "region IN ('EU', 'FR')", "lower(region) = 'eu'", "region LIKE 'E%'"} {
		estimate := func(scan string) string {
			text := lines(t, db, "EXPLAIN WITH t AS MATERIALIZED (SELECT id FROM ("+scan+") WHERE "+filter+") SELECT * FROM t")
			m := last.FindStringSubmatch(text)
			if m == nil {
				t.Fatalf("no estimate in %s", text)
			}
			return m[1]
		}
		want := estimate(scan(1024, ""))
		for name, text := range map[string]string{
			"one delete": scan(5*1024, fmt.Sprintf(deletes, "one")), "many deletes": scan(5*1024, fmt.Sprintf(deletes, "many")),
			"no rows": "SELECT TRY_CAST(CASE WHEN i < 0 THEN CAST(i AS VARCHAR) END AS BIGINT) AS id, TRY_CAST(CASE WHEN i < 0 THEN CAST(i AS VARCHAR) END AS VARCHAR) AS region " +
				"FROM range(1024) AS r(i) WHERE i < 0",
		} {
			if got := estimate(text); got != want {
				t.Errorf("%s, %s: %s rows are expected, without %s", filter, name, got, want)
			}
		}
		if got := estimate(scan(1024, fmt.Sprintf(deletes, "one"))); got == want {
			t.Errorf("%s: the engine does not count deletes any more, and neither should a scan", filter)
		}
	}
}

// estimates makes a file of 1000 rows and an engine with our optimisers.
func estimates(t *testing.T) (*sql.DB, string) {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	path := filepath.Join(t.TempDir(), "e.parquet")
	if _, err := db.Exec("COPY (SELECT i::BIGINT AS id, 'EU' AS region FROM range(1000) r(i)) TO '" + path + "' (FORMAT parquet, FIELD_IDS {id: 1, region: 2})"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("SET threads = 1; SET disabled_optimizers = 'cte_filter_pusher'"); err != nil {
		t.Fatal(err)
	}
	return db, path
}
