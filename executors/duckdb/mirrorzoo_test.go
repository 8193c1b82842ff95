package duckdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gatehouse/auth"
	"gatehouse/executors"
	"gatehouse/executors/duckdb/tpc"
	"gatehouse/executors/executortest"
	"gatehouse/objects"
	"gatehouse/objects/objectstest"
	"gatehouse/plan"
)

// anybody takes every credential: plans are changed after they were signed.
type anybody struct{}

func (anybody) Verify(auth.Secret, auth.TaskClaims) (auth.TaskClaims, error) {
	return auth.TaskClaims{}, nil
}

// moved runs plans over local files as if the files lay in an object store. It puts each there when a plan first names it.
type moved struct {
	*Executor
	t      testing.TB
	server *objectstest.Server
	store  objects.Store
	folder string

	mu   sync.Mutex
	size map[string]int64 // of what was put, by location
}

func (m *moved) Prepare(ctx context.Context, p *plan.Plan) (executors.Prepared, error) {
	relations := p.Relations()
	for i := range relations {
		r := &relations[i]
		r.Scan.Objects = m.store
		for j := range r.Scan.Files {
			m.move(&r.Scan.Files[j].Path, &r.Scan.Files[j].Size, false)
		}
		for j := range r.Scan.Deletes {
			d := &r.Scan.Deletes[j]
			m.move(&d.Path, &d.Size, d.Kind == plan.PositionDeletes)
		}
		digest, err := r.PayloadDigest()
		if err != nil {
			return nil, err
		}
		r.Task.Digest = digest
	}
	return m.Executor.Prepare(ctx, p)
}

// move puts a file into the store, unless it is not there or not what its manifest says. Positional deletes name data files, so these are
// written anew.
func (m *moved) move(location *string, size *int64, names bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	path, err := plan.LocalPath(*location)
	if err != nil {
		return
	}
	to := m.server.Location(strings.TrimPrefix(path, "/"))
	if _, done := m.size[to]; !done {
		source := path
		if names {
			source, _ = writeParquet(m.t, m.folder, fmt.Sprintf("%d.parquet", len(m.size)),
				fmt.Sprintf("SELECT 's3://%s' || regexp_replace(file_path, '^file:(//)?', '') AS file_path, pos FROM read_parquet(%s)", objectstest.Bucket, literal(path)),
				fmt.Sprintf(", FIELD_IDS {file_path: %d, pos: %d}", executors.DeletePathID, executors.DeletePositionID))
		}
		data, err := os.ReadFile(source)
		if err != nil || !names && int64(len(data)) != *size {
			return
		}
		m.server.Put(m.t, strings.TrimPrefix(path, "/"), data)
		m.size[to] = int64(len(data))
	}
	*location, *size = to, m.size[to]
}

// newMoved builds an executor whose plans' files are put into the server.
func newMoved(t testing.TB, server *objectstest.Server, p executortest.Parts) (*moved, error) {
	x, err := New(Config{Verifier: anybody{}, HashKey: p.HashKey, Allocator: p.Allocator, Now: p.Now, Dir: t.TempDir()})
	if err != nil {
		return nil, err
	}
	return &moved{
		Executor: sparse(x), t: t, server: server, folder: t.TempDir(), size: map[string]int64{},
		store: server.Store(t, server.Reader),
	}, nil
}

// TestZooInStore reads the test tables from a server, by the smallest parts.
func TestZooInStore(t *testing.T) {
	server := objectstest.Start(t)
	var m *moved
	executortest.RunZoo(t, func(p executortest.Parts) (_ executors.Executor, err error) {
		m, err = newMoved(t, server, p)
		return m, err
	})
	if len(m.size) < 100 {
		t.Errorf("only %d files were in the store", len(m.size))
	}
	files, err := filepath.Glob(filepath.Join(m.files.data, "*-*"))
	if err != nil || len(files) < 100 {
		t.Errorf("%d mirrors, %v", len(files), err)
	}
}

// tpchFolder is the folder of TPC-H's tables at a scale factor, the usual one if that is empty.
func tpchFolder(t testing.TB, scale string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := tpc.Open(t.Context(), tpc.Config{Cache: filepath.Join(cache, "gatehouse"), Script: "../../testdata/tpc/generate.sh", Scale: scale}, tpc.TPCH)
	if errors.Is(err, tpc.ErrNoGenerator) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestTPCHInStore answers the queries of TPC-H out of a store, by the smallest parts, as out of local files: with joins the engine leaves out
// row groups and rows by what it learns while it runs.
func TestTPCHInStore(t *testing.T) {
	folder := tpchFolder(t, "")
	queries, err := filepath.Glob("../../classify/testdata/queries/tpch/*.sql")
	if err != nil || len(queries) != 22 {
		t.Fatal(len(queries), err)
	}
	server := objectstest.Start(t)
	here := executortest.Over(t, opener(t), folder, "tpch")
	there := executortest.Over(t, func(p executortest.Parts) (executors.Executor, error) { return newMoved(t, server, p) }, folder, "tpch")
	for _, q := range queries {
		text, err := os.ReadFile(q)
		if err != nil {
			t.Fatal(err)
		}
		var answers [2][]string
		for i, p := range []*executortest.Pipeline{here, there} {
			rows, err := p.Rows(t.Context(), string(text), nil)
			if err != nil {
				t.Fatalf("%s: %v", q, err)
			}
			for _, r := range rows {
				answers[i] = append(answers[i], strings.Join(r, " "))
			}
			slices.Sort(answers[i])
		}
		if !slices.Equal(answers[0], answers[1]) {
			t.Errorf("%s: %d and %d rows, which differ", q, len(answers[0]), len(answers[1]))
		}
	}
}
