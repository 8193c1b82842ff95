// Package keyword knows the key words of the SQL dialects between which statements are carried.
package keyword

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed keywords.tsv
var table string

// Class says how far a word is reserved in one grammar.
type Class uint8

// The classes, from free to reserved. ColumnName words can't name functions or types; TypeOrFunction words can't
// name columns.
const (
	None Class = iota
	Unreserved
	ColumnName
	TypeOrFunction
	Reserved
)

// Word is a key word's class in each grammar.
type Word struct{ PostgreSQL, DuckDB Class }

var words = sync.OnceValue(func() map[string]Word {
	m := make(map[string]Word, 560)
	for line := range strings.Lines(table) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 3 || strings.HasPrefix(line, "#") {
			continue
		}
		m[f[0]] = Word{class(f[1]), class(f[2])}
	}
	return m
})

// class reads a list of categories and returns the most reserved one. A category that is not known counts as reserved.
func class(s string) Class {
	c := None
	for name := range strings.SplitSeq(s, ",") {
		n := Reserved
		switch name {
		case "-":
			n = None
		case "unreserved":
			n = Unreserved
		case "col_name", "column_name":
			n = ColumnName
		case "type_func_name", "type_function":
			n = TypeOrFunction
		}
		c = max(c, n)
	}
	return c
}

// Of returns the classes of a lower-case word; the zero Word if it is no key word anywhere.
func Of(word string) Word { return words()[word] }
