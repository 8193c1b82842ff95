package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"gatehouse/policies"
	"gatehouse/policy/opa"
)

const policyHelp = `Usage:
  gatehouse policy check DIR    compile a policy folder as the server would; faults are printed with file and line
  gatehouse policy test DIR     run its tests (rules named test_…) with OPA's own runner, with coverage
  gatehouse policy new DIR      write a commented policy that denies everything, to start from

Exit codes: 0 all is well, 1 a fault or a failed test, 2 wrong usage.

Examples:
  gatehouse policy new policy && gatehouse policy test policy
  gatehouse policy check --rego auto trino-policies

Options:
`

// runPolicy is "gatehouse policy".
func runPolicy(ctx context.Context, args []string, env environment) int {
	fs := flag.NewFlagSet("policy", flag.ContinueOnError)
	fs.SetOutput(env.stderr)
	rego := fs.String("rego", "v1", "Rego `version`: v1, v0, or auto")
	lenient := fs.Bool("lenient", false, "do not check against the input schema, for policies written for other systems")
	cover := fs.Float64("coverage", 0, "fail below this `percentage` of covered lines")
	fs.Usage = func() {
		fmt.Fprint(env.stderr, policyHelp)
		fs.PrintDefaults()
	}
	if len(args) == 0 {
		fs.Usage()
		return exitUsage
	}
	verb := args[0]
	if verb == "-h" || verb == "--help" || verb == "help" {
		fs.Usage()
		return exitOK
	}
	if err := fs.Parse(args[1:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return exitOK
		}
		return exitUsage
	}
	if fs.NArg() != 1 {
		fs.Usage()
		return exitUsage
	}
	cfg := opa.Config{Folder: fs.Arg(0), Rego: *rego, Lenient: *lenient, Version: version}
	var err error
	switch verb {
	case "check":
		if err = opa.Check(cfg); err == nil {
			fmt.Fprintln(env.stdout, "The policy compiles.")
		}
	case "test":
		err = testPolicy(ctx, cfg, *cover, env)
	case "new":
		if err = policies.Write(fs.Arg(0), policies.Skeleton); err == nil {
			fmt.Fprintf(env.stdout, "Wrote %s. It denies everything until you allow something: start with %s/tables/example.rego, then run\n  gatehouse policy test %s\n", fs.Arg(0), fs.Arg(0), fs.Arg(0))
		}
	default:
		fs.Usage()
		return exitUsage
	}
	if err != nil {
		fmt.Fprintln(env.stderr, "gatehouse policy:", err)
		return exitFailure
	}
	return exitOK
}

func testPolicy(ctx context.Context, cfg opa.Config, cover float64, env environment) error {
	if _, err := os.Stat(cfg.Folder); err != nil {
		return fmt.Errorf("there is no folder %s", cfg.Folder)
	}
	report, err := opa.Test(ctx, cfg)
	if err != nil {
		return err
	}
	report.Print(env.stdout)
	if !report.Ok() {
		return errors.New("the policy's tests did not pass")
	}
	if report.Coverage < cover {
		return fmt.Errorf("coverage %.1f %% is below %.1f %%", report.Coverage, cover)
	}
	return nil
}
