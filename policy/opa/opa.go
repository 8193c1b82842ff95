// Package opa decides with Rego policies, evaluated in process by Open Policy Agent's own engine.
//
// The contract is that of Trino's OPA plugin (the same entry rules, the same input), with more input under the key
// "gateway" and stricter rules for what is undefined: see policies/README.md. A policy is compiled into an immutable
// engine, which a statement holds from admission to its end; a new revision replaces the engine as a whole, and only
// if it compiles.
package opa

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"gatehouse/policy"
)

// Config says where the policy is and how it is asked. Exactly one of Folder, Files and Bundle is set.
type Config struct {
	Folder string            // a folder of Rego and data files, watched for changes
	Files  map[string][]byte // fixed files by slash-separated path
	Bundle *BundleServer     // an OPA bundle server

	Rights policy.RightsSource // what policies see as data.gateway.grants; nil: nothing

	// HomeIssuer is the issuer whose users are "user:NAME" in rights; those of others are named with their issuer. "": there is
	// one issuer.
	HomeIssuer string

	Entry     EntryPoints
	Prefer    string        // "batch": ask batch rules where both forms exist; "": single rules
	Rego      string        // "v1" (default), "v0", or "auto": v1, and v0 if that does not parse
	Lenient   bool          // do not check the policy against the input schema, for policies written for other systems
	FoldNames bool          // ask in lower-case names, as Trino does; not together with Rights, which mean names as they are
	Legacy    bool          // a failing built-in is undefined instead of an error
	Timeout   time.Duration // of one decision; default 2 s
	Trino     string        // the Trino version that policies see; default "476"
	Version   string        // the gateway's version that policies see
	MaxBytes  int64         // of a policy's files together; default 64 MiB
	Debounce  time.Duration // quiet time before a changed folder is read; default 100 ms
	Log       *slog.Logger  // for the operator; default: slog.Default
	Now       func() time.Time
	Rand      io.Reader    // of decision ids; default crypto/rand
	OnAttempt func(Status) // called after every attempt to load a policy; may be nil
	// Trace, if set, is told of every question that is put to the policy, and every question is put: for tools, it is slow.
	Trace func(Evaluation)
}

// EntryPoints are the paths of the rules that are asked, below data and with slashes. The zero value of each is
// Trino's name; None says that the site does not use it. Denials and Constraints are optional: they are asked if
// the policy has them.
type EntryPoints struct {
	Allow            string // trino/allow; cannot be None
	Batch            string // trino/batch; optional
	RowFilters       string // trino/rowFilters
	ColumnMask       string // trino/columnMask; one of ColumnMask and BatchColumnMasks has to exist, unless both are None
	BatchColumnMasks string // trino/batchColumnMasks
	Denials          string // trino/denials
	Constraints      string // trino/constraints
}

// None is the entry point of a rule that the site's policy does not have.
const None = "none"

// Status is the outcome of one attempt to load a policy.
type Status struct {
	Revision string // in force after the attempt, "" if none
	At       time.Time
	Err      error // why the attempt failed; nil: Revision is what was just read
}

// Decider decides with the policy in force. It is safe for use by many goroutines at once.
type Decider struct {
	cfg     Config
	engine  atomic.Pointer[engine]
	fresh   atomic.Int64 // UnixNano of the last time that the source was seen to be unchanged or loaded
	status  atomic.Pointer[Status]
	stop    context.CancelFunc
	done    sync.WaitGroup
	maxAge  time.Duration
	randMux sync.Mutex
}

var _ policy.Decider = (*Decider)(nil)

// New loads the policy once and then keeps it current until Close. A folder that does not compile is an error; a
// bundle server that cannot be reached is not, but nothing is allowed until it answers.
func New(cfg Config) (*Decider, error) {
	cfg, err := withDefaults(cfg)
	if err != nil {
		return nil, err
	}
	d := &Decider{cfg: cfg}
	ctx, stop := context.WithCancel(context.Background())
	d.stop = stop
	switch {
	case cfg.Files != nil:
		err = d.loadFiles(cfg.Files)
	case cfg.Folder != "":
		err = d.startFolder(ctx)
	default:
		d.maxAge = cfg.Bundle.MaxAge
		err = d.startBundle(ctx)
	}
	if err != nil {
		stop()
		d.done.Wait()
		return nil, err
	}
	return d, nil
}

func withDefaults(cfg Config) (Config, error) {
	sources := 0
	for _, set := range []bool{cfg.Folder != "", cfg.Files != nil, cfg.Bundle != nil} {
		if set {
			sources++
		}
	}
	if sources != 1 {
		return cfg, errors.New("opa: exactly one of folder, files and bundle server must be given")
	}
	if cfg.Prefer != "" && cfg.Prefer != "batch" {
		return cfg, fmt.Errorf("opa: prefer is %q, not batch", cfg.Prefer)
	}
	if cfg.Rego == "" {
		cfg.Rego = "v1"
	}
	if cfg.Rego != "v1" && cfg.Rego != "v0" && cfg.Rego != "auto" {
		return cfg, fmt.Errorf("opa: rego version is %q, not v0, v1 or auto", cfg.Rego)
	}
	cfg.Entry.defaults()
	if cfg.Entry.Allow == None {
		return cfg, errors.New("opa: the allow rule cannot be left out")
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 2 * time.Second
	}
	if cfg.Trino == "" {
		cfg.Trino = "476"
	}
	if cfg.Version == "" {
		cfg.Version = "dev"
	}
	if cfg.MaxBytes <= 0 {
		cfg.MaxBytes = 64 << 20
	}
	if cfg.Debounce <= 0 {
		cfg.Debounce = 100 * time.Millisecond
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	if cfg.Bundle != nil {
		b, err := cfg.Bundle.withDefaults()
		if err != nil {
			return cfg, err
		}
		cfg.Bundle = b
	}
	return cfg, nil
}

func (e *EntryPoints) defaults() {
	for _, p := range []struct {
		at   *string
		name string
	}{
		{&e.Allow, "trino/allow"},
		{&e.Batch, "trino/batch"},
		{&e.RowFilters, "trino/rowFilters"},
		{&e.ColumnMask, "trino/columnMask"},
		{&e.BatchColumnMasks, "trino/batchColumnMasks"},
		{&e.Denials, "trino/denials"},
		{&e.Constraints, "trino/constraints"},
	} {
		if *p.at == "" {
			*p.at = p.name
		}
	}
}

// Judge pins the engine in force for one statement.
func (d *Decider) Judge(_ context.Context, c policy.Caller) (policy.Judge, error) {
	e := d.engine.Load()
	if e == nil || !c.Identity.Valid() {
		return nil, policy.ErrNoPolicy
	}
	if d.maxAge > 0 && d.cfg.Now().Sub(time.Unix(0, d.fresh.Load())) > d.maxAge {
		return nil, policy.ErrNoPolicy
	}
	return newJudge(d, e, c)
}

// Status returns the outcome of the last attempt to load a policy.
func (d *Decider) Status() Status {
	if s := d.status.Load(); s != nil {
		return *s
	}
	return Status{}
}

// Close stops watching. Judges that are in use stay usable.
func (d *Decider) Close() error {
	d.stop()
	d.done.Wait()
	return nil
}

// loadFiles compiles files and, if that succeeds, puts them in force.
func (d *Decider) loadFiles(files map[string][]byte) error {
	e, err := compileFiles(files, d.cfg)
	return d.activate(e, err)
}

// activate puts e in force, or notes why there is no e.
func (d *Decider) activate(e *engine, err error) error {
	now := d.cfg.Now()
	if err == nil {
		d.engine.Store(e)
		d.fresh.Store(now.UnixNano())
	}
	s := Status{At: now, Err: err}
	if in := d.engine.Load(); in != nil {
		s.Revision = in.revision
	}
	d.status.Store(&s)
	if d.cfg.OnAttempt != nil {
		d.cfg.OnAttempt(s)
	}
	return err
}
