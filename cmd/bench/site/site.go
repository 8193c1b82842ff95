// Package site writes what a gateway needs to serve the benchmarks' tables: configuration, policy and users.
package site

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gatehouse/auth"
	"gatehouse/auth/basic"
	"gatehouse/executors/duckdb/tpc"
	"gatehouse/policies"
)

// The users; each one's password is the name. All see everything in the namespaces of eve's copies.
const (
	Admin = "admin" // sees all rows and values
	Eve   = "eve"   // sees what tpc copies for her, by row filters and masks
	Nell  = "nell"  // sees all rows and values of TPC-H, through row filters that hide none
)

//go:embed policy
var policy embed.FS

// Config says what to serve.
type Config struct {
	Dir     string             // is filled with files; must be empty or missing
	Sets    map[tpc.Set]string // set → its folder
	Default tpc.Set            // where unqualified names resolve
	Listen  string             // address of Flight SQL
	Threads int                // of the engine; 0: one for each processor
	Cluster string             // the folder of a cluster that runs everything; "": the engine does
	// Catalogs are further SQL catalogs by name: SQLite files, of tables in the folder of the default set. Grants is the file of the store of rights; "": none.
	Catalogs map[string]string
	Grants   string
}

// Write makes the files and returns the name of the configuration for "gatehouse serve --config". The audit log is
// audit.jsonl in the same folder.
func Write(c Config) (string, error) {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return "", err
	}
	if err := writePolicy(filepath.Join(c.Dir, "policy")); err != nil {
		return "", err
	}
	if err := writeUsers(filepath.Join(c.Dir, "users.yaml")); err != nil {
		return "", err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "listen:\n  flight: %s\n  http: \"off\"\nauth:\n  users_file: users.yaml\npolicy:\n  dir: policy\n  timeout: 10s\naudit:\n  file: audit.jsonl\n", c.Listen)
	fmt.Fprintf(&text, "executor:\n  dir: run\n  threads: %d\n", c.Threads)
	if c.Cluster != "" {
		fmt.Fprintf(&text, "  type: ballista\n  cluster: %q\n", c.Cluster)
	}
	fmt.Fprintf(&text, "limits:\n  per_user: 128\nsession:\n  catalog: %s\n  schema: %s\ncatalogs:\n", c.Default, c.Default)
	for set, dir := range c.Sets {
		fmt.Fprintf(&text, "  %s:\n    type: sql\n    uri: %q\n", set, filepath.Join(dir, tpc.CatalogFile))
	}
	for name, file := range c.Catalogs {
		fmt.Fprintf(&text, "  %s:\n    type: sql\n    uri: %q\n    roots: [%q]\n", name, file, c.Sets[c.Default])
	}
	if c.Grants != "" {
		fmt.Fprintf(&text, "grants:\n  file: %q\n  admin_role: %s\n", c.Grants, Admin)
	}
	file := filepath.Join(c.Dir, "gatehouse.yaml")
	return file, os.WriteFile(file, []byte(text.String()), 0o600)
}

// writePolicy writes the router and library that every policy has, and the tables' own rules.
func writePolicy(dir string) error {
	if err := policies.Write(dir, policies.Skeleton); err != nil {
		return err
	}
	return fs.WalkDir(policy, "policy", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := policy.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "tables", filepath.Base(path)), b, 0o600)
	})
}

func writeUsers(file string) error {
	text := "users:\n"
	for _, name := range []string{Admin, Eve, Nell} {
		hash, err := basic.Hash(auth.NewSecret(name))
		if err != nil {
			return err
		}
		text += fmt.Sprintf("  - name: %s\n    password: %q\n    roles: [%s]\n", name, hash, name)
	}
	return os.WriteFile(file, []byte(text), 0o600)
}

// Doubling is a chain of CTEs, each of which reads the one before twice.
func Doubling(n int) string {
	var b strings.Builder
	b.WriteString("WITH a0 AS NOT MATERIALIZED (SELECT i FROM range(2) r(i))")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, ", a%d AS NOT MATERIALIZED (SELECT p.i FROM a%d p JOIN a%d q ON p.i = q.i)", i, i-1, i-1)
	}
	return b.String() + fmt.Sprintf(" SELECT count(*) FROM a%d", n-1)
}
