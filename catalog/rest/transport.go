package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// transport carries every call to the server. It sends nothing to another host, whatever a redirect or the server's configuration says,
// since each request carries a caller's token; it bounds answers; and it reads out of them what the client drops.
type transport struct {
	next         http.RoundTripper
	scheme, host string
	max          int64
	vends        bool // the catalog is asked for credentials of the object store
}

// answerKey is the context key of an *answer to fill in.
type answerKey struct{}

// answer is what we need of a LoadTableResult beside the table itself.
type answer struct {
	seen         bool
	Restrictions json.RawMessage   `json:"read-restrictions"`
	Config       map[string]string `json:"config"`
	Credentials  []credential      `json:"storage-credentials"`
}

// credential is a StorageCredential of the specification.
type credential struct {
	Prefix string            `json:"prefix"`
	Config map[string]string `json:"config"`
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != t.scheme || r.URL.Host != t.host {
		return nil, errors.New("the catalog sends its clients to another host")
	}
	r = r.Clone(r.Context()) // a RoundTripper must not change what it was given
	r.Header.Del(keyDelegation)
	if t.vends {
		r.Header.Set(keyDelegation, "vended-credentials")
	}
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, t.max+1))
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	if int64(len(body)) > t.max {
		return nil, fmt.Errorf("the catalog's answer has more than %d bytes", t.max)
	}
	if resp.StatusCode == http.StatusOK {
		if strings.HasSuffix(r.URL.Path, "/v1/config") {
			body = plainConfig(body)
		}
		if a, ok := r.Context().Value(answerKey{}).(*answer); ok {
			if err := json.Unmarshal(body, a); err != nil {
				return nil, errors.New("the catalog's answer is not a table")
			}
			a.seen = true
		}
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Del("Content-Encoding")
	return resp, nil
}

// configKeys are what a server may set. Everything else, such as tokens, headers, addresses, request signing with the
// credentials of the machine, or properties of file stores, is not for a server to set.
var configKeys = map[string]bool{"prefix": true, "namespace-separator": true, "view-endpoints-supported": true}

// plainConfig cuts a configuration down to configKeys and to endpoints of the form "METHOD /path"; some servers list others.
func plainConfig(body []byte) []byte {
	var c struct {
		Defaults  map[string]any `json:"defaults"`
		Overrides map[string]any `json:"overrides"`
		Endpoints []string       `json:"endpoints,omitempty"`
	}
	if json.Unmarshal(body, &c) != nil {
		return body
	}
	for _, m := range []map[string]any{c.Defaults, c.Overrides} {
		for k := range m {
			if !configKeys[k] {
				delete(m, k)
			}
		}
	}
	var endpoints []string
	for _, e := range c.Endpoints {
		if _, path, ok := strings.Cut(e, " "); ok && strings.HasPrefix(path, "/") {
			endpoints = append(endpoints, e)
		}
	}
	c.Endpoints = endpoints
	out, err := json.Marshal(c)
	if err != nil {
		return body
	}
	return out
}

// restrictions returns the read-restrictions object, nil if there is none. An empty object restricts nothing.
func (a *answer) restrictions() []byte {
	raw := bytes.TrimSpace(a.Restrictions)
	var object map[string]json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &object) == nil && len(object) == 0 {
		return nil
	}
	return raw
}
