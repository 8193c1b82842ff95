package plan

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"gatehouse/catalog"
	"gatehouse/objects"
)

// slow is a store whose every answer takes a second and is the location itself.
type slow struct {
	objects.Store
	running, most, reads atomic.Int32
}

var errGone = errors.New("gone")

func (s *slow) ReadAll(ctx context.Context, o objects.Object, _ int64) ([]byte, error) {
	s.reads.Add(1)
	n := s.running.Add(1)
	defer s.running.Add(-1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	switch o.Location {
	case "s3://lake/3":
		return nil, errGone
	case "s3://lake/5":
		panic("a store that breaks")
	}
	return []byte(o.Location), nil
}

func TestReadAhead(t *testing.T) {
	list := func(n int, length int64) []iceberg.ManifestFile {
		var out []iceberg.ManifestFile
		for i := range n {
			out = append(out, iceberg.NewManifestFile(2, fmt.Sprintf("s3://lake/%d", i), length, 0, 1).Build())
		}
		return out
	}
	read := func(t *testing.T, manifests []iceberg.ManifestFile, skip func(int) bool) (*slow, time.Duration) {
		t.Helper()
		store := &slow{}
		roots, err := catalog.NewFiles("s3://lake")
		if err != nil {
			t.Fatal(err)
		}
		files, err := roots.With("x", catalog.Opened{Store: store})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		m := manifestFiles{ctx: t.Context(), files: files, ahead: readAhead(t.Context(), files, manifests)}
		for i, manifest := range manifests {
			if skip(i) {
				continue
			}
			data, err := m.read(manifest.FilePath())
			switch {
			case i == 3 && errors.Is(err, errGone), i == 5 && err != nil:
			case err != nil || string(data) != manifest.FilePath():
				t.Errorf("%d: %q, %v", i, data, err)
			}
		}
		m.ahead.close()
		return store, time.Since(start)
	}
	none := func(int) bool { return false }
	for _, c := range []struct {
		name      string
		manifests []iceberg.ManifestFile
		skip      func(int) bool
		most      int32
		reads     int32
		took      time.Duration
	}{
		{"many", list(24, 1), none, 8, 24, 3 * time.Second},
		{"few", list(3, 1), none, 3, 3, time.Second},
		{"one", list(1, 1), none, 1, 1, time.Second},
		{"none", nil, none, 0, 0, 0},
		{"long ones", list(3, aheadBytes+1), none, 1, 3, 3 * time.Second},
		{"some that nobody takes", list(24, 1), func(i int) bool { return i < 20 }, 8, 24, 3 * time.Second},
		{"one twice", append(list(2, 1), list(2, 1)...), none, 2, 4, 3 * time.Second},
		{"all that nobody takes", list(24, 1), func(int) bool { return true }, 8, 8, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, took := read(t, c.manifests, c.skip)
				if store.most.Load() > c.most || store.reads.Load() > c.reads || c.took > 0 && (store.most.Load() != c.most || store.reads.Load() != c.reads) || took != c.took {
					t.Errorf("%d at once of %d in %v, want %d of %d in %v", store.most.Load(), store.reads.Load(), took, c.most, c.reads, c.took)
				}
			})
		})
	}
}

// The tables of a statement wait for their stores together, and what is wrong with one is said of that one.
func TestTogether(t *testing.T) {
	const second = time.Second
	synctest.Test(t, func(t *testing.T) {
		store := &slow{}
		roots, err := catalog.NewFiles("s3://lake")
		if err != nil {
			t.Fatal(err)
		}
		files, err := roots.With("x", catalog.Opened{Store: store})
		if err != nil {
			t.Fatal(err)
		}
		p := newPlanner(t)
		var tables []*catalog.Table
		for i := range 10 {
			tables = append(tables, storedTable(t, files, fmt.Sprintf("s3://lake/%d", i)))
		}
		local := storedTable(t, catalog.Files{}, "/nowhere")
		start := time.Now()
		known := p.together(t.Context(), append(tables, tables[0], local, &catalog.Table{}))
		if took := time.Since(start); took != 2*second || len(known) != len(tables) || store.reads.Load() != 10 {
			t.Errorf("%d of %d tables in %v", len(known), len(tables), took)
		}
		for i, tbl := range tables {
			asked := false
			s, err := known.of(tbl, func() (*snapshot, error) { asked = true; return nil, nil })
			var unreadable *UnreadableError
			if s != nil || asked || !errors.As(err, &unreadable) || errors.Is(err, errGone) != (i == 3) { // no store of this test has a list of manifests
				t.Errorf("%d: %v, %v", i, s, err)
			}
		}
		if s, err := known.of(local, func() (*snapshot, error) { return &snapshot{}, nil }); s == nil || err != nil {
			t.Errorf("a local table: %v", err)
		}
	})
}

// storedTable returns a table whose manifest list is there.
func storedTable(t *testing.T, files catalog.Files, list string) *catalog.Table {
	t.Helper()
	schema := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64})
	md, err := table.NewMetadata(schema, iceberg.UnpartitionedSpec, table.UnsortedSortOrder, "s3://lake/t", nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := catalog.NewTable("lake", "shop", list, table.New([]string{"shop", list}, md, list+".json", nil, nil), files, nil)
	if err != nil {
		t.Fatal(err)
	}
	out.Snapshot = &table.Snapshot{SnapshotID: 1, ManifestList: list}
	return out
}
