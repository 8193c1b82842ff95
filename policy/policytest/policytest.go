// Package policytest is the contract suite that every policy.Decider passes.
package policytest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"gatehouse/auth"
	"gatehouse/classify"
	"gatehouse/policy"
)

// Scenario is what the decider under test has to be set up for, in catalog lake, schema s:
//
//   - Ann, of group analysts, reads tables open and governed; table closed, and every other one, does not exist for her;
//   - open (id, name, region) has no filter and no mask;
//   - governed (id, name, region, secret) shows the rows of one filter, masks name by one mask, and hides secret;
//   - the policy's answer about the filters of table broken is an error;
//   - Eve, of no group, may run statements and reads nothing.
type Scenario struct {
	// New returns a decider for the scenario; the suite closes nothing.
	New func(t *testing.T) policy.Decider
}

// Ann and Eve are the scenario's callers.
var (
	Ann = auth.Identity{Issuer: "test", Subject: "1", User: "ann", Groups: []string{"analysts"}}
	Eve = auth.Identity{Issuer: "test", Subject: "2", User: "eve"}
)

// Table describes one of the scenario's tables.
func Table(name string) policy.Table {
	t := policy.Table{Name: classify.Name{Catalog: "lake", Schema: "s", Table: name}, UUID: "u-" + name}
	for i, c := range []string{"id", "name", "region", "secret"} {
		if c != "secret" || name == "governed" {
			t.Columns = append(t.Columns, classify.Column{Name: c, FieldID: i + 1, Type: "VARCHAR"})
		}
	}
	return t
}

// Caller makes a caller of id.
func Caller(id auth.Identity) policy.Caller {
	return policy.Caller{Identity: id, Query: "q1", Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Kind: classify.KindSelect}
}

// Run runs the suite.
func Run(t *testing.T, s Scenario) {
	t.Run("nobody is refused", func(t *testing.T) {
		if _, err := s.New(t).Judge(t.Context(), policy.Caller{}); err == nil {
			t.Fatal("a caller without identity got a judge")
		}
	})
	t.Run("revision", func(t *testing.T) {
		if j := judge(t, s, Ann); j.Revision() == "" {
			t.Fatal("no revision")
		}
	})
	t.Run("operations", func(t *testing.T) { operations(t, s) })
	t.Run("no resources, no answers", func(t *testing.T) {
		if got, err := judge(t, s, Ann).Allow(t.Context(), policy.FilterTables, nil); err != nil || len(got) != 0 {
			t.Fatal(got, err)
		}
	})
	t.Run("table without obligations", func(t *testing.T) {
		d, err := judge(t, s, Ann).Table(t.Context(), Table("open"), []string{"id", "name"})
		if err != nil || len(d.Filters) != 0 || len(d.Masks) != 0 || d.ID == "" {
			t.Fatalf("%+v, %v", d, err)
		}
	})
	t.Run("filters and masks", func(t *testing.T) { obligations(t, s) })
	t.Run("errors deny", func(t *testing.T) {
		_, err := judge(t, s, Ann).Table(t.Context(), Table("broken"), []string{"id"})
		if _, ok := errors.AsType[*policy.PolicyError](err); !ok {
			t.Fatalf("%T %v", err, err)
		}
	})
	t.Run("unknown column is an error", func(t *testing.T) {
		if _, err := judge(t, s, Ann).Table(t.Context(), Table("open"), []string{"nope"}); err == nil {
			t.Fatal("a mask was asked for a column that the table does not have, without an error")
		}
	})
	t.Run("cancelled context denies", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		j := judge(t, s, Ann)
		if got, err := j.Allow(ctx, policy.FilterTables, []policy.Resource{resource("open")}); err == nil {
			t.Fatal(got)
		}
		if d, err := j.Table(ctx, Table("open"), []string{"id"}); err == nil {
			t.Fatal(d)
		}
	})
	t.Run("many at once", func(t *testing.T) { concurrent(t, s) })
}

func judge(t *testing.T, s Scenario, id auth.Identity) policy.Judge {
	t.Helper()
	j, err := s.New(t).Judge(t.Context(), Caller(id))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func resource(table string, columns ...string) policy.Resource {
	return policy.Resource{Catalog: "lake", Schema: "s", Table: table, Columns: columns}
}

// operations asks the same for both callers, so that every denial has its control.
func operations(t *testing.T, s Scenario) {
	for _, c := range []struct {
		op       policy.Operation
		r        policy.Resource
		ann, eve bool
	}{
		{policy.ExecuteQuery, policy.Resource{}, true, true},
		{policy.AccessCatalog, policy.Resource{Catalog: "lake"}, true, false},
		{policy.AccessCatalog, policy.Resource{Catalog: "other"}, false, false},
		{policy.FilterCatalogs, policy.Resource{Catalog: "lake"}, true, false},
		{policy.FilterSchemas, policy.Resource{Catalog: "lake", Schema: "s"}, true, false},
		{policy.FilterSchemas, policy.Resource{Catalog: "lake", Schema: "x"}, false, false},
		{policy.FilterTables, resource("open"), true, false},
		{policy.FilterTables, resource("closed"), false, false},
		{policy.FilterTables, resource("no_such_table"), false, false},
		{policy.FilterColumns, resource("governed", "name"), true, false},
		{policy.FilterColumns, resource("governed", "secret"), false, false},
		{policy.SelectColumns, resource("open"), true, false},
		{policy.SelectColumns, resource("open", "id", "name"), true, false},
		{policy.SelectColumns, resource("governed", "name", "secret"), false, false},
		{policy.SelectColumns, resource("closed", "id"), false, false},
		{policy.Operation("DropTable"), resource("open"), false, false},
		{policy.Operation(""), resource("open"), false, false},
	} {
		for _, who := range []struct {
			id   auth.Identity
			want bool
		}{{Ann, c.ann}, {Eve, c.eve}} {
			got, err := judge(t, s, who.id).Allow(t.Context(), c.op, []policy.Resource{c.r})
			if err != nil || len(got) != 1 || got[0] != who.want {
				t.Errorf("%s may %s %+v: %v, %v; want %v", who.id.User, c.op, c.r, got, err, who.want)
			}
		}
	}
	got, err := judge(t, s, Ann).Allow(t.Context(), policy.FilterTables, []policy.Resource{resource("closed"), resource("open"), resource("closed"), resource("governed")})
	if err != nil || len(got) != 4 || got[0] || !got[1] || got[2] || !got[3] {
		t.Errorf("answers are not in the order of the questions: %v, %v", got, err)
	}
}

func obligations(t *testing.T, s Scenario) {
	j := judge(t, s, Ann)
	d, err := j.Table(t.Context(), Table("governed"), []string{"id", "name"})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Filters) != 1 || d.Filters[0].SQL == "" || len(d.Masks) != 1 || d.Masks["name"].SQL == "" {
		t.Fatalf("%+v", d)
	}
	if d.Filters[0].ID == "" && d.Filters[0].Rule == "" {
		t.Error("a filter that audit cannot name")
	}
	again, err := j.Table(t.Context(), Table("governed"), []string{"id"})
	if err != nil || len(again.Masks) != 0 || len(again.Filters) != 1 {
		t.Errorf("masks of columns that were not asked for: %+v, %v", again, err)
	}
	if again.ID == d.ID {
		t.Error("two decisions with one id")
	}
}

func concurrent(t *testing.T, s Scenario) {
	j := judge(t, s, Ann)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				d, err := j.Table(context.WithoutCancel(t.Context()), Table("governed"), []string{"id", "name"})
				if err != nil || len(d.Masks) != 1 || len(d.Filters) != 1 {
					t.Errorf("%+v, %v", d, err)
				}
			}
		})
	}
	wg.Wait()
}
