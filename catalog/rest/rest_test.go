package rest_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatehouse/auth"
	"gatehouse/catalog"
	"gatehouse/catalog/catalogtest"
	"gatehouse/catalog/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func user(name string) auth.Identity {
	id := auth.Identity{Issuer: "test", Subject: name, User: name}
	if name != "" {
		id.Token = auth.NewSecret("token-of-" + name)
	}
	return id
}

func open(t *testing.T, c rest.Config) *rest.Catalog {
	t.Helper()
	c.Name, c.Roots = "zoo", []string{catalogtest.Zoo(t)}
	cat, err := rest.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cat.Close() })
	return cat
}

// TestServer runs everything against Iceberg's own server behind a door that checks tokens.
func TestServer(t *testing.T) {
	d := newDoor(t, startServer(t))
	fresh := func(t *testing.T) *rest.Catalog {
		d.refuse, d.change = nil, nil
		d.users()
		return open(t, rest.Config{URI: d.URL})
	}
	t.Run("contract", func(t *testing.T) {
		catalogtest.Run(t, catalogtest.Fixture{Catalog: fresh(t), Alice: user("alice"), Stranger: user("mallory")})
	})
	t.Run("each caller's own token", func(t *testing.T) {
		c := fresh(t)
		for _, name := range []string{"alice", "bob", "alice"} {
			if _, err := c.Table(t.Context(), user(name), "spark", "orders"); err != nil {
				t.Fatal(err)
			}
			if seen := d.users(); len(seen) != 1 || !seen[name] {
				t.Errorf("%s asked, the server saw %v", name, seen)
			}
		}
	})
	t.Run("no token", func(t *testing.T) {
		c := fresh(t)
		bare := auth.Identity{Issuer: "test", Subject: "carol", User: "carol"}
		if _, err := c.Table(t.Context(), bare, "spark", "orders"); !errors.Is(err, catalog.ErrRefused) {
			t.Errorf("got %v, want ErrRefused", err)
		}
		if seen := d.users(); len(seen) != 0 {
			t.Errorf("the server was asked by %v", seen)
		}
		with := open(t, rest.Config{URI: d.URL, ServiceToken: auth.NewSecret("token-of-gateway")})
		if _, err := with.Table(t.Context(), bare, "spark", "orders"); err != nil {
			t.Error(err)
		}
		if seen := d.users(); !seen["gateway"] || len(seen) != 1 {
			t.Errorf("with a service token the server saw %v", seen)
		}
		if _, err := with.Table(t.Context(), user("alice"), "spark", "orders"); err != nil {
			t.Error(err)
		}
		if seen := d.users(); !seen["alice"] || len(seen) != 1 {
			t.Errorf("alice has a token of her own, the server saw %v", seen)
		}
	})
	t.Run("one caller's rights are not another's", func(t *testing.T) {
		c := fresh(t)
		d.refuse = func(u string, r *http.Request) int {
			if u == "bob" && strings.HasSuffix(r.URL.Path, "/tables/orders") {
				return http.StatusForbidden
			}
			return 0
		}
		if _, err := c.Table(t.Context(), user("alice"), "spark", "orders"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Table(t.Context(), user("bob"), "spark", "orders"); !errors.Is(err, catalog.ErrNoSuchTable) {
			t.Errorf("bob: got %v, want ErrNoSuchTable", err)
		}
	})
	t.Run("a right taken away ends at once", func(t *testing.T) {
		c := fresh(t)
		if _, err := c.Table(t.Context(), user("alice"), "spark", "orders"); err != nil {
			t.Fatal(err)
		}
		d.refuse = func(_ string, r *http.Request) int {
			if strings.HasSuffix(r.URL.Path, "/tables/orders") {
				return http.StatusUnauthorized
			}
			return 0
		}
		if _, err := c.Table(t.Context(), user("alice"), "spark", "orders"); !errors.Is(err, catalog.ErrRefused) {
			t.Errorf("got %v, want ErrRefused", err)
		}
	})
	t.Run("statuses", func(t *testing.T) {
		for code, want := range map[int]error{
			400: catalog.ErrUnavailable, 401: catalog.ErrRefused, 403: catalog.ErrNoSuchTable, 404: catalog.ErrNoSuchTable,
			419: catalog.ErrRefused, 429: catalog.ErrUnavailable, 500: catalog.ErrUnavailable, 503: catalog.ErrUnavailable,
		} {
			c := fresh(t)
			d.refuse = func(_ string, r *http.Request) int {
				if strings.HasSuffix(r.URL.Path, "/tables/orders") {
					return code
				}
				return 0
			}
			if _, err := c.Table(t.Context(), user("alice"), "spark", "orders"); !errors.Is(err, want) {
				t.Errorf("status %d: got %v, want %v", code, err, want)
			}
		}
	})
	t.Run("what cannot be listed does not exist", func(t *testing.T) {
		c := fresh(t)
		d.refuse = func(_ string, r *http.Request) int {
			if strings.HasSuffix(r.URL.Path, "/spark/tables") {
				return http.StatusForbidden
			}
			return 0
		}
		if _, err := c.Table(t.Context(), user("alice"), "spark", "orders"); !errors.Is(err, catalog.ErrNoSuchTable) {
			t.Errorf("got %v, want ErrNoSuchTable", err)
		}
		if _, err := c.Table(t.Context(), user("alice"), "py", "partitioned"); err != nil {
			t.Errorf("what can be listed: %v", err)
		}
	})
	t.Run("restrictions", func(t *testing.T) { extras(t, d, fresh) })
	t.Run("vended credentials", func(t *testing.T) { fresh(t); vending(t, d) })
	t.Run("credentials that nobody asked for", func(t *testing.T) { fresh(t); unasked(t, d) })
	t.Run("a server's configuration", func(t *testing.T) {
		c := fresh(t)
		d.change = func(_ string, r *http.Request, body []byte) []byte {
			if !strings.HasSuffix(r.URL.Path, "/config") {
				return body
			}
			return []byte(`{"defaults":{"header.X-Evil":"1"},"overrides":{"uri":"http://127.0.0.1:1/","token":"t","rest.sigv4-enabled":"true",
				"credential":"a:b","header.Authorization":"Bearer token-of-bob"}}`)
		}
		if _, err := c.Table(t.Context(), user("alice"), "spark", "orders"); err != nil {
			t.Error(err)
		}
		if seen := d.users(); len(seen) != 1 || !seen["alice"] {
			t.Errorf("the server saw %v", seen)
		}
	})
}

// extras checks what the client library would drop.
func extras(t *testing.T, d *door, fresh func(*testing.T) *rest.Catalog) {
	add := func(text string) {
		d.change = func(u string, r *http.Request, body []byte) []byte {
			if u != "alice" || !strings.HasSuffix(r.URL.Path, "/tables/orders") {
				return body
			}
			return append([]byte("{"+text+","), bytes.TrimLeft(bytes.TrimSpace(body), "{")...)
		}
	}
	for _, x := range []struct{ text, want string }{
		{`"read-restrictions":{"required-row-filter":true}`, `{"required-row-filter":true}`},
		{`"read-restrictions":["?"]`, `["?"]`},
		{`"read-restrictions":{}`, ""},
		{`"read-restrictions":null`, ""},
		{`"other":1`, ""},
	} {
		c := fresh(t)
		add(x.text)
		tbl, err := c.Table(t.Context(), user("alice"), "spark", "orders")
		if err != nil {
			t.Fatal(err)
		}
		if string(tbl.Restrictions) != x.want {
			t.Errorf("%s: got %q", x.text, tbl.Restrictions)
		}
		if bob, err := c.Table(t.Context(), user("bob"), "spark", "orders"); err != nil || bob.Restrictions != nil {
			t.Errorf("%s: bob got %q, %v", x.text, bob.Restrictions, err)
		}
	}
	c := fresh(t)
	add(`"config":{"scan-planning-mode":"server"}`)
	d.change = func(old func(string, *http.Request, []byte) []byte) func(string, *http.Request, []byte) []byte {
		return func(u string, r *http.Request, body []byte) []byte {
			return old(u, r, bytes.Replace(body, []byte(`"config":`), []byte(`"old":`), 1))
		}
	}(d.change)
	if _, err := c.Table(t.Context(), user("alice"), "spark", "orders"); !errors.Is(err, catalog.ErrUnreadable) {
		t.Errorf("a server that plans itself: %v", err)
	}
}

// A token goes to the configured host only.
func TestRedirect(t *testing.T) {
	got := make(chan string, 10)
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header.Get("Authorization") }))
	defer thief.Close()
	s := httptest.NewServer(http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect))
	defer s.Close()
	c := open(t, rest.Config{URI: s.URL})
	if _, err := c.Table(t.Context(), user("alice"), "a", "b"); !errors.Is(err, catalog.ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
	if len(got) != 0 {
		t.Errorf("the other host was asked with %q", <-got)
	}
}

// Answers are bounded in size and in time.
func TestBounds(t *testing.T) {
	stop := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer token-of-bob" {
			<-stop
			return
		}
		// An empty catalog, were it not for the size.
		_, _ = w.Write([]byte(`{"defaults":{},"overrides":{},"namespaces":[],"pad":"` + strings.Repeat(" ", 4096) + `"}`))
	}))
	defer s.Close()
	defer close(stop)
	c := open(t, rest.Config{URI: s.URL, MaxBytes: 1000, Timeout: 50 * time.Millisecond})
	for _, name := range []string{"alice", "bob"} {
		if _, err := c.Table(t.Context(), user(name), "a", "b"); !errors.Is(err, catalog.ErrUnavailable) {
			t.Errorf("%s: got %v, want ErrUnavailable", name, err)
		}
	}
}

func TestConfig(t *testing.T) {
	for name, c := range map[string]rest.Config{
		"no name":        {URI: "https://x"},
		"no address":     {Name: "x"},
		"plain http":     {Name: "x", URI: "http://catalog.example.com"},
		"password":       {Name: "x", URI: "https://a:b@x"},
		"missing folder": {Name: "x", URI: "https://x", Roots: []string{"/no/such/folder"}},
		"negative":       {Name: "x", URI: "https://x", Timeout: -1},
	} {
		if _, err := rest.New(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for _, uri := range []string{"https://catalog.example.com/api", "http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1"} {
		if _, err := rest.New(rest.Config{Name: "x", URI: uri}); err != nil {
			t.Errorf("%s: %v", uri, err)
		}
	}
}
