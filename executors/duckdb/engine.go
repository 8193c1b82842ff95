package duckdb

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	bindings "github.com/duckdb/duckdb-go-bindings"

	"gatehouse/executors"
)

// engine is one locked-down DuckDB instance with an empty catalog, for the statements of one user.
type engine struct {
	db bindings.Database
	owner
	spill string // its own folder
	mark  int    // see heap.go
	turns *turns

	opened chan struct{} // closed when db is there or err is set
	err    error
	once   sync.Once // for close

	// These two belong to engines.
	users int
	used  time.Time
}

const (
	dataFolder  = "data"  // the only folder that statements may read
	spillFolder = "spill" // written by the engine's own buffer manager only
)

// lockdown runs once on a new instance, in this order; the last one makes all settings final.
//
// Two of the optimisers move a user's expression, or what is known of hidden values, through the barrier of a governed relation. The third reads
// rows twice where no row is deleted, and its sort gives 0 for -0: so that tells whether a table has deleted rows.
// The external file cache would serve old blocks of a file that was replaced under the same name.
var lockdown = []string{
	"SET GLOBAL disabled_optimizers = 'statistics_propagation,cte_filter_pusher,late_materialization'",
	"SET GLOBAL enable_external_file_cache = false",
	"SET GLOBAL parquet_metadata_cache = true",
	"SET GLOBAL TimeZone = 'UTC'",
	"SET GLOBAL Calendar = 'gregorian'",
	"SET GLOBAL allow_community_extensions = false",
	"SET GLOBAL allow_persistent_secrets = false",
	"SET GLOBAL enable_external_access = false",
	finalSettings,
}

const finalSettings = "SET GLOBAL lock_configuration = true"

// inOrder keeps the engine from putting chunks of which a filter left few rows together and back. It is a setting of a connection, so that
// a serial instance cannot be locked: what keeps its settings is that nothing but a SELECT gets there.
const inOrder = "SET SESSION enable_caching_operators = false"

func version() string { return bindings.LibraryVersion() }

// open starts the instance. c has no defaults left; root is the executor's folder.
func (e *engine) open(c Config, root string) (err error) {
	if err := os.Mkdir(e.spill, 0o700); err != nil {
		return err
	}
	settings := map[string]string{
		"threads":                      strconv.Itoa(c.Threads),
		"memory_limit":                 fmt.Sprintf("%dB", c.UserMemoryBytes),
		"temp_directory":               e.spill,
		"autoload_known_extensions":    "false",
		"autoinstall_known_extensions": "false",
	}
	if e.whole {
		settings["temp_directory"] = ""
	}
	if e.serial {
		settings["threads"] = "1"
	}
	var config bindings.Config
	if bindings.CreateConfig(&config) == bindings.StateError {
		return fmt.Errorf("duckdb: no configuration")
	}
	defer bindings.DestroyConfig(&config)
	for name, value := range settings {
		if bindings.SetConfig(config, name, value) == bindings.StateError {
			return fmt.Errorf("duckdb: setting %s is not accepted", name)
		}
	}
	var message string
	state := bindings.StateError
	heapWorkers(e.mark, func() { state = bindings.OpenExt(":memory:", &e.db, config, &message) })
	if state == bindings.StateError {
		return fmt.Errorf("duckdb: %s", message)
	}
	return e.lock(c, filepath.Join(root, dataFolder))
}

func (e *engine) lock(config Config, data string) error {
	c, err := e.connect()
	if err != nil {
		return err
	}
	defer c.close()
	first := []string{
		"SET GLOBAL allowed_directories = [" + literal(data) + "]",
	}
	if !e.whole {
		// Given with the instance's configuration, this bound is shown but not kept.
		first = append(first, fmt.Sprintf("SET GLOBAL max_temp_directory_size = '%dB'", config.UserSpillBytes))
	}
	if err := addExact(c, config.UserMemoryBytes/2); err != nil {
		return err
	}
	for _, s := range append(first, lockdown...) {
		if e.serial && s == finalSettings {
			continue // connect sets one more
		}
		if err := c.exec(s); err != nil {
			return err
		}
	}
	return nil
}

// close frees an instance that has no statement any more, also one that did not open.
func (e *engine) close() {
	e.once.Do(func() {
		if e.db.Ptr != nil {
			bindings.Close(&e.db)
		}
		_ = os.RemoveAll(e.spill) // what is left goes with the executor's folder
		engineMarks.give(e.mark)
	})
}

// connection is one connection, used by one statement only and then thrown away, so that nothing of one caller stays
// for the next. Opening one takes some 20 µs.
type connection struct {
	engine *engine
	mu     sync.Mutex // guards raw against an interrupt during close
	raw    bindings.Connection
	gone   bool
	// owner is the reader that the engine works for, so that one that is through cannot interrupt the next.
	owner *reader
}

func (e *engine) connect() (*connection, error) {
	c := &connection{engine: e}
	if bindings.Connect(e.db, &c.raw) == bindings.StateError {
		return nil, &executors.Error{Kind: executors.KindInternal, Cause: fmt.Errorf("duckdb: no connection")}
	}
	if e.serial {
		if err := c.exec(inOrder); err != nil {
			c.close()
			return nil, err
		}
	}
	return c, nil
}

// interrupt asks the engine to end what runs on c. It may be called at any time, also after close.
func (c *connection) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		bindings.Interrupt(c.raw)
	}
}

func (c *connection) own(r *reader) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owner = r
}

// interruptFor is interrupt if the engine works for r.
func (c *connection) interruptFor(r *reader) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone && c.owner == r {
		bindings.Interrupt(c.raw)
	}
}

func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		c.gone = true
		bindings.Disconnect(&c.raw)
	}
}

// exec runs s for its effect.
func (c *connection) exec(s string) error {
	return c.query(s, func(bindings.DataChunk) error { return nil })
}

// query runs s, materialised, and hands its chunks to each.
func (c *connection) query(s string, each func(bindings.DataChunk) error) error {
	var r bindings.Result
	state := bindings.Query(c.raw, s, &r)
	defer bindings.DestroyResult(&r)
	if state == bindings.StateError {
		return engineError(bindings.ResultErrorType(&r), bindings.ResultError(&r))
	}
	for {
		chunk := bindings.FetchChunk(r)
		if chunk.Ptr == nil {
			return nil
		}
		err := each(chunk)
		bindings.DestroyDataChunk(&chunk)
		if err != nil {
			return err
		}
	}
}

// interruptOn interrupts c when ctx ends, until the returned function is called; that function waits.
func (c *connection) interruptOn(ctx context.Context) (stop func()) {
	done := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(done)
		c.interrupt()
	})
	return func() {
		if !cancel() {
			<-done
		}
	}
}
