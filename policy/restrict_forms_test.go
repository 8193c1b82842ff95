package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"gatehouse/classify"
	"gatehouse/policy"
)

// Every form of a catalog's filter and projection, on the types that it is for and on those that it is not.
func TestRestrictForms(t *testing.T) {
	table := restrictedTable()
	for i, c := range [][2]string{{"n", "INTEGER"}, {"ok", "BOOLEAN"}, {"gone", "VARCHAR"}} {
		table.Columns = append(table.Columns, classify.Column{Name: c[0], FieldID: 10 + i, Type: c[1]})
	}
	for _, c := range table.Columns {
		table.Known = append(table.Known, c.Name)
	}
	table.Known[len(table.Known)-1] = "" // what the policy cannot know, the catalog cannot name
	deep := func(n int) string {
		return strings.Repeat(`{"type":"not","child":`, n) + `true` + strings.Repeat(`}`, n)
	}
	for raw, want := range map[string]string{ // "": refused
		`{"type":"lt","term":"id","value":7}`: `coalesce("id" < :v0, false)`, `{"type":"gt","term":"id","value":7}`: `coalesce("id" > :v0, false)`,
		`{"type":"gt-eq","term":"n","value":7}`: `coalesce("n" >= :v0, false)`, `{"type":"eq","term":"ok","value":true}`: `coalesce("ok" = :v0, false)`,
		`{"type":"eq","term":"seen","value":"2020-01-01 00:00:00"}`: `coalesce("seen" = CAST(:v0 AS TIMESTAMP), false)`,
		`{"type":"not-null","term":"id"}`:                           `("id" IS NOT NULL)`, `{"type":"is-null","term":"id"}`: `("id" IS NULL)`,
		`{"type":"starts-with","term":"na\"me","value":"a"}`: `coalesce(starts_with("na""me", :v0), false)`,
		`{"type":"not-in","term":"id","values":[]}`:          `true`, `{"type":"false"}`: `false`, `false`: `false`, ` true `: `true`, `null`: `none`,
		deep(32): strings.Repeat("(NOT ", 32) + "true" + strings.Repeat(")", 32), deep(33): "",
		`{"type":"eq","term":"id","value":true}`: "", `{"type":"eq","term":"ok","value":1}`: "", `{"type":"eq","term":"ok","value":"true"}`: "", `{"type":"eq","term":"id","value":null}`: "",
		`{"type":"eq","term":"id","value":[1]}`: "", `{"type":"eq","term":"n","value":99999999999999999999}`: "", `{"type":"eq","term":"born","value":1}`: "", `{"type":"eq","term":"na\"me","value":1}`: "",
		`{"type":"is-null","term":"id","value":1}`: "", `{"type":"not-null","term":"id","values":[1]}`: "", `{"type":"is-null","term":"nosuch"}`: "",
		`{"type":"in","term":"id"}`: "", `{"type":"in","term":"id","value":1}`: "", `{"type":"in","term":"id","value":1,"values":[1]}`: "", `{"type":"in","term":"id","values":["x"]}`: "", `{"type":"not-in","term":"id","values":[1,"x"]}`: "",
		`{"type":"starts-with","term":"id","value":"a"}`: "", `{"type":"starts-with","term":"born","value":"2020"}`: "", `{"type":"starts-with","term":"na\"me"}`: "", `{"type":"starts-with","term":"na\"me","values":["a"]}`: "", `{"type":"starts-with","term":"na\"me","value":1}`: "",
		`{"type":"and","left":true,"right":{"type":"x"}}`: "", `{"type":"and","left":{"type":"x"},"right":true}`: "", `{"type":"or","left":true}`: "", `{"type":"not"}`: "", `{"type":"not","child":{"type":"x"}}`: "",
		`{"type":"is-null","term":""}`: "", `{"type":"is-null","term":"gone"}`: "", `{"type":"is-null","term":{"type":"reference","field-id":12}}`: "", `{"type":"is-null","term":{"type":"reference","field-id":99}}`: "",
		`{"type":"is-null","term":{"type":"reference","field-id":10}}`: `("n" IS NULL)`, `{"type":"is-null","term":{"type":"other","field-id":10}}`: "", `{"type":"is-null","term":{"type":"reference"}}`: "", `{"type":"is-null","term":{"field-id":10}}`: "", `{"type":"is-null","term":7}`: "", `{"type":"is-null"}`: "",
		`1`: "", `{"type":1}`: "", `{}`: "",
	} {
		d := policy.Decision{ID: "d"}
		err := d.Restrict([]byte(`{"required-row-filter":`+raw+`}`), table)
		got := ""
		switch {
		case err != nil && (!strings.HasPrefix(err.Error(), "read restrictions: required-row-filter: ") || d.Restricted != ""):
			t.Errorf("%s: %v, %+v", raw, err, d)
		case err == nil && len(d.Filters) == 0:
			got = "none"
		case err == nil:
			got = d.Filters[0].SQL
		}
		if got != want {
			t.Errorf("%s: %q, %v", raw, got, err)
		}
	}

	actions := map[string]string{ // the types that each is for
		"replace-with-null": "BIGINT VARCHAR DATE DECIMAL(10,2) TIMESTAMP INTEGER BOOLEAN", "mask-alphanum": "VARCHAR", "show-first-4": "VARCHAR", "show-last-4": "VARCHAR",
		"sha-256-global": "VARCHAR", "truncate-to-year": "DATE TIMESTAMP", "truncate-to-month": "DATE TIMESTAMP", "truncate-to-day": "", "": "",
	}
	texts := map[string]string{
		"show-first-4":      `CASE WHEN length("na""me") <= 4 THEN "na""me" ELSE left("na""me", 4) || regexp_replace(regexp_replace(right("na""me", length("na""me") - 4), '[^0-9(),.@-]', 'x'), '[0-9]', 'n') END`,
		"show-last-4":       `CASE WHEN length("na""me") <= 4 THEN "na""me" ELSE regexp_replace(regexp_replace(left("na""me", length("na""me") - 4), '[^0-9(),.@-]', 'x'), '[0-9]', 'n') || right("na""me", 4) END`,
		"truncate-to-month": `date_trunc('month', "`, "truncate-to-year": `date_trunc('year', "`,
	}
	for action, types := range actions {
		for i, c := range table.Columns {
			d := policy.Decision{ID: "d"}
			err := d.Restrict(fmt.Appendf(nil, `{"required-column-projections":[{"field-id":%d,"action":%q}]}`, c.FieldID, action), table)
			want := strings.Contains(" "+types+" ", " "+c.Type+" ") && table.Known[i] != ""
			if (err == nil) != want || want != (d.Masks[c.Name].SQL != "") {
				t.Errorf("%s on %s: %v, %+v", action, c.Type, err, d.Masks)
			}
			if err == nil && !strings.HasPrefix(d.Masks[c.Name].SQL, texts[action]) {
				t.Errorf("%s: %s", action, d.Masks[c.Name].SQL)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "read restrictions: ") {
				t.Errorf("%s on %s: %v", action, c.Type, err)
			}
		}
	}
	for _, raw := range []string{`{"x":1}`, `{} {}`, `x`} {
		if err := (&policy.Decision{}).Restrict([]byte(raw), table); err == nil || !strings.HasPrefix(err.Error(), "read restrictions: ") {
			t.Errorf("%s: %v", raw, err)
		}
	}
	// Whole numbers stay exact.
	d := policy.Decision{ID: "d"}
	if err := d.Restrict([]byte(`{"required-row-filter":{"type":"eq","term":"id","value":9007199254740993}}`), table); err != nil || fmt.Sprint(d.Filters[0].Params["v0"]) != "9007199254740993" {
		t.Errorf("%+v, %v", d.Filters, err)
	}
}
