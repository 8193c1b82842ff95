package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"gatehouse/audit"
	"gatehouse/catalog"
	"gatehouse/executors"
	"gatehouse/gateway"
	"gatehouse/policies"
	"gatehouse/policy"
	"gatehouse/policy/opa"
)

// TestEvents has all that is recorded of a statement: the audit events whole, with a clock that goes on by a millisecond with each look
// at it, the operator's log, and the metrics at the end.
func TestEvents(t *testing.T) {
	p := newParts(t)
	now := time.Date(2026, 2, 1, 0, 0, 0, 0, time.FixedZone("", 3600))
	p.config.Now = func() time.Time { now = now.Add(time.Millisecond); return now }
	var log bytes.Buffer
	p.config.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	metrics := prometheus.NewRegistry()
	p.config.Metrics = metrics
	g := p.gateway(t)
	sessions := map[string]*gateway.Session{}
	datadriven.RunTest(t, "testdata/events.dd", func(t *testing.T, d *datadriven.TestData) string {
		var b strings.Builder
		switch d.Cmd {
		case "metrics":
			w := httptest.NewRecorder()
			promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
			lines := strings.SplitAfter(w.Body.String(), "\n")
			return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return l == "" || l[0] == '#' || strings.Contains(l, "_bucket") }), "")
		case "table":
			p.shop.change(t, d)
			return ""
		}
		if sessions[d.Cmd] == nil {
			sessions[d.Cmd] = signIn(t, g, d.Cmd)
		}
		for sql := range strings.Lines(d.Input) {
			p.sink.events = nil
			log.Reset()
			text, err := rows(t, g, sessions[d.Cmd], strings.TrimSpace(sql))
			if err != nil {
				text = "error: " + err.Error() + "\n"
			}
			b.WriteString(text)
			for _, e := range p.sink.events {
				line, err := json.Marshal(e)
				check(t, err)
				fmt.Fprintf(&b, "%s\n", line)
			}
			b.WriteString(log.String())
		}
		return varying.ReplaceAllString(b.String(), "…")
	})
}

// varying is what an event or a line of the log has of random ids, of the shipped policy's revision, and of the engine's own words.
var varying = regexp.MustCompile(`[0-9a-f]{32,}|[0-9a-f]{16}\b|Conversion Error.*`)

// A gateway is made of parts that can do their work, or not at all.
func TestNew(t *testing.T) {
	p := newParts(t)
	for what, spoil := range map[string]func(*gateway.Config){
		"no policy decider": func(c *gateway.Config) { c.Decider = nil },
		"no planner":        func(c *gateway.Config) { c.Planner = nil },
		"no executor":       func(c *gateway.Config) { c.Executor = nil },
		"no audit sink":     func(c *gateway.Config) { c.Audit = nil },
		"no catalog":        func(c *gateway.Config) { c.Catalogs = nil },
		`executor "weak" proves no barrier`: func(c *gateway.Config) {
			c.Executor = weak{caps: executors.Capabilities{Tasks: executors.IdentityTask}}
		},
		`executor "weak" proves`: func(c *gateway.Config) {
			c.Executor = weak{caps: executors.Capabilities{Tasks: executors.IdentitySession, Barrier: true}}
		},
		`catalog name "" must not`:                  func(c *gateway.Config) { c.Catalogs = map[string]catalog.Catalog{"": p.shop} },
		`catalog name "a.b" must not be empty`:      func(c *gateway.Config) { c.Catalogs = map[string]catalog.Catalog{"a.b": p.shop} },
		`catalog name "a\"b" must not`:              func(c *gateway.Config) { c.Catalogs = map[string]catalog.Catalog{"a\"b": p.shop} },
		`catalog name "a\x00" must not be empty or`: func(c *gateway.Config) { c.Catalogs = map[string]catalog.Catalog{"a\x00": p.shop} },
	} {
		c := p.config
		spoil(&c)
		if _, err := gateway.New(c); err == nil || !strings.HasPrefix(err.Error(), "gateway: "+what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	p.config.Metrics = prometheus.NewRegistry()
	p.gateway(t)
	if _, err := gateway.New(p.config); err == nil || !strings.HasPrefix(err.Error(), "gateway: register metrics: ") {
		t.Errorf("a registry that has the metrics already: %v", err)
	}
}

type weak struct {
	executors.Executor
	caps executors.Capabilities
}

func (w weak) Capabilities() executors.Capabilities { w.caps.Name = "weak"; return w.caps }

// Each limit lets through what reaches it, and nothing beyond. A result that is not run any more frees its place.
func TestLimitBounds(t *testing.T) {
	p := newParts(t)
	query := func(g *gateway.Gateway, s *gateway.Session, sql string) error {
		_, err := rows(t, g, s, sql)
		return err
	}
	const six = "SELECT id FROM Open" // rows of 8 bytes
	for _, c := range []struct {
		limits gateway.Limits
		want   string
	}{
		{gateway.Limits{ResultRows: 6}, ""},
		{gateway.Limits{ResultRows: 5}, "limit reached: 5 rows of one result"},
		{gateway.Limits{ResultRows: 1}, "limit reached: 1 rows of one result"},
		{gateway.Limits{ResultBytes: 1}, "limit reached: 1 bytes of one result"},
		{gateway.Limits{}, ""},
	} {
		p.config.Limits = c.limits
		g := p.gateway(t)
		err := query(g, signIn(t, g, "bob"), six)
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%+v: %v", c.limits, err)
		}
	}
	g := p.gateway(t)
	check(t, query(g, signIn(t, g, "bob"), six))
	size := p.sink.last().Bytes
	for _, off := range []int64{-1, 0, 1} {
		p.config.Limits = gateway.Limits{ResultBytes: size + off}
		g := p.gateway(t)
		if err := query(g, signIn(t, g, "bob"), six); (err == nil) != (off >= 0) {
			t.Errorf("a result of %d bytes with a limit of %d: %v", size, size+off, err)
		}
	}

	for _, c := range []struct {
		limits          gateway.Limits
		perUser, others int // how many statements fit
	}{{gateway.Limits{PerUser: 2, Total: 3}, 2, 1}, {gateway.Limits{PerUser: 3, Total: 3}, 3, 0}, {gateway.Limits{}, 32, 32}, {gateway.Limits{PerUser: 255}, 255, 1}} {
		p.config.Limits = c.limits
		g := p.gateway(t)
		var held []*gateway.Result
		fill := func(user, want string) int {
			for n := 0; ; n++ {
				w := watched{t.Context(), new(atomic.Int64)}
				res, err := g.Query(w, signIn(t, g, user), "SHOW ROLES")
				if err != nil {
					if n := w.waiting.Load(); n != 0 {
						t.Errorf("%d things wait for the end of a call that was refused", n)
					}
					var limit *gateway.LimitError
					if !errors.As(err, &limit) || limit.What != want {
						t.Errorf("%+v: %s: %v", c.limits, user, err)
					}
					return n
				}
				held = append(held, res)
			}
		}
		word := func(full bool) string {
			if full {
				return "statements at once"
			}
			return "statements of one user at once"
		}
		total := c.limits.Total
		if total == 0 {
			total = 256
		}
		if n := fill("bob", word(total == c.perUser)); n != c.perUser {
			t.Errorf("%+v: %d statements of one user", c.limits, n)
		}
		if n := fill("bob@away", word(total == c.perUser+c.others)); n != c.others {
			t.Errorf("%+v: %d statements of another one", c.limits, n)
		}
		for _, r := range held {
			r.Close()
		}
		held = nil
		if n := fill("bob", word(total == c.perUser)); n != c.perUser {
			t.Errorf("%+v: %d statements when all had ended", c.limits, n)
		}
		for _, r := range held {
			r.Close()
		}
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// Changes of rights that others' changes get in between of are decided anew, up to a point, and a gateway without a store of rights says so.
func TestChangesInBetween(t *testing.T) {
	for between, want := range map[int]string{0: "", 1: "", 7: "", 8: "limit reached: changes of rights at once, try again"} {
		p := newParts(t)
		store := &busy{RightsStore: p.config.Grants, left: between}
		p.config.Grants = store
		g := p.gateway(t)
		_, err := rows(t, g, signIn(t, g, "root"), "CREATE ROLE hr")
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%d changes in between: %v", between, err)
		}
		if n := len(slices.DeleteFunc(p.sink.events, func(e audit.Event) bool { return e.Outcome != audit.Started })); want == "" && n != between+2 {
			t.Errorf("%d changes in between: %d events before", between, n)
		}
	}
	// What was allowed a moment ago is not any more.
	p := newParts(t)
	furnish(t, p, p.gateway(t))
	store := &busy{RightsStore: p.config.Grants, left: 1}
	p.config.Grants = store
	g := p.gateway(t)
	store.meanwhile = func() {
		other := p
		other.config.Grants = store.RightsStore
		o := other.gateway(t)
		_, err := rows(t, o, signIn(t, o, "root"), "REVOKE OWNERSHIP ON Orders FROM USER olga")
		check(t, err)
	}
	if _, err := rows(t, g, signIn(t, g, "olga"), "GRANT SELECT ON Orders TO USER eve"); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("an owner who is none any more: %v", err)
	}

	// Whatever fails while it is decided anew ends it.
	f := &faults{}
	failing := newParts(t).withFaults(f)
	again := &busy{RightsStore: failing.config.Grants}
	failing.config.Grants = again
	anew, create := failing.gateway(t), statement("root", "CREATE ROLE hr")
	for k := 1; ; k++ {
		again.left = 1
		before := failing.version(t)
		_, err := failing.try(t, anew, f, create, k, "fails")
		if len(f.calls) < k {
			check(t, err)
			break
		}
		failing.checkFault(t, f, create, k, "", err)
		if failing.version(t) != before {
			break // it failed after the change
		}
	}

	p = newParts(t)
	files, err := policies.Files(policies.Skeleton)
	check(t, err)
	decider, err := opa.New(opa.Config{Files: files})
	check(t, err)
	defer decider.Close()
	p.config.Decider = decider
	g = p.gateway(t)
	for _, sql := range []string{"CREATE ROLE hr", "SHOW GRANTS", "SET ROLE hr"} {
		var none *policy.RightsError
		if _, err := rows(t, g, signIn(t, g, "root"), sql); !errors.As(err, &none) {
			t.Errorf("%s with a policy that knows no rights: %v", sql, err)
		}
	}
	p = newParts(t)
	p.config.Grants = nil
	g = p.gateway(t)
	for _, sql := range []string{"CREATE ROLE hr", "GRANT SELECT ON Open TO USER bob", "SHOW GRANTS", "SHOW CURRENT ROLE", "SET ROLE hr", "CHECK ACCESS SELECT ON Open FOR USER root"} {
		var none *policy.RightsError
		if _, err := rows(t, g, signIn(t, g, "root"), sql); !errors.As(err, &none) || !strings.Contains(err.Error(), "no store of rights") {
			t.Errorf("%s without a store: %v", sql, err)
		}
	}
	if got, err := rows(t, g, signIn(t, g, "bob"), "SELECT current_role, count(*) FROM Open"); err != nil || got != "all  6\n" {
		t.Errorf("a query without a store: %q, %v", got, err)
	}
}

// busy is a store of rights that others change at the same time.
type busy struct {
	policy.RightsStore
	left      int
	meanwhile func()
}

func (b *busy) Apply(ctx context.Context, base policy.Rights, who policy.Author, changes []policy.Change) (policy.Rights, error) {
	if b.left == 0 {
		return b.RightsStore.Apply(ctx, base, who, changes)
	}
	b.left--
	if b.meanwhile != nil {
		b.meanwhile()
	}
	return nil, fmt.Errorf("busy: %w", policy.ErrRightsChanged)
}
