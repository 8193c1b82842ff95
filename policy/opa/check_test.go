package opa_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatehouse/policies"
	"gatehouse/policy/opa"
)

// A fault is reported with its place, also in tests, and unused names count.
func TestCheckNamesThePlace(t *testing.T) {
	for _, c := range []struct{ name, file, text, want string }{
		{"syntax", "tables/a/b/c.rego", "package tables.a.b.c\n\nread if {\n", "tables/a/b/c.rego:"},
		{"misspelt input", "tables/a/b/c.rego", "package tables.a.b.c\nread if input.contxt.x", "tables/a/b/c.rego:2"},
		{"unknown function", "tables/a/b/c.rego", "package tables.a.b.c\n\nread if nonsense(1)", "tables/a/b/c.rego:3"},
		{"unused variable", "tables/a/b/c.rego", "package tables.a.b.c\nread if {\n\tx := 1\n}", "tables/a/b/c.rego:3"},
		{"in a test", "tests/c_test.rego", "package tests.c\ntest_x if nonsense(1)", "tests/c_test.rego:2"},
		{"forbidden", "tables/a/b/c.rego", "package tables.a.b.c\nread if http.send({})", "tables/a/b/c.rego:2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := opa.Check(opa.Config{Files: withRouter(t, map[string]string{c.file: c.text})})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v; want %s", err, c.want)
			}
		})
	}
	if err := opa.Check(opa.Config{Files: withRouter(t, map[string]string{"tables/a/b/c.rego": "package tables.a.b.c\nread if input.context.queryId"})}); err != nil {
		t.Fatal("control: ", err)
	}
}

// Failing tests and lines that no test reaches are named; a policy without tests has not passed.
func TestReport(t *testing.T) {
	report, err := opa.Test(t.Context(), opa.Config{Files: map[string][]byte{
		"p.rego":      []byte(base + "more if {\n\tinput.action.operation == \"x\"\n}\n"),
		"p_test.rego": []byte("package tests\ntest_good if 1 == 1\ntest_bad if 1 == 2\ntest_error if to_number(\"x\") == 1\ntodo_test_later if 1 == 1\n"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	report.Print(&out)
	for _, want := range []string{"FAIL tests.test_bad (p_test.rego:3)", "FAIL tests.test_error (p_test.rego:4)", "not covered p.rego:", "1 passed, 2 failed, 1 skipped"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	out.Reset()
	opa.Report{Uncovered: map[string][]opa.Line{"a.rego": {{3, 3}, {4, 4}, {7, 9}, {12, 12}}, "b.rego": nil}}.Print(&out)
	if want := "not covered a.rego: 3-4, 7-9, 12\n0 passed"; !strings.HasPrefix(out.String(), want) {
		t.Errorf("%q", out.String())
	}
	if report.Ok() || report.Coverage >= 100 {
		t.Error(out.String())
	}
	none, err := opa.Test(t.Context(), opa.Config{Files: map[string][]byte{"p.rego": []byte(base)}})
	if err != nil || none.Ok() {
		t.Errorf("no tests: %+v, %v", none, err)
	}
}

// What is written as a set is a complete folder, and what a person has changed in it stays.
func TestWrittenSets(t *testing.T) {
	for _, set := range []policies.Set{policies.Demo, policies.Skeleton} {
		dir := filepath.Join(t.TempDir(), "policy")
		if err := policies.Write(dir, set); err != nil {
			t.Fatal(err)
		}
		if report, err := opa.Test(t.Context(), opa.Config{Folder: dir}); err != nil || !report.Ok() {
			t.Fatalf("%s: %+v, %v", set, report, err)
		}
		own := filepath.Join(dir, "lib", "gw.rego")
		if err := os.WriteFile(own, []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := policies.Write(dir, set); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(own); err != nil || string(b) != "mine" {
			t.Fatalf("%s: a file was overwritten: %q, %v", set, b, err)
		}
	}
	if err := policies.Write(t.TempDir(), "nonsense"); err == nil {
		t.Fatal("an unknown set was written")
	}
}
