// Package basic authenticates users of a users file by password.
//
// Whoever does not know a password learns nothing about users: every attempt that is neither delayed
// nor cached costs one argon2id run, known user or not, and every refusal is the same error. A user
// that does not exist borrows the costs of one that does, always the same one, so that files with
// hashes of several costs give nothing away either. An attempt with a right password may be quicker,
// out of a short-lived cache; only who knows the password can see that.
package basic

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"gatehouse/auth"
)

// Issuer vouches for the users of a users file.
const Issuer = "gatehouse:users"

// maxPassword is the longest password in bytes.
const maxPassword = 1024

const (
	maxWaiting = 512 // attempts that wait or run at once
	turns      = 256 // names share these many queues
)

// Config says where the users are and what logins may cost.
type Config struct {
	File string // the users file, required; read again when it changes
	// MaxMemory is the memory in KiB that all hashing at once may take; 0 means 64 MiB. It is never
	// less than the most expensive single hash needs.
	MaxMemory int64
	// CacheFor is how long a verified password is good without hashing again; 0 means one minute, a
	// negative value never. A change of the file empties the cache at once.
	CacheFor time.Duration
	Limits   auth.Limits
	Log      *slog.Logger     // nil: no log
	Now      func() time.Time // nil: the system's clock
}

// Users authenticates against one users file. It may be used at once from many goroutines.
type Users struct {
	cfg     Config
	key     []byte // of all MACs; random per process
	limiter *auth.Limiter
	memory  *semaphore.Weighted
	turns   [turns]chan struct{}
	waiting atomic.Int64
	runs    atomic.Int64 // argon2 runs so far

	now   atomic.Pointer[snapshot]
	mu    sync.Mutex // guards reloading
	stamp stamp
	sum   [sha256.Size]byte // of the text read last, good or bad
	bad   error             // what is wrong with that text
	err   error             // why the file as it is now is not in use
}

var (
	_ auth.Authenticator = (*Users)(nil)
	_ auth.Renewer       = (*Users)(nil)
)

// New reads the users file; it must be there and whole.
func New(cfg Config) (*Users, error) {
	if cfg.File == "" {
		return nil, errors.New("basic: no users file given")
	}
	if cfg.MaxMemory == 0 {
		cfg.MaxMemory = 64 << 10
	}
	if cfg.MaxMemory < 0 {
		return nil, errors.New("basic: the memory for hashing must be positive")
	}
	cfg.MaxMemory = max(cfg.MaxMemory, maxMemory)
	if cfg.CacheFor == 0 {
		cfg.CacheFor = time.Minute
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	limiter, err := auth.NewLimiter(cfg.Limits, cfg.Now)
	if err != nil {
		return nil, err
	}
	u := &Users{cfg: cfg, key: make([]byte, 32), limiter: limiter, memory: semaphore.NewWeighted(cfg.MaxMemory)}
	rand.Read(u.key)
	for i := range u.turns {
		u.turns[i] = make(chan struct{}, 1)
	}
	if err := u.load(); err != nil {
		return nil, err
	}
	return u, nil
}

// Authenticate implements auth.Authenticator for a user with a password.
func (u *Users) Authenticate(ctx context.Context, c auth.Credential) (auth.Identity, error) {
	if !c.Bearer.IsZero() || c.Password.IsZero() {
		return auth.Identity{}, auth.ErrNotApplicable
	}
	password := c.Password.Reveal()
	name, ok := auth.NormalizeUser(c.User)
	ok = ok && password != "" && len(password) <= maxPassword
	if len(password) > maxPassword {
		password = password[:maxPassword]
	}
	found, err := u.verify(ctx, attempt{peer: c.Peer, name: name, password: password, wellFormed: ok})
	switch {
	case err != nil:
		return auth.Identity{}, err
	case found == nil:
		return auth.Identity{}, auth.ErrUnauthenticated
	}
	return found.clone(), nil
}

// Renew implements auth.Renewer. It returns the identity that the user of i has in the file now, and ErrUnauthenticated if there
// is none any more or has another password since. Sessions ask it from time to time.
func (u *Users) Renew(_ context.Context, i auth.Identity) (auth.Identity, error) {
	if i.Issuer != Issuer {
		return auth.Identity{}, auth.ErrNotApplicable
	}
	found, ok := u.current().users.byName[i.Subject]
	if !ok || found.identity.Proof != i.Proof {
		return auth.Identity{}, auth.ErrUnauthenticated
	}
	return found.clone(), nil
}

// attempt is one login, its name normalised.
type attempt struct {
	peer, name, password string
	wellFormed           bool // false: it can only fail, but costs as much
}

// verify returns the user, nil if name and password do not belong together, or an error if it cannot
// tell. Unless cached, it runs argon2 exactly once.
//
// Attempts for one name take turns: of a pool that opens its connections at once the first pays and
// the others find its result, and guesses that come at once are counted one by one.
func (u *Users) verify(ctx context.Context, a attempt) (*user, error) {
	defer u.waiting.Add(-1)
	if u.waiting.Add(1) > maxWaiting || !u.limiter.Allow(a.peer, a.name) {
		return nil, auth.ErrRateLimited
	}
	key := u.mac("verified", a.name, a.password)
	turn := u.turns[key0(u.mac("turn", a.name, ""))%turns]
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if !u.limiter.Allow(a.peer, a.name) {
		return nil, auth.ErrRateLimited
	}
	s := u.current()
	if found := s.cached(key, u.cfg.Now()); found != nil && a.wellFormed {
		return found, nil
	}
	found := s.users.byName[a.name]
	h := u.hashFor(s, a.name, found)
	if err := u.memory.Acquire(ctx, int64(h.memory)); err != nil {
		return nil, err
	}
	defer u.memory.Release(int64(h.memory))
	if !u.limiter.Allow(a.peer, a.name) {
		return nil, auth.ErrRateLimited
	}
	if !h.matches(a.password, &u.runs) || found == nil || !a.wellFormed {
		u.limiter.Fail(a.peer, a.name)
		return nil, nil
	}
	s.remember(key, found, u.cfg.Now(), u.cfg.CacheFor)
	return found, nil
}

// hashFor returns the hash to compare with: that of found, or for an unknown name that of some user,
// the same for the same name.
func (u *Users) hashFor(s *snapshot, name string, found *user) hash {
	if found != nil {
		return found.hash
	}
	if len(s.users.list) == 0 {
		return hash{params: defaultParams, salt: u.key[:16], sum: u.key}
	}
	return s.users.list[key0(u.mac("unknown", name, ""))%uint64(len(s.users.list))].hash
}

func key0(m [sha256.Size]byte) uint64 { return binary.BigEndian.Uint64(m[:]) }

func (u *Users) mac(purpose, name, password string) [sha256.Size]byte {
	h := hmac.New(sha256.New, u.key)
	for _, part := range []string{purpose, name, password} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write([]byte(part))
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// current returns the users after looking whether the file changed. A file that cannot be read or is
// wrong leaves the last good users in place; Err tells.
func (u *Users) current() *snapshot {
	info, err := os.Stat(u.cfg.File)
	u.mu.Lock()
	defer u.mu.Unlock()
	if err == nil && u.stamp.unchanged(info) {
		return u.now.Load()
	}
	err = u.loadLocked()
	if err != nil && (u.err == nil || u.err.Error() != err.Error()) {
		u.cfg.Log.Error("users file not reloaded, the last good one stays in use", "file", u.cfg.File, "error", err)
	}
	u.err = err
	return u.now.Load()
}

// Err returns why the users file as it is now is not the one in use, or nil.
func (u *Users) Err() error {
	u.current()
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.err
}

func (u *Users) load() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.loadLocked()
}

func (u *Users) loadLocked() error {
	text, st, err := readFile(u.cfg.File)
	if err != nil {
		return fmt.Errorf("basic: users file: %w", err)
	}
	u.stamp = st
	sum := sha256.Sum256(text)
	if sum == u.sum && u.now.Load() != nil {
		return u.bad
	}
	u.sum = sum
	parsed, err := parseUsers(text)
	u.bad = err
	if err != nil {
		return err
	}
	u.now.Store(&snapshot{users: parsed, verified: map[[sha256.Size]byte]verified{}})
	u.cfg.Log.Info("users file loaded", "file", u.cfg.File, "users", len(parsed.list))
	return nil
}

// numbers returns attributes with every number as a json.Number, nil if there are none.
func numbers(attributes map[string]any) (map[string]any, error) {
	if len(attributes) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(attributes)
	if err != nil {
		return nil, errors.New("an attribute is not a finite number")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var out map[string]any
	return out, dec.Decode(&out)
}

// clone returns the identity in slices of its own, so that no caller can change another's.
func (u *user) clone() auth.Identity {
	id := u.identity
	id.Groups = slices.Clone(id.Groups)
	id.Roles = slices.Clone(id.Roles)
	if u.identity.Claims != nil {
		id.Claims = make(map[string]any, len(u.identity.Claims))
		for k, v := range u.identity.Claims {
			if list, ok := v.([]any); ok {
				v = slices.Clone(list)
			}
			id.Claims[k] = v
		}
	}
	return id
}
