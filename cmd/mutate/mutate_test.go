package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func testOptions(t *testing.T, out *bytes.Buffer) *options {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return &options{
		root: root, cache: t.TempDir(), only: regexp.MustCompile("."), out: out, patience: 2e9,
		packages:  []string{"./cmd/mutate/testdata/sample"},
		survivors: "cmd/mutate/testdata/survivors.txt",
		rules:     []exclusion{{fn: "count", reason: "a rule of the test"}},
	}
}

// The sample has every kind of mutant, and what becomes of each is known.
func TestSample(t *testing.T) {
	var out bytes.Buffer
	o := testOptions(t, &out)
	vs, err := o.mutate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, v := range vs {
		status := v.status
		switch {
		case v.m.off != "":
			status = "left out: " + v.m.off
		case v.reason != "":
			status += ": " + v.reason
		}
		got.WriteString(strings.TrimPrefix(v.m.key(), o.packages[0][2:]+"/sample.go ") + "\t" + status + "\n")
	}
	want, err := os.ReadFile("testdata/sample.txt")
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("GATEHOUSE_UPDATE") != "" {
		if err := os.WriteFile("testdata/sample.txt", []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(string(want), got.String()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	for _, op := range []string{
		"negate", "and-or", "boundary", "limit", "flip", "case", "element", "drop-return", "drop-continue", "drop-assign",
		"drop-call", "swap-args", "error-class", "enum",
	} {
		if !strings.Contains(got.String(), " "+op+" ") {
			t.Errorf("the sample has no %s", op)
		}
	}
	if err := judge(&out, vs, nil); err == nil || !strings.Contains(err.Error(), "mutants live") {
		t.Errorf("survivors without a reason: %v", err)
	}

	// A second run knows all that the first one found.
	built := 0
	for i := range vs {
		vs[i].status = ""
	}
	again := testOptions(t, &out)
	again.cache = o.cache
	again.building = func(string) { built++ }
	second, err := again.mutate(t.Context())
	if err != nil || built != 0 || len(second) != len(vs) {
		t.Errorf("the second run: %d of %d mutants, %d builds, %v", len(second), len(vs), built, err)
	}
}

// A survivor of the list that died, or that is no mutant any more, has to leave the list.
func TestStaleReasons(t *testing.T) {
	vs := []verdict{{m: &mutation{fn: "dead"}, status: killed, reason: "an old one"}, {m: &mutation{fn: "alive"}, status: survived, reason: "equivalent"}}
	list := map[string]string{vs[0].m.key(): "an old one", vs[1].m.key(): "equivalent"}
	if err := judge(&bytes.Buffer{}, vs[1:], map[string]string{vs[1].m.key(): "equivalent"}); err != nil {
		t.Error(err)
	}
	if err := judge(&bytes.Buffer{}, vs, list); err == nil {
		t.Error("one that died stays on the list")
	}
	if err := judge(&bytes.Buffer{}, vs[1:], list); err == nil {
		t.Error("one that is no mutant stays on the list")
	}
}

func TestReasons(t *testing.T) {
	for _, bad := range []string{"a key\n", "a key\t\n", "a\tb\na\tc\n"} {
		path := filepath.Join(t.TempDir(), "list")
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := reasons(path); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// The tree that is tested compiles with its mutants in it, each rule of exclusions matches, and each entry of the list of
// survivors is a mutant.
func TestTreeAndLists(t *testing.T) {
	var out bytes.Buffer
	o := testOptions(t, &out)
	rules := compileRules(exclusions)
	in, err := instrument(o.root, t.TempDir(), targets, rules)
	if err != nil {
		t.Fatal(err)
	}
	if err := unused(rules); err != nil {
		t.Error(err)
	}
	why, err := reasons("../../testdata/mutants/survivors.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range in.mutants {
		delete(why, m.key())
	}
	for key := range why {
		t.Errorf("the list of survivors has what is no mutant: %s", key)
	}
	if len(in.mutants) < 10000 {
		t.Errorf("only %d mutants", len(in.mutants))
	}
}

// The copy follows the original: new files, changed ones, and those that are gone or that tests have written.
func TestCopyTree(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	copied := func(want ...string) {
		t.Helper()
		if err := copyTree(from, to); err != nil {
			t.Fatal(err)
		}
		var got []string
		err := filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				var b []byte
				b, err = os.ReadFile(path)
				got = append(got, path[len(to)+1:]+"="+string(b))
			}
			return err
		})
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%v (-want +got)\n%s", err, d)
		}
	}
	write(from+"/a/one", "1")
	write(from+"/b/two", "2")
	write(from+"/bin/no", "")
	copied("a/one=1", "b/two=2")
	write(from+"/a/one", "other")
	if err := os.RemoveAll(from + "/b"); err != nil {
		t.Fatal(err)
	}
	write(to+"/a/testdata/rapid/fail", "x")
	write(to+"/a/left", "x")
	copied("a/one=other")
}

// A part of the mutants is chosen by a seed, and stays chosen while others come and go.
func TestChosen(t *testing.T) {
	w := &worker{o: &options{only: regexp.MustCompile("."), sample: 5, seed: 7}, in: &instrumented{root: "/r"}}
	s := &source{dir: "/r/p"}
	for i := range 40 {
		w.in.mutants = append(w.in.mutants, &mutation{id: i, file: "p/x.go", nth: i})
	}
	keys := func() map[string]bool {
		out := map[string]bool{}
		for _, v := range w.chosen(s) {
			out[v.m.key()] = true
		}
		return out
	}
	first := keys()
	w.o.seed++
	if second := keys(); len(first) != 5 || len(second) != 5 || cmp.Equal(first, second) {
		t.Errorf("with other seeds: %v, %v", first, second)
	}
	w.o.seed--
	for i := range w.in.mutants {
		if !first[w.in.mutants[i].key()] {
			w.in.mutants[i].off = "left out"
			break
		}
	}
	if !cmp.Equal(first, keys()) {
		t.Error("one that was not chosen is left out, and others are chosen")
	}
	w.o.sample = 0
	if n := len(w.chosen(s)); n != 40 {
		t.Errorf("all are %d", n)
	}
}
