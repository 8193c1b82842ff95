package ballista

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"gatehouse/executors"
	"gatehouse/executors/ballista/wire"
	"gatehouse/executors/executortest"
)

var (
	update = flag.Bool("update", false, "write functions.tsv")
	only   = flag.String("probe", "", "only calls that hold this")
)

//go:embed functions.tsv
var table string

const tableName = "functions.tsv"

// prober runs calls over edges on both engines.
type prober struct {
	alone, local *executortest.Pipeline
	ids          []string // of rows of the table that values are put in place of
}

// TestFunctions tries every call of probes over its edges on both engines. A call that the cluster takes is in the table, and has the same type,
// values and classes of errors as in the other executor; all others are refused. Without GATEHOUSE_PROBES=all, it tries every ninth one.
func TestFunctions(t *testing.T) {
	listed := map[string]bool{}
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "#") {
			listed[strings.TrimSuffix(line, "\n")] = true
		}
	}
	// Most of the time is waiting, so several calls are tried at once.
	calls := make(chan probe)
	var mu sync.Mutex
	var agreed []string
	var group sync.WaitGroup
	for range 4 {
		p := newProber(t)
		group.Go(func() {
			for c := range calls {
				err := p.try(t.Context(), c)
				mu.Lock()
				switch {
				case errors.Is(err, errRefused):
					if listed[c.key()] && !*update {
						t.Errorf("%s is in the table, and is refused", c.key())
					}
				case err != nil:
					t.Errorf("%s: %v", c.key(), err)
				default:
					agreed = append(agreed, c.key())
					if !listed[c.key()] && !*update {
						t.Errorf("%s runs, and is not in the table", c.key())
					}
				}
				mu.Unlock()
			}
		})
	}
	step := 9
	if *update || *only != "" || os.Getenv("GATEHOUSE_PROBES") == "all" {
		step = 1
	}
	for i, c := range probes() {
		if i%step != 0 {
			continue
		}
		if *only == "" || strings.Contains(c.kind+" "+c.form+" "+strings.Join(c.types, ", "), *only) {
			calls <- c
		}
	}
	close(calls)
	group.Wait()
	t.Logf("%d calls agree", len(agreed))
	if *update && *only == "" {
		slices.Sort(agreed)
		text := "# What runs on the cluster, of the calls that are probed: kind, name, types of arguments. Both engines agreed on all values at the edges.\n" +
			"# Written by: go test ./executors/ballista -run TestFunctions -update\n" + strings.Join(agreed, "\n") + "\n"
		if err := os.WriteFile(tableName, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func newProber(t *testing.T) *prober {
	t.Helper()
	p := &prober{}
	p.alone, p.local = twins(t)
	rows, err := p.local.Rows(t.Context(), "SELECT id FROM spark.v2_many_row_groups ORDER BY id LIMIT 300", nil)
	if err != nil || len(rows) != 300 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, r := range rows {
		p.ids = append(p.ids, r[0])
	}
	return p
}

func (p *prober) try(ctx context.Context, c probe) error {
	wrong, err := p.prepare(ctx, c)
	switch {
	case err != nil:
		return err
	case wrong != "":
		return errors.New(wrong)
	}
	return p.compare(ctx, c)
}

var errRefused = errors.New("refused")

// statement is the text of a call over rows of values, of which those in only are there.
func (p *prober) statement(c probe, rows [][]string, only []int) string {
	var columns, ids []string
	for i := range c.types {
		var b strings.Builder
		b.WriteString("CASE id")
		for _, n := range only {
			fmt.Fprintf(&b, " WHEN %s THEN %s", p.ids[n], rows[n][i])
		}
		columns = append(columns, b.String()+" END AS "+string(rune('a'+i)))
	}
	for _, n := range only {
		ids = append(ids, p.ids[n])
	}
	id := "id, "
	if c.kind == "aggregate" {
		id = ""
	}
	return "SELECT " + id + c.form + " AS x FROM (SELECT id, " + strings.Join(columns, ", ") + " FROM spark.v2_many_row_groups WHERE id IN (" +
		strings.Join(ids, ", ") + ")) t"
}

func count(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// prepare reports whether the cluster takes a call, and what is wrong with its type there.
func (p *prober) prepare(ctx context.Context, c probe) (wrong string, err error) {
	text := p.statement(c, tuples(c.types, 1), count(1))
	pl, err := p.alone.Plan(ctx, executortest.Alice, text, nil)
	if err != nil {
		return "", errRefused // not a call of the gateway
	}
	s, err := p.alone.Executor.Prepare(ctx, pl)
	if err != nil {
		if kindIs(err) == executors.KindInternal {
			return "", err
		}
		return "", errRefused // by the other executor's binder, or here
	}
	defer s.Close()
	own := s.(*Prepared)
	sql, err := own.text(nil)
	if err != nil {
		return "", err
	}
	relations, err := own.x.describedRelations(pl)
	if err != nil {
		return "", err
	}
	d, err := own.x.client.describe(ctx, &wire.Statement{Query: pl.Query(), Sql: sql, Relations: relations, Deadline: pl.Deadline().UnixMilli()})
	if err != nil {
		return "", err
	}
	have, err := flight.DeserializeSchema(d.Schema, memory.DefaultAllocator)
	if err != nil {
		return "", err
	}
	last := have.NumFields() - 1
	if got, want := have.Field(last).Type, s.Schema().Field(last).Type; !arrow.TypeEqual(got, want) && !arrow.TypeEqual(got, uuidType) {
		return fmt.Sprintf("its type is %s there, not %s", got, want), nil
	}
	return "", nil
}

// compare runs a call over all its edges.
func (p *prober) compare(ctx context.Context, c probe) error {
	rows := tuples(c.types, len(p.ids))
	if c.kind == "aggregate" || c.kind == "window" {
		return p.equal(ctx, c, rows, count(len(rows)))
	}
	if _, err := p.local.Rows(ctx, p.statement(c, rows, count(len(rows))), nil); err == nil {
		return p.equal(ctx, c, rows, count(len(rows)))
	}
	var fine, raising []int
	for n := range rows {
		if _, err := p.local.Rows(ctx, p.statement(c, rows, []int{n}), nil); err == nil {
			fine = append(fine, n)
		} else {
			raising = append(raising, n)
		}
	}
	if len(fine) > 0 {
		if err := p.equal(ctx, c, rows, fine); err != nil {
			return err
		}
	}
	for i := range min(len(raising), 4) {
		if err := p.equal(ctx, c, rows, []int{raising[i*len(raising)/min(len(raising), 4)]}); err != nil {
			return err
		}
	}
	return nil
}

// equal compares both engines over some rows. What the cluster refuses when it meets it is no difference.
func (p *prober) equal(ctx context.Context, c probe, rows [][]string, only []int) error {
	text := p.statement(c, rows, only)
	want, wantErr := p.local.Rows(ctx, text, nil)
	got, err := p.alone.Rows(ctx, text, nil)
	switch {
	case kindIs(err) == executors.KindUnsupported:
		if len(only) == 1 {
			return nil
		}
		for _, n := range only {
			if err := p.equal(ctx, c, rows, []int{n}); err != nil {
				return err
			}
		}
		return nil
	case err != nil || wantErr != nil:
		if kindIs(err) != kindIs(wantErr) {
			return fmt.Errorf("%v: %v (%v), and in the other executor %v", example(rows, only), err, errors.Unwrap(err), wantErr)
		}
		return nil
	}
	byID := func(a, b executortest.Row) int { return strings.Compare(a[0], b[0]) }
	slices.SortFunc(got, byID)
	slices.SortFunc(want, byID)
	for i := range want {
		last := len(want[i]) - 1
		if i < len(got) && same(got[i], want[i], c.kind == "window" || strings.HasPrefix(c.form, "std") || strings.HasPrefix(c.form, "var")) {
			continue
		}
		n := only[0]
		if last > 0 {
			n = slices.Index(p.ids, want[i][0])
		}
		return fmt.Errorf("%v: %v, and in the other executor %v", rows[n], got, want[i])
	}
	return nil
}

func example(rows [][]string, only []int) any {
	if len(only) == 1 {
		return rows[only[0]]
	}
	return strconv.Itoa(len(only)) + " rows"
}

// same compares rows. Dispersions, and sums over whole partitions of windows, are exact on a cluster only, and of zeros of both signs either may
// be the least one.
func same(a, b executortest.Row, nearly bool) bool {
	for i := range a {
		if a[i] != b[i] && !(nearly && near(a[i], b[i])) {
			return false
		}
	}
	return true
}
