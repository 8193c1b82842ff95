// Package duckdb runs governed plans in a DuckDB instance inside this process.
//
// The engine is locked down before it sees a statement: an empty catalog, no extensions, no settings that can change, and no
// file outside one private folder. A scan's files appear in that folder only after the scan's task credential has verified.
//
// To read it in order: duckdb.go (what there is), engine.go (the instance), prepare.go (one statement), statement.go and
// scan.go (its text), check.go (what it may read), files.go and mirror.go (its
// files), stream.go (its rows).
package duckdb

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/prometheus/client_golang/prometheus"

	"gatehouse/auth"
	"gatehouse/executors"
	"gatehouse/plan"
)

// Config is what an Executor needs. Verifier is required; every other zero value means a default.
type Config struct {
	Verifier auth.Verifier // checks task credentials
	// Issuer is the gateway's name in task credentials, as the planner mints them; "" accepts any that Verifier does.
	Issuer string
	// Dir is where the private folders for data files and for spill files are made; default: the system's temporary
	// folder. On the file system of the data, files are linked; on another one they have to be copied.
	Dir string
	// MemoryBytes is meant for the engine, of all users together; default: 60 % of the control group's limit, or of the machine's memory.
	MemoryBytes int64
	// SpillBytes is meant for the spill folder, of all users together; default: twice the memory.
	SpillBytes int64
	// UserMemoryBytes and UserSpillBytes bound what the statements of one user hold together; default: half of MemoryBytes and of SpillBytes.
	UserMemoryBytes, UserSpillBytes int64
	// ProcessBytes bounds what the whole process has resident: above it statements end. Default: see processLimit.
	ProcessBytes int64
	// CopyBytes bounds the copies of data files that cannot be linked into Dir, together with what is kept of object stores; default: 16 GiB.
	CopyBytes int64
	// Threads bounds the threads that work for one user's statements, and how many of these work at once; default: the processors that
	// Go uses.
	Threads int
	// HashKey keys the hash masks of policies; needed only when a policy uses one.
	HashKey auth.Secret
	// Allocator makes the Arrow buffers; default: the Go allocator. It must return zeroed memory.
	Allocator memory.Allocator
	Log       *slog.Logger
	Now       func() time.Time
	Metrics   prometheus.Registerer // nil: none
}

// Executor is the embedded engine. It implements executors.Executor.
type Executor struct {
	config  Config
	lock    *os.File
	engine  *engine // of nobody; that it opens shows that others will
	engines *engines
	guard   *guard
	files   *files
	footers *footers
	checks  *checks

	mu     sync.Mutex
	closed bool
	open   map[*Prepared]struct{}
}

var (
	_ executors.Executor = (*Executor)(nil)
	_ executors.Healthy  = (*Executor)(nil)
)

// rootPrefix starts the name of an executor's own folder.
const rootPrefix = "gatehouse-duckdb-"

// New starts an engine. The caller closes it.
func New(c Config) (*Executor, error) {
	if c.Verifier == nil {
		return nil, errors.New("duckdb: a verifier of task credentials is required")
	}
	if c.Dir == "" {
		c.Dir = os.TempDir()
	}
	if c.CopyBytes == 0 {
		c.CopyBytes = 16 << 30
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Allocator == nil {
		c.Allocator = memory.NewGoAllocator()
	}
	c.setBounds()
	removeStale(c.Dir)
	root, err := os.MkdirTemp(c.Dir, rootPrefix)
	if err != nil {
		return nil, err
	}
	// The engine compares real paths with the allowed folder, so the folder's own name must be a real one.
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, err
	}
	lock, err := claim(root)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(root))
	}
	x := &Executor{config: c, lock: lock, footers: newFooters(), checks: newChecks(), open: map[*Prepared]struct{}{}}
	if x.files, err = newFiles(root, c.CopyBytes, c.Log, c.Metrics); err == nil {
		if x.engines, err = newEngines(c, root); err == nil {
			x.engine, err = x.engines.take(owner{})
		}
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(root), lock.Close())
	}
	if !hooked() {
		c.Log.Warn("the engine's allocator does not ask before it takes memory: only the engine's own limit holds within one step")
	}
	setBound(x, c.ProcessBytes)
	x.guard = newGuard(c.ProcessBytes, c.Log)
	c.Log.Info("engine started", "engine", "duckdb", "version", version(), "memory", c.MemoryBytes, "process", c.ProcessBytes, "threads", c.Threads)
	return x, nil
}

// setBounds sets the defaults of what bounds memory, disk and threads.
func (c *Config) setBounds() {
	machine := memoryLimit()
	if c.MemoryBytes == 0 {
		c.MemoryBytes = machine / 10 * 6
	}
	if c.SpillBytes == 0 {
		c.SpillBytes = 2 * c.MemoryBytes
	}
	if c.UserMemoryBytes == 0 {
		c.UserMemoryBytes = c.MemoryBytes / 2
	}
	if c.UserSpillBytes == 0 {
		c.UserSpillBytes = c.SpillBytes / 2
	}
	if c.ProcessBytes == 0 {
		c.ProcessBytes = processLimit(c.MemoryBytes, machine)
	}
	if c.Threads == 0 {
		c.Threads = runtime.GOMAXPROCS(0)
	}
}

// Capabilities implements executors.Executor.
func (x *Executor) Capabilities() executors.Capabilities {
	return executors.Capabilities{
		Name:    name,
		Version: version(),
		Dialect: "duckdb",
		Barrier: true,
		Tasks:   executors.IdentityTask,
	}
}

// Healthy implements executors.Healthy. It is false while memory that no statement holds leaves too little for the next one.
func (x *Executor) Healthy() bool { return !x.guard.stuck() }

// Close ends running statements, waits for them, and frees the engine and its folders. It may be called twice.
func (x *Executor) Close() error {
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return nil
	}
	x.closed = true
	open := make([]*Prepared, 0, len(x.open))
	for p := range x.open {
		open = append(open, p)
	}
	x.mu.Unlock()
	for _, p := range open {
		_ = p.Close()
	}
	x.guard.close()
	x.engines.give(x.engine)
	x.engines.close()
	setBound(x, 0)
	return errors.Join(x.files.close(), x.lock.Close())
}

// Prepare implements executors.Executor.
func (x *Executor) Prepare(ctx context.Context, p *plan.Plan) (executors.Prepared, error) {
	s, err := x.prepare(ctx, p)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// register connects p to the user's instance, unless the executor is closed.
func (x *Executor) register(p *Prepared, user owner) error {
	e, err := x.engines.take(user)
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		x.engines.give(e)
		return executors.ErrClosed
	}
	conn, err := e.connect()
	if err != nil {
		x.engines.give(e)
		return err
	}
	p.conn, p.mark = conn, statementMarks.take()
	x.open[p] = struct{}{}
	return nil
}

func (x *Executor) forget(p *Prepared) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.open, p)
	x.engines.give(p.conn.engine)
	statementMarks.give(p.mark)
}
