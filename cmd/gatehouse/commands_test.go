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
	for _, args := range [][]string{nil, {"nonsense"}} {
		if code, _, errs := invoke(t, nil, args...); code != exitUsage || !strings.Contains(errs, "Usage") {
			t.Errorf("gatehouse %v ends with %d", args, code)
		}
	}
}

func TestVersion(t *testing.T) {
	code, out, _ := invoke(t, nil, "version")
	if code != exitOK || !strings.HasPrefix(out, "gatehouse "+version+"\n") {
		t.Errorf("%d %q", code, out)
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
	step(exitUsage, "Usage", "check")
	step(exitUsage, "Usage", "polish", dir)
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
	step(exitUsage, "Usage", nil, "add")
	b, err := os.ReadFile(file)
	info, serr := os.Stat(file)
	if err != nil || serr != nil || info.Mode().Perm() != 0o600 || strings.Contains(string(b), "horse") || !strings.Contains(string(b), "argon2id") {
		t.Errorf("the users file: %v %v\n%s", err, info.Mode(), b)
	}
}
