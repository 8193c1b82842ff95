package classify

import (
	"slices"
	"strconv"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// maxSize bounds the argument of a function that says how long its result is. An engine builds such a result in one step,
// which nothing can interrupt and which its memory limit may not count.
const maxSize = 10_000

// sizes are functions with an argument, counted from 0, that sets the size of the result: it must be a small whole number as a
// literal, since the value of a column or a parameter is not known here.
var sizes = map[string]int{
	"repeat": 1, "lpad": 1, "rpad": 1, "list_resize": 1, "array_resize": 1, "bitstring": 1, "to_base": 2,
}

// maxPattern bounds the text that a function of quadratic time compares another text with.
const maxPattern = 256 // bytes

// quadratic are functions that take time by the product of the lengths of two texts, in one step.
var quadratic = map[string]bool{
	"levenshtein": true, "editdist3": true, "damerau_levenshtein": true, "jaro_similarity": true, "jaro_winkler_similarity": true,
}

// bounded refuses a call that could make a result of any size in one step.
func (a *allow) bounded(n *pgquery.FuncCall, name string) error {
	if i, ok := sizes[name]; ok && len(n.Args) > i {
		if k, ok := wholeNumber(n.Args[i]); !ok || k > maxSize {
			return a.refuse("a size in " + name + " that is not a number up to " + strconv.Itoa(maxSize))
		}
	}
	if quadratic[name] && !slices.ContainsFunc(n.Args, shortText) {
		return a.refuse(name + " of two texts of which none is a literal of up to " + strconv.Itoa(maxPattern) + " bytes")
	}
	switch name {
	case "like_escape", "ilike_escape", "not_like_escape", "not_ilike_escape":
		return a.refuse("LIKE called as a function")
	case "range", "generate_series":
		if !a.placed[n] && !shortSeries(n.Args) {
			return a.refuse(name + " outside of FROM, but for up to " + strconv.Itoa(maxSize) + " numbers given as literals")
		}
	case "printf", "format":
		if len(n.Args) > 0 && !narrow(n.Args[0]) {
			return a.refuse("a template of " + name + " that is not a literal, or has a width above 999")
		}
	}
	return nil
}

func shortText(n *pgquery.Node) bool {
	s, ok := n.GetAConst().GetVal().(*pgquery.A_Const_Sval)
	return ok && len(s.Sval.Sval) <= maxPattern
}

// wholeNumber returns the value of an integer literal. The grammar makes one number of a sign and a number.
func wholeNumber(n *pgquery.Node) (int64, bool) {
	c, ok := n.GetAConst().GetVal().(*pgquery.A_Const_Ival)
	if !ok {
		return 0, false
	}
	return int64(c.Ival.GetIval()), true
}

// shortSeries reports whether a series from literals has at most maxSize members.
func shortSeries(args []*pgquery.Node) bool {
	k := []int64{0, 0, 1}
	if len(args) == 0 || len(args) > 3 {
		return false
	}
	for i, arg := range args {
		v, ok := wholeNumber(arg)
		if !ok {
			return false
		}
		if len(args) == 1 {
			i = 1
		}
		k[i] = v
	}
	return k[2] == 0 || (k[1]-k[0])/k[2] <= maxSize
}

// narrow reports whether a template is a literal without a number of four digits, and takes no width from an argument.
func narrow(n *pgquery.Node) bool {
	s, ok := n.GetAConst().GetVal().(*pgquery.A_Const_Sval)
	if !ok || strings.Contains(s.Sval.Sval, "*") {
		return false
	}
	digits, braces := 0, 0
	for _, r := range s.Sval.Sval {
		switch {
		case r >= '0' && r <= '9':
			if digits++; digits > 3 {
				return false
			}
			continue
		case r == '{':
			if braces++; braces > 1 {
				return false // {:{}} takes the width from an argument; {{ is a brace
			}
		case r == '}':
			braces = 0
		}
		digits = 0
	}
	return true
}
