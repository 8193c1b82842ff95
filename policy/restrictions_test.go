package policy_test

import (
	"strings"
	"testing"

	"gatehouse/classify"
	"gatehouse/policy"
)

func restrictedTable() policy.Table {
	t := policy.Table{Name: classify.Name{Catalog: "c", Schema: "s", Table: "t"}}
	for i, c := range [][2]string{{"id", "BIGINT"}, {"na\"me", "VARCHAR"}, {"born", "DATE"}, {"amount", "DECIMAL(10,2)"}, {"seen", "TIMESTAMP"}} {
		t.Columns = append(t.Columns, classify.Column{Name: c[0], FieldID: i + 1, Type: c[1]})
	}
	return t
}

// What a catalog demands is applied exactly, or not at all.
func TestRestrict(t *testing.T) {
	column := func(action, id string) string {
		return `{"required-column-projections":[{"field-id":` + id + `,"action":"` + action + `"}]}`
	}
	filter := func(text string) string { return `{"required-row-filter":` + text + `}` }
	for _, c := range []struct{ raw, want string }{ // want: the filter or mask; "": refused
		{filter(`{"type":"eq","term":"id","value":7}`), `coalesce("id" = :v0, false)`},
		{filter(`{"type":"not-eq","term":{"type":"reference","field-id":2},"value":"x"}`), `coalesce("na""me" <> :v0, true)`},
		{filter(`{"type":"and","left":{"type":"lt-eq","term":"born","value":"2020-01-01"},"right":{"type":"not","child":{"type":"is-null","term":"id"}}}`), `(coalesce("born" <= CAST(:v0 AS DATE), false) AND (NOT ("id" IS NULL)))`},
		{filter(`{"type":"or","left":false,"right":{"type":"in","term":"id","values":[1,2]}}`), `(false OR coalesce("id" IN (:v0, :v1), false))`},
		{filter(`{"type":"not-in","term":"id","values":[1]}`), `(NOT coalesce("id" IN (:v0), false))`},
		{filter(`{"type":"in","term":"id","values":[]}`), `false`},
		{filter(`{"type":"not-starts-with","term":"na\"me","value":"a"}`), `(NOT coalesce(starts_with("na""me", :v0), false))`},
		{filter(`{"type":"true"}`), `true`},
		{column("replace-with-null", "4"), `NULL`},
		{column("mask-alphanum", "2"), `regexp_replace(regexp_replace("na""me", '[^0-9(),.@-]', 'x'), '[0-9]', 'n')`},
		{column("truncate-to-year", "3"), `date_trunc('year', "born")`},
		{column("sha-256-global", "2"), `sha256("na""me")`},

		{filter(`{"type":"eq","term":"nothing","value":7}`), ""},
		{filter(`{"type":"eq","term":"id","value":"7"}`), ""},
		{filter(`{"type":"eq","term":"id","value":7.5}`), ""},
		{filter(`{"type":"eq","term":"amount","value":"7.50"}`), ""},
		{filter(`{"type":"eq","term":"id"}`), ""},
		{filter(`{"type":"eq","term":"id","value":7,"values":[1]}`), ""},
		{filter(`{"type":"eq","term":{"type":"transform","transform":"day","term":"seen"},"value":1}`), ""},
		{filter(`{"type":"like","term":"id","value":7}`), ""},
		{filter(`{"type":"eq","term":"id","value":7,"case-sensitive":false}`), ""},
		{filter(`{"type":"and","left":{"type":"true"}}`), ""},
		{filter(strings.Repeat(`{"type":"not","child":`, 40) + `true` + strings.Repeat(`}`, 40)), ""},
		{filter(`"id = 7"`), ""},
		{column("mask-to-fixed-value", "2"), ""},
		{column("sha-256-query-local", "2"), ""},
		{column("made-up", "2"), ""},
		{column("", "2"), ""},
		{column("mask-alphanum", "1"), ""},
		{column("truncate-to-year", "2"), ""},
		{column("replace-with-null", "9"), ""},
		{`{"required-column-projections":[{"action":"replace-with-null"}]}`, ""},
		{`{"required-column-projections":[{"field-id":1,"action":"replace-with-null"},{"field-id":1,"action":"replace-with-null"}]}`, ""},
		{`{"required-column-projections":[{"field-id":1,"action":"replace-with-null","salt":"x"}]}`, ""},
		{`{"required-everything":true}`, ""},
		{`[]`, ""},
		{`{} {}`, ""},
	} {
		d := policy.Decision{ID: "d"}
		err := d.Restrict([]byte(c.raw), restrictedTable())
		if c.want == "" {
			if err == nil || d.Restricted != "" || len(d.Filters)+len(d.Masks) > 0 {
				t.Errorf("%s is accepted: %+v", c.raw, d)
			}
			continue
		}
		got := ""
		for _, f := range d.Filters {
			got += f.SQL
		}
		for _, m := range d.Masks {
			got += m.SQL
		}
		if err != nil || got != c.want || d.Restricted != c.raw {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.raw, err, got, c.want)
		}
	}
}

// Together, a policy and a catalog show no more than either.
func TestRestrictIntersects(t *testing.T) {
	local := policy.Expression{ID: "mine", SQL: "left(\"na\"\"me\", 1)"}
	d := policy.Decision{Filters: []policy.Expression{{ID: "f", SQL: "id > 1"}}, Masks: map[string]policy.Expression{"na\"me": local, "born": {SQL: "NULL"}}}
	before := d
	raw := `{"required-row-filter":{"type":"lt","term":"id","value":9},"required-column-projections":[{"field-id":2,"action":"mask-alphanum"},{"field-id":3,"action":"replace-with-null"},{"field-id":1,"action":"replace-with-null"}]}`
	if err := d.Restrict([]byte(raw), restrictedTable()); err != nil {
		t.Fatal(err)
	}
	if len(d.Filters) != 2 || len(before.Filters) != 1 || len(before.Masks) != 2 {
		t.Errorf("filters %v, and before %v", d.Filters, before)
	}
	for column, want := range map[string]string{"na\"me": "NULL", "born": "NULL", "id": "NULL"} {
		if got := d.Masks[column]; got.SQL != want {
			t.Errorf("%s: %+v", column, got)
		}
	}
	if got := d.Masks["na\"me"].ID; got != "mine and catalog mask-alphanum" {
		t.Errorf("the audit log would say %q", got)
	}
}

// A mask on one column does not show there what the catalog masks in another.
func TestRestrictMasksThatReadOthers(t *testing.T) {
	d := policy.Decision{Masks: map[string]policy.Expression{
		"na\"me": {ID: "copy", SQL: `CAST(amount AS VARCHAR)`},
		"born":   {ID: "own", SQL: `date_trunc('year', born)`},
		"seen":   {ID: "copy", SQL: `x`, Fields: map[string]int{"x": 4}},
	}}
	if err := d.Restrict([]byte(`{"required-column-projections":[{"field-id":4,"action":"replace-with-null"}]}`), restrictedTable()); err != nil {
		t.Fatal(err)
	}
	for column, want := range map[string]string{"na\"me": "NULL", "seen": "NULL", "amount": "NULL", "born": `date_trunc('year', born)`} {
		if got := d.Masks[column]; got.SQL != want {
			t.Errorf("%s: %+v", column, got)
		}
	}
}
