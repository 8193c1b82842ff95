package audit

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func lines(t *testing.T, path string) []Event {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []Event
	for _, l := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		if l == "" {
			continue
		}
		var e Event
		if err := json.Unmarshal([]byte(l), &e); err != nil {
			t.Fatalf("line %q: %v", l, err)
		}
		out = append(out, e)
	}
	return out
}

func open(t *testing.T, path string) *File {
	t.Helper()
	f, err := NewFile(FileConfig{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestOneLineAStatement(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	f := open(t, path)
	for _, e := range []Event{{Query: "a", Outcome: Started}, {Query: "b", Outcome: Denied}, {Query: "a", Outcome: Done, Rows: 3}} {
		if err := f.Record(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	got := lines(t, path)
	if len(got) != 2 || got[0].Query != "b" || got[0].Outcome != Denied || got[1].Query != "a" || got[1].Rows != 3 {
		t.Fatalf("log = %+v, want b denied, then a with 3 rows", got)
	}
	if b, _ := os.ReadFile(path + ".journal"); len(b) != 0 {
		t.Fatalf("journal = %q after the last statement ended, want it empty", b)
	}
}

// A statement whose rows began to leave is in the log after a crash, and one that had ended is there once.
func TestCrashIsCompletedFromTheJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	f := open(t, path)
	for _, e := range []Event{
		{Query: "ended", Outcome: Started}, {Query: "running", User: "alice", Outcome: Started}, {Query: "ended", Outcome: Done},
	} {
		if err := f.Record(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	// No Close: the process was killed. A half-written journal line was never acknowledged.
	j, err := os.OpenFile(path+".journal", os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.WriteString(`{"query_id":"half`); err != nil {
		t.Fatal(err)
	}
	open(t, path)
	got := lines(t, path)
	if len(got) != 2 || got[1].Query != "running" || got[1].User != "alice" || got[1].Outcome != Failed || got[1].Error != "gateway_stopped" {
		t.Fatalf("log after the crash = %+v, want ended, then running as failed", got)
	}
	open(t, path)
	if again := lines(t, path); len(again) != 2 {
		t.Fatalf("a second start wrote again: %+v", again)
	}
}

func TestRecordAfterCloseFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	f := open(t, path)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Record(t.Context(), Event{Query: "a", Outcome: Started}); err == nil {
		t.Fatal("Record after Close succeeded")
	}
}

// A full disk refuses the record and leaves no half line.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("needs /dev/full to have a disk that is full")
	}
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	f := open(t, path)
	f.journal = full
	if err := f.Record(t.Context(), Event{Query: "a", Outcome: Started}); err == nil {
		t.Fatal("a statement began without a record")
	}
}

// Once the log does not take a line, no statement begins until it does; then the lines that it did not take come first.
func TestFullLogStops(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("needs /dev/full to have a disk that is full")
	}
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	f := open(t, path)
	log := f.log
	record := func(query string, o Outcome) error { return f.Record(t.Context(), Event{Query: query, Outcome: o}) }
	if err := record("a", Started); err != nil {
		t.Fatal(err)
	}
	f.log = full
	for _, e := range []Event{{Query: "a", Outcome: Done}, {Query: "b", Outcome: Started}, {Query: "c", Outcome: Denied}} {
		if record(e.Query, e.Outcome) == nil {
			t.Errorf("%s %s was recorded by a full log", e.Query, e.Outcome)
		}
	}
	f.log = log
	if err := record("d", Started); err != nil {
		t.Fatalf("the log has room again, but: %v", err)
	}
	if err := record("d", Done); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range lines(t, path) {
		got = append(got, e.Query+" "+string(e.Outcome))
	}
	if want := "a ok,c denied,d ok"; strings.Join(got, ",") != want {
		t.Errorf("the log holds %q, want %s", got, want)
	}
}
