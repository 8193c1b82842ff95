package shadow_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"gatehouse/auth"
	"gatehouse/classify"
	"gatehouse/policies"
	"gatehouse/policy"
	"gatehouse/policy/opa"
	"gatehouse/policy/policytest"
	"gatehouse/policy/shadow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lines is a log that may be read while it is written.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func opened(t *testing.T, change map[string]string) *opa.Decider {
	t.Helper()
	files, err := policies.Files(policies.Demo)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range change {
		files[name] = []byte(text)
	}
	d, err := opa.New(opa.Config{Files: files, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func counted(t *testing.T, reg *prometheus.Registry, result string) float64 {
	t.Helper()
	all, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		for _, m := range f.GetMetric() {
			if m.GetLabel()[0].GetValue() == result {
				return m.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("there is no number of what is %s", result)
	return 0
}

var (
	alice    = auth.Identity{Issuer: "i", Subject: "a", User: "alice", Roles: []string{"analyst_eu"}}
	products = classify.Name{Catalog: "lake", Schema: "shop", Table: "products"}
)

func ask(t *testing.T, d policy.Decider) (bool, policy.Decision) {
	t.Helper()
	j, err := d.Judge(t.Context(), policytest.Caller(alice))
	if err != nil {
		t.Fatal(err)
	}
	ok, err := j.Allow(t.Context(), policy.FilterTables, []policy.Resource{{Catalog: "lake", Schema: "shop", Table: "payroll"}, {Catalog: "lake", Schema: "shop", Table: "products"}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := j.Table(t.Context(), policy.Table{Name: products, Columns: []classify.Column{{Name: "name", FieldID: 1, Type: "VARCHAR"}}}, []string{"name"})
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := j.(policy.Pinned); !ok || p.Rights() != nil {
		t.Error("the judge does not say with which rights it decides")
	}
	return ok[0] || !ok[1], out
}

// The live policy decides; the operator learns of each difference once, and nothing of the policies' texts.
func TestDifferences(t *testing.T) {
	for _, c := range []struct {
		name      string
		candidate map[string]string
		logged    []string
		counts    [4]float64 // same, different, failed, dropped
	}{
		{"the same", nil, nil, [4]float64{4, 0, 0, 0}},
		{
			"more is visible",
			map[string]string{"tables/lake/shop/payroll.rego": "package tables.lake.shop.payroll\n\nread := true\n"},
			[]string{`"operation":"FilterTables","object":"lake.shop.payroll","live":"denied","candidate":"allowed"`},
			[4]float64{2, 2, 0, 0},
		},
		{
			"other filters and masks",
			map[string]string{"tables/lake/shop/products.rego": "package tables.lake.shop.products\n\nread := true\n\nrow_filters contains {\"id\": \"few\", \"expression\": \"name = 'secret'\"}\n\nmasks.name := {\"expression\": \"NULL\"}\n"},
			[]string{`"object":"lake.shop.products","live":"no filters","candidate":"filters few (tables/lake/shop/products.rego:5)"`, `"object":"lake.shop.products.name","live":"no mask"`},
			[4]float64{2, 2, 0, 0},
		},
		{
			"a fault",
			map[string]string{"tables/lake/shop/products.rego": "package tables.lake.shop.products\n\nread := true\n\nrow_filters contains 7\n"},
			[]string{`"candidate":"a fault"`, `"rule":"entry/trino.rego:`, "not an object"},
			[4]float64{2, 0, 2, 0},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				live, candidate := opened(t, nil), opened(t, c.candidate)
				wantOpen, want := ask(t, live)
				reg := prometheus.NewRegistry()
				counter, err := shadow.NewCounter(reg)
				if err != nil {
					t.Fatal(err)
				}
				log := &lines{}
				d, err := shadow.New(shadow.Config{Live: live, Candidate: candidate, Log: slog.New(slog.NewJSONHandler(log, nil)), Counter: counter})
				if err != nil {
					t.Fatal(err)
				}
				for range 2 {
					if open, got := ask(t, d); open != wantOpen || len(got.Filters) != len(want.Filters) || len(got.Masks) != len(want.Masks) {
						t.Error("the candidate decides")
					}
				}
				synctest.Wait() // the worker has nothing left to do
				if err := d.Close(); err != nil {
					t.Fatal(err)
				}
				for i, r := range []string{"same", "different", "failed", "dropped"} {
					if n := counted(t, reg, r); n != c.counts[i] {
						t.Errorf("%s: %v, want %v", r, n, c.counts[i])
					}
				}
				for _, w := range c.logged {
					if strings.Count(log.String(), w) != 1 {
						t.Errorf("not logged once: %s", w)
					}
				}
				if strings.Contains(log.String(), "secret") || c.logged == nil && log.String() != "" {
					t.Error("the log says too much")
				}
				if t.Failed() {
					t.Log(log.String())
				}
			})
		})
	}
}

// open allows everything.
type open struct{}

func (o open) Judge(context.Context, policy.Caller) (policy.Judge, error) { return o, nil }
func (open) Revision() string                                             { return "open" }

func (open) Allow(_ context.Context, _ policy.Operation, rs []policy.Resource) ([]bool, error) {
	return make([]bool, len(rs)), nil
}

func (open) Table(context.Context, policy.Table, []string) (policy.Decision, error) {
	return policy.Decision{}, nil
}

// stuck is a candidate that never answers.
type stuck struct{}

func (stuck) Judge(ctx context.Context, _ policy.Caller) (policy.Judge, error) {
	<-ctx.Done()
	return nil, errors.New("too late")
}

// A candidate that hangs takes no time from anybody: what it does not get to is dropped.
func TestNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		counter, err := shadow.NewCounter(reg)
		if err != nil {
			t.Fatal(err)
		}
		d, err := shadow.New(shadow.Config{Live: open{}, Candidate: stuck{}, Queue: 2, Counter: counter})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		j, err := d.Judge(t.Context(), policytest.Caller(alice))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Allow(t.Context(), policy.ExecuteQuery, []policy.Resource{{}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the worker has taken the first question
		for range 9 {
			if _, err := j.Allow(t.Context(), policy.ExecuteQuery, []policy.Resource{{}}); err != nil {
				t.Fatal(err)
			}
		}
		if n := counted(t, reg, "dropped"); n != 7 || time.Since(start) != 0 {
			t.Errorf("%v dropped of 10 after %v, want 7 and no time", n, time.Since(start))
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	if _, err := shadow.New(shadow.Config{Live: open{}}); err == nil {
		t.Error("one policy is enough")
	}
}
