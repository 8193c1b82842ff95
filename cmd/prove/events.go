package main

import (
	"context"
	"math/rand/v2"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// entry is one entry of a map.
type entry struct{ key, value any }

// events has row lineage, and a past in which a masked column had another name and another column was there that no policy knows.
func events() twinTable {
	pay := salary()
	pay.before = "pay"
	return twinTable{
		name: "events", rows: 20, version: 3, past: true,
		hiddenRows: map[side]int{sideA: 40, sideB: 40}, files: map[side]int{sideA: 2, sideB: 2, sideC: 1},
		columns: append(append([]column{id()}, deciding()...),
			pay,
			column{
				name: "gone", kind: "varchar", typ: str, dropped: true, hidden: hiddenText,
				visible: text("a", "b"), under: func(s side, _ *rand.Rand, _ any) any { return canaryText + string(s) },
			},
			column{
				name: "attrs", kind: "map", typ: &iceberg.MapType{KeyID: 104, KeyType: str, ValueID: 105, ValueType: short},
				visible: maybe(6, func(r *rand.Rand, _ int) any {
					return pick(r, []entry{{"a", int32(1)}}, []entry{{"a", int32(2)}, {"b", nil}}, nil)
				}),
				hidden: func(s side, r *rand.Rand, i int) any {
					return []entry{{canaryText, canaryShort}, {"a", hiddenInt(s, r, i)}}
				},
				masks: []string{"", "NULL"},
			},
			column{name: "big", kind: "bigint", typ: long, before: "amount", visible: func(r *rand.Rand, _ int) any { return int64(r.IntN(2000)) }, hidden: hiddenLong},
		),
	}
}

// faulty has a filter that fails on one hidden row, which is another one on each side: whatever is asked of the table, it fails.
func faulty() twinTable {
	bad := map[side]int64{sideA: 1000, sideB: 2000, sideC: 3000}
	return twinTable{
		name: "faulty", rows: 10, filter: "CAST(note AS INTEGER) > 0",
		hiddenRows: map[side]int{sideA: 30, sideB: 30, sideC: 30}, files: map[side]int{sideA: 1, sideB: 1, sideC: 1},
		columns: []column{
			{name: "id", kind: "bigint", typ: long, required: true, visible: id().visible, hidden: func(s side, _ *rand.Rand, i int) any {
				if i == 0 {
					return bad[s]
				}
				return int64(5000 + i)
			}},
			{name: "note", kind: "varchar", typ: str, visible: text("1", "2"), hidden: func(_ side, _ *rand.Rand, i int) any {
				if i == 0 {
					return "x"
				}
				return "-1"
			}},
		},
	}
}

// past is the name that c had.
func (c column) past() string {
	if c.before != "" {
		return c.before
	}
	return c.name
}

// home is the namespace of t.
func (t twinTable) home() string {
	if t.namespace != "" {
		return t.namespace
	}
	return namespace
}

// change names the table as it is "past", and then renames and drops columns.
func (w *warehouse) change(ctx context.Context, t twinTable, tbl *table.Table) error {
	now := tbl.CurrentSnapshot().SnapshotID
	tag := table.NewSetSnapshotRefUpdate("past", now, table.TagRef, 0, 0, 0)
	if _, _, err := w.cat.CommitTable(ctx, tbl.Identifier(), nil, []table.Update{tag}); err != nil {
		return err
	}
	tbl, err := w.cat.LoadTable(ctx, tbl.Identifier())
	if err != nil {
		return err
	}
	tx := tbl.NewTransaction()
	u := tx.UpdateSchema(true, true)
	for _, c := range t.columns {
		switch {
		case c.dropped:
			u.DeleteColumn([]string{c.name})
		case c.lost != "":
			u.DeleteColumn([]string{c.name, c.lost})
		case c.before != "":
			u.RenameColumn([]string{c.before}, c.name)
		}
	}
	if err := u.Commit(); err != nil {
		return err
	}
	_, err = tx.Commit(ctx)
	return err
}

// numbered is df with the number of its first row, which format version 3 asks for.
func numbered(df iceberg.DataFile, first int64) (iceberg.DataFile, error) {
	b, err := iceberg.NewDataFileBuilder(*iceberg.UnpartitionedSpec, iceberg.EntryContentData, df.FilePath(), iceberg.ParquetFile, nil, nil, nil, df.Count(), df.FileSizeBytes())
	if err != nil {
		return nil, err
	}
	return b.LowerBoundValues(df.LowerBoundValues()).UpperBoundValues(df.UpperBoundValues()).NullValueCounts(df.NullValueCounts()).
		ValueCounts(df.ValueCounts()).FirstRowID(first).Build(), nil
}
