package main

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// goodConfig is the control of every refusal below: it is accepted as it is.
const goodConfig = `listen:
  flight: 127.0.0.1:31337
  http: 127.0.0.1:31338
auth:
  users_file: users.yaml
  idle: 20m
  oidc:
    - issuer: https://id.example.com/realms/lake
      audience: [gatehouse]
      claims: [department]
catalogs:
  lake:
    type: sql
    uri: catalog.db
  far:
    type: rest
    uri: https://catalog.example.com
policy:
  dir: policy
  hash_key_file: hash.key
executor:
  memory: 2GiB
  threads: 2
audit:
  file: audit.jsonl
  sync: true
limits:
  result_rows: 1_000_000
session:
  catalog: lake
`

// configFolder makes a folder with the files that goodConfig names.
func configFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"users.yaml": "users: []\n", "catalog.db": "", "hash.key": strings.Repeat("k", 32) + "\n", "short.key": "short\n",
		"tls.crt": "x", "tls.key": "x", "dsn": "postgres://db", "policy/a.rego": "package a\n", "examples.yaml": exampleMark + "\nusers: []\n",
	} {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func load(t *testing.T, dir, text string) (Config, error) {
	t.Helper()
	name := filepath.Join(dir, "gatehouse.yaml")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return LoadConfig(name)
}

func TestLoadConfig(t *testing.T) {
	dir := configFolder(t)
	cfg, err := load(t, dir, goodConfig)
	if err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]string{
		cfg.Auth.UsersFile:         filepath.Join(dir, "users.yaml"),
		cfg.Catalogs["lake"].URI:   filepath.Join(dir, "catalog.db"),
		cfg.Catalogs["far"].URI:    "https://catalog.example.com",
		cfg.Policy.Dir:             filepath.Join(dir, "policy"),
		cfg.Audit.File:             filepath.Join(dir, "audit.jsonl"),
		cfg.Auth.OIDC[0].User:      "preferred_username",
		cfg.Executor.Type:          "duckdb",
		cfg.Auth.OIDC[0].Claims[0]: "department",
	} {
		if got != want {
			t.Errorf("%q, wanted %q", got, want)
		}
	}
	if cfg.Auth.Idle != 20*time.Minute || cfg.Auth.Absolute != 24*time.Hour || cfg.Limits.ResultRows != 1_000_000 || !cfg.Audit.Sync || cfg.Executor.Threads != 2 {
		t.Errorf("%+v", cfg)
	}
	if cfg.example {
		t.Error("a file made the demo's posture")
	}
	// The configuration that gatehouse serve writes is accepted, too.
	if _, err := load(t, dir, strings.NewReplacer("%s", "").Replace(configSkeletonWith("", "  lake:\n    type: sql\n    uri: catalog.db\n"))); err != nil {
		t.Error(err)
	}
}

func configSkeletonWith(tls, catalog string) string {
	return strings.Replace(strings.Replace(configSkeleton, "%s", tls, 1), "%s", catalog, 1)
}

// s3Change gives a catalog a place in an object store.
func s3Change(root, keys string) map[string]string {
	const uri = "uri: https://catalog.example.com"
	return map[string]string{uri: uri + "\n    roots: [\"" + root + "\"]\n    s3: {" + keys + "}"}
}

// TestRefusals changes goodConfig in one way each.
func TestRefusals(t *testing.T) {
	type change map[string]string // from text to text
	cases := []struct {
		name   string
		change change
		key    string // of the problem
		text   string // a part of the message
		line   string // "N:" in the message, "" if any
	}{
		{"unknown key", change{"  flight:": "  fligth:"}, "listen.fligth", "did you mean flight?", ":2:"},
		{"unknown section", change{"listen:": "metrics:"}, "metrics", "there are audit, auth, catalogs", ":1:"},
		{"the demo's posture", change{"listen:": "example: true\nlisten:"}, "example", "there is no such key", ":1:"},
		{"key twice", change{"  http: 127.0.0.1:31338": "  flight: 127.0.0.1:1"}, "listen.flight", "there twice (first on line 2)", ":3:"},
		{"number for text", change{"uri: catalog.db": "uri: 5"}, "catalogs.lake.uri", "must be text, and is a number", ":14:"},
		{"text for number", change{"threads: 2": "threads: two"}, "executor.threads", "must be a whole number, and is text", ""},
		{"text for a list", change{"audience: [gatehouse]": "audience: gatehouse"}, "auth.oidc[0].audience", "must be a list", ":9:"},
		{"list for a section", change{"  catalog: lake": "  - lake"}, "session", "must be a section", ""},
		{"yes for true", change{"sync: true": "sync: yes"}, "audit.sync", "true or false", ""},
		{"number for a time", change{"idle: 20m": "idle: 20"}, "auth.idle", "write a number with a unit", ":6:"},
		{"no value", change{"type: rest": "type:"}, "catalogs.far.type", "has no value", ""},
		{"anchor", change{"listen:": "listen: &x"}, "listen", "anchors", ""},
		{"second document", change{"  catalog: lake": "  catalog: lake\n---\na: b"}, "", "more than one document", ""},
		{"no YAML", change{"listen:": "listen: ["}, "", "not valid YAML", ""},
		{"plaintext on the network", change{"flight: 127.0.0.1:31337": "flight: 0.0.0.0:31337"}, "listen.flight", "set tls.cert and tls.key", ":2:"},
		{"plaintext on all interfaces", change{"flight: 127.0.0.1:31337": `flight: ":31337"`}, "listen.flight", "unencrypted", ""},
		{"plaintext on a name", change{"flight: 127.0.0.1:31337": "flight: lake.example.com:31337"}, "listen.flight", "unencrypted", ""},
		{"plain HTTP on the network", change{"http: 127.0.0.1:31338": "http: 192.0.2.1:31338"}, "listen.http", "plain HTTP", ":3:"},
		{"no port", change{"flight: 127.0.0.1:31337": "flight: 127.0.0.1"}, "listen.flight", "HOST:PORT", ""},
		{"one port twice", change{"http: 127.0.0.1:31338": "http: 127.0.0.1:31337"}, "listen.http", "another port", ""},
		{"certificate without key", change{"auth:\n": "tls: {cert: tls.crt}\nauth:\n"}, "tls.key", "belong together", ""},
		{"key without certificate", change{"auth:\n": "tls: {key: tls.key}\nauth:\n"}, "tls.cert", "belong together", ""},
		{"client authority alone", change{"auth:\n": "tls: {client_ca: tls.crt}\nauth:\n"}, "tls.client_ca", "server certificate", ""},
		{"no such certificate", change{"auth:\n": "tls: {cert: no.crt, key: tls.key}\nauth:\n"}, "tls.cert", "no such file", ""},
		{"no users file", change{"users.yaml": "nobody.yaml"}, "auth.users_file", "no such file", ":5:"},
		{"example users", change{"users.yaml": "examples.yaml"}, "auth.users_file", "everybody knows", ":5:"},
		{"idle over absolute", change{"idle: 20m": "idle: 30h"}, "auth.idle", "not longer than auth.absolute", ""},
		{"issuer over http", change{"issuer: https:": "issuer: http:"}, "auth.oidc[0].issuer", "use https", ":8:"},
		{"no audience", change{"      audience: [gatehouse]\n": ""}, "auth.oidc[0].audience", "other services", ""},
		{"shared-secret tokens", change{"claims: [department]": "algorithms: [HS256]"}, "auth.oidc[0].algorithms", "not accepted", ""},
		{"unsigned tokens", change{"claims: [department]": "algorithms: [none]"}, "auth.oidc[0].algorithms", "not accepted", ""},
		{"passwords decided twice", change{"claims: [department]": "password_client: gatehouse"}, "auth.oidc[0].password_client", "never asked, because auth.users_file", ""},
		{"no catalog type", change{"    type: rest\n": ""}, "catalogs.far.type", "write sql or rest", ""},
		{"unknown catalog type", change{"type: rest": "type: hive"}, "catalogs.far.type", "there are sql and rest", ""},
		{"catalog over http", change{"uri: https:": "uri: http:"}, "catalogs.far.uri", "use https", ""},
		{"password in a URL", change{"https://catalog": "https://a:b@catalog"}, "catalogs.far.uri", "user or password", ""},
		{"no such database", change{"uri: catalog.db": "uri: no.db"}, "catalogs.lake.uri", "no such file", ":14:"},
		{"connection string", change{"uri: catalog.db": "uri: postgres://u:p@db/x"}, "catalogs.lake.uri", "postgres:FILE", ""},
		{"roots of PostgreSQL", change{"uri: catalog.db": "uri: postgres:dsn"}, "catalogs.lake.roots", "is missing", ""},
		{"root of everything", change{"uri: catalog.db": "uri: catalog.db\n    roots: [/]"}, "catalogs.lake.roots[0]", "whole file system", ""},
		{"key of the other type", change{"uri: catalog.db": "uri: catalog.db\n    warehouse: x"}, "catalogs.lake.warehouse", "type rest", ""},
		{"a place without a store", change{"uri: https://catalog.example.com": "uri: https://catalog.example.com\n    roots: [\"s3://lake/warehouse\"]"}, "catalogs.far.s3", "is missing", ""},
		{"a store without a place", change{"uri: https://catalog.example.com": "uri: https://catalog.example.com\n    s3: {region: eu-central-1}"}, "catalogs.far.roots", "add s3://BUCKET/PREFIX", ""},
		{"a place on Google's", s3Change("gs://lake", "region: eu-central-1"), "catalogs.far.roots[0]", "Google Cloud Storage, which is not read", ""},
		{"a place on Azure", s3Change("abfss://lake@x.dfs.core.windows.net/a", "region: eu-central-1"), "catalogs.far.roots[0]", "Azure storage, which is not read", ""},
		{"no bucket", s3Change("s3:///x", "region: eu-central-1"), "catalogs.far.roots[0]", "is no place", ""},
		{"a place that goes up", s3Change("s3://lake/a/..", "region: eu-central-1"), "catalogs.far.roots[0]", "is no place", ""},
		{"a store somewhere", s3Change("s3://lake", "path_style: true"), "catalogs.far.s3.region", "is missing", ""},
		{"a store over http", s3Change("s3://lake", "endpoint: \"http://minio.example.com\""), "catalogs.far.s3.endpoint", "is http to a host", ""},
		{"a store with a path", s3Change("s3://lake", "endpoint: \"https://minio.example.com/s3\""), "catalogs.far.s3.endpoint", "has a path", ""},
		{"a store without a scheme", s3Change("s3://lake", "endpoint: \"minio.example.com:9000\""), "catalogs.far.s3.endpoint", "no https://", ""},
		{"a store with a password", s3Change("s3://lake", "endpoint: \"https://a:b@minio.example.com\""), "catalogs.far.s3.endpoint", "no address", ""},
		{"a store of another kind", s3Change("s3://lake", "endpoint: \"ftp://minio.example.com\""), "catalogs.far.s3.endpoint", "write https://", ""},
		{"no region", s3Change("s3://lake", "region: \"evil.example.com/\""), "catalogs.far.s3.region", "is no region", ""},
		{"no authority", s3Change("s3://lake", "region: eu-central-1, ca: users.yaml"), "catalogs.far.s3.ca", "holds no certificate", ""},
		{"unknown credentials", s3Change("s3://lake", "region: eu-central-1, credentials: env"), "catalogs.far.s3.credentials", "vended and keys", ""},
		{"keys that are not used", s3Change("s3://lake", "region: eu-central-1, access_key_id: AKIA"), "catalogs.far.s3.access_key_id", "is not used", ""},
		{"keys without an id", s3Change("s3://lake", "region: eu-central-1, credentials: keys, secret_access_key_file: hash.key"), "catalogs.far.s3.access_key_id", "is missing", ""},
		{"an id twice", s3Change("s3://lake", "region: eu-central-1, credentials: keys, access_key_id: AKIA, access_key_id_file: hash.key, secret_access_key_file: hash.key"), "catalogs.far.s3.access_key_id_file", "stands beside", ""},
		{"an id that is not used", s3Change("s3://lake", "region: eu-central-1, access_key_id_file: hash.key"), "catalogs.far.s3.access_key_id_file", "is not used", ""},
		{"keys without a secret", s3Change("s3://lake", "region: eu-central-1, credentials: keys, access_key_id: AKIA"), "catalogs.far.s3.secret_access_key_file", "is missing", ""},
		{"no such secret", s3Change("s3://lake", "region: eu-central-1, credentials: keys, access_key_id: AKIA, secret_access_key_file: no.key"), "catalogs.far.s3.secret_access_key_file", "no such file", ""},
		{"a database that gives credentials", change{"uri: catalog.db": "uri: catalog.db\n    roots: [\"s3://lake\"]\n    s3: {region: eu-central-1, credentials: vended}"}, "catalogs.lake.s3.credentials", "type rest", ""},
		{"no policy", change{"  dir: policy\n": ""}, "policy", "there is no policy", ":18:"},
		{"no policy folder", change{"dir: policy": "dir: polizei"}, "policy.dir", "is no folder", ":19:"},
		{"two policies", change{"dir: policy": "dir: policy\n  bundle: {url: \"https://b.example.com/b\", key_file: tls.crt}"}, "policy", "two sources", ""},
		{"unsigned bundle", change{"dir: policy": "bundle: {url: \"https://b.example.com/b\"}"}, "policy.bundle.key_file", "without a signature", ""},
		{"bundle over http", change{"dir: policy": "bundle: {url: \"http://b.example.com/b\", key_file: tls.crt}"}, "policy.bundle.url", "use https", ""},
		{"short hash key", change{"hash.key": "short.key"}, "policy.hash_key_file", "less than 32 bytes", ":20:"},
		{"unknown rego", change{"dir: policy": "dir: policy\n  rego: v2"}, "policy.rego", "v1, v0 and auto", ""},
		{"unknown names", change{"dir: policy": "dir: policy\n  names: upper"}, "policy.names", "exact and lower", ""},
		{"lower-case names and rights", change{"dir: policy": "dir: policy\n  lenient: true", "session:\n": "grants: {file: grants.db, admin_role: admin, issuer: \"gatehouse:users\"}\nsession:\n"}, "policy.names", "write names: exact", ""},
		{"unknown executor", change{"memory: 2GiB": "type: spark"}, "executor.type", "there are duckdb", ""},
		{"memory without unit", change{"memory: 2GiB": `memory: "2048"`}, "executor.memory", "4GiB", ":22:"},
		{"no audit folder", change{"file: audit.jsonl": "file: no/audit.jsonl"}, "audit.file", "is no folder", ""},
		{"no size", change{"result_rows: 1_000_000": "user_memory: much"}, "limits.user_memory", "no size", ""},
		{"a statement longer than credentials of a cluster", change{"memory: 2GiB": "type: auto", "result_rows: 1_000_000": "statement: 61m"}, "limits.statement", "write 1h or less", ""},
		{"negative limit", change{"result_rows: 1_000_000": "result_rows: -1"}, "limits.result_rows", "negative", ""},
		{"unknown session catalog", change{"catalog: lake": "catalog: sea"}, "session.catalog", "none of the catalogs", ""},
		{"schema of which catalog", change{"catalog: lake": "schema: shop"}, "session.schema", "set session.catalog", ""},
		{"no catalogs", change{"catalogs:\n  lake:\n    type: sql\n    uri: catalog.db\n  far:\n    type: rest\n    uri: https://catalog.example.com\n": "catalogs: {}\n", "session:\n  catalog: lake\n": ""}, "catalogs", "there is none", ""},
		{"no users at all", change{"  users_file: users.yaml\n  idle: 20m\n  oidc:\n    - issuer: https://id.example.com/realms/lake\n      audience: [gatehouse]\n      claims: [department]\n": "  idle: 20m\n"}, "auth", "nobody could sign in", ""},
	}
	dir := configFolder(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			text := goodConfig
			for _, from := range slices.Sorted(maps.Keys(c.change)) {
				if !strings.Contains(text, from) {
					t.Fatalf("the case changes nothing: %q", from)
				}
				text = strings.Replace(text, from, c.change[from], 1)
			}
			_, err := load(t, dir, text)
			var wrong *ConfigError
			if !errors.As(err, &wrong) {
				t.Fatalf("%v", err)
			}
			if len(wrong.Problems) != 1 || wrong.Problems[0].Key != c.key {
				t.Errorf("%v; wanted one problem with %q", err, c.key)
			}
			if !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), c.line) {
				t.Errorf("%v; wanted %q on line %s", err, c.text, c.line)
			}
		})
	}
}

// TestSecretFiles: a secret that others may read stops the start; the control is the same file with mode 0600.
func TestSecretFiles(t *testing.T) {
	withTLS := strings.Replace(goodConfig, "auth:\n", "tls: {cert: tls.crt, key: tls.key}\nauth:\n", 1)
	for file, key := range map[string]string{"users.yaml": "auth.users_file", "hash.key": "policy.hash_key_file", "tls.key": "tls.key", "policy/a.rego": "policy.dir", "gatehouse.yaml": ""} {
		dir := configFolder(t)
		if _, err := load(t, dir, withTLS); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, file)
		if err := os.Chmod(name, 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := LoadConfig(filepath.Join(dir, "gatehouse.yaml"))
		var wrong *ConfigError
		if !errors.As(err, &wrong) || len(wrong.Problems) != 1 || wrong.Problems[0].Key != key || !strings.Contains(err.Error(), "chmod") {
			t.Errorf("%s for everybody: %v", file, err)
		}
	}
}

// TestObjectStores: the ways to name a store that are accepted, as controls of the refusals, and files of secrets that others may read.
func TestObjectStores(t *testing.T) {
	with := func(lake, far string) string {
		return strings.NewReplacer("uri: catalog.db", "uri: catalog.db\n    "+lake, "uri: https://catalog.example.com", "uri: https://catalog.example.com\n    "+far).Replace(goodConfig)
	}
	const keys = `roots: ["s3://lake/warehouse/"]` + "\n    s3: {endpoint: \"https://minio.example.com:9000\", path_style: true, access_key_id: AKIA, secret_access_key_file: hash.key, session_token_file: hash.key}"
	const vended = `roots: [".", "s3a://lake"]` + "\n    s3: {region: eu-central-1}"
	text := with(keys, vended)
	cfg, err := load(t, configFolder(t), text)
	if err != nil {
		t.Fatal(err)
	}
	if lake, far := cfg.Catalogs["lake"], cfg.Catalogs["far"]; lake.vends() || !far.vends() || lake.Roots[0] != "s3://lake/warehouse/" || far.Roots[1] != "s3a://lake" || !filepath.IsAbs(lake.S3.SecretFile) {
		t.Errorf("%+v, %+v", lake, far)
	}
	for name, c := range cfg.Catalogs {
		made, err := openCatalog(name, CatalogConfig{Type: "rest", URI: "https://catalog.example.com", Roots: c.Roots, S3: c.S3}, nil, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_ = made.Close()
	}
	for _, key := range []string{"secret_access_key_file", "session_token_file"} {
		dir := configFolder(t)
		if err := os.WriteFile(filepath.Join(dir, "open.key"), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := load(t, dir, strings.Replace(text, key+": hash.key", key+": open.key", 1))
		var wrong *ConfigError
		if !errors.As(err, &wrong) || len(wrong.Problems) != 1 || wrong.Problems[0].Key != "catalogs.lake.s3."+key || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("%s for everybody: %v", key, err)
		}
	}
}

// TestTLSOnTheNetwork is the control of the plaintext refusals: the same address with a certificate is fine.
func TestTLSOnTheNetwork(t *testing.T) {
	text := strings.NewReplacer("127.0.0.1:31337", "0.0.0.0:31337", "auth:\n", "tls: {cert: tls.crt, key: tls.key}\nauth:\n").Replace(goodConfig)
	if _, err := load(t, configFolder(t), text); err != nil {
		t.Error(err)
	}
	text = strings.Replace(text, "http: 127.0.0.1:31338", "http: \"off\"", 1)
	if _, err := load(t, configFolder(t), text); err != nil {
		t.Error(err)
	}
}

// TestAllProblems: one start names everything that is wrong.
func TestAllProblems(t *testing.T) {
	_, err := load(t, configFolder(t), strings.NewReplacer("users.yaml", "no.yaml", "dir: policy", "dir: no", "2GiB", "2").Replace(goodConfig))
	var wrong *ConfigError
	if !errors.As(err, &wrong) || len(wrong.Problems) != 3 && !strings.Contains(err.Error(), "executor.memory") {
		t.Errorf("%v", err)
	}
}

// TestNoSecretInMessages: a value in the wrong place may be a secret and is not repeated.
func TestNoSecretInMessages(t *testing.T) {
	for _, text := range []string{
		strings.Replace(goodConfig, "uri: catalog.db", "uri: postgres://u:hunter2@db/x", 1),
		strings.Replace(goodConfig, "threads: 2", "threads: hunter2", 1),
		strings.Replace(goodConfig, "https://catalog", "https://u:hunter2@catalog", 1),
	} {
		if _, err := load(t, configFolder(t), text); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v", err)
		}
	}
}

func TestParseBytes(t *testing.T) {
	for in, want := range map[string]int64{"": 0, "4GiB": 4 << 30, "1MB": 1e6, "512 MiB": 512 << 20, "1": -1, "GiB": -1, "-1GiB": -1, "0GiB": -1, "9999999TiB": -1, "1.5GiB": -1, "1GiBi": -1} {
		got, err := parseBytes(in)
		if want == -1 && err == nil || want >= 0 && (err != nil || got != want) {
			t.Errorf("%q: %d, %v", in, got, err)
		}
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte(goodConfig))
	f.Add([]byte("listen: {flight: &a [*a]}\n? [x]\n: y"))
	f.Add([]byte("# nothing"))
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _, _ = parseConfig(b) // must not panic
	})
}
