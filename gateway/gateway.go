// Package gateway runs the stages of a statement in order, for any protocol.
//
// A door (gateway/flight and others) authenticates, asks for a Session, and translates its protocol to the methods of
// Gateway and back. It never plans, rewrites, lists metadata or decides. Read query.go first: all stages are on one screen.
package gateway

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"gatehouse/audit"
	"gatehouse/auth"
	"gatehouse/catalog"
	"gatehouse/classify"
	"gatehouse/executors"
	"gatehouse/plan"
	"gatehouse/policy"
)

// Config is what a Gateway needs. Decider, Catalogs, Planner, Executor and Audit must be set.
type Config struct {
	Decider  policy.Decider
	Catalogs map[string]catalog.Catalog
	Planner  *plan.Planner
	Executor executors.Executor
	Audit    audit.Sink
	Grants   policy.RightsStore // nil: GRANT and the like are refused
	Default  classify.Namespace // where unqualified names of a new session resolve
	Limits   Limits
	// Issuers are those who sign users in. Rights name the users of the first one by their name alone, see policy.UserPrincipal;
	// none: whoever signs in.
	Issuers []string
	Steady  bool                  // see policy.Decision
	Log     *slog.Logger          // nil: discard
	Now     func() time.Time      // nil: time.Now
	Rand    io.Reader             // nil: crypto/rand
	Metrics prometheus.Registerer // nil: none
}

// DefaultStatement is how long a statement may run if Limits do not say.
const DefaultStatement = 10 * time.Minute

// Limits bound what one user, and all of them, may do at once. Zero means the default.
type Limits struct {
	Statement  time.Duration // longest run of one statement; default DefaultStatement
	PerUser    int           // statements of one user at once; default 32
	Total      int           // statements at once; default 256
	ResultRows int64         // rows of one result; default 0: unlimited
	// ResultBytes bounds one result, in bytes of its Arrow buffers; default 0: unlimited.
	ResultBytes int64
}

// Gateway runs statements. It is safe for use by many goroutines at once.
type Gateway struct {
	cfg     Config
	metrics *metrics
	choices []string // where sessions may have statements run, the place without a choice first

	mu      sync.Mutex
	running map[string]*run // by query id
	perUser map[string]int  // by issuer and subject
	closed  bool
	drained chan struct{} // closed when closed and running is empty
}

// New checks c and returns a Gateway.
func New(c Config) (*Gateway, error) {
	switch {
	case c.Decider == nil:
		return nil, errors.New("gateway: no policy decider")
	case c.Planner == nil:
		return nil, errors.New("gateway: no planner")
	case c.Executor == nil:
		return nil, errors.New("gateway: no executor")
	case c.Audit == nil:
		return nil, errors.New("gateway: no audit sink")
	case len(c.Catalogs) == 0:
		return nil, errors.New("gateway: no catalog")
	}
	if caps := c.Executor.Capabilities(); caps.Tasks < executors.IdentityTask || !caps.Barrier {
		return nil, fmt.Errorf("gateway: executor %q proves no barrier or verifies no task credentials, and policies need both", caps.Name)
	}
	for name := range c.Catalogs {
		if name == "" || strings.ContainsAny(name, "\x00.\"") {
			return nil, fmt.Errorf("gateway: catalog name %q must not be empty or hold a dot or a quote", name)
		}
	}
	setDefaults(&c)
	m, err := newMetrics(c.Metrics)
	if err != nil {
		return nil, fmt.Errorf("gateway: register metrics: %w", err)
	}
	return &Gateway{
		choices: choices(c.Executor),
		cfg:     c, metrics: m,
		running: map[string]*run{}, perUser: map[string]int{}, drained: make(chan struct{}),
	}, nil
}

func setDefaults(c *Config) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Rand == nil {
		c.Rand = rand.Reader
	}
	if c.Limits.Statement == 0 {
		c.Limits.Statement = DefaultStatement
	}
	if c.Limits.PerUser == 0 {
		c.Limits.PerUser = 32
	}
	if c.Limits.Total == 0 {
		c.Limits.Total = 256
	}
}

// Close refuses new statements and waits until the running ones have ended, or until ctx ends: then it cancels them.
func (g *Gateway) Close(ctx context.Context) error {
	g.mu.Lock()
	if !g.closed {
		g.closed = true
		if len(g.running) == 0 {
			close(g.drained)
		}
	}
	g.mu.Unlock()
	select {
	case <-g.drained:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	for _, r := range g.running {
		r.cancel(ErrClosing)
	}
	g.mu.Unlock()
	select {
	case <-g.drained:
		return nil
	case <-time.After(5 * time.Second):
		return errors.New("gateway: statements did not end after they were cancelled")
	}
}

// Cancel ends a running statement of the session's own user. A statement of somebody else, and one that does not run, are
// the same: ErrNoSuchQuery.
func (g *Gateway) Cancel(s *Session, query string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, ok := g.running[query]
	if !ok || !r.session.identity.Same(s.identity) {
		return ErrNoSuchQuery
	}
	r.cancel(ErrCancelled)
	return nil
}

// Ready reports whether a statement would be admitted, and the executor would run it.
func (g *Gateway) Ready() bool {
	g.mu.Lock()
	closed := g.closed
	g.mu.Unlock()
	if closed {
		return false
	}
	x, ok := g.cfg.Executor.(executors.Healthy)
	return !ok || x.Healthy()
}

// admit registers r, or says which limit is reached.
func (g *Gateway) admit(r *run) error {
	user := owner(r.session.identity)
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return ErrClosing
	case len(g.running) >= g.cfg.Limits.Total:
		return &LimitError{What: "statements at once"}
	case g.perUser[user] >= g.cfg.Limits.PerUser:
		return &LimitError{What: "statements of one user at once"}
	}
	g.running[r.id] = r
	g.perUser[user]++
	g.metrics.running.Set(float64(len(g.running)))
	return nil
}

// release undoes admit.
func (g *Gateway) release(r *run) {
	user := owner(r.session.identity)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running[r.id] != r {
		return
	}
	delete(g.running, r.id)
	if g.perUser[user]--; g.perUser[user] <= 0 {
		delete(g.perUser, user)
	}
	g.metrics.running.Set(float64(len(g.running)))
	if g.closed && len(g.running) == 0 {
		close(g.drained)
	}
}

func owner(id auth.Identity) string { return id.Issuer + "\x00" + id.Subject }

// newID returns 128 random bits in hexadecimal.
func (g *Gateway) newID() (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(g.cfg.Rand, b[:]); err != nil {
		return "", fmt.Errorf("read randomness: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}
