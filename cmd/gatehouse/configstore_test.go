package main

import (
	"encoding/pem"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatehouse/objects"
)

// The store's certificate has to be of the configured authority, and the keys of the configuration's files are what is sent.
func TestStoreAuthority(t *testing.T) {
	var got http.Header
	store := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		w.Header().Set("ETag", `"t"`)
		_, _ = w.Write([]byte("hello"))
	}))
	defer store.Close()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	c := S3Config{
		Endpoint: store.URL, PathStyle: true, KeyID: "KEY", SecretFile: write("secret", "hush-hush\n"), SessionToken: write("session", "a-session-token\n"),
		CA: write("ca", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: store.Certificate().Raw}))),
	}
	for name, ca := range map[string]string{"the authority": c.CA, "the system's": ""} {
		c := c
		c.CA = ca
		s, err := c.open("lake", nil, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		data, err := s.ReadAll(ctx, objects.Object{Location: "s3://lake/a", Size: -1}, 10)
		if ca == "" {
			if !errors.Is(err, objects.ErrUnavailable) || data != nil {
				t.Errorf("%s: %q, %v", name, data, err)
			}
			continue
		}
		if err != nil || string(data) != "hello" || got.Get("X-Amz-Security-Token") != "a-session-token" || !strings.Contains(got.Get("Authorization"), "x-amz-security-token") {
			t.Errorf("%s: %q, %v, %v", name, data, err, got)
		}
		for _, v := range got {
			if strings.Contains(strings.Join(v, " "), "hush-hush") {
				t.Error("the secret itself was sent")
			}
		}
	}
	for name, change := range map[string]func(*S3Config){
		"no secret":       func(c *S3Config) { c.SecretFile = filepath.Join(dir, "none") },
		"an empty secret": func(c *S3Config) { c.SecretFile = write("empty", "\n") },
		"no session":      func(c *S3Config) { c.SessionToken = filepath.Join(dir, "none") },
		"no authority":    func(c *S3Config) { c.CA = c.SecretFile },
	} {
		c := c
		change(&c)
		if _, err := c.open("lake", nil, slog.New(slog.DiscardHandler)); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
