package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// server is the gateway that is measured, a process of its own.
type server struct {
	cmd     *exec.Cmd
	address string
	audit   string // its audit log
}

var serving = regexp.MustCompile(`grpc://(\S+?) `)

func startServer(ctx context.Context, binary, config string, stderr io.Writer) (*server, error) {
	cmd := exec.CommandContext(ctx, binary, "serve", "--config", config)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if m := serving.FindStringSubmatch(lines.Text()); m != nil {
			go func() {
				_, _ = io.Copy(io.Discard, out) // until the process ends
			}()
			return &server{cmd: cmd, address: m[1], audit: filepath.Join(filepath.Dir(config), "audit.jsonl")}, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("%s did not start", binary), cmd.Wait())
}

func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return s.cmd.Wait()
}

// resident is the memory that the process holds now, in bytes.
func (s *server) resident() (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return n << 10, err
		}
	}
	return 0, errors.New("no VmRSS")
}

// cpu is the processor time that the process's threads have used so far.
func (s *server) cpu() (time.Duration, error) {
	return threadTime(fmt.Sprintf("/proc/%d/task", s.cmd.Process.Pid))
}

// threadTime sums up what the kernel's scheduler says of the threads of a process. Unlike times by the clock it does not depend on
// who else uses the processors.
func threadTime(tasks string) (time.Duration, error) {
	files, err := filepath.Glob(filepath.Join(tasks, "*", "schedstat"))
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // the thread has just ended
		}
		first, _, _ := strings.Cut(string(b), " ")
		n, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n)
	}
	return sum, nil
}

// processTime is the processor time of a process so far, in steps of 10 ms.
func processTime(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(b), ") ") // after the name
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat has another form", pid)
	}
	var ticks int64
	for _, f := range fields[11:13] { // in the process, and in the kernel for it
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}
