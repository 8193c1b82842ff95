package grants_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gatehouse/auth"
	"gatehouse/policy"
	"gatehouse/policy/grants"
)

// Both kinds of logs keep what was said, in order and for good, and whatever is wrong with one is an error and never fewer rights or more.
func TestStores(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		contract(t, func(t *testing.T) (grants.Config, *sql.DB) {
			file := filepath.Join(t.TempDir(), "grants.db")
			return grants.Config{File: file, Admin: "admin"}, connect(t, "sqlite", file)
		})
	})
	t.Run("postgres", func(t *testing.T) {
		dsn := startPostgres(t)
		server, n := connect(t, "pgx", dsn), 0
		contract(t, func(t *testing.T) (grants.Config, *sql.DB) {
			n++
			if _, err := server.Exec(fmt.Sprint("CREATE DATABASE g", n)); err != nil {
				t.Fatal(err)
			}
			own := strings.Replace(dsn, "dbname=postgres", fmt.Sprint("dbname=g", n), 1)
			return grants.Config{Postgres: auth.NewSecret(own), Admin: "admin"}, connect(t, "pgx", own)
		})
	})
}

// contract is what every kind of log keeps to. fresh gives the configuration of a new, empty one and a connection to what is below it.
func contract(t *testing.T, fresh func(t *testing.T) (grants.Config, *sql.DB)) {
	t.Run("past", func(t *testing.T) { past(t, fresh) })
	t.Run("two at once", func(t *testing.T) { twoAtOnce(t, fresh) })
	t.Run("faulty logs", func(t *testing.T) { faultyLogs(t, fresh) })
	t.Run("gone", func(t *testing.T) { gone(t, fresh) })
}

func connect(t *testing.T, driver, to string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func start(t *testing.T, cfg grants.Config) *grants.Store {
	t.Helper()
	s, err := grants.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func past(t *testing.T, fresh func(*testing.T) (grants.Config, *sql.DB)) {
	cfg, _ := fresh(t)
	began := time.Date(2026, 1, 1, 0, 0, 0, 7, time.FixedZone("east", 3600))
	var now atomic.Pointer[time.Time]
	tick := func(n int) { at := began.Add(time.Duration(n) * time.Second); now.Store(&at) }
	tick(0)
	cfg.Now = func() time.Time { return *now.Load() }
	s := start(t, cfg)
	for i, privilege := range []string{"SELECT", "INSERT", "UPDATE"} {
		tick(i + 1)
		r := apply(t, s, allow("user:ann", privilege))
		if in, err := s.Current(); err != nil || in != r || r.Version() != uint64(i+1) {
			t.Errorf("in force is %v, not %v: %v", in, r, err)
		}
		if same := apply(t, s, allow("user:ann", privilege)); same != r {
			t.Errorf("what changes nothing made %v of %v", same, r)
		}
	}
	for limit, want := range map[int]string{0: "", 1: "3", 2: "32", 3: "321", 4: "321"} {
		h, err := s.History(t.Context(), limit)
		var got string
		for _, e := range h {
			got += fmt.Sprint(e.Version)
			if at := time.Date(2025, 12, 31, 23, 0, int(e.Version), 7, time.UTC); !e.Time.Equal(at) || e.Time.Location() != time.UTC || e.Author != (policy.Author{User: "root", Query: "q1"}) || len(e.Changes) != 1 {
				t.Errorf("entry %+v, want the time %v", e, at)
			}
		}
		if got != want || err != nil {
			t.Errorf("the newest %d are %s, %v; want %s", limit, got, err, want)
		}
	}
	for at, want := range map[time.Duration]int{0: 3, -1: 2, 1: 3, -time.Second: 2, -2*time.Second - 1: 0} {
		r, err := s.At(t.Context(), now.Load().Add(at))
		if err != nil || len(privileges(r, "user:ann")) != want || r.Version() != uint64(want) {
			t.Errorf("%v from the last change: %v, %v; want %d", at, privileges(r, "user:ann"), err, want)
		}
	}
}

func twoAtOnce(t *testing.T, fresh func(*testing.T) (grants.Config, *sql.DB)) {
	cfg, db := fresh(t)
	log := make(warnings, 10)
	cfg.Log = slog.New(log)
	a := start(t, cfg)
	// Another process has made the next version, and this one does not know yet, or knows in time: nobody's change is lost.
	old, err := a.Current()
	if err != nil {
		t.Fatal(err)
	}
	const other = `[{"op":"create_role","role":"other"}]`
	if _, err := db.Exec(`INSERT INTO gatehouse_grants (version, at, author, changes) VALUES (1, '2026-01-01T00:00:00Z', '{}', '` + other + `')`); err != nil {
		t.Fatal(err)
	}
	if r, err := a.Apply(t.Context(), old, policy.Author{}, []policy.Change{allow("user:ann", "SELECT")}); !errors.Is(err, policy.ErrRightsChanged) || r != nil {
		t.Errorf("a change beside another one: %v, %v", r, err)
	}
	now, err := a.Current()
	if err != nil || now.Version() != 1 || strings.Join(now.Roles(), " ") != "admin other" {
		t.Errorf("after that the rights are %v, %v", now, err)
	}
	if _, err := a.Apply(t.Context(), nil, policy.Author{}, []policy.Change{allow("user:ann", "SELECT")}); !errors.Is(err, policy.ErrRightsChanged) {
		t.Errorf("a change of no rights: %v", err)
	}
	var refused *policy.RightsError
	if r, err := a.Apply(t.Context(), now, policy.Author{}, []policy.Change{allow("role:none", "SELECT")}); !errors.As(err, &refused) || r != now {
		t.Errorf("a refusal: %v, %v", r, err)
	}
	// What another process writes is in force without a word from anybody.
	b := start(t, cfg)
	apply(t, b, allow("user:bob", "SELECT"))
	for began := time.Now(); privileges(now, "user:bob") == nil; now, err = a.Current() {
		if err != nil || time.Since(began) > 10*time.Second {
			t.Fatalf("the other store does not know: %v", err)
		}
		time.Sleep(time.Millisecond) // between two looks at a condition
	}
	if _, err := db.Exec(`INSERT INTO gatehouse_grants (version, at, author, changes) VALUES (3, '2026-01-01T00:00:00Z', '{}', '[{"op":"create_role","role":"quiet"}]')`); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); !slices.Contains(now.Roles(), "quiet"); now, err = a.Current() {
		if err != nil || time.Since(began) > 10*time.Second {
			t.Fatalf("what was written without a notice is not known: %v", err)
		}
		time.Sleep(time.Millisecond) // between two looks at a condition
	}
	if err := errors.Join(a.Close(), b.Close()); err != nil || len(log) > 0 {
		t.Errorf("closed with %v, and the operator is told %d things of a log that can be read", err, len(log))
	}
}

func faultyLogs(t *testing.T, fresh func(*testing.T) (grants.Config, *sql.DB)) {
	for _, c := range []struct {
		version     int
		at, changes string
		author      string
		want        string
		unavailable bool
	}{
		{1, "yesterday", `[]`, `{}`, "version 1: ", true},
		{1, "2026-01-01T00:00:00Z", `[`, `{}`, "version 1: ", true},
		{1, "2026-01-01T00:00:00Z", `[]`, `[]`, "version 1: ", true},
		{2, "2026-01-01T00:00:00Z", `[]`, `{}`, "grants: version 2 follows 0 in the log", false},
		{1, "2026-01-01T00:00:00Z", `[{"op":"add_member","role":"none","principal":"user:a"}]`, `{}`, `grants: version 1 of the log: role "none" does not exist`, false},
		{1, "2026-01-01T00:00:00Z", `[{"op":"hide"}]`, `{}`, `grants: version 1 of the log: grants: change "hide" is unknown`, false},
	} {
		cfg, db := fresh(t)
		s := start(t, cfg)
		if _, err := db.Exec(fmt.Sprintf(`INSERT INTO gatehouse_grants (version, at, author, changes) VALUES (%d, '%s', '%s', '%s')`, c.version, c.at, c.author, c.changes)); err != nil {
			t.Fatal(err)
		}
		_, again := grants.New(t.Context(), cfg)
		_, past := s.At(t.Context(), time.Now())
		for what, err := range map[string]error{"opened": again, "read at a time": past} {
			if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, policy.ErrRightsUnavailable) != c.unavailable {
				t.Errorf("%+v: %s with %v", c, what, err)
			}
		}
		if _, err := s.History(t.Context(), 5); (err != nil) != c.unavailable || c.unavailable && !errors.Is(err, policy.ErrRightsUnavailable) {
			t.Errorf("%+v: the history was read with %v", c, err)
		}
		if now, err := s.Current(); err == nil && now.Version() != 0 {
			t.Errorf("%+v: version %d is in force", c, now.Version())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// gone is a log whose table is not there any more: nothing of it is taken for empty.
func gone(t *testing.T, fresh func(*testing.T) (grants.Config, *sql.DB)) {
	cfg, db := fresh(t)
	log := make(warnings, 10)
	cfg.Log = slog.New(log)
	s := start(t, cfg)
	base, err := s.Current()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`DROP TABLE gatehouse_grants`); err != nil {
		t.Fatal(err)
	}
	_, changed := s.Apply(t.Context(), base, policy.Author{}, []policy.Change{allow("user:ann", "SELECT")})
	_, past := s.At(t.Context(), time.Now())
	_, history := s.History(t.Context(), 1)
	for what, err := range map[string]error{"changed": changed, "read at a time": past, "its history read": history} {
		if !errors.Is(err, policy.ErrRightsUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if now, err := s.Current(); err == nil && now != base {
		t.Errorf("in force is %v", now)
	}
	if told := <-log; !strings.HasPrefix(told, "store of rights not re") {
		t.Errorf("the operator is told %q", told)
	}
	cfg, _ = fresh(t)
	log = make(warnings, 10)
	cfg.Log = slog.New(log)
	if err := start(t, cfg).Close(); err != nil || len(log) > 0 {
		t.Errorf("closed with %v, and the operator is told %d things", err, len(log))
	}
}

// warnings are what an operator's log says.
type warnings chan string

func (w warnings) Enabled(context.Context, slog.Level) bool { return true }
func (w warnings) WithAttrs([]slog.Attr) slog.Handler       { return w }
func (w warnings) WithGroup(string) slog.Handler            { return w }
func (w warnings) Handle(_ context.Context, r slog.Record) error {
	select {
	case w <- r.Message:
	default: // that many are enough
	}
	return nil
}

// A store has exactly one place, which has to be there, and says of it only what is no secret.
func TestPlaceOfStore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "none", "grants.db")
	secret := auth.NewSecret("host=localhost password=hunter2 port=none")
	unreachable := auth.NewSecret("host=" + t.TempDir() + " user=u password=hunter2 dbname=d")
	for _, c := range []struct {
		cfg  grants.Config
		want string
	}{
		{grants.Config{}, "grants: exactly one of file and postgres must be given"},
		{grants.Config{File: file, Postgres: secret}, "grants: exactly one of file and postgres must be given"},
		{grants.Config{File: file}, "grants: open " + file + ": "},
		{grants.Config{Postgres: secret}, "grants: the connection string cannot be read"},
		{grants.Config{Postgres: unreachable}, "grants: "},
	} {
		s, err := grants.New(t.Context(), c.cfg)
		if s != nil || err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%+v: %v, want %q", c.cfg, err, c.want)
		}
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if _, err := grants.New(ended, grants.Config{File: filepath.Join(t.TempDir(), "grants.db")}); !errors.Is(err, context.Canceled) {
		t.Errorf("opened after the end: %v", err)
	}
	before := time.Now()
	s := start(t, grants.Config{File: filepath.Join(t.TempDir(), "grants.db")})
	r := apply(t, s, allow("user:ann", "SELECT"))
	if at := r.List(nil, "")[0].At; at.Before(before) || at.After(time.Now()) || len(r.Roles()) != 0 {
		t.Errorf("made at %v; roles %v", at, r.Roles())
	}
}

// Rights are used for five seconds without a sign of life of the database, and not a moment longer.
func TestOldRights(t *testing.T) {
	dsn, stop := startPostgresTill(t)
	var now atomic.Int64
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now.Store(began.UnixNano())
	log, panics := make(warnings, 10), atomic.Bool{}
	cfg := grants.Config{Postgres: auth.NewSecret(dsn), Log: slog.New(log), Now: func() time.Time {
		if panics.Load() {
			panic("canary")
		}
		return time.Unix(0, now.Load())
	}}
	s := start(t, cfg)
	apply(t, s, allow("user:ann", "SELECT"))
	// A panic of what follows the log is a fault that passes.
	panics.Store(true)
	if told := <-log; told != "store of rights not reachable" {
		t.Errorf("the operator is told %q", told)
	}
	panics.Store(false)
	other := grants.Config{Postgres: auth.NewSecret(dsn)}
	apply(t, start(t, other), allow("user:bob", "SELECT"))
	asked := time.Now()
	for r, err := s.Current(); privileges(r, "user:bob") == nil; r, err = s.Current() {
		if err != nil || time.Since(asked) > 10*time.Second {
			t.Fatalf("the log is not followed after a panic: %v", err)
		}
		time.Sleep(time.Millisecond) // between two looks at a condition
	}
	// One that never hears of its database again after it was opened has rights of that time.
	deaf := start(t, grants.Config{Postgres: auth.NewSecret(dsn), Now: func() time.Time {
		if at, _, _, _ := runtime.Caller(1); strings.HasSuffix(runtime.FuncForPC(at).Name(), ".listen") {
			panic("canary")
		}
		return time.Unix(0, now.Load())
	}})
	stop()
	now.Store(began.Add(5 * time.Second).UnixNano())
	if _, err := deaf.Current(); err != nil {
		t.Error(err)
	}
	now.Store(began.Add(5*time.Second + 1).UnixNano())
	if _, err := deaf.Current(); !errors.Is(err, policy.ErrRightsUnavailable) {
		t.Errorf("of a store that hears nothing: %v", err)
	}
	for after, ok := range map[time.Duration]bool{0: true, 5 * time.Second: true, 5*time.Second + 1: false} {
		now.Store(began.Add(after).UnixNano())
		if r, err := s.Current(); (err == nil) != ok || !ok && !errors.Is(err, policy.ErrRightsUnavailable) || ok && privileges(r, "user:ann") == nil {
			t.Errorf("%v after the last sign of life: %v", after, err)
		}
	}
}
