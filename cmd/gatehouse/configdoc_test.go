package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"
)

var updateDocs = flag.Bool("update-docs", false, "write docs/configuration.md")

const configDoc = "../../docs/configuration.md"

// TestConfigurationDoc holds docs/configuration.md to the comments in config.go.
func TestConfigurationDoc(t *testing.T) {
	want := configurationDoc(t)
	if *updateDocs {
		if err := os.WriteFile(configDoc, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(configDoc)
	if err != nil || string(got) != want {
		t.Errorf("%s is out of date (%v): go test ./cmd/gatehouse -run TestConfigurationDoc -update-docs", configDoc, err)
	}
}

// TestDocExample: the example in the document is a configuration that is accepted.
func TestDocExample(t *testing.T) {
	doc, err := os.ReadFile(configDoc)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(doc), "```yaml\n")
	text, _, ok2 := strings.Cut(rest, "```")
	if !ok || !ok2 || text != goodConfig {
		t.Fatal("the document has no example, or another one")
	}
}

func configurationDoc(t *testing.T) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "config.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]*ast.TypeSpec{}
	about := map[string]string{}
	for _, decl := range file.Decls {
		g, ok := decl.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		for _, s := range g.Specs {
			spec := s.(*ast.TypeSpec)
			types[spec.Name.Name] = spec
			about[spec.Name.Name] = strings.Join(strings.Fields(g.Doc.Text()), " ")
		}
	}
	var b strings.Builder
	b.WriteString(`# Configuration

` + "`gatehouse serve --config FILE`" + ` reads one YAML file. It is strict: a key that is not in this document, a value of the wrong
type, a key twice, or a combination that is not safe stops the start with a message that names the key, the line and what to
do. Times have a unit (` + "`250ms`, `10s`, `30m`, `12h`" + `), sizes too (` + "`512MiB`, `4GiB`" + `). Paths are relative to the file's folder.

Secrets stand in files of their own, never in this one. Such a file must not be readable by everybody or writable by others
(` + "`chmod 600`" + `), and neither this file nor the policy may be writable by everybody; else Gatehouse does not start.

An address that is not loopback needs ` + "`tls`" + `. The HTTP address speaks plain HTTP and stays on loopback.

This document is made from the comments in ` + "`cmd/gatehouse/config.go`" + ` and checked by a test.

## Example

` + "```yaml\n" + goodConfig + "```\n")
	var section func(title, name string)
	section = func(title, name string) {
		if title != "" {
			fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| key | type | meaning |\n|---|---|---|\n", title, sentence(about[name]))
		}
		var inner [][2]string
		for _, f := range types[name].Type.(*ast.StructType).Fields.List {
			if f.Tag == nil {
				continue
			}
			key := reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("yaml")
			kind, sub := describeType(f.Type, types)
			if title != "" {
				meaning := strings.TrimSpace(f.Comment.Text())
				if meaning == "" && sub == "" {
					meaning = "—"
				}
				if sub != "" {
					meaning = strings.TrimSpace(meaning + " (see below)")
				}
				fmt.Fprintf(&b, "| `%s` | %s | %s |\n", key, kind, strings.ReplaceAll(meaning, "|", "\\|"))
			}
			if sub != "" {
				path := key
				if title != "" {
					path = strings.Trim(title, "`") + "." + key
				}
				switch f.Type.(type) {
				case *ast.MapType:
					path += ".NAME"
				case *ast.ArrayType:
					path += "[]"
				}
				inner = append(inner, [2]string{"`" + path + "`", sub})
			}
		}
		for _, i := range inner {
			section(i[0], i[1])
		}
	}
	section("", "Config")
	return b.String()
}

// sentence drops the type's name from a doc comment's first words.
func sentence(s string) string {
	_, rest, _ := strings.Cut(s, " ")
	if rest == "" {
		return s
	}
	return strings.ToUpper(rest[:1]) + rest[1:]
}

// describeType names a field's type for people, and the struct that it is made of, if any.
func describeType(e ast.Expr, types map[string]*ast.TypeSpec) (kind, sub string) {
	switch e := e.(type) {
	case *ast.Ident:
		if types[e.Name] != nil {
			return "section", e.Name
		}
		return map[string]string{"string": "text", "bool": "true or false", "int": "number", "int64": "number"}[e.Name], ""
	case *ast.SelectorExpr:
		return "time", ""
	case *ast.ArrayType:
		inner, sub := describeType(e.Elt, types)
		if sub != "" {
			return "list of sections", sub
		}
		return "list of " + inner, ""
	case *ast.MapType:
		_, sub := describeType(e.Value, types)
		return "names with a section each", sub
	}
	return "", ""
}
