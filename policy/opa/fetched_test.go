package opa

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gatehouse/auth"
	"gatehouse/policy"
)

// packed is a bundle file that is not signed.
func packed(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// What a bundle holds is under the same rules as a folder, and has the server's revision in its name.
func TestWhatBundlesHold(t *testing.T) {
	const v0 = "package trino\nallow { true }\nrowFilters = []\ncolumnMask = 1 { false }\n"
	for _, c := range []struct {
		files    map[string]string
		rego     string
		revision string // what the revision begins with
		want     string // "": accepted
	}{
		{map[string]string{"/p.rego": sound}, "v1", "", ""},
		{map[string]string{"/p.rego": sound, "/.manifest": `{"revision": "r7"}`}, "v1", "r7@", ""},
		{map[string]string{"/p.rego": sound + "x if { y := 1 }"}, "v1", "", ""}, // what a check warns of may be in force
		{map[string]string{"/p.rego": sound + "# METADATA\n# title: [\nx := 1"}, "v1", "", "p.rego:6: rego_parse_error: yaml"},
		{map[string]string{"/p.rego": v0}, "v0", "", ""},
		{map[string]string{"/p.rego": v0}, "v1", "", "p.rego:2: rego_parse_error"},
		{map[string]string{"/p.rego": sound + "x := http.send({})"}, "v1", "", "http.send"},
		{map[string]string{"/p.rego": v0 + "x = http.send({})"}, "v0", "", "http.send"},
		{map[string]string{"/p.rego": sound, "/data.json": `{"gateway": 1}`}, "v1", "", "data.gateway is reserved"},
		{map[string]string{"/p.rego": sound, "/policy.wasm": "x"}, "v1", "", "bundles with WebAssembly are not supported"},
		{map[string]string{"/p.rego": sound + "x := input.nowhere"}, "v1", "", "undefined ref: input.nowhere"},
		{map[string]string{"/p.rego": sound, "/big/data.json": `{"x": "` + strings.Repeat("x", 1<<20) + `"}`}, "v1", "", "size"},
	} {
		cfg, err := withDefaults(Config{Bundle: &BundleServer{URL: "https://policies.example/b", Unsigned: true}, Rego: c.rego, MaxBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		body := packed(t, c.files)
		e, err := compileBundle(body, cfg)
		switch {
		case c.want != "" && (e != nil || err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%v: %v, want %q", c.files, err, c.want)
		case c.want == "" && (err != nil || e.revision != c.revision+digest(map[string][]byte{"bundle": body})):
			t.Errorf("%v: %+v, %v", c.files, e, err)
		}
	}
	if _, err := compileBundle([]byte("garbage"), Config{Bundle: &BundleServer{Unsigned: true}, MaxBytes: 1}); err == nil {
		t.Error("garbage was compiled")
	}
	cfg := Config{Bundle: &BundleServer{Keys: map[string]Key{"k1": {Key: auth.NewSecret("one"), Algorithm: "HS256"}, "k2": {Key: auth.NewSecret("two"), Algorithm: "ES256"}}, KeyID: "k2", Scope: "read"}}
	v := verification(cfg.Bundle)
	if len(v.PublicKeys) != 2 || v.PublicKeys["k1"].Key != "one" || v.PublicKeys["k1"].Algorithm != "HS256" || v.PublicKeys["k2"].Key != "two" || v.KeyID != "k2" || v.Scope != "read" || v.Exclude != nil {
		t.Errorf("%+v", v)
	}
}

// Metadata of rules can be asked for, and a built-in function that fails is a fault unless the site says that it is undefined.
func TestRegoOfOtherSites(t *testing.T) {
	const annotated = "package trino\n\n# METADATA\n# title: open\nallow if rego.metadata.rule().title == \"open\"\nrowFilters := []\ncolumnMask := 1 if false\n"
	rs := []policy.Resource{{}}
	if ok, err := with(t, annotated, nil).Allow(t.Context(), policy.ExecuteQuery, rs); err != nil || !ok[0] {
		t.Errorf("metadata: %v, %v", ok, err)
	}
	cfg, err := withDefaults(Config{Bundle: &BundleServer{URL: "https://policies.example/b", Unsigned: true}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := compileBundle(packed(t, map[string]string{"/p.rego": annotated}), cfg)
	if err != nil {
		t.Fatal(err)
	}
	j, err := newJudge(&Decider{cfg: cfg}, e, policy.Caller{Identity: auth.Identity{Issuer: "i", Subject: "s", User: "u"}})
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := j.Allow(t.Context(), policy.ExecuteQuery, rs); err != nil || !ok[0] {
		t.Errorf("metadata in a bundle: %v, %v", ok, err)
	}
	const failing = "package trino\ndefault allow := true\nallow := false if to_number(\"x\") == 1\nrowFilters := []\ncolumnMask := 1 if false\n"
	for legacy, want := range map[bool]bool{true: true, false: false} {
		ok, err := with(t, failing, func(c *Config) { c.Legacy = legacy }).Allow(t.Context(), policy.ExecuteQuery, rs)
		if (err == nil) != want || want && !ok[0] {
			t.Errorf("legacy %v: %v, %v", legacy, ok, err)
		}
	}
	with(t, sound+"x if { y := 1 }", nil) // what a check warns of may be in force
}

// A policy is in force as long as its server was heard of, to the moment.
func TestAgeOfPolicy(t *testing.T) {
	j := with(t, sound, nil)
	d, at := j.d, time.Unix(1000, 0)
	id := policy.Caller{Identity: auth.Identity{Issuer: "i", Subject: "s", User: "u"}}
	d.fresh.Store(at.UnixNano())
	for _, c := range []struct {
		maxAge, after time.Duration
		ok            bool
	}{{time.Hour, 0, true}, {time.Hour, time.Hour, true}, {time.Hour, time.Hour + 1, false}, {0, 1000 * time.Hour, true}, {1, 2, false}} {
		d.maxAge, d.cfg.Now = c.maxAge, func() time.Time { return at.Add(c.after) }
		if _, err := d.Judge(t.Context(), id); (err == nil) != c.ok || !c.ok && !errors.Is(err, policy.ErrNoPolicy) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if j, err := d.Judge(t.Context(), id); err == nil {
		t.Errorf("%+v", j)
	}
	d.maxAge = 0
	for at, want := range map[time.Time]time.Time{{}: d.cfg.Now(), time.Unix(5, 0): time.Unix(5, 0)} {
		id.Time = at
		if j, err := d.Judge(t.Context(), id); err != nil || !j.(*judge).caller.Time.Equal(want) {
			t.Errorf("admitted at %v: %v, %v", at, j.(*judge).caller.Time, err)
		}
	}
}

// The server hears its own entity tag again, and only after a bundle that came into force; a bundle may be exactly as large as the limit.
func TestPolling(t *testing.T) {
	body := packed(t, map[string]string{"/p.rego": sound})
	var answer func(http.ResponseWriter)
	var heard []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard = append(heard, fmt.Sprintf("%s %s %q %q", r.Method, r.URL.Path, r.Header.Get("If-None-Match"), r.Header.Get("Authorization")))
		answer(w)
	}))
	defer srv.Close()
	sends := func(code int, tag string, body []byte) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("ETag", tag)
			w.WriteHeader(code)
			_, _ = w.Write(body)
		}
	}
	var attempts []Status
	now := time.Unix(1000, 0)
	cfg, err := withDefaults(Config{
		Bundle: &BundleServer{URL: srv.URL + "/b", Unsigned: true}, MaxBytes: int64(len(body)), Log: slog.New(slog.DiscardHandler), OnAttempt: func(s Status) { attempts = append(attempts, s) },
		Now: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	d, tag := &Decider{cfg: cfg}, ""
	for i, c := range []struct {
		answer func(http.ResponseWriter)
		tag    string // after it
		want   string // of the fault; "": none
		heard  string
	}{
		{sends(304, "one", nil), "", "bundle server answered 304", `GET /b "" ""`},
		{sends(200, "one", append(bytes.Clone(body), 0)), "", fmt.Sprintf("bundle is larger than %d bytes", len(body)), `GET /b "" ""`},
		{sends(404, "one", body), "", "bundle server answered 404", `GET /b "" ""`},
		{sends(200, "one", body), "one", "", `GET /b "" ""`},
		{sends(304, "one", nil), "one", "", `GET /b "one" ""`},
		{sends(200, "two", []byte("garbage")), "one", "archive read failed", `GET /b "one" ""`},
		{sends(200, "three", body), "three", "", `GET /b "one" ""`},
	} {
		answer, now = c.answer, now.Add(time.Second)
		fresh := d.fresh.Load()
		tag = d.poll(t.Context(), srv.Client(), tag)
		s := attempts[len(attempts)-1]
		if tag != c.tag || len(attempts) != i+1 || heard[i] != c.heard || (d.Status().Revision != "") != (i > 2) {
			t.Errorf("poll %d: tag %q, %d attempts, heard %s, %+v", i, tag, len(attempts), heard[i], d.Status())
		}
		if c.want == "" && d.fresh.Load() != now.UnixNano() || c.want != "" && (d.fresh.Load() != fresh || s.Err == nil || !strings.Contains(s.Err.Error(), c.want)) {
			t.Errorf("poll %d: %v, want %q", i, s.Err, c.want)
		}
	}
	d.cfg.Bundle.Token = auth.NewSecret("t0ken")
	if e, next, err := d.fetch(t.Context(), srv.Client(), ""); err != nil || e == nil || next != "three" || !strings.HasSuffix(heard[len(heard)-1], `"" "Bearer t0ken"`) {
		t.Errorf("%v, %s, %v, %v", e, next, err, heard)
	}
	srv.Close()
	if e, next, err := d.fetch(t.Context(), srv.Client(), "three"); err == nil || e != nil || next != "" {
		t.Errorf("%v, %s, %v", e, next, err)
	}
	d.cfg.Bundle.URL = "http://x/%"
	if _, _, err := d.fetch(t.Context(), srv.Client(), ""); err == nil {
		t.Error("a URL that is none")
	}
}

// A tool is told of a listing in its order.
func TestListingIsTracedInOrder(t *testing.T) {
	var told []string
	j := with(t, sound, func(c *Config) {
		c.Trace = func(e Evaluation) {
			_, name, _ := strings.Cut(string(e.Input), `"tableName":"`)
			name, _, _ = strings.Cut(name, `"`)
			told = append(told, name)
		}
	})
	if got := listed(t, j, policy.FilterTables, 2*listingSize); got != "64 of 64" {
		t.Error(got)
	}
	for i, name := range told {
		if name != fmt.Sprint("t", i) {
			t.Errorf("%d is %s", i, name)
		}
	}
	if len(told) != 2*listingSize {
		t.Errorf("told of %d", len(told))
	}
}

// Without being told to, a server is asked again after each while.
func TestServerIsAskedAgain(t *testing.T) {
	body := packed(t, map[string]string{"/p.rego": sound})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }))
	defer srv.Close()
	attempts := make(chan Status, 100)
	d, err := New(Config{
		Bundle: &BundleServer{URL: srv.URL, Unsigned: true, Poll: time.Millisecond}, Log: slog.New(slog.DiscardHandler),
		OnAttempt: func(s Status) {
			select {
			case attempts <- s:
			default: // that many are enough
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		select {
		case s := <-attempts:
			if s.Err != nil {
				t.Error(s.Err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("the server is not asked again")
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
