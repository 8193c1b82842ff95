package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gatehouse/auth/authtest"
	"gatehouse/catalog/catalogtest"
	"gatehouse/objects/objectstest"
)

// storePolicy lets admins and bob see all, and alice what stands in region "EU", with masks.
const storePolicy = `package trino

default allow := false

user := input.context.identity.user

allow if user in {"admin", "alice", "bob"}

rowFilters contains {"expression": "region = 'EU'"} if {
	user == "alice"
	input.action.resource.table.tableName == "customers"
}

columnMask := {"expression": "'***' || right(tax_id, 2)"} if {
	user == "alice"
	input.action.resource.column.columnName == "tax_id"
}
`

// vendor is a REST catalog as installations have it: it knows tokens, and gives each user credentials of the store.
type vendor struct {
	*httptest.Server
	mu     sync.Mutex
	users  map[string]string // by token
	gives  map[string]objectstest.Keys
	ends   time.Time
	extra  map[string]string // more of what it says of the store
	asked  int               // how often a table was asked for with the header that asks for credentials
	silent bool              // gives nothing
}

func newVendor(t *testing.T, backend *url.URL) *vendor {
	t.Helper()
	v := &vendor{users: map[string]string{}, gives: map[string]objectstest.Keys{}}
	proxy := httputil.NewSingleHostReverseProxy(backend)
	proxy.ModifyResponse = v.vend
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		v.mu.Lock()
		user, ok := v.users[token]
		if r.Header.Get("X-Iceberg-Access-Delegation") == "vended-credentials" {
			v.asked++
		}
		v.mu.Unlock()
		if !ok {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		r.Header.Set("X-User", user)
		r.Header.Del("Accept-Encoding")
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(v.Close)
	return v
}

// vend adds credentials to a table's answer.
func (v *vendor) vend(resp *http.Response) error {
	if resp.StatusCode != http.StatusOK || !strings.Contains(resp.Request.URL.Path, "/tables/") {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var answer map[string]any
	if err := json.Unmarshal(body, &answer); err != nil {
		return err
	}
	if keys, ok := v.gives[resp.Request.Header.Get("X-User")]; ok && !v.silent {
		config := map[string]string{"s3.access-key-id": keys.ID, "s3.secret-access-key": keys.Secret}
		if !v.ends.IsZero() {
			config["s3.session-token-expires-at-ms"] = fmt.Sprint(v.ends.UnixMilli())
		}
		for k, x := range v.extra {
			config[k] = x
		}
		answer["storage-credentials"] = []any{map[string]any{"prefix": "s3://" + objectstest.Bucket + "/warehouse/", "config": config}}
	}
	if body, err = json.Marshal(answer); err != nil {
		return err
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Set("Content-Length", fmt.Sprint(len(body)))
	return nil
}

func (v *vendor) change(f func(*vendor)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f(v)
}

// stores is a gateway over tables in an object store: the catalog "lake" is a database and reads with the operator's keys, "rest" is a REST catalog
// that vends.
type stores struct {
	s3     *objectstest.Server
	vendor *vendor
	server *server
	issuer *authtest.Issuer
	key    authtest.SigningKey
	dir    string
	tokens map[string]string
	said   strings.Builder // all that clients got
}

// newStores starts a server over the tables, with what options returns on its command line.
func newStores(t *testing.T, options func(s *stores) []string) *stores {
	t.Helper()
	s := &stores{s3: objectstest.Start(t), key: authtest.NewKey(t, "k1", "ES256"), dir: t.TempDir(), tokens: map[string]string{}}
	database := catalogtest.Stored(t, s.s3)
	misplaced(t, database, map[string]string{"google": "gs://lake/warehouse/a.metadata.json", "azure": "abfss://lake@x.dfs.core.windows.net/a.metadata.json", "outside": "s3://lake/other/a.metadata.json"})
	warehouse := "s3://" + objectstest.Bucket + "/warehouse"
	s.vendor = newVendor(t, catalogtest.StartREST(t, database, "lake", warehouse, "io-impl=org.apache.iceberg.aws.s3.S3FileIO", "client.region=us-east-1",
		"s3.endpoint="+s.s3.ForWriters(t), "s3.path-style-access=true", "s3.access-key-id="+s.s3.Owner.ID, "s3.secret-access-key="+s.s3.Owner.Secret))
	s.issuer = authtest.NewIssuer(t, s.key)
	for _, user := range []string{"admin", "alice", "bob"} {
		s.tokens[user] = authtest.Sign(t, s.key, s.issuer.Standard(user))
		s.vendor.users[s.tokens[user]] = user
		s.vendor.gives[user] = s.s3.Reader
	}
	s.vendor.gives["bob"] = s.s3.Stranger
	for name, text := range map[string]string{
		"policy/trino.rego": storePolicy, "store.key": s.s3.Reader.Secret + "\n",
		"gatehouse.yaml": fmt.Sprintf(`listen: {flight: "127.0.0.1:0", http: "off"}
auth: {oidc: [{issuer: %q, audience: [gatehouse]}]}
catalogs:
  lake: {type: sql, uri: %q, roots: [%q], s3: {endpoint: %q, path_style: true, access_key_id: %s, secret_access_key_file: store.key}}
  rest: {type: rest, uri: %q, roots: [%q], s3: {endpoint: %q, path_style: true}}
policy: {dir: policy, lenient: true}
session: {catalog: lake, schema: shop}
`, s.issuer.URL, database, warehouse, s.s3.Endpoint, s.s3.Reader.ID, s.vendor.URL, warehouse, s.s3.Endpoint),
	} {
		path := filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.server = start(t, "Gatehouse serves", append([]string{"serve", "--config", filepath.Join(s.dir, "gatehouse.yaml")}, options(s)...)...)
	t.Cleanup(func() {
		if code := s.server.end(t); code != exitOK {
			t.Errorf("serve ended with %d", code)
		}
		if t.Failed() {
			t.Log(s.server.errs.String())
		}
	})
	return s
}

// misplaced adds tables to a catalog, by the locations of their metadata.
func misplaced(t *testing.T, database string, tables map[string]string) {
	t.Helper()
	db, err := sql.Open("sqlite", database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, location := range tables {
		_, err := db.Exec("INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location) VALUES ('lake', 'shop', ?, ?)", name, location)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// ask returns rows as CSV without a header, or "ERROR: …".
func (s *stores) ask(t *testing.T, user, sql string) string {
	t.Helper()
	code, out, errs := invoke(t, map[string]string{"GATEHOUSE_TOKEN": s.tokens[user]}, "sql", "--url", "grpc://"+s.server.flight, "--format", "csv", "-c", sql)
	s.said.WriteString(out + errs)
	if code != exitOK {
		return strings.TrimSpace(errs)
	}
	_, rows, _ := strings.Cut(out, "\n")
	return strings.TrimSpace(rows)
}

// Tables that PyIceberg wrote into a bucket, under a policy, by the operator's keys and by those that a catalog gives each user.
func TestStores(t *testing.T) {
	s := newStores(t, func(*stores) []string { return nil })
	s.answers(t)
	if s.vendor.asked == 0 {
		t.Error("the catalog was never asked for credentials")
	}
	for table, why := range map[string]string{
		"google": "its files lie in Google Cloud Storage, which is not read here", "azure": "its files lie in Azure storage, which is not read here",
		"outside": "a file lies where files may not be read",
	} {
		if got, want := s.ask(t, "admin", "SELECT * FROM lake.shop."+table), `ERROR: table "lake.shop.`+table+`" cannot be read: `+why; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	t.Run("refused", s.refused)
	t.Run("what the catalog says", s.misled)
	t.Run("no secrets", s.silence)
}

// answers: the same rows by both catalogs' keys.
func (s *stores) answers(t *testing.T) {
	t.Helper()
	for _, c := range []struct{ user, sql, want string }{
		{"admin", "SELECT count(*), min(id), max(id), count(credit) FROM %s.shop.customers", "80,1,80,40"},
		{"alice", "SELECT count(*), min(id), max(id), count(credit) FROM %s.shop.customers", "20,4,80,10"},
		{"admin", "SELECT full_name, region, tax_id, credit FROM %s.shop.customers WHERE id IN (2, 43) ORDER BY id", "customer 2,n/a,000000002,\ncustomer 43,a b+c,000000043,21.5"},
		{"alice", "SELECT full_name, region, tax_id, credit FROM %s.shop.customers WHERE id IN (2, 44) ORDER BY id", "customer 44,EU,***44,22"},
		{"admin", "SELECT count(*), sum(amount) FROM %s.shop.orders", "18000,45000000"},
		{"admin", "SELECT id FROM %s.shop.orders WHERE id BETWEEN 9 AND 21 ORDER BY id", "9\n11\n12\n13\n14\n15\n16\n17\n18\n19\n21"},
		{"alice", "SELECT count(*), sum(o.amount) FROM %[1]s.shop.orders o JOIN %[1]s.shop.customers c ON c.id = o.customer", "5000,12501250"},
		{"admin", "SELECT count(*) FROM %s.shop.empty", "0"},
	} {
		for _, catalog := range []string{"lake", "rest"} {
			sql := fmt.Sprintf(c.sql, catalog)
			if got := s.ask(t, c.user, sql); got != c.want {
				t.Errorf("%s: %s\n%s\nwant\n%s", c.user, sql, got, c.want)
			}
		}
	}
}

// refused: bob may read the same tables by policy, and his keys may not read the bucket. He gets that refusal and nothing that others' keys
// brought in, also of the manifests, the footers and the columns that were read for them before.
func (s *stores) refused(t *testing.T) {
	const refusal = "ERROR: the object store does not let the caller read the table's files"
	for _, table := range []string{"customers", "orders"} {
		for range 2 {
			if got := s.ask(t, "bob", "SELECT count(*) FROM rest.shop."+table); !strings.HasPrefix(got, refusal) {
				t.Errorf("bob: %s", got)
			}
		}
		if got := s.ask(t, "bob", "EXPLAIN SELECT * FROM rest.shop."+table); !strings.HasPrefix(got, refusal) {
			t.Errorf("bob explains: %s", got)
		}
	}
	if got := s.ask(t, "bob", "SELECT count(*) FROM lake.shop.customers"); got != "80" {
		t.Errorf("bob with the operator's keys: %s", got)
	}
	s.vendor.change(func(v *vendor) { v.gives["bob"] = v.gives["admin"] })
	if got := s.ask(t, "bob", "SELECT count(*) FROM rest.shop.customers"); got != "80" {
		t.Errorf("bob with keys that may: %s", got)
	}
	s.vendor.change(func(v *vendor) { v.gives["bob"] = s.s3.Stranger })
	if got := s.ask(t, "bob", "SELECT max(tax_id) FROM rest.shop.customers"); !strings.HasPrefix(got, refusal) {
		t.Errorf("bob without them, of columns that were not read before: %s", got)
	}
}

// misled: what a catalog may say of a store, and what it may not.
func (s *stores) misled(t *testing.T) {
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("a request went elsewhere: %s %s", r.Method, r.URL)
		w.WriteHeader(http.StatusForbidden)
	}))
	defer listener.Close()
	const sql = "SELECT count(*) FROM rest.shop.customers"
	const unreadable = `ERROR: table "rest.shop.customers" cannot be read: `
	past, future := time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
	for _, c := range []struct {
		name   string
		change func(*vendor)
		want   string
	}{
		{"the same endpoint", func(v *vendor) {
			v.extra = map[string]string{"s3.endpoint": s.s3.Endpoint + "/", "s3.region": "us-east-1"}
		}, "80"},
		{"another endpoint", func(v *vendor) { v.extra = map[string]string{"s3.endpoint": listener.URL} }, unreadable},
		{"another region's signature", func(v *vendor) { v.extra = map[string]string{"client.region": "eu-central-1"} }, "ERROR: the object store does not let"},
		{"a region that is a host", func(v *vendor) { v.extra = map[string]string{"client.region": "x.example.com/"} }, unreadable},
		{"a proxy", func(v *vendor) {
			v.extra = map[string]string{"s3.proxy-uri": listener.URL, "s3.signer.uri": listener.URL}
		}, "80"},
		{"remote signing", func(v *vendor) { v.extra = map[string]string{"s3.remote-signing-enabled": "true"} }, unreadable},
		{"no credentials", func(v *vendor) { v.silent = true }, unreadable},
		{"credentials that last", func(v *vendor) { v.ends = future }, "80"},
		{"credentials that have ended", func(v *vendor) { v.ends = past }, "ERROR: the credentials for the table's files have ended; run the statement again"},
		{"an end that is none", func(v *vendor) { v.extra = map[string]string{"s3.session-token-expires-at-ms": "soon"} }, unreadable},
	} {
		s.vendor.change(func(v *vendor) { v.extra, v.silent, v.ends = nil, false, time.Time{}; c.change(v) })
		for _, user := range []string{"admin", "alice"} {
			want := c.want
			if want == "80" && user == "alice" {
				want = "20"
			}
			if got := s.ask(t, user, sql); got != want && (!strings.HasPrefix(want, "ERROR") || !strings.HasPrefix(got, want)) {
				t.Errorf("%s, %s: %s, want %s", c.name, user, got, want)
			}
		}
	}
	s.vendor.change(func(v *vendor) { v.extra, v.silent, v.ends = nil, false, time.Time{} })
}

// silence: no secret and no signature is in what clients, the log and the audit log got.
func (s *stores) silence(t *testing.T) {
	log, err := os.ReadFile(filepath.Join(s.dir, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(log, []byte("executor_refused")) || s.said.Len() == 0 {
		t.Error("there is nothing to look at")
	}
	for name, text := range map[string]string{"the audit log": string(log), "the log": s.server.errs.String(), "a client's answer": s.said.String()} {
		for _, secret := range []string{s.s3.Owner.Secret, s.s3.Reader.Secret, s.s3.Stranger.Secret, "X-Amz-", "Signature=", "AWS4-HMAC", s.tokens["bob"]} {
			if strings.Contains(text, secret) {
				t.Errorf("%s has %q", name, secret)
			}
		}
		for _, location := range []string{"/warehouse/", "NoSuchKey", "AccessDenied"} {
			if name != "the log" && strings.Contains(text, location) {
				t.Errorf("%s has %q", name, location)
			}
		}
	}
}
