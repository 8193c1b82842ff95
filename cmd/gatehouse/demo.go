package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"gatehouse/auth"
	"gatehouse/auth/basic"
	"gatehouse/executors/duckdb/lake"
	"gatehouse/policies"
)

const demoHelp = `Usage: gatehouse demo [options]

Serves an example lakehouse with three example users and an example policy, on loopback only. The first start writes the
lakehouse (up to a minute); later starts use it again. Everything lies in one folder, .gatehouse unless --home or the environment
variable GATEHOUSE_HOME says otherwise; remove the folder to start afresh. Edit the policy in its folder "policy" while the
demo runs: the next statement is governed by it.

Examples:
  gatehouse demo
  gatehouse demo --home /var/tmp/gatehouse --listen 127.0.0.1:32337 --http 127.0.0.1:32338

Options:
`

// demoUsers are the example's users; each one's password is the name. They exist in no other command.
var demoUsers = []struct{ name, role string }{{"alice", "analyst_eu"}, {"bob", "support"}, {"admin", "admin"}}

// runDemo is "gatehouse demo".
func runDemo(ctx context.Context, args []string, env environment) int {
	fs := flag.NewFlagSet("demo", flag.ContinueOnError)
	home := fs.String("home", env.getenv("GATEHOUSE_HOME"), "`folder` of the example (default .gatehouse)")
	listen := fs.String("listen", "127.0.0.1:31337", "loopback `address` of Flight SQL")
	http := fs.String("http", "127.0.0.1:31338", "loopback `address` of /healthz, /readyz and /metrics, or off")
	rest, code, done := parseOptions(fs, demoHelp, args, env)
	if done {
		return code
	}
	if len(rest) > 0 {
		return wrongUsage("demo", fmt.Sprintf("there is no argument %q", rest[0]), env)
	}
	if *home == "" {
		*home = ".gatehouse"
	}
	if err := demo(ctx, *home, *listen, *http, env); err != nil {
		fmt.Fprintln(env.stderr, "gatehouse demo:", err)
		return exitFailure
	}
	return exitOK
}

func demo(ctx context.Context, home, listen, http string, env environment) error {
	start := time.Now()
	if http == "off" {
		http = ""
	}
	for _, addr := range []string{listen, http} {
		if addr != "" && !loopback(addr) {
			return fmt.Errorf("%s is not a loopback address: everybody knows the example users' passwords, so the demo answers this machine alone", addr)
		}
	}
	// The ports come first: nobody waits for a lakehouse to learn that a port is busy.
	ls, err := listenAll(listen, http)
	if err != nil {
		return err
	}
	defer ls.close()
	if home, err = filepath.Abs(home); err != nil {
		return err
	}
	unlock, err := claim(home)
	if err != nil {
		return err
	}
	defer unlock()
	cfg, err := demoFiles(ctx, home, env)
	if err != nil {
		return err
	}
	p, err := assemble(ctx, cfg, ls, env)
	if err != nil {
		return err
	}
	return p.serve(ctx, env, func(ctx context.Context) error {
		return demoBanner(ctx, env.stdout, ls, home, time.Since(start))
	})
}

// claim makes home and takes its lock, so that two demos never share a folder.
func claim(home string) (func(), error) {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the folder %s: %w; choose another one with --home", home, plain(err))
	}
	f, err := os.OpenFile(filepath.Join(home, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot write in the folder %s: %w; choose another one with --home", home, plain(err))
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("another gatehouse uses the folder %s; stop it, or choose another folder with --home", home)
	}
	return func() { _ = f.Close() }, nil
}

// plain returns the reason without the path, which the message around it names already.
func plain(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// demoFiles makes what the demo serves and returns its configuration. No configuration file can say the same: example
// users come from here alone.
func demoFiles(ctx context.Context, home string, env environment) (Config, error) {
	var cfg Config
	dir := filepath.Join(home, "lake")
	if err := writeLake(ctx, dir, env); err != nil {
		return cfg, err
	}
	policy := filepath.Join(home, "policy")
	if err := policies.Write(policy, policies.Demo); err != nil {
		return cfg, fmt.Errorf("cannot write the example policy: %w", err)
	}
	users := filepath.Join(home, "users.yaml")
	if err := writeDemoUsers(users); err != nil {
		return cfg, fmt.Errorf("cannot write the example users: %w", err)
	}
	key := filepath.Join(home, "hash.key")
	if err := writeKey(key); err != nil {
		return cfg, fmt.Errorf("cannot write the key of hash masks: %w", err)
	}
	return demoConfig(home, dir, policy, users, key), nil
}

func writeLake(ctx context.Context, dir string, env environment) error {
	err := lake.Complete(dir)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, lake.ErrForeign):
		return fmt.Errorf("%s: %w; choose another folder with --home", dir, err)
	case errors.Is(err, lake.ErrMissing):
		fmt.Fprintln(env.stdout, "Writing the example lakehouse (once) …")
	default:
		fmt.Fprintf(env.stdout, "Writing the example lakehouse anew: %v\n", err)
	}
	last := ""
	err = lake.Write(ctx, lake.Config{Dir: dir, Progress: func(step string, part float64) {
		if step != last {
			fmt.Fprintf(env.stdout, "  %3.0f %%  %s\n", part*100, step)
			last = step
		}
	}})
	if err != nil {
		return fmt.Errorf("cannot write the example lakehouse: %w", err)
	}
	return nil
}

// writeDemoUsers writes the users file anew: its hashes are of passwords that everybody knows.
func writeDemoUsers(path string) error {
	var b strings.Builder
	b.WriteString(exampleMark + "\nusers:\n")
	for _, u := range demoUsers {
		hash, err := basic.Hash(auth.NewSecret(u.name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "  - name: %s\n    password: %q\n    roles: [%s]\n", u.name, hash, u.role)
	}
	return replaceFile(path, []byte(b.String()), 0o600)
}

// replaceFile writes a file beside path and renames it, so that a reader sees the old one or the new one.
func replaceFile(path string, b []byte, mode os.FileMode) error {
	tmp := path + ".new"
	if err := os.WriteFile(tmp, b, mode); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// listeners are the two sockets of a process.
type listeners struct{ flight, http net.Listener }

// listenAll opens both sockets. A busy port is named with the way out.
func listenAll(flightAddr, httpAddr string) (*listeners, error) {
	f, err := listenOn("Flight SQL", flightAddr, "--listen")
	if err != nil {
		return nil, err
	}
	if httpAddr == "" {
		return &listeners{flight: f}, nil
	}
	h, err := listenOn("HTTP", httpAddr, "--http")
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &listeners{f, h}, nil
}

func listenOn(what, addr, option string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("the %s address %s is in use by another program; stop it, or choose another address with %s", what, addr, option)
	}
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return nil, fmt.Errorf("cannot listen on the %s address %s: %w; choose another one with %s", what, addr, err, option)
	}
	return l, nil
}

func (l *listeners) close() {
	_ = l.flight.Close()
	if l.http != nil {
		_ = l.http.Close()
	}
}

// exampleMark is the first line of the example users file. Whatever else uses that file must be on loopback.
const exampleMark = "# The example users of gatehouse demo: everybody knows their passwords. Loopback only."

// demoConfig is the demo's configuration.
func demoConfig(home, dir, policy, users, key string) Config {
	return Config{
		example: true,
		Listen:  ListenConfig{Flight: "127.0.0.1:31337", HTTP: "127.0.0.1:31338"},
		Auth:    AuthConfig{UsersFile: users},
		Catalogs: map[string]CatalogConfig{
			lake.Catalog: {Type: "sql", URI: filepath.Join(dir, lake.CatalogFile), Catalog: lake.Catalog, Roots: []string{dir}},
		},
		Policy:   PolicyConfig{Dir: policy, HashKeyFile: key},
		Executor: ExecutorConfig{Dir: filepath.Join(home, "run")},
		Grants:   GrantsConfig{File: filepath.Join(home, "grants.db"), AdminRole: "admin"},
		Audit:    AuditConfig{File: filepath.Join(home, "audit.jsonl")},
		Session:  SessionConfig{Catalog: lake.Catalog, Schema: lake.Namespace},
	}
}
