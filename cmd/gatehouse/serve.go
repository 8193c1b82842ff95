package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"

	sqlcat "gatehouse/catalog/sql"
	"gatehouse/policies"
)

const serveHelp = `Usage:
  gatehouse serve [options] FOLDER       a folder with an Iceberg catalog in one SQLite file
  gatehouse serve [options] CATALOG-URL  an Iceberg REST catalog, http(s)://…
  gatehouse serve --config FILE          what a configuration file says

The first two forms write, on first use, a commented configuration, a policy that denies everything, and an empty users file into
FOLDER/gatehouse (or the folder that --home names), and serve by them. They never overwrite: start again as often as you like.

Examples:
  gatehouse serve ./warehouse
  gatehouse user add --file ./warehouse/gatehouse/users.yaml --role admin ann
  gatehouse serve --tls --listen 0.0.0.0:31337 ./warehouse
  gatehouse serve --config /etc/gatehouse/gatehouse.yaml

Options:
`

type serveOptions struct {
	config, home, listen, http string
	executor, cluster          string
	tls                        bool
}

// runServe is "gatehouse serve".
func runServe(ctx context.Context, args []string, env environment) int {
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	var o serveOptions
	fs.StringVar(&o.config, "config", "", "configuration `file`")
	fs.StringVar(&o.home, "home", "", "`folder` for configuration, policy and users (default FOLDER/gatehouse)")
	fs.StringVar(&o.listen, "listen", "", "`address` of Flight SQL, instead of the configuration's")
	fs.StringVar(&o.http, "http", "", "`address` of /healthz, /readyz and /metrics, instead of the configuration's; off for none")
	fs.StringVar(&o.executor, "executor", "", "what runs statements, instead of the configuration's: duckdb, ballista or auto")
	fs.StringVar(&o.cluster, "cluster", "", "`folder` of the cluster, instead of the configuration's")
	fs.BoolVar(&o.tls, "tls", false, "serve with TLS, by a self-signed certificate beside the configuration if it names none")
	where, code, done := parseOptions(fs, serveHelp, args, env)
	switch {
	case done:
		return code
	case o.config == "" && len(where) == 0:
		return wrongUsage("serve", "say what to serve: a folder of tables, the URL of a REST catalog, or --config FILE", env)
	case len(where) > 1:
		return wrongUsage("serve", fmt.Sprintf("there is one argument too many: %q", where[1]), env)
	case o.config != "" && len(where) == 1:
		return wrongUsage("serve", "--config says where the tables are: leave "+where[0]+" out", env)
	}
	first := false
	if o.config == "" {
		var err error
		if o.config, first, err = prepareHome(where[0], o); err != nil {
			fmt.Fprintln(env.stderr, "gatehouse serve:", err)
			return exitFailure
		}
	}
	cfg, err := LoadConfig(o.config)
	if err != nil {
		fmt.Fprintln(env.stderr, "gatehouse serve:", err)
		return exitUsage
	}
	if err := serveConfig(ctx, cfg, o, first, env); err != nil {
		fmt.Fprintln(env.stderr, "gatehouse serve:", err)
		return exitFailure
	}
	return exitOK
}

func serveConfig(ctx context.Context, cfg Config, o serveOptions, first bool, env environment) error {
	if o.listen != "" {
		cfg.Listen.Flight = o.listen
	}
	if o.http != "" {
		cfg.Listen.HTTP = o.http
	}
	if o.executor != "" {
		cfg.Executor.Type = o.executor
	}
	if o.cluster != "" {
		cfg.Executor.Cluster = o.cluster
	}
	if o.tls && cfg.TLS.Cert == "" { // a configuration that was written without the option
		if err := certify(&cfg, o); err != nil {
			return err
		}
	}
	if err := cfg.check(); err != nil { // an option may have made it unsafe
		return err
	}
	http := cfg.Listen.HTTP
	if http == "off" {
		http = ""
	}
	ls, err := listenAll(cfg.Listen.Flight, http)
	if err != nil {
		return err
	}
	defer ls.close()
	p, err := assemble(ctx, cfg, ls, env)
	if err != nil {
		return err
	}
	return p.serve(ctx, env, func(context.Context) error {
		printServing(env.stdout, cfg, o, ls, first)
		return nil
	})
}

// certify makes cfg use tls.crt and tls.key beside the configuration, which are made unless they exist.
func certify(cfg *Config, o serveOptions) error {
	dir, err := filepath.Abs(filepath.Dir(o.config))
	if err != nil {
		return err
	}
	cfg.TLS.Cert, cfg.TLS.Key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	if _, err := os.Stat(cfg.TLS.Cert); err == nil {
		return nil
	}
	if err := selfSigned(cfg.TLS.Cert, cfg.TLS.Key, cfg.Listen.Flight); err != nil {
		return fmt.Errorf("cannot make a certificate: %w", err)
	}
	return nil
}

func printServing(w io.Writer, cfg Config, o serveOptions, ls *listeners, first bool) {
	scheme := "grpc"
	if cfg.TLS.Cert != "" {
		scheme = "grpc+tls"
	}
	fmt.Fprintf(w, "Gatehouse serves %s://%s by %s.\n", scheme, ls.flight.Addr(), o.config)
	if ls.http != nil {
		fmt.Fprintf(w, "Health and metrics: http://%s/healthz /readyz /metrics\n", ls.http.Addr())
	}
	if first {
		ca := ""
		if o.tls {
			ca = " --ca " + cfg.TLS.Cert
		}
		tables := filepath.Join(cfg.Policy.Dir, "tables")
		fmt.Fprintf(w, `Nothing is allowed yet. Next, in another shell:
  1. gatehouse user add --file %s --role admin NAME
  2. write %s/CATALOG/SCHEMA/TABLE.rego (%s/example.rego shows how), then: gatehouse policy test %s
  3. gatehouse sql --url %s://%s%s --user NAME
The running server sees changes of users and policy at once.
`, cfg.Auth.UsersFile, tables, tables, cfg.Policy.Dir, scheme, ls.flight.Addr(), ca)
	}
	fmt.Fprintln(w, "Ctrl-C stops the server.")
}

// prepareHome writes what is missing of a home for target and returns the configuration file, and whether it is new.
func prepareHome(target string, o serveOptions) (config string, first bool, err error) {
	catalog, home, err := targetCatalog(target, o.home)
	if err != nil {
		return "", false, err
	}
	config = filepath.Join(home, "gatehouse.yaml")
	if _, err := os.Stat(config); err == nil {
		return config, false, nil
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return "", false, fmt.Errorf("cannot make %s: %w; choose another folder with --home", home, plain(err))
	}
	tls := ""
	if o.tls {
		cert, key := filepath.Join(home, "tls.crt"), filepath.Join(home, "tls.key")
		if err := selfSigned(cert, key, o.listen); err != nil {
			return "", false, fmt.Errorf("cannot make a certificate: %w", err)
		}
		tls = "tls:\n  cert: tls.crt\n  key: tls.key\n"
	}
	if err := policies.Write(filepath.Join(home, "policy"), policies.Skeleton); err != nil {
		return "", false, fmt.Errorf("cannot write the policy: %w", err)
	}
	if err := writeKey(filepath.Join(home, "hash.key")); err != nil {
		return "", false, fmt.Errorf("cannot write the key of hash masks: %w", err)
	}
	if err := writeNew(filepath.Join(home, "users.yaml"), "# Add users with: gatehouse user add --file users.yaml --role ROLE NAME\nusers: []\n", 0o600); err != nil {
		return "", false, err
	}
	return config, true, writeNew(config, fmt.Sprintf(configSkeleton, tls, catalog), 0o600)
}

const configSkeleton = `# Configuration of Gatehouse. docs/configuration.md explains every key. Paths are relative to this file.
listen:
  flight: 127.0.0.1:31337
  http: 127.0.0.1:31338
%sauth:
  users_file: users.yaml
catalogs:
%spolicy:
  dir: policy
  hash_key_file: hash.key
audit:
  file: audit.jsonl
`

// targetCatalog describes the catalog that the command line names, as YAML, and says where its home is.
func targetCatalog(target, home string) (yaml, dir string, err error) {
	if strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://") {
		if home == "" {
			home = "gatehouse"
		}
		return fmt.Sprintf("  lake:\n    type: rest\n    uri: %q\n", target), home, nil
	}
	found, err := sqlcat.Find(target)
	if err != nil {
		return "", "", err
	}
	db, err := filepath.Abs(found.SQLite)
	if err != nil {
		return "", "", err
	}
	if home == "" {
		home = filepath.Join(filepath.Dir(db), "gatehouse")
	}
	return fmt.Sprintf("  %q:\n    type: sql\n    uri: %q\n    catalog: %q\n", found.Name, db, found.Catalog), home, nil
}

// writeNew writes a file unless it exists.
func writeNew(path, text string, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// loopback reports whether an address is reachable from this machine alone.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
