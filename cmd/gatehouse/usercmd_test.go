package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
