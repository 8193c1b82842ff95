package tpc

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/duckdb/duckdb-go/v2"
)

// Reference answers statements over the Parquet files of one namespace, with all rules of an ordinary engine and none of ours. It
// serves one caller at a time.
type Reference struct {
	db    *sql.DB
	conn  *sql.Conn
	typed []string // see Typed
}

// ReferenceConfig says what a reference reads.
type ReferenceConfig struct {
	Dir       string // of the set
	Set       Set
	Namespace string // Set, or Set.Eve() for the physical copies
	// Filtered, with Namespace Set, puts eve's conditions and masks as plain subqueries over all rows: the way without a barrier.
	Filtered bool
	Threads  int // 0: one for each processor
}

// NewReference opens a reference. The caller closes it.
func NewReference(ctx context.Context, c ReferenceConfig) (*Reference, error) {
	db, conn, err := openEngine(ctx, c.Threads)
	if err != nil {
		return nil, err
	}
	r := &Reference{db: db, conn: conn}
	if err := r.views(ctx, c); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// views makes a view for each table.
func (r *Reference) views(ctx context.Context, c ReferenceConfig) error {
	tables, err := os.ReadDir(filepath.Join(c.Dir, c.Namespace))
	if err != nil {
		return err
	}
	for _, t := range tables {
		query := "SELECT * FROM read_parquet(" + quote(dataFile(c.Dir, c.Namespace, t.Name())) + ")"
		if v, ok := copies[c.Set][t.Name()]; ok && c.Filtered {
			names, types, err := describe(ctx, r.conn, query)
			if err != nil {
				return err
			}
			of := map[string]string{}
			for i := range names {
				of[names[i]] = types[i]
			}
			query = v.over("("+query+")", of)
			r.typed = append(r.typed, t.Name()+" AS NOT MATERIALIZED ("+v.over(c.Namespace+"."+t.Name(), of)+")")
		}
		if _, err := r.conn.ExecContext(ctx, "CREATE VIEW "+t.Name()+" AS "+query); err != nil {
			return err
		}
	}
	return nil
}

// Typed is a query with the conditions and masks of a filtered reference typed in front of it, for who may see all rows of the tables
// in c.Namespace.
func (r *Reference) Typed(query string) string {
	with := "WITH " + strings.Join(r.typed, ", ")
	if rest, ok := strings.CutPrefix(query, "with "); ok {
		return with + ", " + rest
	}
	return with + " " + query
}

// Close frees the engine.
func (r *Reference) Close() error { return errors.Join(r.conn.Close(), r.db.Close()) }

// Answer is a whole result. Values are what the engine's driver makes of them: nil, bool, int32, int64, *big.Int, float64, string,
// time.Time, or duckdb.Decimal.
type Answer struct {
	Names, Types []string // types as the engine spells them, for example DECIMAL(15,2)
	Rows         [][]any
}

// Query runs one statement and keeps its result.
func (r *Reference) Query(ctx context.Context, text string) (_ *Answer, err error) {
	rows, err := r.conn.QueryContext(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("tpc: reference: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	a := &Answer{}
	for _, c := range columns {
		a.Names, a.Types = append(a.Names, c.Name()), append(a.Types, c.DatabaseTypeName())
	}
	for rows.Next() {
		row := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		a.Rows = append(a.Rows, row)
	}
	return a, rows.Err()
}

// Text is a value of an Answer as text: NULL, a decimal with all digits of its scale, a date as 2006-01-02.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case duckdb.Decimal:
		return decimal128.FromBigInt(v.Value).ToString(int32(v.Scale))
	case time.Time:
		return v.UTC().Format(time.DateOnly)
	}
	return fmt.Sprint(v)
}
