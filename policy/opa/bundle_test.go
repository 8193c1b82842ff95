package opa_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gatehouse/auth"
	"gatehouse/policy/opa"
)

// What a bundle server answers is taken only if it is a good bundle, of the right size and from the server itself.
func TestBundleAnswers(t *testing.T) {
	private, public := keyPair(t)
	good, unsigned := signedBundle(t, base, private), signedBundle(t, base, "")
	keys := map[string]opa.Key{"k1": {Key: auth.NewSecret(public), Algorithm: "ES256"}}
	answer := func(code int, body []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = w.Write(body)
		}
	}
	elsewhere := httptest.NewServer(answer(http.StatusOK, good))
	defer elsewhere.Close()
	for name, c := range map[string]struct {
		serve  http.HandlerFunc
		change func(*opa.Config)
		ok     bool
	}{
		"a good one":            {answer(http.StatusOK, good), nil, true},
		"with an error's code":  {answer(http.StatusInternalServerError, good), nil, false},
		"created":               {answer(http.StatusCreated, good), nil, false},
		"not modified at first": {answer(http.StatusNotModified, nil), nil, false},
		"from another place": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
		}, nil, false},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100000")
			_, _ = w.Write(good)
		}, nil, false},
		"longer than may be":       {answer(http.StatusOK, good), func(c *opa.Config) { c.MaxBytes = int64(len(good)) - 1 }, false},
		"unsigned":                 {answer(http.StatusOK, unsigned), nil, false},
		"unsigned, which may be":   {answer(http.StatusOK, unsigned), func(c *opa.Config) { c.Bundle.Keys, c.Bundle.KeyID, c.Bundle.Unsigned = nil, "", true }, true},
		"of another scope":         {answer(http.StatusOK, good), func(c *opa.Config) { c.Bundle.Scope = "write" }, false},
		"with a key of another id": {answer(http.StatusOK, good), func(c *opa.Config) { c.Bundle.KeyID = "k2" }, false},
		"in the version of v0":     {answer(http.StatusOK, signedBundle(t, base, private)), func(c *opa.Config) { c.Rego = "v0" }, false},
		"after the request's time": {func(w http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		}, func(c *opa.Config) { c.Bundle.Timeout = 50 * time.Millisecond }, false},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(c.serve)
			defer srv.Close()
			ch, note := attempts()
			cfg := opa.Config{Log: quiet, OnAttempt: note, MaxBytes: 1 << 20, Bundle: &opa.BundleServer{
				URL: srv.URL, Keys: keys, KeyID: "k1", Ticks: make(chan time.Time),
			}}
			if c.change != nil {
				c.change(&cfg)
			}
			decider(t, cfg)
			if s := next(t, ch); (s.Err == nil) != c.ok || (s.Revision != "") != c.ok {
				t.Errorf("%+v", s)
			}
		})
	}
}

// A server over TLS is trusted by the authorities that are configured, and by no others.
func TestBundleOverTLS(t *testing.T) {
	private, public := keyPair(t)
	good := signedBundle(t, base, private)
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(good) }))
	defer srv.Close()
	pool := x509.NewCertPool()
	pool.AddCert(srv.Certificate())
	for ok, config := range map[bool]*tls.Config{true: {RootCAs: pool}, false: {RootCAs: x509.NewCertPool()}} {
		ch, note := attempts()
		decider(t, opa.Config{Log: quiet, OnAttempt: note, Bundle: &opa.BundleServer{
			URL: srv.URL, KeyID: "k1", TLS: config, Ticks: make(chan time.Time),
			Keys: map[string]opa.Key{"k1": {Key: auth.NewSecret(public), Algorithm: "ES256"}},
		}})
		if s := next(t, ch); (s.Err == nil) != ok {
			t.Errorf("its authority is known %v: %v", ok, s.Err)
		}
	}
}

// Tests of a policy are no part of it.
func TestTestsAreNotInForce(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"policy.rego": denyAll, "policy_test.rego": "package trino\nallow := true\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if ask(t, decider(t, opa.Config{Folder: dir, Log: quiet})) {
		t.Error("a rule of a test allows")
	}
	if err := os.Rename(filepath.Join(dir, "policy_test.rego"), filepath.Join(dir, "policy_tests.rego")); err != nil {
		t.Fatal(err)
	}
	if !ask(t, decider(t, opa.Config{Folder: dir, Log: quiet})) {
		t.Error("control: the same rule in another file")
	}
}
