// Package lake writes the example lakehouse: six Iceberg tables of an invented shop, for demonstrations and tests.
//
// The folder holds catalog.db (an Iceberg SQL catalog named "lake"), shop/TABLE/data and shop/TABLE/metadata, and
// gatehouse-lake.json, which says where the folder was built and which files belong to it. Rows are the same each
// time; snapshot times too. customers carries positional deletes and an added, a renamed and a widened column,
// order_items an evolved partition spec, employees an int that became a bigint.
package lake

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// The names by which catalogs and sessions refer to the example.
const (
	Catalog   = "lake"
	Namespace = "shop"
	// CatalogFile is the SQLite file of the Iceberg SQL catalog, relative to the folder.
	CatalogFile = "catalog.db"
)

// Config says what to write.
type Config struct {
	// Dir is the folder to make. Its parent is made too if it is missing.
	Dir string
	// Progress, if set, is called from the caller's goroutine with the step that begins and the part done, 0 to 1.
	Progress func(step string, part float64)

	divisor int // tests write 1/divisor of customers and orders
}

// The reasons why a folder is not the whole example lakehouse. Texts are for the person at the terminal.
var (
	// ErrMissing: there is no folder.
	ErrMissing = errors.New("the example lakehouse does not exist yet")
	// ErrForeign: the folder exists and was not made by this package. Write leaves it alone.
	ErrForeign = errors.New("the folder holds something else than the example lakehouse")
	// ErrDamaged: a file is missing or has another size, or the writing stopped half-way.
	ErrDamaged = errors.New("the example lakehouse is not whole")
	// ErrMoved: Iceberg metadata holds absolute paths, so that a moved folder cannot be read.
	ErrMoved = errors.New("the example lakehouse was moved after it was written")
	// ErrOutdated: another version of this program wrote it.
	ErrOutdated = errors.New("the example lakehouse is of another version")
	// ErrBusy: another process is writing the same folder.
	ErrBusy = errors.New("another process is writing the example lakehouse")
)

// Write makes the example lakehouse in c.Dir. A whole one is left as it is; one that Complete finds damaged, moved
// or outdated is replaced; anything else in c.Dir is an error (ErrForeign). The lakehouse is built in a sibling
// folder and renamed when it is whole, so that a process killed at any time leaves the old state or the new one;
// leftovers of killed processes are removed. Two processes at once: one gets ErrBusy.
func Write(ctx context.Context, c Config) error {
	if c.Dir == "" {
		return errors.New("lake: Config.Dir is empty")
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	// Metadata holds the real path, so that other tools find the files whatever the working directory or links.
	parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return err
	}
	dir = filepath.Join(parent, filepath.Base(dir))
	unlock, err := lock(dir + ".lock")
	if err != nil {
		return err
	}
	defer unlock()

	if err := Complete(dir); err == nil || errors.Is(err, ErrForeign) {
		return err
	}
	if err := removeLeftovers(dir); err != nil {
		return err
	}
	staging := dir + stagingSuffix
	if err := os.Mkdir(staging, 0o755); err != nil {
		return err
	}
	if err := build(ctx, c, dir, staging); err != nil {
		return errors.Join(err, os.RemoveAll(staging))
	}
	return replace(dir, staging)
}

// The names of folders beside the lakehouse that exist while it is written or replaced.
const (
	stagingSuffix = ".partial"
	oldSuffix     = ".old"
)

func removeLeftovers(dir string) error {
	return errors.Join(os.RemoveAll(dir+stagingSuffix), os.RemoveAll(dir+oldSuffix))
}

// replace puts staging in the place of dir.
func replace(dir, staging string) error {
	old := dir + oldSuffix
	if err := os.Rename(dir, old); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(staging, dir); err != nil {
		return err
	}
	return os.RemoveAll(old)
}

// lock takes an exclusive lock that ends with the process.
func lock(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: %s is locked", ErrBusy, name)
		}
		return nil, err
	}
	return func() { f.Close() }, nil
}

// Complete returns nil if dir holds the whole example lakehouse, at the place where it was built; else one of the
// errors of this package, wrapped with what was found. It looks at names and sizes, not at contents.
func Complete(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: %s", ErrMissing, dir)
	} else if err != nil {
		return err
	}
	m, err := readMarker(dir)
	if errors.Is(err, os.ErrNotExist) && len(entries) == 0 {
		return fmt.Errorf("%w: %s is empty", ErrDamaged, dir)
	} else if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: %s has no %s", ErrForeign, dir, markerFile)
	} else if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	switch {
	case m.Version != version:
		return fmt.Errorf("%w: %s is of version %d, wanted %d", ErrOutdated, dir, m.Version, version)
	case !m.Whole:
		return fmt.Errorf("%w: writing %s stopped half-way", ErrDamaged, dir)
	case m.Dir != real:
		return fmt.Errorf("%w: from %s to %s", ErrMoved, m.Dir, real)
	}
	for name, size := range m.Files {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return fmt.Errorf("%w: %s is missing", ErrDamaged, name)
		}
		if info.Size() != size && !strings.HasPrefix(name, CatalogFile) {
			return fmt.Errorf("%w: %s has %d bytes, wanted %d", ErrDamaged, name, info.Size(), size)
		}
	}
	return nil
}
