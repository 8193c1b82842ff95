package flight

import (
	"slices"
	"sync"
	"time"
)

// HandleLimits bound what one session may keep open. Zero means the default.
type HandleLimits struct {
	Ticket   time.Duration // life of a ticket after its last use; default 10 minutes
	Ready    time.Duration // how long a ticket keeps the statement ready to run; after it DoGet starts again; default 1 minute
	Prepared time.Duration // life of a prepared statement after its last use; default 8 hours
	Count    int           // tickets and prepared statements of one session; default 1,000; one more ends the longest unused
}

func (l *HandleLimits) setDefaults() {
	if l.Ticket == 0 {
		l.Ticket = 10 * time.Minute
	}
	if l.Ready == 0 {
		l.Ready = time.Minute
	}
	if l.Prepared == 0 {
		l.Prepared = 8 * time.Hour
	}
	if l.Count == 0 {
		l.Count = 1000
	}
}

// handleSize is the length of a handle in bytes. Handles are random and found only in the session that made them, so a
// handle of somebody else and one that never was are the same.
const handleSize = 24

// held is what a handle stands for: a *ticket or a *prepared.
type held interface {
	life(HandleLimits) time.Duration
	close()
}

type entry struct {
	held    held
	made    time.Time
	used    time.Time
	holders int // calls that use it now
	gone    bool
}

// handles are the open handles of one session. It is safe for use by many goroutines at once.
type handles struct {
	cfg Config

	mu     sync.Mutex
	byKey  map[string]*entry
	closed bool
}

func newHandles(c Config) *handles { return &handles{cfg: c, byKey: map[string]*entry{}} }

// add keeps h and returns its handle. h is closed once its time is over or the session ends.
func (hs *handles) add(h held) ([]byte, error) {
	key, err := random(hs.cfg.Rand, handleSize)
	if err != nil {
		h.close()
		return nil, err
	}
	now := hs.cfg.Now()
	hs.mu.Lock()
	if hs.closed {
		hs.mu.Unlock()
		h.close()
		return nil, errSession
	}
	hs.byKey[string(key)] = &entry{held: h, made: now, used: now}
	evicted := hs.evict()
	hs.mu.Unlock()
	if evicted != nil {
		evicted.close()
	}
	return key, nil
}

// evict makes room for one more by the longest unused handle that no call uses. hs.mu is held.
func (hs *handles) evict() held {
	if len(hs.byKey) <= hs.cfg.Handles.Count {
		return nil
	}
	var oldest string
	for key, e := range hs.byKey {
		if e.holders == 0 && (oldest == "" || e.used.Before(hs.byKey[oldest].used)) {
			oldest = key
		}
	}
	if oldest == "" {
		return nil
	}
	return hs.drop(oldest)
}

// use returns what key stands for, if it is a T, and marks it as in use until done is called.
func use[T held](hs *handles, key []byte) (h T, done func(), err error) {
	now := hs.cfg.Now()
	hs.mu.Lock()
	e := hs.byKey[string(key)]
	if e == nil {
		hs.mu.Unlock()
		return h, nil, errHandle
	}
	h, ok := e.held.(T)
	if !ok {
		hs.mu.Unlock()
		return h, nil, errHandle
	}
	if e.holders == 0 && now.Sub(e.used) >= h.life(hs.cfg.Handles) {
		expired := hs.drop(string(key))
		hs.mu.Unlock()
		if expired != nil {
			expired.close()
		}
		return h, nil, errHandle
	}
	e.used = now
	e.holders++
	hs.mu.Unlock()
	return h, sync.OnceFunc(func() { hs.done(e) }), nil
}

func (hs *handles) done(e *entry) {
	hs.mu.Lock()
	e.holders--
	e.used = hs.cfg.Now()
	free := e.gone && e.holders == 0
	hs.mu.Unlock()
	if free {
		e.held.close()
	}
}

// drop forgets key and returns what has to be closed: nil if a call still uses it, which then closes it. hs.mu is held.
func (hs *handles) drop(key string) held {
	e := hs.byKey[key]
	if e == nil {
		return nil
	}
	delete(hs.byKey, key)
	e.gone = true
	if e.holders > 0 {
		return nil
	}
	return e.held
}

// end closes the handle key. An unknown one is closed already.
func (hs *handles) end(key []byte) {
	hs.mu.Lock()
	h := hs.drop(string(key))
	hs.mu.Unlock()
	if h != nil {
		h.close()
	}
}

// sweep closes the handles whose time is over, and frees what tickets keep ready for too long.
func (hs *handles) sweep() {
	now := hs.cfg.Now()
	var out []func()
	hs.mu.Lock()
	for key, e := range hs.byKey {
		if e.holders > 0 {
			continue
		}
		if now.Sub(e.used) >= e.held.life(hs.cfg.Handles) {
			if h := hs.drop(key); h != nil {
				out = append(out, h.close)
			}
		} else if t, ok := e.held.(*ticket); ok && now.Sub(e.made) >= hs.cfg.Handles.Ready {
			out = append(out, t.cool)
		}
	}
	hs.mu.Unlock()
	for _, f := range out {
		f()
	}
}

func (hs *handles) isClosed() bool {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	return hs.closed
}

func (hs *handles) closeAll() {
	var out []held
	hs.mu.Lock()
	hs.closed = true
	for key := range hs.byKey {
		if h := hs.drop(key); h != nil {
			out = append(out, h)
		}
	}
	hs.mu.Unlock()
	for _, h := range out {
		h.close()
	}
}

// maxReady is how many statements of one session stay ready to run at once: each holds a place among the user's
// running statements.
const maxReady = 8

// coolExcess frees what the longest waiting tickets keep ready.
func (hs *handles) coolExcess() {
	hs.mu.Lock()
	var ready []*entry
	for _, e := range hs.byKey {
		if t, ok := e.held.(*ticket); ok && t.isReady() {
			ready = append(ready, e)
		}
	}
	hs.mu.Unlock()
	if len(ready) <= maxReady {
		return
	}
	slices.SortFunc(ready, func(a, b *entry) int { return a.made.Compare(b.made) })
	for _, e := range ready[:len(ready)-maxReady] {
		e.held.(*ticket).cool()
	}
}
