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
       gatehouse cluster material --scheduler HOST --executor HOST [--executor HOST …] [options]
       gatehouse cluster rotate [--dir FOLDER]

Runs one scheduler and some executors on loopback until it is interrupted. On first use it makes what they and a gateway need to trust
each other: certificates of two authorities, and the key that signs task credentials. "make cluster" builds the programs, which need
Rust, and then runs this. A process that ends is started again; one that ends at once five times ends them all.

"material" writes what a cluster of several machines needs: a folder for each process. "rotate" replaces the executors' key.

Examples:
  gatehouse cluster --dir ./cluster --executors 2
  gatehouse serve --executor ballista --cluster ./cluster ./warehouse

Options:
`

// runCluster is "gatehouse cluster".
func runCluster(ctx context.Context, args []string, env environment) int {
	if len(args) > 0 {
		switch args[0] {
		case "material":
			return runMaterial(args[1:], env)
		case "rotate":
			return runRotate(args[1:], env)
		}
	}
	fs := flag.NewFlagSet("cluster", flag.ContinueOnError)
	fs.SetOutput(env.stderr)
	c := cluster.Config{Issuer: issuer, Log: env.stderr}
	var memory string
	fs.StringVar(&c.Dir, "dir", "cluster", "`folder` for certificates, keys and working files")
	fs.StringVar(&c.Binaries, "bin", besideProgram(), "`folder` of the programs that make cluster builds")
	fs.IntVar(&c.Executors, "executors", 2, "`number` of executors")
	fs.IntVar(&c.Cores, "cores", 1, "tasks at once of each executor, a `number`")
	fs.StringVar(&memory, "memory", "1GiB", "memory of each executor, a `size`")
	storesFlag(fs, &c.Stores)
	fs.StringVar(&c.StoreAuthorities, "store-authorities", "", "PEM `file` of who signs certificates of stores; default: whom the system trusts")
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
	err = running.Supervise(ctx, func(what string) { fmt.Fprintln(env.stderr, "gatehouse cluster:", what) })
	if err != nil {
		fmt.Fprintln(env.stderr, "gatehouse cluster:", err)
		return exitFailure
	}
	return exitOK
}

const materialHelp = `Usage: gatehouse cluster material --scheduler HOST --executor HOST [--executor HOST …] [options]

Writes a folder for each process of a cluster of several machines: its configuration, its certificate, and what it trusts. Copy each to its
machine. The keys of the two authorities stay beside them, and belong on none. To add a machine, or before a year has passed, run it again.

Example:
  gatehouse cluster material --scheduler sched.example.com --executor exec-1.example.com --executor exec-2.example.com

Options:
`

// runMaterial is "gatehouse cluster material".
func runMaterial(args []string, env environment) int {
	fs := flag.NewFlagSet("cluster material", flag.ContinueOnError)
	fs.SetOutput(env.stderr)
	m := cluster.Machines{Issuer: issuer}
	fs.StringVar(&m.Dir, "dir", "material", "`folder` to write to")
	fs.StringVar(&m.Scheduler, "scheduler", "", "the scheduler's `host`")
	fs.Func("executor", "an executor's `host`; may be given several times", func(h string) error {
		m.Executors = append(m.Executors, h)
		return nil
	})
	storesFlag(fs, &m.Stores)
	fs.IntVar(&m.Port, "port", 31340, "the first of four `port`s: the scheduler's for gateways and for executors, an executor's for results and for commands")
	fs.IntVar(&m.Cores, "cores", 4, "tasks at once of each executor, a `number`")
	fs.StringVar(&m.Work, "work", "/var/lib/gatehouse-executor/work", "an executor's `folder` for shuffles, results and spills")
	fs.Usage = func() {
		fmt.Fprint(env.stderr, materialHelp)
		fs.PrintDefaults()
	}
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return exitOK
		}
		return exitUsage
	}
	if fs.NArg() > 0 || m.Scheduler == "" || len(m.Executors) == 0 || m.Cores < 1 || m.Port < 1 || m.Port > 65532 {
		fs.Usage()
		return exitUsage
	}
	if err := m.Write(); err != nil {
		fmt.Fprintln(env.stderr, "gatehouse cluster material:", err)
		return exitFailure
	}
	fmt.Fprintf(env.stdout, "%s has a folder for each process, valid for a year. The authorities' keys in it belong on no machine of the cluster.\n", m.Dir)
	return exitOK
}

const rotateHelp = `Usage: gatehouse cluster rotate [options]

Makes a new key for executors, for which gateways seal the URLs of files in object stores, beside the one before, which ends in an hour. Processes on
this folder take it at once. Of a cluster of several machines, copy the new seal.key to each executor, and then seal.json to the gateway, within the hour.

Example:
  gatehouse cluster rotate --dir material

Options:
`

// runRotate is "gatehouse cluster rotate".
func runRotate(args []string, env environment) int {
	fs := flag.NewFlagSet("cluster rotate", flag.ContinueOnError)
	fs.SetOutput(env.stderr)
	dir := fs.String("dir", "material", "`folder` of a cluster, or of the material of one")
	fs.Usage = func() {
		fmt.Fprint(env.stderr, rotateHelp)
		fs.PrintDefaults()
	}
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return exitOK
		}
		return exitUsage
	}
	if fs.NArg() > 0 {
		fs.Usage()
		return exitUsage
	}
	if err := cluster.RotateSealKey(*dir); err != nil {
		fmt.Fprintln(env.stderr, "gatehouse cluster rotate:", err)
		return exitFailure
	}
	fmt.Fprintf(env.stdout, "The executors' key of %s is new; the one before ends in an hour.\n", *dir)
	return exitOK
}

// storesFlag adds the object stores that executors may call.
func storesFlag(fs *flag.FlagSet, stores *[]string) {
	fs.Func("store", "an object `store` that executors may call: https://host, https://*.host with buckets in front, or http://host:port; may be given several times", func(s string) error {
		*stores = append(*stores, s)
		return nil
	})
}

// besideProgram is the folder of this program.
func besideProgram() string {
	self, err := os.Executable()
	if err != nil {
		return "."
	}
	return filepath.Dir(self)
}
