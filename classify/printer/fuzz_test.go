package printer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gatehouse/classify"
)

// FuzzParse holds the laws of Parse and PrintSelect: no panic, only our errors, and printed text reads back as the same tree.
func FuzzParse(f *testing.F) {
	for _, c := range corpus(f) {
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if err := laws(text); err != nil {
			t.Fatal(err)
		}
	})
}

// TestMutatedStatements holds the same laws on statements that are cut and joined at random from the corpus.
func TestMutatedStatements(t *testing.T) {
	var words []string
	for _, c := range corpus(t) {
		words = append(words, strings.Fields(c)...)
	}
	statements := corpus(t)
	rapid.Check(t, func(t *rapid.T) {
		w := strings.Fields(rapid.SampledFrom(statements).Draw(t, "statement"))
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			if len(w) == 0 {
				break
			}
			i := rapid.IntRange(0, len(w)-1).Draw(t, "at")
			switch rapid.IntRange(0, 3).Draw(t, "change") {
			case 0:
				w = append(w[:i:i], w[i+1:]...)
			case 1:
				w[i] = rapid.SampledFrom(words).Draw(t, "word")
			case 2:
				w = append(w[:i:i], append([]string{rapid.SampledFrom(words).Draw(t, "word")}, w[i:]...)...)
			case 3:
				other := strings.Fields(rapid.SampledFrom(statements).Draw(t, "other"))
				w = append(w[:i:i], other[min(i, len(other)):]...)
			}
		}
		if err := laws(strings.Join(w, " ")); err != nil {
			t.Fatal(err)
		}
	})
}

// corpus returns the statements of the test files.
func corpus(t testing.TB) []string {
	files, err := filepath.Glob("../testdata/statements/*.dd")
	if err != nil || len(files) == 0 {
		t.Fatal("no corpus", err)
	}
	var out []string
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range strings.Split(string(text), "\n\n") {
			_, c, _ = strings.Cut(c, "\n")
			c, _, _ = strings.Cut(c, "\n----")
			out = append(out, c)
		}
	}
	return out
}

// laws returns what text shows to be broken.
func laws(text string) error {
	s, err := classify.Parse(text)
	if err != nil {
		var syntax *classify.SyntaxError
		var unsupported *classify.UnsupportedError
		var name *classify.NameError
		if !errors.As(err, &syntax) && !errors.As(err, &unsupported) && !errors.As(err, &name) {
			return fmt.Errorf("an error of type %T: %w", err, err)
		}
		return nil
	}
	if s.Kind() == classify.KindInvalid {
		return errors.New("a statement without kind")
	}
	if s.Kind() != classify.KindSelect {
		return nil
	}
	for _, r := range s.Tables() {
		if r.Travel != (classify.Travel{}) {
			return nil // a rewrite drops it; it does not print
		}
	}
	s = s.In(classify.Namespace{Catalog: "lake", Schema: "main"}, "o'hara", "all")
	out, err := PrintSelect(s.Tree(), DuckDB())
	if err != nil {
		return fmt.Errorf("accepted but not printed: %w\n%s", err, text)
	}
	if err := Verify(s.Tree(), out); err != nil {
		return fmt.Errorf("%w\n%s\n%s", err, text, out)
	}
	return nil
}
