// Package sample has one place for each kind of mutant, for the test of cmd/mutate.
package sample

import "errors"

var (
	errNo   = errors.New("no")
	errKind = errors.New("kind")
)

// Kind is for constants of a named type.
type Kind int

// Kinds.
const (
	Small Kind = iota
	Large
	Huge
)

var kinds = map[string]Kind{"small": Small, "large": Large}

// Lookup has a table and a refusal.
func Lookup(name string) (Kind, error) {
	k, ok := kinds[name]
	if !ok {
		return Small, errKind
	}
	return k, nil
}

// Enter has conditions of two parts.
func Enter(member, banned bool, age int) error {
	if banned || !member && age < 18 {
		return errNo
	}
	open := true
	if !open {
		return errKind
	}
	return nil
}

// Filters appends, in a loop that goes on.
func Filters(rows []int, hidden map[int]bool) []int {
	var out []int
	for _, r := range rows {
		if hidden[r] {
			continue
		}
		out = append(out, r)
	}
	return out
}

// Name has switches over values and types.
func Name(v any) string {
	switch v := v.(type) {
	case int:
		switch v {
		case 1, 2:
			return "few"
		}
	case string, Kind:
		return "word"
	case nil:
	default:
		return "other"
	}
	return ""
}

// Wait hangs without its step.
func Wait(n int) Kind {
	for n > 0 {
		n--
	}
	return Huge
}

// Order has neighbours of one type.
func Order(a, b string) bool { return less(a, b) }

func less(a, b string) bool { return a < b }

// Both is tested with the one case that tells && from ||.
func Both(a, b bool) bool {
	if a && b {
		return true
	}
	return false
}

// Untested is what no test comes by.
func Untested(a bool) bool { return a || !Order("a", "b") }

func forgotten(calls *int) {
	count(calls)
}

func count(calls *int) { *calls++ }
