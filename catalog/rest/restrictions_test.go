package rest_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"net/http"
	"slices"
	"strings"
	"testing"

	"gatehouse/audit"
	"gatehouse/auth/task"
	"gatehouse/catalog"
	"gatehouse/catalog/rest"
	"gatehouse/executors/duckdb"
	"gatehouse/gateway"
	"gatehouse/plan"
	"gatehouse/policies"
	"gatehouse/policy/opa"
)

// lastEvent keeps what was recorded last.
type lastEvent struct{ audit.Event }

func (l *lastEvent) Record(_ context.Context, e audit.Event) error {
	l.Event = e
	return nil
}

// governed is a gateway over Iceberg's own server, with a policy that masks customers but for bob's.
func governed(t *testing.T, c catalog.Catalog) (*gateway.Gateway, *lastEvent) {
	t.Helper()
	files, err := policies.Files(policies.Skeleton)
	if err != nil {
		t.Fatal(err)
	}
	files["orders.rego"] = []byte(`package tables.zoo.spark.orders

import data.lib.gw

read := true

row_filters contains {"id": "few", "expression": "id < 4"} if gw.user == "bob"

masks.customer := {"id": "short", "expression": "left(customer, 1)"} if gw.user == "bob"
`)
	d, err := opa.New(opa.Config{Files: files})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	key, err := task.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	minter, err := task.NewMinter(task.MinterConfig{Key: key, Issuer: "gatehouse"})
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := task.NewVerifier(task.VerifierConfig{Keys: []ed25519.PublicKey{minter.Public()}, Issuer: "gatehouse"})
	if err != nil {
		t.Fatal(err)
	}
	planner, err := plan.New(plan.Config{Minter: minter})
	if err != nil {
		t.Fatal(err)
	}
	x, err := duckdb.New(duckdb.Config{Verifier: verifier, Dir: t.TempDir(), Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	log := &lastEvent{}
	g, err := gateway.New(gateway.Config{Decider: d, Catalogs: map[string]catalog.Catalog{"zoo": c}, Planner: planner, Executor: x, Audit: log})
	if err != nil {
		t.Fatal(err)
	}
	return g, log
}

// rows runs sql for a user and returns its rows as text, or what the user is told.
func rows(t *testing.T, g *gateway.Gateway, name, sql string) string {
	t.Helper()
	s, err := g.NewSession(user(name), "", "")
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Query(t.Context(), s, sql)
	if err != nil {
		return err.Error()
	}
	r, err := res.Run(t.Context())
	if err != nil {
		return err.Error()
	}
	defer r.Release()
	var out []string
	for r.Next() {
		b := r.RecordBatch()
		for i := range int(b.NumRows()) {
			var row []string
			for _, c := range b.Columns() {
				row = append(row, c.ValueStr(i))
			}
			out = append(out, strings.Join(row, " "))
		}
	}
	if err := r.Err(); err != nil {
		return err.Error()
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// What a catalog demands of one caller holds for that caller, together with the policy, through the whole pipeline.
func TestReadRestrictions(t *testing.T) {
	d := newDoor(t, startServer(t))
	for _, c := range []struct {
		name, demand, sql string
		alice, bob        string
	}{
		{"none", ``, "SELECT id, customer FROM zoo.spark.orders", "1 ann, 2 bob, 3 ann, 4 cid", "1 a, 2 b, 3 a"},
		{
			"a filter; NULL is not equal", `{"required-row-filter":{"type":"not-eq","term":"region","value":"eu"}}`, "SELECT id, customer FROM zoo.spark.orders",
			"2 bob, 4 cid", "2 b",
		},
		{
			"it binds below what the user writes", `{"required-row-filter":{"type":"eq","term":"region","value":"eu"}}`,
			"SELECT count(*) FROM zoo.spark.orders WHERE region = 'us' OR region IS NULL", "0", "0",
		},
		{"a projection", `{"required-column-projections":[{"field-id":2,"action":"mask-alphanum"}]}`, "SELECT id, customer FROM zoo.spark.orders WHERE id = 2", "2 xxx", "2 (null)"},
		{"before grouping", `{"required-column-projections":[{"field-id":2,"action":"show-last-4"}]}`, "SELECT count(DISTINCT customer) FROM zoo.spark.orders", "3", "0"},
		{"of a column that is not used", `{"required-column-projections":[{"field-id":2,"action":"mask-alphanum"}]}`, "SELECT count(*) FROM zoo.spark.orders", "4", "3"},
		{
			"an older version", `{"required-column-projections":[{"field-id":2,"action":"replace-with-null"}]}`,
			"SELECT count(customer) FROM zoo.spark.orders FOR SYSTEM_TIME AS OF TIMESTAMP '2999-01-01'", "0", "0",
		},
		{"an action that nobody knows", `{"required-column-projections":[{"field-id":3,"action":"blur"}]}`, "SELECT count(*) FROM zoo.spark.orders", "refused", "refused"},
		{"a filter that nobody knows", `{"required-row-filter":{"type":"rhymes","term":"region","value":"eu"}}`, "SELECT 1 FROM zoo.spark.orders", "refused", "refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d.refuse, d.change = nil, nil
			if c.demand != "" {
				d.change = func(_ string, r *http.Request, body []byte) []byte {
					if !strings.HasSuffix(r.URL.Path, "/tables/orders") {
						return body
					}
					return append([]byte(`{"read-restrictions":`+c.demand+`,`), bytes.TrimLeft(bytes.TrimSpace(body), "{")...)
				}
			}
			g, log := governed(t, open(t, rest.Config{URI: d.URL}))
			for name, want := range map[string]string{"alice": c.alice, "bob": c.bob} {
				got := rows(t, g, name, c.sql)
				if want == "refused" {
					want = `table "zoo.spark.orders" cannot be read: its catalog demands restrictions that cannot be applied here`
				}
				if got != want {
					t.Errorf("%s: %s, want %s", name, got, want)
				}
			}
			if strings.Contains(c.demand, "not-eq") && !slices.Contains(log.Objects[0].Filters, "catalog") {
				t.Errorf("the record does not say that the catalog filters: %+v", log.Objects)
			}
		})
	}
}
