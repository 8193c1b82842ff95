package duckdb

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"gatehouse/executors"
	"gatehouse/objects"
	"gatehouse/objects/objectstest"
	"gatehouse/plan"
)

// mirrorOf returns the only mirror that x has.
func mirrorOf(t *testing.T, x *Executor) *link {
	t.Helper()
	x.files.mu.Lock()
	defer x.files.mu.Unlock()
	for _, l := range x.files.links {
		if l.mirror != nil && len(x.files.links) == 1 {
			return l
		}
	}
	t.Fatalf("%d links", len(x.files.links))
	return nil
}

// TestEngineFailsOnHoles makes each column chunk of a mirror a hole, behind the back of what checks mirrors: a statement that reads it fails, and
// the others do not notice.
func TestEngineFailsOnHoles(t *testing.T) {
	server := objectstest.Start(t)
	holes := 0
	for _, path := range layouts(t, t.TempDir()) {
		x := sparse(open(t, Config{}))
		s := put(t, server, nil, layoutRows, path)
		s.Objects = &counted{Store: server.Store(t, server.Reader), scope: "s"}
		for i, f := range layoutFields {
			s.Fields = []plan.Field{f}
			want, err := scanRows(t, x, relation(s))
			if err != nil {
				t.Fatal(err)
			}
			l := mirrorOf(t, x)
			chunks, err := columnChunks(l.path, columnsOfFile(t, l.path, f))
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range chunks {
				kept := make([]byte, c.size())
				file, err := os.OpenFile(l.path, os.O_RDWR, 0)
				if err == nil {
					_, err = file.ReadAt(kept, c.from)
				}
				if err == nil {
					_, err = file.WriteAt(make([]byte, c.size()), c.from)
				}
				if err != nil {
					t.Fatal(err)
				}
				got, err := scanRows(t, x, relation(s))
				if kindOf(err) != executors.KindData {
					t.Errorf("%s, column %d without the chunk at %d: %v, rows %.60q", path, i, c.from, err, got)
				}
				if _, err := file.WriteAt(kept, c.from); err != nil {
					t.Fatal(err)
				}
				_ = file.Close()
				holes++
			}
			if got, err := scanRows(t, x, relation(s)); err != nil || got != want {
				t.Errorf("%s, column %d, with all chunks again: %v", path, i, err)
			}
		}
	}
	if holes < 150 {
		t.Errorf("only %d holes", holes)
	}
}

func columnsOfFile(t *testing.T, path string, fields ...plan.Field) []int64 {
	t.Helper()
	ft, err := readFooter(path)
	if err != nil {
		t.Fatal(err)
	}
	return columnsOf(fields, ft, nil)
}

// TestLostChunks has a store lose one column chunk, or cut it short, on the way: whoever reads it gets an error and no rows.
func TestLostChunks(t *testing.T) {
	server := objectstest.Start(t)
	for _, path := range layouts(t, t.TempDir()) {
		s := put(t, server, layoutFields, layoutRows, path)
		chunks, err := columnChunks(path, columnsOfFile(t, path, layoutFields...))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(chunks); i += 5 {
			x := sparse(open(t, Config{}))
			lost := &counted{Store: server.Store(t, server.Reader), scope: "s"}
			lost.after = func(_ objects.Object, p []byte, from int64) {
				if c := chunks[i]; from <= c.from && from+int64(len(p)) >= c.to {
					clear(p[c.from-from : c.to-from])
				}
			}
			s.Objects = lost
			if got, err := scanRows(t, x, relation(s)); kindOf(err) != executors.KindData {
				t.Errorf("%s without the chunk at %d: %v, %.60q", path, chunks[i].from, err, got)
			}
			lost.after = nil
			if got, err := scanRows(t, x, relation(s)); err != nil || got == "" {
				t.Errorf("%s with all chunks: %v", path, err)
			}
		}
	}
}

// TestPagesBeyondTheirChunk: a chunk that is shorter than its pages, as a damaged footer may have it, is refused. The control is the right length.
func TestPagesBeyondTheirChunk(t *testing.T) {
	for _, path := range layouts(t, t.TempDir()) {
		chunks, err := columnChunks(path, columnsOfFile(t, path, layoutFields...))
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range chunks {
			if _, err := checkChunks(t.Context(), path, info.Size(), []chunk{c}); err != nil {
				t.Errorf("%s, chunk at %d: %v", path, c.from, err)
			}
			for _, less := range []int64{1, 7, c.size() / 2, c.size() - 1} {
				short := c
				short.to -= max(1, less)
				if _, err := checkChunks(t.Context(), path, info.Size(), []chunk{short}); err == nil {
					t.Errorf("%s, chunk at %d, %d bytes shorter: no error", path, c.from, less)
				}
			}
		}
	}
}

// TestFootersThatLie reads a file whose footer makes its column chunk shorter than its pages are. The engine does not mind, and would take the hole
// that a mirror has there for values.
func TestFootersThatLie(t *testing.T) {
	server := objectstest.Start(t)
	path, _ := writeParquet(t, t.TempDir(), "a.parquet", "SELECT (hash(i) >> 1)::BIGINT AS a FROM range(2000) t(i)", ", FIELD_IDS {a: 1}, COMPRESSION uncompressed")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := columnChunks(path, []int64{0})
	if err != nil || len(chunks) != 1 {
		t.Fatal(chunks, err)
	}
	size := chunks[0].size()
	old, lie := string(binary.AppendVarint(nil, size)), string(binary.AppendVarint(nil, size-1000))
	if footer := string(data[chunks[0].to:]); len(old) != len(lie) || strings.Count(footer, old) == 0 {
		t.Fatalf("%q is not in the footer", old)
	} else {
		data = append(data[:chunks[0].to], strings.ReplaceAll(footer, old, lie)...)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	s := put(t, server, []plan.Field{{ID: 1, Name: "a", Type: "BIGINT"}}, 2000, path)
	x := sparse(open(t, Config{}))
	if _, err := scanRows(t, x, relation(atHome(s))); err != nil {
		t.Errorf("local: %v", err)
	}
	s.Objects = server.Store(t, server.Reader)
	if got, err := scanRows(t, x, relation(s)); kindOf(err) != executors.KindData {
		t.Errorf("%v, %.100q", err, got)
	}
}

// TestSizesThatLie: a manifest that says another size than the object has makes the table's data unreadable, and nothing else is wrong.
func TestSizesThatLie(t *testing.T) {
	server := objectstest.Start(t)
	x := sparse(open(t, Config{}))
	path, size := writeParquet(t, t.TempDir(), "a.parquet", "SELECT i::BIGINT AS a FROM range(3) t(i)", ", FIELD_IDS {a: 1}")
	s := put(t, server, []plan.Field{{ID: 1, Name: "a", Type: "BIGINT"}}, 3, path)
	s.Objects = server.Store(t, server.Reader)
	for _, lie := range []int64{-5, 0, 1, 7, 8, 12, size - 1, size + 1, 1 << 40, 1 << 62, math.MaxInt64} {
		s.Files[0].Size = lie
		if got, err := scanRows(t, x, relation(s)); kindOf(err) != executors.KindData {
			t.Errorf("%d bytes: %v, %v", lie, got, err)
		}
	}
	s.Files[0].Size = size
	if got, err := scanRows(t, x, relation(s)); err != nil || got != "0|1|2" {
		t.Errorf("the control: %v, %v", got, err)
	}
}

// TestChunksWithoutValues: a column chunk that says that it has no values, and lies nowhere, is passed over where there are no rows, and nowhere else.
func TestChunksWithoutValues(t *testing.T) {
	path, _ := writeParquet(t, t.TempDir(), "a.parquet", "SELECT (hash(i) >> 1)::BIGINT AS a FROM range(2000) t(i)", ", FIELD_IDS {a: 1}, COMPRESSION uncompressed")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := columnChunks(path, []int64{0})
	if err != nil || len(chunks) != 1 {
		t.Fatal(chunks, err)
	}
	none := string([]byte{0x80, 0})
	rows, size := string(binary.AppendVarint(nil, 2000)), string(binary.AppendVarint(nil, chunks[0].size()))
	parts := strings.Split(string(data[chunks[0].to:]), rows)
	if len(parts) != 4 || len(rows) != len(none) { // of the file, of the chunk, of the row group
		t.Fatalf("%d numbers of rows in the footer", len(parts)-1)
	}
	for _, c := range []struct {
		rows string
		want bool
	}{{rows, false}, {none, true}} {
		lie := parts[0] + c.rows + parts[1] + none + strings.ReplaceAll(parts[2], size, string(binary.AppendVarint(nil, 1_000_000))) + c.rows + parts[3]
		if err := os.WriteFile(path, append(slices.Clip(data[:chunks[0].to]), lie...), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := columnChunks(path, []int64{0}); (err == nil) != c.want || len(got) != 0 {
			t.Errorf("%q rows: %v, %v", c.rows, got, err)
		}
	}
}

// TestBloomFilters: what a footer does not tell of a Bloom filter's length its own header does.
func TestBloomFilters(t *testing.T) {
	found := 0
	for _, path := range layouts(t, t.TempDir()) {
		chunks, err := columnChunks(path, columnsOfFile(t, path, layoutFields...))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range chunks {
			if c.bloom.size() == 0 {
				continue
			}
			found++
			short := c
			short.bloom.to = c.bloom.from + min(bloomHead, c.bloom.size()-1)
			if more, err := checkChunks(t.Context(), path, 1<<40, []chunk{short}); err != nil || len(more) != 1 || more[0] != (span{short.bloom.to, c.bloom.to}) {
				t.Errorf("%s: %v is missing of %v, %v", path, more, c.bloom, err)
			}
			if more, err := checkChunks(t.Context(), path, 1<<40, []chunk{c}); err != nil || len(more) != 0 {
				t.Errorf("%s: %v is missing, %v", path, more, err)
			}
			if _, err := checkChunks(t.Context(), path, c.bloom.to-1, []chunk{c}); err == nil {
				t.Errorf("%s: a Bloom filter beyond the file", path)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d Bloom filters", found)
	}
}

// TestFailuresOfStores checks what a statement ends with, that no bytes count for it, and that the next one starts anew.
func TestFailuresOfStores(t *testing.T) {
	server := objectstest.Start(t)
	path, _ := writeParquet(t, t.TempDir(), "a.parquet", layoutQuery, layoutIDs)
	s := put(t, server, layoutFields[:2], layoutRows, path)
	want, err := scanRows(t, open(t, Config{}), relation(atHome(s)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		err  error
		kind executors.Kind
	}{
		{objects.ErrRefused, executors.KindRefused},
		{objects.ErrExpired, executors.KindUnavailable},
		{objects.ErrUnavailable, executors.KindUnavailable},
		{objects.ErrNotFound, executors.KindData},
		{objects.ErrChanged, executors.KindData},
		{errors.New("canary"), executors.KindInternal},
	} {
		for first := range 4 { // that fails: the tail, the footer, columns
			x := sparse(open(t, Config{}))
			store := &counted{Store: server.Store(t, server.Reader), scope: "s"}
			store.before = func(context.Context, objects.Object, int64) error {
				if store.reads.Load() > int64(first) {
					return fmt.Errorf("canary of the store: %w", c.err)
				}
				return nil
			}
			s.Objects = store
			_, err := scanRows(t, x, relation(s))
			if kindOf(err) != c.kind && (err != nil || int64(first) < store.reads.Load()) {
				t.Errorf("%v at request %d: %v", c.err, first, err)
			}
			if err != nil && strings.Contains(err.Error(), "canary") {
				t.Errorf("%v at request %d: a text of the store's: %v", c.err, first, err)
			}
			store.before = nil
			if got, err := scanRows(t, x, relation(s)); err != nil || got != want {
				t.Errorf("%v at request %d, the next one: %v", c.err, first, err)
			}
		}
	}
	for name, keys := range map[string]objectstest.Keys{"may not read": server.Stranger, "wrong": {ID: "NOBODY", Secret: "nothing"}} {
		x := open(t, Config{})
		s.Objects = server.Store(t, keys)
		if _, err := scanRows(t, x, relation(s)); kindOf(err) != executors.KindRefused {
			t.Errorf("%s: %v", name, err)
		}
		if len(x.files.links) != 0 || x.files.copied != 0 {
			t.Errorf("%s: %d links, %d bytes", name, len(x.files.links), x.files.copied)
		}
	}
	s.Objects = server.Store(t, server.Reader)
	s.Files[0].Size++
	if _, err := scanRows(t, open(t, Config{}), relation(s)); kindOf(err) != executors.KindData {
		t.Errorf("another size: %v", err)
	}
}

// TestReplacedObject: an object that is replaced by one of the same size fails the statement that needs more of it, and the next one reads the new
// object alone.
func TestReplacedObject(t *testing.T) {
	server := objectstest.Start(t)
	folder := t.TempDir()
	text := func(name string) (string, []byte) {
		path, _ := writeParquet(t, folder, name+".parquet", "SELECT '"+name+" 1' AS a, '"+name+" 2' AS b", ", FIELD_IDS {a: 1, b: 2}")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return path, data
	}
	old, first := text("old")
	_, second := text("new")
	if len(first) != len(second) {
		t.Fatalf("%d and %d bytes", len(first), len(second))
	}
	x := sparse(open(t, Config{}))
	a, b := plan.Field{ID: 1, Name: "a", Type: "VARCHAR"}, plan.Field{ID: 2, Name: "b", Type: "VARCHAR"}
	s := put(t, server, nil, 1, old)
	s.Objects = server.Store(t, server.Reader)
	read := func(want string, fields ...plan.Field) error {
		t.Helper()
		s.Fields = fields
		got, err := scanRows(t, x, relation(s))
		if err == nil && got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		return err
	}
	if err := read("old 1", a); err != nil {
		t.Fatal(err)
	}
	server.Put(t, strings.TrimPrefix(old, "/"), second)
	if err := read("old 1", a); err != nil { // it is there
		t.Fatal(err)
	}
	if err := read("", a, b); kindOf(err) != executors.KindData {
		t.Errorf("one column of the old object and one of the new: %v", err)
	}
	if err := read("new 1 / new 2", a, b); err != nil {
		t.Error(err)
	}
	if files, err := os.ReadDir(x.files.data); err != nil || len(files) != 1 {
		t.Errorf("%d files, %v", len(files), err)
	}
}

// TestTags: a store that answers with another object than was asked for is not believed.
func TestTags(t *testing.T) {
	m := &mirror{object: objects.Object{Size: 10}}
	for _, c := range []struct {
		size int64
		tag  string
		ok   bool
	}{{10, "", false}, {9, "a", false}, {10, "a", true}, {10, "a", true}, {10, "b", false}, {10, "", false}, {11, "a", false}, {10, "a", true}} {
		if err := m.same(objects.Object{Size: c.size, Tag: c.tag}); (err == nil) != c.ok {
			t.Errorf("%d bytes, tag %q: %v", c.size, c.tag, err)
		}
	}
}
