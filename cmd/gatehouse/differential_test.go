package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	pgquery "github.com/pganalyze/pg_query_go/v6"

	"gatehouse/auth"
	"gatehouse/cmd/bench/site"
	"gatehouse/executors/duckdb/tpc"
)

// refused are the queries that the gateway refuses, each with the reason. It is empty, and this is where a refusal would be named.
var refused = map[string]string{}

// The gateway answers all queries of TPC-H and TPC-DS as an engine does that reads the same files; and for a user with row filters
// and masks as that engine does over copies that were filtered and masked while they were written.
func TestDifferential(t *testing.T) {
	for set, want := range map[tpc.Set]int{tpc.TPCH: 22, tpc.TPCDS: 99} {
		t.Run(string(set), func(t *testing.T) {
			queries := benchmarkQueries(t, set)
			if len(queries) != want {
				t.Fatalf("%d queries, want %d", len(queries), want)
			}
			dir := benchmarkSet(t, set)
			file, err := site.Write(site.Config{Dir: t.TempDir(), Sets: map[tpc.Set]string{set: dir}, Default: set, Listen: "127.0.0.1:0"})
			if err != nil {
				t.Fatal(err)
			}
			s := start(t, "Gatehouse serves", "serve", "--config", file)
			defer s.end(t)
			users := map[string]string{site.Admin: string(set), site.Eve: set.Eve()}
			if set == tpc.TPCH {
				users[site.Nell] = string(set)
			}
			for user, namespace := range users {
				t.Run(user, func(t *testing.T) {
					differential(t, s, user, queries, tpc.ReferenceConfig{Dir: dir, Set: set, Namespace: namespace})
				})
			}
		})
	}
}

// benchmarkQuery is one statement of a benchmark.
type benchmarkQuery struct{ name, text string }

func benchmarkQueries(t *testing.T, set tpc.Set) []benchmarkQuery {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../../classify/testdata/queries", string(set), "*.sql"))
	if err != nil {
		t.Fatal(err)
	}
	var out []benchmarkQuery
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, benchmarkQuery{strings.TrimSuffix(filepath.Base(f), ".sql"), string(b)})
	}
	return out
}

func benchmarkSet(t *testing.T, set tpc.Set) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := tpc.Open(t.Context(), tpc.Config{Cache: filepath.Join(cache, "gatehouse"), Script: "../../testdata/tpc/generate.sh"}, set)
	if errors.Is(err, tpc.ErrNoGenerator) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func differential(t *testing.T, s *server, user string, queries []benchmarkQuery, rc tpc.ReferenceConfig) {
	reference, err := tpc.NewReference(t.Context(), rc)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reference.Close() }()
	host, port, _ := strings.Cut(s.flight, ":")
	c, err := connect(t.Context(), target{host: host, port: port, user: user, password: auth.NewSecret(user)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.close() }()
	filled := 0
	for _, q := range queries {
		got, err := readTable(t.Context(), c, q.text)
		if reason, ok := refused[rc.Namespace+"/"+q.name]; ok {
			if err == nil {
				t.Errorf("%s runs, and is listed as refused: %s", q.name, reason)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", q.name, err)
			continue
		}
		want, err := referenceTable(t.Context(), reference, q.text)
		if err != nil {
			t.Fatalf("%s: %v", q.name, err)
		}
		diff := want.compare(got)
		if diff != "" && len(got.rows) == len(want.rows) {
			diff = compareUnlimited(t.Context(), c, reference, q.text, got, diff)
		}
		if diff == "" {
			diff = want.compareOrder(got, sortColumns(t, q.text, got.names))
		}
		if diff != "" {
			t.Errorf("%s: %s", q.name, diff)
		}
		if len(got.rows) > 0 {
			filled++
		}
	}
	if filled < len(queries)*3/4 {
		t.Errorf("only %d of %d queries have rows: the comparison proves little", filled, len(queries))
	}
}

var limit = regexp.MustCompile(`(?is)\s+limit\s+\d+\s*;?\s*\z`)

// compareUnlimited decides where equal keys of ORDER BY leave open which rows come before LIMIT: without it the rows must be the
// same, and those that came with it among them.
func compareUnlimited(ctx context.Context, c *client, reference *tpc.Reference, text string, limited *grid, diff string) string {
	all := limit.ReplaceAllString(text, "")
	if all == text {
		return diff
	}
	got, err := readTable(ctx, c, all)
	if err != nil {
		return err.Error()
	}
	want, err := referenceTable(ctx, reference, all)
	if err != nil {
		return err.Error()
	}
	if diff := want.compare(got); diff != "" {
		return "without LIMIT: " + diff
	}
	return got.missing(limited)
}

// grid is a result with comparable cells.
type grid struct {
	names, types []string
	rows         [][]cell
}

// cell is one value: its text, and the number if it is a floating-point one, whose last digits depend on the order of adding up.
type cell struct {
	text  string
	float *float64
}

func (c cell) equal(d cell) bool {
	if c.float == nil || d.float == nil {
		return c.text == d.text
	}
	a, b := *c.float, *d.float
	return a == b || math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b)) || math.IsNaN(a) && math.IsNaN(b)
}

// compare says how got differs from g: in columns, types, or rows. Rows are compared without their order, which compareOrder looks at.
func (g *grid) compare(got *grid) string {
	if !slices.Equal(g.names, got.names) {
		return fmt.Sprintf("columns %v, want %v", got.names, g.names)
	}
	if !slices.Equal(g.types, got.types) {
		return fmt.Sprintf("types %v, want %v", got.types, g.types)
	}
	if len(g.rows) != len(got.rows) {
		return fmt.Sprintf("%d rows, want %d", len(got.rows), len(g.rows))
	}
	want, have := g.sorted(), got.sorted()
	for i := range want {
		if !slices.EqualFunc(want[i], have[i], cell.equal) {
			return fmt.Sprintf("row %v, want %v", have[i], want[i])
		}
	}
	return ""
}

// compareOrder says where the values of the columns that rows are sorted by come in another order.
func (g *grid) compareOrder(got *grid, columns []int) string {
	for i := range g.rows {
		for _, c := range columns {
			if !g.rows[i][c].equal(got.rows[i][c]) {
				return fmt.Sprintf("row %d is %v, want %v: another order", i, got.rows[i], g.rows[i])
			}
		}
	}
	return ""
}

// sortColumns are the leading items of a statement's ORDER BY, up to the first that is no output column.
func sortColumns(t *testing.T, text string, names []string) []int {
	t.Helper()
	tree, err := pgquery.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var out []int
	for _, n := range tree.Stmts[0].Stmt.GetSelectStmt().GetSortClause() {
		item := n.GetSortBy().GetNode()
		at := -1
		switch ref := item.GetColumnRef(); {
		case ref != nil && len(ref.Fields) == 1:
			at = slices.Index(names, ref.Fields[0].GetString_().GetSval())
		case item.GetAConst().GetIval() != nil:
			at = int(item.GetAConst().GetIval().GetIval()) - 1
		}
		if at < 0 {
			break
		}
		out = append(out, at)
	}
	return out
}

// missing says which row of part g lacks.
func (g *grid) missing(part *grid) string {
	all := map[string]int{}
	for _, r := range g.rows {
		all[rowKey(r)]++
	}
	for _, r := range part.rows {
		if all[rowKey(r)]--; all[rowKey(r)] < 0 {
			return fmt.Sprintf("row %v is not among those without LIMIT", r)
		}
	}
	return ""
}

func (g *grid) sorted() [][]cell {
	out := slices.Clone(g.rows)
	slices.SortStableFunc(out, func(a, b []cell) int { return strings.Compare(rowKey(a), rowKey(b)) })
	return out
}

func rowKey(row []cell) string {
	var b strings.Builder
	for _, c := range row {
		if c.float != nil {
			fmt.Fprintf(&b, "%.7g|", *c.float)
		} else {
			b.WriteString(c.text + "|")
		}
	}
	return b.String()
}

// readTable runs a statement through the gateway.
func readTable(ctx context.Context, c *client, text string) (*grid, error) {
	g := &grid{}
	err := c.run(ctx, text, func(s *arrow.Schema) error {
		for _, f := range s.Fields() {
			g.names, g.types = append(g.names, f.Name), append(g.types, engineType(f.Type))
		}
		return nil
	}, func(b arrow.RecordBatch) error {
		for i := range int(b.NumRows()) {
			row := make([]cell, b.NumCols())
			for j := range row {
				row[j] = arrowCell(b.Column(j), i)
			}
			g.rows = append(g.rows, row)
		}
		return nil
	})
	return g, err
}

// engineType is the engine's name for the type that the gateway sends.
func engineType(t arrow.DataType) string {
	switch t := t.(type) {
	case *arrow.Decimal128Type:
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Precision, t.Scale)
	case *arrow.Int64Type:
		return "BIGINT"
	case *arrow.Int32Type:
		return "INTEGER"
	case *arrow.Int16Type:
		return "SMALLINT"
	case *arrow.Int8Type:
		return "TINYINT"
	case *arrow.Float64Type:
		return "DOUBLE"
	case *arrow.StringType:
		return "VARCHAR"
	case *arrow.Date32Type:
		return "DATE"
	case *arrow.BooleanType:
		return "BOOLEAN"
	}
	return t.String()
}

func arrowCell(a arrow.Array, i int) cell {
	if a.IsNull(i) {
		return cell{text: "NULL"}
	}
	if f, ok := a.(*array.Float64); ok {
		v := f.Value(i)
		return cell{text: fmt.Sprint(v), float: &v}
	}
	if d, ok := a.(*array.Decimal128); ok {
		return cell{text: d.Value(i).ToString(d.DataType().(*arrow.Decimal128Type).Scale)}
	}
	return cell{text: a.ValueStr(i)}
}

// referenceTable runs a statement on the engine alone.
func referenceTable(ctx context.Context, r *tpc.Reference, text string) (*grid, error) {
	a, err := r.Query(ctx, text)
	if err != nil {
		return nil, err
	}
	g := &grid{names: a.Names}
	for _, t := range a.Types {
		if t == "HUGEINT" { // Arrow has no wider integer than 64 bits
			t = "DECIMAL(38,0)"
		}
		g.types = append(g.types, t)
	}
	for _, row := range a.Rows {
		cells := make([]cell, len(row))
		for i, v := range row {
			cells[i] = cell{text: tpc.Text(v)}
			if f, ok := v.(float64); ok {
				cells[i].float = &f
			}
		}
		g.rows = append(g.rows, cells)
	}
	return g, nil
}
