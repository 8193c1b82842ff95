package classify

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"google.golang.org/protobuf/proto"
)

// TestChanges runs the files in testdata/changes. A case is one statement: what is said of it ("0"), and of all
// the statements that differ from it by one token: "-3" is without the third one, "+3" has it twice. Refusals are listed by their words,
// each change with the position, in bytes from 1, of the refusal. What is accepted is listed by what it touches, each change with a digest of the tree and
// of the positions in it, so that any change of what Parse or Bind makes of a statement is seen.
//
// The command "parse" is for Parse, "bind" for Bind against the tables that "schema" declares. Whatever the change, refusals are of our own types and stand within
// the text.
func TestChanges(t *testing.T) {
	datadriven.Walk(t, "testdata/changes", func(t *testing.T, path string) {
		tables := shapes{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			judge := func(text string) (string, error) { return sayParsed(text) }
			switch d.Cmd {
			case "schema":
				for line := range strings.Lines(d.Input) {
					tables.declare(strings.TrimSpace(line))
				}
				return ""
			case "bind":
				judge = func(text string) (string, error) { return sayBound(t, tables, text) }
			}
			var out strings.Builder
			changes(t, &out, d.Input, judge)
			return out.String()
		})
	})
}

// changes writes what judge says of text and of what differs from it by one token.
func changes(t *testing.T, out *strings.Builder, text string, judge func(string) (string, error)) {
	t.Helper()
	var order []string
	said := map[string][]string{}
	try := func(name, text string) {
		what, err := judge(text)
		mark := ""
		if err != nil {
			what, mark = sayRefused(t, text, err)
		} else if i := strings.LastIndexByte(what, '='); i >= 0 {
			what, mark = what[:i], what[i:]
		}
		if said[what] == nil {
			order = append(order, what)
		}
		said[what] = append(said[what], name+mark)
	}
	try("0", text)
	toks, err := lex(text)
	if err != nil {
		toks = nil // what has no tokens has no neighbours
	}
	for i, k := range toks {
		end := k.pos + len(k.text)
		try(fmt.Sprintf("-%d", i+1), text[:k.pos]+text[end:])
		try(fmt.Sprintf("+%d", i+1), text[:end]+" "+k.text+text[end:])
	}
	for _, what := range order {
		fmt.Fprintf(out, "%s: %s\n", what, strings.Join(said[what], " "))
	}
}

// sayRefused splits a refusal into its words and its position.
func sayRefused(t *testing.T, text string, err error) (what, mark string) {
	t.Helper()
	pos := -1
	if e, ok := errors.AsType[*SyntaxError](err); ok {
		pos = e.Pos
	}
	if e, ok := errors.AsType[*UnsupportedError](err); ok {
		pos = e.Pos
	}
	if e, ok := errors.AsType[*NameError](err); ok {
		pos = e.Pos
	}
	wantOurError(t, text, err)
	what, _, _ = strings.Cut(err.Error(), " (at character ")
	if pos < 0 {
		return "! " + what, ""
	}
	return "! " + what, fmt.Sprintf("@%d", pos+1)
}

// sayParsed says what Parse makes of a statement: all that it touches, then "=" and a digest of its tree.
func sayParsed(text string) (string, error) {
	s, err := Parse(text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%d", s.Kind())
	if s.Kind() == KindExplain {
		fmt.Fprintf(&out, " analyze=%v", s.Analyze())
		s = s.Inner()
	}
	for _, r := range s.Tables() {
		fmt.Fprintf(&out, " %s:%s", strings.Join(r.Parts, "."), r.Alias)
		if r.Travel.Micros != nil {
			fmt.Fprintf(&out, "@%dus", *r.Travel.Micros)
		}
		if r.Travel.Snapshot != 0 || r.Travel.Ref != "" {
			fmt.Fprintf(&out, "@%d%s", r.Travel.Snapshot, r.Travel.Ref)
		}
	}
	for _, f := range s.Functions() {
		out.WriteString(" " + f + "()")
	}
	if s.Params() > 0 {
		fmt.Fprintf(&out, " $%d", s.Params())
	}
	if a := s.Access(); a != nil {
		out.WriteString(" " + sayAccess(*a))
	}
	if name, value, reset := s.Setting(); name != "" {
		fmt.Fprintf(&out, " %s:%q,%v", name, value, reset)
	}
	if s.Pattern() != "" || s.Target() != nil {
		fmt.Fprintf(&out, " %s like %q", strings.Join(s.Target(), "."), s.Pattern())
	}
	return out.String() + "=" + digest(s), nil
}

var emptyField = regexp.MustCompile(`"[A-Za-z]+":(null|""|false|0|"0001-01-01T00:00:00Z"),?`)

// sayAccess says what a statement about rights says, but for the places of its parts.
func sayAccess(a Access) string {
	a.Positions = nil
	if a.Rule != nil {
		r := *a.Rule
		r.Pos = 0
		a.Rule = &r
	}
	b, err := json.Marshal(a)
	if err != nil {
		return err.Error()
	}
	return strings.ReplaceAll(emptyField.ReplaceAllString(string(b), ""), `"`, "")
}

// digest is short for a statement's tree, with all positions, and for the places of what a statement about rights says.
func digest(s *Statement) string {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(s.Tree())
	if err != nil {
		return err.Error()
	}
	if a := s.Access(); a != nil {
		b = fmt.Append(b, a.Positions)
		if a.Rule != nil {
			b = fmt.Append(b, a.Rule.Pos)
		}
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:3])
}

// sayBound says what Bind makes of a statement: uses, then "=" and a digest of conjuncts and rewrite.
func sayBound(t *testing.T, tables shapes, text string) (string, error) {
	t.Helper()
	b, err := tables.bind(text)
	if err != nil {
		if strings.HasPrefix(err.Error(), "no table ") {
			return err.Error(), nil // and Bind has nothing to say
		}
		return "", err
	}
	var uses []string
	rest := sha256.New()
	for line := range strings.Lines(describe(t, b, true, true)) {
		if strings.Contains(line, ":") && !strings.HasPrefix(line, "  ") && len(uses) < len(b.Relations()) {
			uses = append(uses, strings.TrimSpace(line))
			continue
		}
		rest.Write([]byte(line))
	}
	return strings.Join(uses, "; ") + "=" + hex.EncodeToString(rest.Sum(nil)[:3]), nil
}
