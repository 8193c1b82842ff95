// Command mutate measures what the tests notice: it changes the product in thousands of small ways, one at a time, and runs the
// tests that come by the changed place. A mutant that lives is a fault that could be made without any test failing.
//
// All mutants of all packages are compiled at once, each beside the original and chosen by its number at run time, since a
// build and a link for each would take most of a minute. What is changed (op in the list of survivors):
//
//	negate         a condition or a part of one is its opposite
//	and-or         && is ||, and the other way round
//	boundary       < is <=, > is >=, and the other way round
//	limit          a constant that bounds something is one more
//	flip           true is false, and the other way round
//	case           a switch does not know a value or type
//	element        an element of a list or table is missing
//	drop-return    a refusal, or another early return, does not happen: the function goes on, at its end with no error
//	drop-continue, drop-assign, drop-call   the statement does not happen
//	swap-args      two neighbouring arguments of one type change places
//	error-class    an error is of no class of ours
//	enum           a constant of a named type, like a status code, is the next one
//
// What is left out, since it says nothing about what anybody may see: the rules of exclusions, each with its reason; the opposite
// of "err != nil", which fails at the first success; loop counters; texts; constants that must be constants; elements
// of tables with more than maxElements beyond so many; the words of lists that are one text.
//
// Mutants that tests of their own package let live meet the tests of the packages above with -above. Survivors
// have to be in the list of survivors, each with its reason.
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
	"regexp"
	"slices"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// targets are the packages that decide what anybody sees.
var targets = []string{"./policy", "./policy/grants", "./policy/opa", "./plan", "./gateway", "./gateway/flight", "./classify/printer", "./classify"}

// above are the programs that survivors of a package's own tests meet, and which of their tests.
var above = []program{
	{pkg: "./classify/printer"},
	{pkg: "./policy"},
	{pkg: "./policy/opa"},
	{pkg: "./gateway"},
	{pkg: "./gateway/flight"},
	{pkg: "./executors/duckdb", run: "^Test(Contract|Barrier|MaskBarrier|Zoo|PrintedTextMeansTheSame|NoBarrierNoDictionary|SteadyBatches)$"},
	{pkg: "./cmd/prove", run: "^TestTwins$"},
	{pkg: "./cmd/gatehouse", run: "^Test(Battery.*|PastIsGoverned|Grants?.*|Revoke.*)$"},
}

type options struct {
	root, cache, survivors string
	sample                 int
	seed                   uint64
	above, only            *regexp.Regexp // above may be nil
	packages               []string
	rules                  []exclusion
	out                    io.Writer
	patience               time.Duration    // what a run may take beside a multiple of what it took without a mutant
	building               func(pkg string) // hears of each build
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	f := flag.NewFlagSet("mutate", flag.ContinueOnError)
	home, _ := os.UserCacheDir()
	o := options{root: ".", packages: targets, rules: exclusions, out: stdout, patience: 10 * time.Second}
	f.IntVar(&o.sample, "sample", 0, "only `N` mutants of each package, by chance from -seed; 0: all")
	f.Uint64Var(&o.seed, "seed", 1, "seed of -sample")
	above := f.String("above", "", "survivors meet the tests of the packages above that match this `expression`")
	f.StringVar(&o.cache, "cache", filepath.Join(home, "gatehouse", "mutate"), "`folder` of results: a run goes on where another one stopped")
	f.StringVar(&o.survivors, "survivors", "testdata/mutants/survivors.txt", "`file` of survivors and their reasons")
	only := f.String("only", ".", "only mutants whose key matches this `expression`")
	list := f.Bool("list", false, "print the mutants and run none")
	if err := f.Parse(args); err != nil {
		return err
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		return err
	}
	if *above != "" {
		if o.above, err = regexp.Compile(*above); err != nil {
			return err
		}
	}
	if f.NArg() > 0 {
		o.packages = f.Args()
	}
	if o.root, err = filepath.Abs(o.root); err != nil {
		return err
	}
	if *list {
		return o.list()
	}
	vs, err := o.mutate(ctx)
	if err != nil && ctx.Err() == nil {
		return err
	}
	var why map[string]string
	if o.complete() {
		if why, err = reasons(filepath.Join(o.root, o.survivors)); err != nil {
			return err
		}
	}
	return errors.Join(ctx.Err(), judge(o.out, vs, why))
}

// complete reports whether every mutant is looked at, so that lists can be checked.
func (o *options) complete() bool {
	return o.sample == 0 && o.only.String() == "." && slices.Equal(o.packages, targets)
}

// judge prints the report. It is an error if a survivor is not on the list of reasons or, after a complete run, if one of
// that list died or is no mutant any more. A nil list is not checked.
func judge(out io.Writer, vs []verdict, list map[string]string) error {
	open := 0
	for _, t := range report(out, vs) {
		open += t.open
	}
	if open > 0 {
		return fmt.Errorf("%d mutants live and are not on the list of survivors", open)
	}
	alive := map[string]bool{}
	for _, v := range vs {
		alive[v.m.key()] = v.status != killed && v.status != timeout && v.m.off == ""
	}
	for key := range list {
		if !alive[key] {
			return fmt.Errorf("on the list of survivors, but dead, left out or gone: %s", key)
		}
	}
	return nil
}

func (o *options) list() error {
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	in, err := instrument(o.root, dir, o.packages, compileRules(o.rules))
	if err != nil {
		return err
	}
	for _, m := range in.mutants {
		if o.only.MatchString(m.key()) {
			fmt.Fprintf(o.out, "%d\t%s\t%s:%d\t%s\n", m.id, m.key(), m.file, m.line, m.off)
		}
	}
	return nil
}

// mutate builds, measures and tries, and returns what became of every mutant that was chosen.
func (o *options) mutate(ctx context.Context) ([]verdict, error) {
	if err := os.MkdirAll(o.cache, 0o700); err != nil {
		return nil, err
	}
	held, err := lock(o.cache)
	if err != nil {
		return nil, err
	}
	defer held.Close()
	dir, tree := filepath.Join(o.cache, "build"), filepath.Join(o.cache, "tree")
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700), copyTree(o.root, tree)); err != nil {
		return nil, err
	}
	in, err := instrument(tree, dir, o.packages, compileRules(o.rules))
	if err != nil {
		return nil, err
	}
	why, err := reasons(filepath.Join(o.root, o.survivors))
	if err != nil {
		return nil, err
	}
	known, err := openResults(filepath.Join(o.cache, "results.jsonl"))
	if err != nil {
		return nil, err
	}
	defer known.out.Close()
	w := &worker{o: o, in: in, known: known}
	var all []verdict
	for _, s := range in.sources {
		vs := w.chosen(s)
		err := w.stage(ctx, &program{pkg: in.relative(s.dir)}, vs)
		if err == nil && o.above != nil {
			err = w.aboves(ctx, s, vs)
		}
		for i := range vs {
			vs[i].reason = why[vs[i].m.key()]
		}
		all = append(all, vs...)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}
