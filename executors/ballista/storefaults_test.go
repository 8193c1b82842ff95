package ballista

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"gatehouse/executors"
	"gatehouse/executors/ballista/cluster"
	"gatehouse/executors/ballista/wire"
	"gatehouse/executors/duckdb/tpc"
	"gatehouse/executors/executortest"
	"gatehouse/objects"
	"gatehouse/objects/objectstest"
	"gatehouse/objects/s3"
)

// gate stands in front of a server, and may do something else with a request of an executor's than pass it on. Those of the gateway, which signs
// them in their headers, it lets through.
type gate struct {
	*httptest.Server
	pass  http.Handler
	delay time.Duration // of each answer

	mu   sync.Mutex
	seen []*http.Request // since the last call of set
	on   func(n int, w http.ResponseWriter, r *http.Request) (done bool)
}

func newGate(t testing.TB, server *objectstest.Server) *gate {
	t.Helper()
	to, err := url.Parse(server.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{pass: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host // it is signed
	}}}
	g.Server = httptest.NewServer(g)
	t.Cleanup(g.Close)
	return g
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !r.URL.Query().Has("X-Amz-Signature") {
		g.pass.ServeHTTP(w, r)
		return
	}
	g.mu.Lock()
	g.seen = append(g.seen, r)
	n, on := len(g.seen), g.on
	g.mu.Unlock()
	time.Sleep(g.delay)
	if on == nil || !on(n, w, r) {
		g.pass.ServeHTTP(w, r)
	}
}

// set says what becomes of the requests from now on, the first of which is number 1.
func (g *gate) set(on func(n int, w http.ResponseWriter, r *http.Request) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.on, g.seen = on, nil
}

func (g *gate) requests() []*http.Request {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]*http.Request(nil), g.seen...)
}

// store opens the server behind the gate.
func (g *gate) store(t testing.TB, server *objectstest.Server, change func(*s3.Config)) objects.Store {
	t.Helper()
	config := server.Config(server.Reader, "test")
	config.Endpoint = g.URL
	if change != nil {
		change(&config)
	}
	store, err := s3.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

const sums = "SELECT count(*) AS n, sum(o_totalprice) AS s, min(o_comment) AS c FROM orders"

// TestStoreFaults: what passes is tried again; the rest ends a statement with its kind, and the next one runs.
func TestStoreFaults(t *testing.T) {
	server := objectstest.Start(t)
	g := newGate(t, server)
	dir := folderOf(t, tpc.TPCH)
	l := newLake(t, server, g.store(t, server, nil))
	p := executortest.Over(t, startWith(t, cluster.Config{Stores: []string{g.URL}}).inStore(t, l, nil), dir, "tpch")
	want, err := p.Rows(t.Context(), sums, nil)
	if err != nil {
		t.Fatalf("%v (%v)", err, errors.Unwrap(err))
	}
	local, err := executortest.Over(t, inProcess(t), dir, "tpch").Rows(t.Context(), sums, nil)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, want, local)
	calls := 0
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls++ }))
	t.Cleanup(elsewhere.Close)
	var key string
	for put := range l.sizes {
		if strings.Contains(put, "orders") {
			key = put
		}
	}
	data, err := os.ReadFile("/" + key)
	if err != nil {
		t.Fatal(err)
	}
	other := append([]byte(nil), data...)
	other[len(other)/2] ^= 1
	status := func(from, to, code int) func(int, http.ResponseWriter, *http.Request) bool {
		return func(n int, w http.ResponseWriter, _ *http.Request) bool {
			if n < from || n > to {
				return false
			}
			w.WriteHeader(code)
			return true
		}
	}
	const always = 1 << 30
	for _, c := range []struct {
		name string
		on   func(n int, w http.ResponseWriter, r *http.Request) bool
		kind executors.Kind // -1: it runs
	}{
		{"busy at first", status(1, 2, http.StatusServiceUnavailable), -1},
		{"busy in between", status(2, 3, http.StatusTooManyRequests), -1},
		{"a connection breaks", func(n int, _ http.ResponseWriter, _ *http.Request) bool {
			if n != 1 {
				return false
			}
			panic(http.ErrAbortHandler)
		}, -1},
		{"an answer breaks off", func(n int, w http.ResponseWriter, r *http.Request) bool {
			if n != 2 {
				return false
			}
			g.pass.ServeHTTP(&short{ResponseWriter: w, left: 1000}, r)
			panic(http.ErrAbortHandler)
		}, -1},
		{"always busy", status(1, always, http.StatusInternalServerError), executors.KindUnavailable},
		{"refused", status(1, always, http.StatusForbidden), executors.KindRefused},
		{"refused in between", status(2, always, http.StatusForbidden), executors.KindRefused},
		{"no such object", status(1, always, http.StatusNotFound), executors.KindData},
		{"it leads elsewhere", func(_ int, w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, elsewhere.URL+r.URL.RequestURI(), http.StatusTemporaryRedirect)
			return true
		}, executors.KindUnavailable},
		{"it knows no ranges", func(_ int, w http.ResponseWriter, r *http.Request) bool {
			r.Header.Del("Range")
			return false
		}, executors.KindUnavailable},
		{"it knows no conditions, and the object is another one", func(n int, w http.ResponseWriter, r *http.Request) bool {
			if n == 2 {
				server.Put(t, key, other)
			}
			r.Header.Del("If-Match")
			return false
		}, executors.KindData},
		{"the object is another one", func(n int, w http.ResponseWriter, r *http.Request) bool {
			if n == 2 {
				server.Put(t, key, other)
			}
			return false
		}, executors.KindData},
		{"the object has another size", func(n int, w http.ResponseWriter, r *http.Request) bool {
			if n == 1 {
				server.Put(t, key, append(other, "PAR1"...))
			}
			return false
		}, executors.KindData},
	} {
		t.Run(c.name, func(t *testing.T) {
			g.set(c.on)
			got, err := p.Rows(t.Context(), sums, nil)
			if c.kind >= 0 {
				kind(t, err, c.kind)
			} else if err != nil {
				t.Errorf("%v (%v)", err, errors.Unwrap(err))
			} else {
				compare(t, got, want)
			}
			g.set(nil)
			server.Put(t, key, data)
			got, err = p.Rows(t.Context(), sums, nil)
			if err != nil {
				t.Fatalf("after it: %v (%v)", err, errors.Unwrap(err))
			}
			compare(t, got, want)
		})
	}
	if calls > 0 {
		t.Errorf("a redirect was followed %d times", calls)
	}
}

// TestStoreCancel: a statement that is given up leaves its requests.
func TestStoreCancel(t *testing.T) {
	server := objectstest.Start(t)
	g := newGate(t, server)
	l := newLake(t, server, g.store(t, server, nil))
	p := executortest.Over(t, startWith(t, cluster.Config{Stores: []string{g.URL}}).inStore(t, l, nil), folderOf(t, tpc.TPCH), "tpch")
	arrived, left := make(chan struct{}), make(chan struct{})
	g.set(func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n != 2 {
			return false
		}
		close(arrived)
		<-r.Context().Done()
		close(left)
		return true
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := p.Rows(ctx, sums, nil)
		ended <- err
	}()
	<-arrived
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	select {
	case <-left:
	case <-time.After(15 * time.Second):
		t.Error("the request goes on")
	}
}

// TestManyFiles: a statement that is too large to be sent is refused by name.
func TestManyFiles(t *testing.T) {
	c, err := newClient("127.0.0.1:1", &tls.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	group := &wire.TaskGroup{Payload: make([]byte, maxMessage)}
	_, err = c.submit(t.Context(), &wire.Statement{Relations: []*wire.Relation{{Groups: []*wire.TaskGroup{group}}}}, func(string) {})
	kind(t, err, executors.KindUnsupported)
}

// short passes on the beginning of a body.
type short struct {
	http.ResponseWriter
	left int
}

func (s *short) Write(p []byte) (int, error) {
	n := min(len(p), s.left)
	s.left -= n
	_, err := s.ResponseWriter.Write(p[:n])
	return len(p), err
}

// TestStoreRights: keys that may not read, URLs that have ended, and keys that have.
func TestStoreRights(t *testing.T) {
	server := objectstest.Start(t)
	c := startWith(t, cluster.Config{Stores: []string{server.Endpoint}})
	const text = "SELECT id FROM orders"
	open := func(change func(*s3.Config)) objects.Store {
		config := server.Config(server.Reader, "test")
		change(&config)
		store, err := s3.New(config)
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
	for _, r := range []struct {
		name  string
		store objects.Store
		kind  executors.Kind
		says  string
	}{
		{"keys that may not read", server.Store(t, server.Stranger), executors.KindRefused, ""},
		{"a URL that has ended", early{open(func(c *s3.Config) { c.Now = func() time.Time { return time.Now().Add(-time.Hour) } })}, executors.KindRefused, ""},
		{"keys that have ended", open(func(c *s3.Config) { c.Ends = time.Now().Add(-time.Minute) }), executors.KindUnavailable, "have ended"},
	} {
		t.Run(r.name, func(t *testing.T) {
			_, err := executortest.Zoo(t, c.inStore(t, newLake(t, server, r.store), nil)).Rows(t.Context(), text, nil)
			kind(t, err, r.kind)
			if err != nil && !strings.Contains(err.Error(), r.says) {
				t.Errorf("it says %q", err)
			}
		})
	}
	// The same once more, by keys that end while the statement runs.
	t.Run("keys that end in between", func(t *testing.T) {
		now := time.Now()
		store := open(func(c *s3.Config) {
			c.Ends = now.Add(time.Hour)
			c.Now = func() time.Time { return now }
		})
		ending := &atEnd{Store: store, end: func() { now = now.Add(2 * time.Hour) }}
		_, err := executortest.Zoo(t, c.inStore(t, newLake(t, server, ending), nil)).Rows(t.Context(), text, nil)
		kind(t, err, executors.KindUnavailable)
		if err != nil && !strings.Contains(err.Error(), "have ended") {
			t.Errorf("it says %q", err)
		}
	})
	if rows, err := executortest.Zoo(t, c.inStore(t, newLake(t, server, server.Store(t, server.Reader)), nil)).Rows(t.Context(), text, nil); err != nil || len(rows) == 0 {
		t.Errorf("the control: %d rows, %v", len(rows), err)
	}
}

// early signs URLs that end a minute after its store's now.
type early struct{ objects.Store }

func (e early) Presign(ctx context.Context, location string, _ time.Time) (string, error) {
	return e.Store.Presign(ctx, location, time.Now().Add(-59*time.Minute))
}

// atEnd signs one URL that the store does not take, with which the keys have ended.
type atEnd struct {
	objects.Store
	end  func()
	once sync.Once
}

func (a *atEnd) Presign(ctx context.Context, location string, until time.Time) (string, error) {
	signed, err := a.Store.Presign(ctx, location, until)
	a.once.Do(func() { a.end(); signed += "0" })
	return signed, err
}

// TestStoresAreNamed: an executor calls what its configuration names. Statements that need more are refused before any call, or run beside the
// gateway if they may.
func TestStoresAreNamed(t *testing.T) {
	server := objectstest.Start(t)
	l := newLake(t, server, server.Store(t, server.Reader))
	const text = "SELECT id FROM orders"
	for name, stores := range map[string][]string{"none": nil, "another": {"https://s3.example.com"}, "another port": {"http://127.0.0.1:9"}, "another scheme": {strings.Replace(server.Endpoint, "http", "https", 1)}} {
		c := startWith(t, cluster.Config{Stores: stores, Executors: 1})
		_, err := executortest.Zoo(t, c.inStore(t, l, nil)).Rows(t.Context(), text, nil)
		kind(t, err, executors.KindUnsupported)
		if err == nil || !strings.Contains(err.Error(), "may not call the object store") {
			t.Errorf("%s: %v", name, err)
		}
		if name == "none" {
			rows, err := executortest.Zoo(t, c.inStore(t, l, func(c *Config) { c.Choices, c.LocalBytes = []string{Auto}, 1 })).Rows(t.Context(), text, nil)
			if err != nil || len(rows) == 0 {
				t.Errorf("beside the gateway: %d rows, %v", len(rows), err)
			}
			_, err = executortest.Zoo(t, c.inStore(t, l, func(c *Config) { c.Executors = nil })).Rows(t.Context(), text, nil)
			kind(t, err, executors.KindUnsupported)
		}
	}
}
