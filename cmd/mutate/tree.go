package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// notCopied are the top-level folders that tests do not read.
var notCopied = []string{".git", ".ci", "bin", ".gatehouse"}

// copyTree makes to equal to from, file by file. Tests of mutants run in a copy, since they write into their folders what
// made them fail, and since the original may be edited while they run.
func copyTree(from, to string) error {
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		dest := filepath.Join(to, rel)
		switch {
		case slices.Contains(notCopied, rel) || d.Name() == "rapid" && d.IsDir():
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(dest, 0o700)
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			_ = os.Remove(dest)
			return os.Symlink(target, dest)
		}
		return copyFile(path, dest)
	})
	if err != nil {
		return err
	}
	return filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == to {
			return err
		}
		rel, err := filepath.Rel(to, path)
		if err != nil {
			return err
		}
		if _, err := os.Lstat(filepath.Join(from, rel)); !errors.Is(err, fs.ErrNotExist) && d.Name() != "rapid" {
			return err
		}
		if err := os.RemoveAll(path); err != nil || !d.IsDir() {
			return err
		}
		return filepath.SkipDir
	})
}

// copyFile copies what is not there yet with the same size and time.
func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if old, err := os.Stat(to); err == nil && old.Size() == info.Size() && old.ModTime().Equal(info.ModTime()) {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// lock keeps another run out of the cache until the file is closed.
func lock(cache string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(cache, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("another run uses %s: %w", cache, err)
	}
	return f, nil
}
