package gateway_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gatehouse/auth"
	"gatehouse/catalog"
	"gatehouse/classify"
	"gatehouse/gateway"
	"gatehouse/policies"
	"gatehouse/policy/grants"
	"gatehouse/policy/opa"
)

// changing is a catalog whose tables change between statements.
type changing struct {
	catalog.Catalog
	uuid   string            // of every table, if set
	rename map[string]string // columns, from: to
	drop   string            // a column that the tables have no more
	as     map[string]string // tables, name: whose UUID they have
	demand []byte            // read restrictions
}

// Table implements catalog.Catalog.
func (c *changing) Table(ctx context.Context, id auth.Identity, schema, name string) (*catalog.Table, error) {
	t, err := c.Catalog.Table(ctx, id, schema, name)
	if err != nil {
		return nil, err
	}
	out := *t
	out.Restrictions = c.demand
	if c.uuid != "" {
		out.UUID = c.uuid
	}
	if of := c.as[name]; of != "" {
		was, err := c.Catalog.Table(ctx, id, schema, of)
		if err != nil {
			return nil, err
		}
		out.UUID = was.UUID
	}
	out.Columns = slices.Clone(t.Columns)
	for i, col := range out.Columns {
		if to := c.rename[col.Name]; to != "" {
			out.Columns[i].Name = to
		}
	}
	out.Columns = slices.DeleteFunc(out.Columns, func(col catalog.Column) bool { return col.Name == c.drop })
	return &out, nil
}

// rightsGateway is a whole gateway with the shipped Rego and a store of rights over a catalog that changes. Users of the issuer "home"
// and of "away" sign in; "root" administers.
func rightsGateway(t *testing.T) (*gateway.Gateway, *changing) {
	t.Helper()
	inner := zooCatalog(t)
	store, err := grants.New(t.Context(), grants.Config{File: filepath.Join(t.TempDir(), "grants.db"), Admin: "admin"})
	check(t, err)
	t.Cleanup(func() { _ = store.Close() })
	files, err := policies.Files(policies.Skeleton)
	check(t, err)
	decider, err := opa.New(opa.Config{Files: files, Rights: store, HomeIssuer: "home"})
	check(t, err)
	t.Cleanup(func() { _ = decider.Close() })
	planner, x := newEngine(t)
	cat := &changing{Catalog: inner}
	g, err := gateway.New(gateway.Config{
		Decider: decider, Catalogs: map[string]catalog.Catalog{"zoo": cat}, Planner: planner, Executor: x, Audit: &memory{}, Grants: store,
		Default: classify.Namespace{Catalog: "zoo", Schema: "spark"}, Issuers: []string{"home", "away"},
	})
	check(t, err)
	return g, cat
}

// asker runs statements as one user.
type asker struct {
	t *testing.T
	g *gateway.Gateway
	s *gateway.Session
}

func askerOf(t *testing.T, g *gateway.Gateway, issuer, user string) asker {
	id := auth.Identity{Issuer: issuer, Subject: user, User: user, Method: "basic"}
	if user == "root" {
		id.Roles = []string{"admin"}
	}
	s, err := g.NewSession(id, "127.0.0.1", "test")
	check(t, err)
	return asker{t, g, s}
}

// says wants part in the answer or refusal; "" is an answer without rows.
func (a asker) says(sql, part string) {
	a.t.Helper()
	got, err := rows(a.t, a.g, a.s, sql)
	if err != nil {
		got = "error: " + err.Error()
	}
	if !strings.Contains(got, part) || part == "" && got != "" {
		a.t.Errorf("%s\n%s\nwant %q", sql, got, part)
	}
}

const missing = `does not exist`

// A grant is on the table that was meant, and what was made anew under its name is another one; what closed the old one closes it.
func TestReplacedTable(t *testing.T) {
	g, cat := rightsGateway(t)
	root, ann, bob := askerOf(t, g, "home", "root"), askerOf(t, g, "home", "ann"), askerOf(t, g, "home", "bob")
	root.says(`GRANT SELECT ON v1_plain TO USER ann, USER bob`, "")
	root.says(`GRANT SELECT (id) ON v1_plain TO USER root`, "")
	root.says(`CREATE ROW FILTER f ON v1_plain USING (id > 1) TO USER bob`, "")
	ann.says(`SELECT min(id) AS n FROM v1_plain`, "1")
	bob.says(`SELECT min(id) AS n FROM v1_plain`, "3")
	olga := askerOf(t, g, "home", "olga")
	root.says(`GRANT OWNERSHIP ON v1_plain TO USER olga`, "")
	olga.says(`SHOW ROW FILTERS ON v1_plain`, "id > 1")
	cat.uuid = "another"
	ann.says(`SELECT min(id) AS n FROM v1_plain`, missing)
	ann.says(`SHOW GRANTS`, "")
	ann.says(`SHOW COLUMNS FROM v1_plain`, missing)
	ann.says(`SHOW EFFECTIVE POLICY ON v1_plain`, missing)
	root.says(`CHECK ACCESS SELECT ON v1_plain FOR USER ann`, "no")
	// A grant on the schema covers the new table, but whom the old filter bound is closed out until somebody sees to it.
	root.says(`GRANT SELECT ON SCHEMA spark TO USER ann, USER bob`, "")
	ann.says(`SELECT min(id) AS n FROM v1_plain`, "1")
	bob.says(`SELECT min(id) AS n FROM v1_plain`, missing)
	root.says(`GRANT SELECT ON SCHEMA spark TO USER olga`, "")
	olga.says(`SHOW ROW FILTERS ON v1_plain`, "access denied")
	olga.says(`SHOW ROW FILTERS`, "")
	root.says(`ALTER ROW FILTER f ON v1_plain TO USER bob`, "")
	bob.says(`SELECT min(id) AS n FROM v1_plain`, "3")
	root.says(`DROP ROW FILTER f ON v1_plain`, "")
	bob.says(`SELECT min(id) AS n FROM v1_plain`, "1")
}

// What hides something of a table means the table under the name that it had. Under another one it is closed, also to who reads it by a right
// on the schema, until the filter, mask, tag or denial is gone or the name is back.
func TestTableUnderAnotherName(t *testing.T) {
	g, cat := rightsGateway(t)
	root, ann := askerOf(t, g, "home", "root"), askerOf(t, g, "home", "ann")
	root.says(`GRANT SELECT ON SCHEMA spark TO USER ann`, "")
	const closed = "the policy could not be applied"
	for _, c := range [][2]string{
		{`CREATE ROW FILTER f ON v1_plain USING (id > 1) TO USER bob`, `DROP ROW FILTER f ON v1_plain`},
		{`CREATE MASK m ON v1_plain (name) USING (NULL) TO USER bob`, `DROP MASK m ON v1_plain`},
		{`ALTER TABLE v1_plain SET TAG pii`, `ALTER TABLE v1_plain UNSET TAG pii`},
		{`DENY SELECT (name) ON v1_plain TO USER bob`, `REVOKE DENY SELECT (name) ON v1_plain FROM USER bob`},
	} {
		root.says(c[0], "")
		ann.says(`SELECT min(id) AS n FROM v1_plain`, "1")
		cat.as = map[string]string{"v2_cow": "v1_plain"} // v2_cow is what v1_plain was
		ann.says(`SELECT count(*) > 0 AS n FROM v2_cow`, closed)
		cat.as = nil
		ann.says(`SELECT count(*) > 0 AS n FROM v2_cow`, "true")
		root.says(c[1], "")
		cat.as = map[string]string{"v2_cow": "v1_plain"}
		ann.says(`SELECT count(*) > 0 AS n FROM v2_cow`, "true")
		cat.as = nil
	}
}

// Grants, denials, filters, masks and tags stay with a column that is renamed; a column that takes its name has none of them.
func TestRenamedColumn(t *testing.T) {
	g, cat := rightsGateway(t)
	root, ann, bob := askerOf(t, g, "home", "root"), askerOf(t, g, "home", "ann"), askerOf(t, g, "home", "bob")
	root.says(`GRANT SELECT (id, name) ON v1_plain TO USER ann`, "")
	root.says(`GRANT SELECT ON v1_plain TO USER bob`, "")
	root.says(`DENY SELECT (name) ON v1_plain TO USER bob`, "")
	root.says(`CREATE MASK m ON v1_plain (name) USING (NULL)`, "")
	root.says(`ALTER TABLE v1_plain ALTER COLUMN name SET TAG pii`, "")
	ann.says(`SHOW COLUMNS FROM v1_plain`, "name  VARCHAR  yes  yes")
	bob.says(`SHOW COLUMNS FROM v1_plain LIKE 'name'`, "")
	cat.rename = map[string]string{"name": "title", "region": "name"}
	ann.says(`SHOW COLUMNS FROM v1_plain`, "title  VARCHAR  yes  yes")
	ann.says(`SHOW COLUMNS FROM v1_plain LIKE 'name'`, "")
	ann.says(`SHOW GRANTS`, "id, title")
	ann.says(`SHOW TAGS`, "title  pii")
	bob.says(`SHOW COLUMNS FROM v1_plain LIKE 'title'`, "")
	bob.says(`SHOW COLUMNS FROM v1_plain LIKE 'name'`, "name  VARCHAR  yes  no")
	root.says(`ALTER MASK m ON v1_plain TO USER bob`, "")
	ann.says(`SHOW COLUMNS FROM v1_plain`, "title  VARCHAR  yes  no")
}

// What is said of a column holds in the past of the table when the column is no more.
func TestDroppedColumn(t *testing.T) {
	g, cat := rightsGateway(t)
	root, all, masked := askerOf(t, g, "home", "root"), askerOf(t, g, "home", "carl"), askerOf(t, g, "home", "masked")
	denied, some := askerOf(t, g, "home", "denied"), askerOf(t, g, "home", "sam")
	root.says(`GRANT SELECT ON v1_plain TO USER root, USER carl, USER masked, USER denied`, "")
	columns, err := rows(t, g, root.s, `SHOW COLUMNS FROM v1_plain`)
	check(t, err)
	for line := range strings.Lines(columns) {
		if name := strings.Fields(line)[0]; name != "name" {
			root.says(`GRANT SELECT ("`+name+`") ON v1_plain TO USER sam`, "")
		}
	}
	root.says(`DENY SELECT (name) ON v1_plain TO USER denied`, "")
	root.says(`CREATE MASK m ON v1_plain (name) USING ('hidden') TO USER masked`, "")
	const query = `SELECT max(name) AS n FROM v1_plain FOR TIMESTAMP AS OF TIMESTAMP '2100-01-01 00:00:00'`
	masked.says(query, "hidden")
	denied.says(query, missing)
	some.says(query, missing)
	root.says(`ALTER TABLE v1_plain ALTER COLUMN name SET TAG pii`, "")
	cat.drop = "name"
	all.says(strings.ReplaceAll(query, "max(name)", "count(name) > 0"), "true")
	masked.says(query, missing)
	denied.says(query, missing)
	some.says(query, missing)
	some.says(strings.ReplaceAll(query, "max(name)", "min(id)"), "1")
	// What hides something else of the table, now or then, hides such a column as well.
	for _, c := range [][2]string{
		{`CREATE ROW FILTER f ON v1_plain USING (id > 0) TO USER carl`, `DROP ROW FILTER f ON v1_plain`},
		{`CREATE MASK n ON v1_plain (region) USING (NULL) TO USER carl`, `DROP MASK n ON v1_plain`},
		{`DENY SELECT (region) ON v1_plain TO USER carl`, `REVOKE DENY SELECT (region) ON v1_plain FROM USER carl`},
	} {
		root.says(c[0], "")
		all.says(query, missing)
		root.says(c[1], "")
		all.says(strings.ReplaceAll(query, "max(name)", "count(name) > 0"), "true")
	}
	root.says(`ALTER MASK m ON v1_plain TO USER masked, USER nobody`, "")
	root.says(`CREATE MASK any_pii ON TAG pii USING (upper(value))`, "")
	for _, name := range []string{"nothing", "filter"} {
		cat.demand = demands[name]
		all.says(query, missing)
	}
	all.says(strings.ReplaceAll(query, "max(name)", "min(id)"), "5")
}

// Two issuers may have users of one name, and neither has the rights of the other's.
func TestUsersOfTwoIssuers(t *testing.T) {
	g, _ := rightsGateway(t)
	root, home, away := askerOf(t, g, "home", "root"), askerOf(t, g, "home", "ann"), askerOf(t, g, "away", "ann")
	const query = `SELECT min(id) AS n FROM v1_plain`
	root.says(`GRANT SELECT ON v1_plain TO USER ann`, "")
	home.says(query, "1")
	away.says(query, missing)
	root.says(`GRANT SELECT ON v1_plain TO USER ann FROM ISSUER 'away'`, "")
	root.says(`CREATE ROW FILTER f ON v1_plain USING (id > 1) TO USER ann`, "")
	home.says(query, "3")
	away.says(query, "1")
	root.says(`CHECK ACCESS SELECT ON v1_plain FOR USER ann FROM ISSUER 'away'`, "yes")
	root.says(`REVOKE SELECT ON v1_plain FROM USER ann`, "")
	home.says(query, missing)
	away.says(query, "1")
	away.says(`SHOW GRANTS`, "ann from issuer away")
	root.says(`GRANT SELECT ON v1_plain TO USER ann FROM ISSUER 'nobody'`, missing)
}
