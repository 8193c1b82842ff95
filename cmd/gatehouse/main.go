// Command gatehouse builds and runs one process: a server over an example or over real tables, a client, and the tools of
// policy authors and operators.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
)

// version is set by the build.
var version = "dev"

// The exit codes of every command.
const (
	exitOK      = 0
	exitFailure = 1 // the command ran and failed
	exitUsage   = 2 // the command line or the configuration is wrong
	exitAuth    = 3 // the server refused the credential
)

// environment is what a command may read and write; tests start the same commands with their own.
type environment struct {
	getenv func(string) string
	stdin  *os.File
	stdout io.Writer
	stderr io.Writer
}

// command is one word of the command line.
type command struct {
	name, summary string
	run           func(ctx context.Context, args []string, env environment) int
}

var commands = []command{
	{"demo", "Serve an example lakehouse with three users on loopback", runDemo},
	{"serve", "Serve a folder, a catalog, or what a configuration file says", runServe},
	{"sql", "Query a server, interactively or with -c", func(ctx context.Context, args []string, env environment) int {
		return runSQL(ctx, args, env.getenv, env.stdin, env.stdout, env.stderr)
	}},
	{"policy", "Write, check, test, compare and explain policies", runPolicy},
	{"grants", "Export, plan and apply rights as YAML", runGrants},
	{"user", "Add, list and remove users of a users file, and change passwords", runUser},
	{"cluster", "Run a scheduler and executors on loopback, for serve --executor ballista", runCluster},
	{"version", "Print the version", runVersion},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	env := environment{getenv: os.Getenv, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	os.Exit(run(ctx, os.Args[1:], env))
}

// run is the whole program: it returns the exit code.
func run(ctx context.Context, args []string, env environment) int {
	if len(args) == 0 {
		usage(env.stderr)
		return exitUsage
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		usage(env.stdout)
		return exitOK
	case "-version", "--version":
		return runVersion(ctx, args[1:], env)
	}
	for _, c := range commands {
		if c.name == args[0] {
			return c.run(ctx, args[1:], env)
		}
	}
	fmt.Fprintf(env.stderr, "gatehouse: there is no command %q\n\"gatehouse --help\" lists them.\n", args[0])
	return exitUsage
}

func usage(w io.Writer) {
	fmt.Fprint(w, "Gatehouse is a governed Arrow Flight SQL gateway for Apache Iceberg lakehouses.\n\nUsage: gatehouse COMMAND [options]\n\n")
	for _, c := range commands {
		fmt.Fprintf(w, "  %-8s %s\n", c.name, c.summary)
	}
	fmt.Fprint(w, `
"gatehouse COMMAND --help" explains one command with examples.

Examples:
  gatehouse demo
  gatehouse sql --user alice -c 'SELECT count(*) FROM customers'
  gatehouse serve ./warehouse
`)
}

func runVersion(_ context.Context, args []string, env environment) int {
	const help = "Usage: gatehouse version\n\nPrints the version of the program and of the libraries that matter.\n\nExample:\n  gatehouse version\n"
	if len(args) > 0 && slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]) {
		fmt.Fprint(env.stdout, help)
		return exitOK
	}
	if len(args) > 0 {
		fmt.Fprint(env.stderr, help)
		return exitUsage
	}
	fmt.Fprintf(env.stdout, "gatehouse %s\n", version)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			for _, lib := range []string{"/duckdb-go/", "/pg_query_go/", "/iceberg-go", "/arrow-go/", "/opa"} {
				if strings.Contains(d.Path+"/", lib+"/") || strings.Contains(d.Path, strings.TrimSuffix(lib, "/")+"/v") || strings.HasSuffix(d.Path, lib) {
					fmt.Fprintf(env.stdout, "  %s %s\n", d.Path, d.Version)
					break
				}
			}
		}
	}
	return exitOK
}
