package duckdb_test

import (
	"database/sql"
	"fmt"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"gatehouse/classify"
	"gatehouse/classify/printer"
)

// TestValuesMeanWhatIsBound: a condition says the same of each row whether the engine binds a value or reads it as the constant
// that Statement.WithArgs makes of it.
func TestValuesMeanWhatIsBound(t *testing.T) {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TABLE t AS SELECT * FROM (VALUES
		(1, 1::INTEGER, 1::BIGINT, 1::TINYINT, 1::UBIGINT, 1::HUGEINT, 1.50::DECIMAL(15,2), 1.5::DOUBLE, 1.5::REAL, '1', DATE '2020-01-01', TIMESTAMP '2020-01-01 10:00:00', true, 'e5f2b3a0-0000-4000-8000-000000000000'::UUID),
		(2, 2, 5000000000, 2, 5000000000, 5000000000, 2.00, 2, 2, '2', DATE '2021-01-01', TIMESTAMP '2020-01-01', false, NULL),
		(3, -1, -1, -1, 0, -1, -1.00, -1, -1, 'x''y', NULL, NULL, NULL, NULL)) v(k, n, b, tiny, ub, h, d, f, r, s, dt, ts, bo, u)`); err != nil {
		t.Fatal(err)
	}
	values := []any{
		int64(1), int64(2), int64(-1), int64(5_000_000_000), int64(-9223372036854775808), "1", "2", "1.50", "1.5", "1.509", "x'y", "2020-01-01",
		"2020-01-01 10:00:00", "true", "e5f2b3a0-0000-4000-8000-000000000000", "", true, false, nil,
	}
	conditions := []string{"%s = $1", "$1 < %s", "%s <> $1", "%s IN ($1, NULL)", "%s BETWEEN $1 AND $1", "%s LIKE $1", "%s = CAST($1 AS BIGINT)", "%s = CAST($1 AS VARCHAR)"}
	rows, same := 0, 0
	for _, column := range []string{"n", "b", "tiny", "ub", "h", "d", "f", "r", "s", "dt", "ts", "bo", "u"} {
		for _, c := range conditions {
			text := "SELECT k FROM t WHERE " + fmt.Sprintf(c, column) + " ORDER BY k"
			s, err := classify.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range values {
				constant, left, err := s.WithArgs([]any{v})
				if err != nil {
					t.Fatal(err)
				}
				if len(left) > 0 {
					continue
				}
				printed, err := printer.PrintSelect(constant.Tree(), printer.DuckDB())
				if err != nil {
					t.Fatal(err)
				}
				want, werr := keys(db, text, v)
				got, gerr := keys(db, printed)
				if want != got || (werr == nil) != (gerr == nil) {
					t.Errorf("%s with %T %v:\nbound   %s %v\n%s\nconstant %s %v", text, v, v, want, werr, printed, got, gerr)
				}
				if same++; want != "[]" && werr == nil {
					rows++
				}
			}
		}
	}
	if same < 1000 || rows < 250 {
		t.Errorf("%d compared, %d with rows: too few to prove a thing", same, rows)
	}
	t.Log(same, rows)
}

func keys(db *sql.DB, text string, args ...any) (string, error) {
	rows, err := db.Query(text, args...)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	out := []int{}
	for rows.Next() {
		var k int
		if err := rows.Scan(&k); err != nil {
			return "", err
		}
		out = append(out, k)
	}
	return fmt.Sprint(out), rows.Err()
}
