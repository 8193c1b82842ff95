package duckdb

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"gatehouse/executors"
)

func TestLocalPath(t *testing.T) {
	for location, want := range map[string]string{
		"/a/b":                  "/a/b",
		"file:/a/b":             "/a/b",
		"file:///a/b":           "/a/b",
		"file:///a/x%2Fy=ä [1]": "/a/x%2Fy=ä [1]",
		"file://localhost/a/b":  "/a/b",
		"FILE:///a/b":           "",
		"file://host/a":         "",
		"s3://a/b":              "",
		"a/b":                   "",
		"":                      "",
		"/a\x00b":               "",
	} {
		got, err := localPath(location)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", location, got, err, want)
		}
	}
}

// otherFolder returns a folder on another file system than the one of dir.
func otherFolder(t *testing.T, dir string) string {
	t.Helper()
	other, err := os.MkdirTemp("/dev/shm", "gatehouse-test-")
	if err != nil {
		t.Skip("no second file system")
	}
	t.Cleanup(func() { os.RemoveAll(other) })
	device := func(path string) uint64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return uint64(info.Sys().(*syscall.Stat_t).Dev)
	}
	if device(other) == device(dir) {
		t.Skip("no second file system")
	}
	return other
}

// TestCopies checks that files that cannot be linked are copied, within bounds, and that what a statement holds stays.
func TestCopies(t *testing.T) {
	root := t.TempDir()
	other := otherFolder(t, root)
	f, err := newFiles(root, 250, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string) string {
		path := filepath.Join(other, name)
		if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	holding := &pins{files: f, user: "a"}
	first, err := holding.open(nil, write("a"), 100, ".parquet")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b", "c", "d"} {
		p := &pins{files: f, user: name}
		if _, err := p.open(nil, write(name), 100, ".parquet"); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p.release()
	}
	if f.copied > 250 {
		t.Errorf("%d bytes of copies", f.copied)
	}
	if _, err := os.Stat(first.path); err != nil {
		t.Errorf("a file in use is gone: %v", err)
	}
	full := &pins{files: f, user: "b"}
	defer full.release()
	if _, err := full.open(nil, write("e"), 100, ".parquet"); err != nil {
		t.Error(err)
	}
	for _, user := range []string{"b", "c"} {
		p := &pins{files: f, user: user}
		_, err = p.open(nil, write("f"), 100, ".parquet")
		if e, ok := errors.AsType[*executors.Error](err); !ok || e.Kind != executors.KindMemory {
			t.Errorf("three copies of 100 bytes in 250, the last for %s: %v", user, err)
		}
		p.release()
	}
	holding.release()
	if _, err = full.open(nil, write("g"), 100, ".parquet"); err == nil {
		t.Error("one user has 200 bytes of 250")
	}
	full.release()
	if len(f.users) != 0 {
		t.Errorf("%d users hold something", len(f.users))
	}
	if idle := f.names.Len() + f.copies.Len(); idle != len(f.links) {
		t.Errorf("%d of %d names count as idle", idle, len(f.links))
	}
}

// TestStaleFolders checks that only folders without an owner are removed.
func TestStaleFolders(t *testing.T) {
	dir := t.TempDir()
	dead := filepath.Join(dir, rootPrefix+"dead")
	fresh := filepath.Join(dir, rootPrefix+"fresh")
	for _, d := range []string{dead, fresh} {
		if err := os.MkdirAll(filepath.Join(d, dataFolder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dead, lockFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	first, err := New(Config{Verifier: nobody{}, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	second, err := New(Config{Verifier: nobody{}, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if _, err := os.Stat(dead); !errors.Is(err, os.ErrNotExist) {
		t.Error("a dead process's folder is still there")
	}
	for _, d := range []string{fresh, first.files.root} {
		if _, err := os.Stat(d); err != nil {
			t.Error(err)
		}
	}
}
