package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/peterh/liner"
)

// interactive reads statements from the terminal until \q or Ctrl-D. A failed statement does not end it, so that it
// returns exitOK except when the terminal itself fails. history is a file name, or "" for no history.
func (sh *shell) interactive(ctx context.Context, history string) int {
	fmt.Fprintf(sh.stdout, "Connected to %s. \\? shows the commands, \\q quits.\n", sh.client.target.url())
	line := liner.NewLiner()
	defer line.Close()
	line.SetCtrlCAborts(true)
	line.SetMultiLineMode(true)
	if f, err := os.Open(history); history != "" && err == nil {
		_, _ = line.ReadHistory(f)
		f.Close()
	}
	var split splitter
	for !sh.quit {
		prompt := "gatehouse=> "
		if !split.empty() {
			prompt = "gatehouse" + split.prompt() + "> "
		}
		text, err := line.Prompt(prompt)
		switch {
		case errors.Is(err, liner.ErrPromptAborted):
			split.reset()
			continue
		case err == io.EOF:
			fmt.Fprintln(sh.stdout)
			return sh.saveHistory(line, history)
		case err != nil:
			fmt.Fprintf(sh.stderr, "gatehouse sql: %v\n", err)
			return exitFailure
		}
		if c := commandIn(&split, text); c != "" {
			line.AppendHistory(c)
			sh.command(ctx, c)
			continue
		}
		for _, statement := range split.feed(text + "\n") {
			line.AppendHistory(oneLine(statement) + ";")
			if sh.statement(ctx, statement) == exitAuth {
				sh.saveHistory(line, history)
				return exitAuth
			}
		}
	}
	return sh.saveHistory(line, history)
}

// commandIn returns the command that a typed line is, or "" if it is a part of a statement. A line that begins with a backslash is a
// command also amid a statement, so that \q always leads out, but not inside of a string, name or comment. Some words are commands
// where a statement would begin, as in psql.
func commandIn(split *splitter, text string) string {
	text = strings.TrimSpace(text)
	if split.prompt() == "-" && strings.HasPrefix(text, `\`) {
		return text
	}
	if split.empty() {
		return map[string]string{"help": `\?`, "quit": `\q`, "exit": `\q`}[strings.ToLower(strings.TrimSuffix(text, ";"))]
	}
	return ""
}

// historyFile is where past statements are kept: in the user's state folder, or nowhere.
func historyFile(o sqlOptions, getenv func(string) string) string {
	if o.noHistory {
		return ""
	}
	state := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home := getenv("HOME")
		if home == "" {
			return ""
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "gatehouse", "history")
}

// saveHistory writes the history for the owner alone: statements hold values. That it fails is worth a line only.
func (sh *shell) saveHistory(line interface {
	WriteHistory(io.Writer) (int, error)
}, name string,
) int {
	if name == "" {
		return exitOK
	}
	err := os.MkdirAll(filepath.Dir(name), 0o700)
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(filepath.Dir(name), "history-*"); err == nil { // mode 0600
			_, err = line.WriteHistory(f)
			err = errors.Join(err, f.Close())
			if err == nil {
				err = os.Rename(f.Name(), name)
			}
			if err != nil {
				os.Remove(f.Name())
			}
		}
	}
	if err != nil {
		fmt.Fprintf(sh.stderr, "gatehouse sql: the history was not saved: %v\n", err)
	}
	return exitOK
}

// oneLine puts a statement on one line for the history: comments to the end of a line go, line ends become blanks, also
// those inside of strings; the history is there to be edited.
func oneLine(statement string) string {
	var s splitter
	var b strings.Builder
	for line := range strings.Lines(statement) {
		start := len(s.text)
		s.feed(strings.TrimRight(line, "\r\n"))
		part := s.text[start:]
		if s.mode == '-' {
			part = s.text[start:s.comment]
		}
		b.WriteString(strings.TrimRight(part, " ") + " ")
		s.feed("\n")
	}
	return strings.TrimSpace(b.String())
}
