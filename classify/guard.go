package classify

import (
	"strings"
	"unicode/utf8"
)

// Limits on a statement's text. The C parser recurses without a check in its left-recursive rules: 23,500 terms of 1+1+…
// overflow an 8 MiB stack and end the process, and nested comments cost quadratic time. The limits are well below that.
const (
	maxText       = 1 << 20 // bytes
	maxTokens     = 15_000  // words and operators; commas and literals don't count, so that long IN lists pass
	maxLiterals   = 200_000
	maxNesting    = 400 // ( [ {
	maxComments   = 8   // nesting of /* */
	maxIdentifier = 63  // bytes; PostgreSQL's grammar cuts longer ones silently
	maxParameter  = 1000
	maxSetArms    = 500
)

// overLimit refuses a statement that has more of something than the limits on its text allow.
func overLimit(what string, pos int) error {
	return &UnsupportedError{Construct: what, Pos: pos, Limit: true}
}

// guard refuses text that must not reach the C parser, and returns its tokens.
func guard(text string) ([]token, error) {
	if len(text) > maxText {
		return nil, overLimit("a statement longer than 1 MiB", -1)
	}
	if i := strings.IndexByte(text, 0); i >= 0 {
		return nil, &SyntaxError{Message: "NUL character", Pos: i}
	}
	if !utf8.ValidString(text) {
		return nil, &SyntaxError{Message: "text is not valid UTF-8", Pos: invalidAt(text)}
	}
	toks, err := lex(text)
	if err != nil {
		return nil, err
	}
	return toks, guardTokens(toks, limits{tokens: maxTokens, nesting: maxNesting, identifier: guardIdentifier})
}

// limits are what guardTokens checks; our own printed text has more brackets than a user's.
type limits struct {
	tokens, nesting int
	identifier      func(token) error
}

func invalidAt(text string) int {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

func guardTokens(toks []token, lim limits) error {
	var structural, literals, depth, arms int
	for _, t := range toks {
		switch t.kind {
		case tokNumber, tokString:
			literals++
		case tokWord, tokQuoted:
			structural++
			if err := lim.identifier(t); err != nil {
				return err
			}
			if t.is("union") || t.is("intersect") || t.is("except") {
				arms++
			}
		case tokOp:
			structural++
		case tokPunct:
			switch t.text {
			case "(", "[", "{":
				structural++
				depth++
			case ")", "]", "}":
				depth--
			case ".", "::", ":":
				structural++
			}
		case tokParam:
			structural++
		}
		if depth > lim.nesting {
			return overLimit("nesting that deep", t.pos)
		}
		if structural > lim.tokens || literals > maxLiterals {
			return overLimit("a statement with that many tokens", t.pos)
		}
		if arms > maxSetArms {
			return overLimit("that many set operations", t.pos)
		}
	}
	return nil
}

// guardIdentifier checks a word or a quoted identifier.
func guardIdentifier(t token) error {
	if len(t.value) > maxIdentifier {
		return overLimit("an identifier longer than 63 bytes", t.pos)
	}
	if t.value == "" {
		return &SyntaxError{Message: "empty identifier", Pos: t.pos}
	}
	if strings.HasPrefix(fold(t.value), MarkerPrefix) {
		return &UnsupportedError{Construct: "an identifier that starts with " + MarkerPrefix, Pos: t.pos}
	}
	return nil
}
