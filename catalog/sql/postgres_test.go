package sql_test

import (
	"context"
	"database/sql"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatehouse/auth"
	"gatehouse/catalog/catalogtest"
	icesql "gatehouse/catalog/sql"
)

// TestPostgres runs the contract over a real PostgreSQL server with the zoo's rows.
func TestPostgres(t *testing.T) {
	dsn := startPostgres(t)
	from, err := sql.Open("sqlite", catalogtest.Zoo(t)+"/catalog.db")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	for _, ddl := range []string{tablesV1, properties} {
		if _, err := to.Exec(ddl); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := from.Query("SELECT catalog_name, table_namespace, table_name, metadata_location, iceberg_type FROM iceberg_tables")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var v [5]sql.NullString
		if err := rows.Scan(&v[0], &v[1], &v[2], &v[3], &v[4]); err != nil {
			t.Fatal(err)
		}
		if _, err := to.Exec(`INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location, iceberg_type)
			VALUES ($1, $2, $3, $4, $5)`, v[0], v[1], v[2], v[3], v[4]); err != nil {
			t.Fatal(err)
		}
	}
	c, err := icesql.New(icesql.Config{Name: "zoo", Postgres: auth.NewSecret(dsn), Roots: []string{catalogtest.Zoo(t)}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	catalogtest.Run(t, catalogtest.Fixture{Catalog: c, Alice: alice})
}

// startPostgres starts a server on a socket in a folder of its own and returns its connection string.
func startPostgres(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"initdb", "postgres"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed: a PostgreSQL server cannot run", tool)
		}
	}
	dir, err := os.MkdirTemp("", "gatehouse-postgres")
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
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGINT)
		_ = server.Wait()
	})
	dsn := "host=" + dir + " user=gatehouse dbname=postgres"
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
	return dsn
}
