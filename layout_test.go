package gatehouse

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mayImport is the table of the architecture: which of our packages each folder may import. A subfolder may import what its
// parent may, the parent, and what it lists itself. Tests may import anything.
var mayImport = map[string][]string{
	"audit":                  {},
	"auth":                   {},
	"objects":                {"auth"},
	"catalog":                {"auth", "objects"},
	"catalog/rest":           {"objects/s3"}, // opens stores with the keys that a server gives
	"classify":               {"classify/keyword"},
	"classify/keyword":       {},
	"classify/printer":       {"classify"},
	"policy":                 {"auth", "classify"},
	"policy/opa":             {"policies"},
	"policies":               {},
	"plan":                   {"auth", "classify", "classify/printer", "catalog", "objects", "policy"},
	"executors":              {"auth", "catalog", "objects", "classify", "classify/printer", "plan", "policy"},
	"executors/duckdb":       {"executors"},
	"executors/ballista":     {"executors"},
	"executors/ballista/api": {"executors/ballista/wire"},
	"gateway":                {"classify/printer", "audit", "auth", "catalog", "classify", "policy", "plan", "executors"},
	"gateway/flight":         {"gateway", "auth/session"},
	"cmd/gatehouse":          {"*"},
	"cmd/bench":              {"*"},
	"cmd/prove":              {"*"},
	"cmd/mutate":             {"*"},
}

// walls are the libraries that only some folders may import. A folder stands for its subfolders, too.
var walls = map[string][]string{
	"google.golang.org/grpc":                      {"gateway/flight", "executors", "cmd/gatehouse", "cmd/bench", "cmd/prove"},
	"github.com/open-policy-agent/opa":            {"policy/opa"},
	"github.com/pganalyze/pg_query_go":            {"classify", "policy", "plan", "executors"},
	"github.com/apache/iceberg-go":                {"catalog", "plan", "executors", "cmd/prove"},
	"github.com/duckdb":                           {"executors/duckdb"},
	"github.com/apache/arrow-go/v18/arrow/flight": {"gateway/flight", "executors", "cmd/gatehouse", "cmd/bench", "cmd/prove"},
}

func TestLayout(t *testing.T) {
	seen := map[string]bool{}
	walkImports(t, func(folder, file, imp string) {
		seen[folder] = true
		if own, ok := strings.CutPrefix(imp, "gatehouse/"); ok {
			if !allowed(folder, own) {
				t.Errorf("%s imports gatehouse/%s, which the layout table does not allow for %s", file, own, folder)
			}
		}
		for lib, folders := range walls {
			if within(imp, lib) && !slices.ContainsFunc(folders, func(f string) bool { return within(folder, f) }) {
				t.Errorf("%s imports %s, which is only for %s", file, imp, strings.Join(folders, ", "))
			}
		}
	})
	if len(seen) < 10 {
		t.Fatalf("only %d folders with imports were seen: the walk is broken", len(seen))
	}
}

// allowed reports whether folder may import own.
func allowed(folder, own string) bool {
	for f := folder; ; f = filepath.Dir(f) {
		list, ok := mayImport[f]
		if ok && (slices.Contains(list, "*") || slices.Contains(list, own)) {
			return true
		}
		if f != folder && own == f {
			return true // a parent's contract
		}
		if strings.HasPrefix(own, folder+"/") && !strings.HasPrefix(folder, "gateway") && folder != "executors" && folder != "catalog" && folder != "auth" && folder != "policy" && folder != "objects" {
			return true // a package's own parts
		}
		if !strings.Contains(f, "/") {
			return false
		}
	}
}

func within(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }

func walkImports(t *testing.T, visit func(folder, file, imp string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		folder := filepath.ToSlash(filepath.Dir(path))
		if strings.HasSuffix(folder, "test") {
			return nil // contract suites
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range f.Imports {
			imp, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			visit(folder, path, imp)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The top level holds what the architecture lists and no more.
func TestTopLevel(t *testing.T) {
	want := []string{
		".ci", ".git", ".gitignore", ".gatehouse", "LICENSE", "Makefile", "README.md", "audit", "auth", "bin", "catalog", "classify", "cmd", "deploy",
		"doc.go", "docs", "executors", "gateway", "go.mod", "go.sum", "layout_test.go", "objects", "plan", "policies", "policy", "testdata",
		"go.tools.mod", "go.tools.sum",
	}
	entries, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(want, e) {
			t.Errorf("%s is at the top level; the layout has no place for it there", e)
		}
	}
}
