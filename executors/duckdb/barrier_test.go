package duckdb

import (
	"context"
	"strings"
	"testing"

	pgquery "github.com/pganalyze/pg_query_go/v6"

	"gatehouse/auth"
	"gatehouse/classify"
	"gatehouse/executors"
	"gatehouse/plan"
	"gatehouse/policy"
)

// TestBarrier checks that the materialised form keeps a user's expression from values that the filter hides, with enough rows that
// the engine's adaptive filters come into play. The control is the form without a barrier, where the same expression meets them.
func TestBarrier(t *testing.T) {
	x := open(t, Config{})
	path, size := writeParquet(t, t.TempDir(), "t.parquet",
		"SELECT i::BIGINT AS id, CASE WHEN i % 3 = 0 THEN 'EU' ELSE 'US' END AS region, CASE WHEN i % 3 = 0 THEN '[1]' ELSE 'HIDDEN-' || i END AS note, "+
			"CASE WHEN i % 3 = 0 THEN 65 ELSE 1114112 + i END::INTEGER AS code FROM range(300000) r(i)",
		", FIELD_IDS {id: 1, region: 2, note: 3, code: 4}")
	fields := []plan.Field{
		{ID: 1, Name: "id", Type: "BIGINT"},
		{ID: 2, Name: "region", Type: "VARCHAR"},
		{ID: 3, Name: "note", Type: "VARCHAR"},
		{ID: 4, Name: "code", Type: "INTEGER"},
	}
	attacks := []string{
		"SELECT count(*) FROM __gw_1 WHERE CAST(note AS INTEGER[]) IS NOT NULL",
		"SELECT count(*) FROM __gw_1 WHERE chr(code) = 'A'",
		"SELECT count(*) FROM __gw_1 WHERE CAST(note AS JSON) IS NOT NULL AND id >= 0",
	}
	for _, filter := range []string{"region = 'EU'", "region LIKE 'E%'", "region = 'EU' OR id = -1"} {
		leaks := 0
		for _, barrier := range []bool{true, false} {
			s, err := classify.Parse("SELECT " + filter)
			if err != nil {
				t.Fatal(err)
			}
			node := s.Tree().TargetList[0].GetResTarget().Val
			r := &plan.Relation{
				Relation: policy.Relation{CTE: "__gw_1", Barrier: barrier, Filter: node},
				Scan:     plan.Scan{Fields: fields, Files: []plan.File{{Path: path, Size: size, Rows: 300000}}},
			}
			for _, f := range fields {
				r.Columns = append(r.Columns, policy.Output{Name: f.Name, FieldID: f.ID, Type: f.Type, Reads: []int{f.ID}})
			}
			for _, attack := range attacks {
				got, err := attackRows(t, x, r, attack)
				switch {
				case !barrier && err != nil:
					leaks++
				case barrier && (err != nil || got != "100000"):
					t.Errorf("filter %s, %s: %q, %v", filter, attack, got, err)
				}
			}
		}
		if leaks == 0 {
			t.Errorf("filter %s: no attack works without the barrier, so that these prove nothing", filter)
		}
	}
}

// codes is a scan of a table whose hidden codes, those outside of the EU, are no characters, and what parses an expression.
func codes(t *testing.T) (plan.Scan, func(text string) *pgquery.Node) {
	t.Helper()
	path, size := writeParquet(t, t.TempDir(), "t.parquet",
		"SELECT i::BIGINT AS id, CASE WHEN i % 3 = 0 THEN 'EU' ELSE 'US' END AS region, CASE WHEN i % 3 = 0 THEN 65 ELSE 1114112 + i % 5 END::INTEGER AS code FROM range(300000) r(i)",
		", FIELD_IDS {id: 1, region: 2, code: 3}")
	fields := []plan.Field{{ID: 1, Name: "id", Type: "BIGINT"}, {ID: 2, Name: "region", Type: "VARCHAR"}, {ID: 3, Name: "code", Type: "INTEGER"}}
	parse := func(text string) *pgquery.Node {
		s, err := classify.Parse("SELECT " + text)
		if err != nil {
			t.Fatal(err)
		}
		return s.Tree().TargetList[0].GetResTarget().Val
	}
	return plan.Scan{Fields: fields, Files: []plan.File{{Path: path, Size: size, Rows: 300000}}}, parse
}

// TestMaskBarrier checks that a mask that may fail meets no value of a row that the filter hides. The control has no barrier between
// the two, and the same mask fails on a dictionary's entry that only hidden rows have.
func TestMaskBarrier(t *testing.T) {
	x := open(t, Config{})
	scan, parse := codes(t)
	if mask := parse("chr(code)"); !classify.FailsUnseen(mask, func(*pgquery.ColumnRef) string { return "INTEGER" }) {
		t.Error("chr counts as a function that does not fail")
	}
	if mask := parse("'***-' || right(region, 1)"); classify.FailsUnseen(mask, func(*pgquery.ColumnRef) string { return "VARCHAR" }) {
		t.Error("the last character of a text counts as able to fail")
	}
	for _, barrier := range []bool{true, false} {
		r := &plan.Relation{
			Relation: policy.Relation{CTE: "__gw_1", MaskFails: barrier, Filter: parse("region IN ('EU', 'DE')"), Columns: []policy.Output{
				{Name: "id", FieldID: 1, Type: "BIGINT", Reads: []int{1}}, {Name: "code", FieldID: 3, Type: "VARCHAR", Mask: parse("chr(code)"), Reads: []int{3}},
			}},
			Scan: scan,
		}
		got, err := attackRows(t, x, r, "SELECT min(code) FROM __gw_1")
		if barrier && (err != nil || got != "A") || !barrier && err == nil {
			t.Errorf("barrier %v: %q, %v", barrier, got, err)
		}
	}
}

// TestConditionsStayAboveMasks: the engine moves no condition below a mask that it knows to fail, and masks of which it does not know have a barrier
// (TestMaskBarrier), so that a mask fails on no hidden row even where a condition reads it and nothing is materialised. The control is a mask that the engine does
// not know to fail.
func TestConditionsStayAboveMasks(t *testing.T) {
	x := open(t, Config{})
	scan, parse := codes(t)
	for _, filter := range []string{"region = 'EU'", "lower(region) = 'eu'", "CASE WHEN id < 0 THEN false ELSE region = 'EU' END"} {
		for _, c := range []struct {
			mask, typ, other string
			fails            bool
		}{
			{"code * 30000", "INTEGER", "7", false},
			{"- 2147480000 - code", "INTEGER", "7", false},
			{"1000000000 + code * 2000", "INTEGER", "7", false},
			{"chr(code)", "VARCHAR", "'zz'", true},
		} {
			mask := parse(c.mask)
			if got := classify.FailsUnseen(mask, func(*pgquery.ColumnRef) string { return "INTEGER" }); got != c.fails {
				t.Errorf("%s fails unseen: %v", c.mask, got)
			}
			r := &plan.Relation{
				Relation: policy.Relation{CTE: "__gw_1", Filter: parse(filter), Columns: []policy.Output{
					{Name: "id", FieldID: 1, Type: "BIGINT", Reads: []int{1}}, {Name: "code", FieldID: 3, Type: c.typ, Mask: mask, Reads: []int{3}},
				}},
				Scan: scan,
			}
			got, err := attackRows(t, x, r, "SELECT count(*) FROM __gw_1 WHERE code <> "+c.other)
			if !c.fails && (err != nil || got != "100000") {
				t.Errorf("filter %s, mask %s: %q, %v", filter, c.mask, got, err)
			}
			if c.fails && err == nil {
				t.Errorf("filter %s, mask %s: nothing fails, and the rest proves nothing", filter, c.mask)
			}
		}
	}
}

func attackRows(t *testing.T, x *Executor, r *plan.Relation, text string) (string, error) {
	t.Helper()
	s, err := x.newPrepared(owner{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	defer s.free()
	sc, err := x.openScan(r, s.pins, false)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := newRelationParts(r, auth.Secret{})
	if err != nil {
		t.Fatal(err)
	}
	inner, err := sc.text()
	if err != nil {
		t.Fatal(err)
	}
	full := "WITH " + parts.before + inner + parts.after + " " + text
	if err := s.bind(&statement{text: full, shape: "SELECT 1", governed: "SELECT 1"}, 0); err != nil {
		t.Fatalf("%v (%v)", err, cause1(err))
	}
	s.free()
	reader, err := s.Execute(context.Background(), nil)
	if err != nil {
		return "", err
	}
	defer reader.Release()
	out, err := drain(reader)
	if e := asError(err); e != nil && (e.Kind == executors.KindInternal || strings.Contains(e.Error(), "HIDDEN")) {
		t.Errorf("%v (%v)", e, cause1(e))
	}
	return strings.Join(out, ""), err
}
