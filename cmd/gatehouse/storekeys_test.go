package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatehouse/objects"
	"gatehouse/objects/objectstest"
	"gatehouse/objects/s3"
)

// TestStoreKeysRenewed replaces the files of a store's keys under a store that is open, one after the other. No mixture of old and new keys is
// used, what cannot be used changes nothing, and the log names no key.
func TestStoreKeysRenewed(t *testing.T) {
	server := objectstest.Start(t)
	object := server.Put(t, "a", []byte("hello"))
	dir, now := t.TempDir(), time.Now().Add(time.Hour)
	file := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		t.Helper()
		// In the past of the test's clock, but for the last second.
		if err := errors.Join(os.WriteFile(file(name), []byte(text), 0o600), os.Chtimes(file(name), now, now)); err != nil {
			t.Fatal(err)
		}
	}
	write("id", server.Reader.ID+"\n")
	write("secret", server.Reader.Secret+"\n")
	var log bytes.Buffer
	config := S3Config{Endpoint: server.Endpoint, PathStyle: true, KeyIDFile: file("id"), SecretFile: file("secret")}
	keys, err := openKeys(config, slog.New(slog.NewTextHandler(&log, nil)), func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	store, err := s3.New(s3.Config{Endpoint: server.Endpoint, PathStyle: true, Renew: keys.current, Scope: "x"})
	if err != nil {
		t.Fatal(err)
	}
	signedBy := func(what string, k objectstest.Keys, want error) {
		t.Helper()
		if got := keys.current(); got.ID != k.ID || got.Secret.Reveal() != k.Secret {
			t.Errorf("%s: the key is %s", what, got.ID)
		}
		_, err := store.ReadAll(t.Context(), object, 100)
		if !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
		u, err := store.Presign(context.Background(), object.Location, now.Add(time.Minute))
		if err != nil || !strings.Contains(u, "Credential="+k.ID) {
			t.Errorf("%s: a URL without the key: %v", what, err)
		}
	}
	signedBy("at the start", server.Reader, nil)
	write("id", server.Stranger.ID+"\n")
	signedBy("one of two files", server.Reader, nil)
	now = now.Add(settled / 2)
	write("secret", server.Stranger.Secret+"\n")
	signedBy("both, just now", server.Reader, nil)
	now = now.Add(settled / 2)
	signedBy("both, for half a second", server.Reader, nil)
	now = now.Add(settled)
	signedBy("both, for longer", server.Stranger, objects.ErrRefused)

	write("secret", "")
	now = now.Add(2 * settled)
	signedBy("an empty file", server.Stranger, objects.ErrRefused)
	if err := os.Remove(file("id")); err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * settled)
	signedBy("first look at no file", server.Stranger, objects.ErrRefused)
	now = now.Add(2 * settled)
	signedBy("no file", server.Stranger, objects.ErrRefused)
	write("secret", server.Owner.Secret)
	write("id", "a b")
	now = now.Add(2 * settled)
	signedBy("an id that is none", server.Stranger, objects.ErrRefused)
	write("id", server.Owner.ID)
	now = now.Add(2 * settled)
	signedBy("new ones", server.Owner, nil)

	if n := strings.Count(log.String(), "not reloaded"); n != 3 {
		t.Errorf("the log has it %d times: %s", n, log.String())
	}
	for _, k := range []objectstest.Keys{server.Reader, server.Stranger, server.Owner} {
		if strings.Contains(log.String(), k.Secret) {
			t.Errorf("the log has a secret: %s", log.String())
		}
	}
	if _, err := openKeys(S3Config{KeyID: "x", SecretFile: file("none")}, slog.New(slog.DiscardHandler), time.Now); err == nil {
		t.Error("keys without a secret are opened")
	}
}
