package classify

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed functions.tsv
var functionTable string

// function is one row of the allow-list.
type function struct {
	kind  string // "scalar", "aggregate", "window", "set", "operator"
	class Class
}

var functions = sync.OnceValue(func() map[string]function {
	classes := map[string]Class{"leakproof": ClassLeakproof, "raising": ClassRaising, "dictionary": ClassDictionary}
	m := make(map[string]function, 600)
	for line := range strings.Lines(functionTable) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if strings.HasPrefix(line, "#") || len(f) != 3 {
			continue
		}
		m[f[0]] = function{f[1], classes[f[2]]} // a misspelt class is ClassForbidden
	}
	return m
})

// lookFunction finds a function that may be called; operators are not functions.
func lookFunction(name string) (function, bool) {
	f, ok := functions()[name]
	if f.kind == "operator" || f.class == ClassForbidden {
		return function{}, false
	}
	return f, ok
}

// ClassOf returns the class of a function by its lower-case name. A function that is not known is forbidden.
func ClassOf(name string) Class {
	f, _ := lookFunction(name)
	return f.class
}

// ClassOfOperator returns the class of an operator between operands of one type. An unknown one is forbidden.
func ClassOfOperator(name string) Class {
	if f := functions()[name]; f.kind == "operator" {
		return f.class
	}
	return ClassForbidden
}

// IsAggregate reports whether name is an aggregate function.
func IsAggregate(name string) bool { return functions()[name].kind == "aggregate" }

// IsWindow reports whether name is a function that needs OVER.
func IsWindow(name string) bool { return functions()[name].kind == "window" }

// IsSetReturning reports whether name may stand in FROM as a function.
func IsSetReturning(name string) bool { return functions()[name].kind == "set" }

// Aggregates returns the names of all aggregate functions that may be called.
func Aggregates() []string {
	var out []string
	for name, f := range functions() {
		if f.kind == "aggregate" && f.class != ClassForbidden {
			out = append(out, name)
		}
	}
	return out
}
