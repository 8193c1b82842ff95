package opa

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"gatehouse/policies"
)

// reserved is the root of data that belongs to the gateway; no policy may define anything below it.
const reserved = "gateway"

// engine is one compiled policy revision. It is immutable, but for what it remembers.
type engine struct {
	revision string
	queries  map[string]*rego.PreparedEvalQuery // by entry point; no entry: the policy has no such rule
	places   places
	entry    EntryPoints
	store    *layered
	reads    *reads // what it looks at of an input
	memo     atomic.Pointer[memo]
}

// compileFiles makes an engine of plain files; the revision is a digest over all of their names and contents.
func compileFiles(files map[string][]byte, cfg Config) (e *engine, err error) {
	defer recovered(&err)
	live := maps.Clone(files)
	maps.DeleteFunc(live, func(name string, _ []byte) bool { return strings.HasSuffix(name, "_test.rego") })
	b, err := readBundle(live, cfg)
	if err != nil {
		return nil, err
	}
	return compile(b, digest(files), cfg, false)
}

// recovered turns a panic of OPA's parser or compiler into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("opa: panic: %v", p)
	}
}

// digest names the contents of files.
func digest(files map[string][]byte) string {
	h := sha256.New()
	var size [8]byte
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, part := range [][]byte{[]byte(name), files[name]} {
			binary.BigEndian.PutUint64(size[:], uint64(len(part)))
			h.Write(size[:])
			h.Write(part)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// readBundle parses files as an OPA bundle in the configured version of Rego.
func readBundle(files map[string][]byte, cfg Config) (*bundle.Bundle, error) {
	versions := map[string][]ast.RegoVersion{"v0": {ast.RegoV0}, "v1": {ast.RegoV1}, "auto": {ast.RegoV1, ast.RegoV0}}[cfg.Rego]
	var first error
	for _, v := range versions {
		b, err := bundle.NewCustomReader(newLoader(files)).
			WithRegoVersion(v).
			WithCapabilities(capabilities(v)).
			WithProcessAnnotations(true).
			WithSkipBundleVerification(true).
			WithSizeLimitBytes(cfg.MaxBytes).
			Read()
		if err == nil {
			return &b, nil
		}
		if first == nil {
			first = inFolder(err)
		}
	}
	return nil, first
}

// compile checks b and prepares a query for each entry rule.
func compile(b *bundle.Bundle, revision string, cfg Config, strict bool) (*engine, error) {
	compiler, err := compileModules(b, cfg, strict)
	if err != nil {
		return nil, err
	}
	store := &layered{inmem.NewFromObjectWithOpts(b.Data, inmem.OptRoundTripOnWrite(false))}
	e := &engine{revision: revision, queries: map[string]*rego.PreparedEvalQuery{}, entry: cfg.Entry, store: store, reads: everything}
	if cfg.Trace == nil { // a tool shows all that there is
		e.reads = inputReads(compiler.Modules)
	}
	for _, path := range append(e.entry.all(), listingEntry) {
		if path == None || len(compiler.GetRulesExact(dataRef(path))) == 0 {
			continue
		}
		q, err := prepare(compiler, store, path, cfg)
		if err != nil {
			return nil, fmt.Errorf("entry rule %s: %w", path, err)
		}
		e.queries[path] = q
	}
	if err := e.complete(); err != nil {
		return nil, err
	}
	e.places = findPlaces(b)
	return e, nil
}

// compileModules compiles the modules of b with our capabilities and input schema.
func compileModules(b *bundle.Bundle, cfg Config, strict bool) (*ast.Compiler, error) {
	if b.Type() != bundle.SnapshotBundleType {
		return nil, errors.New("delta bundles are not supported")
	}
	if len(b.WasmModules) > 0 {
		return nil, errors.New("bundles with WebAssembly are not supported")
	}
	if err := checkReserved(b); err != nil {
		return nil, err
	}
	modules := map[string]*ast.Module{}
	for _, m := range b.Modules {
		modules[strings.TrimPrefix(m.Path, "/")] = m.Parsed
	}
	compiler := ast.NewCompiler().
		WithCapabilities(capabilities(ast.RegoV1)).
		WithStrict(strict).
		WithPathConflictsCheck(func(path []string) (bool, error) { return hasPath(b.Data, path), nil })
	if !cfg.Lenient {
		schemas, err := inputSchema()
		if err != nil {
			return nil, err
		}
		compiler = compiler.WithSchemas(schemas)
	}
	if compiler.Compile(modules); compiler.Failed() {
		return nil, inFolder(compiler.Errors)
	}
	return compiler, nil
}

// checkReserved refuses a bundle that defines anything below data.gateway.
func checkReserved(b *bundle.Bundle) error {
	err := fmt.Errorf("data.%s is reserved", reserved)
	if _, ok := b.Data[reserved]; ok {
		return err
	}
	if b.Manifest.Roots != nil {
		for _, r := range *b.Manifest.Roots {
			if first, _, _ := strings.Cut(strings.Trim(r, "/"), "/"); first == reserved {
				return err
			}
		}
	}
	for _, m := range b.Modules {
		if p := m.Parsed.Package.Path; len(p) > 1 && p[1].Equal(ast.StringTerm(reserved)) {
			return fmt.Errorf("%s: %w", m.Path, err)
		}
	}
	return nil
}

func hasPath(data map[string]any, path []string) bool {
	var at any = data
	for _, p := range path {
		m, ok := at.(map[string]any)
		if !ok {
			return false
		}
		if at, ok = m[p]; !ok {
			return false
		}
	}
	return true
}

func inputSchema() (*ast.SchemaSet, error) {
	var schema any
	if err := json.NewDecoder(bytes.NewReader(policies.Schema())).Decode(&schema); err != nil {
		return nil, err
	}
	set := ast.NewSchemaSet()
	set.Put(ast.SchemaRootRef, schema)
	return set, nil
}

func prepare(c *ast.Compiler, store storage.Store, path string, cfg Config) (*rego.PreparedEvalQuery, error) {
	q, err := rego.New(
		rego.ParsedQuery(ast.NewBody(ast.NewExpr(ast.NewTerm(dataRef(path))))),
		rego.Compiler(c),
		rego.Store(store),
		rego.StrictBuiltinErrors(!cfg.Legacy),
	).PrepareForEval(context.Background())
	if err != nil {
		return nil, err
	}
	return &q, nil
}

// complete reports which entry rules are missing.
func (e *engine) complete() error {
	for _, path := range []string{e.entry.Allow, e.entry.RowFilters} {
		if path != None && e.queries[path] == nil {
			return fmt.Errorf("the policy has no rule data.%s; if it needs none, say so with %q", dotted(path), None)
		}
	}
	single, batch := e.entry.ColumnMask, e.entry.BatchColumnMasks
	if (single != None || batch != None) && e.queries[single] == nil && e.queries[batch] == nil {
		return fmt.Errorf("the policy has neither a rule data.%s nor data.%s; if it needs none, say so with %q", dotted(single), dotted(batch), None)
	}
	return nil
}

func (e EntryPoints) all() []string {
	return []string{e.Allow, e.Batch, e.RowFilters, e.ColumnMask, e.BatchColumnMasks, e.Denials, e.Constraints}
}

func dotted(path string) string { return strings.ReplaceAll(path, "/", ".") }

func dataRef(path string) ast.Ref {
	ref := ast.Ref{ast.DefaultRootDocument}
	for _, p := range strings.Split(path, "/") {
		ref = append(ref, ast.StringTerm(p))
	}
	return ref
}
