package main

import (
	"context"
	"strings"
	"testing"
)

// says runs sql as user (whose password is the name) and wants a part of the answer.
func says(t *testing.T, s *server, user, sql, want string) {
	t.Helper()
	got, err := ask(t.Context(), s.flight, user, user, sql)
	if err != nil {
		got = "error: " + err.Error()
	}
	if !strings.Contains(got, want) || want == "" && strings.Contains(got, "error") {
		t.Errorf("%s: %s\n%s\nwant %q in it", user, sql, got, want)
	}
}

// A grant opens a table for the next statement, and taking it back closes it.
func TestGrantOpensAndRevokeCloses(t *testing.T) {
	s := demoServer(t)
	const query, closed = `SELECT count(*) AS n FROM payroll`, `table "payroll" does not exist`
	says(t, s, "admin", `DROP ROLE IF EXISTS hr, deputy`, "")
	t.Cleanup(func() { _, _ = ask(context.Background(), s.flight, "admin", "admin", `DROP ROLE IF EXISTS hr, deputy`) })
	says(t, s, "bob", query, closed)
	says(t, s, "admin", query, "n=6000")

	says(t, s, "admin", `CREATE ROLE hr, deputy`, "")
	says(t, s, "admin", `GRANT ROLE hr TO ROLE deputy`, "")
	says(t, s, "admin", `GRANT ROLE deputy TO USER bob`, "")
	says(t, s, "admin", `GRANT SELECT ON payroll TO ROLE hr`, "")
	says(t, s, "bob", query, "n=6000")
	says(t, s, "bob", `SHOW TABLES`, "payroll")
	says(t, s, "alice", query, closed)
	says(t, s, "bob", `CHECK ACCESS SELECT ON payroll FOR USER bob`, "user:bob > role:deputy > role:hr")

	says(t, s, "admin", `DENY SELECT ON payroll TO USER bob`, "")
	says(t, s, "bob", query, closed)
	says(t, s, "admin", `REVOKE DENY SELECT ON payroll FROM USER bob`, "")
	says(t, s, "bob", query, "n=6000")

	says(t, s, "admin", `REVOKE SELECT ON payroll FROM ROLE hr`, "")
	says(t, s, "bob", query, closed)
	says(t, s, "bob", `CREATE ROLE mine`, "access denied")
	says(t, s, "bob", `GRANT SELECT ON payroll TO USER bob`, closed)
	says(t, s, "bob", `GRANT SELECT ON products TO USER alice`, "access denied")
}
