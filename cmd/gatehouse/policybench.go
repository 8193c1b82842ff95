package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"gatehouse/audit"
	"gatehouse/auth"
	"gatehouse/catalog"
	"gatehouse/executors"
	"gatehouse/gateway"
	"gatehouse/plan"
	"gatehouse/policy"
	"gatehouse/policy/grants"
	"gatehouse/policy/opa"
)

// benchOptions say which policy a tool looks at, and which tables.
type benchOptions struct {
	policy            string // folder; "": the configuration's
	config, warehouse string
	rego              string // "": the configuration's
	lenient           bool
}

// bench is a gateway without a door: the parts of "gatehouse serve" around policies that an author works on. It writes no audit
// log, and nothing that a user could reach.
type bench struct {
	process
	cfg      Config
	users    []userEntry
	catalogs map[string]catalog.Catalog // nil: no tables are known
	rights   *grants.Store
	planner  *plan.Planner
	executor *planLog
	events   *eventLog
}

// openBench opens the catalogs and the engine that o names. The caller closes it.
func openBench(ctx context.Context, o benchOptions) (*bench, error) {
	cfg, err := benchConfig(o)
	if err != nil {
		return nil, err
	}
	b := &bench{cfg: cfg, events: &eventLog{}}
	b.log = slog.New(slog.DiscardHandler)
	if err := b.open(ctx); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) open(ctx context.Context) (err error) {
	if file := b.cfg.Auth.UsersFile; file != "" {
		doc, _, err := readUsers(file)
		if err != nil {
			return err
		}
		b.users = doc.Users
	}
	if len(b.cfg.Catalogs) == 0 {
		return nil
	}
	if b.catalogs, err = b.process.catalogs(b.cfg, nil, b.log); err != nil {
		return err
	}
	if b.rights, err = openGrants(ctx, b.cfg.Grants, b.log); err != nil {
		return err
	}
	if b.rights != nil {
		b.own(b.rights.Close)
	}
	return b.engine()
}

// engine starts the planner and the executor.
func (b *bench) engine() error {
	key, err := optionalSecret(b.cfg.Policy.HashKeyFile)
	if err != nil {
		return fmt.Errorf("policy.hash_key_file: %w", err)
	}
	if b.cfg.Policy.HashKeyFile == "" { // so that gw_hash works; its values here are nobody's
		var k [32]byte
		if _, err := rand.Read(k[:]); err != nil {
			return err
		}
		key = auth.NewSecret(hex.EncodeToString(k[:]))
	}
	minter, verifier, err := taskKeys(b.cfg)
	if err != nil {
		return err
	}
	if b.planner, err = plan.New(plan.Config{Minter: minter, Issuer: issuer, MaxTTL: statementLimit(b.cfg)}); err != nil {
		return err
	}
	x, err := openDuckDB(b.cfg, verifier, key, nil, b.log)
	if err != nil {
		return err
	}
	b.own(x.Close)
	b.executor = &planLog{Executor: x}
	return nil
}

// benchConfig is the configuration that o names.
func benchConfig(o benchOptions) (Config, error) {
	var cfg Config
	switch {
	case o.config != "" && o.warehouse != "":
		return cfg, &usageError{"--config and --warehouse are two places of tables; give one"}
	case o.config != "":
		var err error
		if cfg, err = LoadConfig(o.config); err != nil {
			return cfg, err
		}
	case o.warehouse != "":
		text, home, err := targetCatalog(o.warehouse, "")
		if err != nil {
			return cfg, err
		}
		if cfg, _, err = parseConfig([]byte("catalogs:\n" + text)); err != nil {
			return cfg, err
		}
		here, err := os.Getwd()
		if err != nil {
			return cfg, err
		}
		cfg.resolve(here)
		if info, err := os.Stat(o.warehouse); err == nil && info.IsDir() { // links must stay on the file system of the data
			cfg.Executor.Dir = filepath.Join(home, "run")
		}
	}
	cfg.Audit = AuditConfig{}
	if o.policy != "" {
		cfg.Policy.Dir, cfg.Policy.Bundle = o.policy, BundleConfig{}
	}
	if o.rego != "" {
		cfg.Policy.Rego = o.rego
	}
	cfg.Policy.Lenient = cfg.Policy.Lenient || o.lenient
	if cfg.Policy.Dir == "" {
		return cfg, &usageError{"name a policy folder: as an argument, or by --config with policy.dir"}
	}
	return cfg, nil
}

// opaConfig is how the gateway would read the policy in dir.
func (b *bench) opaConfig(dir string) opa.Config {
	c := opa.Config{
		Folder: dir, Rego: b.cfg.Policy.Rego, Lenient: b.cfg.Policy.Lenient, Prefer: b.cfg.Policy.Prefer, FoldNames: b.cfg.Policy.foldNames(),
		Timeout: b.cfg.Policy.Timeout, Version: version, Log: b.log,
	}
	if b.rights != nil {
		c.Rights = b.rights
	}
	return c
}

// decider compiles the policy in dir; its questions go to trace, which may be nil.
func (b *bench) decider(dir string, trace *traceLog) (*opa.Decider, error) {
	c := b.opaConfig(dir)
	if trace != nil {
		c.Trace = trace.add
	}
	d, err := opa.New(c)
	if err != nil {
		return nil, err
	}
	b.own(d.Close)
	return d, nil
}

// gateway runs statements over the bench's tables by d.
func (b *bench) gatewayFor(d policy.Decider) (*gateway.Gateway, error) {
	if b.catalogs == nil {
		return nil, &usageError{"name the tables: --config FILE, or --warehouse FOLDER"}
	}
	c := gateway.Config{
		Decider: d, Catalogs: b.catalogs, Planner: b.planner, Executor: b.executor, Audit: b.events,
		Default: defaultNamespace(b.cfg), Limits: gateway.Limits{Statement: statementLimit(b.cfg)},
	}
	if b.rights != nil {
		c.Grants = b.rights
	}
	return gateway.New(c)
}

// planLog is an executor that keeps the last plan that it was given.
type planLog struct {
	executors.Executor
	mu   sync.Mutex
	last *plan.Plan
}

// Prepare implements executors.Executor.
func (l *planLog) Prepare(ctx context.Context, p *plan.Plan) (executors.Prepared, error) {
	l.mu.Lock()
	l.last = p
	l.mu.Unlock()
	return l.Executor.Prepare(ctx, p)
}

// take returns the last plan and forgets it.
func (l *planLog) take() *plan.Plan {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.last
	l.last = nil
	return p
}

// eventLog keeps the last audit event: tools tell their users themselves what was done.
type eventLog struct {
	mu   sync.Mutex
	last audit.Event
}

// Record implements audit.Sink.
func (l *eventLog) Record(_ context.Context, e audit.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = e
	return nil
}

// traceLog keeps what was asked of a policy.
type traceLog struct {
	mu   sync.Mutex
	seen []opa.Evaluation
}

func (l *traceLog) add(e opa.Evaluation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, e)
}

// take returns what was asked since the last call.
func (l *traceLog) take() []opa.Evaluation {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.seen
	l.seen = nil
	return out
}

// causeOf returns what is behind an error that the gateway gives, for the author of the policy.
func causeOf(err error) (rule string, cause error) {
	var fault *policy.PolicyError
	if errors.As(err, &fault) && fault.Cause != nil {
		return fault.Rule, fault.Cause
	}
	var engine *executors.Error
	if errors.As(err, &engine) && engine.Cause != nil {
		return "", engine.Cause
	}
	var internal *gateway.InternalError
	if errors.As(err, &internal) && errors.Unwrap(internal) != nil {
		return "", errors.Unwrap(internal)
	}
	return "", err
}
