package printer

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"gatehouse/classify"
)

var kinds = map[classify.Kind]string{
	classify.KindSelect: "select", classify.KindExplain: "explain", classify.KindShowCatalogs: "show catalogs", classify.KindShowSchemas: "show schemas",
	classify.KindShowTables: "show tables", classify.KindShowColumns: "show columns", classify.KindSet: "set", classify.KindShow: "show",
	classify.KindUse: "use", classify.KindTransaction: "transaction",
	classify.KindAccess: "access", classify.KindSetRole: "set role", classify.KindShowAccess: "show access",
}

// TestStatements runs the files of classify/testdata/statements: one statement a case, and what Parse and PrintSelect say of it.
//
// The command is "parse", with "in" after it for a statement in the namespace lake.main, "expr" for the class of one expression, or
// "each" for what is printed, or else known, of the statement on each line. Every statement that prints is also read back.
func TestStatements(t *testing.T) {
	datadriven.Walk(t, "../testdata/statements", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "parse":
				return describe(t, d)
			case "expr":
				return describeExpr(d.Input)
			case "each":
				return describeEach(t, d.Input)
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

func describe(t *testing.T, d *datadriven.TestData) string {
	text := d.Input
	s, err := classify.Parse(text)
	if err != nil {
		return describeError(t, text, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "kind: %s\n", kinds[s.Kind()])
	if s.Kind() == classify.KindExplain {
		fmt.Fprintf(&b, "analyze: %v\n", s.Analyze())
		s = s.Inner()
	}
	for _, r := range s.Tables() {
		fmt.Fprintf(&b, "table: %s at %q", strings.Join(r.Parts, " . "), text[r.Pos:min(r.Pos+12, len(text))])
		if r.Alias != "" {
			fmt.Fprintf(&b, " as %s", r.Alias)
		}
		switch v := r.Travel; {
		case v.Snapshot != 0:
			fmt.Fprintf(&b, " snapshot %d", v.Snapshot)
		case v.Ref != "":
			fmt.Fprintf(&b, " ref %s", v.Ref)
		case v.Micros != nil:
			fmt.Fprintf(&b, " micros %d", *v.Micros)
		}
		b.WriteByte('\n')
	}
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	line("functions", strings.Join(s.Functions(), " "))
	if s.Params() > 0 {
		line("params", fmt.Sprint(s.Params()))
	}
	line("target", strings.Join(s.Target(), " . "))
	line("pattern", s.Pattern())
	if name, value, reset := s.Setting(); name != "" {
		fmt.Fprintf(&b, "setting: %s = %q reset %v\n", name, value, reset)
	}
	if d.HasArg("in") {
		s = s.In(classify.Namespace{Catalog: "lake", Schema: "main"}, "o'hara", "all")
	}
	if s.Kind() == classify.KindSelect {
		out, err := PrintSelect(s.Tree(), DuckDB())
		if err != nil {
			fmt.Fprintf(&b, "print: %v\n", err)
		} else {
			fmt.Fprintf(&b, "print: %s\n", out)
			roundTrip(t, out)
		}
	}
	return b.String()
}

func describeEach(t *testing.T, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		s, err := classify.Parse(line)
		if err != nil {
			fmt.Fprintf(&b, "%s\nerror: %v\n", line, err)
			continue
		}
		if s.Kind() != classify.KindSelect {
			name, value, reset := s.Setting()
			fmt.Fprintf(&b, "%s: %s, target %q, pattern %q, setting %q = %q, reset %v, analyze %v\n", line, kinds[s.Kind()], s.Target(), s.Pattern(), name, value, reset, s.Analyze())
			continue
		}
		out, err := PrintSelect(s.Tree(), DuckDB())
		if err != nil {
			fmt.Fprintf(&b, "%s\nerror: %v\n", line, err)
			continue
		}
		fmt.Fprintln(&b, out)
		roundTrip(t, out)
	}
	return b.String()
}

// describeError prints an error with the text that its position points at.
func describeError(t *testing.T, text string, err error) string {
	pos := -1
	var syntax *classify.SyntaxError
	var unsupported *classify.UnsupportedError
	var name *classify.NameError
	switch {
	case errors.As(err, &syntax):
		pos = syntax.Pos
	case errors.As(err, &unsupported):
		pos = unsupported.Pos
	case errors.As(err, &name):
		pos = name.Pos
	default:
		t.Fatalf("an error of type %T: %v", err, err)
	}
	if pos < 0 || pos >= len(text) {
		return fmt.Sprintf("error: %v\n", err)
	}
	return fmt.Sprintf("error: %v\nthere: %q\n", err, text[pos:min(pos+12, len(text))])
}

func describeExpr(text string) string {
	s, err := classify.Parse("SELECT " + text)
	if err != nil {
		return fmt.Sprintf("error: %v\n", err)
	}
	n := s.Tree().TargetList[0].GetResTarget().GetVal()
	out, err := PrintExpr(n, DuckDB())
	if err != nil {
		return fmt.Sprintf("print: %v\n", err)
	}
	class := map[classify.Class]string{
		classify.ClassForbidden: "forbidden", classify.ClassLeakproof: "leakproof", classify.ClassRaising: "raising", classify.ClassDictionary: "dictionary",
	}[classify.ExprClass(n)]
	return fmt.Sprintf("print: %s\nclass: %s\n", out, class)
}
