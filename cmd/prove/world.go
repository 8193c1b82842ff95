package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gatehouse/audit"
	"gatehouse/auth"
	"gatehouse/auth/task"
	"gatehouse/catalog"
	"gatehouse/catalog/sql"
	"gatehouse/classify"
	"gatehouse/executors"
	"gatehouse/executors/duckdb"
	"gatehouse/gateway"
	"gatehouse/plan"
	"gatehouse/policy/opa"
)

// hashKey keys the hash masks of all twins alike.
func hashKey() auth.Secret { return auth.NewSecret("a key for the hash masks of the twins") }

// eve is the user whose observations are compared.
var eve = auth.Identity{Issuer: "prove", Subject: "eve", User: "eve", Roles: []string{"analyst"}, Method: "basic"}

// twin is one side with all stages in front of it, under each policy.
type twin struct {
	side     side
	executor executors.Executor
	catalog  *sql.Catalog
	gateways []*gateway.Gateway // by policy
	sessions []*gateway.Session
	doors    doors
}

// world is the twins under a number of policies.
type world struct {
	dir      string
	twins    []*twin
	rules    []*rules
	deciders []*opa.Decider
	cluster  *distributed // nil: statements run in the embedded engine
}

// worldConfig says what to build.
type worldConfig struct {
	dir      string // where to write; emptied at the end
	seed     uint64
	policies int
	sides    []side
	timeout  time.Duration // of a statement
	steady   bool          // as policy.steady
	cluster  clusterConfig
}

func newWorld(ctx context.Context, c worldConfig) (_ *world, err error) {
	w := &world{dir: c.dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	for i := range c.policies {
		r, err := newRules(c.seed*1000 + uint64(i))
		if err != nil {
			return nil, err
		}
		d, err := opa.New(opa.Config{Files: r.files, Version: "prove", Timeout: 10 * time.Second})
		if err != nil {
			return nil, fmt.Errorf("policy %d: %w\n%s", i, err, r.words)
		}
		w.rules, w.deciders = append(w.rules, r), append(w.deciders, d)
	}
	if c.cluster.programs != "" {
		if w.cluster, err = c.cluster.start(ctx, filepath.Join(c.dir, "cluster")); err != nil {
			return nil, err
		}
	}
	for _, s := range c.sides {
		t, err := w.newTwin(ctx, c, s)
		if err != nil {
			return nil, fmt.Errorf("side %c: %w", s, err)
		}
		w.twins = append(w.twins, t)
	}
	return w, nil
}

func (w *world) newTwin(ctx context.Context, c worldConfig, s side) (*twin, error) {
	dir := filepath.Join(c.dir, string(rune(s)))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := writeWarehouse(ctx, dir, s, c.seed); err != nil {
		return nil, err
	}
	planner, verifier, err := newPlanner()
	if err != nil {
		return nil, err
	}
	t := &twin{side: s}
	if t.catalog, err = sql.New(sql.Config{Name: catalogName, SQLite: filepath.Join(dir, catalogFile), Roots: []string{dir}}); err != nil {
		return nil, err
	}
	engine, err := duckdb.New(duckdb.Config{
		Verifier: verifier, Issuer: "prove", Dir: dir, MemoryBytes: 1 << 30, SpillBytes: 1 << 30, Threads: 2,
		HashKey: hashKey(),
	})
	if err != nil {
		return nil, errors.Join(err, t.catalog.Close())
	}
	t.executor = engine
	if w.cluster != nil {
		if t.executor, err = w.cluster.executor(engine, verifier); err != nil {
			return nil, errors.Join(err, engine.Close(), t.catalog.Close())
		}
	}
	for _, d := range w.deciders {
		g, err := gateway.New(gateway.Config{
			Decider: d, Catalogs: map[string]catalog.Catalog{catalogName: t.catalog}, Planner: planner, Executor: t.executor,
			Audit: nowhere{}, Default: classify.Namespace{Catalog: catalogName, Schema: namespace}, Steady: c.steady,
			Limits: gateway.Limits{Statement: c.timeout, ResultRows: 20000},
		})
		if err != nil {
			return nil, errors.Join(err, t.close())
		}
		session, err := g.NewSession(eve, "", "")
		if err != nil {
			return nil, errors.Join(err, t.close())
		}
		t.gateways, t.sessions = append(t.gateways, g), append(t.sessions, session)
	}
	return t, nil
}

// newPlanner is a planner, and what verifies the credentials in its plans.
func newPlanner() (*plan.Planner, *task.Verifier, error) {
	key, err := task.NewKey()
	if err != nil {
		return nil, nil, err
	}
	minter, err := task.NewMinter(task.MinterConfig{Key: key, Issuer: "prove"})
	if err != nil {
		return nil, nil, err
	}
	verifier, err := task.NewVerifier(task.VerifierConfig{Keys: []ed25519.PublicKey{minter.Public()}, Issuer: "prove"})
	if err != nil {
		return nil, nil, err
	}
	planner, err := plan.New(plan.Config{Minter: minter, Issuer: "prove"})
	return planner, verifier, err
}

func (t *twin) close() error {
	return errors.Join(t.doors.close(), t.executor.Close(), t.catalog.Close())
}

// close ends all engines and removes what was written.
func (w *world) close() error {
	var errs []error
	for _, t := range w.twins {
		errs = append(errs, t.close())
	}
	for _, d := range w.deciders {
		errs = append(errs, d.Close())
	}
	if w.cluster != nil {
		w.cluster.Stop()
	}
	return errors.Join(append(errs, os.RemoveAll(w.dir))...)
}

// nowhere is an audit sink: what an operator sees is not what is compared.
type nowhere struct{}

func (nowhere) Record(context.Context, audit.Event) error { return nil }
