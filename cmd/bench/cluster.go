package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"gatehouse/cmd/bench/site"
	"gatehouse/executors/ballista/cluster"
	"gatehouse/executors/duckdb/tpc"
)

// floor is a statement of two stages over a table of 25 rows: what it takes is what a statement costs without its data.
const floor = "SELECT n_regionkey, count(*) FROM nation GROUP BY n_regionkey"

// memory is an executor's, in bytes; the other parties take what they need.
const memory = 6 << 30

// party is one of those who take turns.
type party struct {
	name      string
	run       func(ctx context.Context, text string) ([][]string, time.Duration, error)
	processes []int // that work for it
}

// used is the processor time of a party's processes so far, in milliseconds.
func (p *party) used() (float64, error) {
	var sum time.Duration
	for _, pid := range p.processes {
		t, err := processTime(pid)
		if err != nil {
			return 0, err
		}
		sum += t
	}
	return float64(sum) / 1e6, nil
}

// cluster measures TPC-H through a gateway with a scheduler and two executors of one core each, against the embedded engine and against plain
// DataFusion, both in one process with two threads over the same files. All take turns, and their rows are compared.
func (b *bench) cluster(ctx context.Context, programs string, sets tpc.Config) (err error) {
	dir, err := tpc.Open(ctx, sets, tpc.TPCH)
	if err != nil {
		return err
	}
	home, err := os.MkdirTemp("", "gatehouse-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	running, err := cluster.Start(ctx, cluster.Config{Dir: filepath.Join(home, "cluster"), Binaries: programs, Memory: memory, Log: b.stderr})
	if err != nil {
		return err
	}
	defer running.Stop()
	file, err := site.Write(site.Config{
		Dir: filepath.Join(home, "site"), Sets: map[tpc.Set]string{tpc.TPCH: dir}, Default: tpc.TPCH, Listen: "127.0.0.1:0",
		Cluster: filepath.Join(home, "cluster"),
	})
	if err != nil {
		return err
	}
	if b.server, err = startServer(ctx, b.binary, file, b.stderr); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.server.stop()) }()
	client, err := b.connect(ctx, site.Admin)
	if err != nil {
		return err
	}
	defer client.close()
	threads := cmp.Or(b.threads, 2)
	duck, err := tpc.NewReference(ctx, tpc.ReferenceConfig{Dir: dir, Set: tpc.TPCH, Namespace: string(tpc.TPCH), Threads: threads})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, duck.Close()) }()
	fusion, err := startPlain(ctx, filepath.Join(programs, "examples", "plain"), dir, threads, b.stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fusion.close()) }()
	distributed := []int{b.server.cmd.Process.Pid, running.PID("scheduler"), running.PID("executor-1"), running.PID("executor-2")}
	return b.race(ctx, sets.Scale, []party{
		{"cluster", client.rows, distributed},
		{"DataFusion", fusion.run, []int{fusion.cmd.Process.Pid}},
		{"DuckDB", embedded(duck), []int{os.Getpid()}},
	})
}

// embedded runs statements in the engine alone.
func embedded(duck *tpc.Reference) func(context.Context, string) ([][]string, time.Duration, error) {
	return func(ctx context.Context, text string) ([][]string, time.Duration, error) {
		started := time.Now()
		a, err := duck.Query(ctx, text)
		took := time.Since(started)
		if err != nil {
			return nil, 0, err
		}
		rows := make([][]string, len(a.Rows))
		for i, r := range a.Rows {
			for _, v := range r {
				rows[i] = append(rows[i], tpc.Text(v))
			}
		}
		return rows, took, nil
	}
}

// race prints a line for each query and one for all of them.
func (b *bench) race(ctx context.Context, scale string, parties []party) error {
	files, err := filepath.Glob("classify/testdata/queries/tpch/" + b.queries + ".sql")
	if err != nil {
		return err
	}
	all, worst := make([]times, len(parties)), 0.0
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		each, err := b.turns(ctx, string(text), parties)
		if err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
		for i, t := range each {
			all[i].clock, all[i].cpu = append(all[i].clock, median(t.clock)), append(all[i].cpu, median(t.cpu))
		}
		worst = max(worst, each[0].over(each[1]))
		b.comparison(strings.TrimSuffix(filepath.Base(f), ".sql"), each, "")
	}
	for i, t := range all {
		all[i] = times{[]float64{sum(t.clock)}, []float64{sum(t.cpu)}}
	}
	b.comparison("TPC-H, scale factor "+scale, all, map[string]string{"1": "1.4", "10": "1.2"}[scale])
	b.line("the worst query / DataFusion", fmt.Sprintf("%.2f", worst), map[string]string{"10": "2"}[scale])
	times, err := b.turns(ctx, floor, parties)
	if err != nil {
		return err
	}
	b.line("two stages without much data, ms", spread("%.0f", times[0].clock), "120")
	return nil
}

func (b *bench) comparison(name string, t []times, goal string) {
	b.line(name+": cluster / DataFusion, / DuckDB", fmt.Sprintf("%.2f, %.2f by the clock (%.0f, %.0f, %.0f ms); %.2f, %.2f by processor time",
		t[0].over(t[1]), t[0].over(t[2]), median(t[0].clock), median(t[1].clock), median(t[2].clock), t[0].cpuOver(t[1]), t[0].cpuOver(t[2])), goal)
}

// turns times a statement for each party, after a round that is not counted. All have to have the same rows.
func (b *bench) turns(ctx context.Context, text string, parties []party) ([]times, error) {
	out := make([]times, len(parties))
	for round := range b.rounds + 1 {
		var first [][]string
		for i, p := range parties {
			before, err := p.used()
			if err != nil {
				return nil, err
			}
			rows, took, err := p.run(ctx, text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			after, err := p.used()
			if err != nil {
				return nil, err
			}
			if slices.SortFunc(rows, byValue); i == 0 {
				first = rows
			} else if !slices.EqualFunc(first, rows, sameRow) {
				return nil, fmt.Errorf("%s and %s have different rows", parties[0].name, p.name)
			}
			if round > 0 {
				out[i].clock, out[i].cpu = append(out[i].clock, took.Seconds()*1e3), append(out[i].cpu, after-before)
			}
		}
	}
	return out, nil
}

// rows reads a result whole.
func (c *client) rows(ctx context.Context, text string) (out [][]string, _ time.Duration, err error) {
	started := time.Now()
	err = c.each(ctx, text, func(b arrow.RecordBatch) { out = append(out, values(b)...) })
	return out, time.Since(started), err
}

// values are those of a batch as text, row by row.
func values(b arrow.RecordBatch) [][]string {
	out := make([][]string, b.NumRows())
	for i := range out {
		for _, c := range b.Columns() {
			v := "NULL"
			if c.IsValid(i) {
				v = c.ValueStr(i)
			}
			out[i] = append(out[i], v)
		}
	}
	return out
}

// byValue orders rows so that those of two engines meet.
func byValue(a, b []string) int {
	for i := range a {
		if near(a[i], b[i]) {
			continue
		}
		return strings.Compare(a[i], b[i])
	}
	return 0
}

func sameRow(a, b []string) bool { return slices.EqualFunc(a, b, near) }

// near compares values. An average of decimals has six digits more or is a floating point number, by engine.
func near(a, b string) bool {
	if a == b {
		return true
	}
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err1 == nil && err2 == nil && math.Abs(x-y) <= 1e-6*max(1, math.Abs(x), math.Abs(y))
}
