package main

import (
	"fmt"
	"io/fs"
	"math"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"gatehouse/objects"
)

// resolve makes relative paths absolute, below dir.
func (c *Config) resolve(dir string) {
	abs := func(p *string) {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(dir, *p)
		}
	}
	for _, p := range []*string{
		&c.TLS.Cert, &c.TLS.Key, &c.TLS.ClientCA, &c.Auth.UsersFile, &c.Auth.TaskKey, &c.Policy.Dir, &c.Policy.Shadow, &c.Policy.HashKeyFile,
		&c.Policy.Bundle.TokenFile, &c.Policy.Bundle.KeyFile, &c.Executor.Dir, &c.Executor.Cluster, &c.Audit.File,
		&c.Grants.File, &c.Grants.Postgres,
	} {
		abs(p)
	}
	for i := range c.Auth.OIDC {
		abs(&c.Auth.OIDC[i].PasswordSecret)
	}
	for name, cat := range c.Catalogs {
		abs(&cat.ServiceToken)
		for i := range cat.Roots {
			if !objects.IsObject(cat.Roots[i]) {
				abs(&cat.Roots[i])
			}
		}
		for _, p := range []*string{&cat.S3.CA, &cat.S3.KeyIDFile, &cat.S3.SecretFile, &cat.S3.SessionToken} {
			abs(p)
		}
		if file, ok := strings.CutPrefix(cat.URI, postgresPrefix); ok {
			abs(&file)
			cat.URI = postgresPrefix + file
		} else if cat.Type == "sql" {
			abs(&cat.URI)
		}
		c.Catalogs[name] = cat
	}
}

const postgresPrefix = "postgres:"

// setDefaults fills in what the file leaves open; dir is where the file is.
func (c *Config) setDefaults(dir string) {
	text := func(p *string, def string) {
		if *p == "" {
			*p = def
		}
	}
	text(&c.Listen.Flight, "127.0.0.1:31337")
	text(&c.Listen.HTTP, "127.0.0.1:31338")
	text(&c.Executor.Type, "duckdb")
	text(&c.Audit.File, filepath.Join(dir, "audit.jsonl"))
	text(&c.Executor.Dir, filepath.Join(dir, "run"))
	text(&c.Executor.Cluster, filepath.Join(dir, "cluster"))
	text(&c.Executor.Above, "1GiB")
	if c.Auth.Idle == 0 {
		c.Auth.Idle = 8 * time.Hour // most drivers cannot sign in again by themselves
	}
	if c.Auth.Absolute == 0 {
		c.Auth.Absolute = 24 * time.Hour
	}
	for i := range c.Auth.OIDC {
		text(&c.Auth.OIDC[i].User, "preferred_username")
		text(&c.Auth.OIDC[i].Groups, "groups")
		if len(c.Auth.OIDC[i].Algorithms) == 0 {
			c.Auth.OIDC[i].Algorithms = []string{"RS256", "ES256"}
		}
	}
}

// checker collects problems.
type checker struct{ problems []Problem }

func (c *checker) add(key, text, remedy string) {
	c.problems = append(c.problems, Problem{Key: key, Text: text, Remedy: remedy})
}

// check refuses what cannot work and what is not safe. It returns a *ConfigError with everything that it found.
func (c Config) check() error {
	k := &checker{}
	c.checkListen(k)
	c.checkTLS(k)
	c.checkAuth(k)
	c.checkCatalogs(k)
	c.checkPolicy(k)
	c.checkRest(k)
	c.checkGrants(k)
	if len(k.problems) == 0 {
		return nil
	}
	return &ConfigError{Problems: k.problems}
}

func (c Config) checkListen(k *checker) {
	flight := k.address("listen.flight", c.Listen.Flight)
	if flight && !loopback(c.Listen.Flight) && c.TLS.Cert == "" {
		k.add("listen.flight", "would send passwords and rows unencrypted over the network", "set tls.cert and tls.key, or listen on 127.0.0.1")
	}
	if c.Listen.HTTP == "off" || c.Listen.HTTP == "" {
		return
	}
	if k.address("listen.http", c.Listen.HTTP) && !loopback(c.Listen.HTTP) {
		k.add("listen.http", "is not loopback, and this address speaks plain HTTP only", "listen on 127.0.0.1, or set it to off")
	}
	if _, port, _ := net.SplitHostPort(c.Listen.HTTP); c.Listen.HTTP == c.Listen.Flight && port != "0" {
		k.add("listen.http", "is the address of listen.flight, too", "choose another port")
	}
}

func (k *checker) address(key, addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	if n, e := strconv.ParseUint(port, 10, 16); err != nil || e != nil || n > 65535 {
		k.add(key, "is no address", "write HOST:PORT, such as 127.0.0.1:31337 or [::1]:31337")
		return false
	}
	return true
}

func (c Config) checkTLS(k *checker) {
	switch t := c.TLS; {
	case t.Cert != "" && t.Key == "":
		k.add("tls.key", "is missing", "tls.cert and tls.key belong together")
	case t.Cert == "" && t.Key != "":
		k.add("tls.cert", "is missing", "tls.cert and tls.key belong together")
	case t.Cert == "" && t.ClientCA != "":
		k.add("tls.client_ca", "needs a server certificate", "set tls.cert and tls.key")
	}
	k.file("tls.cert", c.TLS.Cert)
	k.file("tls.client_ca", c.TLS.ClientCA)
	k.secret("tls.key", c.TLS.Key)
}

// file checks that a named file is there.
func (k *checker) file(key, path string) bool {
	if path == "" {
		return false
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		k.add(key, fmt.Sprintf("%s: %v", path, plain(err)), "name a file that exists and may be read; paths are relative to the configuration's folder")
	case info.IsDir():
		k.add(key, path+" is a folder", "name a file")
	default:
		return true
	}
	return false
}

// secret checks that a file with a secret can be read by its owner and, at most, the group.
func (k *checker) secret(key, path string) bool {
	if !k.file(key, path) {
		return false
	}
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	if mode := info.Mode().Perm(); info.Mode().IsRegular() && mode&0o027 != 0 {
		k.add(key, fmt.Sprintf("%s holds a secret and has mode %04o, so that others may read or change it", path, mode), "chmod 600 "+path)
		return false
	}
	return true
}

// remote checks the URL of a server that gets or gives something secret.
func (k *checker) remote(key, s string) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		k.add(key, "is no URL", "write https://HOST/PATH")
	case u.User != nil:
		k.add(key, "has a user or password in it", "name a file with the secret by its own key")
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		k.add(key, "is not encrypted", "use https; http is for loopback addresses only")
	}
}

func (c Config) checkAuth(k *checker) {
	if c.Auth.UsersFile == "" && len(c.Auth.OIDC) == 0 {
		k.add("auth", "nobody could sign in", "set auth.users_file or auth.oidc")
	}
	if k.secret("auth.users_file", c.Auth.UsersFile) && !c.example && isExample(c.Auth.UsersFile) {
		k.add("auth.users_file", "holds the example users, whose passwords everybody knows", `make a file of your own with "gatehouse user add"`)
	}
	k.secret("auth.task_key", c.Auth.TaskKey)
	if c.Auth.Idle < 0 || c.Auth.Absolute < 0 || c.Auth.Absolute > 0 && c.Auth.Idle > c.Auth.Absolute {
		k.add("auth.idle", "must be positive and not longer than auth.absolute", "for example idle: 30m and absolute: 12h")
	}
	passwords := "" // who decides about passwords: the first in the chain, alone
	if c.Auth.UsersFile != "" {
		passwords = "auth.users_file"
	}
	issuers := map[string]bool{}
	for i, o := range c.Auth.OIDC {
		key := fmt.Sprintf("auth.oidc[%d]", i)
		k.remote(key+".issuer", o.Issuer)
		if issuers[o.Issuer] {
			k.add(key+".issuer", "is there twice", "one entry for each issuer")
		}
		issuers[o.Issuer] = true
		if len(o.Audience) == 0 || slices.Contains(o.Audience, "") {
			k.add(key+".audience", "is missing: tokens that were made for other services would be accepted", "name the client or API that the tokens are for")
		}
		for _, a := range o.Algorithms {
			if !slices.Contains(signatures, a) {
				k.add(key+".algorithms", "holds one that is not accepted", "there are "+strings.Join(signatures, ", "))
			}
		}
		if o.PasswordClient != "" {
			if passwords != "" {
				k.add(key+".password_client", "is never asked, because "+passwords+" decides about passwords", "leave one of the two out")
			}
			passwords = key + ".password_client"
		}
		if o.PasswordSecret != "" && o.PasswordClient == "" {
			k.add(key+".password_secret", "needs password_client", "name the client whose secret it is")
		}
		k.secret(key+".password_secret", o.PasswordSecret)
	}
}

// signatures are the public-key algorithms; a shared secret or none at all does not prove an issuer.
var signatures = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// isExample reports whether a users file is the demo's.
func isExample(path string) bool {
	b, err := os.ReadFile(path)
	return err == nil && strings.Contains(string(b), exampleMark)
}

func (c Config) checkCatalogs(k *checker) {
	if len(c.Catalogs) == 0 {
		k.add("catalogs", "there is none", "name at least one Iceberg catalog")
	}
	names := make([]string, 0, len(c.Catalogs))
	for name := range c.Catalogs {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		key := "catalogs." + name
		if name == "" || len(name) > 63 || strings.ContainsFunc(name, isControl) {
			k.add(key, "is no name for a catalog", "1 to 63 bytes without control characters")
		}
		switch cat := c.Catalogs[name]; cat.Type {
		case "rest":
			k.remote(key+".uri", cat.URI)
			k.secret(key+".service_token", cat.ServiceToken)
			if cat.Catalog != "" {
				k.add(key+".catalog", "is for catalogs of type sql", "use warehouse, or remove it")
			}
		case "sql":
			k.sqlCatalog(key, cat)
		case "":
			k.add(key+".type", "is missing", "write sql or rest")
		default:
			k.add(key+".type", "is not known", "there are sql and rest")
		}
		k.roots(key, c.Catalogs[name])
		k.s3(key+".s3", c.Catalogs[name])
	}
}

func (k *checker) sqlCatalog(key string, cat CatalogConfig) {
	for name, value := range map[string]string{"warehouse": cat.Warehouse, "service_token": cat.ServiceToken} {
		if value != "" {
			k.add(key+"."+name, "is for catalogs of type rest", "remove it")
		}
	}
	file, postgres := strings.CutPrefix(cat.URI, postgresPrefix)
	switch {
	case cat.URI == "":
		k.add(key+".uri", "is missing", "name the SQLite file, or postgres:FILE with a connection string in FILE")
	case postgres && strings.HasPrefix(file, "//"):
		k.add(key+".uri", "holds a connection string, and so perhaps a password", "write the string into a file, chmod 600, and name it as postgres:FILE")
	case postgres:
		k.secret(key+".uri", file)
		if len(cat.Roots) == 0 {
			k.add(key+".roots", "is missing", "name the folders that hold the tables' files")
		}
	default:
		k.file(key+".uri", cat.URI)
	}
}

// foldNames reports whether the policy is asked in lower-case names: one that was written for another system expects them.
func (p PolicyConfig) foldNames() bool { return p.Names == "lower" || p.Names == "" && p.Lenient }

func (c Config) checkPolicy(k *checker) {
	p := c.Policy
	switch {
	case p.Dir == "" && p.Bundle.URL == "":
		k.add("policy", "there is no policy", "set policy.dir or policy.bundle.url; without one nothing would be allowed")
	case p.Dir != "" && p.Bundle.URL != "":
		k.add("policy", "dir and bundle are two sources", "keep one")
	case p.Dir != "":
		k.policyDir(p.Dir)
	default:
		k.bundle(p.Bundle)
	}
	if p.Dir != "" && p.Bundle.URL == "" && p.Bundle != (BundleConfig{}) {
		k.add("policy.bundle.url", "is missing", "name the bundle, or remove the section")
	}
	if !slices.Contains([]string{"", "v1", "v0", "auto"}, p.Rego) {
		k.add("policy.rego", "is not known", "there are v1, v0 and auto")
	}
	switch {
	case !slices.Contains([]string{"", "exact", "lower"}, p.Names):
		k.add("policy.names", "is not known", "there are exact and lower")
	case p.foldNames() && c.Grants != (GrantsConfig{}):
		k.add("policy.names", "asks in lower case, and rights mean names as they are", "write names: exact, or remove the section grants")
	}
	if p.Prefer != "" && p.Prefer != "batch" {
		k.add("policy.prefer", "is not known", "write batch, or remove it")
	}
	if p.Timeout < 0 || p.Timeout > 30*time.Second {
		k.add("policy.timeout", "must be between 0 and 30s", "the default is 2s")
	}
	if k.secret("policy.hash_key_file", p.HashKeyFile) {
		if b, err := os.ReadFile(p.HashKeyFile); err != nil || len(strings.TrimRight(string(b), "\r\n")) < 32 {
			k.add("policy.hash_key_file", "has less than 32 bytes, so that hashes could be guessed", "openssl rand -hex 32 > "+p.HashKeyFile)
		}
	}
}

// policyDir refuses a folder that everybody may write to: whoever writes policy can read everything.
func (k *checker) policyDir(dir string) {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		k.add("policy.dir", dir+" is no folder", `name a folder with Rego files; "gatehouse serve FOLDER" writes a first one`)
		return
	}
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			k.add("policy.dir", fmt.Sprintf("%s: %v", path, plain(err)), "make it readable")
			return fs.SkipAll
		}
		if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o002 != 0 {
			k.add("policy.dir", "everybody may change "+path, "chmod -R o-w "+dir)
			return fs.SkipAll
		}
		return nil
	})
}

func (k *checker) bundle(b BundleConfig) {
	k.remote("policy.bundle.url", b.URL)
	k.secret("policy.bundle.token_file", b.TokenFile)
	if b.KeyFile == "" {
		k.add("policy.bundle.key_file", "is missing: a policy without a signature is anybody's", "name the public key that signs the bundles")
	}
	k.file("policy.bundle.key_file", b.KeyFile)
	if b.Algorithm != "" && !slices.Contains(signatures[:9], b.Algorithm) {
		k.add("policy.bundle.algorithm", "is not accepted", "there are "+strings.Join(signatures[:9], ", "))
	}
	if b.Poll < 0 || b.MaxAge < 0 || b.MaxAge > 0 && b.Poll > b.MaxAge {
		k.add("policy.bundle.poll", "must be positive and not longer than max_age", "for example poll: 10s and max_age: 1h")
	}
}

var executorTypes = []string{"duckdb", "ballista", "auto"}

// checkRest checks the executor, the audit log, the limits and the session.
func (c Config) checkRest(k *checker) {
	if t := c.Executor.Type; t != "" && !slices.Contains(executorTypes, t) {
		k.add("executor.type", "is not known", "there are "+strings.Join(executorTypes, ", "))
	}
	for i, name := range c.Executor.Choices {
		if !slices.Contains(executorTypes, name) {
			k.add(fmt.Sprintf("executor.choices[%d]", i), "is not known", "there are "+strings.Join(executorTypes, ", "))
		}
	}
	for key, size := range c.sizeTexts() {
		if _, err := parseBytes(size); err != nil {
			k.add(key, err.Error(), "write a number with a unit, such as 512MiB or 4GiB")
		}
	}
	if c.Executor.clustered() && statementLimit(c) > clusterStatement {
		k.add("limits.statement", "is above 1h, which is what the executors of a cluster accept", "write 1h or less, or executor.type: duckdb without choices")
	}
	if c.Executor.Threads < 0 {
		k.add("executor.threads", "is negative", "0 means all processors")
	}
	if f := c.Audit.File; f != "" {
		if info, err := os.Stat(filepath.Dir(f)); err != nil || !info.IsDir() {
			k.add("audit.file", filepath.Dir(f)+" is no folder", "make the folder; without the log no rows go out")
		}
	}
	for key, n := range map[string]int64{
		"limits.statement": int64(c.Limits.Statement), "limits.per_user": int64(c.Limits.PerUser), "limits.total": int64(c.Limits.Total),
		"limits.result_rows": c.Limits.ResultRows,
	} {
		if n < 0 {
			k.add(key, "is negative", "remove it for the default")
		}
	}
	if name := c.Session.Catalog; name != "" {
		if _, ok := c.Catalogs[name]; !ok {
			k.add("session.catalog", "is none of the catalogs", "name one of those under catalogs")
		}
	} else if c.Session.Schema != "" && len(c.Catalogs) > 1 {
		k.add("session.schema", "needs session.catalog, since there is more than one", "set session.catalog")
	}
	sort.SliceStable(k.problems, func(i, j int) bool { return k.problems[i].Key < k.problems[j].Key })
}

// parseBytes reads a size such as 4GiB or 500MB; "" is 0, which means the default.
func parseBytes(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	digits := strings.TrimRight(s, "KMGTiB")
	units := map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
	unit, ok := units[s[len(digits):]]
	n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	if !ok || err != nil || n <= 0 || n > math.MaxInt64/unit {
		return 0, fmt.Errorf("is no size")
	}
	return n * unit, nil
}
