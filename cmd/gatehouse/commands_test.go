package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every command explains itself with examples, and the help of the program names every command.
func TestHelp(t *testing.T) {
	code, out, _ := invoke(t, nil, "--help")
	if code != exitOK {
		t.Errorf("--help ends with %d", code)
	}
	for _, c := range commands {
		if !strings.Contains(out, "  "+c.name+" ") {
			t.Errorf("--help does not name %s", c.name)
		}
		code, text, errs := invoke(t, nil, c.name, "--help")
		if text += errs; code != exitOK || !strings.Contains(text, "Usage") || !strings.Contains(text, "Example") || !strings.Contains(text, "gatehouse "+c.name) {
			t.Errorf("gatehouse %s --help ends with %d and has no usage or example:\n%s", c.name, code, text)
		}
		if code, _, errs := invoke(t, nil, c.name, "--no-such-option"); code != exitUsage || errs == "" {
			t.Errorf("gatehouse %s --no-such-option ends with %d, want %d and a word on why", c.name, code, exitUsage)
		}
	}
	if code, _, errs := invoke(t, nil); code != exitUsage || !strings.Contains(errs, "Usage") {
		t.Errorf("gatehouse ends with %d", code)
	}
}

func TestVersion(t *testing.T) {
	code, out, _ := invoke(t, nil, "version")
	if code != exitOK || !strings.HasPrefix(out, "gatehouse "+version+"\n") {
		t.Errorf("%d %q", code, out)
	}
}

// Help that was asked for goes to stdout, so that it can be searched; a wrong command line is told in two lines, on stderr.
func TestCommandLines(t *testing.T) {
	for _, c := range []struct{ args, stdout, stderr string }{
		{"policy check --help", "-coverage", ""},
		{"policy help", "Usage:", ""},
		{"user list -h", "Usage:", ""},
		{"grants --help", "Usage:", ""},
		{"serve --help", "Usage:", ""},
		{"demo --help", "Usage:", ""},
		{"--version", "gatehouse ", ""},
		{"nope", "", `there is no command "nope"`},
		{"policy nope", "", `there is no command "nope"`},
		{"policy diff one", "", "diff: an argument is missing"},
		{"policy check one two", "", `check: there is one argument too many: "two"`},
		{"policy check --nope", "", "-nope"},
		{"user nope", "", `there is no command "nope"`},
		{"user add --role admin", "", "add takes one name"},
		{"user add ann --attribute region", "", `--attribute "region" is not name=value`},
		{"grants nope", "", `there is no command "nope"`},
		{"grants export", "", "--config FILE or --store FILE"},
		{"grants plan --store x", "", "plan takes one file"},
		{"serve", "", "say what to serve"},
		{"serve a b", "", `one argument too many: "b"`},
		{"serve --config a b", "", "leave b out"},
		{"demo x", "", `there is no argument "x"`},
	} {
		code, out, errs := invoke(t, nil, strings.Fields(c.args)...)
		want := exitOK
		if c.stderr != "" {
			want = exitUsage
		}
		if code != want || !strings.Contains(out, c.stdout) || !strings.Contains(errs, c.stderr) {
			t.Errorf("gatehouse %s: %d\n%s\n%s", c.args, code, out, errs)
		}
		if lines := strings.Count(errs, "\n"); want == exitOK && errs != "" || want == exitUsage && (out != "" || lines != 2) {
			t.Errorf("gatehouse %s: stdout %q, stderr %q", c.args, out, errs)
		}
	}
}

// The exit codes of "gatehouse policy" are what a pipeline goes by.
func TestPolicyCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "policy")
	step := func(want int, text string, args ...string) {
		t.Helper()
		code, out, errs := invoke(t, nil, append([]string{"policy"}, args...)...)
		if code != want || !strings.Contains(out+errs, text) {
			t.Errorf("gatehouse policy %v: %d %q %q, want %d and %q", args, code, out, errs, want, text)
		}
	}
	step(exitOK, "denies everything", "new", dir)
	step(exitOK, "compiles", "check", dir)
	step(exitOK, "", "test", dir)
	step(exitFailure, "coverage", "test", "--coverage", "100.1", dir)

	mine := filepath.Join(dir, "tables", "example.rego")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(mine, "package tables.lake.shop.mine\n\nread if input.context.identity.usr == \"ann\"\n")
	step(exitFailure, "example.rego:3", "check", dir) // a field that the input does not have
	write(mine, "package tables.lake.shop.mine\n\nread if http.send({}).status == 200\n")
	step(exitFailure, "example.rego:3", "check", dir) // reaches out of the gateway
	write(mine, "package tables.lake.shop.mine\n\nread if one.x\n\nhidden contains two.x\n")
	step(exitFailure, "gatehouse policy: tables/example.rego:3: rego_unsafe_var_error: var one is unsafe\ntables/example.rego:5: ", "check", dir)
	write(mine, "package tables.lake.shop.mine\n\nread if {\n")
	step(exitFailure, "gatehouse policy: tables/example.rego:4: rego_parse_error: ", "check", dir)
	write(mine, "package tables.lake.shop.mine\n\nread := true\n")
	step(exitOK, "compiles", "check", dir)
	write(filepath.Join(dir, "tests", "mine_test.rego"), "package tests.mine\n\ntest_wrong if data.tables.lake.shop.mine.read == false\n")
	step(exitFailure, "test_wrong", "test", dir)

	step(exitOK, "", "new", dir) // again: nothing is overwritten
	if b, err := os.ReadFile(mine); err != nil || !strings.Contains(string(b), "read := true") {
		t.Errorf("a second new changed %s (%v)", mine, err)
	}
	step(exitFailure, "no folder", "test", filepath.Join(dir, "absent"))
	step(exitFailure, "", "check", filepath.Join(dir, "absent"))
	step(exitUsage, "shows how it is used", "check")
	step(exitUsage, "shows how it is used", "polish", dir)
}

func TestUserCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.yaml")
	password := map[string]string{"GATEHOUSE_NEW_PASSWORD": "correct horse"}
	step := func(want int, text string, vars map[string]string, args ...string) {
		t.Helper()
		code, out, errs := invoke(t, vars, append([]string{"user"}, args...)...)
		if code != want || !strings.Contains(out+errs, text) {
			t.Errorf("gatehouse user %v: %d %q %q, want %d and %q", args, code, out, errs, want, text)
		}
	}
	step(exitOK, "Added ann", password, "add", "--file", file, "--role", "a", "--role", "b", "--group", "g", "ann")
	step(exitFailure, "already", password, "add", "--file", file, "ann")
	step(exitFailure, "no terminal", nil, "add", "--file", file, "ben")
	step(exitFailure, "user name", password, "add", "--file", file, "b\nn")
	step(exitOK, "ann\troles: a, b\tgroups: g\n", nil, "list", "--file", file)
	step(exitFailure, "no file", nil, "list", "--file", file+".absent")
	step(exitUsage, "Usage", nil)
	step(exitUsage, "shows how it is used", nil, "add")
	b, err := os.ReadFile(file)
	info, serr := os.Stat(file)
	if err != nil || serr != nil || info.Mode().Perm() != 0o600 || strings.Contains(string(b), "horse") || !strings.Contains(string(b), "argon2id") {
		t.Errorf("the users file: %v %v\n%s", err, info.Mode(), b)
	}
}
