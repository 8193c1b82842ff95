package lake

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// writer writes the files and commits of one table.
type writer struct {
	*builder
	*draft
	source string
	files  []file // data files so far
	times  []time.Time
}

// file is one data file: its name below data, without ending, its rows (an SQL condition on the source and its
// order) and the rows of a row group (0: the engine's own).
type file struct {
	name, where, order string
	group              int
}

func (w *writer) dataFile(f file) string {
	return w.draft.fs.uri(Namespace, w.source, "data", f.name+".parquet")
}

// appendFiles writes files in the present schema and spec and commits them together at noon of day.
func appendFiles(day string, files ...file) step {
	return func(ctx context.Context, w *writer) error {
		t, err := w.LoadTable(ctx, w.name)
		if err != nil {
			return err
		}
		var added []iceberg.DataFile
		for _, f := range files {
			uri := w.dataFile(f)
			query := "SELECT " + selectList(t.Schema()) + " FROM " + w.source + " WHERE " + f.where + " ORDER BY " + f.order
			if err := w.copy(ctx, query, uri, t.Schema(), f.group); err != nil {
				return err
			}
			df, err := w.describe(ctx, uri, t.Schema(), t.Spec())
			if err != nil {
				return err
			}
			if df.Count() == 0 {
				return fmt.Errorf("%s has no rows", f.name)
			}
			added = append(added, df)
		}
		w.files = append(w.files, files...)
		return w.snapshot(ctx, day, func(tx *table.Transaction) error { return tx.AddDataFiles(ctx, added, nil) })
	}
}

// deleteRows writes one positional delete file for the rows that match where, and commits it at noon of day.
func deleteRows(day, where string) step {
	return func(ctx context.Context, w *writer) error {
		uri := w.draft.fs.uri(Namespace, w.source, "data", "deletes-"+day+".parquet")
		if err := w.copy(ctx, w.positions(where), uri, iceberg.PositionalDeleteSchema, 0); err != nil {
			return err
		}
		df, err := w.describe(ctx, uri, iceberg.PositionalDeleteSchema, *iceberg.UnpartitionedSpec)
		if err != nil {
			return err
		}
		build, err := iceberg.NewDataFileBuilder(*iceberg.UnpartitionedSpec, iceberg.EntryContentPosDeletes, uri, iceberg.ParquetFile,
			nil, nil, nil, df.Count(), df.FileSizeBytes())
		if err != nil {
			return err
		}
		deletes := build.ColumnSizes(df.ColumnSizes()).ValueCounts(df.ValueCounts()).NullValueCounts(df.NullValueCounts()).
			LowerBoundValues(df.LowerBoundValues()).UpperBoundValues(df.UpperBoundValues()).SplitOffsets(df.SplitOffsets()).Build()
		return w.snapshot(ctx, day, func(tx *table.Transaction) error { return tx.NewRowDelta(nil).AddDeletes(deletes).Commit(ctx) })
	}
}

// positions finds rows by their place in each file; the format wants them in order of file and position.
func (w *writer) positions(where string) string {
	var parts []string
	for _, f := range w.files {
		parts = append(parts, fmt.Sprintf("SELECT %s AS file_path, pos FROM (SELECT *, row_number() OVER (ORDER BY %s) - 1 AS pos FROM %s WHERE %s) WHERE %s",
			quote(w.dataFile(f)), f.order, w.source, f.where, where))
	}
	return strings.Join(parts, " UNION ALL ") + " ORDER BY file_path, pos"
}

func evolveSchema(change func(*table.UpdateSchema)) step {
	return func(ctx context.Context, w *writer) error {
		return w.commit(ctx, func(tx *table.Transaction) error {
			u := tx.UpdateSchema(true, false)
			change(u)
			return u.Commit()
		})
	}
}

func evolveSpec(change func(*table.UpdateSpec)) step {
	return func(ctx context.Context, w *writer) error {
		return w.commit(ctx, func(tx *table.Transaction) error {
			u := tx.UpdateSpec(true)
			change(u)
			return u.Commit()
		})
	}
}

// snapshot commits a change of rows and notes the day that it is to bear.
func (w *writer) snapshot(ctx context.Context, day string, change func(*table.Transaction) error) error {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return err
	}
	w.times = append(w.times, at.Add(12*time.Hour))
	return w.commit(ctx, change)
}

// copy writes the rows of query as one Parquet file with the field ids of schema.
func (w *writer) copy(ctx context.Context, query, uri string, schema *iceberg.Schema, group int) error {
	path, err := w.draft.fs.path(uri)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	var ids []string
	for _, f := range schema.Fields() {
		ids = append(ids, fmt.Sprintf("%s: %d", f.Name, f.ID))
	}
	options := "FORMAT parquet, COMPRESSION zstd, FIELD_IDS {" + strings.Join(ids, ", ") + "}"
	if group > 0 {
		options += fmt.Sprintf(", ROW_GROUP_SIZE %d", group)
	}
	return w.run(ctx, "COPY ("+query+") TO "+quote(path)+" ("+options+")")
}

// describe reads a file's footer. The engine writes every column as optional, which the library takes for a conflict
// with a required one; the values are there, so the comparison is made with optional columns.
func (w *writer) describe(ctx context.Context, uri string, schema *iceberg.Schema, spec iceberg.PartitionSpec) (iceberg.DataFile, error) {
	fields := slices.Clone(schema.Fields())
	for i := range fields {
		fields[i].Required = false
	}
	return table.FileToDataFile(ctx, w.draft.fs, uri, iceberg.NewSchema(schema.ID, fields...), spec, 0, nil)
}

// selectList casts the source's columns to the types of schema. Amounts of money are cents in the source.
func selectList(schema *iceberg.Schema) string {
	var list []string
	for _, f := range schema.Fields() {
		from := f.Name
		if from == "telephone" {
			from = "phone"
		}
		switch t := f.Type.(type) {
		case iceberg.DecimalType:
			list = append(list, fmt.Sprintf("CAST(money(%s) AS DECIMAL(%d, %d)) AS %s", from, t.Precision(), t.Scale(), f.Name))
		case iceberg.Int32Type:
			list = append(list, fmt.Sprintf("CAST(%s AS INTEGER) AS %s", from, f.Name))
		case iceberg.Int64Type:
			list = append(list, fmt.Sprintf("CAST(%s AS BIGINT) AS %s", from, f.Name))
		default:
			list = append(list, from+" AS "+f.Name)
		}
	}
	return strings.Join(list, ", ")
}
