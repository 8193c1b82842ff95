package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatehouse/auth"
	"gatehouse/auth/basic"
)

// TestUserAdd: a user is added, and what somebody else wrote into the file stays.
func TestUserAdd(t *testing.T) {
	add := func(file, name string) (int, string) {
		code, _, errs := invoke(t, map[string]string{"GATEHOUSE_NEW_PASSWORD": "a long password"}, "user", "add", "--file", file, "--role", "analyst", name)
		return code, errs
	}
	for name, before := range map[string]string{
		"no file": "", "an empty file": "# nobody yet\n", "an empty list": "# nobody yet\nusers: []\n", "a null list": "# nobody yet\nusers:\n",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "users.yaml")
			if before != "" {
				if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for _, user := range []string{"ann", "ben"} {
				if code, errs := add(file, user); code != exitOK {
					t.Fatalf("%d: %s", code, errs)
				}
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if before != "" && !strings.Contains(string(text), "# nobody yet") {
				t.Errorf("the comment is gone:\n%s", text)
			}
			code, out, errs := invoke(t, nil, "user", "list", "--file", file)
			if want := "ann\troles: analyst\tgroups: \nben\troles: analyst\tgroups: \n"; code != exitOK || out != want {
				t.Errorf("%d, %q, %s", code, out, errs)
			}
		})
	}
	t.Run("comments beside users", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "users.yaml")
		if _, errs := add(file, "ann"); errs != "" {
			t.Fatal(errs)
		}
		old, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append([]byte("# of the desk\n"), strings.Replace(string(old), "roles:", "# asked for on Monday\n      roles:", 1)...), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, errs := add(file, "ben"); code != exitOK {
			t.Fatal(errs)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"# of the desk", "# asked for on Monday", "name: ann", "name: ben"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%q is gone:\n%s", want, text)
			}
		}
		if code, errs := add(file, "ann"); code != exitFailure || !strings.Contains(errs, "already") {
			t.Errorf("a second ann: %d, %s", code, errs)
		}
	})
}

// TestUserChange: a password is changed and a user removed, options may follow the name, and all else in the file stays.
func TestUserChange(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.yaml")
	password := "a long password"
	step := func(want int, text string, args ...string) {
		t.Helper()
		code, out, errs := invoke(t, map[string]string{"GATEHOUSE_NEW_PASSWORD": password}, append([]string{"user"}, args...)...)
		if code != want || !strings.Contains(out+errs, text) {
			t.Fatalf("gatehouse user %v: %d %s%s, want %d and %q", args, code, out, errs, want, text)
		}
	}
	contents := func() string {
		t.Helper()
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	logsIn := func(user, password string) bool {
		t.Helper()
		u, err := basic.New(basic.Config{File: file, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		_, err = u.Authenticate(t.Context(), auth.Credential{User: user, Password: auth.NewSecret(password)})
		return err == nil
	}
	step(exitFailure, "there is no file", "password", "ann", "--file", file)
	step(exitFailure, "there is no file", "remove", "ann", "--file", file)
	step(exitOK, "Added ann", "add", "ann", "--file", file, "--role", "analyst", "--attribute", "region=EU", "--attribute", `tenants=["t1", "t2"]`, "--attribute", "number=12345678901234567890")
	step(exitOK, "Added ben", "add", "ben", "--file", file)
	step(exitOK, "ann\troles: analyst\tgroups: \tattributes: number=12345678901234567890, region=EU, tenants=[t1 t2]\nben\troles: \tgroups: \n", "list", "--file", file)
	if err := os.WriteFile(file, []byte("# of the desk\n"+contents()), 0o600); err != nil {
		t.Fatal(err)
	}
	id, err := callerOptions{user: "ann"}.caller(mustUsers(t, file))
	if err != nil || id.Claims["region"] != "EU" || fmt.Sprint(id.Claims["tenants"]) != "[t1 t2]" || fmt.Sprint(id.Claims["number"]) != "12345678901234567890" {
		t.Errorf("%v %v", id.Claims, err)
	}
	password = "another password"
	step(exitOK, "Changed the password of ann", "password", "ann", "--file", file)
	if !logsIn("ann", password) || logsIn("ann", "a long password") || !logsIn("ben", "a long password") {
		t.Error("not ann's password alone was changed")
	}
	step(exitFailure, `has no user "eve"`, "remove", "eve", "--file", file)
	step(exitFailure, `has no user "eve"`, "password", "eve", "--file", file)
	step(exitOK, "Removed ben", "remove", "ben", "--file", file)
	if logsIn("ben", "a long password") || !logsIn("ann", password) || !strings.HasPrefix(contents(), "# of the desk") || strings.Contains(contents(), "ben") {
		t.Errorf("after ben:\n%s", contents())
	}
	step(exitOK, "Removed ann", "remove", "ann", "--file", file)
	step(exitOK, "Added ann", "add", "ann", "--file", file)
}

func mustUsers(t *testing.T, file string) []userEntry {
	t.Helper()
	doc, _, err := readUsers(file)
	if err != nil {
		t.Fatal(err)
	}
	return doc.Users
}
