package opa

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"

	"gatehouse/auth"
	"gatehouse/classify"
	"gatehouse/policy"
)

// recorded is one request of Trino's own OPA plugin, and what it was answered.
type recorded struct {
	Path  string `json:"path"`
	Input struct {
		Context json.RawMessage `json:"context"`
		Action  struct {
			Operation       string   `json:"operation"`
			Resource        *asked   `json:"resource"`
			FilterResources []*asked `json:"filterResources"`
		} `json:"action"`
	} `json:"input"`
	Response struct {
		Result any `json:"result"`
	} `json:"response"`
}

type asked struct {
	Catalog *struct{ Name string }
	Schema  *struct{ CatalogName, SchemaName string }
	Table   *struct {
		CatalogName, SchemaName, TableName string
		Columns                            []string
	}
	Column *struct{ CatalogName, SchemaName, TableName, ColumnName, ColumnType string }
}

// resource returns the resources that the gateway would ask about.
func (o *asked) resources() []policy.Resource {
	switch {
	case o == nil:
		return []policy.Resource{{}}
	case o.Catalog != nil:
		return []policy.Resource{{Catalog: o.Catalog.Name}}
	case o.Schema != nil:
		return []policy.Resource{{Catalog: o.Schema.CatalogName, Schema: o.Schema.SchemaName}}
	default:
		return []policy.Resource{{Catalog: o.Table.CatalogName, Schema: o.Table.SchemaName, Table: o.Table.TableName, Columns: o.Table.Columns}}
	}
}

// stub is a policy that answers as the recorded requests were answered.
const stub = `package trino

default allow := true

batch contains i if some i, _ in input.action.filterResources

batch contains i if {
	input.action.operation == "FilterColumns"
	some i, _ in input.action.filterResources[0].table.columns
}

bob if input.context.identity.user == "bob"

rowFilters contains {"expression": "c_nationkey < 10"} if {
	bob
	input.action.resource.table.tableName == "customer"
}

columnMask := {"expression": "'***'"} if {
	bob
	input.action.resource.column.tableName == "customer"
	input.action.resource.column.columnName == "c_phone"
}

batchColumnMasks contains {"index": i, "viewExpression": {"expression": "'***'"}} if {
	bob
	some i
	input.action.filterResources[i].column.tableName == "customer"
	input.action.filterResources[i].column.columnName == "c_phone"
}
`

// TestTrinoRequests: for everything that Trino asks and we ask too, our input is Trino's document plus our own keys,
// and a policy gives the same answer to both.
func TestTrinoRequests(t *testing.T) {
	files, err := filepath.Glob("testdata/trino-opa/*.json")
	if err != nil || len(files) < 15 {
		t.Fatal(files, err)
	}
	d, err := New(Config{Files: map[string][]byte{"stub.rego": []byte(stub)}, Trace: func(Evaluation) {}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".json"), func(t *testing.T) {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			var r recorded
			if err := json.Unmarshal(text, &r); err != nil {
				t.Fatal(err)
			}
			ours := ask(t, d, r)
			var theirs struct{ Input any }
			if err := json.Unmarshal(text, &theirs); err != nil {
				t.Fatal(err)
			}
			j := judgeOf(t, d, r)
			for name, input := range map[string]ast.Value{"ours": ours, "theirs": ast.MustInterfaceToValue(theirs.Input)} {
				got, err := j.eval(t.Context(), r.Path, input)
				if err == errUndefined {
					got, err = nil, nil
				}
				if diff := cmp.Diff(plain(t, r.Response.Result), plain(t, got)); err != nil || diff != "" {
					t.Errorf("answer to %s: %v\n%s", name, err, diff)
				}
			}
			value, err := ast.JSON(ours)
			if err != nil {
				t.Fatal(err)
			}
			bare := withoutOurs(plain(t, value))
			if diff := cmp.Diff(plain(t, theirs.Input), bare); diff != "" {
				t.Errorf("input differs from Trino's:\n%s", diff)
			}
		})
	}
}

func judgeOf(t *testing.T, d *Decider, r recorded) *judge {
	t.Helper()
	var c struct {
		Identity struct {
			User   string
			Groups []string
		}
	}
	if err := json.Unmarshal(r.Input.Context, &c); err != nil {
		t.Fatal(err)
	}
	j, err := d.Judge(t.Context(), policy.Caller{
		Identity: auth.Identity{Issuer: "i", Subject: "s", User: c.Identity.User, Groups: c.Identity.Groups},
		Query:    "q", Time: time.Unix(0, 0), Kind: classify.KindSelect,
	})
	if err != nil {
		t.Fatal(err)
	}
	return j.(*judge)
}

// ask makes the input that the gateway would send for r.
func ask(t *testing.T, d *Decider, r recorded) ast.Value {
	t.Helper()
	j := judgeOf(t, d, r)
	op := r.Input.Action.Operation
	one := func(o *asked) ast.Value {
		if o != nil && o.Column != nil {
			c := classify.Column{Name: o.Column.ColumnName, FieldID: 1, Type: strings.ToUpper(o.Column.ColumnType)}
			tab := policy.Table{Name: classify.Name{Catalog: o.Column.CatalogName, Schema: o.Column.SchemaName, Table: o.Column.TableName}, Columns: []classify.Column{c}}
			return columnResource(tab, c, tableDetail(tab, everything))
		}
		if op == "GetRowFilters" {
			return tableResource(o.resources()[0], nil, everything)
		}
		return resource(policy.Operation(op), o.resources()[0], everything)
	}
	if r.Input.Action.FilterResources == nil {
		return document(j.context, op, one(r.Input.Action.Resource))
	}
	var all []ast.Value
	for _, o := range r.Input.Action.FilterResources {
		all = append(all, one(o))
	}
	return batchDocument(j.context, op, all)
}

// plain turns v into what encoding/json makes of it.
func plain(t *testing.T, v any) any {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	if m, ok := out.([]any); ok && len(m) == 0 {
		return []any{}
	}
	return out
}

// withoutOurs drops the keys that are ours, and those that newer versions of Trino send too.
func withoutOurs(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range []string{"gateway", "principal", "queryId"} {
			delete(v, k)
		}
		for k := range v {
			v[k] = withoutOurs(v[k])
		}
	case []any:
		for i := range v {
			v[i] = withoutOurs(v[i])
		}
	}
	return v
}

// Types reach policies in Trino's spelling.
func TestTrinoTypes(t *testing.T) {
	for duckdb, trino := range map[string]string{
		"BIGINT": "bigint", "VARCHAR": "varchar", "DECIMAL(12,2)": "decimal(12,2)", "FLOAT": "real", "BLOB": "varbinary",
		"TIMESTAMP": "timestamp(6)", "TIMESTAMP WITH TIME ZONE": "timestamp(6) with time zone", "TIMESTAMPTZ": "timestamp(6) with time zone", "TIMESTAMP_NS": "timestamp(9)",
		"TIME": "time(6)", "VARCHAR[]": "array(varchar)", "TIMESTAMP[][]": "array(array(timestamp(6)))", "SOMETHING NEW": "something new",
	} {
		if got := trinoType(duckdb); got != trino {
			t.Errorf("%s is %s, not %s", duckdb, got, trino)
		}
	}
}
