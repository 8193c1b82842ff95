package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"gatehouse/auth"
	"gatehouse/gateway"
	"gatehouse/policy/opa"
)

// dataTestSuffix ends the names of files with data tests, anywhere in a policy folder.
const dataTestSuffix = "_test.yaml"

// dataTest is one statement with what it gives: "as ann, SELECT count(*) FROM orders gives 17". Exactly one of Gives, Rows and Error is set.
type dataTest struct {
	Name   string         `yaml:"name"`
	As     string         `yaml:"as"`     // the caller's name; alone: the user of the users file
	Roles  []string       `yaml:"roles"`  //
	Groups []string       `yaml:"groups"` //
	Claims map[string]any `yaml:"claims"` //
	SQL    string         `yaml:"sql"`
	Gives  yaml.Node      `yaml:"gives"` // the only value of the only row
	Rows   [][]yaml.Node  `yaml:"rows"`  // all rows, in any order
	Error  string         `yaml:"error"` // a part of what the caller is told
	Hides  []string       `yaml:"hides"` // texts that must not be in the answer

	place string // file:line
}

// testReport is what "gatehouse policy test" prints as JSON.
type testReport struct {
	opa.Report
	Data    []dataFailure `json:"data_failures"`
	DataRun int           `json:"data_run"`
	DataNot int           `json:"data_not_run"`
}

// dataFailure is a data test that did not hold.
type dataFailure struct {
	Place string `json:"place"`
	Name  string `json:"name"`
	Text  string `json:"text"`
}

// testPolicy is "gatehouse policy test".
func testPolicy(ctx context.Context, o policyOptions, env environment) error {
	if len(o.args) == 1 {
		o.bench.policy = o.args[0]
	}
	b, err := openBench(ctx, o.bench)
	if err != nil {
		return err
	}
	defer b.close()
	dir := b.cfg.Policy.Dir
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("there is no folder %s", dir)
	}
	var report testReport
	if report.Report, err = opa.Test(ctx, b.opaConfig(dir)); err != nil {
		return err
	}
	tests, err := readDataTests(dir)
	if err != nil {
		return err
	}
	report.Data = []dataFailure{}
	if b.catalogs == nil {
		report.DataNot = len(tests)
	} else if err := b.runDataTests(ctx, tests, &report); err != nil {
		return err
	}
	if o.json {
		err = printJSON(env.stdout, report)
	} else {
		report.print(env.stdout)
	}
	switch {
	case err != nil:
		return err
	case !report.Ok() || len(report.Data) > 0:
		return errors.New("the policy's tests did not pass")
	case report.Coverage < o.coverage:
		return fmt.Errorf("coverage %.1f %% is below %.1f %%", report.Coverage, o.coverage)
	}
	return nil
}

func (r *testReport) print(w io.Writer) {
	for _, f := range r.Data {
		fmt.Fprintf(w, "FAIL %s (%s) %s\n", f.Name, f.Place, f.Text)
	}
	r.Report.Print(w)
	if r.DataRun > 0 {
		fmt.Fprintf(w, "%s run, %d failed; they do not count for coverage\n", plural(r.DataRun, "data test"), len(r.Data))
	}
	if r.DataNot > 0 {
		fmt.Fprintf(w, "%s NOT run: name the tables with --warehouse or --config\n", plural(r.DataNot, "data test"))
	}
}

// readDataTests reads every file of data tests below dir.
func readDataTests(dir string) ([]dataTest, error) {
	var out []dataTest
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, dataTestSuffix) {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		tests, err := parseDataTests(filepath.ToSlash(name), b)
		out = append(out, tests...)
		return err
	})
	return out, err
}

// parseDataTests reads a list of data tests; what is not known is an error.
func parseDataTests(file string, b []byte) ([]dataTest, error) {
	dec := yaml.NewDecoder(bytes.NewReader(b))
	dec.KnownFields(true)
	var tests []dataTest
	if err := dec.Decode(&tests); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var lines yaml.Node
	if err := yaml.Unmarshal(b, &lines); err != nil || len(lines.Content) != 1 || len(lines.Content[0].Content) != len(tests) {
		return nil, fmt.Errorf("%s: not a list of data tests", file)
	}
	for i := range tests {
		t := &tests[i]
		t.place = fmt.Sprintf("%s:%d", file, lines.Content[0].Content[i].Line)
		if t.Name == "" {
			t.Name = t.As + ": " + t.SQL
		}
		expected := 0
		for _, set := range []bool{t.Gives.Kind != 0, t.Rows != nil, t.Error != ""} {
			if set {
				expected++
			}
		}
		if t.As == "" || t.SQL == "" || expected != 1 {
			return nil, fmt.Errorf("%s: a data test has as, sql, and one of gives, rows and error", t.place)
		}
	}
	return tests, nil
}

// runDataTests takes each test's statement through the whole pipeline and compares its rows.
func (b *bench) runDataTests(ctx context.Context, tests []dataTest, report *testReport) error {
	if len(tests) == 0 {
		return nil
	}
	d, err := b.decider(b.cfg.Policy.Dir, nil)
	if err != nil {
		return err
	}
	g, err := b.gatewayFor(d)
	if err != nil {
		return err
	}
	for _, t := range tests {
		report.DataRun++
		text, err := b.runDataTest(ctx, g, t)
		if err != nil {
			return err
		}
		if text != "" {
			report.Data = append(report.Data, dataFailure{t.place, t.Name, text})
		}
	}
	return nil
}

// caller is who asks: with roles, groups or claims somebody new, else a user of the users file.
func (t dataTest) caller(users []userEntry) (auth.Identity, error) {
	if t.Roles != nil || t.Groups != nil || t.Claims != nil {
		return identityOf(userEntry{Name: t.As, Roles: t.Roles, Groups: t.Groups, Attributes: t.Claims})
	}
	return callerOptions{user: t.As}.caller(users)
}

// runDataTest returns what is wrong, "" for nothing.
func (b *bench) runDataTest(ctx context.Context, g *gateway.Gateway, t dataTest) (string, error) {
	id, err := t.caller(b.users)
	if err != nil {
		return "", fmt.Errorf("%s: %w", t.place, err)
	}
	rows, failure := rowsOf(ctx, g, id, t.SQL)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	answer := strings.Join(rows, "\n")
	if failure != nil {
		answer = failure.Error()
	}
	for _, h := range t.Hides {
		if strings.Contains(answer, h) {
			return fmt.Sprintf("the answer holds %q", h), nil
		}
	}
	switch {
	case t.Error != "" && failure == nil:
		return fmt.Sprintf("gives %s, not an error with %q", shorten(answer), t.Error), nil
	case t.Error != "":
		if !strings.Contains(answer, t.Error) {
			return fmt.Sprintf("is told %q, not %q", answer, t.Error), nil
		}
		return "", nil
	case failure != nil:
		rule, cause := causeOf(failure)
		return strings.TrimSuffix(fmt.Sprintf("is told %q; cause: %s %v", answer, rule, cause), "; cause:  "+answer), nil
	}
	want, err := t.wanted()
	if err != nil {
		return "", fmt.Errorf("%s: %w", t.place, err)
	}
	slices.Sort(rows)
	slices.Sort(want)
	if !slices.Equal(rows, want) {
		return fmt.Sprintf("gives %s, not %s", shorten(strings.Join(rows, "\n")), shorten(strings.Join(want, "\n"))), nil
	}
	return "", nil
}

// wanted are the expected rows as rowsOf writes them.
func (t dataTest) wanted() ([]string, error) {
	rows := t.Rows
	if t.Gives.Kind != 0 {
		rows = [][]yaml.Node{{t.Gives}}
	}
	out := []string{}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, n := range row {
			if n.Kind != yaml.ScalarNode {
				return nil, errors.New("a value is a text, a number, true, false or null; write nested ones as text")
			}
			cells[i] = n.Value
			if n.Tag == "!!null" {
				cells[i] = "NULL"
			}
		}
		b, err := json.Marshal(cells)
		if err != nil {
			return nil, err
		}
		out = append(out, string(b))
	}
	return out, nil
}

// rowsOf runs sql and returns each row as a JSON list of texts.
func rowsOf(ctx context.Context, g *gateway.Gateway, id auth.Identity, sql string) ([]string, error) {
	s, err := g.NewSession(id, "", "gatehouse policy")
	if err != nil {
		return nil, err
	}
	res, err := g.Query(ctx, s, sql)
	if err != nil {
		return nil, err
	}
	reader, err := res.Run(ctx)
	if err != nil {
		return nil, err
	}
	defer reader.Release()
	rows := []string{}
	for reader.Next() {
		batch := reader.RecordBatch()
		for i := range int(batch.NumRows()) {
			cells := make([]string, batch.NumCols())
			for c := range cells {
				cells[c] = string(appendValue(nil, batch.Column(c), i, plainText))
			}
			b, err := json.Marshal(cells)
			if err != nil {
				return nil, err
			}
			rows = append(rows, string(b))
		}
	}
	return rows, reader.Err()
}

func shorten(s string) string {
	if s == "" {
		return "no rows"
	}
	if len(s) > 300 {
		return s[:300] + " …"
	}
	return s
}
