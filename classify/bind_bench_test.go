package classify

import (
	"os"
	"strings"
	"testing"
)

// BenchmarkBind binds the 22 queries of TPC-H once per iteration.
func BenchmarkBind(b *testing.B) {
	data, err := os.ReadFile("testdata/bind/tpch.dd")
	if err != nil {
		b.Fatal(err)
	}
	tables := shapes{}
	var statements []*Statement
	var rels [][]Relation
	for block := range strings.SplitSeq(string(data), "\n\n") {
		if lines, ok := strings.CutPrefix(block, "schema\n"); ok {
			for line := range strings.Lines(lines) {
				tables.declare(strings.TrimSpace(line))
			}
		}
		_, text, ok := strings.Cut(block, "columns\n")
		if !ok {
			continue
		}
		text, _, _ = strings.Cut(text, "\n----")
		s, err := Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		statements = append(statements, s)
		var r []Relation
		for _, t := range s.Tables() {
			r = append(r, tables[fold(t.Resolve(testNamespace).String())])
		}
		rels = append(rels, r)
	}
	if len(statements) != 22 {
		b.Fatalf("%d statements", len(statements))
	}
	for b.Loop() {
		for i, s := range statements {
			if _, err := s.Bind(rels[i]); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkParse parses the 22 queries of TPC-H once per iteration.
func BenchmarkParse(b *testing.B) {
	data, err := os.ReadFile("testdata/bind/tpch.dd")
	if err != nil {
		b.Fatal(err)
	}
	var texts []string
	for block := range strings.SplitSeq(string(data), "\n\n") {
		if _, text, ok := strings.Cut(block, "columns\n"); ok {
			text, _, _ = strings.Cut(text, "\n----")
			texts = append(texts, text)
		}
	}
	for b.Loop() {
		for _, t := range texts {
			if _, err := Parse(t); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkBindLongList binds a list of 20,000 texts: time per member must not grow with their number.
func BenchmarkBindLongList(b *testing.B) {
	s, err := Parse("SELECT id FROM t WHERE s IN ('x'" + strings.Repeat(",'abc'", 20_000) + ")")
	if err != nil {
		b.Fatal(err)
	}
	rels := []Relation{{Columns: []Column{{Name: "id", Type: "BIGINT"}, {Name: "s", Type: "VARCHAR"}}}}
	for b.Loop() {
		if _, err := s.Bind(rels); err != nil {
			b.Fatal(err)
		}
	}
}
