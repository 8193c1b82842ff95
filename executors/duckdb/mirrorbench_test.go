package duckdb

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"gatehouse/executors"
	"gatehouse/executors/executortest"
	"gatehouse/objects/objectstest"
	"gatehouse/objects/s3"
)

// delayed passes connections on to address, each byte half of rtt later in either direction, with no bound on how many are on their way.
func delayed(t testing.TB, address string, rtt time.Duration) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", address)
			if err != nil {
				_ = in.Close()
				continue
			}
			go delay(out, in, rtt/2)
			go delay(in, out, rtt/2)
		}
	}()
	return l.Addr().String()
}

func delay(to io.WriteCloser, from io.Reader, by time.Duration) {
	defer to.Close()
	type late struct {
		data []byte
		due  time.Time
	}
	queue := make(chan late, 10_000)
	go func() {
		defer close(queue)
		for {
			p := make([]byte, 64<<10)
			n, err := from.Read(p)
			if n > 0 {
				queue <- late{p[:n], time.Now().Add(by)}
			}
			if err != nil {
				return
			}
		}
	}()
	for l := range queue {
		time.Sleep(time.Until(l.due))
		if _, err := to.Write(l.data); err != nil {
			for range queue { // the reader ends with its connection
			}
		}
	}
}

// BenchmarkMirror compares statements over TPC-H (scale factor: TPCH_SCALE, 1 if unset) in local files, and in a store on this machine and one
// that answers 20 ms later, cold and warm.
func BenchmarkMirror(b *testing.B) {
	scale := os.Getenv("TPCH_SCALE")
	if scale == "" {
		scale = "1"
	}
	folder := tpchFolder(b, scale)
	server := objectstest.Start(b)
	config := server.Config(server.Reader, "s")
	far := config
	far.Endpoint = "http://" + delayed(b, strings.TrimPrefix(config.Endpoint, "http://"), 20*time.Millisecond)
	var size map[string]int64
	for _, place := range []string{"local", "near", "far"} {
		store := &counted{}
		p := executortest.Over(b, func(p executortest.Parts) (executors.Executor, error) {
			x, err := New(Config{Verifier: anybody{}, HashKey: p.HashKey, Allocator: p.Allocator, Now: p.Now, Dir: b.TempDir(), CopyBytes: 2 << 30})
			if err != nil || place == "local" {
				return x, err
			}
			c := config
			if place == "far" {
				c = far
			}
			if store.Store, err = s3.New(c); err != nil {
				return nil, err
			}
			m := &moved{Executor: x, t: b, server: server, store: store, folder: b.TempDir(), size: size}
			if size == nil {
				m.size = map[string]int64{}
				size = m.size
			}
			return m, nil
		}, folder, "tpch")
		for name, text := range map[string]string{
			"q6":    "SELECT sum(l_extendedprice * l_discount) FROM lineitem WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24",
			"point": "SELECT * FROM orders WHERE o_orderkey = 1234567",
			"join":  "SELECT n_name, count(*) FROM customer JOIN orders ON c_custkey = o_custkey JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name",
		} {
			run := func(b *testing.B) {
				if rows, err := p.Rows(context.Background(), text, nil); err != nil || len(rows) == 0 {
					b.Fatal(len(rows), err)
				}
			}
			b.Run(place+"/"+name+"/warm", func(b *testing.B) {
				store.scope = "warm"
				run(b)
				store.reads.Store(0)
				for b.Loop() {
					run(b)
				}
				if store.reads.Load() > 0 {
					b.Errorf("%d requests", store.reads.Load())
				}
			})
			if place == "local" {
				continue
			}
			b.Run(place+"/"+name+"/cold", func(b *testing.B) {
				store.reads.Store(0)
				store.bytes.Store(0)
				n := 0
				for b.Loop() {
					n++
					store.scope = fmt.Sprint(name, n, b.N)
					run(b)
				}
				b.ReportMetric(float64(store.reads.Load())/float64(n), "requests/op")
				b.ReportMetric(float64(store.bytes.Load())/float64(n)/(1<<20), "MiB/op")
			})
		}
	}
}
