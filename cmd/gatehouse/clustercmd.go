package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"gatehouse/executors/ballista/cluster"
)

const clusterHelp = `Usage: gatehouse cluster [options]

Runs one scheduler and some executors on loopback until it is interrupted. On first use it makes what they and a gateway need to trust
each other: certificates of two authorities, and the key that signs task credentials. "make cluster" builds the programs, which need
Rust, and then runs this.

Examples:
  gatehouse cluster --dir ./cluster --executors 2
  gatehouse serve --executor ballista --cluster ./cluster ./warehouse

Options:
`

// runCluster is "gatehouse cluster".
func runCluster(ctx context.Context, args []string, env environment) int {
	fs := flag.NewFlagSet("cluster", flag.ContinueOnError)
	fs.SetOutput(env.stderr)
	c := cluster.Config{Issuer: issuer, Log: env.stderr}
	var memory string
	fs.StringVar(&c.Dir, "dir", "cluster", "`folder` for certificates, keys and working files")
	fs.StringVar(&c.Binaries, "bin", besideProgram(), "`folder` of the programs that make cluster builds")
	fs.IntVar(&c.Executors, "executors", 2, "`number` of executors")
	fs.IntVar(&c.Cores, "cores", 1, "tasks at once of each executor, a `number`")
	fs.StringVar(&memory, "memory", "1GiB", "memory of each executor, a `size`")
	fs.Usage = func() {
		fmt.Fprint(env.stderr, clusterHelp)
		fs.PrintDefaults()
	}
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return exitOK
		}
		return exitUsage
	}
	var err error
	if c.Memory, err = parseBytes(memory); err != nil || fs.NArg() > 0 || c.Executors < 1 || c.Cores < 1 {
		fs.Usage()
		return exitUsage
	}
	running, err := cluster.Start(ctx, c)
	if err != nil {
		fmt.Fprintln(env.stderr, "gatehouse cluster:", err)
		return exitFailure
	}
	defer running.Stop()
	fmt.Fprintf(env.stdout, "A scheduler and %d executors run. In another terminal:\n\n  gatehouse serve --executor ballista --cluster %s FOLDER\n\nCtrl-C ends them.\n",
		c.Executors, c.Dir)
	if name := running.Wait(ctx); name != "" {
		fmt.Fprintf(env.stderr, "gatehouse cluster: %s has ended; its log is above\n", name)
		return exitFailure
	}
	return exitOK
}

// besideProgram is the folder of this program.
func besideProgram() string {
	self, err := os.Executable()
	if err != nil {
		return "."
	}
	return filepath.Dir(self)
}
