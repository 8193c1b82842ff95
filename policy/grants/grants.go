// Package grants keeps who may do what, with its whole history.
//
// The truth is a log that is only ever appended to, in SQLite or PostgreSQL; a State is what the log says at one version,
// and the document that the shipped Rego decides with. Nothing here decides.
package grants

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"gatehouse/auth"
	"gatehouse/policy"
)

// Config says where the log is. Exactly one of File and Postgres is set.
type Config struct {
	File     string      // a SQLite file, made if it is not there
	Postgres auth.Secret // a connection string; every gateway with the same database shares the rights
	Admin    string      // the role whose members may change every right; "": nobody
	Log      *slog.Logger
	Now      func() time.Time
}

// journal is the durable log.
type journal interface {
	// read returns the entries after version, in order.
	read(ctx context.Context, after uint64) ([]policy.RightsEntry, error)
	// append adds e, whose version must be the next one: errTaken if it is not.
	append(ctx context.Context, e policy.RightsEntry) error
	close() error
}

var errTaken = errors.New("the version is taken")

// Store keeps rights. It is safe for use by many goroutines at once.
type Store struct {
	cfg     Config
	journal journal
	current atomic.Pointer[State]
	seen    atomic.Int64 // UnixNano of the last time that current was known to be the newest; 0: it always is
	mu      sync.Mutex   // of changes
	stop    context.CancelFunc
	done    sync.WaitGroup
}

var _ policy.RightsStore = (*Store)(nil)

// New opens the log and reads it.
func New(ctx context.Context, cfg Config) (*Store, error) {
	if (cfg.File == "") == cfg.Postgres.IsZero() {
		return nil, errors.New("grants: exactly one of file and postgres must be given")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Store{cfg: cfg, stop: func() {}}
	s.current.Store(empty(cfg.Admin))
	var err error
	if cfg.File != "" {
		err = s.openFile(ctx)
	} else {
		err = s.openPostgres(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := s.catchUp(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close stops following the log.
func (s *Store) Close() error {
	s.stop()
	s.done.Wait()
	return s.journal.close()
}

// maxAge is how long rights may be used while it is unknown whether there are newer ones.
const maxAge = 5 * time.Second

// Current implements policy.RightsSource.
func (s *Store) Current() (policy.Rights, error) {
	if seen := s.seen.Load(); seen != 0 && s.cfg.Now().Sub(time.Unix(0, seen)) > maxAge {
		return nil, policy.ErrRightsUnavailable
	}
	return s.current.Load(), nil
}

// catchUp reads what was appended since.
func (s *Store) catchUp(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.catchUpLocked(ctx)
}

func (s *Store) catchUpLocked(ctx context.Context) error {
	at := s.current.Load()
	entries, err := s.journal.read(ctx, at.version)
	if err != nil {
		return fmt.Errorf("%w: %w", policy.ErrRightsUnavailable, err)
	}
	ed := newEdit()
	for _, e := range entries {
		if at, err = at.replay(ed, e); err != nil {
			return err
		}
	}
	s.current.Store(at)
	return nil
}

// replay returns the state after an entry of the log.
func (s *State) replay(ed *edit, e policy.RightsEntry) (*State, error) {
	if e.Version != s.version+1 {
		return nil, fmt.Errorf("grants: version %d follows %d in the log", e.Version, s.version)
	}
	out, _, err := s.apply(ed, e.Changes, stamp{e.Author.User, e.Time})
	if err != nil {
		return nil, fmt.Errorf("grants: version %d of the log: %w", e.Version, err)
	}
	return out, nil
}

// Apply implements policy.RightsStore.
func (s *Store) Apply(ctx context.Context, base policy.Rights, who policy.Author, changes []policy.Change) (policy.Rights, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.current.Load()
	if base == nil || base.Version() != at.version {
		return nil, policy.ErrRightsChanged
	}
	e := policy.RightsEntry{Version: at.version + 1, Time: s.cfg.Now().UTC(), Author: who}
	next, made, err := at.apply(newEdit(), changes, stamp{who.User, e.Time})
	if err != nil || len(made) == 0 {
		return at, err
	}
	e.Changes = made
	switch err := s.journal.append(ctx, e); {
	case errors.Is(err, errTaken):
		return nil, errors.Join(policy.ErrRightsChanged, s.catchUpLocked(ctx))
	case err != nil:
		return nil, fmt.Errorf("%w: %w", policy.ErrRightsUnavailable, err)
	}
	s.current.Store(next)
	return next, nil
}

// At implements policy.RightsStore.
func (s *Store) At(ctx context.Context, t time.Time) (policy.Rights, error) {
	entries, err := s.journal.read(ctx, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", policy.ErrRightsUnavailable, err)
	}
	at, ed := empty(s.cfg.Admin), newEdit()
	for _, e := range entries {
		if e.Time.After(t) {
			break
		}
		if at, err = at.replay(ed, e); err != nil {
			return nil, err
		}
	}
	return at, nil
}

// History implements policy.RightsStore.
func (s *Store) History(ctx context.Context, limit int) ([]policy.RightsEntry, error) {
	after := uint64(0)
	if v := s.current.Load().version; v > uint64(limit) {
		after = v - uint64(limit)
	}
	entries, err := s.journal.read(ctx, after)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", policy.ErrRightsUnavailable, err)
	}
	for i, j := 0, len(entries)-1; i < j; i, j = i+1, j-1 {
		entries[i], entries[j] = entries[j], entries[i]
	}
	return entries, nil
}
