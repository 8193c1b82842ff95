package rest_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gatehouse/catalog/catalogtest"
)

// startServer starts Iceberg's own REST catalog server over a copy of the zoo's catalog and returns its address.
func startServer(t *testing.T) *url.URL {
	t.Helper()
	return catalogtest.StartREST(t, filepath.Join(catalogtest.Zoo(t), "catalog.db"), "zoo", "file://"+catalogtest.ZooFolder+"/warehouse")
}

// door is what real installations have in front of a catalog: it knows tokens, and may change answers.
type door struct {
	*httptest.Server
	mu     sync.Mutex
	tokens map[string]string // token → user
	seen   []string          // "user METHOD path"
	// refuse is asked for a status other than 200.
	refuse func(user string, r *http.Request) int
	change func(user string, r *http.Request, body []byte) []byte
}

func newDoor(t *testing.T, backend *url.URL) *door {
	t.Helper()
	d := &door{tokens: map[string]string{"token-of-alice": "alice", "token-of-bob": "bob", "token-of-gateway": "gateway"}}
	proxy := httputil.NewSingleHostReverseProxy(backend)
	proxy.ModifyResponse = func(resp *http.Response) error {
		if d.change == nil || resp.StatusCode != http.StatusOK {
			return nil
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		body = d.change(resp.Request.Header.Get("X-User"), resp.Request, body)
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		resp.Header.Set("Content-Length", fmt.Sprint(len(body)))
		return nil
	}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		user, ok := d.tokens[token]
		d.mu.Lock()
		d.seen = append(d.seen, user+" "+r.Method+" "+r.URL.Path)
		d.mu.Unlock()
		if !ok {
			fail(w, http.StatusUnauthorized)
			return
		}
		if d.refuse != nil {
			if code := d.refuse(user, r); code != 0 {
				fail(w, code)
				return
			}
		}
		r.Header.Set("X-User", user)
		r.Header.Del("Accept-Encoding")
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(d.Close)
	return d
}

func fail(w http.ResponseWriter, code int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"error":{"message":"SECRET detail of the server","type":"x","code":%d}}`, code)
}

// users returns who was seen since the last call.
func (d *door) users() map[string]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := map[string]bool{}
	for _, s := range d.seen {
		user, _, _ := strings.Cut(s, " ")
		out[user] = true
	}
	d.seen = nil
	return out
}
