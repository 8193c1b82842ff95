package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// grantsCommand runs one command of this program and returns its exit code and all that it printed.
func grantsCommand(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	env := environment{getenv: func(string) string { return "" }, stdout: &out, stderr: &out}
	return run(t.Context(), append([]string{"grants"}, args...), env), out.String()
}

// A file that is applied is in force at the running server within a second, and its export is the file again.
func TestGrantsFromFile(t *testing.T) {
	s := demoServer(t)
	store, file := filepath.Join(testHome(t), "grants.db"), filepath.Join(t.TempDir(), "grants.yaml")
	_, before := grantsCommand(t, "export", "--store", store)
	t.Cleanup(func() {
		_, _ = ask(context.Background(), s.flight, "admin", "admin", `DROP ROLE IF EXISTS payers`)
	})
	const rights = `roles:
  - payers
members:
  - principal: user:bob
    role: payers
rights:
  - principal: role:payers
    privilege: SELECT
    level: table
    catalog: lake
    schema: shop
    table: payroll
    columns: [month, net]
`
	if err := os.WriteFile(file, []byte(rights), 0o600); err != nil {
		t.Fatal(err)
	}
	const query = `SELECT * FROM payroll ORDER BY net LIMIT 1`
	says(t, s, "bob", query, "does not exist")
	code, plan := grantsCommand(t, "plan", "--store", store, file)
	if code != exitOK || !strings.Contains(plan, `+ allow SELECT on table "lake.shop.payroll" to "role:payers" columns ["month" "net"]`) {
		t.Fatalf("the plan (%d): %s", code, plan)
	}
	says(t, s, "bob", query, "does not exist") // a plan changes nothing
	if code, out := grantsCommand(t, "apply", "--store", store, file); code != exitOK {
		t.Fatalf("apply (%d): %s", code, out)
	}
	start, bob := time.Now(), tap(t, s.flight, "bob")
	for text := ""; !strings.Contains(text, "net="); {
		if text, _ = bob.ask(t, query); time.Since(start) > 5*time.Second {
			t.Fatalf("after %v: %s", time.Since(start), text)
		}
	}
	if _, out := grantsCommand(t, "export", "--store", store); out != rights {
		t.Errorf("the export is\n%swant\n%s", out, rights)
	}
	if code, out := grantsCommand(t, "plan", "--store", store, file); code != exitOK || !strings.HasPrefix(out, "0 changes") {
		t.Errorf("a second plan (%d): %s", code, out)
	}
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out := grantsCommand(t, "apply", "--store", store, file); code != exitOK {
		t.Fatalf("apply of what was before (%d): %s", code, out)
	}
	for name, args := range map[string][]string{
		"no store":     {"export"},
		"two stores":   {"export", "--store", store, "--config", store},
		"no file":      {"plan", "--store", store},
		"unknown verb": {"drop", "--store", store},
	} {
		if code, _ := grantsCommand(t, args...); code != exitUsage {
			t.Errorf("%s: exit code %d, want %d", name, code, exitUsage)
		}
	}
	if code, out := grantsCommand(t, "export", "--store", filepath.Join(t.TempDir(), "none.db")); code != exitFailure {
		t.Errorf("an export of no store (%d): %s", code, out)
	}
}
