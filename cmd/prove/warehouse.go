package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/iceberg-go"
	icecat "github.com/apache/iceberg-go/catalog"
	icesql "github.com/apache/iceberg-go/catalog/sql"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	_ "modernc.org/sqlite" // the catalog's database
)

// The names of the twins' catalog, its namespace and its database.
const (
	catalogName = "lake"
	namespace   = "shop"
	catalogFile = "catalog.db"
)

// warehouse writes one side into dir.
type warehouse struct {
	dir  string
	side side
	seed uint64
	cat  *icesql.Catalog
}

// writeWarehouse makes one side's tables in dir, which must exist. Visible rows depend on seed alone.
func writeWarehouse(ctx context.Context, dir string, s side, seed uint64) error {
	return withWarehouse(ctx, dir, func(w *warehouse) error {
		w.side, w.seed = s, seed
		for i, t := range twins() {
			if t.denied && s != sideA {
				continue
			}
			if t.namespace != "" {
				if err := w.cat.CreateNamespace(ctx, table.Identifier{t.namespace}, nil); err != nil {
					return err
				}
			}
			t.columns = slices.DeleteFunc(t.columns, func(c column) bool { return c.only != 0 && c.only != s })
			if err := w.table(ctx, t, w.split(t, w.rows(t, uint64(i)))); err != nil {
				return fmt.Errorf("table %s of %c: %w", t.name, s, err)
			}
		}
		return nil
	})
}

// withWarehouse makes an empty catalog in dir, calls write, and closes the catalog.
func withWarehouse(ctx context.Context, dir string, write func(*warehouse) error) (err error) {
	db, err := sql.Open("sqlite", filepath.Join(dir, catalogFile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	w := &warehouse{dir: dir}
	if w.cat, err = icesql.NewCatalog(catalogName, db, icesql.SQLite, iceberg.Properties{"warehouse": "file://" + dir}); err != nil {
		return err
	}
	if err = w.cat.CreateNamespace(ctx, table.Identifier{namespace}, nil); err != nil {
		return err
	}
	return write(w)
}

// row is the values of one row by column.
type row struct {
	values  []any
	visible bool
	deleted bool
}

// rows makes a table's rows: visible ones in an order that is the same on all sides, hidden ones among them.
func (w *warehouse) rows(t twinTable, n uint64) []row {
	shown := rand.New(rand.NewPCG(w.seed, n))
	raw := rand.New(rand.NewPCG(w.seed+uint64(w.side), n))
	var out []row
	hide := func(count int) {
		for range count {
			out = append(out, row{values: w.hiddenRow(t, raw, len(out))})
		}
	}
	hidden := t.hiddenRows[w.side]
	for i := range t.rows {
		hide(w.before(i+1, t.rows, hidden) - w.before(i, t.rows, hidden))
		values := make([]any, len(t.columns))
		for c, col := range t.columns {
			v := col.visible(shown, i)
			if col.under != nil {
				v = col.under(w.side, raw, v)
			}
			values[c] = v
		}
		out = append(out, row{values: values, visible: true})
	}
	hide(hidden - w.before(t.rows, t.rows, hidden))
	if (t.deletes || t.equals) && hidden > 0 {
		for n := range 20 { // deleted rows: visible by every filter, were they not deleted
			r := row{values: w.hiddenRow(t, raw, len(out)), deleted: true}
			for c, col := range t.columns {
				if col.name == "region" || col.name == "level" || col.name == "vip" {
					r.values[c] = col.visible(raw, 0)
				}
			}
			if t.equals {
				r.values[0] = int64(700000 + n)
			}
			at := raw.IntN(len(out))
			out = append(out[:at], append([]row{r}, out[at:]...)...)
		}
	}
	return out
}

// before is how many of the hidden rows stand before visible row i (from 1) of n: on A they lie evenly among the visible ones, on B half
// of them come first and half last.
func (w *warehouse) before(i, n, hidden int) int {
	switch {
	case i == 0:
		return 0
	case w.side == sideB:
		return hidden / 2
	}
	return hidden * i / (n + 1)
}

func (w *warehouse) hiddenRow(t twinTable, r *rand.Rand, i int) []any {
	values := make([]any, len(t.columns))
	for c, col := range t.columns {
		if col.hidden != nil {
			values[c] = col.hidden(w.side, r, i)
		} else {
			values[c] = col.visible(r, i)
		}
	}
	return values
}

func (t twinTable) schema() *iceberg.Schema {
	var fields []iceberg.NestedField
	for i, c := range t.columns {
		fields = append(fields, iceberg.NestedField{ID: i + 1, Name: c.past(), Type: c.typ, Required: c.required})
	}
	return iceberg.NewSchema(0, fields...)
}

func (t twinTable) spec() *iceberg.PartitionSpec {
	if !t.partitioned {
		return iceberg.UnpartitionedSpec
	}
	for i, c := range t.columns {
		if c.name == "region" {
			s := iceberg.NewPartitionSpec(iceberg.PartitionField{SourceIDs: []int{i + 1}, FieldID: 1000, Name: "region", Transform: iceberg.IdentityTransform{}})
			return &s
		}
	}
	return iceberg.UnpartitionedSpec
}

// table makes t of one data file for each of files.
func (w *warehouse) table(ctx context.Context, t twinTable, files [][]row) error {
	dir := filepath.Join(w.dir, t.home(), t.name)
	for _, sub := range []string{"data", "metadata"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return err
		}
	}
	tbl, err := w.cat.CreateTable(ctx, table.Identifier{t.home(), t.name}, t.schema(), icecat.WithLocation("file://"+dir),
		icecat.WithPartitionSpec(t.spec()), icecat.WithProperties(iceberg.Properties{"format-version": fmt.Sprint(max(2, t.version))}))
	if err != nil {
		return err
	}
	fs := iceio.LocalFS{}
	var added []iceberg.DataFile
	first := int64(0)
	var deleted []position
	var gone []row
	for i, rows := range files {
		path := filepath.Join(dir, "data", fmt.Sprintf("%05d.parquet", i))
		if err := writeParquet(path, tbl.Schema(), rows, cmp.Or(t.group, groupRows(len(rows)))); err != nil {
			return err
		}
		df, err := table.FileToDataFile(ctx, fs, "file://"+path, tbl.Schema(), tbl.Spec(), 0, nil)
		if err != nil {
			return err
		}
		if t.version >= 3 {
			if df, err = numbered(df, first); err != nil {
				return err
			}
			first += df.Count()
		}
		added = append(added, df)
		for at, r := range rows {
			if r.deleted {
				deleted, gone = append(deleted, position{"file://" + path, int64(at)}), append(gone, r)
			}
		}
	}
	tx := tbl.NewTransaction()
	if err := tx.AddDataFiles(ctx, added, nil); err != nil {
		return err
	}
	if tbl, err = tx.Commit(ctx); err != nil {
		return err
	}
	if t.equals && len(gone) > 0 {
		if tbl, err = w.deleteEqual(ctx, t, tbl, gone); err != nil {
			return err
		}
	}
	if t.past {
		return w.change(ctx, t, tbl)
	}
	if t.equals || len(gone) == 0 {
		return nil
	}
	return w.delete(ctx, t, tbl, deleted)
}

// split spreads rows over files: by region if the table is partitioned, else in order.
func (w *warehouse) split(t twinTable, rows []row) [][]row {
	if !t.partitioned {
		n := t.files[w.side]
		var out [][]row
		for i := range n {
			out = append(out, rows[len(rows)*i/n:len(rows)*(i+1)/n])
		}
		return out
	}
	at := 0
	for t.columns[at].name != "region" {
		at++
	}
	byRegion := map[string][]row{}
	for _, r := range rows {
		key := fmt.Sprint(r.values[at])
		byRegion[key] = append(byRegion[key], r)
	}
	keys := make([]string, 0, len(byRegion))
	for k := range byRegion {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	var out [][]row
	for _, k := range keys {
		out = append(out, byRegion[k])
	}
	return out
}

type position struct {
	path string
	at   int64
}

// delete commits one positional delete file.
func (w *warehouse) delete(ctx context.Context, t twinTable, tbl *table.Table, deleted []position) error {
	path := filepath.Join(w.dir, namespace, t.name, "data", "deletes.parquet")
	var rows []row
	for _, d := range deleted {
		rows = append(rows, row{values: []any{d.path, d.at}})
	}
	if err := writeParquet(path, iceberg.PositionalDeleteSchema, rows, groupRows(len(rows))); err != nil {
		return err
	}
	df, err := table.FileToDataFile(ctx, iceio.LocalFS{}, "file://"+path, iceberg.PositionalDeleteSchema, *iceberg.UnpartitionedSpec, 0, nil)
	if err != nil {
		return err
	}
	b, err := iceberg.NewDataFileBuilder(*iceberg.UnpartitionedSpec, iceberg.EntryContentPosDeletes, "file://"+path, iceberg.ParquetFile, nil, nil, nil,
		df.Count(), df.FileSizeBytes())
	if err != nil {
		return err
	}
	tx := tbl.NewTransaction()
	if err := tx.NewRowDelta(nil).AddDeletes(b.LowerBoundValues(df.LowerBoundValues()).UpperBoundValues(df.UpperBoundValues()).Build()).Commit(ctx); err != nil {
		return err
	}
	_, err = tx.Commit(ctx)
	return err
}

// groupRows is the length of row groups, each with bounds of its own that the engine may prune by; a large file stays
// in one piece, since only there does the engine reorder conditions.
func groupRows(rows int) int64 {
	if rows > 1000 {
		return 1 << 20
	}
	return 32
}

// writeParquet writes rows as one dictionary-encoded file with the schema's field ids.
func writeParquet(path string, schema *iceberg.Schema, rows []row, group int64) (err error) {
	sc, err := table.SchemaToArrowSchema(schema, nil, true, false)
	if err != nil {
		return err
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, sc)
	defer b.Release()
	for _, r := range rows {
		for i, v := range r.values {
			if err := appendValue(b.Field(i), v); err != nil {
				return fmt.Errorf("column %s: %w", sc.Field(i).Name, err)
			}
		}
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	props := parquet.NewWriterProperties(parquet.WithDictionaryDefault(true), parquet.WithStats(true), parquet.WithMaxRowGroupLength(group))
	w, err := pqarrow.NewFileWriter(sc, f, props, pqarrow.DefaultWriterProps())
	if err != nil {
		return errors.Join(err, f.Close())
	}
	return errors.Join(w.WriteBuffered(rec), w.Close())
}

// appendValue appends one Go value. Dates are days, times and timestamps microseconds, decimals unscaled.
func appendValue(b array.Builder, v any) error {
	if v == nil {
		b.AppendNull()
		return nil
	}
	switch b := b.(type) {
	case *array.Int64Builder:
		b.Append(v.(int64))
	case *array.Int32Builder:
		b.Append(v.(int32))
	case *array.Float64Builder:
		b.Append(v.(float64))
	case *array.Float32Builder:
		b.Append(v.(float32))
	case *array.BooleanBuilder:
		b.Append(v.(bool))
	case *array.StringBuilder:
		b.Append(v.(string))
	case *array.BinaryBuilder:
		b.Append(v.([]byte))
	case *array.FixedSizeBinaryBuilder:
		b.Append(v.([]byte))
	case *array.Date32Builder:
		b.Append(arrow.Date32(v.(int32)))
	case *array.Time64Builder:
		b.Append(arrow.Time64(v.(int64)))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v.(int64)))
	case *array.Decimal128Builder:
		b.Append(decimal128.FromI64(v.(int64)))
	case interface{ StorageBuilder() array.Builder }:
		return appendValue(b.StorageBuilder(), v)
	case *array.ListBuilder:
		b.Append(true)
		for _, x := range v.([]any) {
			if err := appendValue(b.ValueBuilder(), x); err != nil {
				return err
			}
		}
	case *array.MapBuilder:
		b.Append(true)
		for _, e := range v.([]entry) {
			if err := errors.Join(appendValue(b.KeyBuilder(), e.key), appendValue(b.ItemBuilder(), e.value)); err != nil {
				return err
			}
		}
	case *array.StructBuilder:
		b.Append(true)
		for i, f := range b.Type().(*arrow.StructType).Fields() {
			if err := appendValue(b.FieldBuilder(i), v.(map[string]any)[f.Name]); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("no way to append to %T", b)
	}
	return nil
}
