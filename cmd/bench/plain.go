package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"gatehouse/executors/duckdb/tpc"
)

// plain is DataFusion without a cluster and without governance, a process of its own (executors/ballista/engine/governed/examples/plain.rs).
type plain struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startPlain(ctx context.Context, program, dir string, threads int, stderr io.Writer) (*plain, error) {
	args := []string{fmt.Sprint(threads)}
	files, err := filepath.Glob(filepath.Join(dir, string(tpc.TPCH), "*", "data", "*.parquet"))
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		args = append(args, strings.TrimSuffix(filepath.Base(f), ".parquet")+"="+f)
	}
	p := &plain{cmd: exec.CommandContext(ctx, program, args...)}
	p.cmd.Stderr = stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReaderSize(out, 1<<20)
	return p, p.cmd.Start()
}

// run returns the rows of a statement and how long they took, without the way to this process.
func (p *plain) run(_ context.Context, text string) ([][]string, time.Duration, error) {
	if _, err := fmt.Fprintln(p.in, strings.Join(strings.Fields(text), " ")); err != nil {
		return nil, 0, err
	}
	var kind string
	var seconds float64
	var size int
	line, err := p.out.ReadString('\n')
	if err != nil {
		return nil, 0, err
	}
	if _, err := fmt.Sscan(line, &kind, &seconds, &size); err != nil {
		return nil, 0, err
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(p.out, body); err != nil {
		return nil, 0, err
	}
	if kind != "rows" {
		return nil, 0, errors.New(string(body))
	}
	r, err := ipc.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	defer r.Release()
	var rows [][]string
	for r.Next() {
		rows = append(rows, values(r.RecordBatch())...)
	}
	return rows, time.Duration(seconds * 1e9), r.Err()
}

func (p *plain) close() error { return errors.Join(p.in.Close(), p.cmd.Wait()) }
