package opa

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"

	"gatehouse/auth"
	"gatehouse/policy"
)

const sound = "package trino\nallow := true\nrowFilters := []\ncolumnMask := 1 if false\n"

// What a configuration does not say has a value, what it says stays, and what makes no sense is refused.
func TestConfiguration(t *testing.T) {
	files := map[string][]byte{"p.rego": nil}
	got, err := withDefaults(Config{Files: files})
	if err != nil || got.Rego != "v1" || got.Timeout != 2*time.Second || got.Trino != "476" || got.Version != "dev" || got.MaxBytes != 64<<20 || got.Debounce != 100*time.Millisecond ||
		got.Log != slog.Default() || got.Now == nil || got.Rand != rand.Reader || got.Bundle != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if want := (EntryPoints{"trino/allow", "trino/batch", "trino/rowFilters", "trino/columnMask", "trino/batchColumnMasks", "trino/denials", "trino/constraints"}); got.Entry != want {
		t.Errorf("%+v", got.Entry)
	}
	if d := time.Since(got.Now()); d < 0 || d > time.Minute {
		t.Errorf("now is %v ago", d)
	}
	log, random, entry := slog.New(slog.DiscardHandler), &bytes.Buffer{}, EntryPoints{"a", "b", "c", "d", "e", "f", "g"}
	said := Config{Files: files, Rego: "auto", Timeout: 1, Trino: "t", Version: "v", MaxBytes: 1, Debounce: 1, Log: log, Rand: random, Entry: entry, Prefer: "batch", Now: func() time.Time { return time.Unix(7, 0) }}
	got, err = withDefaults(said)
	if err != nil || got.Rego != "auto" || got.Timeout != 1 || got.Trino != "t" || got.Version != "v" || got.MaxBytes != 1 || got.Debounce != 1 || got.Log != log || got.Rand != random || got.Entry != entry ||
		!got.Now().Equal(time.Unix(7, 0)) {
		t.Errorf("%+v, %v", got, err)
	}
	if all := strings.Join(entry.all(), ""); all != "abcdefg" {
		t.Errorf("the entry points are %s", all)
	}
	got, err = withDefaults(Config{Files: files, Rego: "v0", Timeout: -1, MaxBytes: -1, Debounce: -1})
	if err != nil || got.Timeout != 2*time.Second || got.MaxBytes != 64<<20 || got.Debounce != 100*time.Millisecond {
		t.Errorf("%+v, %v", got, err)
	}
	const one = "opa: exactly one of folder, files and bundle server must be given"
	server := &BundleServer{URL: "https://policies.example/b", Unsigned: true}
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{}, one},
		{Config{Folder: "f", Files: files}, one},
		{Config{Folder: "f", Bundle: server}, one},
		{Config{Files: files, Bundle: server}, one},
		{Config{Folder: "f", Files: files, Bundle: server}, one},
		{Config{Files: files, Prefer: "single"}, `opa: prefer is "single", not batch`},
		{Config{Files: files, Rego: "v2"}, `opa: rego version is "v2", not v0, v1 or auto`},
		{Config{Files: files, Entry: EntryPoints{Allow: None}}, "opa: the allow rule cannot be left out"},
		{Config{Bundle: &BundleServer{URL: "http://policies.example/b", Unsigned: true}}, "opa: a bundle server needs https"},
		{Config{Bundle: &BundleServer{URL: "policies.example", Unsigned: true}}, "opa: the bundle server's URL is not valid"},
		{Config{Bundle: &BundleServer{URL: "https://policies.example/b"}}, "opa: a bundle server needs public keys, or unsigned bundles have to be accepted expressly"},
		{Config{Bundle: &BundleServer{URL: "https://policies.example/b", Unsigned: true, Keys: map[string]Key{"k": {}}}}, "opa: a bundle is either signed or unsigned"},
	} {
		if d, err := New(c.cfg); d != nil || err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v, want %s", c.cfg, err, c.want)
		}
	}
	if got, err := withDefaults(Config{Bundle: server}); err != nil || got.Bundle == server || got.Bundle.Poll != 10*time.Second || server.Poll != 0 {
		t.Errorf("%+v, %v", got.Bundle, err)
	}
	for name, id := range map[string]auth.Identity{"no issuer": {Subject: "s", User: "u"}, "nobody": {}} {
		d, err := New(Config{Files: map[string][]byte{"p.rego": []byte(sound)}})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if _, err := d.Judge(t.Context(), policy.Caller{Identity: id}); !errors.Is(err, policy.ErrNoPolicy) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a policy's files hold comes into force as a whole or not at all, with the reason.
func TestWhatComesIntoForce(t *testing.T) {
	const v0 = "package trino\nallow { true }\nrowFilters = []\ncolumnMask = 1 { false }\n"
	for _, c := range []struct {
		files  map[string]string
		change func(*Config)
		want   string // "": accepted
	}{
		{map[string]string{"p.rego": sound}, nil, ""},
		{map[string]string{"/p.rego": sound}, nil, ""},
		{map[string]string{"p.rego": sound, ".signatures.json": `{"signatures": ["x"]}`}, nil, ""}, // a folder is not signed
		{map[string]string{"p.rego": sound + "# METADATA\n# title: [\nx := 1"}, nil, "p.rego:6: rego_parse_error: yaml"},
		{map[string]string{"p.rego": v0}, nil, "p.rego:2: rego_parse_error: `if` keyword is required before rule body"},
		{map[string]string{"p.rego": v0}, func(c *Config) { c.Rego = "v0" }, ""},
		{map[string]string{"p.rego": v0}, func(c *Config) { c.Rego = "auto" }, ""},
		{map[string]string{"p.rego": sound}, func(c *Config) { c.Rego = "auto" }, ""},
		{map[string]string{"p.rego": sound}, func(c *Config) { c.Rego = "v0" }, "rego_parse_error"},
		{map[string]string{"p.rego": "package"}, func(c *Config) { c.Rego = "auto" }, "p.rego:1: rego_parse_error"},
		{map[string]string{"p.rego": sound, "gate_test.rego": "package gateway.x"}, nil, ""},
		{map[string]string{"p.rego": sound, "x.rego": "package gateway"}, nil, "/x.rego: data.gateway is reserved"},
		{map[string]string{"p.rego": sound, "x.rego": "package gateway.grants.y"}, nil, "/x.rego: data.gateway is reserved"},
		{map[string]string{"p.rego": sound, "x.rego": "package gateways"}, nil, ""},
		{map[string]string{"p.rego": sound, "x.rego": "package x.gateway"}, nil, ""},
		{map[string]string{"p.rego": sound, "data.json": `{"gateway": 1}`}, nil, "data.gateway is reserved"},
		{map[string]string{"p.rego": sound, "gateway/data.yaml": `a: 1`}, nil, "data.gateway is reserved"},
		{map[string]string{"p.rego": sound, "data.yaml": `x: {gateway: 1}`}, nil, ""},
		{map[string]string{"p.rego": sound, ".manifest": `{"roots": ["trino", "gateway"]}`}, nil, "data.gateway is reserved"},
		{map[string]string{"p.rego": sound, ".manifest": `{"roots": ["trino", "/gateway/grants/"]}`}, nil, "data.gateway is reserved"},
		{map[string]string{"p.rego": sound, ".manifest": `{"roots": ["trino", "gateways"]}`}, nil, ""},
		{map[string]string{"p.rego": sound, "data.json": `{"trino": {"allow": 1}}`}, nil, "conflict"},
		{map[string]string{"p.rego": sound, "data.json": `{"trino": {"other": 1}}`}, nil, ""},
		{map[string]string{"p.rego": sound, "data.json": `{"trino": 1}`}, nil, ""},
		{map[string]string{"p.rego": sound + "x := input.nowhere"}, func(c *Config) { c.Lenient = false }, "undefined ref: input.nowhere"},
		{map[string]string{"p.rego": sound + "x := input.nowhere"}, nil, ""},
		{map[string]string{"p.rego": strings.Replace(sound, "allow", "other", 1)}, nil, `the policy has no rule data.trino.allow; if it needs none, say so with "none"`},
		{map[string]string{"p.rego": strings.Replace(sound, "rowFilters", "other", 1)}, nil, `the policy has no rule data.trino.rowFilters; if it needs none, say so with "none"`},
		{map[string]string{"p.rego": strings.Replace(sound, "rowFilters", "other", 1)}, func(c *Config) { c.Entry.RowFilters = None }, ""},
		{map[string]string{"p.rego": strings.Replace(sound, "columnMask", "other", 1)}, nil, `the policy has neither a rule data.trino.columnMask nor data.trino.batchColumnMasks; if it needs none, say so with "none"`},
		{map[string]string{"p.rego": strings.Replace(sound, "columnMask", "batchColumnMasks", 1)}, nil, ""},
		{map[string]string{"p.rego": strings.Replace(sound, "columnMask", "other", 1)}, func(c *Config) { c.Entry.ColumnMask = None }, `the policy has neither a rule data.none nor data.trino.batchColumnMasks; if it needs none, say so with "none"`},
		{map[string]string{"p.rego": strings.Replace(sound, "columnMask", "other", 1)}, func(c *Config) { c.Entry.ColumnMask, c.Entry.BatchColumnMasks = None, None }, ""},
	} {
		files := map[string][]byte{}
		for name, text := range c.files {
			files[name] = []byte(text)
		}
		cfg := Config{Files: files, Lenient: true}
		if c.change != nil {
			c.change(&cfg)
		}
		var attempts []Status
		cfg.OnAttempt = func(s Status) { attempts = append(attempts, s) }
		cfg.Now = func() time.Time { return time.Unix(9, 0) }
		d, err := New(cfg)
		if len(attempts) != 1 || !attempts[0].At.Equal(time.Unix(9, 0)) || fmt.Sprint(attempts[0].Err) != fmt.Sprint(err) {
			t.Errorf("%v: attempts %+v", c.files, attempts)
		}
		switch {
		case c.want == "" && err != nil, c.want != "" && (d != nil || err == nil || !strings.Contains(err.Error(), c.want) || attempts[0].Revision != ""):
			t.Errorf("%v: %v, want %q", c.files, err, c.want)
		case c.want == "":
			if s := d.Status(); s.Err != nil || s.Revision != digest(files) || attempts[0].Revision != s.Revision {
				t.Errorf("%v: %+v", c.files, s)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if s := new(Decider).Status(); s != (Status{}) {
		t.Errorf("before the first attempt: %+v", s)
	}
	cfg := Config{Rego: "v1"}
	for want, b := range map[string]*bundle.Bundle{
		"delta bundles are not supported":            {Patch: bundle.Patch{Data: []bundle.PatchOperation{{}}}},
		"bundles with WebAssembly are not supported": {WasmModules: []bundle.WasmModuleFile{{}}},
	} {
		if _, err := compileModules(b, cfg, false); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Every fault of a policy's files is told, by the names that they have in their folder.
func TestFaultsByFile(t *testing.T) {
	_, err := New(Config{Files: map[string][]byte{"a.rego": []byte(sound), "sub/b.rego": []byte("package b\nx := y\nz := w")}})
	if want := "sub/b.rego:2: rego_unsafe_var_error: var y is unsafe\nsub/b.rego:3: rego_unsafe_var_error: var w is unsafe"; err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	plain := errors.New("plain")
	if inFolder(plain) != plain {
		t.Error("a fault that is none of Rego")
	}
	bare := inFolder(ast.Errors{ast.NewError("code", nil, "without a place")})
	if bare.Error() != "code: without a place" {
		t.Error(bare)
	}
}

// A folder is its Rego, data and manifest, and nothing that is hidden, and no more than the limit together.
func TestReadFolder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"a.rego", "b.txt", "data.json", "sub/data.yaml", "sub/data.yml", "sub/other.json", ".manifest", ".hidden.rego", ".git/x.rego", "sub/.manifest", "sub/deep/c.rego", "Data.json", "data.json.bak", "d.rego.txt",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755), os.WriteFile(filepath.Join(dir, name), []byte("1234567890"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadFolder(dir, 70)
	want := []string{".manifest", "a.rego", "data.json", "sub/.manifest", "sub/data.yaml", "sub/data.yml", "sub/deep/c.rego"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got))); err != nil || diff != "" || string(got["sub/deep/c.rego"]) != "1234567890" {
		t.Errorf("%v\n%s", err, diff)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFolder(dir, 69); err == nil || err.Error() != "the files of policy folder "+real+" hold more than 69 bytes" {
		t.Error(err)
	}
	empty := t.TempDir()
	if _, err := ReadFolder(empty, 70); err == nil || !strings.HasPrefix(err.Error(), "policy folder ") || !strings.HasSuffix(err.Error(), " holds no policy") {
		t.Error(err)
	}
	if _, err := ReadFolder(filepath.Join(dir, "none"), 70); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(empty, "gone.rego")); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFolder(empty, 70); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	hidden := filepath.Join(t.TempDir(), ".policies") // where the folder itself lies does not matter
	if err := errors.Join(os.Mkdir(hidden, 0o755), os.WriteFile(filepath.Join(hidden, "p.rego"), []byte(sound), 0o600)); err != nil {
		t.Fatal(err)
	}
	if files, err := ReadFolder(hidden, 1000); err != nil || len(files) != 1 {
		t.Error(files, err)
	}
}

// watching makes a decider of a folder and a watcher of it that nobody listens to, to look at reload step by step.
func watching(t *testing.T, dir string) (*Decider, *fsnotify.Watcher, *[]Status) {
	t.Helper()
	var seen []Status
	cfg, err := withDefaults(Config{Folder: dir, Lenient: true, Log: slog.New(slog.DiscardHandler), OnAttempt: func(s Status) { seen = append(seen, s) }, MaxBytes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return &Decider{cfg: cfg}, w, &seen
}

// A folder that is read again changes what is in force only if it is another one that is sound.
func TestReload(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "p.rego"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, w, seen := watching(t, dir)
	write(sound)
	first := d.reload(w, "")
	if first != digest(map[string][]byte{"p.rego": []byte(sound)}) || d.Status().Revision != first || d.Status().Err != nil || len(*seen) != 1 {
		t.Fatalf("%s, %+v", first, d.Status())
	}
	if again := d.reload(w, first); again != first || len(*seen) != 1 {
		t.Errorf("the same once more: %s, %d attempts", again, len(*seen))
	}
	write(sound + "allow {")
	bad := d.reload(w, first)
	if bad == first || bad == "" || d.Status().Revision != first || d.Status().Err == nil || len(*seen) != 2 {
		t.Errorf("a bad one: %s, %+v", bad, d.Status())
	}
	if err := os.Rename(filepath.Join(dir, "p.rego"), filepath.Join(dir, "p.txt")); err != nil {
		t.Fatal(err)
	}
	if none := d.reload(w, bad); none != "" || d.Status().Revision != first || d.Status().Err == nil || len(*seen) != 3 {
		t.Errorf("none: %s, %+v", none, d.Status())
	}
	write(sound)
	if back := d.reload(w, ""); back != first || d.Status().Err != nil || len(*seen) != 4 {
		t.Errorf("back: %s, %+v", back, d.Status())
	}
	for _, sub := range []string{"deep/er", ".git/objects"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d.reload(w, first)
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	var watched []string
	for _, path := range w.WatchList() {
		watched = append(watched, strings.TrimPrefix(path, real))
	}
	slices.Sort(watched)
	if got := fmt.Sprintf("%q", watched); got != `["" "/deep" "/deep/er"]` {
		t.Errorf("watched are %s", got)
	}
	if err := watchTree(w, filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if closed := d.reload(w, first); closed != "" || d.Status().Err == nil || d.Status().Revision != first {
		t.Errorf("without a watcher: %s, %+v", closed, d.Status())
	}
	if _, err := New(Config{Folder: filepath.Join(dir, "none")}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := New(Config{Folder: dir, Lenient: true, Log: slog.New(slog.DiscardHandler), OnAttempt: func(Status) { _ = os.RemoveAll(dir) }}); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "opa: watch "+dir+": ") {
		t.Errorf("a folder that goes away before it is watched: %v", err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write("package")
	if _, err := New(Config{Folder: dir}); err == nil || !strings.HasPrefix(err.Error(), "p.rego:1: rego_parse_error") {
		t.Error(err)
	}
}

// A watcher that fails, or sees something, has the folder read again after a while of quiet.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.rego"), []byte(sound), 0o600); err != nil {
		t.Fatal(err)
	}
	d, w, _ := watching(t, dir)
	attempts := make(chan Status, 10)
	d.cfg.OnAttempt, d.cfg.Debounce = func(s Status) { attempts <- s }, time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		d.watch(ctx, w, "")
		close(ended)
	}()
	next := func() Status {
		select {
		case s := <-attempts:
			return s
		case <-time.After(10 * time.Second):
			t.Fatal("the folder is not read")
			return Status{}
		}
	}
	w.Errors <- errors.New("too many")
	if s := next(); s.Err != nil || s.Revision == "" {
		t.Errorf("%+v", s)
	}
	if err := os.Remove(filepath.Join(dir, "p.rego")); err != nil {
		t.Fatal(err)
	}
	if s := next(); s.Err == nil || s.Revision == "" { // now it is watched
		t.Errorf("%+v", s)
	}
	stop()
	<-ended
}
