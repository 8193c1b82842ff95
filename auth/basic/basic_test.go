package basic

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/argon2"

	"gatehouse/auth"
	"gatehouse/auth/authtest"
)

// cheap hashes password at the lowest cost that is allowed.
func cheap(password string, m, t uint32) string {
	salt := []byte("0123456789abcdef")
	sum := argon2.IDKey([]byte(password), salt, t, m, 1, 32)
	h := hash{params: params{memory: m, time: t, threads: 1, key: 32}, salt: salt, sum: sum}
	return h.phc()
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "users.yaml")
	write(t, path, text)
	return path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func entryFor(name, password string) string {
	return fmt.Sprintf("  - name: %q\n    password: %q\n", name, cheap(password, minMemory, 1))
}

func usersFile(t *testing.T) string {
	return file(t, "users:\n"+entryFor("alice", "alice:pw")+`    roles: [analyst_eu]
    groups: [emea, finance]
    attributes: {region: EU, level: 3, big: 12345678901234567, tags: [a, b]}
`+entryFor("Jose\u0301", "pw")+entryFor("bob", "bob"))
}

func open(t *testing.T, cfg Config) *Users {
	t.Helper()
	u, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func login(u *Users, user, password string) (auth.Identity, error) {
	return u.Authenticate(context.Background(), auth.Credential{User: user, Password: auth.NewSecret(password), Peer: "192.0.2.1"})
}

func TestContract(t *testing.T) {
	path := usersFile(t)
	cred := func(user, password string) auth.Credential {
		return auth.Credential{User: user, Password: auth.NewSecret(password), Peer: "192.0.2.1"}
	}
	authtest.Run(t, authtest.Subject{
		New:  func(t *testing.T) auth.Authenticator { return open(t, Config{File: path}) },
		Good: cred("alice", "alice:pw"), User: "alice",
		Other: &auth.Credential{Bearer: auth.NewSecret("x.y.z")},
		Bad: map[string]auth.Credential{
			"wrong password":     cred("alice", "alice"),
			"empty password":     cred("alice", ""),
			"another's password": cred("alice", "bob"),
			"unknown user":       cred("mallory", "alice:pw"),
			"empty user":         cred("", "alice:pw"),
			"upper case":         cred("Alice", "alice:pw"),
			"full width":         cred("ａｌｉｃｅ", "alice:pw"),
			"zero width":         cred("alice\u200b", "alice:pw"),
			"trailing space":     cred("alice ", "alice:pw"),
			"nul":                cred("alice\x00", "alice:pw"),
			"not utf-8":          cred("alice\xff", "alice:pw"),
			"long name":          cred(strings.Repeat("a", 64<<10), "alice:pw"),
			"long password":      cred("alice", strings.Repeat("a", 1<<20)),
			"password prefix":    cred("alice", "alice:p"),
			"nul after password": cred("alice", "alice:pw\x00"),
		},
	})
}

func TestIdentity(t *testing.T) {
	u := open(t, Config{File: usersFile(t)})
	id, err := login(u, "alice", "alice:pw")
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%s %s %s %v %v %v %s %v", id.Issuer, id.Subject, id.User, id.Roles, id.Groups, id.Claims, id.Method, id.Token.IsZero())
	want := "gatehouse:users alice alice [analyst_eu] [emea finance] map[big:12345678901234567 level:3 region:EU tags:[a b]] basic true"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, name := range []string{"Jos\u00e9", "Jose\u0301"} {
		if id, err := login(u, name, "pw"); err != nil || id.User != "Jos\u00e9" {
			t.Errorf("%+q gave %+q, %v", name, id.User, err)
		}
	}
}

// TestSameWork counts hashes, not time: every refusal costs exactly one, whatever its cause.
func TestSameWork(t *testing.T) {
	u := open(t, Config{File: usersFile(t), Limits: auth.Limits{Peer: auth.Rate{Burst: 99, Every: time.Hour}}})
	for _, c := range [][2]string{{"alice", "wrong"}, {"nobody", "wrong"}, {"nobody", "alice:pw"}, {"", "x"}, {"alice", ""}, {"a\x00", "x"}, {"alice", strings.Repeat("x", 5000)}} {
		before := u.runs.Load()
		if _, err := login(u, c[0], c[1]); !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("%q: %v", c[0], err)
		}
		if n := u.runs.Load() - before; n != 1 {
			t.Errorf("%q with a password of %d bytes cost %d hashes", c[0], len(c[1]), n)
		}
	}
}

// TestUnknownBorrowsCosts: with hashes of two costs, unknown names spread over both, each always the same.
func TestUnknownBorrowsCosts(t *testing.T) {
	path := file(t, fmt.Sprintf("users:\n  - {name: a, password: %q}\n  - {name: b, password: %q}\n", cheap("x", minMemory, 1), cheap("x", minMemory, 3)))
	u := open(t, Config{File: path})
	seen := map[uint32]int{}
	for i := range 64 {
		name := fmt.Sprintf("nobody%d", i)
		h := u.hashFor(u.current(), name, nil)
		if again := u.hashFor(u.current(), name, nil); again.time != h.time {
			t.Fatalf("%s once costs %d, once %d", name, h.time, again.time)
		}
		seen[h.time]++
	}
	if seen[1] < 10 || seen[3] < 10 || len(seen) != 2 {
		t.Errorf("unknown names have costs %v", seen)
	}
}

func TestCache(t *testing.T) {
	now := time.Unix(1e9, 0)
	path := usersFile(t)
	u := open(t, Config{File: path, Now: func() time.Time { return now }})
	ok := func(password string, wantRuns int64) {
		t.Helper()
		before := u.runs.Load()
		if _, err := login(u, "alice", password); err != nil {
			t.Fatal(err)
		}
		if n := u.runs.Load() - before; n != wantRuns {
			t.Errorf("cost %d hashes, want %d", n, wantRuns)
		}
	}
	ok("alice:pw", 1)
	ok("alice:pw", 0)
	now = now.Add(59 * time.Second)
	ok("alice:pw", 0)
	now = now.Add(2 * time.Second)
	ok("alice:pw", 1)
	write(t, path, "users:\n"+entryFor("alice", "new"))
	if _, err := login(u, "alice", "alice:pw"); !errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("the old password still works: %v", err)
	}
	ok("new", 1)
}

// TestOneHashForManyConnections: a pool that opens its connections at once costs few hashes.
func TestOneHashForManyConnections(t *testing.T) {
	u := open(t, Config{File: usersFile(t)})
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			if _, err := login(u, "alice", "alice:pw"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := u.runs.Load(); n != 1 {
		t.Errorf("%d hashes for 64 connections", n)
	}
}

func TestRateLimitBlocksTheCacheToo(t *testing.T) {
	now := time.Unix(1e9, 0)
	u := open(t, Config{File: usersFile(t), Now: func() time.Time { return now }, Limits: auth.Limits{PeerUser: auth.Rate{Burst: 3, Every: time.Second}}})
	for range 10 { // logins that succeed do not count
		if _, err := login(u, "alice", "alice:pw"); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if _, err := login(u, "alice", "no"); !errors.Is(err, auth.ErrUnauthenticated) {
			t.Fatal(err)
		}
	}
	if _, err := login(u, "alice", "alice:pw"); !errors.Is(err, auth.ErrRateLimited) {
		t.Errorf("a right guess right after the limit gave %v", err)
	}
	if _, err := login(u, "bob", "bob"); err != nil {
		t.Errorf("another user of that address: %v", err)
	}
	now = now.Add(time.Second)
	if _, err := login(u, "alice", "alice:pw"); err != nil {
		t.Errorf("after waiting: %v", err)
	}
}

// TestGuessesAtOnce: guesses that come together do not pass together.
func TestGuessesAtOnce(t *testing.T) {
	now := time.Unix(1e9, 0)
	u := open(t, Config{File: usersFile(t), Now: func() time.Time { return now }, Limits: auth.Limits{PeerUser: auth.Rate{Burst: 3, Every: time.Hour}}})
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() { login(u, "alice", fmt.Sprint(i)) })
	}
	wg.Wait()
	if n := u.runs.Load(); n != 3 {
		t.Errorf("%d guesses were looked at, want 3", n)
	}
}

// TestGuessBehindGuesses: a right guess that waited behind wrong ones is refused when they used up the
// rate meanwhile, although the cache would know it.
func TestGuessBehindGuesses(t *testing.T) {
	path := usersFile(t)
	synctest.Test(t, func(t *testing.T) {
		u := open(t, Config{File: path, Limits: auth.Limits{PeerUser: auth.Rate{Burst: 1, Every: time.Hour}}})
		if _, err := login(u, "alice", "alice:pw"); err != nil {
			t.Fatal(err)
		}
		for i := range u.turns {
			u.turns[i] <- struct{}{}
		}
		var err error
		go func() { _, err = login(u, "alice", "alice:pw") }()
		synctest.Wait()
		u.limiter.Fail("192.0.2.1", "alice")
		for i := range u.turns {
			<-u.turns[i]
		}
		synctest.Wait()
		if !errors.Is(err, auth.ErrRateLimited) {
			t.Errorf("got %v", err)
		}
	})
}

func TestReload(t *testing.T) {
	path := usersFile(t)
	u := open(t, Config{File: path})
	write(t, path, "users:\n  - nam: x\n")
	if _, err := login(u, "alice", "alice:pw"); err != nil {
		t.Errorf("the last good file is not in use: %v", err)
	}
	if u.Err() == nil {
		t.Error("a wrong file is not reported")
	}
	good, _ := os.ReadFile(path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := login(u, "alice", "alice:pw"); err != nil || u.Err() == nil {
		t.Errorf("file gone: %v, reported as %v", err, u.Err())
	}
	write(t, path, string(good))
	if u.Err() == nil {
		t.Error("the wrong file, back, is not reported")
	}
	write(t, path, "users:\n"+entryFor("carol", "pw"))
	if _, err := login(u, "carol", "pw"); err != nil || u.Err() != nil {
		t.Errorf("new user: %v, %v", err, u.Err())
	}
	if _, err := login(u, "alice", "alice:pw"); !errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("removed user: %v", err)
	}
	if _, err := u.Renew(t.Context(), auth.Identity{Issuer: Issuer, Subject: "alice", User: "alice"}); !errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("removed user is still current: %v", err)
	}
	// A session lives as long as the password that began it.
	carol, err := login(u, "carol", "pw")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.Renew(t.Context(), carol); err != nil {
		t.Errorf("nothing changed, and yet: %v", err)
	}
	write(t, path, "users:\n"+entryFor("carol", "other"))
	if _, err := u.Renew(t.Context(), carol); !errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("after the password changed: %v, want ErrUnauthenticated", err)
	}
}

func TestRefusedFiles(t *testing.T) {
	good := cheap("x", minMemory, 1)
	for name, text := range map[string]string{
		"unknown key":      "users:\n  - {name: a, password: \"" + good + "\", admin: true}\n",
		"unknown top key":  "user: []\n",
		"duplicate key":    "users:\n  - {name: a, name: b, password: \"" + good + "\"}\n",
		"duplicate user":   "users:\n" + entryFor("é", "x") + entryFor("e\u0301", "y"),
		"plain password":   "users:\n  - {name: a, password: hunter2}\n",
		"bcrypt":           "users:\n  - {name: a, password: \"$2a$10$abcdefghijklmnopqrstuv\"}\n",
		"argon2i":          "users:\n  - {name: a, password: \"" + strings.Replace(good, "argon2id", "argon2i", 1) + "\"}\n",
		"huge memory":      "users:\n  - {name: a, password: \"" + strings.Replace(good, "m=7168", "m=4194304", 1) + "\"}\n",
		"weak memory":      "users:\n  - {name: a, password: \"" + strings.Replace(good, "m=7168", "m=8", 1) + "\"}\n",
		"many passes":      "users:\n  - {name: a, password: \"" + strings.Replace(good, "t=1", "t=1000000", 1) + "\"}\n",
		"zero passes":      "users:\n  - {name: a, password: \"" + strings.Replace(good, "t=1", "t=0", 1) + "\"}\n",
		"no password":      "users:\n  - {name: a}\n",
		"no name":          "users:\n  - {password: \"" + good + "\"}\n",
		"colon in name":    "users:\n" + entryFor("a:b", "x"),
		"control in name":  "users:\n" + entryFor("a\u200e", "x"),
		"empty role":       "users:\n" + entryFor("a", "x") + "    roles: ['']\n",
		"nested attribute": "users:\n" + entryFor("a", "x") + "    attributes: {a: {b: c}}\n",
		"two documents":    "users:\n" + entryFor("a", "x") + "---\nusers: []\n",
		"password number":  "users:\n  - {name: a, password: [hunter2]}\n",
		"infinite":         "users:\n" + entryFor("a", "x") + "    attributes: {a: .inf}\n",
	} {
		_, err := New(Config{File: file(t, text)})
		if err == nil {
			t.Errorf("%s: accepted", name)
		} else if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "$") {
			t.Errorf("%s: the error quotes a password: %v", name, err)
		}
	}
	if _, err := New(Config{File: file(t, "users:\n"+entryFor("a", "x"))}); err != nil {
		t.Errorf("control: %v", err)
	}
	loose := usersFile(t)
	if err := os.Chmod(loose, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Config{File: loose}); err == nil {
		t.Error("a file that everybody may write was accepted")
	}
}

func TestHash(t *testing.T) {
	one, err := Hash(auth.NewSecret("pässword"))
	if err != nil {
		t.Fatal(err)
	}
	two, _ := Hash(auth.NewSecret("pässword"))
	if one == two {
		t.Error("two hashes of one password are equal")
	}
	var runs atomic.Int64
	h, err := parseHash(one)
	if err != nil || !h.matches("pässword", &runs) || h.matches("passwort", &runs) {
		t.Errorf("%s: %v", one, err)
	}
	if _, err := Hash(auth.NewSecret("")); err == nil {
		t.Error("an empty password was hashed")
	}
}

func FuzzParseHash(f *testing.F) {
	f.Add(cheap("x", minMemory, 1))
	f.Add("$argon2id$v=19$m=19456,t=2,p=1$$")
	f.Fuzz(func(t *testing.T, s string) {
		if h, err := parseHash(s); err == nil && h.phc() != s {
			t.Errorf("%q reads back as %q", s, h.phc())
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	text, _ := Hash(auth.NewSecret("pw"))
	h, _ := parseHash(text)
	var runs atomic.Int64
	for b.Loop() {
		h.matches("pw", &runs)
	}
}
