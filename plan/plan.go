package plan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gatehouse/auth"
	"gatehouse/catalog"
	"gatehouse/policy"
)

// Config says what a planner works with.
type Config struct {
	Minter auth.Minter      // signs task credentials; required
	Now    func() time.Time // time.Now if nil
	Issuer string           // the "iss" of task credentials; "gatehouse" if empty
	// MaxTTL bounds a statement, and so its credentials, whatever deadline it asks for; 0 means one hour.
	MaxTTL time.Duration
	// CacheFiles bounds the decoded manifests kept in memory, by the number of files that they list; 0 means 200,000, which
	// take about 200 MB for tables of ten columns.
	CacheFiles int
}

// Planner makes plans. It may be used from many goroutines at once.
type Planner struct {
	minter auth.Minter
	now    func() time.Time
	issuer string
	ttl    time.Duration
	cache  *cache
}

// New returns a planner.
func New(c Config) (*Planner, error) {
	if c.Minter == nil {
		return nil, errors.New("plan: no minter is set")
	}
	p := &Planner{minter: c.Minter, now: c.Now, issuer: c.Issuer, ttl: c.MaxTTL}
	if p.now == nil {
		p.now = time.Now
	}
	if p.issuer == "" {
		p.issuer = "gatehouse"
	}
	if p.ttl == 0 {
		p.ttl = time.Hour
	}
	if c.CacheFiles == 0 {
		c.CacheFiles = 200_000
	}
	if p.ttl < 0 || c.CacheFiles < 0 {
		return nil, errors.New("plan: a negative bound")
	}
	var err error
	p.cache, err = newCache(c.CacheFiles)
	return p, err
}

// Plan adds to g what an executor needs. tables[i] is the table of g.Statement().Tables()[i] at the version that the statement asks for,
// loaded with the caller's own rights for this statement. A zero deadline means now plus MaxTTL.
//
// The error is an *UnreadableError if a table is stored in a way that we do not read or its manifests are not there, the
// context's, the minter's, or wraps ErrInvalid.
func (p *Planner) Plan(ctx context.Context, id auth.Identity, query string, g *policy.Governed, tables []*catalog.Table, deadline time.Time) (*Plan, error) {
	if g == nil || g.Statement() == nil || g.Tree() == nil || query == "" {
		return nil, fmt.Errorf("%w: zero value", ErrInvalid)
	}
	if len(tables) != len(g.Statement().Tables()) {
		return nil, fmt.Errorf("%w: %d tables for %d references", ErrInvalid, len(tables), len(g.Statement().Tables()))
	}
	now := p.now()
	end, err := p.end(now, id, deadline)
	if err != nil {
		return nil, err
	}
	if err := consistent(tables); err != nil {
		return nil, err
	}
	known := p.together(ctx, tables)
	out := &Plan{query: query, identity: id, governed: g, deadline: end}
	for _, r := range g.Relations() {
		if r.Table < 0 || r.Table >= len(tables) || tables[r.Table] == nil {
			return nil, fmt.Errorf("%w: no table for relation %s", ErrInvalid, r.CTE)
		}
		t := tables[r.Table]
		scan, err := p.scan(ctx, t, r, known)
		if err != nil {
			return nil, named(err, t)
		}
		if r.Steady && len(scan.Deletes) > 0 {
			r.Pushed, r.Barrier = nil, true
			if scan, err = p.scan(ctx, t, r, known); err != nil {
				return nil, named(err, t)
			}
		}
		rel := Relation{Relation: r, Scan: scan}
		rel.Barrier = rel.Barrier || rel.Raises && len(scan.Deletes) > 0
		if err := p.sign(&rel, out); err != nil {
			return nil, err
		}
		out.relations = append(out.relations, rel)
	}
	return out, nil
}

// end returns when the statement ends: at the deadline, but neither after MaxTTL nor after the caller's own credential.
func (p *Planner) end(now time.Time, id auth.Identity, deadline time.Time) (time.Time, error) {
	if !id.Valid() {
		return time.Time{}, fmt.Errorf("%w: nobody asks", ErrInvalid)
	}
	end := now.Add(p.ttl)
	if !deadline.IsZero() && deadline.Before(end) {
		end = deadline
	}
	if !id.ExpiresAt.IsZero() && id.ExpiresAt.Before(end) {
		end = id.ExpiresAt
	}
	if !end.After(now) {
		return time.Time{}, fmt.Errorf("%w: the deadline has passed", ErrInvalid)
	}
	return end, nil
}

// consistent checks that all references to one table see one state of it, so that a self-join cannot see a commit in between.
func consistent(tables []*catalog.Table) error {
	seen := map[[3]string]string{}
	for _, t := range tables {
		if t == nil || t.Iceberg == nil && !t.Computed {
			return fmt.Errorf("%w: a table is missing", ErrInvalid)
		}
		if t.Computed {
			continue
		}
		key := [3]string{t.Catalog, t.Schema, t.Name}
		at := fmt.Sprint(t.UUID, " ", t.Iceberg.MetadataLocation(), " ", t.Iceberg.Metadata().LastUpdatedMillis())
		if old, ok := seen[key]; ok && old != at {
			return fmt.Errorf("%w: two states of one table", ErrInvalid)
		}
		seen[key] = at
	}
	return nil
}

// sign computes the relation's digest and mints its credential.
func (p *Planner) sign(r *Relation, plan *Plan) error {
	digest, err := r.PayloadDigest()
	if err != nil {
		return err
	}
	r.Task.Digest = digest
	// Credentials have whole seconds; rounding up keeps them alive until the statement's own deadline ends it.
	expires := plan.deadline.Truncate(time.Second)
	if expires.Before(plan.deadline) {
		expires = expires.Add(time.Second)
	}
	r.Task.ID = plan.query + "/" + r.CTE
	r.Task.Token, err = p.minter.Mint(auth.TaskClaims{
		Issuer: p.issuer, Subject: plan.identity.Subject, UserIss: plan.identity.Issuer,
		Query: plan.query, Relation: r.CTE, Digest: digest, Expires: expires,
	})
	return err
}

// named fills in the table's name.
func named(err error, t *catalog.Table) error {
	if u, ok := errors.AsType[*UnreadableError](err); ok && u.Table == "" {
		c := *u
		c.Table = t.Catalog + "." + t.Schema + "." + t.Name
		return &c
	}
	return err
}
