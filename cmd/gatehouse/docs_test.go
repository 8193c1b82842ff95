package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"gatehouse/audit"
	"gatehouse/classify"
	"gatehouse/policies"
	"gatehouse/policy/opa"
)

// asCommand makes the test program be the program under test, for documents' shell blocks: see TestMain.
const asCommand = "GATEHOUSE_TEST_AS_COMMAND"

// block is one fenced block of a document.
type block struct {
	file, language, text string
	line                 int
	mark                 string // the text of "<!-- test: … -->" right before it
}

// notRun are the shell blocks that the test does not run, each with its reason. A document marks them with
// "<!-- test: NAME -->".
var notRun = map[string]string{
	"make":     "builds and tests the repository: what runs this test is what the block says",
	"stays":    "serves until it is stopped, on the default ports: TestServeFolder and TestDemoBanner run the same commands on free ones",
	"cluster":  "needs a cluster: TestClusterIsSeen asks the same",
	"keycloak": "needs minutes and Java: auth/oidc's TestKeycloak starts the same script",
	"machine":  "changes the machine: a service manager, a package or a host's certificates",
}

// onlyMake matches blocks that run nothing but targets of the Makefile.
var onlyMake = regexp.MustCompile(`\A(?:\s*(?:#.*|make [^;|&\n]*)?\n)+\z`)

func documents(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	out := map[string]string{}
	for _, f := range append(files, "../../README.md", "../../policies/README.md") {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimPrefix(f, "../../")] = string(b)
	}
	return out
}

var fence = regexp.MustCompile("(?ms)^(?:<!-- test: ([^>]*) -->\n)?```([a-z]*)\n(.*?)^```$")

// blocks returns the blocks of a language in all documents.
func blocks(t testing.TB, language string) []block {
	t.Helper()
	var out []block
	docs := documents(t)
	for _, file := range slices.Sorted(maps.Keys(docs)) {
		text := docs[file]
		for _, m := range fence.FindAllStringSubmatchIndex(text, -1) {
			b := block{file: file, language: text[m[4]:m[5]], text: text[m[6]:m[7]], line: 1 + strings.Count(text[:m[0]], "\n")}
			if m[2] >= 0 {
				b.mark = text[m[2]:m[3]]
			}
			if b.language == language {
				out = append(out, b)
			}
		}
	}
	if len(out) == 0 {
		t.Fatalf("no document has a block of %s", language)
	}
	return out
}

func (b block) name() string { return fmt.Sprintf("%s:%d", b.file, b.line) }

// Every command of the documents runs, with the example lakehouse where it needs a server.
func TestDocsCommands(t *testing.T) {
	parent, used := t, map[string]bool{}
	var dir string // of the block before
	var env []string
	for _, b := range blocks(t, "sh") {
		t.Run(b.name(), func(t *testing.T) {
			if b.mark == "" && onlyMake.MatchString(b.text) {
				b.mark = "make"
			}
			if _, ok := notRun[b.mark]; ok {
				used[b.mark] = true
				return
			}
			if b.mark != "" && b.mark != "demo" && b.mark != "then" {
				t.Fatalf("the test knows no %q", b.mark)
			}
			if b.mark != "then" { // which goes on where the block before it ended
				dir, env = workshop(parent)
			}
			text := b.text
			if b.mark == "demo" {
				s := demoServer(t)
				env = append(env, "GATEHOUSE_URL=grpc://"+s.flight, "STORE="+filepath.Join(testHome(t), "grants.db"))
				text = strings.NewReplacer("127.0.0.1:31337", s.flight, "127.0.0.1:31338", s.http).Replace(text)
			}
			runShell(t, dir, env, text)
		})
	}
	for name := range notRun {
		if !used[name] {
			t.Errorf("no block is marked %q any more", name)
		}
	}
}

// The steps of the documents' pipeline run, in the folder that the steps of docs/policy.md leave, under version control.
func TestDocsPipeline(t *testing.T) {
	dir, env := workshop(t)
	for _, b := range blocks(t, "sh") {
		if b.file == "docs/policy.md" && strings.Contains(b.text, "rules") {
			runShell(t, dir, env, b.text)
		}
	}
	runShell(t, dir, env, `git init --quiet && git add rules && git -c user.name=a -c user.email=a@b commit --quiet -m first && git update-ref refs/remotes/origin/main HEAD`)
	var pipeline struct {
		Jobs map[string]struct{ Steps []struct{ Run, Uses string } }
	}
	all := blocks(t, "yml")
	if len(all) != 1 || yaml.Unmarshal([]byte(all[0].text), &pipeline) != nil {
		t.Fatal("there is not one pipeline")
	}
	ran := 0
	for _, job := range pipeline.Jobs {
		for _, step := range job.Steps {
			if step.Run != "" {
				runShell(t, dir, env, step.Run)
				ran++
			}
		}
	}
	if ran != 4 {
		t.Errorf("%d steps ran", ran)
	}
}

// workshop makes a folder with what the documents' commands expect: bin/gatehouse, a home with users and policy, a
// certificate. It returns the folder and the environment of commands in it.
func workshop(t testing.TB) (dir string, env []string) {
	t.Helper()
	dir = t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\n%s=1 exec %q \"$@\"\n", asCommand, self)
	if err := os.WriteFile(filepath.Join(bin, "gatehouse"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for set, folder := range map[policies.Set]string{policies.Skeleton: "policy", policies.Demo: "demo-policy"} {
		if err := policies.Write(filepath.Join(dir, folder), set); err != nil {
			t.Fatal(err)
		}
	}
	env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+dir, "GATEHOUSE_NEW_PASSWORD=correct horse",
		"LAKE="+lakeFolder(t), "SOURCE="+repository(t))
	return dir, env
}

func repository(t testing.TB) string {
	t.Helper()
	abs, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

func runShell(t testing.TB, dir string, env []string, text string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", text)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, env, 5*time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, text, out)
	}
}

// The Python programs of the documents run as they stand, against the example lakehouse.
func TestDocsPython(t *testing.T) {
	dir := clientDir(t, "PYTHON_CLIENT")
	s := demoServer(t)
	for _, b := range blocks(t, "python") {
		t.Run(b.name(), func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "bin/python"), "-c", strings.ReplaceAll(b.text, "127.0.0.1:31337", s.flight))
			cmd.WaitDelay = 5 * time.Second
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Run(); err != nil || !strings.Contains(out.String(), "EU") || strings.Contains(out.String(), "APAC") {
				t.Errorf("%v, and alice is shown %.500q\n%s", err, out.String(), errs.String())
			}
		})
	}
}

// The Rego of the documents compiles with what every policy folder has, and its tests pass.
func TestDocsRego(t *testing.T) {
	for _, b := range blocks(t, "rego") {
		t.Run(b.name(), func(t *testing.T) {
			dir := t.TempDir()
			if err := policies.Write(dir, policies.Skeleton); err != nil {
				t.Fatal(err)
			}
			m := regexp.MustCompile(`(?m)^package ([a-z_.0-9]+)$`).FindStringSubmatch(b.text)
			if m == nil {
				t.Fatal("the block has no package line")
			}
			file := filepath.Join(dir, filepath.FromSlash(strings.ReplaceAll(m[1], ".", "/"))+".rego")
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			text := b.text
			if strings.Contains(text, "test_") { // tests need what they are about: the block before them
				for _, other := range blocks(t, "rego") {
					if other.file == b.file && strings.Contains(other.text, "package tables.") {
						text := []byte(other.text)
						if err := os.WriteFile(filepath.Join(dir, "tables", fmt.Sprint("b", other.line, ".rego")), text, 0o644); err != nil {
							t.Fatal(err)
						}
						break
					}
				}
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := opa.Check(opa.Config{Folder: dir, Rego: "v1", Version: "test"}); err != nil {
				t.Error(err)
			}
			report, err := opa.Test(t.Context(), opa.Config{Folder: dir, Rego: "v1", Version: "test"})
			if err != nil || !report.Ok() {
				t.Errorf("its tests: %v", err)
			}
		})
	}
}

// The YAML of the documents has only keys that the configuration has.
func TestDocsYAML(t *testing.T) {
	for _, b := range blocks(t, "yaml") {
		if strings.HasPrefix(b.text, "users:") {
			continue
		}
		if _, _, err := parseConfig([]byte(b.text)); err != nil {
			t.Errorf("%s: %v", b.name(), err)
		}
	}
}

// Every statement of docs/sql.md is what it says: accepted, or refused by name.
func TestDocsSQL(t *testing.T) {
	for _, b := range blocks(t, "sql") {
		for _, sql := range strings.Split(b.text, ";\n") {
			if strings.TrimSpace(sql) == "" {
				continue
			}
			_, err := classify.Parse(sql)
			var unsupported *classify.UnsupportedError
			switch {
			case b.mark == "refused":
				if !errors.As(err, &unsupported) {
					t.Errorf("%s: %s\nis not refused by name: %v", b.name(), sql, err)
				}
			case b.mark == "absent":
				if err == nil {
					t.Errorf("%s: %s\nis accepted", b.name(), sql)
				}
			case err != nil:
				t.Errorf("%s: %s\n%v", b.name(), sql, err)
			}
		}
	}
}

// The audit format is documented: an example that reads back, and every field by name.
func TestDocsAudit(t *testing.T) {
	var e audit.Event
	examples := blocks(t, "json")
	i := slices.IndexFunc(examples, func(b block) bool { return b.file == "docs/operations.md" })
	if i < 0 {
		t.Fatal("docs/operations.md has no example of a line")
	}
	dec := json.NewDecoder(strings.NewReader(examples[i].text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil || e.Query == "" || len(e.Objects) == 0 {
		t.Errorf("%s: %v", examples[i].name(), err)
	}
	text := documents(t)["docs/operations.md"]
	for _, typ := range []reflect.Type{reflect.TypeFor[audit.Event](), reflect.TypeFor[audit.Object]()} {
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if !strings.Contains(text, "`"+name+"`") {
				t.Errorf("docs/operations.md does not explain the field %q of %s", name, typ)
			}
		}
	}
	for _, o := range []audit.Outcome{audit.Done, audit.Denied, audit.Failed, audit.Cancelled} {
		if !strings.Contains(text, "`"+string(o)+"`") {
			t.Errorf("docs/operations.md does not name the outcome %q", o)
		}
	}
}

// docs/operations.md lists exactly the metrics that /metrics has.
func TestDocsMetrics(t *testing.T) {
	_, body := get(t, demoServer(t), "/metrics")
	names := func(re, text string) []string {
		found := map[string]bool{}
		for _, m := range regexp.MustCompile(re).FindAllStringSubmatch(text, -1) {
			found[m[1]] = true
		}
		return slices.Sorted(maps.Keys(found))
	}
	have := names(`(?m)^# TYPE (gatehouse_\w+) `, body)
	told := names("`(gatehouse_\\w+)", documents(t)["docs/operations.md"])
	if len(have) < 5 || !slices.Equal(have, told) {
		t.Errorf("/metrics has %q, the document %q", have, told)
	}
}

// The documents are short, and their links lead somewhere: to a file, and to a heading of it.
func TestDocsLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:\s]*)(?:#([^)]*))?\)`)
	docs := documents(t)
	for file, text := range docs {
		if n := strings.Count(text, "\n"); n > 250 {
			t.Errorf("%s has %d lines", file, n)
		}
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			to := file
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(file), m[1])
			}
			if _, err := os.Stat(filepath.Join("../..", to)); err != nil {
				t.Errorf("%s links to %s: %v", file, m[1], err)
			} else if m[2] != "" && !slices.Contains(headings(docs[to]), m[2]) {
				t.Errorf("%s links to %s of %s, which has no such heading", file, m[2], to)
			}
		}
	}
}

// headings are the names by which a document's headings are linked to.
func headings(text string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		plain := regexp.MustCompile("[^a-z0-9 _-]").ReplaceAllString(strings.ToLower(m[1]), "")
		out = append(out, strings.ReplaceAll(plain, " ", "-"))
	}
	return out
}

// What docs/security.md and the decisions call a proof is a test or target that exists.
func TestDocsProofs(t *testing.T) {
	docs := documents(t)
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	err = filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		folder := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../../")
		for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllSubmatch(b, -1) {
			all[folder+" "+string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, file := range []string{"docs/security.md", "docs/decisions.md", "docs/decisions-cluster.md", "docs/cluster.md", "docs/cluster-operations.md", "docs/clients.md"} {
		for _, m := range regexp.MustCompile("`([a-z/]+)\\s+((?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(docs[file], -1) {
			named++
			if !all[m[1]+" "+m[2]] {
				t.Errorf("%s names %s in %s, which is not there", file, m[2], m[1])
			}
		}
	}
	if named < 25 {
		t.Errorf("only %d proofs are named", named)
	}
	for file, text := range docs {
		for _, m := range regexp.MustCompile("`make ([a-z]+)").FindAllStringSubmatch(text, -1) {
			if !bytes.Contains(makefile, []byte("\n"+m[1]+":")) {
				t.Errorf("%s names make %s, which is no target", file, m[1])
			}
		}
	}
}
