// Package duckdb runs governed plans in a DuckDB instance inside this process.
//
// The engine is locked down before it sees a statement: an empty catalog, no extensions, no settings that can change, and no
// file outside one private folder. A scan's files appear in that folder only after the scan's task credential has verified.
//
// To read it in order: duckdb.go (what there is), engine.go (the instance), prepare.go (one statement), statement.go and
// scan.go (its text), check.go (what it may read), stream.go (its rows).
package duckdb

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

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
	// MemoryBytes bounds the engine's memory; default: 60 % of the control group's limit, or of the machine's memory.
	MemoryBytes int64
	// SpillBytes bounds the spill folder; default: twice the memory.
	SpillBytes int64
	// CopyBytes bounds the copies of data files that cannot be linked into Dir; default: 16 GiB.
	CopyBytes int64
	Threads   int // default: the processors that Go uses
	// HashKey keys the hash masks of policies; needed only when a policy uses one.
	HashKey auth.Secret
	// Allocator makes the Arrow buffers; default: the Go allocator. It must return zeroed memory.
	Allocator memory.Allocator
	Log       *slog.Logger
	Now       func() time.Time
}

// Executor is the embedded engine. It implements executors.Executor.
type Executor struct {
	config  Config
	lock    *os.File
	engine  *engine
	files   *files
	footers *footers
	checks  *checks

	mu     sync.Mutex
	closed bool
	open   map[*Prepared]struct{}
}

var _ executors.Executor = (*Executor)(nil)

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
	if x.files, err = newFiles(root, c.CopyBytes, c.Log); err == nil {
		x.engine, err = openEngine(c, root)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(root), lock.Close())
	}
	c.Log.Info("engine started", "engine", "duckdb", "version", version(), "memory", x.engine.memory, "threads", x.engine.threads)
	return x, nil
}

// Capabilities implements executors.Executor.
func (x *Executor) Capabilities() executors.Capabilities {
	return executors.Capabilities{
		Name:    "duckdb",
		Version: version(),
		Dialect: "duckdb",
		Barrier: true,
		Tasks:   executors.IdentityTask,
	}
}

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
	x.engine.close()
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

// register connects p, unless the executor is closed.
func (x *Executor) register(p *Prepared) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return executors.ErrClosed
	}
	conn, err := x.engine.connect()
	if err != nil {
		return err
	}
	p.conn = conn
	x.open[p] = struct{}{}
	return nil
}

func (x *Executor) forget(p *Prepared) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.open, p)
}
