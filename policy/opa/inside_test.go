package opa

import (
	"errors"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"

	"gatehouse/auth"
)

// A policy has no host to talk to, in either version of Rego, and no function but those of the list.
func TestCapabilities(t *testing.T) {
	for _, v := range []ast.RegoVersion{ast.RegoV0, ast.RegoV1} {
		c := capabilities(v)
		if c.AllowNet == nil || len(c.AllowNet) > 0 {
			t.Errorf("%s: hosts %v, where nil means all", v, c.AllowNet)
		}
		have := map[string]bool{}
		for _, b := range c.Builtins {
			have[b.Name] = true
		}
		for _, never := range []string{"http.send", "net.lookup_ip_addr", "opa.runtime", "rand.intn", "uuid.rfc4122", "providers.aws.sign_req", "rego.parse_module", "trace"} {
			if have[never] {
				t.Errorf("%s: a policy may call %s", v, never)
			}
		}
		if !have["startswith"] || !have["time.now_ns"] {
			t.Errorf("%s: control: %d functions", v, len(have))
		}
	}
}

// What is not said of a bundle server has a value, and what is said stays.
func TestBundleServerDefaults(t *testing.T) {
	said := BundleServer{URL: "https://policies.example/b.tar.gz", Unsigned: true, Poll: 1, MaxAge: 2, Timeout: 3}
	if got, err := said.withDefaults(); err != nil || got.Poll != 1 || got.MaxAge != 2 || got.Timeout != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, none := range []time.Duration{0, -1} {
		said.Poll, said.MaxAge, said.Timeout = none, none, none
		if got, err := said.withDefaults(); err != nil || got.Poll != 10*time.Second || got.MaxAge != time.Hour || got.Timeout != 30*time.Second {
			t.Errorf("%+v, %v", got, err)
		}
	}
	for url, ok := range map[string]bool{
		"http://localhost/b": true, "http://127.0.0.1:99/b": true, "http://[::1]/b": true, "https://a.example/b": true,
		"http://a.example/b": false, "http://127.0.0.2/b": false, "ftp://localhost/b": false, "https:///b": false, "https://u@a.example/b": false, "%": false,
	} {
		b := BundleServer{URL: url, Keys: map[string]Key{"k": {Key: auth.NewSecret("k")}}}
		if _, err := b.withDefaults(); (err == nil) != ok {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// A revision tells all files apart, wherever one ends and the next begins.
func TestDigest(t *testing.T) {
	seen := map[string]int{}
	for i, files := range []map[string][]byte{
		{}, {"a": nil}, {"": []byte("a")}, {"a": []byte("b")}, {"ab": nil}, {"b": []byte("a")}, {"a": nil, "b": nil}, {"a": []byte("b"), "c": nil}, {"a": []byte("bc")},
	} {
		d := digest(files)
		if other, dup := seen[d]; dup {
			t.Errorf("%d and %d have one digest", other, i)
		}
		if d != digest(files) || len(d) != 16 {
			t.Errorf("%d: %s, then %s", i, d, digest(files))
		}
		seen[d] = i
	}
}

// Data of a policy is written when it is loaded and not by what it evaluates.
func TestStoreIsNotWritten(t *testing.T) {
	err := func() (err error) {
		defer recovered(&err)
		panic("canary")
	}()
	if err == nil {
		t.Error("a panic of the engine is no error")
	}
	err = (&layered{}).Write(t.Context(), nil, storage.AddOp, nil, nil)
	if refused, ok := errors.AsType[*storage.Error](err); !ok || refused.Code != storage.WritesNotSupportedErr {
		t.Errorf("written: %v", err)
	}
}
