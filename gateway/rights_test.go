package gateway_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"gatehouse/audit"
	"gatehouse/auth"
	"gatehouse/catalog"
	"gatehouse/classify"
	"gatehouse/gateway"
	"gatehouse/policies"
	"gatehouse/policy"
	"gatehouse/policy/grants"
	"gatehouse/policy/opa"
)

// shop is a catalog whose tables are tables of the zoo under names of its own, with upper case and dots in them.
type shop struct {
	catalog.Catalog
	mu     sync.Mutex
	tables []shopTable
	down   error
}

// demands are read restrictions of a catalog; the last one is none that can be applied.
var demands = map[string][]byte{
	"filter":  []byte(`{"required-row-filter":{"type":"gt","term":"id","value":4}}`),
	"mask":    []byte(`{"required-column-projections":[{"field-id":2,"action":"replace-with-null"}]}`),
	"nothing": []byte(`{`),
}

// shopTable is a table of a shop; of is its name in the schema spark, with "+" and one of demands or "gone": without its column name; or
// "view", "broken", or "ghost", which is listed only.
type shopTable struct{ schema, name, of string }

// Table implements catalog.Catalog, by exact names.
func (s *shop) Table(ctx context.Context, id auth.Identity, schema, name string) (*catalog.Table, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil {
		return nil, s.down
	}
	i := slices.IndexFunc(s.tables, func(t shopTable) bool { return t.schema == schema && t.name == name })
	switch {
	case i < 0 || s.tables[i].of == "ghost":
		return nil, catalog.ErrNoSuchTable
	case s.tables[i].of == "view" || s.tables[i].of == "broken":
		return nil, fmt.Errorf("canary: %w", catalog.ErrUnreadable)
	}
	of, demand, _ := strings.Cut(s.tables[i].of, "+")
	t, err := s.Catalog.Table(ctx, id, "spark", of)
	if err != nil {
		return nil, err
	}
	out := *t
	out.Restrictions = demands[demand]
	if demand == "gone" {
		out.Columns = slices.DeleteFunc(slices.Clone(t.Columns), func(c catalog.Column) bool { return c.Name == "name" })
	}
	out.Catalog, out.Schema, out.Name, out.UUID = "Lake", schema, name, schema+name+s.tables[i].of
	return &out, nil
}

// List implements catalog.Catalog.
func (s *shop) List(_ context.Context, _ auth.Identity, schema string) ([]catalog.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil {
		return nil, s.down
	}
	var out []catalog.Entry
	for _, t := range s.tables {
		e := catalog.Entry{Schema: t.schema}
		if schema != "" {
			e.Name, e.View = t.name, t.of == "view"
		}
		if (schema == "" || schema == t.schema) && !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out, nil
}

// parts are what a gateway is made of, for tests that put something between.
type parts struct {
	config gateway.Config
	shop   *shop
	sink   *memory
}

// newParts is a gateway's configuration with the shipped Rego, a store of rights whose clock goes a minute ahead with each change, and
// the catalogs Lake, a shop, and zoo.
func newParts(t *testing.T) parts { return newPartsOf(t, "home", "away") }

// newPartsOf is newParts with other issuers.
func newPartsOf(t *testing.T, issuers ...string) parts {
	t.Helper()
	home := ""
	if len(issuers) > 0 {
		home = issuers[0]
	}
	inner := zooCatalog(t)
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	store, err := grants.New(t.Context(), grants.Config{
		File: filepath.Join(t.TempDir(), "grants.db"), Admin: "admin",
		Now: func() time.Time { now = now.Add(time.Minute); return now },
	})
	check(t, err)
	t.Cleanup(func() { _ = store.Close() })
	files, err := policies.Files(policies.Skeleton)
	check(t, err)
	files["tables/Lake/Shop/Open.rego"] = []byte(`package tables.Lake.Shop.Open

import data.lib.gw

read := true

hidden contains "region" if gw.user == "ann"

row_filters contains {"id": "low", "expression": "id < 5"} if gw.user == "ann"

masks.name := {"id": "stars", "expression": "'***'"} if gw.user == "ann"

row_filters contains {"id": "break_glass: fire drill", "expression": "id > 0"} if gw.user == "eve"

row_filters contains {"id": "low", "expression": "id < 6"} if gw.user == "eve"
`)
	decider, err := opa.New(opa.Config{Files: files, Rights: store, HomeIssuer: home})
	check(t, err)
	t.Cleanup(func() { _ = decider.Close() })
	planner, x := newEngine(t)
	lake := &shop{Catalog: inner, tables: []shopTable{
		{"Shop", "Orders", "v1_plain"},
		{"Shop", "Lines", "v2_cow"},
		{"Shop", "Open", "v1_plain"},
		{"Shop", "Totals", "view"},
		{"Shop", "Torn", "broken"},
		{"Dotted.Name", "Deep", "v1_plain"},
		{"twice", "a", "v1_plain"},
		{"Twice", "a", "v1_plain"},
	}}
	sink := &memory{}
	return parts{gateway.Config{
		Decider: decider, Catalogs: map[string]catalog.Catalog{"Lake": lake, "zoo": inner}, Planner: planner, Executor: x, Audit: sink, Grants: store,
		Default: classify.Namespace{Catalog: "Lake", Schema: "Shop"}, Issuers: issuers,
	}, lake, sink}
}

func (p parts) gateway(t *testing.T) *gateway.Gateway {
	t.Helper()
	g, err := gateway.New(p.config)
	check(t, err)
	return g
}

// signIn opens a session of "NAME" or "NAME@ISSUER". root is in the role of administrators; the group of a user is NAMEs.
func signIn(t *testing.T, g *gateway.Gateway, who string) *gateway.Session {
	t.Helper()
	name, issuer, other := strings.Cut(who, "@")
	if !other {
		issuer = "home"
	}
	id := auth.Identity{Issuer: issuer, Subject: name, User: name, Groups: []string{name + "s"}, Method: "basic"}
	if name == "root" {
		id.Roles = []string{"admin", "unknown"}
	}
	s, err := g.NewSession(id, "127.0.0.1", "test")
	check(t, err)
	return s
}

var random = regexp.MustCompile(`[0-9a-f]{32}`)

// Statements about rights as administrators, owners, holders of a grant option and others see them. Each line is run by each user that
// stands above it; what comes back is the outcome, the error, the rows, and the audit line.
func TestRightsRoles(t *testing.T)   { testRights(t, "roles") }
func TestRightsGrants(t *testing.T)  { testRights(t, "grants") }
func TestRightsOption(t *testing.T)  { testRights(t, "option") }
func TestRightsNames(t *testing.T)   { testRights(t, "names") }
func TestRightsRules(t *testing.T)   { testRights(t, "rules") }
func TestRightsTags(t *testing.T)    { testRights(t, "tags") }
func TestRightsShow(t *testing.T)    { testRights(t, "show") }
func TestRightsMoved(t *testing.T)   { testRights(t, "moved") }
func TestRightsListing(t *testing.T) { testRights(t, "listing") }
func TestRightsDemands(t *testing.T) { testRights(t, "demands") }

func testRights(t *testing.T, file string) {
	p := newParts(t)
	g := p.gateway(t)
	sessions := map[string]*gateway.Session{}
	datadriven.RunTest(t, "testdata/rights/"+file+".dd", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "shop" {
			p.shop.change(t, d)
			return ""
		}
		users := append([]string{d.Cmd}, strings.Fields(strings.Join(argNames(d), " "))...)
		var b strings.Builder
		for sql := range strings.Lines(d.Input) {
			sql = strings.TrimSpace(sql)
			for _, user := range users {
				if sessions[user] == nil {
					sessions[user] = signIn(t, g, user)
				}
				if len(users) > 1 {
					fmt.Fprintf(&b, "%s: ", user)
				}
				b.WriteString(p.told(t, g, sessions[user], sql))
			}
		}
		return b.String()
	})
}

func argNames(d *datadriven.TestData) []string {
	var out []string
	for _, a := range d.CmdArgs {
		out = append(out, a.Key)
	}
	return out
}

// change is "shop add=(schema,name,of)", "shop drop=(schema,name)", "shop down", "shop refuses" or "shop up".
func (s *shop) change(t *testing.T, d *datadriven.TestData) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "add":
			s.tables = append(s.tables, shopTable{a.Vals[0], a.Vals[1], a.Vals[2]})
		case "drop":
			s.tables = slices.DeleteFunc(s.tables, func(t shopTable) bool { return t.schema == a.Vals[0] && t.name == a.Vals[1] })
		case "down":
			s.down = fmt.Errorf("canary: %w", catalog.ErrUnavailable)
		case "refuses":
			s.down = fmt.Errorf("canary: %w", catalog.ErrRefused)
		case "up":
			s.down = nil
		default:
			t.Fatalf("%s: %s", d.Pos, a.Key)
		}
	}
}

// told is what a statement came to: outcome and class, what the audit event names, the error or the rows.
func (p parts) told(t *testing.T, g *gateway.Gateway, s *gateway.Session, sql string) string {
	t.Helper()
	p.sink.events = nil
	text, err := rows(t, g, s, sql)
	var b strings.Builder
	ends := 0
	for _, e := range p.sink.events {
		if e.Outcome == audit.Started {
			continue
		}
		ends++
		fmt.Fprintf(&b, "%s %s", e.Kind, e.Outcome)
		if e.Error != "" {
			fmt.Fprintf(&b, " (%s)", e.Error)
		}
		for _, o := range e.Objects {
			fmt.Fprintf(&b, " [%s]", strings.TrimSpace(o.Name+" "+strings.Join(o.Columns, ",")))
		}
	}
	if ends != 1 {
		t.Errorf("%s: %d events", sql, ends)
	}
	b.WriteByte('\n')
	if err != nil {
		text = "error: " + err.Error() + "\n"
	}
	for line := range strings.Lines(text) {
		b.WriteString("  " + random.ReplaceAllString(line, "ID"))
	}
	return b.String()
}

// A gateway whose users come from one place names them by their name alone, and asks about others in that name.
func TestOneIssuer(t *testing.T) {
	p := newPartsOf(t)
	g := p.gateway(t)
	root, ann := asker{t, g, signIn(t, g, "root")}, asker{t, g, signIn(t, g, "ann@anywhere")}
	root.says(`GRANT SELECT ON Orders TO USER ann`, "")
	root.says(`GRANT SELECT ON Orders TO USER ann FROM ISSUER 'home'`, missing)
	ann.says(`SHOW GRANTS`, "user  ann  allow  SELECT  table  Lake.Shop.Orders")
	ann.says(`SHOW EFFECTIVE GRANTS FOR USER ann`, "user:ann")
	root.says(`SHOW EFFECTIVE GRANTS FOR USER ann`, "user:ann")
	root.says(`SHOW EFFECTIVE POLICY ON Open FOR USER ann`, "masked by stars")
	root.says(`CHECK ACCESS SELECT ON Open FOR USER ann`, "yes  no grant is needed")
}

// What was granted on a name, by a file that names no table, shows whatever table has the name.
func TestGrantsOnNames(t *testing.T) {
	p := newParts(t)
	g := p.gateway(t)
	base, err := p.config.Grants.Current()
	check(t, err)
	_, err = p.config.Grants.Apply(t.Context(), base, policy.Author{User: "file"}, []policy.Change{{
		Op: policy.OpAllow, Principal: "user:ann", Privilege: "SELECT", Columns: []string{"id"},
		Object: policy.Object{Level: classify.LevelTable, Catalog: "Lake", Schema: "Shop", Table: "Orders"},
	}})
	check(t, err)
	ann := asker{t, g, signIn(t, g, "ann")}
	for _, of := range []string{"v1_plain", "v2_cow"} {
		p.shop.tables[0].of = of
		ann.says(`SHOW GRANTS`, "SELECT  table  Lake.Shop.Orders  id  no  file")
		ann.says(`SELECT count(id) > 0 FROM Orders`, "true")
		ann.says(`SELECT name FROM Orders`, missing)
	}
}

// A tag on a table of a catalog that is not there any more keeps no mask from being made.
func TestTagOfGoneCatalog(t *testing.T) {
	p := newParts(t)
	all := p.gateway(t)
	root := asker{t, all, signIn(t, all, "root")}
	root.says(`ALTER TABLE zoo.spark.v1_plain ALTER COLUMN id SET TAG pii`, "")
	root.says(`CREATE MASK m ON TAG pii USING (upper(value))`, "it gives text")
	p.config.Catalogs = map[string]catalog.Catalog{"Lake": p.shop}
	less := p.gateway(t)
	root = asker{t, less, signIn(t, less, "root")}
	root.says(`SHOW TAGS`, "")
	root.says(`CREATE MASK m ON TAG pii USING (upper(value))`, "")
}

// An owner who may not read two columns as they are is told of the same one each time.
func TestDenialsAreTheSame(t *testing.T) {
	p := newParts(t)
	g := p.gateway(t)
	root, ann := asker{t, g, signIn(t, g, "root")}, asker{t, g, signIn(t, g, "ann")}
	root.says(`GRANT OWNERSHIP ON Open TO USER ann`, "")
	root.says(`CREATE MASK m ON Open (amount) USING (NULL) TO USER ann`, "")
	for range 20 {
		ann.says(`CREATE ROW FILTER f ON Open USING (name = 'ann' AND amount > 1)`, `column "amount"`)
	}
}

// A column that was dropped since is hidden where it was hidden, also by a policy that only says which columns there are.
func TestDroppedHiddenColumn(t *testing.T) {
	rego, err := os.ReadFile("testdata/flow.rego")
	check(t, err)
	decider, err := opa.New(opa.Config{Files: map[string][]byte{"flow.rego": rego}, Lenient: true})
	check(t, err)
	defer decider.Close()
	p := newParts(t)
	p.config.Decider, p.config.Grants = decider, nil
	p.shop.tables = append(p.shop.tables, shopTable{"Shop", "Lost", "v1_plain+gone"})
	g := p.gateway(t)
	open := func(user string) asker { return asker{t, g, session(t, g, user)} }
	const past = ` FROM Lost FOR TIMESTAMP AS OF TIMESTAMP '2100-01-01 00:00:00'`
	open("admin").says(`SELECT count(name) > 0`+past, "true")
	open("lou").says(`SELECT count(id) > 0`+past, "true")
	open("lou").says(`SELECT count(name) > 0`+past, missing)
}
