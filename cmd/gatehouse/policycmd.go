package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"

	"gatehouse/policies"
)

const policyHelp = `Usage:
  gatehouse policy new DIR               write a commented policy that denies everything, to start from
  gatehouse policy check [DIR]           compile as the server would; with --warehouse or --config, bind each expression that the
                                         policy can return against the real tables; faults with file and line
  gatehouse policy test [DIR]            run the rules named test_… with OPA's own runner, with coverage; with --warehouse or --config,
                                         also the data tests in files *_test.yaml, against the real tables
  gatehouse policy eval [DIR] --user U --table CATALOG.SCHEMA.TABLE
                                         what the policy decides about one table, and the rules that held
  gatehouse policy explain [DIR] --user U 'SELECT …'
                                         decision, rules, filters and masks, governed SQL, plan; nothing is run
  gatehouse policy diff DIR DIR          who gains and loses which rows, columns and masks: the users of the configuration's users file, one
                                         caller a role, and one without roles; or --user alone. --exit-code: 1 if the policies differ
  gatehouse policy why ID                the story of a decision or statement, from the audit log: --audit FILE or --config FILE;
                                         --log FILE adds causes from the server's log
  gatehouse policy fmt DIR…              format all Rego; --dry lists what would change, and fails if anything would

With --config FILE, DIR is by default the configuration's policy.dir. --config and --warehouse say where tables are: the catalogs of a
configuration, or a folder or REST catalog as "gatehouse serve" takes it. --user takes roles, groups and claims from the
configuration's users file unless --role, --group or --claim say otherwise.

Exit codes: 0 all is well, 1 a fault or a failed test, 2 wrong usage. Being denied is an answer, not a fault.

Examples:
  gatehouse policy new policy && gatehouse policy test policy
  gatehouse policy check --rego auto trino-policies
  gatehouse policy eval policy --user ann --role analyst --table lake.sales.orders
  gatehouse policy explain policy --warehouse ./warehouse --user ann --role analyst 'SELECT count(*) FROM lake.sales.orders'

Options:
`

// policyOptions are the options of all verbs of "gatehouse policy".
type policyOptions struct {
	bench    benchOptions
	args     []string // what is not an option
	coverage float64
	json     bool
	who      callerOptions
	table    string
	column   string
	audit    string
	log      string
	dry      bool
	exitCode bool
}

// policyVerb is one word after "gatehouse policy".
type policyVerb struct {
	min, max int // arguments
	run      func(ctx context.Context, o policyOptions, env environment) error
}

var policyVerbs = map[string]policyVerb{
	"new":     {1, 1, newPolicy},
	"check":   {0, 1, checkPolicy},
	"test":    {0, 1, testPolicy},
	"eval":    {0, 1, evalPolicy},
	"explain": {1, 2, explainPolicy},
	"diff":    {2, 2, diffPolicy},
	"fmt":     {1, 99, fmtPolicy},
	"why":     {1, 1, whyPolicy},
}

// usageError is a command line that cannot be meant.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

// runPolicy is "gatehouse policy".
func runPolicy(ctx context.Context, args []string, env environment) int {
	var o policyOptions
	name, rest, code, done := parseVerb(o.flags(), policyHelp, args, env)
	if done {
		return code
	}
	verb, ok := policyVerbs[name]
	switch {
	case !ok:
		return wrongUsage("policy", fmt.Sprintf("there is no command %q", name), env)
	case len(rest) < verb.min:
		return wrongUsage("policy", name+": an argument is missing", env)
	case len(rest) > verb.max:
		return wrongUsage("policy", fmt.Sprintf("%s: there is one argument too many: %q", name, rest[verb.max]), env)
	}
	o.args = rest
	err := verb.run(ctx, o, env)
	var usage *usageError
	var config *ConfigError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		return wrongUsage("policy", name+": "+err.Error(), env)
	case errors.As(err, &config):
		fmt.Fprintln(env.stderr, "gatehouse policy:", err)
		return exitUsage
	}
	fmt.Fprintln(env.stderr, "gatehouse policy:", err)
	return exitFailure
}

func (o *policyOptions) flags() *flag.FlagSet {
	fs := flag.NewFlagSet("policy", flag.ContinueOnError)
	fs.StringVar(&o.bench.rego, "rego", "", "Rego `version`: v1, v0, or auto (default v1, or what the configuration says)")
	fs.BoolVar(&o.bench.lenient, "lenient", false, "do not check against the input schema, for policies written for other systems")
	fs.StringVar(&o.bench.config, "config", "", "configuration `file` of a gateway")
	fs.StringVar(&o.bench.warehouse, "warehouse", "", "`folder` or URL of tables, instead of --config")
	fs.Float64Var(&o.coverage, "coverage", 0, "test: fail below this `percentage` of covered lines")
	fs.BoolVar(&o.json, "json", false, "print JSON")
	fs.StringVar(&o.who.user, "user", "", "`name` of the caller")
	fs.Var(&o.who.roles, "role", "`role` of the caller, more than once for several")
	fs.Var(&o.who.groups, "group", "`group` of the caller, more than once for several")
	fs.Var(&o.who.claims, "claim", "claim of the caller as `name=value`, where the value is JSON or else text; more than once for several")
	fs.StringVar(&o.table, "table", "", "`name` of a table with catalog and schema")
	fs.StringVar(&o.column, "column", "", "eval: this `column` only")
	fs.StringVar(&o.audit, "audit", "", "why: the audit log's `file`, instead of the configuration's")
	fs.StringVar(&o.log, "log", "", "why: `file` with what the server wrote to standard error")
	fs.BoolVar(&o.exitCode, "exit-code", false, "diff: end with 1 if the policies differ")
	fs.BoolVar(&o.dry, "dry", false, "fmt: change nothing")
	return fs
}

func newPolicy(_ context.Context, o policyOptions, env environment) error {
	dir := o.args[0]
	if err := policies.Write(dir, policies.Skeleton); err != nil {
		return err
	}
	if o.json {
		return printJSON(env.stdout, map[string]any{"folder": dir})
	}
	fmt.Fprintf(env.stdout, "Wrote %s. It denies everything until you allow something: start with %s/tables/example.rego, then run\n  gatehouse policy test %s\n", dir, dir, dir)
	return nil
}

// printJSON writes v as one indented document.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// plural writes a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
