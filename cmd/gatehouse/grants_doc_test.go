package main

import (
	"context"
	"strings"
	"testing"
)

// Every statement of docs/grants.md runs as it stands, in its order, and afterwards all is as before.
func TestDocsGrants(t *testing.T) {
	s := demoServer(t)
	before := rightsOf(t, s)
	t.Cleanup(func() {
		for _, sql := range []string{
			`DROP ROW FILTER IF EXISTS own ON employees`, `DROP ROW FILTER IF EXISTS eu ON customers`, `DROP MASK IF EXISTS last_four, no_contact ON customers`,
			`DROP MASK IF EXISTS hashed ON TAG pii`, `ALTER TABLE customers UNSET TAG owner, reviewed`, `ALTER TABLE customers ALTER COLUMN email, phone UNSET TAG pii`,
			`REVOKE ALL ON payroll FROM USER alice`, `REVOKE OWNERSHIP ON products FROM USER carol`, `DROP ROLE IF EXISTS hr, deputy, analyst, boss`,
		} {
			if _, err := ask(context.Background(), s.flight, "admin", "admin", sql); err != nil {
				t.Errorf("%s: %v", sql, err)
			}
		}
		if after := rightsOf(t, s); after != before {
			t.Errorf("left over: %s", after)
		}
	})
	n := 0
	for _, b := range blocks(t, "sql") {
		if b.file != "docs/grants.md" {
			continue
		}
		for _, sql := range strings.Split(b.text, ";\n") {
			n++
			says(t, s, "admin", strings.TrimSpace(sql), "")
		}
	}
	if n < 30 {
		t.Errorf("only %d statements", n)
	}
}

// rightsOf is everything that statements about rights have made.
func rightsOf(t *testing.T, s *server) string {
	t.Helper()
	var out strings.Builder
	for _, sql := range []string{`SHOW ROLES`, `SHOW GRANTS`, `SHOW ROW FILTERS`, `SHOW MASKS`, `SHOW TAGS`} {
		text, err := ask(context.Background(), s.flight, "admin", "admin", sql)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString(text)
	}
	return out.String()
}
