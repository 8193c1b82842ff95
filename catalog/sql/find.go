package sql

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Open opens the SQLite catalog in a folder, or the given SQLite file; see Find.
func Open(path string) (*Catalog, error) {
	c, err := Find(path)
	if err != nil {
		return nil, err
	}
	return New(c)
}

// Find looks for an Iceberg catalog in a folder: one SQLite file with the catalog's tables, which names one catalog. path may be
// that file itself. The configuration that it returns reads tables below that folder only. Its errors say what was found.
func Find(path string) (Config, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return Config{}, err
	}
	info, err := os.Stat(abs)
	if err != nil {
		return Config{}, fmt.Errorf("warehouse %q: %w", path, err)
	}
	candidates := []string{abs}
	folder := filepath.Dir(abs)
	if info.IsDir() {
		folder = abs
		if candidates, err = databases(abs); err != nil {
			return Config{}, fmt.Errorf("warehouse %q: %w", path, err)
		}
	}
	var found []Config
	for _, file := range candidates {
		names, ok, err := catalogNames(file)
		if err != nil {
			return Config{}, fmt.Errorf("%q: %w", file, err)
		}
		if ok && len(names) == 0 {
			names = []string{filepath.Base(folder)}
		}
		for _, n := range names {
			found = append(found, Config{Name: n, SQLite: file, Roots: []string{folder}})
		}
	}
	switch len(found) {
	case 0:
		return Config{}, fmt.Errorf("warehouse %q: no Iceberg catalog is there (a SQLite file with a table iceberg_tables)", path)
	case 1:
		return found[0], nil
	}
	var all []string
	for _, c := range found {
		all = append(all, fmt.Sprintf("%s in %s", c.Name, filepath.Base(c.SQLite)))
	}
	return Config{}, fmt.Errorf("warehouse %q: more than one catalog is there (%s): name the one to use in a configuration file",
		path, strings.Join(all, ", "))
}

// databases returns the SQLite files directly in a folder, by their first bytes.
func databases(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && isSQLite(path) {
			out = append(out, path)
		}
	}
	return out, nil
}

func isSQLite(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 16)
	_, err = io.ReadFull(f, head)
	return err == nil && bytes.Equal(head, []byte("SQLite format 3\x00"))
}

// catalogNames returns the catalog names in a database; ok is false if it holds no Iceberg catalog.
func catalogNames(file string) (names []string, ok bool, err error) {
	if !isSQLite(file) {
		return nil, false, nil
	}
	db, err := sql.Open("sqlite", sqliteName(file))
	if err != nil {
		return nil, false, err
	}
	defer db.Close()
	var n int
	err = db.QueryRow("SELECT count(*) FROM sqlite_master WHERE name IN ('iceberg_tables', 'iceberg_namespace_properties')").Scan(&n)
	if err != nil || n != 2 {
		return nil, false, err
	}
	rows, err := db.Query("SELECT catalog_name FROM iceberg_tables UNION SELECT catalog_name FROM iceberg_namespace_properties ORDER BY 1")
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, false, err
		}
		names = append(names, name)
	}
	return names, true, rows.Err()
}
