package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gatehouse/auth"
	"gatehouse/catalog"
	"gatehouse/classify"
	"gatehouse/policy"
)

// asked is a policy that lets a caller enter catalogs and see tables by exact name, and a catalog that finds tables as catalogs do.
// Both write down what they are asked.
type asked struct {
	enters, sees   []string
	tables, faulty []string // "schema.table"; a faulty one is found and cannot be loaded
	down           error    // of the catalog
	broken         error    // of the policy
	log            []string
}

// Revision implements policy.Judge.
func (a *asked) Revision() string { return "r" }

// Allow implements policy.Judge.
func (a *asked) Allow(_ context.Context, op policy.Operation, rs []policy.Resource) ([]bool, error) {
	if a.broken != nil {
		return nil, a.broken
	}
	out := make([]bool, len(rs))
	for i, r := range rs {
		switch op {
		case policy.AccessCatalog:
			out[i] = slices.Contains(a.enters, r.Catalog)
			a.log = append(a.log, "enters "+r.Catalog)
		case policy.SelectColumns:
			out[i] = slices.Contains(a.sees, r.Schema+"."+r.Table)
			a.log = append(a.log, "sees "+r.Schema+"."+r.Table)
		default:
			return nil, fmt.Errorf("asked for %s", op)
		}
	}
	return out, nil
}

// Table implements policy.Judge.
func (a *asked) Table(context.Context, policy.Table, []string) (policy.Decision, error) {
	return policy.Decision{}, errors.New("asked for a decision")
}

// Table of the catalog: exact, or else the only one in another case.
type shelf struct{ *asked }

var errFaulty = fmt.Errorf("canary: %w", catalog.ErrUnreadable)

func (s shelf) Table(_ context.Context, _ auth.Identity, schema, name string) (*catalog.Table, error) {
	s.log = append(s.log, "loads "+schema+"."+name)
	if s.down != nil {
		return nil, s.down
	}
	want := schema + "." + name
	hit, ok := fold(want, append(slices.Clone(s.tables), s.faulty...), func(t string) string { return t })
	if !ok {
		return nil, catalog.ErrNoSuchTable
	}
	if slices.Contains(s.faulty, hit) {
		return nil, errFaulty
	}
	sch, tab, _ := strings.Cut(hit, ".")
	return &catalog.Table{Catalog: "Lake", Schema: sch, Name: tab, UUID: hit}, nil
}

func (s shelf) List(_ context.Context, _ auth.Identity, schema string) ([]catalog.Entry, error) {
	s.log = append(s.log, "lists "+schema)
	if s.down != nil {
		return nil, s.down
	}
	var out []catalog.Entry
	for _, t := range append(slices.Clone(s.tables), s.faulty...) {
		sch, tab, _ := strings.Cut(t, ".")
		switch {
		case schema == "":
			out = append(out, catalog.Entry{Schema: sch})
		case schema == sch:
			out = append(out, catalog.Entry{Schema: sch, Name: tab})
		}
	}
	return out, nil
}

func (shelf) Close() error { return nil }

// A table is found under its canonical name if the caller may enter its catalog and see it under that name. All else is the one
// answer for a table that does not exist, whatever the catalog would say of it.
func TestFind(t *testing.T) {
	down := errors.New("down")
	for _, c := range []struct {
		what string
		a    asked
		name string
		want string // canonical name, "" for no such table, or the error's text
	}{
		{"there", asked{enters: []string{"Lake"}, sees: []string{"s.t"}, tables: []string{"s.t"}}, "Lake.s.t", "Lake.s.t"},
		{"the catalog in another case", asked{enters: []string{"Lake"}, sees: []string{"s.t"}, tables: []string{"s.t"}}, "lake.s.t", "Lake.s.t"},
		{"not there", asked{enters: []string{"Lake"}, sees: []string{"s.t"}}, "Lake.s.t", ""},
		{"hidden", asked{enters: []string{"Lake"}, tables: []string{"s.t"}}, "Lake.s.t", ""},
		{"the catalog is hidden", asked{sees: []string{"s.t"}, tables: []string{"s.t"}}, "Lake.s.t", ""},
		{"no such catalog", asked{enters: []string{"Lake", "sea"}, sees: []string{"s.t"}, tables: []string{"s.t"}}, "sea.s.t", ""},
		{"in another case, seen under both", asked{enters: []string{"Lake"}, sees: []string{"s.t", "S.T"}, tables: []string{"S.T"}}, "Lake.s.t", "Lake.S.T"},
		{"in another case, seen under its own", asked{enters: []string{"Lake"}, sees: []string{"S.T"}, tables: []string{"S.T"}}, "Lake.s.t", "Lake.S.T"},
		{"in another case, seen under the written one", asked{enters: []string{"Lake"}, sees: []string{"s.t"}, tables: []string{"S.T"}}, "Lake.s.t", ""},
		{"in another case, hidden", asked{enters: []string{"Lake"}, tables: []string{"S.T"}}, "Lake.s.t", ""},
		{"two in other cases", asked{enters: []string{"Lake"}, sees: []string{"s.T", "s.tT", "s.Tt"}, tables: []string{"s.tT", "s.Tt"}}, "Lake.s.tt", ""},
		{"faulty", asked{enters: []string{"Lake"}, sees: []string{"s.t"}, faulty: []string{"s.t"}}, "Lake.s.t", "unreadable"},
		{"faulty and hidden", asked{enters: []string{"Lake"}, faulty: []string{"s.t"}}, "Lake.s.t", ""},
		{"faulty in another case, seen under both", asked{enters: []string{"Lake"}, sees: []string{"s.t", "S.T"}, faulty: []string{"S.T"}}, "Lake.s.t", "unreadable"},
		{"faulty in another case, seen under the written one", asked{enters: []string{"Lake"}, sees: []string{"s.t"}, faulty: []string{"S.T"}}, "Lake.s.t", ""},
		{"faulty in another case, seen under its own", asked{enters: []string{"Lake"}, sees: []string{"S.T"}, faulty: []string{"S.T"}}, "Lake.s.t", "unreadable"},
		{"the catalog is down", asked{enters: []string{"Lake"}, sees: []string{"s.t"}, down: down}, "Lake.s.t", "down"},
		{"the catalog is down for who sees nothing", asked{enters: []string{"Lake"}, down: down}, "Lake.s.t", "down"},
		{"the catalog is down for who may not enter it", asked{sees: []string{"s.t"}, down: down}, "Lake.s.t", ""},
		{"the policy is broken", asked{broken: errors.New("broken"), tables: []string{"s.t"}}, "Lake.s.t", "broken"},
	} {
		a := c.a
		parts := strings.Split(c.name, ".")
		tab := &table{name: classify.Name{Catalog: parts[0], Schema: parts[1], Table: parts[2]}, written: c.name, position: 7}
		r := &run{
			g: &Gateway{cfg: Config{Catalogs: map[string]catalog.Catalog{"Lake": shelf{&a}}}}, ctx: t.Context(), judge: &a,
			session: &Session{identity: auth.Identity{User: "ann"}},
		}
		err := r.find(tab)
		var absent *classify.NameError
		var unreadable *UnreadableError
		got := ""
		switch {
		case err == nil:
			got = tab.name.String()
			if tab.current == nil || "Lake."+tab.current.Schema+"."+tab.current.Name != got {
				t.Errorf("%s: found %+v", c.what, tab.current)
			}
		case errors.As(err, &absent):
			if absent.Name != c.name || absent.Kind != "table" || absent.Pos != 7 {
				t.Errorf("%s: %+v", c.what, absent)
			}
		case errors.As(err, &unreadable):
			got = "unreadable"
			if unreadable.Table != c.name || strings.Contains(err.Error(), "canary") {
				t.Errorf("%s: %v", c.what, err)
			}
		default:
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q (%v), want %q", c.what, got, err, c.want)
		}
		if err != nil && tab.current != nil {
			t.Errorf("%s: refused and loaded", c.what)
		}
		// What the policy says no to is not loaded.
		for _, l := range a.log {
			if loaded, ok := strings.CutPrefix(l, "loads "); ok && (!slices.Contains(a.sees, loaded) || !slices.Contains(a.enters, "Lake")) {
				t.Errorf("%s: %s is loaded: %q", c.what, loaded, a.log)
			}
			if strings.HasPrefix(l, "lists") && !slices.Contains(a.enters, "Lake") {
				t.Errorf("%s: a hidden catalog is asked: %q", c.what, a.log)
			}
		}
	}
}

// Denied and absent take the same questions, in the same order.
func TestFindAsksTheSame(t *testing.T) {
	var logs []string
	for _, tables := range [][]string{{"s.t", "s.u"}, {"s.u"}} {
		a := &asked{enters: []string{"Lake"}, sees: []string{"s.u"}, tables: tables}
		r := &run{
			g: &Gateway{cfg: Config{Catalogs: map[string]catalog.Catalog{"Lake": shelf{a}}}}, ctx: t.Context(), judge: a,
			session: &Session{identity: auth.Identity{User: "ann"}},
		}
		if err := r.find(&table{name: classify.Name{Catalog: "Lake", Schema: "s", Table: "t"}}); err == nil {
			t.Error("found")
		}
		logs = append(logs, strings.Join(a.log, ", "))
	}
	if logs[0] != logs[1] {
		t.Errorf("hidden: %s\nabsent: %s", logs[0], logs[1])
	}
}

func TestFold(t *testing.T) {
	same := func(s string) string { return s }
	for _, c := range []struct {
		want    string
		entries []string
		hit     string
		ok      bool
	}{
		{"a", []string{"b", "a"}, "a", true},
		{"a", []string{"A", "a"}, "a", true},
		{"a", []string{"A"}, "A", true},
		{"aa", []string{"Aa", "aA"}, "", false},
		{"a", []string{"b"}, "", false},
		{"a", nil, "", false},
	} {
		if hit, ok := fold(c.want, c.entries, same); ok != c.ok || ok && hit != c.hit {
			t.Errorf("%q in %q: %q, %v", c.want, c.entries, hit, ok)
		}
	}
}
