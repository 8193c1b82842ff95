package opa

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"gatehouse/classify"
	"gatehouse/policy"
)

// A trace is sorted and says each rule once, in what order ever they fired, and shows faults as they are.
func TestEvaluationIsSorted(t *testing.T) {
	tr := &tracer{fired: []Fired{{"b", "y.rego", 1}, {"b", "x.rego", 2}, {"b", "x.rego", 1}, {"a", "x.rego", 1}, {"b", "x.rego", 2}}}
	e := tr.evaluation("trino/allow", str("in"), true, nil)
	var places []string
	for _, f := range e.Fired {
		places = append(places, f.String())
	}
	if got := strings.Join(places, ", "); got != "x.rego:1 a, x.rego:1 b, x.rego:2 b, y.rego:1 b" || e.Rule != "data.trino.allow" || e.Value != true || e.Error != "" || string(e.Input) != `"in"` {
		t.Errorf("%s: %+v", got, e)
	}
	for want, c := range map[string]struct {
		input ast.Value
		err   error
	}{"": {str("in"), errUndefined}, "fault": {str("in"), errors.New("fault")}, "first": {ast.Var("x"), errors.New("first")}} {
		if e := tr.evaluation("p", c.input, nil, c.err); e.Error != want || (want == "first") != (e.Input == nil) {
			t.Errorf("%q, want %q", e.Error, want)
		}
	}
	if e := tr.evaluation("p", ast.Var("x"), nil, nil); e.Error == "" {
		t.Error("an input that is none is no fault")
	}
	rule := ast.MustParseRule(`a := 1 if { true }`)
	for _, event := range []topdown.Event{{Op: topdown.EnterOp, Node: rule}, {Op: topdown.ExitOp, Node: rule.Body}, {Op: topdown.ExitOp, Node: &ast.Rule{}}} {
		t2 := &tracer{}
		if t2.TraceEvent(event); len(t2.fired) != 0 || !t2.Enabled() || t2.Config().PlugLocalVars {
			t.Errorf("%v fired %v", event.Op, t2.fired)
		}
	}
	if b, err := json.Marshal(Fired{"r", "f", 1}); err != nil || string(b) != `{"rule":"r","file":"f","line":1}` {
		t.Errorf("%s %v", b, err)
	}
}

// With folded names a policy hears of nothing but them, and without them of the names as they are; it is the answers that keep the case.
func TestWhatIsFolded(t *testing.T) {
	for _, fold := range []bool{false, true} {
		var inputs []string
		j := with(t, "package trino\nallow := true\nrowFilters := []\ncolumnMask := {\"expression\": \"1\"}", func(c *Config) {
			c.FoldNames = fold
			c.Trace = func(e Evaluation) {
				inputs = append(inputs, string(e.Input[strings.Index(string(e.Input), `"action"`):strings.Index(string(e.Input), `"context"`)]))
			}
		})
		tab := policy.Table{Name: classify.Name{Catalog: "CAT", Schema: "SCH", Table: "TAB"}, Columns: []classify.Column{{Name: "COL", FieldID: 1, Type: "X"}}, Uses: []classify.ColumnUse{{Roles: classify.RoleOutput}}}
		rs := []policy.Resource{{Catalog: "CAT", Schema: "SCH", Table: "TAB", Columns: []string{"COL"}, Detail: &tab}, {Catalog: "CAT"}}
		if _, err := j.Allow(t.Context(), policy.SelectColumns, rs); err != nil {
			t.Fatal(err)
		}
		d, err := j.Table(t.Context(), tab, []string{"COL"})
		if err != nil || d.Masks["COL"].SQL != "1" {
			t.Fatalf("%+v, %v", d, err)
		}
		all := strings.Join(inputs, "\n")
		for _, name := range []string{"CAT", "SCH", "TAB", "COL", "CAT.SCH.TAB"} {
			lower := strings.ToLower(name)
			if strings.Contains(all, `"`+name+`"`) == fold || strings.Contains(all, `"`+lower+`"`) != fold {
				t.Errorf("folded %v: %s in\n%s", fold, name, all)
			}
		}
		if rs[0].Table != "TAB" || rs[0].Columns[0] != "COL" || tab.Columns[0].Name != "COL" || !slices.Equal(tab.Uses, rs[0].Detail.Uses) {
			t.Error("the caller's names were changed")
		}
	}
}
