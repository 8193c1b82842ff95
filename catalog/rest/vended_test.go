package rest_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gatehouse/catalog"
	"gatehouse/catalog/catalogtest"
	"gatehouse/catalog/rest"
	"gatehouse/objects"
	"gatehouse/objects/objectstest"
	"gatehouse/objects/s3"
)

// vending checks what is made of the credentials in a table's answer.
func vending(t *testing.T, d *door) {
	server := objectstest.Start(t)
	server.Put(t, "warehouse/a/x", []byte("x"))
	server.Put(t, "warehouse/b/x", []byte("x"))
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("a request went elsewhere: %s", r.URL)
	}))
	defer elsewhere.Close()
	cat, err := rest.New(rest.Config{
		Name: "zoo", URI: d.URL, Roots: []string{catalogtest.Zoo(t), "s3://lake/warehouse"},
		S3: &s3.Config{Endpoint: server.Endpoint, PathStyle: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer cat.Close()
	keys := func(k objectstest.Keys, more ...string) map[string]string {
		out := map[string]string{"s3.access-key-id": k.ID, "s3.secret-access-key": k.Secret}
		for i := 0; i+1 < len(more); i += 2 {
			out[more[i]] = more[i+1]
		}
		return out
	}
	type object = map[string]any
	credential := func(prefix string, config map[string]string) object {
		return object{"prefix": prefix, "config": config}
	}
	wrong := server.Reader
	wrong.Secret = "another"
	const a, b = "s3://lake/warehouse/a/x", "s3://lake/warehouse/b/x"
	for _, c := range []struct {
		name   string
		answer object // merged into alice's
		load   error
		a, b   error
	}{
		{"none", object{}, nil, catalog.ErrNoCredentials, catalog.ErrNoCredentials},
		{"for all", object{"storage-credentials": []any{credential("s3://lake/", keys(server.Reader))}}, nil, nil, nil},
		{"for a", object{"storage-credentials": []any{credential("s3://lake/warehouse/a", keys(server.Reader))}}, nil, nil, catalog.ErrNoCredentials},
		{"the longest prefix", object{"storage-credentials": []any{credential("s3", keys(wrong)), credential("s3://lake/warehouse/a/", keys(server.Reader))}}, nil, nil, objects.ErrRefused},
		{"the longest prefix, other order", object{"storage-credentials": []any{credential("s3://lake/warehouse/a/", keys(wrong)), credential("s3", keys(server.Reader))}}, nil, objects.ErrRefused, nil},
		{"beside those of another store", object{"storage-credentials": []any{credential("gs://x", map[string]string{"gcs.oauth2.token": "t"}), credential("s3", keys(server.Reader))}}, nil, nil, nil},
		{"of another store", object{"storage-credentials": []any{credential("abfss://x", keys(server.Reader))}}, nil, catalog.ErrNoCredentials, catalog.ErrNoCredentials},
		{"in the older place", object{"config": keys(server.Reader)}, nil, nil, nil},
		{"in both places", object{"config": keys(wrong), "storage-credentials": []any{credential("s3", keys(server.Reader))}}, nil, nil, nil},
		{"half of them", object{"config": map[string]string{"s3.access-key-id": "x"}}, catalog.ErrStore, nil, nil},
		{"remote signing", object{"config": map[string]string{"s3.remote-signing-enabled": "true"}}, catalog.ErrStore, nil, nil},
		{"remote signing beside keys", object{"config": keys(server.Reader, "s3.remote-signing-enabled", "true")}, catalog.ErrStore, nil, nil},
		{"no remote signing", object{"config": keys(server.Reader, "s3.remote-signing-enabled", "false")}, nil, nil, nil},
		{"another endpoint", object{"config": keys(server.Reader, "s3.endpoint", elsewhere.URL)}, catalog.ErrStore, nil, nil},
		{"an endpoint with a path", object{"config": keys(server.Reader, "s3.endpoint", server.Endpoint+"/x")}, catalog.ErrStore, nil, nil},
		{"an endpoint with a user", object{"config": keys(server.Reader, "s3.endpoint", strings.Replace(server.Endpoint, "://", "://u@", 1))}, catalog.ErrStore, nil, nil},
		{"the endpoint, spelt otherwise", object{"config": keys(server.Reader, "s3.endpoint", strings.ToUpper(server.Endpoint)+"/")}, nil, nil, nil},
		{"a region", object{"config": keys(server.Reader, "s3.region", "us-east-1")}, nil, nil, nil},
		{"two regions", object{"config": keys(server.Reader, "s3.region", "us-east-1", "client.region", "eu-central-1")}, catalog.ErrStore, nil, nil},
		{"properties of the table", object{"metadata": object{"properties": keys(server.Reader, "s3.endpoint", elsewhere.URL)}}, nil, catalog.ErrNoCredentials, catalog.ErrNoCredentials},
		{"properties of the table beside keys", object{
			"metadata": object{"properties": keys(wrong, "s3.endpoint", elsewhere.URL, "s3.proxy-uri", elsewhere.URL, "s3.remote-signing-enabled", "true", "client.region", "x")},
			"config":   keys(server.Reader),
		}, nil, nil, nil},
		{"a prefix that is none", object{"storage-credentials": []any{credential("s3://lake/../x", keys(server.Reader))}}, catalog.ErrUnreadable, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := false
			d.change = func(u string, r *http.Request, body []byte) []byte {
				if !strings.HasSuffix(r.URL.Path, "/tables/orders") {
					return body
				}
				asked = r.Header.Get("X-Iceberg-Access-Delegation") == "vended-credentials"
				if u != "alice" {
					return body
				}
				return merged(t, body, c.answer)
			}
			tbl, err := cat.Table(t.Context(), user("alice"), "spark", "orders")
			if !errors.Is(err, c.load) || c.load == nil && err != nil || !asked {
				t.Fatalf("%v, want %v; asked for credentials: %v", err, c.load, asked)
			}
			if err != nil {
				if strings.Contains(err.Error(), server.Reader.Secret) || strings.Contains(err.Error(), elsewhere.URL) {
					t.Errorf("the catalog's words: %v", err)
				}
				return
			}
			for location, want := range map[string]error{a: c.a, b: c.b} {
				if _, err := tbl.Files.ReadFile(t.Context(), location); !errors.Is(err, want) || want == nil && err != nil {
					t.Errorf("%s: %v, want %v", location, err, want)
				}
			}
			bob, err := cat.Table(t.Context(), user("bob"), "spark", "orders")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := bob.Files.ReadFile(t.Context(), a); !errors.Is(err, catalog.ErrNoCredentials) {
				t.Errorf("bob, after alice: %v", err)
			}
			if bob.Files.Scope() == tbl.Files.Scope() || !strings.Contains(tbl.Files.Scope(), "alice") {
				t.Errorf("scopes %q and %q", tbl.Files.Scope(), bob.Files.Scope())
			}
		})
	}
	d.change = nil
}

// merged puts more into a JSON object, at any depth.
func merged(t *testing.T, body []byte, more map[string]any) []byte {
	t.Helper()
	var answer map[string]any
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Error(err)
	}
	var merge func(into, from map[string]any)
	merge = func(into, from map[string]any) {
		for k, v := range from {
			if deeper, ok := v.(map[string]any); ok {
				if old, ok := into[k].(map[string]any); ok {
					merge(old, deeper)
					continue
				}
			}
			into[k] = v
		}
	}
	merge(answer, more)
	out, err := json.Marshal(answer)
	if err != nil {
		t.Error(err)
	}
	return out
}

// A catalog that is not to vend is not asked for credentials, and those that it gives are not used.
func unasked(t *testing.T, d *door) {
	server := objectstest.Start(t)
	server.Put(t, "warehouse/x", []byte("x"))
	transport := s3.NewTransport(nil)
	defer transport.CloseIdleConnections()
	cfg := server.Config(server.Stranger, "operator")
	cfg.Transport = transport
	store, err := s3.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	cat, err := rest.New(rest.Config{Name: "zoo", URI: d.URL, Roots: []string{"s3://lake/warehouse"}, Objects: store})
	if err != nil {
		t.Fatal(err)
	}
	defer cat.Close()
	d.change = func(_ string, r *http.Request, body []byte) []byte {
		if r.Header.Get("X-Iceberg-Access-Delegation") != "" {
			t.Errorf("asked for credentials: %s", r.URL)
		}
		if !strings.HasSuffix(r.URL.Path, "/tables/orders") {
			return body
		}
		return merged(t, body, map[string]any{"config": map[string]string{"s3.access-key-id": server.Reader.ID, "s3.secret-access-key": server.Reader.Secret}})
	}
	defer func() { d.change = nil }()
	for _, name := range []string{"alice", "bob"} {
		tbl, err := cat.Table(t.Context(), user(name), "spark", "orders")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tbl.Files.ReadFile(t.Context(), "s3://lake/warehouse/x"); !errors.Is(err, objects.ErrRefused) || tbl.Files.Scope() != "operator" {
			t.Errorf("%s: %v, %s", name, err, tbl.Files.Scope())
		}
	}
}

// What belongs together is set together.
func TestStoresOfConfig(t *testing.T) {
	store, err := s3.New(s3.Config{Region: "eu-central-1", KeyID: "x", Secret: user("x").Token, Scope: "x"})
	if err != nil {
		t.Fatal(err)
	}
	place := &s3.Config{Region: "eu-central-1"}
	for name, c := range map[string]struct {
		cfg rest.Config
		ok  bool
	}{
		"vended":              {rest.Config{Roots: []string{"s3://lake"}, S3: place}, true},
		"keys":                {rest.Config{Roots: []string{"s3://lake"}, Objects: store}, true},
		"a root alone":        {rest.Config{Roots: []string{"s3://lake"}}, false},
		"a store alone":       {rest.Config{Objects: store}, false},
		"a place alone":       {rest.Config{S3: place}, false},
		"both":                {rest.Config{Roots: []string{"s3://lake"}, S3: place, Objects: store}, false},
		"no place at all":     {rest.Config{Roots: []string{"s3://lake"}, S3: &s3.Config{}}, false},
		"a root that is none": {rest.Config{Roots: []string{"gs://lake"}, S3: place}, false},
	} {
		c.cfg.Name, c.cfg.URI = "x", "https://catalog.example.com"
		cat, err := rest.New(c.cfg)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			_ = cat.Close()
		}
	}
}
