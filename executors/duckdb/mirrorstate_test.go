package duckdb

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gatehouse/executors"
	"gatehouse/objects"
	"gatehouse/objects/objectstest"
	"gatehouse/plan"
)

// TestScopes: what came under one scope is not shown to another.
func TestScopes(t *testing.T) {
	server := objectstest.Start(t)
	path, _ := writeParquet(t, t.TempDir(), "a.parquet", layoutQuery, layoutIDs)
	x := open(t, Config{})
	s := put(t, server, layoutFields[:2], layoutRows, path)
	for _, c := range []struct {
		scope string
		keys  objectstest.Keys
		asked bool
		kind  executors.Kind
	}{
		{"alice", server.Reader, true, -1},
		{"alice", server.Reader, false, -1},
		{"bob", server.Stranger, true, executors.KindRefused},
		{"bob", server.Reader, true, -1},
	} {
		store := &counted{Store: server.Store(t, c.keys), scope: c.scope}
		s.Objects = store
		if _, err := scanRows(t, x, relation(s)); kindOf(err) != c.kind || (store.reads.Load() > 0) != c.asked {
			t.Errorf("%s: %v after %d requests", c.scope, err, store.reads.Load())
		}
	}
}

// TestFetchedOnce runs statements at once that need the same columns: no byte of them is asked for twice. If the one that asks gives up, another one
// asks.
func TestFetchedOnce(t *testing.T) {
	server := objectstest.Start(t)
	path, _ := writeParquet(t, t.TempDir(), "a.parquet", layoutQuery, layoutIDs+", COMPRESSION uncompressed")
	x := sparse(open(t, Config{}))
	s := put(t, server, layoutFields, layoutRows, path)
	entered, leave := make(chan struct{}, 100), make(chan struct{})
	store := &counted{Store: server.Store(t, server.Reader), scope: "s", before: func(ctx context.Context, _ objects.Object, _ int64) error {
		entered <- struct{}{}
		select {
		case <-leave:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
	s.Objects = store
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var failed, done atomic.Int64
	run := func(ctx context.Context) {
		defer all.Done()
		p, err := x.newPrepared(owner{})
		if err != nil {
			t.Error(err)
			return
		}
		defer p.Close()
		defer p.free()
		if err := p.openObjects(ctx, []plan.Relation{*relation(s)}); errors.Is(err, context.Canceled) {
			failed.Add(1)
		} else if err != nil {
			t.Error(err)
		} else {
			done.Add(1)
		}
	}
	all.Add(1)
	go run(ctx)
	<-entered
	all.Add(8)
	for range 8 {
		go run(t.Context())
	}
	cancel()
	<-entered // by one of the others
	close(leave)
	all.Wait()
	if failed.Load() != 1 || done.Load() != 8 {
		t.Errorf("%d gave up, %d have the footer", failed.Load(), done.Load())
	}
	store.before = nil
	all.Add(8)
	for range 8 {
		go func() {
			defer all.Done()
			if _, err := scanRows(t, x, relation(s)); err != nil {
				t.Error(err)
			}
		}()
	}
	all.Wait()
	asked := map[int64]int{}
	for _, s := range store.seen[1:] {
		if asked[s.from]++; asked[s.from] > 1 {
			t.Errorf("%d bytes at %d were asked for twice", s.size(), s.from)
		}
	}
	if len(asked) < 3 {
		t.Errorf("only %d requests", len(asked))
	}
}

// TestColumnsAtOnce runs statements at once that read other columns of one mirror, while it grows.
func TestColumnsAtOnce(t *testing.T) {
	server := objectstest.Start(t)
	path, _ := writeParquet(t, t.TempDir(), "a.parquet", layoutQuery, layoutIDs)
	x := sparse(open(t, Config{}))
	s := put(t, server, nil, layoutRows, path)
	real := server.Store(t, server.Reader)
	for round := range 5 {
		store := &counted{Store: real, scope: fmt.Sprint(round)}
		var all sync.WaitGroup
		for i := range len(layoutFields) - 2 {
			all.Go(func() {
				own := s
				own.Fields = layoutFields[i : i+3]
				want, err := scanRows(t, x, relation(atHome(own)))
				own.Objects = store
				if got, failed := scanRows(t, x, relation(own)); err != nil || failed != nil || got != want || want == "" {
					t.Errorf("columns from %d on: %v, %v, rows equal: %t", i, err, failed, got == want)
				}
			})
		}
		all.Wait()
	}
}

// TestFetchingEnds: the end of the caller, of the statement's time, of the statement and of the executor end requests at once.
func TestFetchingEnds(t *testing.T) {
	server := objectstest.Start(t)
	path, _ := writeParquet(t, t.TempDir(), "a.parquet", layoutQuery, layoutIDs)
	s := put(t, server, layoutFields, layoutRows, path)
	for name, c := range map[string]struct {
		end  func(x *Executor, p *Prepared, cancel func())
		want error
	}{
		"caller":    {func(_ *Executor, _ *Prepared, cancel func()) { cancel() }, context.Canceled},
		"statement": {func(_ *Executor, p *Prepared, _ func()) { _ = p.Close() }, executors.ErrClosed},
		"executor":  {func(x *Executor, _ *Prepared, _ func()) { _ = x.Close() }, executors.ErrClosed},
		"guard":     {func(_ *Executor, p *Prepared, _ func()) { p.stop(errHeld) }, errHeld},
	} {
		x := open(t, Config{})
		entered := make(chan struct{}, 1)
		s.Objects = &counted{Store: server.Store(t, server.Reader), scope: "s", before: func(ctx context.Context, _ objects.Object, _ int64) error {
			entered <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}}
		p, err := x.newPrepared(owner{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error)
		go func() {
			err := p.openObjects(ctx, []plan.Relation{*relation(s)})
			p.free()
			got <- err
		}()
		<-entered
		var ending sync.WaitGroup
		ending.Go(func() { c.end(x, p, cancel) })
		if err := <-got; !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		ending.Wait()
		cancel()
		_ = p.Close()
		if len(x.files.links) > 0 || x.files.copied != 0 {
			t.Errorf("%s: %d links, %d bytes are left", name, len(x.files.links), x.files.copied)
		}
	}
	x := open(t, Config{})
	p, err := x.newPrepared(owner{})
	if err != nil {
		t.Fatal(err)
	}
	p.end = time.Now()
	ctx, cancel := p.until(t.Context())
	defer cancel()
	if err := p.openObjects(ctx, []plan.Relation{*relation(s)}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the deadline: %v", err)
	}
	p.free()
	_ = p.Close()
}

var errHeld = errors.New("held too much")

// TestMirrorSpace: what was fetched counts, what was not used for the longest time goes first, and what is in use stays.
func TestMirrorSpace(t *testing.T) {
	server := objectstest.Start(t)
	folder := t.TempDir()
	var tables []plan.Scan
	var size int64
	for i := range 4 {
		path, n := writeParquet(t, folder, fmt.Sprintf("%d.parquet", i), layoutQuery, layoutIDs)
		tables = append(tables, put(t, server, layoutFields[:3], layoutRows, path))
		tables[i].Objects = server.Store(t, server.Reader)
		size = n
	}
	x := open(t, Config{CopyBytes: size*3 + 100})
	read := func(i int) (asked bool) {
		t.Helper()
		store := &counted{Store: server.Store(t, server.Reader), scope: "s"}
		tables[i].Objects = store
		if _, err := scanRows(t, x, relation(tables[i])); err != nil {
			t.Fatal(err)
		}
		return store.reads.Load() > 0
	}
	for step, c := range []struct {
		table int
		asked bool
	}{{0, true}, {1, true}, {2, true}, {0, false}, {3, true}, {0, false}, {2, false}, {1, true}, {3, true}, {2, false}} {
		if asked := read(c.table); asked != c.asked {
			t.Errorf("step %d, table %d: asked for: %t", step, c.table, asked)
		}
	}
	if x.files.copied > x.files.space || x.files.copied < 3*size {
		t.Errorf("%d bytes count", x.files.copied)
	}
	// One statement that needs all of them.
	all := tables[0]
	all.Files = append(append(append([]plan.File{}, all.Files...), tables[1].Files...), append(tables[2].Files, tables[3].Files...)...)
	_, err := scanRows(t, x, relation(all))
	if e := asError(err); e == nil || e.Kind != executors.KindMemory || !strings.Contains(e.Error(), "executor.copies") {
		t.Errorf("four files where three have room: %v", err)
	}
	if read(0); x.files.copied > x.files.space {
		t.Errorf("%d bytes count", x.files.copied)
	}
}

// TestUsersShareSpace: the statements of one user cannot take the room of others, however often they hold a file.
func TestUsersShareSpace(t *testing.T) {
	server := objectstest.Start(t)
	x := open(t, Config{CopyBytes: 4000})
	store := server.Store(t, server.Reader)
	all := map[string]*pins{}
	read := func(user, key string) error {
		if all[user] == nil {
			all[user] = &pins{files: x.files, user: user}
			t.Cleanup(all[user].release)
		}
		o := server.Put(t, key, make([]byte, 900))
		m, err := all[user].object(store, o.Location, o.Size, dataExtension)
		if err != nil {
			return err
		}
		own := requests{own: make(chan struct{}, 1), all: x.files.requests}
		return m.footer(t.Context(), caller{store, own, user})
	}
	for _, c := range []struct {
		user, key string
		ok        bool
	}{
		{"a", "1", true},
		{"a", "1", true},
		{"b", "1", true}, // is there, and counts for both
		{"b", "2", true},
		{"b", "6", false},
		{"a", "2", true},
		{"a", "7", false},
		{"c", "3", true},
		{"c", "4", true},
		{"d", "5", false}, // all is in use
	} {
		if err := read(c.user, c.key); (err == nil) != c.ok || err != nil && kindOf(err) != executors.KindMemory {
			t.Errorf("%s reads %s: %v", c.user, c.key, err)
		}
	}
	all["b"].release()
	all["c"].release()
	if err := read("d", "5"); err != nil {
		t.Errorf("after others have ended: %v", err)
	}
	if held := x.files.users["a"].held; held != 1800 {
		t.Errorf("%d bytes count for a", held)
	}
}

// TestDiskFull: where the disk is full, a statement fails, and what nobody uses makes room for the next.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=600k"); err != nil {
		t.Skipf("no small disk: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	server := objectstest.Start(t)
	folder := t.TempDir()
	var tables []plan.Scan
	for i := range 2 {
		path, size := writeParquet(t, folder, fmt.Sprintf("%d.parquet", i), layoutQuery, layoutIDs+", COMPRESSION uncompressed, DICTIONARY_SIZE_LIMIT 1")
		if size < 310<<10 || size > 512<<10 {
			t.Fatalf("%d bytes", size)
		}
		tables = append(tables, put(t, server, layoutFields[:3], layoutRows, path))
		tables[i].Objects = server.Store(t, server.Reader)
	}
	x, err := New(Config{Verifier: nobody{}, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if _, err := scanRows(t, x, relation(tables[0])); err != nil {
		t.Fatal(err)
	}
	_, err = scanRows(t, x, relation(tables[1]))
	if e := asError(err); e == nil || e.Kind != executors.KindMemory || !strings.Contains(e.Error(), "executor.dir") {
		t.Errorf("a full disk: %v", err)
	}
	if _, err := scanRows(t, x, relation(tables[1])); err != nil {
		t.Errorf("after room was made: %v", err)
	}
}

// TestDeletesInStores reads each kind of delete files from a server, by parts.
func TestDeletesInStores(t *testing.T) {
	server := objectstest.Start(t)
	folder := t.TempDir()
	path, _ := writeParquet(t, folder, "a.parquet", "SELECT i::BIGINT AS a, 'x' || i AS b FROM range(6) t(i)", ", FIELD_IDS {a: 1, b: 2}")
	fields := []plan.Field{{ID: 1, Name: "a", Type: "BIGINT"}, {ID: 2, Name: "b", Type: "VARCHAR"}}
	data := put(t, server, fields, 6, path)
	store := &counted{Store: server.Store(t, server.Reader), scope: "s"}
	data.Objects = store
	upload := func(path string) (string, int64) {
		s := put(t, server, nil, 0, path)
		return s.Files[0].Path, s.Files[0].Size
	}
	positions, _ := writeParquet(t, folder, "p.parquet", "SELECT "+literal(data.Files[0].Path)+" AS file_path, 1::BIGINT AS pos UNION ALL SELECT 's3://lake/other', 2",
		fmt.Sprintf(", FIELD_IDS {file_path: %d, pos: %d}", executors.DeletePathID, executors.DeletePositionID))
	equal, _ := writeParquet(t, folder, "e.parquet", "SELECT 'x3' AS b, 'more' AS more", ", FIELD_IDS {b: 2, more: 9}")
	where, size := upload(positions)
	data.Deletes = []plan.DeleteFile{{Kind: plan.PositionDeletes, Path: where, Size: size, Rows: 2}}
	where, size = upload(equal)
	data.Deletes = append(data.Deletes, plan.DeleteFile{Kind: plan.EqualityDeletes, Path: where, Size: size, Rows: 1, Equality: fields[1:]})
	data.Files[0].Deletes = []int{0, 1}
	x := sparse(open(t, Config{}))
	for range 2 {
		if got, err := scanRows(t, x, relation(data)); err != nil || got != "0|2|4|5 / x0|x2|x4|x5" {
			t.Errorf("%q, %v", got, err)
		}
	}
	before := store.reads.Load()
	if _, err := scanRows(t, x, relation(data)); err != nil || store.reads.Load() != before {
		t.Errorf("%v, %d requests", err, store.reads.Load()-before)
	}
}

// TestRequestsAreBounded reads many files at once.
func TestRequestsAreBounded(t *testing.T) {
	server := objectstest.Start(t)
	folder := t.TempDir()
	s := plan.Scan{Fields: layoutFields[:1]}
	for i := range 40 {
		path, _ := writeParquet(t, folder, fmt.Sprintf("%d.parquet", i), "SELECT 1::BIGINT AS a", ", FIELD_IDS {a: 1}")
		s.Files = append(s.Files, put(t, server, nil, 1, path).Files...)
	}
	var now, most atomic.Int64
	store := &counted{Store: server.Store(t, server.Reader), scope: "s"}
	store.before = func(context.Context, objects.Object, int64) error {
		n := now.Add(1)
		for {
			if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
				return nil
			}
		}
	}
	store.after = func(objects.Object, []byte, int64) { now.Add(-1) }
	s.Objects = store
	x := sparse(open(t, Config{}))
	if _, err := scanRows(t, x, relation(s)); err != nil {
		t.Fatal(err)
	}
	if m := most.Load(); m < 4 || m > userRequests {
		t.Errorf("%d requests at once", m)
	}
}

func TestSpans(t *testing.T) {
	for _, c := range []struct{ in, want []span }{
		{nil, nil},
		{[]span{{5, 5}, {0, 0}}, nil},
		{[]span{{10, 20}, {0, 5}}, []span{{0, 20}}},
		{[]span{{0, 5}, {5 + spanGap, 6 + spanGap}}, []span{{0, 5}, {5 + spanGap, 6 + spanGap}}},
		{[]span{{0, 5}, {4 + spanGap, 6 + spanGap}}, []span{{0, 6 + spanGap}}},
		{[]span{{0, 50}, {10, 20}}, []span{{0, 50}}},
	} {
		if got := joined(c.in); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%v: %v, want %v", c.in, got, c.want)
		}
	}
	cut := pieces([]span{{1, 1 + 2*pieceBytes + 3}, {1 << 40, 1<<40 + 1}})
	if len(cut) != 4 || total(cut) != 2*pieceBytes+4 || cut[2] != (span{1 + 2*pieceBytes, 4 + 2*pieceBytes}) {
		t.Errorf("%v", cut)
	}
}

// TestPageHeadersAsTheEngineReadsThem: what is another field for the engine, or more than its 32 bits hold, is none of what a page's header has to
// say: else the walk through the pages would end where the engine reads on, into a hole.
func TestPageHeadersAsTheEngineReadsThem(t *testing.T) {
	integer := func(head byte, n int64) []byte { return binary.AppendVarint([]byte{head}, n) }
	for _, c := range []struct {
		name         string
		size, values []byte
		ok           bool
	}{
		{"the control", integer(0x15, 40), integer(0x15, 7), true},
		{"a size of 64 bits", integer(0x16, 40), integer(0x15, 7), false},
		{"a size of 64 bits after one that counts", append(integer(0x15, 90), append([]byte{0x06}, append(binary.AppendVarint(nil, 3), binary.AppendVarint(nil, 40)...)...)...), integer(0x15, 7), true},
		{"a size that is too large", integer(0x15, 1<<31), integer(0x15, 7), false},
		{"values of 16 bits", integer(0x15, 40), integer(0x14, 7), false},
		{"too many values", integer(0x15, 40), integer(0x15, 1<<32+7), false},
		{"an id that is taken for another", append([]byte{0x05}, append(binary.AppendVarint(nil, 1<<16+3), binary.AppendVarint(nil, 40)...)...), integer(0x15, 7), true},
	} {
		in := slices.Concat(integer(0x15, dataPage), integer(0x15, 80), c.size, []byte{0x0c}, binary.AppendVarint(nil, pageData), c.values, []byte{stop, stop})
		h, err := readPageHeader(strings.NewReader(string(in)), span{0, int64(len(in))})
		want := int64(40)
		if strings.Contains(c.name, "after") {
			want = 90
		}
		if (err == nil) != c.ok || c.ok && (h.size != want || h.values != 7) {
			t.Errorf("%s: %+v, %v", c.name, h, err)
		}
	}
}

// FuzzPageHeader: any bytes are a header within its bounds, or an error.
func FuzzPageHeader(f *testing.F) {
	for _, path := range layouts(f, f.TempDir()) {
		chunks, err := columnChunks(path, []int64{0, 2})
		if err != nil {
			f.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, c := range chunks {
			f.Add(data[c.first:min(c.first+300, c.to)])
		}
	}
	f.Add(make([]byte, 100))
	f.Fuzz(func(t *testing.T, in []byte) {
		h, err := readPageHeader(strings.NewReader(string(in)), span{0, int64(len(in))})
		if err == nil && (h.length <= 0 || h.length > int64(len(in)) || h.size < 0 || h.values < 0) {
			t.Errorf("%+v of %d bytes", h, len(in))
		}
		if err != nil && h != (pageHeader{}) {
			t.Errorf("%+v and %v", h, err)
		}
	})
}
