package duckdb

import (
	"os"
	"path/filepath"
	"syscall"
)

// lockFile is held by the process that owns a private folder. The kernel lets go of it however the process ends.
const lockFile = "lock"

// claim locks root for this process.
func claim(root string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(root, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// removeStale removes the folders of this user's processes that ended without removing them: they hold spilled rows, and links
// that keep deleted data files. A folder without a lock file may just be made, and stays.
func removeStale(dir string) {
	folders, _ := filepath.Glob(filepath.Join(dir, rootPrefix+"*"))
	for _, root := range folders {
		info, err := os.Lstat(root)
		if err != nil || !info.IsDir() {
			continue
		}
		if s, ok := info.Sys().(*syscall.Stat_t); !ok || int(s.Uid) != os.Getuid() {
			continue
		}
		f, err := os.OpenFile(filepath.Join(root, lockFile), os.O_RDWR|syscall.O_NOFOLLOW, 0)
		if err != nil {
			continue
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(root)
		}
		f.Close()
	}
}
