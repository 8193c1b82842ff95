package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// shell runs statements and commands, one after the other, and writes what comes of it.
type shell struct {
	client         *client
	stdout, stderr io.Writer
	out            io.Writer // stdout or a file
	file           *os.File  // of \o
	format         string
	null           string
	nullSet        bool
	timing         bool
	keepGoing      bool
	interrupts     <-chan os.Signal
	quit           bool // \q was given
	depth          int  // of \i
}

func newShell(c *client, o sqlOptions, stdout, stderr io.Writer) (*shell, error) {
	sh := &shell{
		client: c, stdout: stdout, stderr: stderr, out: stdout, format: o.format, null: o.null, nullSet: o.nullSet,
		timing: o.timing, keepGoing: o.keepGoing,
	}
	if o.output == "" {
		return sh, nil
	}
	return sh, sh.setOutput(o.output)
}

// setOutput sends results to the named file from now on, or to stdout if name is "".
func (sh *shell) setOutput(name string) error {
	if err := sh.closeOutput(); err != nil || name == "" {
		return err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	sh.file, sh.out = f, f
	return nil
}

func (sh *shell) closeOutput() error {
	sh.out = sh.stdout
	if sh.file == nil {
		return nil
	}
	f := sh.file
	sh.file = nil
	return f.Close()
}

// forPeople reports whether the format is one to look at.
func (sh *shell) forPeople() bool { return sh.format == "table" || sh.format == "expanded" }

func (sh *shell) nullText() string {
	if sh.nullSet || !sh.forPeople() {
		return sh.null
	}
	return "NULL"
}

// script runs the statements and commands of r and returns an exit code. A line that begins with a backslash outside
// of a statement is a command.
func (sh *shell) script(ctx context.Context, r io.Reader) int {
	in := bufio.NewReader(r)
	var split splitter
	worst := exitOK
	for !sh.quit {
		line, err := in.ReadString('\n')
		if err != nil && err != io.EOF {
			fmt.Fprintf(sh.stderr, "gatehouse sql: reading statements: %v\n", err)
			return exitFailure
		}
		end := err == io.EOF
		var todo []func(context.Context) int
		if trimmed := strings.TrimSpace(line); split.empty() && strings.HasPrefix(trimmed, `\`) {
			todo = append(todo, func(ctx context.Context) int { return sh.command(ctx, trimmed) })
		} else {
			statements := split.feed(line)
			if last := ""; end {
				if last = split.rest(); last != "" {
					statements = append(statements, last)
				}
			}
			for _, s := range statements {
				todo = append(todo, func(ctx context.Context) int { return sh.statement(ctx, s) })
			}
		}
		for _, do := range todo {
			if code := do(ctx); code != exitOK {
				if worst = code; !sh.keepGoing || code == exitInterrupted {
					return worst
				}
			}
		}
		if end {
			break
		}
	}
	return worst
}

// scriptFile is script on a file; "-" is standard input.
func (sh *shell) scriptFile(ctx context.Context, name string, stdin *os.File) int {
	if name == "-" {
		return sh.script(ctx, stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		fmt.Fprintf(sh.stderr, "gatehouse sql: %v\n", err)
		return exitUsage
	}
	defer f.Close()
	if sh.depth++; sh.depth > 16 {
		fmt.Fprintf(sh.stderr, "gatehouse sql: \\i: %s includes itself\n", name)
		return exitUsage
	}
	defer func() { sh.depth-- }()
	return sh.script(ctx, f)
}

// statement runs one statement and writes its result; it returns an exit code.
func (sh *shell) statement(ctx context.Context, query string) int {
	return sh.show(ctx, func(ctx context.Context, schema func(*arrow.Schema) error, batch func(arrow.RecordBatch) error) error {
		return sh.client.run(ctx, query, schema, batch)
	})
}

// fetcher gives a schema and then batches.
type fetcher func(ctx context.Context, schema func(*arrow.Schema) error, batch func(arrow.RecordBatch) error) error

// show writes what fetch gives, in the chosen format. Ctrl-C ends it.
func (sh *shell) show(ctx context.Context, fetch fetcher) int {
	started := time.Now()
	ctx, stop := sh.interruptible(ctx)
	defer stop()
	var w resultWriter
	err := fetch(ctx, func(s *arrow.Schema) error {
		if s.NumFields() > 0 {
			w = formats[sh.format](sh.out, s, sh.nullText())
		}
		return nil
	}, func(b arrow.RecordBatch) error {
		if w == nil {
			return nil
		}
		return w.batch(b)
	})
	if err == nil && w != nil {
		err = w.close()
	} else if w != nil {
		// What came before the failure is written out; the message says that it is not all.
		if t, ok := w.(*tableWriter); ok {
			_ = t.cut()
		}
	}
	if err == nil && w == nil && sh.forPeople() {
		fmt.Fprintln(sh.out, "OK")
	}
	if err != nil {
		return sh.fail(ctx, err)
	}
	if sh.timing {
		fmt.Fprintf(sh.stderr, "Time: %s\n", time.Since(started).Round(10*time.Microsecond))
	}
	return exitOK
}

// errInterrupted is the cause of a context that Ctrl-C ended.
var errInterrupted = errors.New("interrupted")

// interruptible returns a context that the next Ctrl-C ends.
func (sh *shell) interruptible(ctx context.Context) (context.Context, func()) {
	for drained := false; !drained; { // a Ctrl-C from before this statement is not meant for it
		select {
		case <-sh.interrupts:
		default:
			drained = true
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	done, left := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		select {
		case <-sh.interrupts:
			cancel(errInterrupted)
		case <-done:
		}
	}()
	return ctx, func() {
		close(done)
		<-left
		cancel(nil)
	}
}

// fail reports a failed statement and returns its exit code.
func (sh *shell) fail(ctx context.Context, err error) int {
	if ctx.Err() != nil {
		fmt.Fprintln(sh.stderr, "Cancelled.")
		return exitInterrupted
	}
	s, ok := status.FromError(err)
	if !ok {
		fmt.Fprintf(sh.stderr, "ERROR: %v\n", err)
		return exitFailure
	}
	fmt.Fprintf(sh.stderr, "ERROR: %s\n", visibleLines(s.Message()))
	switch s.Code() {
	case codes.Unauthenticated:
		fmt.Fprintln(sh.stderr, "The session has ended; log in again.")
		return exitAuth
	case codes.Unavailable:
		return exitConnect
	}
	return exitFailure
}

// visibleLines is visible, but keeps line ends.
func visibleLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = visible(l)
	}
	return strings.Join(lines, "\n")
}

// metadata shows the result of a catalog call.
func (sh *shell) metadata(ctx context.Context, call func(context.Context) (*flight.FlightInfo, error)) int {
	return sh.show(ctx, func(ctx context.Context, schema func(*arrow.Schema) error, batch func(arrow.RecordBatch) error) error {
		info, err := call(sh.client.with(ctx))
		if err != nil {
			return err
		}
		return sh.client.fetch(ctx, info, schema, batch)
	})
}
