package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// result is one line of the results file: what a stage found out about a mutant.
type result struct {
	Key    string `json:"key"`
	Hash   string `json:"hash"`  // of the function: a mutant of changed code is a new one
	Stage  string `json:"stage"` // the program that was run
	Tests  string `json:"tests"` // hash of that program's folder: a survivor is tried again when it changes
	Status string `json:"status"`
	By     string `json:"by,omitempty"` // the test that killed it
}

// results is a file of results, to which each run adds, so that one that was stopped goes on where it was.
type results struct {
	out   *os.File
	known map[string]result
}

func openResults(path string) (*results, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	r := &results{out: f, known: map[string]result{}}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one result
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			continue // the last line of a run that was killed
		}
		r.known[one.Key+"\x00"+one.Stage] = one
	}
	return r, lines.Err()
}

// find returns what is known and still holds. A mutant that died stays dead while its function is the same.
func (r *results) find(m *mutation, stage, tests string) (result, bool) {
	one, ok := r.known[m.key()+"\x00"+stage]
	if !ok || one.Hash != m.hash {
		return result{}, false
	}
	return one, one.Tests == tests || one.Status == killed || one.Status == timeout
}

func (r *results) add(one result) error {
	r.known[one.Key+"\x00"+one.Stage] = one
	b, err := json.Marshal(one)
	if err != nil {
		return err
	}
	_, err = r.out.Write(append(b, '\n'))
	return err
}

// folderHash is the hash of a package's files and of its testdata.
func folderHash(dir string) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != dir && !strings.Contains(path, "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		b, err := os.ReadFile(path)
		fmt.Fprintf(h, "%s %d\n", path[len(dir):], len(b))
		h.Write(b)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)[:8]), err
}

// reasons reads a list of survivors: lines of a key, a tab, and why it may live. Empty lines and those with # are left out.
func reasons(path string) (map[string]string, error) {
	out := map[string]string{}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	for n, line := range strings.Split(string(b), "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		key, why, ok := strings.Cut(line, "\t")
		if !ok || strings.TrimSpace(why) == "" || out[key] != "" {
			return nil, fmt.Errorf("%s:%d: want a key that is not there yet, a tab, and a reason", path, n+1)
		}
		out[key] = strings.TrimSpace(why)
	}
	return out, err
}
