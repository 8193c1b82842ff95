// Command bench measures a gateway with real clients and prints ratios: against the same engine without a gateway, and against data
// that was filtered and masked beforehand. "make bench" builds and runs it; docs/performance.md explains the numbers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gatehouse/cmd/bench/site"
	"gatehouse/executors/duckdb/tpc"
)

// bench is one run.
type bench struct {
	out     io.Writer
	stderr  io.Writer
	binary  string // the gateway
	server  *server
	dirs    map[tpc.Set]string
	threads int
	rounds  int    // repetitions of each timed statement
	queries string // of TPC-H, on a cluster: a pattern of names
}

// part is one group of measurements.
type part struct {
	name string
	run  func(*bench, context.Context) error
}

var parts = []part{
	{"latency", (*bench).latency},
	{"stages", (*bench).stages},
	{"grants", (*bench).grants},
	{"streams", (*bench).streams},
	{"memory", (*bench).memory},
	{"crowd", (*bench).crowd},
	{"exhaust", (*bench).exhaust},
	{"policy", (*bench).policy},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	binary := fs.String("gatehouse", "bin/gatehouse", "the `program` to measure")
	only := fs.String("only", "", "comma-separated `parts` to run (default all): latency, stages, grants, streams, memory, crowd, exhaust, policy")
	rounds := fs.Int("rounds", 5, "repetitions of each timed statement, after one that is not counted")
	threads := fs.Int("threads", 0, "threads of both engines (default one for each processor)")
	cluster := fs.String("cluster", "", "measure a cluster of the programs in this `folder`, and nothing else")
	scale := fs.String("scale", "1", "the `factor` of TPC-H on a cluster")
	queries := fs.String("queries", "q*", "which queries of TPC-H run on a cluster, a `pattern` of their names")
	if err := fs.Parse(args); err != nil {
		return err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	b := &bench{out: stdout, stderr: stderr, binary: *binary, dirs: map[tpc.Set]string{}, rounds: *rounds, threads: *threads}
	sets := tpc.Config{Cache: filepath.Join(cache, "gatehouse"), Script: "testdata/tpc/generate.sh"}
	if *cluster != "" {
		sets.Scale = *scale
		b.queries = *queries
		return b.cluster(ctx, *cluster, sets)
	}
	for _, set := range []tpc.Set{tpc.TPCH, tpc.Wide} {
		if b.dirs[set], err = tpc.Open(ctx, sets, set); err != nil {
			return err
		}
	}
	home, err := os.MkdirTemp("", "gatehouse-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	file, err := site.Write(site.Config{Dir: home, Sets: b.dirs, Default: tpc.TPCH, Listen: "127.0.0.1:0", Threads: b.threads})
	if err != nil {
		return err
	}
	if b.server, err = startServer(ctx, *binary, file, stderr); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.server.stop()) }()
	for _, p := range parts {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), p.name) {
			continue
		}
		fmt.Fprintf(b.out, "\n%s\n", p.name)
		started := time.Now()
		if err := p.run(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		fmt.Fprintf(b.out, "  (%.0f s)\n", time.Since(started).Seconds())
	}
	return nil
}

// line prints one measurement with its goal.
func (b *bench) line(what, value, goal string) {
	if goal != "" {
		goal = "goal " + goal
	}
	fmt.Fprintf(b.out, "  %-46s %-40s %s\n", what, value, goal)
}
