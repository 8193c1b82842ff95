package classes

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	duck "github.com/duckdb/duckdb-go/v2"
)

// engine is an instance with the optimisers that the executor uses.
type engine struct {
	t    testing.TB
	db   *sql.DB
	conn *sql.Conn
	dir  string
	n    int
}

func newEngine(t testing.TB) *engine {
	e := &engine{t: t, dir: t.TempDir()}
	e.open()
	t.Cleanup(e.close)
	return e
}

func (e *engine) open() {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		e.t.Fatal(err)
	}
	e.db = db
	if e.conn, err = db.Conn(e.t.Context()); err != nil {
		e.t.Fatal(err)
	}
	for _, s := range []string{
		"SET GLOBAL disabled_optimizers = 'statistics_propagation,cte_filter_pusher,late_materialization'", "SET GLOBAL TimeZone = 'UTC'", "SET GLOBAL memory_limit = '1GB'",
		"SET GLOBAL autoload_known_extensions = false", "SET GLOBAL autoinstall_known_extensions = false", "SET GLOBAL threads = 1",
	} {
		if _, err := e.conn.ExecContext(e.t.Context(), s); err != nil {
			e.t.Fatal(err)
		}
	}
}

func (e *engine) close() {
	_ = e.conn.Close()
	_ = e.db.Close()
}

// fault is what went wrong, by the class of the engine's error; the zero value is nothing.
type fault string

const (
	none    fault = ""
	unbound fault = "does not bind" // types, arity, or a cast that does not exist
	broken  fault = "internal error"
	invalid fault = "ends the engine" // every later statement fails
)

// try runs text to its end and says how it failed. The second value is the first value of the first row.
func (e *engine) try(text string) (fault, string) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	first, err := e.first(ctx, text)
	if err == nil {
		return none, first
	}
	return e.fault(err, text), err.Error()
}

func (e *engine) first(ctx context.Context, text string) (string, error) {
	rows, err := e.conn.QueryContext(ctx, text)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	first := ""
	for n := 0; rows.Next(); n++ {
		if n == 0 {
			var v any
			if err := rows.Scan(&v); err != nil {
				return "", nil // the driver lacks the type; the engine has it
			}
			first = fmt.Sprint(v)
		}
	}
	return first, rows.Err()
}

func (e *engine) fault(err error, text string) fault {
	var d *duck.Error
	if !errors.As(err, &d) {
		if errors.Is(err, context.DeadlineExceeded) {
			return "time"
		}
		if strings.Contains(err.Error(), "unsupported") { // of the driver
			return none
		}
		return fault(err.Error())
	}
	switch d.Type {
	case duck.ErrorTypeBinder, duck.ErrorTypeCatalog, duck.ErrorTypeParser, duck.ErrorTypeSyntax, duck.ErrorTypeMismatchType, duck.ErrorTypeParameterNotResolved:
		return unbound
	case duck.ErrorTypeNotImplemented:
		// Some find out while they run, as dayofweek does on intervals.
		if s, err := e.conn.PrepareContext(context.Background(), text); err != nil {
			return unbound
		} else if err := s.Close(); err != nil {
			return fault(err.Error())
		}
	case duck.ErrorTypeInternal, duck.ErrorTypeFatal:
		if _, err := e.first(context.Background(), "SELECT 1"); err != nil {
			e.close()
			e.open()
			return invalid
		}
		return broken
	case duck.ErrorTypeInterrupt:
		return "time"
	}
	prefix, _, _ := strings.Cut(d.Msg, " Error")
	return fault(strings.ToLower(prefix))
}

// file writes visible and hidden rows into a Parquet file, in which the value of each column of a hidden row stands in the
// dictionary beside that of a visible one.
func (e *engine) file(types, visible, hidden []string) (string, bool) {
	e.n++
	path := filepath.Join(e.dir, fmt.Sprintf("%d.parquet", e.n))
	row := func(k string, values []string) string {
		out := []string{"'" + k + "' AS k"}
		for i, v := range values {
			out = append(out, fmt.Sprintf("CAST(%s AS %s) AS c%d", v, types[i], i))
		}
		return strings.Join(out, ", ")
	}
	f, _ := e.try(fmt.Sprintf("COPY (SELECT * FROM (SELECT %s UNION ALL SELECT %s), range(1500)) TO '%s' (FORMAT parquet)", row("v", visible), row("h", hidden), path))
	return path, f == none
}
