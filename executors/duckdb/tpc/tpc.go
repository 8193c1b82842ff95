// Package tpc writes the data of the TPC-H and TPC-DS benchmarks, and of our own benchmark of wide results, as Iceberg tables, and
// answers queries over their files with an engine that knows nothing of Gatehouse: the reference of the differential tests and
// benchmarks.
//
// A set is one folder with catalog.db, an Iceberg SQL catalog that has the set's name. A benchmark's set has two namespaces: one
// with all rows, and one, whose name ends in _eve, with the rows and values that the user eve may see, filtered and masked while
// they were written.
package tpc

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Set names one of the sets.
type Set string

// The sets.
const (
	TPCH  Set = "tpch"  // at scale factor 0.1: 600,000 line items
	TPCDS Set = "tpcds" // at scale factor 0.1: 240,000 store sales
	Wide  Set = "wide"  // three tables of 10 million rows: mixed, strings, numbers
)

// usualScale is the scale factor of the sets of tests.
const usualScale = "0.1"

// CatalogFile is the SQLite file of a set's catalog, relative to its folder.
const CatalogFile = "catalog.db"

// Eve is the namespace of the physical copies for eve.
func (s Set) Eve() string { return string(s) + "_eve" }

// ErrNoGenerator: the program that makes the rows cannot be installed here, for example because Python or Java is missing.
var ErrNoGenerator = errors.New("the generator of the data is not available")

// version changes with what is written, so that a cache is written anew.
const version = "1"

// Config says where things are.
type Config struct {
	Cache  string // folder in which sets are kept between runs
	Script string // testdata/tpc/generate.sh
	Scale  string // the scale factor; default 0.1. Others have no copies for eve
}

// whole is the file that a finished set has.
const whole = ".whole"

// Open returns the folder of a set, which it makes first if the cache has none. Processes at once wait for each other.
func Open(ctx context.Context, c Config, s Set) (dir string, err error) {
	script, err := os.ReadFile(c.Script)
	if err != nil {
		return "", err
	}
	scale, name := cmp.Or(c.Scale, usualScale), "tpc-"+string(s)+"-"
	if scale != usualScale {
		name += "sf" + scale + "-"
	}
	sum := sha256.Sum256([]byte(version + string(script) + fmt.Sprint(copies[s]) + columnsTPCDS + fmt.Sprint(wideTables)))
	if err := os.MkdirAll(c.Cache, 0o755); err != nil {
		return "", err
	}
	cache, err := filepath.EvalSymlinks(c.Cache)
	if err != nil {
		return "", err
	}
	if dir, err = filepath.Abs(filepath.Join(cache, name+hex.EncodeToString(sum[:6]))); err != nil {
		return "", err
	}
	unlock, err := lock(dir + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(filepath.Join(dir, whole)); err == nil {
		return dir, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	rows := dir + ".rows"
	defer os.RemoveAll(rows)
	if s != Wide {
		if err := generate(ctx, c, s, rows, scale); err != nil {
			return "", err
		}
	}
	if err := write(ctx, s, rows, dir, scale == usualScale); err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, whole), nil, 0o644)
}

// generate runs the script that installs the generator and makes the rows.
func generate(ctx context.Context, c Config, s Set, rows, scale string) error {
	cmd := exec.CommandContext(ctx, "bash", c.Script, c.Cache, string(s), rows, scale)
	var text strings.Builder
	cmd.Stdout, cmd.Stderr = &text, &text
	if err := cmd.Run(); err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 3 {
			return fmt.Errorf("%w: %s", ErrNoGenerator, strings.TrimSpace(text.String()))
		}
		return fmt.Errorf("tpc: making the rows of %s: %w\n%s", s, err, text.String())
	}
	return nil
}

func lock(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}

//go:embed tpcds.columns
var columnsTPCDS string
