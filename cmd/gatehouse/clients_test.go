package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// statement is one statement that a client program runs; see testdata/clients/README.md.
type statement struct {
	SQL    string `json:"sql,omitempty"`
	Params []any  `json:"params,omitempty"`
	Call   string `json:"call,omitempty"`
}

// answer is what a client program says about one statement. Values are text, NULL is nil.
type answer struct {
	Columns []string    `json:"columns"`
	Types   []string    `json:"types"`
	Rows    [][]*string `json:"rows"`
	Error   string      `json:"error"`
}

// text renders an answer on one line a row.
func (a answer) text() string {
	if a.Error != "" {
		return "error: " + a.Error
	}
	var b strings.Builder
	for i, row := range a.Rows {
		if i > 0 {
			b.WriteByte('\n')
		}
		for j, v := range row {
			if j > 0 {
				b.WriteByte('|')
			}
			if v == nil {
				b.WriteString("NULL")
			} else {
				b.WriteString(*v)
			}
		}
	}
	return b.String()
}

// clientProgram is one real client program.
type clientProgram struct {
	name string
	run  func(t *testing.T, addr, user, password string, ss []statement) []answer
}

// clients returns the programs that are installed; "make test" installs all. A missing one is a skip with its reason.
func clients() []clientProgram {
	return []clientProgram{
		{"adbc-python", pythonClient},
		{"jdbc", javaClient},
		{"node-gizmosql", nodeClient("gizmo")},
		{"node-lancedb", nodeClient("lance")},
	}
}

func pythonClient(t *testing.T, addr, user, password string, ss []statement) []answer {
	dir := clientDir(t, "PYTHON_CLIENT")
	return runClient(t, jobJSON(t, addr, user, password, "", ss), nil, filepath.Join(dir, "bin/python"), "../../testdata/clients/python/query.py")
}

func nodeClient(which string) func(*testing.T, string, string, string, []statement) []answer {
	return func(t *testing.T, addr, user, password string, ss []statement) []answer {
		dir := clientDir(t, "NODE_CLIENT")
		return runClient(t, jobJSON(t, addr, user, password, which, ss), []string{"NODE_CLIENT=" + dir}, "node", "../../testdata/clients/node/query.mjs")
	}
}

func javaClient(t *testing.T, addr, user, password string, ss []statement) []answer {
	dir := clientDir(t, "JAVA_CLIENT")
	host, port, _ := strings.Cut(addr, ":")
	lines := []string{host, port, user, password}
	for _, s := range ss {
		line := s.SQL
		if s.Call != "" {
			line = "!" + s.Call
		}
		for _, p := range s.Params {
			switch v := p.(type) {
			case int:
				line += fmt.Sprintf("\tlong:%d", v)
			case float64:
				line += fmt.Sprintf("\tdouble:%v", v)
			default:
				line += fmt.Sprintf("\tstring:%v", v)
			}
		}
		lines = append(lines, line)
	}
	var in strings.Builder
	for _, l := range lines {
		in.WriteString(base64.StdEncoding.EncodeToString([]byte(l)) + "\n")
	}
	return runClient(t, []byte(in.String()), nil, "java", "--add-opens=java.base/java.nio=ALL-UNNAMED",
		"-cp", filepath.Join(dir, "*"), "../../testdata/clients/java/Query.java")
}

func clientDir(t *testing.T, variable string) string {
	t.Helper()
	dir := os.Getenv(variable)
	if dir == "" {
		t.Skipf("%s is not set: \"make test\" installs the client and sets it", variable)
	}
	return dir
}

func jobJSON(t *testing.T, addr, user, password, which string, ss []statement) []byte {
	t.Helper()
	host, port, _ := strings.Cut(addr, ":")
	b, err := json.Marshal(map[string]any{"host": host, "port": json.Number(port), "user": user, "password": password, "client": which, "statements": ss})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func runClient(t *testing.T, in []byte, env []string, name string, args ...string) []answer {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin = bytes.NewReader(in)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, errs.String())
	}
	var answers []answer
	text := out.String()
	if i := strings.Index(text, "["); i > 0 {
		text = text[i:]
	}
	if err := json.Unmarshal([]byte(text), &answers); err != nil {
		t.Fatalf("%s printed %.300q: %v\n%.1000s", name, out.String(), err, errs.String())
	}
	return answers
}
