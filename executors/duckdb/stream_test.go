package duckdb

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"gatehouse/executors"
)

func run(t *testing.T, x *Executor, ctx context.Context, text string) (*Prepared, array.RecordReader) {
	t.Helper()
	s, err := x.raw(text, 0)
	if err != nil {
		t.Fatalf("%v (%v)", err, cause1(err))
	}
	t.Cleanup(func() { _ = s.Close() })
	r, err := s.Execute(ctx, nil)
	if err != nil {
		t.Fatalf("%v (%v)", err, cause1(err))
	}
	return s, r
}

func TestBatches(t *testing.T) {
	x := open(t, Config{})
	for name, text := range map[string]string{
		"narrow": "SELECT i FROM range(1000000) r(i)",
		"wide":   "SELECT i, repeat('x', 1000) FROM range(100000) r(i)",
		"huge":   "SELECT i, repeat('x', 2000000) FROM range(20) r(i)",
		"nulls":  "SELECT CASE WHEN i % 3 = 0 THEN i END, CASE WHEN i % 5 > 0 THEN [i, NULL] END FROM range(300000) r(i)",
	} {
		t.Run(name, func(t *testing.T) {
			_, r := run(t, x, context.Background(), text)
			defer r.Release()
			var rows, next int64
			batches := 0
			for r.Next() {
				b := r.RecordBatch()
				if batches == 0 && b.NumRows() > 2048 {
					t.Errorf("the first batch waited for %d rows", b.NumRows())
				}
				size := 0
				for _, c := range b.Columns() {
					size += checkCompact(t, c.Data())
					if !c.IsNull(0) && c.DataType().ID() == arrow.INT64 && name != "nulls" {
						if first := c.(*array.Int64).Value(0); first != next {
							t.Fatalf("batch starts with %d, want %d", first, next)
						}
					}
				}
				if b.NumRows() > executors.MaxBatchRows || size > executors.MaxBatchBytes+64 && b.NumRows() > 1 {
					t.Errorf("batch of %d rows and %d bytes", b.NumRows(), size)
				}
				rows += b.NumRows()
				next = rows
				batches++
			}
			if err := r.Err(); err != nil {
				t.Fatal(err)
			}
			want := map[string]int64{"narrow": 1000000, "wide": 100000, "huge": 20, "nulls": 300000}[name]
			if rows != want {
				t.Errorf("%d rows, want %d", rows, want)
			}
		})
	}
}

// checkCompact fails if d holds anything but visible values; it returns the bytes of its buffers.
func checkCompact(t *testing.T, d arrow.ArrayData) int {
	t.Helper()
	if d.Offset() != 0 {
		t.Errorf("%s: offset %d", d.DataType(), d.Offset())
	}
	size := 0
	for i, b := range d.Buffers() {
		if b == nil {
			continue
		}
		size += b.Len()
		for j, c := range b.Buf()[b.Len():cap(b.Buf())] {
			if c != 0 {
				t.Fatalf("%s: buffer %d has %#x at %d after its end", d.DataType(), i, c, j)
			}
		}
	}
	if w, ok := d.DataType().(arrow.FixedWidthDataType); ok && w.BitWidth() >= 8 && len(d.Buffers()) == 2 {
		a := array.MakeFromData(d)
		defer a.Release()
		for i := range a.Len() {
			if a.IsNull(i) {
				for _, c := range d.Buffers()[1].Bytes()[i*w.Bytes() : (i+1)*w.Bytes()] {
					if c != 0 {
						t.Fatalf("%s: a value under the NULL in row %d", d.DataType(), i)
					}
				}
			}
		}
	}
	for _, c := range d.Children() {
		size += checkCompact(t, c)
	}
	return size
}

// endless takes hours and gives its first rows at once.
const endless = "SELECT i, md5(i::VARCHAR) FROM range(100000000000) r(i)"

// silent takes hours and gives no row before.
const silent = "SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE a.range * b.range = -1"

func TestCancel(t *testing.T) {
	x := open(t, Config{})
	before := used(t, x)
	stop := map[string]func(cancel func(), s *Prepared, r array.RecordReader){
		"context": func(cancel func(), _ *Prepared, _ array.RecordReader) { cancel() },
		"release": func(_ func(), _ *Prepared, r array.RecordReader) { r.Release() },
		"close":   func(_ func(), s *Prepared, _ array.RecordReader) { _ = s.Close() },
	}
	for name, end := range stop {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			s, r := run(t, x, ctx, endless)
			r.Retain()
			defer r.Release()
			if !r.Next() {
				t.Fatal(r.Err())
			}
			go func() {
				if name == "release" {
					r.Release() // the Retain of the test
				}
				end(cancel, s, r)
				if name != "release" {
					r.Release()
				}
			}()
			for r.Next() {
			}
			if r.Err() == nil {
				t.Error("the stream ended early without an error")
			}
		})
	}
	if after := used(t, x); after > before+(8<<20) {
		t.Errorf("the engine holds %d bytes, before %d", after, before)
	}
}

func TestCancelBeforeFirstRow(t *testing.T) {
	x := open(t, Config{})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	s, err := x.raw(silent, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := s.Execute(ctx, nil)
	if err == nil {
		for r.Next() {
		}
		err = r.Err()
		r.Release()
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	// The statement can run again: the interrupt is over.
	again, err := x.raw("SELECT 1", 0)
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
}

func TestExecutorCloseEndsStreams(t *testing.T) {
	x := open(t, Config{})
	_, r := run(t, x, context.Background(), endless)
	defer r.Release()
	if !r.Next() {
		t.Fatal(r.Err())
	}
	done := make(chan error)
	go func() { done <- x.Close() }()
	for r.Next() {
	}
	if !errors.Is(r.Err(), executors.ErrClosed) {
		t.Errorf("got %v", r.Err())
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := x.raw("SELECT 1", 0); !errors.Is(err, executors.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestLateError checks that an error after the first rows is not taken for the end.
func TestLateError(t *testing.T) {
	x := open(t, Config{Threads: 1})
	_, r := run(t, x, context.Background(), "SELECT CASE WHEN i = 900000 THEN CAST('x' || i AS INTEGER) ELSE i END FROM range(1000000) r(i)")
	defer r.Release()
	var rows int64
	for r.Next() {
		rows += r.RecordBatch().NumRows()
	}
	e, ok := errors.AsType[*executors.Error](r.Err())
	if !ok || e.Kind != executors.KindConversion || e.Hint != "" {
		t.Errorf("got %v", r.Err())
	}
	if rows == 0 || rows > 900000 {
		t.Errorf("%d rows before the error", rows)
	}
}

func TestSpillAndMemory(t *testing.T) {
	x := open(t, Config{MemoryBytes: 200 << 20, SpillBytes: 4 << 30, Threads: 2})
	_, got := rows(t, x, "SELECT count(*), max(m) FROM (SELECT i, md5(i::VARCHAR) AS m FROM range(6000000) r(i) ORDER BY m LIMIT 5900000)")
	if got[0] != "5900000" {
		t.Errorf("got %v", got)
	}
	x = open(t, Config{MemoryBytes: 60 << 20, SpillBytes: 1 << 20})
	s, err := x.raw("SELECT max(m) FROM (SELECT i, md5(i::VARCHAR) AS m FROM range(6000000) r(i) ORDER BY m LIMIT 5900000)", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := s.Execute(context.Background(), nil)
	if err == nil {
		for r.Next() {
		}
		err = r.Err()
		r.Release()
	}
	if e, ok := errors.AsType[*executors.Error](err); !ok || e.Kind != executors.KindMemory {
		t.Errorf("got %v", err)
	}
}

// used is the engine's memory in bytes.
func used(t *testing.T, x *Executor) int64 {
	t.Helper()
	c, err := x.engine.connect()
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	var n int64
	if err := c.query("SELECT sum(memory_usage_bytes)::BIGINT FROM duckdb_memory()", firstInt(&n)); err != nil {
		t.Fatal(err)
	}
	return n
}

func BenchmarkStream(b *testing.B) {
	x, err := New(Config{Verifier: nobody{}, Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	for name, text := range map[string]string{
		"int64":  "SELECT i FROM range(5000000) r(i)",
		"string": "SELECT 'customer ' || (i % 100000) AS s FROM range(5000000) r(i)",
		"mixed":  "SELECT i, i * 0.5::DOUBLE AS d, 'customer ' || (i % 100000) AS s FROM range(2000000) r(i)",
	} {
		b.Run(name, func(b *testing.B) {
			var rows int64
			for b.Loop() {
				s, err := x.raw(text, 0)
				if err != nil {
					b.Fatal(err)
				}
				r, err := s.Execute(context.Background(), nil)
				if err != nil {
					b.Fatal(err)
				}
				for r.Next() {
					rows += r.RecordBatch().NumRows()
				}
				if r.Err() != nil {
					b.Fatal(r.Err())
				}
				r.Release()
				_ = s.Close()
			}
			b.ReportMetric(float64(rows)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}

func BenchmarkPrepare(b *testing.B) {
	x, err := New(Config{Verifier: nobody{}, Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	for name, text := range map[string]func(i int) string{
		"same text": func(int) string { return "SELECT a, count(*) FROM range(10) r(a) WHERE a > 1 GROUP BY a" },
		"new text": func(i int) string {
			return fmt.Sprintf("SELECT a, count(*) FROM range(10) r(a) WHERE a > %d GROUP BY a", i)
		},
	} {
		b.Run(name, func(b *testing.B) {
			i := 0
			for b.Loop() {
				i++
				s, err := x.raw(text(i), 0)
				if err != nil {
					b.Fatal(err)
				}
				_ = s.Close()
			}
		})
	}
}

// TestManyAtOnce runs statements at once, half of which are cancelled on the way; the other half must be complete.
func TestManyAtOnce(t *testing.T) {
	x := open(t, Config{})
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 10 {
				ctx, cancel := context.WithCancel(context.Background())
				s, err := x.raw("SELECT i FROM range(200000) r(i)", 0)
				if err != nil {
					t.Error(err)
					cancel()
					return
				}
				r, err := s.Execute(ctx, nil)
				if err != nil {
					t.Error(err)
				} else {
					var rows int64
					for r.Next() {
						rows += r.RecordBatch().NumRows()
						if (worker+i)%2 == 0 {
							cancel()
						}
					}
					if err := r.Err(); err == nil && rows != 200000 || err != nil && !errors.Is(err, context.Canceled) {
						t.Errorf("%d rows, %v", rows, err)
					}
					r.Release()
				}
				_ = s.Close()
				cancel()
			}
		})
	}
	all.Wait()
}
