package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gatehouse/cmd/mutate/mutant"
)

// guard is one top-level test: how long it takes, and by which mutants its code comes.
type guard struct {
	name    string
	took    time.Duration
	reached []byte
}

// baseline runs each test of a program by itself, without a mutant. always holds the mutants that every run comes by,
// because they act before the tests. A test that fails without a mutant says nothing and is left out.
type baseline struct {
	guards []guard
	always []byte
	broken []string
}

// maxRun bounds one test without a mutant.
const maxRun = 5 * time.Minute

func (p *program) measure(ctx context.Context, mutants int, progress func(string)) (*baseline, error) {
	pattern := p.run
	if pattern == "" {
		pattern = "."
	}
	r, err := p.start(ctx, time.Minute, nil, "-test.list", pattern)
	if err != nil || !r.passed {
		return nil, fmt.Errorf("%s -test.list: %w: %s", p.pkg, err, r.output)
	}
	b := &baseline{}
	if _, b.always, err = p.reach(ctx, mutants, "^$"); err != nil {
		return nil, err
	}
	for name := range strings.Lines(r.output) {
		name = strings.TrimSpace(name)
		if !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Fuzz") && !strings.HasPrefix(name, "Example") {
			continue
		}
		began := time.Now()
		r, reached, err := p.reach(ctx, mutants, exactly(name))
		if err != nil {
			return nil, err
		}
		if !r.passed {
			b.broken = append(b.broken, name)
			progress(fmt.Sprintf("%s %s fails without a mutant: left out", p.pkg, name))
			continue
		}
		b.guards = append(b.guards, guard{name, time.Since(began), reached})
	}
	if len(b.guards) == 0 {
		return nil, fmt.Errorf("%s: no test passes", p.pkg)
	}
	return b, nil
}

func exactly(names ...string) string { return "^(" + strings.Join(names, "|") + ")$" }

// reach runs tests and returns which mutants they come by.
func (p *program) reach(ctx context.Context, mutants int, pattern string) (outcome, []byte, error) {
	path := p.file + ".reach"
	if err := os.WriteFile(path, make([]byte, mutants), 0o600); err != nil {
		return outcome{}, nil, err
	}
	r, err := p.start(ctx, maxRun, []string{mutant.EnvReach + "=" + path}, "-test.run", pattern)
	if err != nil {
		return r, nil, err
	}
	reached, err := os.ReadFile(path)
	return r, reached, err
}

// outcome is how a run of a test program ended.
type outcome struct {
	passed  bool
	timeout bool
	by      string // the first test that failed
	output  string
}

// maxMemory bounds what a run may take: a mutant that grows without end must not take the machine along. KiB of addresses.
const maxMemory = 16 << 20

// start runs a test program in its package's folder with temporary files of its own.
func (p *program) start(ctx context.Context, limit time.Duration, env []string, args ...string) (outcome, error) {
	tmp, err := os.MkdirTemp(filepath.Dir(p.file), "run-")
	if err != nil {
		return outcome{}, err
	}
	defer os.RemoveAll(tmp)
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, limit+10*time.Second)
	defer cancel()
	args = append(args, "-test.timeout", limit.String(), "-test.failfast", "-test.count", "1")
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", `ulimit -v ` + strconv.Itoa(maxMemory) + `; exec "$0" "$@"`, p.file}, args...)...)
	cmd.Dir = p.dir
	cmd.Env = append(append(os.Environ(), "TMPDIR="+tmp), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // with the servers that tests start
	cmd.WaitDelay = time.Second
	var out tail
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left behind
	}
	o := outcome{passed: err == nil, output: out.String(), timeout: ctx.Err() != nil || bytes.Contains(out.all, []byte("panic: test timed out"))}
	if _, name, ok := strings.Cut(o.output, "--- FAIL: "); ok {
		o.by, _, _ = strings.Cut(strings.TrimSpace(name), " ")
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && ctx.Err() == nil && !errors.Is(err, exec.ErrWaitDelay) {
		return o, err
	}
	return o, caller.Err()
}

// tail keeps the first part of an output.
type tail struct{ all []byte }

func (t *tail) Write(b []byte) (int, error) {
	if len(t.all) < 1<<20 {
		t.all = append(t.all, b...)
	}
	return len(b), nil
}

func (t *tail) String() string { return string(t.all) }
