package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"gatehouse/audit"
	"gatehouse/auth"
	"gatehouse/auth/basic"
	"gatehouse/auth/oidc"
	"gatehouse/auth/task"
	"gatehouse/catalog"
	"gatehouse/catalog/rest"
	sqlcat "gatehouse/catalog/sql"
	"gatehouse/classify"
	"gatehouse/executors/ballista"
	"gatehouse/executors/ballista/api"
	"gatehouse/executors/duckdb"
	"gatehouse/gateway"
	"gatehouse/gateway/flight"
	"gatehouse/objects/s3"
	"gatehouse/plan"
	"gatehouse/policy/grants"
	"gatehouse/policy/opa"
)

// issuer is the gateway's own name in task credentials.
const issuer = "gatehouse"

// process is one running gateway with everything that it owns.
type process struct {
	ls      *listeners
	gateway *gateway.Gateway
	flight  *flight.Server
	ops     *operations
	log     *slog.Logger
	closers []func() error // in the order of making
}

// assemble builds a process from a checked configuration. It is the one place where parts meet. On an error everything
// that was made is closed again.
func assemble(ctx context.Context, cfg Config, ls *listeners, env environment) (p *process, err error) {
	level := slog.LevelWarn
	if cfg.example {
		level = slog.LevelError // a failed statement is part of the show
	}
	log := slog.New(slog.NewJSONHandler(env.stderr, &slog.HandlerOptions{Level: level}))
	p = &process{ls: ls, log: log}
	made := p // an error returns no process
	defer func() {
		if err != nil {
			made.close()
		}
	}()
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	sink, err := audit.NewFile(audit.FileConfig{Path: cfg.Audit.File, Sync: cfg.Audit.Sync})
	if err != nil {
		return nil, fmt.Errorf("audit.file: %w", err)
	}
	p.own(sink.Close)
	authn, err := authenticators(cfg, log)
	if err != nil {
		return nil, err
	}
	catalogs, err := p.catalogs(cfg, reg, log)
	if err != nil {
		return nil, err
	}
	rights, err := openGrants(ctx, cfg.Grants, log)
	if err != nil {
		return nil, err
	}
	if rights != nil {
		p.own(rights.Close)
	}
	decider, err := decider(cfg, rights, log)
	if err != nil {
		return nil, err
	}
	p.own(decider.Close)
	decides, err := p.shadowed(cfg, decider, rights, reg, log)
	if err != nil {
		return nil, err
	}
	hashKey, err := optionalSecret(cfg.Policy.HashKeyFile)
	if err != nil {
		return nil, fmt.Errorf("policy.hash_key_file: %w", err)
	}
	minter, verifier, err := taskKeys(cfg)
	if err != nil {
		return nil, err
	}
	planner, err := plan.New(plan.Config{Minter: minter, Issuer: issuer, MaxTTL: statementLimit(cfg)})
	if err != nil {
		return nil, err
	}
	executor, err := p.executor(cfg, verifier, hashKey, reg, log)
	if err != nil {
		return nil, err
	}
	sizes, err := cfg.sizes()
	if err != nil {
		return nil, err
	}
	config := gateway.Config{
		Decider: decides, Catalogs: catalogs, Planner: planner, Executor: executor, Audit: sink,
		Default: defaultNamespace(cfg), Log: log, Metrics: reg, Steady: cfg.Policy.Steady,
		Issuers: cfg.issuers(),
		Limits: gateway.Limits{
			Statement: cfg.Limits.Statement, PerUser: cfg.Limits.PerUser, Total: cfg.Limits.Total, ResultRows: cfg.Limits.ResultRows,
			ResultBytes: sizes[resultSize],
		},
	}
	if rights != nil {
		config.Grants = rights
	}
	p.gateway, err = gateway.New(config)
	if err != nil {
		return nil, err
	}
	p.flight, err = flight.New(flight.Config{
		Gateway: p.gateway, Auth: authn, Version: version, Log: log,
		TLS:      flight.TLS{CertFile: cfg.TLS.Cert, KeyFile: cfg.TLS.Key, ClientCAFile: cfg.TLS.ClientCA, RequireClientCert: cfg.TLS.ClientCA != ""},
		Sessions: flight.SessionLimits{Idle: cfg.Auth.Idle, Absolute: cfg.Auth.Absolute},
	})
	if err != nil {
		return nil, err
	}
	var cluster http.Handler
	if x, ok := executor.(*ballista.Executor); ok {
		cluster = operatorsOnly(p.flight, p.gateway, api.New(x))
	}
	p.ops = newOperations(reg, p.gateway.Ready, cluster)
	return p, nil
}

func (p *process) own(f func() error) { p.closers = append(p.closers, f) }

// close frees what the process owns, last made first.
func (p *process) close() {
	for i := len(p.closers) - 1; i >= 0; i-- {
		if err := p.closers[i](); err != nil {
			p.log.Warn("close", slog.Any("cause", err))
		}
	}
	p.closers = nil
}

// drainTime is how long running statements may go on after the first signal.
const drainTime = 20 * time.Second

// serve runs until ctx ends: it answers on both listeners, calls ready once, drains and closes.
func (p *process) serve(ctx context.Context, env environment, ready func(context.Context) error) error {
	defer p.close()
	failed := make(chan error, 2)
	go func() { failed <- p.flight.Serve(p.ls.flight) }()
	if p.ls.http != nil {
		go func() { failed <- p.ops.serve(p.ls.http) }()
	}
	err := ready(ctx)
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-failed:
		}
	}
	if ctx.Err() != nil {
		err = nil
		fmt.Fprintln(env.stdout, "\nStopping: running statements are given", drainTime, "to end; a second Ctrl-C stops at once.")
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	return errors.Join(err, p.gateway.Close(drain), p.flight.Close(drain), p.ops.close(drain))
}

func authenticators(cfg Config, log *slog.Logger) (auth.Authenticator, error) {
	var chain auth.Chain
	if cfg.Auth.UsersFile != "" {
		users, err := basic.New(basic.Config{File: cfg.Auth.UsersFile, Log: log})
		if err != nil {
			return nil, fmt.Errorf("auth.users_file: %w", err)
		}
		chain = append(chain, users)
	}
	for i, o := range cfg.Auth.OIDC {
		c := oidc.Config{
			Issuer: o.Issuer, Audiences: o.Audience, Algorithms: o.Algorithms, Log: log,
			InsecureLoopback: strings.HasPrefix(o.Issuer, "http://"),
			Mapping:          oidc.Mapping{User: o.User, Groups: o.Groups, Roles: o.Roles, Claims: map[string]string{}},
		}
		for _, claim := range o.Claims {
			c.Mapping.Claims[claim] = claim
		}
		if o.PasswordClient != "" {
			secret, err := optionalSecret(o.PasswordSecret)
			if err != nil {
				return nil, fmt.Errorf("auth.oidc[%d].password_secret: %w", i, err)
			}
			c.PasswordGrant = &oidc.PasswordGrant{ClientID: o.PasswordClient, ClientSecret: secret}
		}
		one, err := oidc.New(c)
		if err != nil {
			return nil, fmt.Errorf("auth.oidc[%d]: %w", i, err)
		}
		chain = append(chain, one)
	}
	return chain, nil
}

func (p *process) catalogs(cfg Config, reg prometheus.Registerer, log *slog.Logger) (map[string]catalog.Catalog, error) {
	stores, err := s3.NewMetrics(reg)
	if err != nil {
		return nil, err
	}
	out := map[string]catalog.Catalog{}
	for name, c := range cfg.Catalogs {
		made, err := openCatalog(name, c, stores, log)
		if err != nil {
			return nil, fmt.Errorf("catalogs.%s: %w", name, err)
		}
		p.own(made.Close)
		out[name] = made
	}
	return out, nil
}

func openCatalog(name string, c CatalogConfig, stores *s3.Metrics, log *slog.Logger) (catalog.Catalog, error) {
	if c.Type == "rest" {
		token, err := optionalSecret(c.ServiceToken)
		if err != nil {
			return nil, fmt.Errorf("service_token: %w", err)
		}
		r := rest.Config{Name: name, URI: c.URI, Warehouse: c.Warehouse, Roots: c.Roots, ServiceToken: token}
		switch {
		case c.vends():
			place, err := c.S3.place(stores)
			if err != nil {
				return nil, err
			}
			r.S3 = &place
		case c.S3 != (S3Config{}):
			if r.Objects, err = c.S3.open(name, stores, log); err != nil {
				return nil, err
			}
		}
		return rest.New(r)
	}
	s := sqlcat.Config{Name: name, Catalog: c.Catalog, Roots: c.Roots}
	if c.S3 != (S3Config{}) {
		var err error
		if s.Objects, err = c.S3.open(name, stores, log); err != nil {
			return nil, err
		}
	}
	if file, ok := strings.CutPrefix(c.URI, "postgres:"); ok {
		secret, err := readSecret(file)
		if err != nil {
			return nil, fmt.Errorf("uri: %w", err)
		}
		s.Postgres = secret
		return sqlcat.New(s)
	}
	s.SQLite = c.URI
	if len(s.Roots) == 0 {
		dir, err := filepath.Abs(filepath.Dir(c.URI))
		if err != nil {
			return nil, err
		}
		s.Roots = []string{dir}
	}
	return sqlcat.New(s)
}

func decider(cfg Config, rights *grants.Store, log *slog.Logger) (*opa.Decider, error) {
	c := opa.Config{
		Folder: cfg.Policy.Dir, Rego: cfg.Policy.Rego, Lenient: cfg.Policy.Lenient, Prefer: cfg.Policy.Prefer, FoldNames: cfg.Policy.foldNames(),
		Timeout: cfg.Policy.Timeout, Version: version, Log: log,
	}
	if rights != nil {
		c.Rights = rights
	}
	if all := cfg.issuers(); len(all) > 0 {
		c.HomeIssuer = all[0]
	}
	if b := cfg.Policy.Bundle; b.URL != "" {
		token, err := optionalSecret(b.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("policy.bundle.token_file: %w", err)
		}
		key, err := readSecret(b.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("policy.bundle.key_file: %w", err)
		}
		alg := b.Algorithm
		if alg == "" {
			alg = "RS256"
		}
		c.Bundle = &opa.BundleServer{
			URL: b.URL, Token: token, Keys: map[string]opa.Key{"default": {Key: key, Algorithm: alg}}, KeyID: "default",
			Poll: b.Poll, MaxAge: b.MaxAge,
		}
	}
	d, err := opa.New(c)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	return d, nil
}

func taskKeys(cfg Config) (auth.Minter, auth.Verifier, error) {
	var key ed25519.PrivateKey
	var err error
	if cfg.Auth.TaskKey != "" {
		key, err = task.LoadKey(cfg.Auth.TaskKey)
	} else {
		key, err = task.NewKey()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("auth.task_key: %w", err)
	}
	life := statementLimit(cfg) + time.Minute // deadlines are rounded up to whole seconds
	minter, err := task.NewMinter(task.MinterConfig{Key: key, Issuer: issuer, MaxLife: life})
	if err != nil {
		return nil, nil, err
	}
	verifier, err := task.NewVerifier(task.VerifierConfig{Keys: []ed25519.PublicKey{minter.Public()}, Issuer: issuer, MaxLife: life})
	return minter, verifier, err
}

// statementLimit is how long a statement, and so its task credentials, may last.
func statementLimit(cfg Config) time.Duration {
	if cfg.Limits.Statement > 0 {
		return cfg.Limits.Statement
	}
	return gateway.DefaultStatement
}

func openDuckDB(cfg Config, v auth.Verifier, hashKey auth.Secret, reg prometheus.Registerer, log *slog.Logger) (*duckdb.Executor, error) {
	sizes, err := cfg.sizes()
	if err != nil {
		return nil, err
	}
	if cfg.Executor.Dir != "" {
		if err := os.MkdirAll(cfg.Executor.Dir, 0o700); err != nil {
			return nil, fmt.Errorf("executor.dir: %w", err)
		}
	}
	x, err := duckdb.New(duckdb.Config{
		Verifier: v, Issuer: issuer, Dir: cfg.Executor.Dir, Threads: cfg.Executor.Threads,
		MemoryBytes: sizes[engineMemory], SpillBytes: sizes[engineSpill], ProcessBytes: sizes[processMemory],
		CopyBytes:       sizes[engineCopies],
		UserMemoryBytes: sizes[userMemory], UserSpillBytes: sizes[userSpill],
		HashKey: hashKey, Log: log, Metrics: reg,
	})
	if err != nil {
		return nil, fmt.Errorf("executor: %w", err)
	}
	return x, nil
}

// defaultNamespace is where unqualified names resolve: what the configuration says, or else the only catalog.
func defaultNamespace(cfg Config) classify.Namespace {
	ns := classify.Namespace{Catalog: cfg.Session.Catalog, Schema: cfg.Session.Schema}
	if ns.Catalog == "" && len(cfg.Catalogs) == 1 {
		for name := range cfg.Catalogs {
			ns.Catalog = name
		}
	}
	return ns
}

// optionalSecret reads a secret file; no path is no secret.
func optionalSecret(path string) (auth.Secret, error) {
	if path == "" {
		return auth.Secret{}, nil
	}
	return readSecret(path)
}

func readSecret(path string) (auth.Secret, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return auth.Secret{}, err
	}
	s := strings.TrimRight(string(b), "\r\n")
	if s == "" {
		return auth.Secret{}, fmt.Errorf("%s is empty", path)
	}
	return auth.NewSecret(s), nil
}
