package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// parcels has rows that are deleted by their ids, and a past in which a struct had one part more: a policy can mean the whole column only, by its
// name, and who wrote it never saw that part.
func parcels() twinTable {
	box := func(s side, r *rand.Rand) any {
		return map[string]any{"city": pick(r, "Ulm", "Rom"), "zip": int32(r.IntN(5)), "sender": canaryText + string(s)}
	}
	return twinTable{
		name: "parcels", rows: 30, equals: true, past: true,
		hiddenRows: map[side]int{sideA: 40, sideB: 40}, files: map[side]int{sideA: 2, sideB: 2, sideC: 1},
		columns: append(append([]column{id()}, deciding()...),
			column{
				name: "box", kind: "struct", lost: "sender", typ: &iceberg.StructType{FieldList: []iceberg.NestedField{
					{ID: 106, Name: "city", Type: str}, {ID: 107, Name: "zip", Type: short}, {ID: 108, Name: "sender", Type: str},
				}},
				visible: func(r *rand.Rand, _ int) any { return box(sideC, r) },
				under: func(s side, _ *rand.Rand, v any) any {
					v.(map[string]any)["sender"] = canaryText + string(s)
					return v
				},
				hidden: func(s side, r *rand.Rand, _ int) any { return box(s, r) },
				masks:  []string{"", "NULL", "{'city': upper(box.city), 'zip': 0}"},
			},
			column{name: "sku", kind: "varchar", typ: str, visible: text("1", "22", "333"), hidden: hiddenText, masks: []string{"", "CAST(CAST(sku AS INTEGER) AS VARCHAR)"}},
			column{
				name: "weight", kind: "int", typ: short, visible: func(r *rand.Rand, _ int) any { return int32(1 + r.IntN(50)) },
				hidden: few(hiddenInt, int32(math.MaxInt32), int32(math.MinInt32), canaryShort), masks: []string{"weight * 1000", "-5 - weight"},
			},
			salary(),
		),
	}
}

// deleteEqual commits one equality delete file with the ids of the deleted rows.
func (w *warehouse) deleteEqual(ctx context.Context, t twinTable, tbl *table.Table, deleted []row) (*table.Table, error) {
	key := tbl.Schema().Field(0)
	schema := iceberg.NewSchema(0, key)
	var rows []row
	for _, r := range deleted {
		rows = append(rows, row{values: r.values[:1]})
	}
	path := filepath.Join(w.dir, t.home(), t.name, "data", "equal.parquet")
	if err := writeParquet(path, schema, rows, groupRows(len(rows))); err != nil {
		return nil, err
	}
	df, err := table.FileToDataFile(ctx, iceio.LocalFS{}, "file://"+path, schema, *iceberg.UnpartitionedSpec, 0, nil)
	if err != nil {
		return nil, err
	}
	b, err := iceberg.NewDataFileBuilder(*iceberg.UnpartitionedSpec, iceberg.EntryContentEqDeletes, "file://"+path, iceberg.ParquetFile, nil, nil, nil,
		df.Count(), df.FileSizeBytes())
	if err != nil {
		return nil, fmt.Errorf("equality deletes: %w", err)
	}
	tx := tbl.NewTransaction()
	if err := tx.NewRowDelta(nil).AddDeletes(b.EqualityFieldIDs([]int{key.ID}).Build()).Commit(ctx); err != nil {
		return nil, err
	}
	return tx.Commit(ctx)
}
