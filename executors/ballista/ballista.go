// Package ballista runs governed plans on a cluster: a scheduler and executors of our own, built on Apache Ballista and DataFusion
// (see engine), which get their statements from here and from nowhere else.
//
// Every relation of a statement is one scan node to the cluster's optimiser. What the node reads and shows is a payload made here: files,
// deleted rows, the policy's filter, masks. A credential signed here binds each payload to its user, statement and relation, and an
// executor runs it only while the credential verifies. The scheduler and the executors hold no key that could sign one. Files in an object
// store are read by URLs that are signed here, for each statement anew, and sealed for the executors: a storage's credential goes to nobody.
//
// The executor beside it in the process says which types a statement has and whether it binds, so that both executors agree; it also
// runs what the cluster cannot, if the configuration says so.
//
// To read it in order: ballista.go (what there is), prepare.go (one statement), statement.go, payload.go,
// deletes.go and seal.go (what is sent), client.go (one
// run), results.go and column.go (its rows), watch.go (what an operator sees of it).
package ballista

import (
	"context"
	"crypto/hpke"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/prometheus/client_golang/prometheus"

	"gatehouse/auth"
	"gatehouse/executors"
	"gatehouse/plan"
)

// Config is what an Executor needs. Local, Verifier, Minter, Scheduler and TLS are required.
type Config struct {
	// Local types statements, and runs those that a place leaves to it. It is closed with this executor.
	Local executors.Executor
	// Choices are the places that sessions may choose, the first of which is taken without a choice. Default: Alone, and nothing else.
	Choices    []string
	LocalBytes int64         // Auto leaves what reads less to Local
	Verifier   auth.Verifier // checks the credentials of plans
	Issuer     string        // the gateway's name in credentials; "" accepts any that Verifier does, and signs as Minter does
	Minter     auth.Minter   // signs the credentials of task groups; the executors have its public key
	// Executors tells, for each scan, the key for what only the cluster's executors may know. Without it they read no object store and hash
	// nothing.
	Executors func() hpke.PublicKey
	// HashKey keys the hash masks of policies; needed only when a policy uses one. It goes to executors, sealed, with each task group that
	// has such a mask.
	HashKey   auth.Secret
	Scheduler string // host and port of the scheduler's service for gateways
	// TLS has the gateway's certificate, and as roots the authority of the cluster.
	TLS *tls.Config
	// GroupBytes is how much one task reads, about. Default: two tasks for each of the cluster's cores, of 32 to 256 MiB each.
	GroupBytes int64
	Allocator  memory.Allocator // default: the Go allocator
	Log        *slog.Logger
	Now        func() time.Time
	Metrics    prometheus.Registerer // nil: none
}

// Executor runs statements on a cluster. It implements executors.Executor.
type Executor struct {
	config   Config
	client   *client
	capacity *capacity
	watch    *watch

	mu     sync.Mutex
	closed bool
	open   map[*Prepared]struct{}
}

var _ executors.Executor = (*Executor)(nil)

const name = "ballista"

// Version is the engine's.
const Version = "ballista 55.0.0, datafusion 55.2.0"

// New returns an executor for the cluster of a scheduler, which need not run yet. The caller closes it.
func New(c Config) (*Executor, error) {
	if c.Local == nil || c.Verifier == nil || c.Minter == nil || c.Scheduler == "" || c.TLS == nil {
		return nil, errors.New("ballista: an executor for types, a verifier, a minter, a scheduler and certificates are required")
	}
	if c.Allocator == nil {
		c.Allocator = memory.NewGoAllocator()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if len(c.Choices) == 0 {
		c.Choices = []string{Alone}
	}
	for _, choice := range c.Choices {
		if !slices.Contains(places, choice) {
			return nil, fmt.Errorf("ballista: there is no place %q", choice)
		}
	}
	client, err := newClient(c.Scheduler, c.TLS)
	if err != nil {
		return nil, err
	}
	metrics, err := newMetrics(c.Metrics, client.members)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("ballista: register metrics: %w", err), client.close())
	}
	return &Executor{
		config: c, client: client, capacity: newCapacity(client.members, c.Now),
		watch: newWatch(c.Now, c.Log, metrics, client.watch), open: map[*Prepared]struct{}{},
	}, nil
}

// Capabilities implements executors.Executor.
func (x *Executor) Capabilities() executors.Capabilities {
	return executors.Capabilities{
		Name:    name,
		Version: Version,
		Dialect: "datafusion",
		Barrier: true, // nothing of a statement is evaluated inside of a scan node but what the policy's filter has let through
		Tasks:   executors.IdentityTask,
	}
}

// Healthy implements executors.Healthy: Local types every statement.
func (x *Executor) Healthy() bool {
	local, ok := x.config.Local.(executors.Healthy)
	return !ok || local.Healthy()
}

// Prepare implements executors.Executor.
func (x *Executor) Prepare(ctx context.Context, p *plan.Plan) (executors.Prepared, error) {
	return x.prepareIn(ctx, p, x.config.Choices[0])
}

// prepareIn prepares a statement for one of the places.
func (x *Executor) prepareIn(ctx context.Context, p *plan.Plan, place string) (executors.Prepared, error) {
	auto := place == Auto
	if x.isClosed() {
		return nil, executors.ErrClosed
	}
	// It verifies the plan's credentials first.
	local, err := x.config.Local.Prepare(ctx, p)
	if err != nil {
		return nil, err
	}
	if place == Local || auto && plannedBytes(p) < x.config.LocalBytes {
		return local, nil
	}
	s, err := x.prepare(ctx, p, local)
	switch {
	case auto && isUnsupported(err):
		x.config.Log.DebugContext(ctx, "statement runs here and not on the cluster", "query", p.Query(), "why", err)
		return local, nil
	case auto && err == nil:
		s.local = local
		return s, nil
	}
	if closed := local.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Close ends running statements and closes Local. It may be called twice.
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
	x.watch.close()
	return errors.Join(x.config.Local.Close(), x.client.close())
}

func (x *Executor) isClosed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.closed
}

func (x *Executor) register(p *Prepared) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return executors.ErrClosed
	}
	x.open[p] = struct{}{}
	return nil
}

func (x *Executor) forget(p *Prepared) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.open, p)
}

// plannedBytes is the size of the data files that a plan reads.
func plannedBytes(p *plan.Plan) int64 {
	var n int64
	for i := range p.Relations() {
		for j := range p.Relations()[i].Scan.Files {
			n += p.Relations()[i].Scan.Files[j].Size
		}
	}
	return n
}
