package classify

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Whole lists are read, and kinds of grantees hold until the next one.
func TestAccessStatements(t *testing.T) {
	for text, want := range map[string]string{
		`CREATE ROLE IF NOT EXISTS a, "B c";`: "create_role roles=a,B c exists",
		`drop role a`:                         "drop_role roles=a",
		`GRANT ROLE a, b TO USER x, y, GROUP g, ROLE r WITH ADMIN OPTION`: "grant_role roles=a,b to=user:x,user:y,group:g,role:r option",
		`REVOKE ADMIN OPTION FOR ROLE a FROM USER x`:                      "revoke_role roles=a to=user:x option",
		`GRANT SELECT (a, "B"), INSERT ON c.s.t TO PUBLIC`:                "grant SELECT(a,B) INSERT on table c.s.t to=public:",
		`GRANT ALL PRIVILEGES ON TABLE t, u TO USER user, role`:           "",
		`GRANT ALL PRIVILEGES ON TABLE t, u TO USER x WITH GRANT OPTION`:  "grant ALL on table t u to=user:x option",
		`GRANT SELECT ON VIEW v TO USER "Ann O'Neill"`:                    "grant SELECT on table v to=user:Ann O'Neill",
		`GRANT USAGE ON CATALOG c TO ROLE r`:                              "grant USAGE on catalog c to=role:r",
		`GRANT SELECT ON ALL TABLES IN SCHEMA c.s TO ROLE r`:              "grant SELECT on all tables in schema c.s to=role:r",
		`GRANT SELECT ON FUTURE TABLES IN SCHEMA s TO ROLE r`:             "grant SELECT on future tables in schema s to=role:r",
		`GRANT SELECT ON schema TO ROLE r`:                                "grant SELECT on table schema to=role:r",
		`REVOKE GRANT OPTION FOR SELECT ON t FROM USER x`:                 "revoke SELECT on table t to=user:x option",
		`REVOKE DENY SELECT ON t FROM USER x`:                             "revoke SELECT on table t to=user:x denial",
		`DENY SELECT, UPDATE ON SCHEMA s TO USER x`:                       "deny SELECT UPDATE on schema s to=user:x",
		`SET ROLE a`:          "set_role roles=a",
		`SET ROLE NONE`:       "set_role",
		`SELECT CURRENT_ROLE`: "current_role",
		`SHOW ROLES`:          "show_roles",
		`SHOW GRANTS ON SCHEMA s AS OF '2026-01-31'`:       "show_grants on schema s at=2026-01-31",
		`SHOW GRANTS TO ROLE r`:                            "show_grants to=role:r",
		`SHOW EFFECTIVE GRANTS FOR USER x`:                 "show_effective_grants to=user:x",
		`SHOW EFFECTIVE POLICY ON t FOR USER x`:            "show_effective_policy on table t to=user:x",
		`CHECK ACCESS SELECT (a) ON t FOR USER x`:          "check_access SELECT(a) on table t to=user:x",
		`GRANT FLY ON t TO USER x`:                         "",
		`GRANT SELECT ON t TO x`:                           "",
		`GRANT SELECT ON t TO USER x, `:                    "",
		`GRANT SELECT ON t TO USER x y`:                    "",
		`GRANT SELECT () ON t TO USER x`:                   "",
		`GRANT SELECT (a) ON SCHEMA s TO USER x`:           "",
		`GRANT DELETE (a) ON t TO USER x`:                  "",
		`GRANT SELECT ON SEQUENCE q TO USER x`:             "",
		`GRANT SELECT ON t FROM USER x`:                    "",
		`GRANT USAGE ON t TO USER x`:                       "",
		`GRANT SELECT ON CATALOG a.b TO USER x`:            "",
		`REVOKE SELECT ON t FROM USER x WITH GRANT OPTION`: "",
		`CREATE ROLE`:                            "",
		`CREATE ROLE a b`:                        "",
		`SHOW GRANTS TO ROLE r, s`:               "",
		`SHOW GRANTS AS OF 'yesterday'`:          "",
		`CHECK ACCESS ALL ON t FOR USER x`:       "",
		`CHECK ACCESS SELECT ON t, u FOR USER x`: "",
		`GRANT`:                                  "",
		`DENY SELECT`:                            "",
	} {
		s, err := Parse(text)
		var syntax *SyntaxError
		var unsupported *UnsupportedError
		switch {
		case want == "" && !errors.As(err, &syntax) && !errors.As(err, &unsupported):
			t.Errorf("%s: %v, want a refusal", text, err)
		case want != "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case want != "" && say(s.Access()) != want:
			t.Errorf("%s: %s, want %s", text, say(s.Access()), want)
		}
	}
}

// CURRENT_ROLE alone is a statement about rights; within anything longer it is an expression.
func TestCurrentRoleInExpressions(t *testing.T) {
	for _, text := range []string{`SELECT CURRENT_ROLE, 1`, `SELECT * FROM t WHERE a = CURRENT_ROLE`} {
		if s, err := Parse(text); err != nil || s.Kind() != KindSelect {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func say(a *Access) string {
	out := string(a.Action)
	if len(a.Roles) > 0 {
		out += " roles=" + strings.Join(a.Roles, ",")
	}
	for _, p := range a.Privileges {
		out += " " + p.Name
		if len(p.Columns) > 0 {
			out += "(" + strings.Join(p.Columns, ",") + ")"
		}
	}
	if len(a.Objects) > 0 {
		out += " on " + string(a.Level)
	}
	for _, o := range a.Objects {
		out += " " + strings.Join(o, ".")
	}
	var to []string
	for _, g := range a.Grantees {
		to = append(to, g.Kind+":"+g.Name)
	}
	if len(to) > 0 {
		out += " to=" + strings.Join(to, ",")
	}
	if a.Exists {
		out += " exists"
	}
	if a.Option {
		out += " option"
	}
	if a.Denial {
		out += " denial"
	}
	if !a.At.IsZero() {
		out += fmt.Sprint(" at=", a.At.Format("2006-01-02"))
	}
	return out
}
