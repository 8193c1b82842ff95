package opa

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// rescan is how often a folder is read without a notice, because some file systems send none.
const rescan = 30 * time.Second

// ReadFolder returns the policy files below dir: Rego, data documents and a manifest. Hidden files and folders are
// left out, symbolic links to files are followed. More than limit bytes together are an error.
func ReadFolder(dir string, limit int64) (map[string][]byte, error) {
	files := map[string][]byte{}
	var total int64
	dir, err := filepath.EvalSymlinks(dir) // a walk does not follow a link, not even the first one
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		base := d.Name()
		if strings.HasPrefix(base, ".") && base != ".manifest" && name != "." {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if d.IsDir() || !isPolicyFile(base) {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if total += int64(len(b)); total > limit {
			return fmt.Errorf("the files of policy folder %s hold more than %d bytes", dir, limit)
		}
		files[filepath.ToSlash(name)] = b
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("policy folder %s holds no policy", dir)
	}
	return files, nil
}

func isPolicyFile(base string) bool {
	return strings.HasSuffix(base, ".rego") || slices.Contains([]string{"data.json", "data.yaml", "data.yml", ".manifest"}, base)
}

// startFolder loads the folder and watches it.
func (d *Decider) startFolder(ctx context.Context) error {
	files, err := ReadFolder(d.cfg.Folder, d.cfg.MaxBytes)
	if err != nil {
		return err
	}
	if err := d.loadFiles(files); err != nil {
		return err
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("opa: watch %s: %w", d.cfg.Folder, err)
	}
	if err := watchTree(watcher, d.cfg.Folder); err != nil {
		return errors.Join(fmt.Errorf("opa: watch %s: %w", d.cfg.Folder, err), watcher.Close())
	}
	d.done.Go(func() {
		defer watcher.Close()
		d.watch(ctx, watcher, digest(files))
	})
	return nil
}

// watch reloads the folder once it has been quiet for the debounce time after a change.
func (d *Decider) watch(ctx context.Context, w *fsnotify.Watcher, seen string) {
	quiet := time.NewTimer(rescan)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.Events:
			quiet.Reset(d.cfg.Debounce)
		case err := <-w.Errors:
			d.cfg.Log.Warn("policy folder watch failed", "error", err)
			quiet.Reset(d.cfg.Debounce)
		case <-quiet.C:
			seen = d.reload(w, seen)
			quiet.Reset(rescan)
		}
	}
}

// reload reads the folder and puts it in force if it has changed and compiles; else the last good one stays. It
// returns the digest of what it read.
func (d *Decider) reload(w *fsnotify.Watcher, seen string) string {
	files, err := ReadFolder(d.cfg.Folder, d.cfg.MaxBytes)
	if err == nil {
		err = watchTree(w, d.cfg.Folder) // folders may have been added
	}
	if err != nil {
		d.cfg.Log.Error("policy folder not readable, the last good policy stays in force", "error", d.activate(nil, err))
		return ""
	}
	now := digest(files)
	if now == seen {
		return seen
	}
	if err := d.loadFiles(files); err != nil {
		d.cfg.Log.Error("policy not accepted, the last good policy stays in force", "revision", d.Status().Revision, "error", err)
		return now
	}
	d.cfg.Log.Info("policy in force", "revision", now)
	return now
}

func watchTree(w *fsnotify.Watcher, dir string) error {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		if strings.HasPrefix(e.Name(), ".") && path != dir {
			return filepath.SkipDir
		}
		return w.Add(path)
	})
}
