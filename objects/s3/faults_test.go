package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gatehouse/auth"
	"gatehouse/objects"
	"gatehouse/objects/objectstest"
	"gatehouse/objects/s3"
)

const secret = "the-secret-key-0f3a"

// broken starts a server that answers as no good store does, and opens it.
func broken(t *testing.T, h http.HandlerFunc) *s3.Store {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return open(t, s3.Config{Endpoint: server.URL, PathStyle: true, KeyID: "KEY", Secret: auth.NewSecret(secret), Session: auth.NewSecret("the-session-token"), Scope: "x"})
}

var object = objects.Object{Location: "s3://lake/a/b", Size: -1}

// piece answers with bytes of an object of 100 bytes, as asked for.
func piece(w http.ResponseWriter, r *http.Request) {
	var from, to int
	_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to)
	w.Header().Set("ETag", `"t"`)
	w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/100", from, to))
	w.WriteHeader(http.StatusPartialContent)
	_, _ = w.Write(bytes.Repeat([]byte("x"), to-from+1))
}

// What a store does wrong is an error of the right kind, and never bytes.
func TestFaults(t *testing.T) {
	code := func(status int, code string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			fmt.Fprintf(w, "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>words of %s</Message></Error>", code, r.Header.Get("Authorization"))
		}
	}
	header := func(change func(http.Header)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			rec := httptest.NewRecorder()
			piece(rec, r)
			change(rec.Header())
			for k, v := range rec.Header() {
				w.Header()[k] = v
			}
			w.WriteHeader(rec.Code)
			_, _ = w.Write(rec.Body.Bytes())
		}
	}
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		want   error
		calls  int32
	}{
		{"the control", piece, nil, 1},
		{"access denied", code(403, "AccessDenied"), objects.ErrRefused, 1},
		{"unauthorized", code(401, ""), objects.ErrRefused, 1},
		{"expired", code(400, "ExpiredToken"), objects.ErrExpired, 1},
		{"expired, otherwise", code(403, "ExpiredToken"), objects.ErrExpired, 1},
		{"another region", code(400, "AuthorizationHeaderMalformed"), objects.ErrRefused, 1},
		{"moved", code(301, "PermanentRedirect"), objects.ErrRefused, 1},
		{"no such key", code(404, "NoSuchKey"), objects.ErrNotFound, 1},
		{"no such bucket", code(404, "NoSuchBucket"), objects.ErrNotFound, 1},
		{"precondition", code(412, "PreconditionFailed"), objects.ErrChanged, 1},
		{"range", code(416, "InvalidRange"), objects.ErrChanged, 1},
		{"bad request", code(400, "InvalidArgument"), objects.ErrUnavailable, 1},
		{"slow down", code(503, "SlowDown"), objects.ErrUnavailable, 4},
		{"internal", code(500, "InternalError"), objects.ErrUnavailable, 4},
		{"bad gateway, without words", code(502, ""), objects.ErrUnavailable, 4},
		{"too many", code(429, ""), objects.ErrUnavailable, 4},
		{"no tag", header(func(h http.Header) { h.Del("ETag") }), objects.ErrUnavailable, 1},
		{"no range", header(func(h http.Header) { h.Del("Content-Range") }), objects.ErrUnavailable, 1},
		{"another range", header(func(h http.Header) { h.Set("Content-Range", "bytes 0-9/100") }), objects.ErrUnavailable, 1},
		{"a strange range", header(func(h http.Header) { h.Set("Content-Range", "bytes x-y/z") }), objects.ErrUnavailable, 1},
		{"a short object", header(func(h http.Header) { h.Set("Content-Range", "bytes 5-14/12") }), objects.ErrChanged, 1},
		{"the whole object", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"t"`)
			_, _ = w.Write(make([]byte, 100))
		}, objects.ErrUnavailable, 1},
		{"cut short", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"t"`)
			w.Header().Set("Content-Range", "bytes 5-14/100")
			w.Header().Set("Content-Length", "10")
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write([]byte("abc"))
		}, objects.ErrUnavailable, 4},
		{"hung up", func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_ = conn.Close()
			}
		}, objects.ErrUnavailable, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			store := broken(t, func(w http.ResponseWriter, r *http.Request) { calls.Add(1); c.answer(w, r) })
			_, err := store.Read(t.Context(), object, make([]byte, 10), 5)
			if !errors.Is(err, c.want) || c.want == nil && err != nil || calls.Load() != c.calls {
				t.Errorf("%v after %d calls, want %v after %d", err, calls.Load(), c.want, c.calls)
			}
			if err != nil {
				for _, never := range []string{secret, "the-session-token", "AWS4", "Signature", "words"} {
					if strings.Contains(err.Error(), never) {
						t.Errorf("%q is in %v", never, err)
					}
				}
			}
		})
	}
}

// A store that does not heed If-Match changes nothing.
func TestAnotherTag(t *testing.T) {
	store := broken(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") != "" {
			piece(w, r)
			return
		}
		w.Header().Set("ETag", `"t"`)
		_, _ = w.Write(make([]byte, 100))
	})
	for _, o := range []objects.Object{{Location: object.Location, Size: -1, Tag: `"other"`}, {Location: object.Location, Size: 99}, {Location: object.Location, Size: 99, Tag: `"t"`}} {
		_, some := store.Read(t.Context(), o, make([]byte, 10), 5)
		_, none := store.Read(t.Context(), o, nil, 0)
		_, all := store.ReadAll(t.Context(), o, 1000)
		for _, err := range []error{some, none, all} {
			if !errors.Is(err, objects.ErrChanged) {
				t.Errorf("%+v: %v", o, err)
			}
		}
	}
	if _, err := store.Read(t.Context(), objects.Object{Location: object.Location, Size: 100, Tag: `"t"`}, make([]byte, 10), 5); err != nil {
		t.Errorf("the control: %v", err)
	}
}

// A store that was busy for a moment costs no error.
func TestRetry(t *testing.T) {
	var calls atomic.Int32
	store := broken(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		piece(w, r)
	})
	if o, err := store.Read(t.Context(), object, make([]byte, 10), 5); err != nil || o.Size != 100 {
		t.Errorf("%+v, %v", o, err)
	}
}

// What a header of an error's code could carry out of a request is not kept.
func TestCode(t *testing.T) {
	store := broken(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", r.Header.Get("X-Amz-Security-Token"))
	})
	_, err := store.Read(t.Context(), object, make([]byte, 10), 5)
	if !errors.Is(err, objects.ErrRefused) || strings.Contains(err.Error(), "token") {
		t.Error(err)
	}
}

// Whatever an answer says, requests go to the configured place only.
func TestRedirect(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s went elsewhere", r.Method, r.URL)
		piece(w, r)
	}))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		store := broken(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", elsewhere.URL+r.URL.Path)
			w.Header().Set("X-Amz-Bucket-Region", "eu-central-1")
			w.WriteHeader(status)
		})
		for _, n := range []int{0, 10} {
			if _, err := store.Read(t.Context(), object, make([]byte, n), 5); !errors.Is(err, objects.ErrRefused) {
				t.Errorf("%d: %v", status, err)
			}
		}
	}
}

// Neither keys nor places come from the environment.
func TestNoAmbientCredentials(t *testing.T) {
	for k, v := range map[string]string{
		"AWS_ACCESS_KEY_ID": "AMBIENT", "AWS_SECRET_ACCESS_KEY": "ambient", "AWS_SESSION_TOKEN": "ambient", "AWS_REGION": "ambient-1", "AWS_PROFILE": "x",
		"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1",
	} {
		t.Setenv(k, v)
	}
	var got http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got = r.Header; piece(w, r) }))
	defer server.Close()
	c := s3.Config{Endpoint: server.URL, PathStyle: true, KeyID: "KEY", Secret: auth.NewSecret(secret), Scope: "x"}
	if _, err := open(t, c).Read(t.Context(), object, make([]byte, 10), 5); err != nil {
		t.Fatal(err)
	}
	if a := got.Get("Authorization"); !strings.Contains(a, "Credential=KEY/") || !strings.Contains(a, "/us-east-1/s3/") || got.Get("X-Amz-Security-Token") != "" {
		t.Errorf("%v", got)
	}
	c.KeyID, c.Secret = "", auth.Secret{}
	if _, err := s3.New(c); err == nil {
		t.Error("a store without keys was opened")
	}
}

// The bucket in the host's name, as Amazon wants it, against the real server.
func TestVirtualHost(t *testing.T) {
	server := objectstest.Start(t)
	address := strings.TrimPrefix(server.Endpoint, "http://")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	transport := s3.NewTransport(nil)
	transport.Proxy = nil
	var host string
	transport.DialContext = func(ctx context.Context, network, to string) (net.Conn, error) {
		host = to
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	c := server.Config(server.Reader, "x")
	c.Endpoint, c.PathStyle, c.Transport = "http://localhost:"+port, false, transport
	put := server.Put(t, "a b/ü+%2F", []byte("hello"))
	got, err := open(t, c).ReadAll(t.Context(), put, 100)
	if err != nil || string(got) != "hello" || host != "lake.localhost:"+port {
		t.Errorf("%q, %v, asked %s", got, err, host)
	}
	u, err := open(t, c).Presign(t.Context(), put.Location, time.Now().Add(time.Minute))
	if parsed, err2 := url.Parse(u); err != nil || err2 != nil || parsed.Host != "lake.localhost:"+port {
		t.Errorf("%s, %v", u, err)
	}
}

// Credentials that have ended are not sent, and a URL ends with them.
func TestEnds(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 600e6, time.UTC)
	c := s3.Config{Region: "eu-central-1", KeyID: "KEY", Secret: auth.NewSecret(secret), Scope: "x", Ends: now.Add(time.Minute), Now: func() time.Time { return now }}
	c.Transport = http.NewFileTransport(http.Dir(t.TempDir())) // answers nothing that is taken for an object
	store := open(t, c)
	for until, want := range map[time.Duration]string{
		10 * time.Second: "X-Amz-Expires=10&", time.Minute: "X-Amz-Expires=60&", time.Hour: "X-Amz-Expires=60&",
	} {
		u, err := store.Presign(t.Context(), "s3://lake/a", now.Add(until))
		if err != nil || !strings.Contains(u, want) || !strings.HasPrefix(u, "https://lake.s3.eu-central-1.amazonaws.com/a?") {
			t.Errorf("%v: %s, %v", until, u, err)
		}
	}
	now = now.Add(time.Minute)
	if u, err := store.Presign(t.Context(), "s3://lake/a", now.Add(time.Hour)); !errors.Is(err, objects.ErrExpired) {
		t.Errorf("%s, %v", u, err)
	}
	if _, err := store.Read(t.Context(), object, make([]byte, 1), 0); !errors.Is(err, objects.ErrExpired) {
		t.Errorf("%v", err)
	}
	c.Ends = time.Time{}
	if u, err := open(t, c).Presign(t.Context(), "s3://lake/a", now.Add(1000*time.Hour)); err != nil || !strings.Contains(u, "X-Amz-Expires=604800&") {
		t.Errorf("for ever: %s, %v", u, err)
	}
}

// hanging is a transport whose answers never come.
type hanging struct{}

func (hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A store that does not answer is given up, after the time of a request and not before.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		store := open(t, s3.Config{Region: "eu-central-1", KeyID: "KEY", Secret: auth.NewSecret(secret), Scope: "x", Transport: hanging{}})
		_, err := store.Read(t.Context(), object, make([]byte, 2<<20), 0)
		if took := time.Since(start); !errors.Is(err, objects.ErrUnavailable) || errors.Is(err, context.Canceled) || took < 4*30*time.Second || took > 4*30*time.Second+10*time.Second {
			t.Errorf("%v after %v", err, took)
		}
		start = time.Now() // a file of which nobody knows how long it is may take long, once it begins
		_, err = store.ReadAll(t.Context(), object, 1<<30)
		if took := time.Since(start); !errors.Is(err, objects.ErrUnavailable) || took > 4*30*time.Second+10*time.Second {
			t.Errorf("a whole object: %v after %v", err, took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		if _, err := store.Read(ctx, object, make([]byte, 1), 0); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestNew(t *testing.T) {
	good := s3.Config{Endpoint: "https://store.example.com:9000/", KeyID: "KEY", Secret: auth.NewSecret(secret), Scope: "x"}
	if s := open(t, good); strings.Contains(fmt.Sprintf("%+v", good), secret) || s.Scope() != "x" {
		t.Errorf("%+v", good)
	}
	for name, change := range map[string]func(*s3.Config){
		"no place":        func(c *s3.Config) { c.Endpoint = "" },
		"http":            func(c *s3.Config) { c.Endpoint = "http://store.example.com" },
		"user":            func(c *s3.Config) { c.Endpoint = "https://u:p@store.example.com" },
		"path":            func(c *s3.Config) { c.Endpoint = "https://store.example.com/a" },
		"query":           func(c *s3.Config) { c.Endpoint = "https://store.example.com?a" },
		"file":            func(c *s3.Config) { c.Endpoint = "file:///etc" },
		"no scheme":       func(c *s3.Config) { c.Endpoint = "store.example.com" },
		"region":          func(c *s3.Config) { c.Region = "x.example.com/" },
		"upper case":      func(c *s3.Config) { c.Region = "EU" },
		"no scope":        func(c *s3.Config) { c.Scope = "" },
		"no id":           func(c *s3.Config) { c.KeyID = "" },
		"no secret":       func(c *s3.Config) { c.Secret = auth.Secret{} },
		"an empty secret": func(c *s3.Config) { c.Secret = auth.NewSecret("") },
		"a header":        func(c *s3.Config) { c.KeyID = "a\r\nb" },
		"timeout":         func(c *s3.Config) { c.Timeout = -1 },
	} {
		c := good
		change(&c)
		if _, err := s3.New(c); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for region, host := range map[string]string{"eu-central-1": "s3.eu-central-1.amazonaws.com", "cn-north-1": "s3.cn-north-1.amazonaws.com.cn"} {
		if u, _, err := s3.Endpoint("", region); err != nil || u.String() != "https://"+host {
			t.Errorf("%s: %v, %v", region, u, err)
		}
	}
}

// TestStoreIsNotPrinted: whoever prints a store, or what holds one, prints no key.
func TestStoreIsNotPrinted(t *testing.T) {
	store := broken(t, piece)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, v := range []any{store, *store, struct{ Store objects.Store }{store}, []objects.Store{store}, map[string]any{"x": *store}} {
			text := fmt.Sprintf(verb, v)
			if strings.Contains(text, secret) || strings.Contains(text, "the-session-token") || strings.Contains(text, fmt.Sprintf("%x", secret)) {
				t.Errorf("%s: %s", verb, text)
			}
		}
	}
}
