// Command prove looks for an effect of hidden data on what a user sees.
//
// It writes twin warehouses that agree on all that one user may see and differ in hidden rows and in raw values under masks, makes
// random statements, runs each on both through the whole gateway, and compares: schema, rows, error, batches and raw bytes. A
// difference is a violation of the product's promise; it is made small and printed.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	debug.SetGCPercent(400) // policies are garbage in masses; a third less processor time for some memory
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "prove:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	f := flag.NewFlagSet("prove", flag.ContinueOnError)
	c := config{progress: stdout, sides: []side{sideA, sideB, sideC}}
	f.IntVar(&c.statements, "n", 100000, "`statements` to compare")
	f.Uint64Var(&c.seed, "seed", 1, "seed of data, policies and statements")
	f.IntVar(&c.policies, "policies", 12, "policies to make")
	f.IntVar(&c.workers, "workers", 2, "statements at once")
	f.IntVar(&c.stop, "stop", 0, "go on after a finding, until there are more than so many")
	f.BoolVar(&c.small, "small", true, "make findings small")
	f.StringVar(&c.dir, "dir", "", "folder for the twins; default: a temporary one")
	f.BoolVar(&c.verbose, "v", false, "print every statement that fails, and how")
	f.IntVar(&c.from, "from", 0, "number of the first statement")
	f.IntVar(&c.aim, "aim", 20, "how many of a hundred statements are aimed at one place each")
	clock := f.Int("timing", 0, "compare times, with so many runs of each, and run no statements")
	executor := f.String("executor", "duckdb", "what runs the statements: duckdb, ballista (a cluster of three processes) or auto")
	programs := f.String("programs", "", "`folder` of the cluster's programs")
	show := f.Int("show", -1, "print this `statement` and run no other")
	if err := f.Parse(args); err != nil {
		return err
	}
	var err error
	if c.cluster, err = parseExecutor(*executor, *programs); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(c.dir, "prove-")
	if err != nil {
		return err
	}
	c.dir = dir
	if *show >= 0 {
		return printStatement(c, *show, stdout)
	}
	if *clock > 0 {
		return timings(ctx, dir, *clock, stdout)
	}
	r, err := prove(ctx, c)
	if err != nil {
		return err
	}
	fmt.Fprint(stdout, r)
	if len(r.findings) > 0 {
		return fmt.Errorf("%d violations", len(r.findings))
	}
	return nil
}

// printStatement prints statement n and the policy that it runs under.
func printStatement(c config, n int, stdout io.Writer) error {
	r, err := newRules(c.seed*1000 + uint64(n%c.policies))
	if err != nil {
		return err
	}
	p := &prover{config: c, world: &world{rules: slices.Repeat([]*rules{r}, c.policies)}}
	_, st := p.generate(n)
	sql, args := st.render()
	_, err = fmt.Fprintf(stdout, "%s\narguments: %v\n%s", sql, args, r.words)
	return err
}
