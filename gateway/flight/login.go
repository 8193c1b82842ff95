package flight

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gatehouse/auth"
	"gatehouse/auth/session"
	"gatehouse/gateway"
)

// SessionLimits bound sessions. Zero means the default.
type SessionLimits struct {
	Idle     time.Duration // without a call; default 8 hours, since most drivers cannot sign in again by themselves
	Absolute time.Duration // since the login; default 24 hours
	PerUser  int           // default 256
	Total    int           // default 10,000
}

func (l *SessionLimits) setDefaults() {
	if l.Idle == 0 {
		l.Idle = 8 * time.Hour
	}
	if l.Absolute == 0 {
		l.Absolute = 24 * time.Hour
	}
}

// login is one session as this door sees it: the gateway's session, and the handles that were made in it. It belongs to
// one principal for ever, and ends if what that principal is changes.
type login struct {
	id      string // public: the cookie
	peer    string
	agent   string
	key     auth.Secret
	token   auth.Secret // what a client is told to use; zero if it goes on with its issuer's own token
	handles *handles
	in      atomic.Pointer[session.Session[*login]]
	current atomic.Pointer[gateway.Session]
}

// session is the gateway's session, with the principal as it was renewed last.
func (l *login) session() *gateway.Session { return l.current.Load() }

func (l *login) identity() auth.Identity { return l.session().Identity() }

// checkCookie refuses a cookie of another session: the client thinks that it is somewhere else.
func (l *login) checkCookie(cookies []string) error {
	for _, c := range cookies {
		if !hmac.Equal([]byte(c), []byte(l.id)) {
			return errSession
		}
	}
	return nil
}

// logins are all open sessions. It is safe for use by many goroutines at once.
type logins struct {
	cfg      Config
	mac      []byte // keys the sessions of users who send their password along with each call
	sessions *session.Sessions[*login]

	mu  sync.Mutex
	ids map[string]*login
}

func newLogins(c Config) (*logins, error) {
	mac, err := random(c.Rand, 32)
	if err != nil {
		return nil, err
	}
	ls := &logins{cfg: c, mac: mac, ids: map[string]*login{}}
	cfg := session.Config[*login]{
		Idle: c.Sessions.Idle, Absolute: c.Sessions.Absolute, PerUser: c.Sessions.PerUser, Total: c.Sessions.Total,
		OnClose: ls.closed, Now: c.Now,
	}
	if r, ok := c.Auth.(auth.Renewer); ok {
		cfg.Renew = func(ctx context.Context, id auth.Identity) (auth.Identity, error) { return renew(ctx, r, id) }
	}
	ls.sessions, err = session.New(cfg)
	return ls, err
}

// renew ends a session whose principal has other groups or roles by now: its handles were made with the old ones.
func renew(ctx context.Context, r auth.Renewer, old auth.Identity) (auth.Identity, error) {
	id, err := r.Renew(ctx, old)
	if err != nil {
		return id, err
	}
	if id.User != old.User || !slices.Equal(id.Groups, old.Groups) || !slices.Equal(id.Roles, old.Roles) {
		return id, auth.ErrUnauthenticated
	}
	return id, nil
}

// closed frees what a session that has ended holds.
func (ls *logins) closed(s *session.Session[*login]) {
	l := s.Value
	ls.mu.Lock()
	delete(ls.ids, l.id)
	ls.mu.Unlock()
	l.handles.closeAll()
}

// make returns a login that is not yet registered.
func (ls *logins) make(id auth.Identity, peer, agent string) (*login, error) {
	s, err := ls.cfg.Gateway.NewSession(id, peer, clipAgent(agent))
	if err != nil {
		return nil, err
	}
	public, err := random(ls.cfg.Rand, 16)
	if err != nil {
		return nil, err
	}
	l := &login{id: encode(public), peer: peer, agent: clipAgent(agent), handles: newHandles(ls.cfg)}
	l.current.Store(s)
	return l, nil
}

// call is one call in a session: it keeps the session from being idle until done.
type call struct {
	*login
	done func()
}

// open makes a session for id and gives out a token.
func (ls *logins) open(ctx context.Context, id auth.Identity, peer, agent string) (call, error) {
	l, err := ls.make(id, peer, agent)
	if err != nil {
		return call{}, err
	}
	token, in, err := ls.sessions.Issue(id, l)
	if err != nil {
		return call{}, err
	}
	l.key, l.token = token, token
	ls.register(l)
	return ls.enter(ctx, in)
}

// register makes l known by its id. If l ended meanwhile, it is not known, and its handles are closed.
func (ls *logins) register(l *login) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if !l.handles.isClosed() {
		ls.ids[l.id] = l
	}
}

// byToken returns the session of a token: one that this server gave out, or an issuer's that has been verified before.
func (ls *logins) byToken(ctx context.Context, token auth.Secret) (call, error) {
	in, err := ls.sessions.Lookup(ctx, token)
	if err != nil {
		return call{}, errSession
	}
	return ls.enter(ctx, in)
}

// enter starts a call in a session. If the principal's own token or attributes were renewed, the gateway's session is
// made anew with them, and its options are carried over.
func (ls *logins) enter(ctx context.Context, in *session.Session[*login]) (call, error) {
	l := in.Value
	l.in.Store(in)
	old, id := l.session(), in.Identity()
	if !reflect.DeepEqual(old.Identity(), id) {
		fresh, err := ls.cfg.Gateway.NewSession(id, l.peer, l.agent)
		if err != nil {
			return call{}, err
		}
		if err := carry(ctx, ls.cfg.Gateway, old, fresh); err != nil {
			return call{}, err
		}
		l.current.CompareAndSwap(old, fresh)
	}
	return call{l, in.Hold()}, nil
}

// carry sets the options of from in to, the catalog ahead of the schema.
func carry(ctx context.Context, g *gateway.Gateway, from, to *gateway.Session) error {
	have := to.Settings()
	wanted := from.Settings()
	for _, name := range orderOptions(wanted) {
		if wanted[name] == have[name] {
			continue
		}
		if err := g.SetOption(ctx, to, name, wanted[name]); err != nil {
			return err
		}
	}
	return nil
}

// byCookie returns the session that the cookies name, if it is id's.
func (ls *logins) byCookie(ctx context.Context, cookies []string, id auth.Identity) (call, error) {
	ls.mu.Lock()
	l := ls.ids[cookies[0]]
	ls.mu.Unlock()
	if l == nil || !l.identity().Same(id) || l.checkCookie(cookies) != nil {
		return call{}, errSession
	}
	return ls.byToken(ctx, l.key)
}

// shared returns the session that belongs to a credential which comes along with each call, and makes it on first use.
// It belongs to the credential, so a changed password or a new token is a new session.
func (ls *logins) shared(ctx context.Context, id auth.Identity, cred auth.Credential, agent string) (call, error) {
	fresh, err := ls.make(id, cred.Peer, agent)
	if err != nil {
		return call{}, err
	}
	fresh.key = cred.Bearer
	if cred.Bearer.IsZero() {
		fresh.key = ls.passwordKey(cred)
		fresh.token = fresh.key
	}
	in, err := ls.sessions.Adopt(fresh.key, id, func() *login { return fresh })
	if err != nil {
		return call{}, err
	}
	if in.Value == fresh {
		ls.register(fresh)
	}
	return ls.enter(ctx, in)
}

// passwordKey is the token of the session of a user and password. Who does not know the password, or the process's own
// key, cannot make it.
func (ls *logins) passwordKey(cred auth.Credential) auth.Secret {
	h := hmac.New(sha256.New, ls.mac)
	_, _ = fmt.Fprintf(h, "%d %s %s", len(cred.User), cred.User, cred.Password.Reveal())
	return auth.NewSecret(tokenPrefix + encode(h.Sum(nil)))
}

// sweep ends the handles whose time is over.
func (ls *logins) sweep() {
	var open []*login
	ls.mu.Lock()
	for _, l := range ls.ids {
		open = append(open, l)
	}
	ls.mu.Unlock()
	for _, l := range open {
		l.handles.sweep()
	}
}

// tokenPrefix starts every token of package session, so that an expired one is not shown to issuers.
const tokenPrefix = "ghs_"

func isOwnToken(s auth.Secret) bool { return strings.HasPrefix(s.Reveal(), tokenPrefix) }

func random(r io.Reader, n int) ([]byte, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, fmt.Errorf("read randomness: %w", err)
	}
	return b, nil
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// clipAgent keeps what a client says of itself short and printable.
func clipAgent(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, s)
	return s[:min(len(s), 200)]
}
