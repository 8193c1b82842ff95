package classify

import (
	"strconv"
	"strings"

	"gatehouse/classify/keyword"
)

// rewritten is text that PostgreSQL's grammar can read, with the way back to the user's text.
type rewritten struct {
	text   string
	starts []int        // where each token starts in text, ascending
	origin []int        // where it, or what it stands for, starts in the user's text
	idiv   map[int]bool // offsets in text of "/" that stand for "//"
	params int
}

// original maps an offset in r.text to one in the user's text.
func (r *rewritten) original(off int) int {
	lo, hi := 0, len(r.starts)
	for lo < hi {
		if mid := (lo + hi) / 2; r.starts[mid] <= off {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return 0
	}
	return r.origin[lo-1]
}

// pass rewrites one construct. Passes see only the tokens, so that they can't disagree about spaces and comments.
type pass func(toks []token) ([]token, error)

// prepass rewrites the syntax that PostgreSQL lacks to marker forms; markers.go lists them.
func prepass(toks []token) (*rewritten, error) {
	params, toks, err := numberParams(toks)
	if err != nil {
		return nil, err
	}
	if err := balanced(toks); err != nil {
		return nil, err
	}
	for _, p := range []pass{
		refuseByName, asofJoins, escapes, braces, trailingCommas, calls, types, fromFirst, travel, lists, subscripts, intervals, casts, allItems, stars, lambdas,
		qualify, identifiers,
	} {
		if toks, err = p(toks); err != nil {
			return nil, err
		}
	}
	return join(toks, params), nil
}

// join writes tokens out with one space between them, so that comments and odd spaces never reach the parser.
func join(toks []token, params int) *rewritten {
	r := &rewritten{idiv: map[int]bool{}, params: params}
	var b strings.Builder
	for i, t := range toks {
		if i > 0 {
			b.WriteByte(' ')
		}
		r.starts = append(r.starts, b.Len())
		r.origin = append(r.origin, t.pos)
		switch {
		case t.op("//"):
			r.idiv[b.Len()] = true
			b.WriteByte('/')
		case t.op("=="):
			b.WriteByte('=')
		case t.kind == tokNumber:
			b.WriteString(t.value) // without _ between digits
		case t.op("**"):
			b.WriteByte('^')
		default:
			b.WriteString(t.text)
		}
	}
	r.text = b.String()
	return r
}

// numberParams numbers the ? parameters and counts the $n ones.
func numberParams(toks []token) (int, []token, error) {
	out := make([]token, len(toks))
	copy(out, toks)
	marks, highest := 0, 0
	for i, t := range out {
		if t.kind != tokParam {
			continue
		}
		if t.value != "" {
			highest = max(highest, atoi(t.value))
		} else {
			marks++
			if marks > maxParameter {
				return 0, nil, overLimit("more than 1000 parameters", t.pos)
			}
			out[i].value = strconv.Itoa(marks)
			out[i].text = "$" + out[i].value
		}
		if marks > 0 && highest > 0 {
			return 0, nil, &UnsupportedError{Construct: "both ? and $n parameters", Pos: t.pos}
		}
	}
	return max(marks, highest), out, nil
}

var closers = map[string]string{"(": ")", "[": "]", "{": "}"}

func opens(t token) bool  { return t.kind == tokPunct && closers[t.text] != "" }
func closes(t token) bool { return t.punct(")") || t.punct("]") || t.punct("}") }

func balanced(toks []token) error {
	var stack []token
	for _, t := range toks {
		switch {
		case opens(t):
			stack = append(stack, t)
		case closes(t):
			if len(stack) == 0 || closers[stack[len(stack)-1].text] != t.text {
				return &SyntaxError{Message: "unexpected " + strconv.Quote(t.text), Pos: t.pos}
			}
			stack = stack[:len(stack)-1]
		case t.punct(";"):
			return &UnsupportedError{Construct: "more than one statement", Pos: t.pos}
		}
	}
	if len(stack) > 0 {
		return &SyntaxError{Message: strconv.Quote(stack[len(stack)-1].text) + " is never closed", Pos: stack[len(stack)-1].pos}
	}
	return nil
}

// matches returns, for each bracket, the index of its partner, and -1 for other tokens.
func matches(toks []token) []int {
	m := make([]int, len(toks))
	var stack []int
	for i, t := range toks {
		m[i] = -1
		if opens(t) {
			stack = append(stack, i)
		} else if closes(t) && len(stack) > 0 {
			j := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			m[i], m[j] = j, i
		}
	}
	return m
}

// get returns the token at i, the zero token outside.
func get(toks []token, i int) token {
	if i < 0 || i >= len(toks) {
		return token{pos: -1}
	}
	return toks[i]
}

func mkWord(s string, pos int) token  { return token{kind: tokWord, text: s, value: s, pos: pos} }
func mkPunct(s string, pos int) token { return token{kind: tokPunct, text: s, pos: pos} }
func mkString(s string, pos int) token {
	return token{kind: tokString, text: "'" + strings.ReplaceAll(s, "'", "''") + "'", value: s, pos: pos, plain: true}
}

// split cuts toks at the commas that are not inside brackets. It returns nil for no tokens.
func split(toks []token, sep string) [][]token {
	if len(toks) == 0 {
		return nil
	}
	var out [][]token
	depth, from := 0, 0
	for i, t := range toks {
		switch {
		case opens(t):
			depth++
		case closes(t):
			depth--
		case depth == 0 && t.punct(sep):
			out = append(out, toks[from:i])
			from = i + 1
		}
	}
	return append(out, toks[from:])
}

// isName reports whether t can be an identifier that is not a reserved word.
func isName(t token) bool {
	if t.kind == tokQuoted {
		return true
	}
	return t.kind == tokWord && keyword.Of(strings.ToLower(t.text)).PostgreSQL != keyword.Reserved
}

// endsOperand reports whether an expression can end with t, so that what follows is not an operand.
func endsOperand(t token) bool {
	switch t.kind {
	case tokWord:
		w := strings.ToLower(t.text)
		return keyword.Of(w).PostgreSQL != keyword.Reserved && !continues[w] || w == "end" || w == "null" || w == "true" || w == "false"
	case tokQuoted, tokString, tokNumber, tokParam:
		return true
	case tokPunct:
		return closes(t)
	}
	return false
}

// continues holds the words that are not reserved but are followed by an operand when they stand in an expression.
var continues = map[string]bool{
	"in": true, "like": true, "ilike": true, "between": true, "is": true, "similar": true, "escape": true, "by": true,
	"values": true, "qualify": true, "set": true,
}

// identifiers quotes every unquoted identifier with upper-case letters that is no key word, so that case survives.
func identifiers(toks []token) ([]token, error) {
	out := make([]token, len(toks))
	for i, t := range toks {
		out[i] = t
		if t.kind != tokWord || t.text == fold(t.text) {
			continue
		}
		class := keyword.Of(fold(t.text)).PostgreSQL
		if class == keyword.None || get(toks, i-1).punct(".") && class != keyword.Reserved {
			out[i].kind = tokQuoted
			out[i].text = `"` + t.text + `"`
		}
	}
	return out, nil
}
