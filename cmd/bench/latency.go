package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"gatehouse/cmd/bench/site"
)

const small = "SELECT 1"

// latency measures the smallest statement, and connecting, by the Go client and by ADBC for Python if it is installed.
func (b *bench) latency(ctx context.Context) error {
	c, err := b.connect(ctx, site.Admin)
	if err != nil {
		return err
	}
	defer c.close()
	var times, connects []time.Duration
	for i := range 550 {
		r, err := c.run(ctx, small)
		if err != nil {
			return err
		}
		if i >= 50 {
			times = append(times, r.total)
		}
	}
	for i := range 25 {
		started := time.Now()
		one, err := b.connect(ctx, site.Admin)
		if err != nil {
			return err
		}
		_, err = one.run(ctx, small)
		one.close()
		if err != nil {
			return err
		}
		if i >= 5 {
			connects = append(connects, time.Since(started))
		}
	}
	b.line("SELECT 1, Go client, p50 / p99", ms(quantile(times, 0.5))+" / "+ms(quantile(times, 0.99)), "")
	b.line("connect and first answer, Go client, p50 / p95", ms(quantile(connects, 0.5))+" / "+ms(quantile(connects, 0.95)), "50 ms")
	return b.python(ctx)
}

// python runs testdata/clients/python/bench.py.
func (b *bench) python(ctx context.Context) error {
	dir := os.Getenv("PYTHON_CLIENT")
	if dir == "" {
		b.line("ADBC for Python", "not measured: PYTHON_CLIENT is not set", "")
		return nil
	}
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "bin/python"), "testdata/clients/python/bench.py")
	host, port, _ := strings.Cut(b.server.address, ":")
	job, err := json.Marshal(map[string]string{"host": host, "port": port, "user": site.Admin, "password": site.Admin, "sql": small})
	if err != nil {
		return err
	}
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(job), &out, &errs
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w\n%s", err, errs.String())
	}
	var seconds struct{ Statement, Connect []float64 }
	if err := json.Unmarshal(out.Bytes(), &seconds); err != nil {
		return err
	}
	statement, connect := durations(seconds.Statement), durations(seconds.Connect)
	b.line("SELECT 1, ADBC for Python, p50 / p99", ms(quantile(statement, 0.5))+" / "+ms(quantile(statement, 0.99)), "")
	b.line("connect and first answer, ADBC, p50 / p95", ms(quantile(connect, 0.5))+" / "+ms(quantile(connect, 0.95)), "50 ms")
	return nil
}

func durations(seconds []float64) []time.Duration {
	var out []time.Duration
	for _, s := range seconds {
		out = append(out, time.Duration(s*float64(time.Second)))
	}
	return out
}
