// Package policies holds the Rego that we ship: the router and library that every policy folder starts from, the
// example policy of the demo, the deny-by-default skeleton, and the schema of the input. It holds no other Go than
// what puts these files into the program.
package policies

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

//go:embed entry lib demo skeleton schemas
var files embed.FS

// Set is one complete policy folder.
type Set string

// The sets that we ship.
const (
	Demo     Set = "demo"     // the example policy of `gatehouse demo`
	Skeleton Set = "skeleton" // denies everything, with comments that say how to go on
)

// Schema returns the JSON schema of the input document.
func Schema() []byte {
	b, err := files.ReadFile("schemas/input.json")
	if err != nil {
		panic(err) // it is embedded
	}
	return b
}

// Files returns the files of a set by their slash-separated path: the set's own, the router and the library, with
// their tests, and the input schema.
func Files(set Set) (map[string][]byte, error) {
	if set != Demo && set != Skeleton {
		return nil, fmt.Errorf("policies: no set %q", set)
	}
	out := map[string][]byte{}
	for _, root := range []string{"entry", "lib", "schemas", string(set)} {
		err := fs.WalkDir(files, root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := files.ReadFile(path)
			if err != nil {
				return err
			}
			out[strings.TrimPrefix(path, string(set)+"/")] = b
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Write writes a set into dir. A file that is already there is left as it is.
func Write(dir string, set Set) error {
	all, err := Files(set)
	if err != nil {
		return err
	}
	for name, b := range all {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		_, err = f.Write(b)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}
