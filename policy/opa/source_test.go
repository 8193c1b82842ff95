package opa_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/bundle"

	"gatehouse/auth"
	"gatehouse/policy"
	"gatehouse/policy/opa"
	"gatehouse/policy/policytest"
)

const denyAll = "package trino\ndefault allow := false\nrowFilters contains 1 if false\ncolumnMask := 1 if false\n"

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// attempts collects the outcomes of loads.
func attempts() (chan opa.Status, func(opa.Status)) {
	ch := make(chan opa.Status, 100)
	return ch, func(s opa.Status) { ch <- s }
}

func next(t *testing.T, ch chan opa.Status) opa.Status {
	t.Helper()
	select {
	case s := <-ch:
		return s
	case <-time.After(10 * time.Second):
		t.Fatal("no attempt to load the policy")
		return opa.Status{}
	}
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := opa.New(opa.Config{Folder: dir, Log: quiet}); err == nil {
		t.Fatal("an empty folder was taken for a policy")
	}
	write("policy.rego", base)
	ch, note := attempts()
	d := decider(t, opa.Config{Folder: dir, Log: quiet, OnAttempt: note, Debounce: time.Millisecond})
	first := next(t, ch)
	if !ask(t, d) || first.Revision == "" {
		t.Fatal("the first policy is not in force")
	}
	held, err := d.Judge(t.Context(), policytest.Caller(policytest.Ann))
	if err != nil {
		t.Fatal(err)
	}

	// A policy that does not compile changes nothing, and the operator learns why.
	write("policy.rego", base+"allow if {")
	bad := next(t, ch)
	if bad.Err == nil || bad.Revision != first.Revision || !ask(t, d) {
		t.Fatalf("%+v", bad)
	}

	// A good one replaces it, but not for a statement that is under way.
	write("policy.rego", denyAll)
	good := next(t, ch)
	for good.Err != nil { // the file was seen half-written
		good = next(t, ch)
	}
	if good.Revision == first.Revision || ask(t, d) {
		t.Fatalf("%+v", good)
	}
	rs := []policy.Resource{{Catalog: "c", Schema: "s", Table: "t"}}
	if got, err := held.Allow(t.Context(), policy.SelectColumns, rs); err != nil || !got[0] || held.Revision() != first.Revision {
		t.Fatal("a judge changed its policy: ", got, err)
	}

	// A file in a new folder is seen too.
	write("deep/er/more.rego", "package more\nx := 1")
	if s := next(t, ch); s.Revision == good.Revision {
		t.Fatalf("%+v", s)
	}
}

// Deployments switch whole folders by a symbolic link, and mount single files as links.
func TestFolderOfLinks(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"one/policy.rego": base, "two/policy.rego": denyAll} {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	linked := filepath.Join(root, "linked")
	files := filepath.Join(root, "files")
	if err := errors.Join(os.Symlink("one", linked), os.Mkdir(files, 0o755), os.Symlink("../one/policy.rego", filepath.Join(files, "policy.rego"))); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{linked, files} {
		if d := decider(t, opa.Config{Folder: dir, Log: quiet}); !ask(t, d) {
			t.Errorf("%s: not in force", dir)
		}
	}
}

func TestFolderLimit(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.rego"), []byte(base), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := opa.New(opa.Config{Folder: dir, MaxBytes: 10, Log: quiet}); err == nil {
		t.Fatal("the limit does not hold")
	}
}

// signedBundle makes a bundle file of one policy, signed with key unless that is "".
func signedBundle(t *testing.T, text, key string) []byte {
	t.Helper()
	b, err := bundle.NewCustomReader(bundle.NewDirectoryLoader(func() string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "policy.rego"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return dir
	}())).Read()
	if err != nil {
		t.Fatal(err)
	}
	b.Manifest.Revision = "rev"
	if key != "" {
		if err := b.GenerateSignature(bundle.NewSigningConfig(key, "ES256", ""), "k1", false); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := bundle.NewWriter(&out).DisableFormat(true).Write(b); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func keyPair(t *testing.T) (private, public string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	priv, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	pub, err := x509.MarshalPKIXPublicKey(&k.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: priv})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pub}))
}

func TestBundleServer(t *testing.T) {
	private, public := keyPair(t)
	stranger, _ := keyPair(t)
	var body atomic.Pointer[[]byte]
	var etag atomic.Value
	var notModified atomic.Int64
	serve := func(b []byte, tag string) { body.Store(&b); etag.Store(tag) }
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer t0ken" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.Header.Get("If-None-Match") == etag.Load() {
			notModified.Add(1)
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("ETag", etag.Load().(string))
		_, _ = w.Write(*body.Load())
	}))
	defer srv.Close()
	serve([]byte("garbage"), `"0"`)

	var now atomic.Int64
	now.Store(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	ch, note := attempts()
	ticks := make(chan time.Time)
	poll := func() opa.Status { ticks <- time.Time{}; return next(t, ch) }
	d := decider(t, opa.Config{
		Log: quiet, OnAttempt: note, MaxBytes: 1 << 20,
		Now: func() time.Time { return time.Unix(0, now.Load()) },
		Bundle: &opa.BundleServer{
			URL: srv.URL + "/bundle.tar.gz", Token: auth.NewSecret("t0ken"), Ticks: ticks, MaxAge: time.Hour, KeyID: "k1",
			Keys: map[string]opa.Key{"k1": {Key: auth.NewSecret(public), Algorithm: "ES256"}},
		},
	})

	// Before the first good bundle nothing is allowed.
	if s := next(t, ch); s.Err == nil {
		t.Fatal("garbage was accepted")
	}
	if _, err := d.Judge(t.Context(), policytest.Caller(policytest.Ann)); !errors.Is(err, policy.ErrNoPolicy) {
		t.Fatal(err)
	}
	for i, b := range [][]byte{signedBundle(t, base, ""), signedBundle(t, base, stranger), bytes.Repeat([]byte("x"), 1<<20+1)} {
		serve(b, `"bad"`)
		if s := poll(); s.Err == nil || s.Revision != "" {
			t.Fatalf("bundle %d was accepted", i)
		}
	}
	serve(signedBundle(t, base, private), `"1"`)
	good := poll()
	if good.Err != nil || !strings.HasPrefix(good.Revision, "rev@") || !ask(t, d) {
		t.Fatalf("%+v", good)
	}

	// The last good bundle stays, until it is too old.
	serve([]byte("garbage"), `"2"`)
	if s := poll(); s.Err == nil || s.Revision != good.Revision || !ask(t, d) {
		t.Fatalf("%+v", s)
	}
	now.Add(int64(59 * time.Minute))
	if !ask(t, d) {
		t.Fatal("denied before the limit")
	}
	now.Add(int64(2 * time.Minute))
	if _, err := d.Judge(t.Context(), policytest.Caller(policytest.Ann)); !errors.Is(err, policy.ErrNoPolicy) {
		t.Fatal("an old policy is still in force: ", err)
	}

	// "Not modified" makes it fresh again.
	etag.Store(`"1"`)
	if s := poll(); s.Revision != good.Revision || notModified.Load() != 1 || !ask(t, d) {
		t.Fatalf("%+v", s)
	}
	serve(signedBundle(t, denyAll, private), `"3"`)
	if s := poll(); s.Err != nil || ask(t, d) {
		t.Fatalf("%+v", s)
	}
}

func TestBundleServerConfig(t *testing.T) {
	keys := map[string]opa.Key{"k": {Key: auth.NewSecret("k"), Algorithm: "HS256"}}
	for _, c := range []struct {
		name string
		b    opa.BundleServer
	}{
		{"no URL", opa.BundleServer{Keys: keys}},
		{"plain http", opa.BundleServer{URL: "http://policies.example/b.tar.gz", Keys: keys}},
		{"password in URL", opa.BundleServer{URL: "https://u:p@policies.example/b.tar.gz", Keys: keys}},
		{"no keys", opa.BundleServer{URL: "https://policies.example/b.tar.gz"}},
		{"keys and unsigned", opa.BundleServer{URL: "https://policies.example/b.tar.gz", Keys: keys, Unsigned: true}},
	} {
		if _, err := opa.New(opa.Config{Bundle: &c.b, Log: quiet}); err == nil {
			t.Errorf("%s: accepted", c.name)
		}
	}
}
