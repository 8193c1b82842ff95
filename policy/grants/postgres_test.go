package grants_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"gatehouse/auth"
	"gatehouse/policy"
	"gatehouse/policy/grants"
)

// Two gateways with one database: what one changes is in force at the other within a second, and of two changes of the
// same rights one is decided anew.
func TestTwoGateways(t *testing.T) {
	dsn := startPostgres(t)
	var both [2]*grants.Store
	for i := range both {
		s, err := grants.New(t.Context(), grants.Config{Postgres: auth.NewSecret(dsn), Admin: "admin"})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		both[i] = s
	}
	old, err := both[1].Current()
	if err != nil {
		t.Fatal(err)
	}
	apply(t, both[0], allow("user:ann", "SELECT"))
	start := time.Now()
	for at := old; privileges(at, "user:ann") == nil; {
		if at, err = both[1].Current(); err != nil || time.Since(start) > time.Second {
			t.Fatalf("after %v the other gateway does not know: %v", time.Since(start), err)
		}
	}
	t.Logf("in force at the other gateway after %v", time.Since(start))
	if _, err := both[1].Apply(t.Context(), old, policy.Author{}, []policy.Change{allow("user:bob", "SELECT")}); !errors.Is(err, policy.ErrRightsChanged) {
		t.Errorf("a change of old rights gave %v", err)
	}
	apply(t, both[1], revoke(allow("user:ann", "SELECT")))
	past, err := both[0].At(t.Context(), start)
	if err != nil || privileges(past, "user:ann") == nil {
		t.Errorf("the past has no grant any more: %v", err)
	}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range []string{`DELETE FROM gatehouse_grants`, `UPDATE gatehouse_grants SET author = 'x'`, `TRUNCATE gatehouse_grants`} {
		if _, err := db.Exec(q); err == nil {
			t.Errorf("%s was possible", q)
		}
	}
}

// startPostgres starts a server on a socket in a folder of its own and returns its connection string.
func startPostgres(t *testing.T) string {
	t.Helper()
	dsn, _ := startPostgresTill(t)
	return dsn
}

// startPostgresTill also returns what ends the server.
func startPostgresTill(t *testing.T) (dsn string, stop func()) {
	t.Helper()
	for _, tool := range []string{"initdb", "postgres"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed: a PostgreSQL server cannot run", tool)
		}
	}
	dir, err := os.MkdirTemp("/tmp", "gatehouse-postgres") // a socket's path is short, and others have to get there
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	attr := &syscall.SysProcAttr{}
	if os.Getuid() == 0 { // PostgreSQL refuses to run as root
		u, err := user.Lookup("postgres")
		if err != nil {
			t.Skip("no user postgres: a PostgreSQL server cannot run as root")
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(dir, "data")
	run := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.SysProcAttr = dir, attr
		cmd.Env = append(os.Environ(), "HOME="+dir, "LC_ALL=C")
		return cmd
	}
	if out, err := run("initdb", "-D", data, "-U", "gatehouse", "-A", "trust", "-E", "UTF8", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	var log strings.Builder
	server := run("postgres", "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off")
	server.Stderr = &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = server.Process.Signal(syscall.SIGINT)
		_ = server.Wait()
	})
	t.Cleanup(stop)
	dsn = "host=" + dir + " user=gatehouse dbname=postgres"
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for db.PingContext(ctx) != nil {
		if ctx.Err() != nil {
			t.Fatalf("the server does not answer:\n%s", log.String())
		}
		time.Sleep(20 * time.Millisecond) // between two looks at a condition
	}
	return dsn, stop
}
