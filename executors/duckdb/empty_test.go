package duckdb

import (
	"testing"

	"gatehouse/classify"
	"gatehouse/plan"
	"gatehouse/policy"
)

// TestNoRowsLikeHiddenRows: a statement that fails by itself fails over a table without rows as it does over one whose rows are all hidden. The
// control is a table from which nothing can be hidden, where the engine sees that there is nothing to do.
func TestNoRowsLikeHiddenRows(t *testing.T) {
	x := open(t, Config{})
	path, size := writeParquet(t, t.TempDir(), "t.parquet", "SELECT i::BIGINT AS id, 'US' AS region FROM range(100) r(i)", ", FIELD_IDS {id: 1, region: 2}")
	s, err := classify.Parse("SELECT region = 'EU'")
	if err != nil {
		t.Fatal(err)
	}
	fields := []plan.Field{{ID: 1, Name: "id", Type: "BIGINT"}, {ID: 2, Name: "region", Type: "VARCHAR"}}
	relation := func(files ...plan.File) *plan.Relation {
		r := &plan.Relation{
			Relation: policy.Relation{CTE: "__gw_1", Filter: s.Tree().TargetList[0].GetResTarget().Val, Columns: []policy.Output{
				{Name: "id", FieldID: 1, Type: "BIGINT", Reads: []int{1}},
			}},
			Scan: plan.Scan{Fields: fields, Files: files, Rough: 256},
		}
		return r
	}
	for _, text := range []string{
		"SELECT (SELECT v FROM unnest([1, 2]) AS u(v)) FROM __gw_1",
		"SELECT (SELECT CAST(s AS INTEGER) FROM (VALUES ('x')) AS v(s)) FROM __gw_1",
		"SELECT count(*) FROM __gw_1 AS t JOIN (SELECT CAST(s AS BIGINT) AS n FROM (VALUES ('1'), ('x')) AS w(s)) AS x ON x.n = t.id",
	} {
		for _, barrier := range []bool{true, false} {
			hidden, empty := relation(plan.File{Path: path, Size: size, Rows: 100}), relation()
			hidden.Barrier, empty.Barrier = barrier, barrier
			_, wanted := attackRows(t, x, hidden, text)
			if _, err := attackRows(t, x, empty, text); (err == nil) != (wanted == nil) {
				t.Errorf("%s, barrier %v: %v over no rows, %v over hidden ones", text, barrier, err, wanted)
			}
		}
		open := relation()
		open.Filter, open.Scan.Rough = nil, 0
		if _, err := attackRows(t, x, open, text); err != nil {
			t.Errorf("%s: the control fails, and the rest proves nothing: %v", text, err)
		}
	}
}
