package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// lines collects what a command prints and lets a test wait for a part of it.
type lines struct {
	mu   sync.Mutex
	cond *sync.Cond
	buf  bytes.Buffer
	done bool
}

func newLines() *lines {
	l := &lines{}
	l.cond = sync.NewCond(&l.mu)
	return l
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cond.Broadcast()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *lines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = true
	l.cond.Broadcast()
}

// wait returns all that was printed once it holds want; it fails the test if the command ends before.
func (l *lines) wait(t testing.TB, want string) string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for !strings.Contains(l.buf.String(), want) {
		if l.done {
			t.Fatalf("the command ended without printing %q:\n%s", want, l.buf.String())
		}
		l.cond.Wait()
	}
	return l.buf.String()
}

// server is one running command of this program.
type server struct {
	out, errs *lines
	flight    string
	http      string
	stop      context.CancelFunc
	code      chan int
}

// start runs a serving command until the test ends or stop is called.
func start(t testing.TB, ready string, args ...string) *server {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := &server{out: newLines(), errs: newLines(), stop: cancel, code: make(chan int, 1)}
	env := environment{getenv: func(string) string { return "" }, stdout: s.out, stderr: s.errs}
	go func() {
		code := run(ctx, args, env)
		s.out.end()
		s.errs.end()
		s.code <- code
	}()
	defer func() {
		if t.Failed() {
			t.Log(s.errs.String())
		}
	}()
	text := s.out.wait(t, ready)
	if m := regexp.MustCompile(`grpc(?:\+tls)?://(127\.0\.0\.1:\d+)`).FindStringSubmatch(text); m != nil {
		s.flight = m[1]
	}
	if m := regexp.MustCompile(`http://(127\.0\.0\.1:\d+)`).FindStringSubmatch(text); m != nil {
		s.http = m[1]
	}
	return s
}

// end stops the server and returns its exit code.
func (s *server) end(t testing.TB) int {
	t.Helper()
	s.stop()
	select {
	case code := <-s.code:
		return code
	case <-time.After(60 * time.Second):
		t.Fatal("the server did not end")
		return -1
	}
}

// testHome is the folder of the example lakehouse that all tests share, so that it is written once.
func testHome(t testing.TB) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip("no cache folder for the example lakehouse: ", err)
	}
	return filepath.Join(cache, "gatehouse", "demo-test")
}

// testHashKey is the key of hashes of the demo that tests share: some answers that they expect have hashes.
const testHashKey = "2b7e151628aed2a6abf7158809cf4f3c762e7160f38b4da56a784d9045190cfe\n"

var shared struct {
	once   sync.Once
	server *server
	lock   *os.File
}

// waitForOthers waits until no other run of these tests uses home, and keeps it until this program ends.
func waitForOthers(t testing.TB, home string) {
	t.Helper()
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(home+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	shared.lock = f
}

// demoServer returns the one demo that all tests of this package share.
func demoServer(t testing.TB) *server {
	t.Helper()
	shared.once.Do(func() {
		home := testHome(t)
		waitForOthers(t, home)
		for _, left := range []string{"policy", "grants.db", "grants.db-wal", "grants.db-shm"} {
			if err := os.RemoveAll(filepath.Join(home, left)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(home, "hash.key"), []byte(testHashKey), 0o600); err != nil {
			t.Fatal(err)
		}
		shared.server = start(t, "Ctrl-C stops the server.", "demo", "--home", home, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0")
	})
	if shared.server == nil {
		t.Fatal("the demo did not start")
	}
	return shared.server
}

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" { // the documents' shell blocks run this program
		main()
		return
	}
	code := m.Run()
	if s := shared.server; s != nil {
		s.stop()
		<-s.code
	}
	os.Exit(code)
}

// Every line that the demo prints is checked here, so that it cannot promise what is not so.
func TestDemoBanner(t *testing.T) {
	text := demoServer(t).out.String()
	for _, want := range []string{
		`(?m)^Gatehouse is ready after \d+\.\d s\. The same SQL as three users:$`,
		// admin: three regions, whole tax ids.
		`(?s)admin  sees all in clear:\s+region=APAC  tax_id=\d{3}-\d\d-\d{4}  items=\d+\s+region=EU  tax_id=\d{3}-\d\d-\d{4}  items=\d+\s+region=US  tax_id=\d{3}-\d\d-\d{4}  items=\d+\s`,
		// alice: the EU alone, masked.
		`(?s)alice  sees the EU only[^\n]*:\s+region=EU  tax_id=\*\*\*-\*\*-\d{4}  items=\d+\s+bob`,
		// bob: no such table.
		`(?s)bob    may not see order_items[^\n]*:\s+error: table "order_items" does not exist \(at character \d+\)\s`,
		// The attack tells alice nothing; the same text fails for admin, so it is one.
		`(?m)^  alice  customers=\d+$`,
		`(?m)^  admin  error: a value cannot be converted to the requested type`,
		`grpc://127\.0\.0\.1:\d+`, `http://127\.0\.0\.1:\d+/healthz`,
		`GATEHOUSE_PASSWORD=alice bin/gatehouse sql --user alice --url grpc://127\.0\.0\.1:\d+`,
		`jdbc:arrow-flight-sql://127\.0\.0\.1:\d+\?useEncryption=false&user=alice&password=alice`,
		`datafusion\+flightsql://alice:alice@127\.0\.0\.1:\d+\?insecure=true`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("the banner has no %s:\n%s", want, text)
		}
	}
}

func TestDemoHTTP(t *testing.T) {
	s := demoServer(t)
	for path, want := range map[string]string{"/healthz": "ok", "/readyz": "ready", "/metrics": "gatehouse_statements_total"} {
		resp, err := http.Get("http://" + s.http + path)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		_, err = b.ReadFrom(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(b.String(), want) {
			t.Errorf("GET %s = %d, %v, want 200 with %q", path, resp.StatusCode, err, want)
		}
	}
}

// What stops a start says what to do about it.
func TestDemoRefusals(t *testing.T) {
	s := demoServer(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := t.TempDir()
	if err := os.MkdirAll(filepath.Join(foreign, "lake"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(foreign, "lake", "thesis.txt"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"busy port":       {[]string{"--home", t.TempDir(), "--listen", s.flight, "--http", "127.0.0.1:0"}, "choose another address with --listen"},
		"busy folder":     {[]string{"--home", testHome(t), "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"}, "choose another folder with --home"},
		"unwritable":      {[]string{"--home", file, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"}, "choose another one with --home"},
		"foreign folder":  {[]string{"--home", foreign, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"}, "choose another folder with --home"},
		"public address":  {[]string{"--home", t.TempDir(), "--listen", "0.0.0.0:0"}, "not a loopback address"},
		"unknown option":  {[]string{"--nonsense"}, "nonsense"},
		"spare arguments": {[]string{"something"}, "no argument"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			env := environment{getenv: func(string) string { return "" }, stdout: &out, stderr: &errs}
			if code := run(t.Context(), append([]string{"demo"}, c.args...), env); code == exitOK {
				t.Fatalf("demo %v started", c.args)
			}
			if !strings.Contains(errs.String(), c.want) {
				t.Errorf("demo %v said %q, want something with %q", c.args, errs.String(), c.want)
			}
		})
	}
}

// A mask binds to a column by its field id: what was named otherwise in an older version is masked there, too.
func TestPastIsGoverned(t *testing.T) {
	s := demoServer(t)
	const sql = `SELECT * FROM customers FOR TIMESTAMP AS OF TIMESTAMP '2025-01-02 00:00:00' WHERE id = 334`
	alice, err := ask(t.Context(), s.flight, "alice", "alice", sql)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := ask(t.Context(), s.flight, "admin", "admin", sql)
	if err != nil {
		t.Fatal(err)
	}
	phone := regexp.MustCompile(`telephone=(\S+)`).FindStringSubmatch(admin)
	if phone == nil || strings.HasPrefix(phone[1], "(null)") {
		t.Fatalf("the control sees no telephone, as the column was called then: %s", admin)
	}
	if !strings.Contains(alice, "telephone=(null)") || !strings.Contains(alice, "id=334") {
		t.Errorf("alice sees %s, want her row with a masked telephone", alice)
	}
}
