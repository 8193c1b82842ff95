package duckdb

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gatehouse/plan"
	"gatehouse/policy"
)

// TestChains checks, for random sets, that steps say exactly what applies to which file.
func TestChains(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		s := plan.Scan{}
		for range 6 {
			s.Deletes = append(s.Deletes, plan.DeleteFile{Kind: plan.EqualityDeletes})
		}
		for range 8 {
			var f plan.File
			from := random.IntN(7)
			for d := range 6 {
				// Mostly what a stream of upserts gives, sometimes anything.
				if d >= from && random.IntN(10) > 0 || random.IntN(20) == 0 {
					f.Deletes = append(f.Deletes, d)
				}
			}
			s.Files = append(s.Files, f)
		}
		c := newChains(&s)
		for i, f := range s.Files {
			chain, step := c.of(i)
			var got []int
			for _, added := range c.steps(chain)[:step] {
				got = append(got, added...)
			}
			slices.Sort(got)
			if !slices.Equal(got, f.Deletes) {
				t.Fatalf("file %d: chain %d step %d has %v, want %v", i, chain, step, got, f.Deletes)
			}
		}
	}
}

// TestEqualityDeletes reads three files of one chain, of which the oldest has all deletes and the newest none.
func TestEqualityDeletes(t *testing.T) {
	x := open(t, Config{})
	folder := t.TempDir()
	s := plan.Scan{Fields: []plan.Field{{ID: 1, Name: "id", Type: "BIGINT"}, {ID: 2, Name: "v", Type: "VARCHAR"}}}
	for i, name := range []string{"old", "middle", "new"} {
		path, size := writeParquet(t, folder, name+".parquet",
			"SELECT * FROM (VALUES (1::INTEGER, '"+name+"'), (2, '"+name+"'), (NULL, '"+name+"'), (4, NULL)) t(id, v)", ", FIELD_IDS {id: 1, v: 2}")
		s.Files = append(s.Files, plan.File{Path: path, Size: size, Rows: 4, Deletes: [][]int{{0, 1, 2}, {1, 2}, nil}[i]})
	}
	for i, keys := range []string{"SELECT 1::INTEGER AS id", "SELECT NULL::BIGINT AS id", "SELECT 2::BIGINT AS id"} {
		path, size := writeParquet(t, folder, "eq"+string(rune('0'+i))+".parquet", keys, ", FIELD_IDS {id: 1}")
		s.Deletes = append(s.Deletes, plan.DeleteFile{
			Kind: plan.EqualityDeletes, Path: path, Size: size, Rows: 1, Equality: []plan.Field{{ID: 1, Name: "id", Type: "BIGINT"}},
		})
	}
	got, err := scanRows(t, x, &plan.Relation{Relation: policy.Relation{CTE: "__gw_1"}, Scan: s})
	if err != nil {
		t.Fatal(err)
	}
	// Which side of a join is read first, and so the order of rows, is up to the engine.
	ids, values, _ := strings.Cut(got, " / ")
	var rows []string
	for i, v := range strings.Split(values, "|") {
		rows = append(rows, strings.Split(ids, "|")[i]+" "+v)
	}
	slices.Sort(rows)
	want := []string{"(null) new", "1 middle", "1 new", "2 new", "4 (null)", "4 (null)", "4 (null)"}
	if !slices.Equal(rows, want) {
		t.Errorf("got %q, want %q", rows, want)
	}
}

// TestDamagedDelete checks that a delete file that would delete nothing stops the read.
func TestDamagedDelete(t *testing.T) {
	x := open(t, Config{})
	folder := t.TempDir()
	data, size := writeParquet(t, folder, "d.parquet", "SELECT 1::BIGINT AS id", ", FIELD_IDS {id: 1}")
	noIDs, noIDsSize := writeParquet(t, folder, "p.parquet", "SELECT "+literal(data)+" AS file_path, 0::BIGINT AS pos", "")
	for _, d := range []plan.DeleteFile{
		{Kind: plan.PositionDeletes, Path: noIDs, Size: noIDsSize, Rows: 1},
		{Kind: plan.EqualityDeletes, Path: noIDs, Size: noIDsSize, Rows: 1, Equality: []plan.Field{{ID: 1, Name: "id", Type: "BIGINT"}}},
		{Kind: plan.EqualityDeletes, Path: data, Size: size, Rows: 2, Equality: []plan.Field{{ID: 1, Name: "id", Type: "BIGINT"}}},
		{Kind: plan.DeletionVector, Path: noIDs, Size: noIDsSize, Rows: 1, Offset: 4, Length: 40},
		{Kind: plan.DeletionVector, Path: noIDs, Size: noIDsSize, Rows: 1, Offset: 4, Length: 1 << 40},
	} {
		r := &plan.Relation{Relation: policy.Relation{CTE: "__gw_1"}, Scan: plan.Scan{
			Fields:  []plan.Field{{ID: 1, Name: "id", Type: "BIGINT"}},
			Files:   []plan.File{{Path: data, Size: size, Rows: 1, Deletes: []int{0}}},
			Deletes: []plan.DeleteFile{d},
		}}
		if got, err := scanRows(t, x, r); err == nil {
			t.Errorf("%+v: read %s", d, got)
		}
	}
}
