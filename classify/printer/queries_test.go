package printer

import (
	"os"
	"path/filepath"
	"testing"

	"gatehouse/classify"
)

// TestBenchmarkQueries parses and prints the queries of three benchmarks, and reads the text back.
func TestBenchmarkQueries(t *testing.T) {
	for dir, want := range map[string]int{"tpch": 22, "tpcds": 99, "clickbench": 43} {
		files, err := filepath.Glob(filepath.Join("..", "testdata", "queries", dir, "*.sql"))
		if err != nil || len(files) != want {
			t.Fatalf("%s: %d files, want %d (%v)", dir, len(files), want, err)
		}
		for _, f := range files {
			t.Run(dir+"/"+filepath.Base(f), func(t *testing.T) {
				text, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				roundTrip(t, string(text))
			})
		}
	}
}

// roundTrip checks the laws of parse and print: the text reads back as the same tree with the same classification, and
// printing that again gives the same text.
func roundTrip(t *testing.T, text string) {
	t.Helper()
	s, err := classify.Parse(text)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	out, err := PrintSelect(s.Tree(), DuckDB())
	if err != nil {
		t.Fatalf("PrintSelect: %v", err)
	}
	if err := Verify(s.Tree(), out); err != nil {
		t.Errorf("Verify: %v\n%s", err, out)
	}
	again, err := classify.Parse(out)
	if err != nil {
		t.Fatalf("Parse of printed text: %v\n%s", err, out)
	}
	same := again.Kind() == s.Kind() && again.Params() == s.Params() && len(again.Tables()) == len(s.Tables()) && len(again.Functions()) == len(s.Functions())
	for i := 0; same && i < len(s.Tables()); i++ {
		a, b := s.Tables()[i], again.Tables()[i]
		same = a.Alias == b.Alias && equalStrings(a.Parts, b.Parts)
	}
	if !same || !equalStrings(s.Functions(), again.Functions()) {
		t.Errorf("another classification\n%s", out)
	}
	second, err := PrintSelect(again.Tree(), DuckDB())
	if err != nil || second != out {
		t.Errorf("printed again: %v\n%s\n%s", err, out, second)
	}
}

func equalStrings(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
