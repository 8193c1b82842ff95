package opa

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"
)

// Check compiles the policy that cfg names, tests included, as the gateway would, and more strictly: unused names and
// deprecated functions are errors too, except in Rego v0. The error has one line per fault, with its place.
func Check(cfg Config) error {
	cfg, files, err := source(cfg)
	if err != nil {
		return err
	}
	_, err = checkFiles(files, cfg)
	return err
}

// source returns the files of a folder, or the given ones.
func source(cfg Config) (Config, map[string][]byte, error) {
	cfg, err := withDefaults(cfg)
	if err != nil {
		return cfg, nil, err
	}
	switch {
	case cfg.Files != nil:
		return cfg, cfg.Files, nil
	case cfg.Folder != "":
		files, err := ReadFolder(cfg.Folder, cfg.MaxBytes)
		return cfg, files, err
	default:
		return cfg, nil, errors.New("opa: a folder is checked and tested, not a bundle server")
	}
}

func checkFiles(files map[string][]byte, cfg Config) (c *ast.Compiler, err error) {
	defer recovered(&err)
	if _, err := compileFiles(files, cfg); err != nil {
		return nil, err
	}
	b, err := readBundle(files, cfg)
	if err != nil {
		return nil, err
	}
	return compileModules(b, cfg, cfg.Rego == "v1")
}

// Report is the outcome of a policy's own tests.
type Report struct {
	Passed    int               `json:"passed"`
	Failed    int               `json:"failed"`
	Skipped   int               `json:"skipped"`
	Failures  []Failure         `json:"failures"`
	Coverage  float64           `json:"coverage"`  // percent of the lines of rules that some test reached
	Uncovered map[string][]Line `json:"uncovered"` // by file
}

// Failure is one test that did not pass.
type Failure struct {
	Name  string `json:"name"`  // package.name
	At    string `json:"at"`    // file:line
	Error string `json:"error"` // "" if the test's conditions did not hold
}

// Line is a range of lines.
type Line struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Ok reports whether there were tests and all of them passed.
func (r Report) Ok() bool { return r.Failed == 0 && r.Passed > 0 }

// Test checks the policy that cfg names and runs its tests (rules whose names start with test_) in OPA's own runner.
func Test(ctx context.Context, cfg Config) (Report, error) {
	cfg, files, err := source(cfg)
	if err != nil {
		return Report{}, err
	}
	if _, err := checkFiles(files, cfg); err != nil {
		return Report{}, err
	}
	b, err := readBundle(files, cfg)
	if err != nil {
		return Report{}, err
	}
	modules := map[string]*ast.Module{}
	for _, m := range b.Modules {
		modules[strings.TrimPrefix(m.Path, "/")] = m.Parsed
	}
	store := inmem.NewFromObject(b.Data)
	coverage := cover.New()
	var report Report
	err = storage.Txn(ctx, store, storage.TransactionParams{}, func(txn storage.Transaction) error {
		results, err := tester.NewRunner().
			SetCompiler(ast.NewCompiler().WithCapabilities(capabilities(ast.RegoV1))).
			SetStore(store).
			SetModules(modules).
			SetCoverageQueryTracer(coverage).
			SetTimeout(5*time.Second).
			RaiseBuiltinErrors(!cfg.Legacy).
			RunTests(ctx, txn)
		if err != nil {
			return err
		}
		for r := range results {
			report.add(r)
		}
		return nil
	})
	if err != nil {
		return Report{}, err
	}
	rules := maps.Clone(modules)
	maps.DeleteFunc(rules, func(name string, _ *ast.Module) bool { return strings.HasSuffix(name, "_test.rego") })
	report.cover(coverage.Report(rules))
	return report, nil
}

func (r *Report) add(t *tester.Result) {
	switch {
	case t.Skip:
		r.Skipped++
	case t.Pass():
		r.Passed++
	default:
		r.Failed++
		f := Failure{Name: strings.TrimPrefix(t.Package, "data.") + "." + t.Name}
		if t.Location != nil {
			f.At = fmt.Sprintf("%s:%d", strings.TrimPrefix(t.Location.File, "/"), t.Location.Row)
		}
		if t.Error != nil {
			f.Error = t.Error.Error()
		}
		r.Failures = append(r.Failures, f)
	}
}

func (r *Report) cover(c cover.Report) {
	r.Coverage = c.Coverage
	r.Uncovered = map[string][]Line{}
	for name, f := range c.Files {
		name = strings.TrimPrefix(name, "/")
		if strings.HasSuffix(name, "_test.rego") {
			continue
		}
		if len(f.NotCovered) == 0 {
			continue
		}
		for _, n := range f.NotCovered {
			r.Uncovered[name] = append(r.Uncovered[name], Line{n.Start.Row, n.End.Row})
		}
		r.Uncovered[name] = slices.Compact(r.Uncovered[name]) // two expressions on a line
	}
}

// Print writes the report for people.
func (r Report) Print(w io.Writer) {
	for _, f := range r.Failures {
		fmt.Fprintf(w, "FAIL %s (%s) %s\n", f.Name, f.At, f.Error)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Uncovered)) {
		if lines := lineList(r.Uncovered[name]); lines != "" {
			fmt.Fprintf(w, "not covered %s: %s\n", name, lines)
		}
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped, coverage %.1f %%\n", r.Passed, r.Failed, r.Skipped, r.Coverage)
}

// lineList writes ranges of lines in order as "3, 5-7".
func lineList(lines []Line) string {
	var parts []string
	for i := 0; i < len(lines); i++ {
		from, to := lines[i].From, lines[i].To
		for i+1 < len(lines) && lines[i+1].From <= to+1 {
			i++
			to = max(to, lines[i].To)
		}
		if from == to {
			parts = append(parts, strconv.Itoa(from))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", from, to))
		}
	}
	return strings.Join(parts, ", ")
}
