package main

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"
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

// A statement that was prepared with a right does not outlive it, and the other updates reach the gateway, too.
func TestRevokeHitsPreparedStatements(t *testing.T) {
	s := demoServer(t)
	bob, admin := tap(t, s.flight, "bob"), tap(t, s.flight, "admin")
	asBob, asAdmin := metadata.NewOutgoingContext(t.Context(), bob.header), metadata.NewOutgoingContext(t.Context(), admin.header)
	update := func(sql string) {
		t.Helper()
		if _, err := admin.sql.ExecuteUpdate(asAdmin, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	update(`GRANT SELECT ON payroll TO USER bob`)
	t.Cleanup(func() {
		_, _ = ask(context.Background(), s.flight, "admin", "admin", `REVOKE SELECT ON payroll FROM USER bob`)
	})
	p, err := bob.sql.Prepare(asBob, `SELECT count(*) AS n FROM payroll`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close(asBob) }()
	execute := func() (string, error) {
		info, err := p.Execute(asBob)
		if err != nil {
			return refusal(err)
		}
		r, err := bob.sql.DoGet(asBob, info.Endpoint[0].Ticket)
		if err != nil {
			return refusal(err)
		}
		defer r.Release()
		return rowsText(r)
	}
	if text, err := execute(); err != nil || !strings.Contains(text, "n=6000") {
		t.Fatalf("the control: %s, %v", text, err)
	}
	revoke, err := admin.sql.Prepare(asAdmin, `REVOKE SELECT ON payroll FROM USER bob`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = revoke.Close(asAdmin) }()
	if text, err := execute(); err != nil || !strings.Contains(text, "n=6000") {
		t.Fatalf("a REVOKE that is only prepared was carried out: %s, %v", text, err)
	}
	if _, err := revoke.ExecuteUpdate(asAdmin); err != nil {
		t.Fatal(err)
	}
	if text, err := execute(); err != nil || !strings.Contains(text, `table "payroll" does not exist`) {
		t.Errorf("after the REVOKE: %s, %v", text, err)
	}
}
