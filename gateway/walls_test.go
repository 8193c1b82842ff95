package gateway

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"gatehouse/audit"
	"gatehouse/auth"
	"gatehouse/classify"
	"gatehouse/plan"
	"gatehouse/policy"
)

func parsed(t *testing.T, sql string) *classify.Statement {
	t.Helper()
	stmt, err := classify.Parse(sql)
	if err != nil {
		t.Fatal(err)
	}
	return stmt
}

// What no statement asks for is refused all the same by what would have to answer it.
func TestSecondWalls(t *testing.T) {
	r := &run{session: &Session{}}
	sel, show := parsed(t, "SELECT 1"), parsed(t, "SHOW TABLES")
	if schema, err := answerSchema(sel); schema != nil || err == nil {
		t.Errorf("the gateway's own answer to a query: %v, %v", schema, err)
	}
	if res, err := r.answer(sel); res != nil || err == nil {
		t.Errorf("the gateway's own answer to a query: %v, %v", res, err)
	}
	var unsupported *classify.UnsupportedError
	if rows, err := r.explain(show); rows != nil || !errors.As(err, &unsupported) || unsupported.Pos != 0 {
		t.Errorf("EXPLAIN of what is no query: %v, %v", rows, err)
	}
	var syntax *classify.SyntaxError
	if rows, err := r.showColumns(show); rows != nil || !errors.As(err, &syntax) || syntax.Pos != -1 {
		t.Errorf("DESCRIBE of nothing: %v, %v", rows, err)
	}
	if err := r.useNamespace(nil); !errors.As(err, &syntax) || syntax.Pos != -1 {
		t.Errorf("USE of nothing: %v", err)
	}
}

// counting is an audit sink that counts.
type counting struct{ events int }

func (c *counting) Record(context.Context, audit.Event) error { c.events++; return nil }

// A run that ends is recorded and gives back its own place, once.
func TestEndsOnce(t *testing.T) {
	m, err := newMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	sink := &counting{}
	g := &Gateway{cfg: Config{Limits: Limits{Total: 9, PerUser: 9}, Audit: sink, Now: time.Now, Log: slog.New(slog.DiscardHandler)}, metrics: m, running: map[string]*run{}, perUser: map[string]int{}}
	s := &Session{identity: auth.Identity{Issuer: "i", Subject: "s"}}
	a, b, twin := &run{session: s, id: "a"}, &run{session: s, id: "b"}, &run{session: s, id: "a"}
	for _, r := range []*run{a, b} {
		if err := g.admit(r); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		r    *run
		left int
	}{{twin, 2}, {a, 1}, {a, 1}, {b, 0}, {b, 0}} {
		g.release(step.r)
		if g.perUser[owner(s.identity)] != step.left || len(g.running) != step.left {
			t.Errorf("%v running, %v of users, want %d", g.running, g.perUser, step.left)
		}
	}
	if len(g.perUser) != 0 {
		t.Errorf("of users who run nothing: %v", g.perUser)
	}
	c := &run{g: g, session: s, id: "c"}
	c.attach(t.Context(), time.Hour)
	if err := g.admit(c); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{ErrTimeout, errNoGrants} {
		if got := c.finish(err); got != err {
			t.Errorf("it ends with %v, not %v", got, err)
		}
	}
	if sink.events != 1 || c.ctx.Err() == nil || len(g.running) != 0 {
		t.Errorf("%d events, %v, %v", sink.events, c.ctx.Err(), g.running)
	}
}

// Close does not wait for ever for a statement that does not end.
func TestCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause error
		stuck := &run{cancel: func(err error) { cause = err }}
		g := &Gateway{running: map[string]*run{"q": stuck}, drained: make(chan struct{})}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		if err := g.Close(over); err == nil || cause != ErrClosing {
			t.Errorf("%v, the statement ends by %v", err, cause)
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("it waits %s", took)
		}
	})
}

// An event says where the policy has what it names, and nothing else.
func TestPlacesOf(t *testing.T) {
	f := func(id, rule string) policy.Expression { return policy.Expression{ID: id, SQL: "true", Rule: rule} }
	d := policy.Decision{
		Filters: []policy.Expression{f("a", "p:1"), f("a", "p:2"), f("a", "p:2"), f("b", ""), f("c", "p:3")},
		Masks:   map[string]policy.Expression{"x": f("m", "p:4"), "y": f("m", "p:5")},
	}
	rel := plan.Relation{}
	rel.Filters, rel.Masks = []string{"a", "b"}, []string{"x=m"}
	got := placesOf(d, rel)
	want := map[string]string{"a": "p:1, p:2", "x=m": "p:4"}
	if a := got["a"]; a != "p:1, p:2, p:2" && a != "p:1, p:2" || len(got) != 2 || got["x=m"] != "p:4" {
		t.Errorf("%v, want %v (%v)", got, want, slices.Sorted(maps.Keys(got)))
	}
	if got := placesOf(d, plan.Relation{}); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}
