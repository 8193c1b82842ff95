package objectstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"gatehouse/objects"
)

// Subject is one kind of store, to be tested.
type Subject struct {
	// Open returns a store that reads what Put stores, as if the time were off from what it is.
	Open    func(t *testing.T, off time.Duration) objects.Store
	Refused objects.Store // of the same place, with credentials that may not read there
	Wrong   objects.Store // with credentials that are none
	Put     func(t testing.TB, key string, data []byte) objects.Object
	Remove  func(t testing.TB, key string)
}

// oddKeys are names of objects that are stored under exactly that name and no other that looks alike.
var oddKeys = []string{
	"plain", "region=n%2Fa/x", "region=n/a/x", "a b/c d", "a+b", "a%20b", "ü/日本", "u\u0308/decomposed", "q?x=1&y=2#frag", "a;b,c:d@e$f", `q'"<>|\^{}[]`,
	"~tilde!*()", "dots..in/..name/.hidden/...", "100%", "=", strings.Repeat("l", 200),
}

// Run runs the contract of objects.Store.
func Run(t *testing.T, s Subject) {
	store := s.Open(t, 0)
	t.Run("ranges", func(t *testing.T) { ranges(t, s, store) })
	t.Run("whole objects", func(t *testing.T) { whole(t, s, store) })
	t.Run("replaced", func(t *testing.T) { replaced(t, s, store) })
	t.Run("odd keys", func(t *testing.T) { keys(t, s, store) })
	t.Run("no object", func(t *testing.T) { absent(t, s, store) })
	t.Run("refused", func(t *testing.T) { refused(t, s) })
	t.Run("cancelled", func(t *testing.T) { cancelled(t, s, store) })
	t.Run("presigned", func(t *testing.T) { presigned(t, s, store) })
	t.Run("scope", func(t *testing.T) {
		if store.Scope() == "" || store.Scope() == s.Refused.Scope() {
			t.Errorf("scopes %q and %q", store.Scope(), s.Refused.Scope())
		}
	})
}

func content(n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(i*7 + i>>8*13)
	}
	return out
}

func ranges(t *testing.T, s Subject, store objects.Store) {
	data := content(100_000)
	put := s.Put(t, "ranges", data)
	for _, c := range []struct{ off, n int }{{0, 1}, {0, 100_000}, {99_999, 1}, {1, 99_999}, {5, 0}, {0, 0}, {100_000, 0}, {40_000, 8_192}} {
		p := make([]byte, c.n)
		for _, o := range []objects.Object{{Location: put.Location, Size: -1}, {Location: put.Location, Size: put.Size}, put} {
			got, err := store.Read(t.Context(), o, p, int64(c.off))
			if err != nil || got != put || !bytes.Equal(p, data[c.off:c.off+c.n]) {
				t.Fatalf("%d bytes from %d on: %+v, %v", c.n, c.off, got, err)
			}
		}
	}
	for _, c := range []struct{ off, n int }{{100_000, 1}, {99_999, 2}, {0, 100_001}, {200_000, 0}, {-1, 1}} {
		for _, size := range []int64{-1, put.Size} {
			if _, err := store.Read(t.Context(), objects.Object{Location: put.Location, Size: size}, make([]byte, c.n), int64(c.off)); !errors.Is(err, objects.ErrChanged) {
				t.Errorf("%d bytes from %d on: %v", c.n, c.off, err)
			}
		}
	}
}

func whole(t *testing.T, s Subject, store objects.Store) {
	for _, n := range []int{0, 1, 70_000} {
		put := s.Put(t, fmt.Sprint("whole", n), content(n))
		for _, o := range []objects.Object{{Location: put.Location, Size: -1}, put} {
			for limit, ok := range map[int64]bool{int64(n): true, int64(n) + 1: true, int64(n) - 1: false} {
				got, err := store.ReadAll(t.Context(), o, limit)
				if ok && (err != nil || !bytes.Equal(got, content(n))) || !ok && (err == nil || got != nil) {
					t.Errorf("%d bytes, at most %d: %d, %v", n, limit, len(got), err)
				}
			}
		}
		wrong := put
		wrong.Size += 3
		if got, err := store.ReadAll(t.Context(), wrong, 1<<20); !errors.Is(err, objects.ErrChanged) || got != nil {
			t.Errorf("another size: %v", err)
		}
	}
}

func replaced(t *testing.T, s Subject, store objects.Store) {
	data := content(1000)
	s.Put(t, "replaced", data)
	first, err := store.Read(t.Context(), objects.Object{Location: "s3://" + Bucket + "/replaced", Size: -1}, make([]byte, 10), 0)
	if err != nil || first.Size != 1000 || first.Tag == "" {
		t.Fatalf("%+v, %v", first, err)
	}
	data[0]++
	second := s.Put(t, "replaced", data)
	p := make([]byte, 10)
	if _, err := store.Read(t.Context(), first, p, 500); !errors.Is(err, objects.ErrChanged) {
		t.Errorf("the same size: %v", err)
	}
	if _, err := store.Read(t.Context(), first, nil, 0); !errors.Is(err, objects.ErrChanged) {
		t.Errorf("no bytes: %v", err)
	}
	if _, err := store.ReadAll(t.Context(), first, 1<<20); !errors.Is(err, objects.ErrChanged) {
		t.Errorf("whole: %v", err)
	}
	if _, err := store.Read(t.Context(), second, p, 0); err != nil || p[0] != data[0] {
		t.Errorf("the new one: %v", err)
	}
	s.Put(t, "replaced", data[:999])
	if _, err := store.Read(t.Context(), objects.Object{Location: first.Location, Size: 1000}, p, 0); !errors.Is(err, objects.ErrChanged) {
		t.Errorf("another size: %v", err)
	}
}

func keys(t *testing.T, s Subject, store objects.Store) {
	var put []objects.Object
	for i, k := range oddKeys {
		put = append(put, s.Put(t, "odd/"+k, fmt.Appendf(nil, "%d:%s", i, k)))
	}
	for i, k := range oddKeys {
		want := fmt.Sprintf("%d:%s", i, k)
		got, err := store.ReadAll(t.Context(), put[i], 1000)
		if err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", k, got, err)
		}
		u, err := store.Presign(t.Context(), put[i].Location, time.Now().Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		if status, body := get(t, http.MethodGet, u, ""); status != http.StatusOK || body != want {
			t.Errorf("%q by URL: %d %s", k, status, body)
		}
	}
}

func absent(t *testing.T, s Subject, store objects.Store) {
	s.Put(t, "here/x", []byte("x"))
	for _, location := range []string{
		"s3://" + Bucket + "/none", "s3://" + Bucket + "/here", "s3://" + Bucket + "/here/y", "s3://" + Bucket + "/HERE/x", "s3://" + Bucket + "/", "s3://" + Bucket,
		"s3://" + Bucket + "/here/../here/x", "s3://" + Bucket + "/./here/x", "s3://" + Bucket + "/here%2Fx", "here/x", "/here/x", "http://" + Bucket + "/here/x", "",
	} {
		_, one := store.Read(t.Context(), objects.Object{Location: location, Size: -1}, make([]byte, 1), 0)
		_, none := store.Read(t.Context(), objects.Object{Location: location, Size: -1}, nil, 0)
		_, all := store.ReadAll(t.Context(), objects.Object{Location: location, Size: -1}, 100)
		for _, err := range []error{one, none, all} {
			if !errors.Is(err, objects.ErrNotFound) {
				t.Errorf("%q: %v", location, err)
			}
		}
	}
	// Nobody may tell what is missing where he may not read.
	put := s.Put(t, "gone", []byte("x"))
	s.Remove(t, "gone")
	if _, err := store.Read(t.Context(), put, make([]byte, 1), 0); !errors.Is(err, objects.ErrNotFound) {
		t.Errorf("removed: %v", err)
	}
}

func refused(t *testing.T, s Subject) {
	put := s.Put(t, "closed", []byte("closed"))
	for name, store := range map[string]objects.Store{"may not read": s.Refused, "wrong": s.Wrong} {
		_, one := store.Read(t.Context(), put, make([]byte, 1), 0)
		_, none := store.Read(t.Context(), put, nil, 0)
		_, all := store.ReadAll(t.Context(), put, 100)
		for _, err := range []error{one, none, all} {
			if !errors.Is(err, objects.ErrRefused) {
				t.Errorf("%s: %v", name, err)
			}
		}
		u, err := store.Presign(t.Context(), put.Location, time.Now().Add(time.Minute))
		if err != nil {
			continue
		}
		if status, body := get(t, http.MethodGet, u, ""); status < 400 || body == "closed" {
			t.Errorf("%s, by URL: %d %s", name, status, body)
		}
	}
}

func cancelled(t *testing.T, s Subject, store objects.Store) {
	put := s.Put(t, "cancelled", []byte("x"))
	why := errors.New("why it ends")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := store.Read(ctx, put, make([]byte, 1), 0); !errors.Is(err, why) {
		t.Errorf("read: %v", err)
	}
	if _, err := store.ReadAll(ctx, put, 10); !errors.Is(err, why) {
		t.Errorf("whole: %v", err)
	}
	late, stop := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer stop()
	if _, err := store.Read(late, put, make([]byte, 1), 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the deadline: %v", err)
	}
}

func presigned(t *testing.T, s Subject, store objects.Store) {
	put := s.Put(t, "presigned/a", []byte("0123456789"))
	s.Put(t, "presigned/b", []byte("other"))
	u, err := store.Presign(t.Context(), put.Location, time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if status, body := get(t, http.MethodGet, u, ""); status != http.StatusOK || body != "0123456789" {
		t.Errorf("whole: %d %s", status, body)
	}
	if status, body := get(t, http.MethodGet, u, "bytes=2-4"); status != http.StatusPartialContent || body != "234" {
		t.Errorf("a range: %d %s", status, body)
	}
	for name, other := range map[string]string{
		"another object": strings.Replace(u, "presigned/a", "presigned/b", 1),
		"the bucket":     strings.Replace(u, "presigned/a", "", 1),
		"more asked":     u + "&versionId=1",
	} {
		if status, _ := get(t, http.MethodGet, other, ""); status < 400 {
			t.Errorf("%s: %d", name, status)
		}
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodPost} {
		if status, _ := get(t, method, u, ""); status < 400 {
			t.Errorf("%s: %d", method, status)
		}
	}
	const hour = time.Hour
	old := s.Open(t, -hour)
	for until, open := range map[time.Duration]bool{10 * time.Second: false, hour + time.Minute: true} {
		u, err := old.Presign(t.Context(), put.Location, time.Now().Add(until-hour))
		if err != nil {
			t.Fatal(err)
		}
		if status, _ := get(t, http.MethodGet, u, ""); (status == http.StatusOK) != open {
			t.Errorf("%v after it was signed, an hour ago: %d", until, status)
		}
	}
	for _, until := range []time.Duration{-time.Second, 0} {
		if u, err := store.Presign(t.Context(), put.Location, time.Now().Add(until)); !errors.Is(err, objects.ErrExpired) {
			t.Errorf("it ended %v ago: %q, %v", -until, u, err)
		}
	}
	if u, err := store.Presign(t.Context(), "/etc/passwd", time.Now().Add(time.Minute)); err == nil {
		t.Errorf("a local file: %s", u)
	}
}

func get(t *testing.T, method, url, span string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if span != "" {
		req.Header.Set("Range", span)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}
