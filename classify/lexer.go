package classify

import (
	"strings"
	"unicode/utf8"
)

// tokenKind is the lexical class of a token.
type tokenKind uint8

const (
	tokWord   tokenKind = iota + 1 // unquoted identifier or key word; value is the text
	tokQuoted                      // "identifier"; value is without quotes
	tokString                      // 'x', E'x', $$x$$, B'', X''
	tokNumber
	tokParam // ? or $n; value is the number's text, "" for ?
	tokOp    // operator
	tokPunct // ( ) [ ] { } , ; . : :: := =>
)

// token is one token. Comments and spaces are not tokens.
type token struct {
	kind  tokenKind
	text  string // as in the source
	value string
	pos   int  // byte offset in the user's text
	plain bool // tokString: an ordinary '…' literal whose value holds no escapes but ''
}

// is reports whether t is the unquoted word, which must be given in lower case.
func (t token) is(word string) bool {
	return t.kind == tokWord && strings.EqualFold(t.text, word)
}

// exact reports whether t is a string whose value is known without reading escapes.
func (t token) exact() bool { return t.kind == tokString && (t.plain || t.text[0] == '$') }

func (t token) punct(s string) bool { return t.kind == tokPunct && t.text == s }
func (t token) op(s string) bool    { return t.kind == tokOp && t.text == s }

const opChars = "+-*/<>=~!@#%^&|`?"

// lexer cuts text into tokens by the lexical rules of PostgreSQL, without their one ambiguity that matters: a "?"
// always stands alone.
type lexer struct {
	src  string
	i    int
	toks []token
}

func lex(src string) ([]token, error) {
	l := &lexer{src: src, toks: make([]token, 0, len(src)/5+8)}
	for {
		if err := l.space(); err != nil {
			return nil, err
		}
		if l.i >= len(src) {
			return l.toks, nil
		}
		if err := l.next(); err != nil {
			return nil, err
		}
	}
}

func (l *lexer) at(i int) byte {
	if i < len(l.src) {
		return l.src[i]
	}
	return 0
}

// space skips white space and comments. Only the six ASCII spaces are spaces: engines disagree on all others.
func (l *lexer) space() error {
	for l.i < len(l.src) {
		switch c := l.src[l.i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v':
			l.i++
		case c == '-' && l.at(l.i+1) == '-':
			for l.i < len(l.src) && l.src[l.i] != '\n' && l.src[l.i] != '\r' {
				l.i++
			}
		case c == '/' && l.at(l.i+1) == '*':
			if err := l.comment(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

func (l *lexer) comment() error {
	start, depth := l.i, 0
	for l.i < len(l.src) {
		switch {
		case strings.HasPrefix(l.src[l.i:], "/*"):
			depth++
			if depth > maxComments {
				return overLimit("comments nested that deep", l.i)
			}
			l.i += 2
		case strings.HasPrefix(l.src[l.i:], "*/"):
			depth--
			l.i += 2
			if depth == 0 {
				return nil
			}
		default:
			l.i++
		}
	}
	return &SyntaxError{Message: "unterminated comment", Pos: start}
}

func isIdentStart(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 }
func isDigit(c byte) bool      { return '0' <= c && c <= '9' }
func isIdent(c byte) bool      { return isIdentStart(c) || isDigit(c) || c == '$' }

func (l *lexer) add(kind tokenKind, from int, value string) {
	l.toks = append(l.toks, token{kind: kind, text: l.src[from:l.i], value: value, pos: from})
}

func (l *lexer) next() error {
	c := l.src[l.i]
	switch {
	case c == '\'':
		return l.str(l.i, false, true)
	case (c|0x20 == 'e') && l.at(l.i+1) == '\'':
		l.i++
		return l.str(l.i-1, true, false)
	case (c|0x20 == 'b' || c|0x20 == 'x' || c|0x20 == 'n') && l.at(l.i+1) == '\'':
		return &UnsupportedError{Construct: "a " + strings.ToUpper(l.src[l.i:l.i+1]) + "'…' literal", Pos: l.i}
	case c|0x20 == 'u' && l.at(l.i+1) == '&' && (l.at(l.i+2) == '\'' || l.at(l.i+2) == '"'):
		return &UnsupportedError{Construct: "a U&… literal", Pos: l.i}
	case c == '"':
		return l.quoted()
	case c == '$':
		return l.dollar()
	case isIdentStart(c):
		return l.word()
	case isDigit(c) || c == '.' && isDigit(l.at(l.i+1)):
		return l.number()
	}
	return l.symbol()
}

// str reads a string whose quote is at l.i; the token starts at from.
func (l *lexer) str(from int, escapes, plain bool) error {
	var b strings.Builder
	for l.i++; l.i < len(l.src); l.i++ {
		switch c := l.src[l.i]; {
		case escapes && c == '\\':
			l.i++
		case c == '\'' && l.at(l.i+1) == '\'':
			l.i++
			b.WriteByte('\'')
		case c == '\'':
			l.i++
			l.add(tokString, from, b.String())
			l.toks[len(l.toks)-1].plain = plain
			return nil
		default:
			b.WriteByte(c)
		}
	}
	return &SyntaxError{Message: "unterminated string", Pos: from}
}

func (l *lexer) quoted() error {
	from := l.i
	var b strings.Builder
	for l.i++; l.i < len(l.src); l.i++ {
		switch c := l.src[l.i]; {
		case c == '"' && l.at(l.i+1) == '"':
			l.i++
			b.WriteByte('"')
		case c == '"':
			l.i++
			l.add(tokQuoted, from, b.String())
			return nil
		default:
			b.WriteByte(c)
		}
	}
	return &SyntaxError{Message: "unterminated quoted identifier", Pos: from}
}

// dollar reads $n, or a dollar-quoted string.
func (l *lexer) dollar() error {
	from := l.i
	if isDigit(l.at(l.i + 1)) {
		for l.i++; isDigit(l.at(l.i)); l.i++ {
		}
		n := l.src[from+1 : l.i]
		if digits := strings.TrimLeft(n, "0"); !isIdent(l.at(l.i)) && (len(digits) > 4 || atoi(digits) > maxParameter) {
			return overLimit("a parameter number above 1000", from)
		}
		if len(n) > 4 || atoi(n) == 0 || isIdent(l.at(l.i)) {
			return &UnsupportedError{Construct: "a parameter number outside 1 to 1000", Pos: from}
		}
		l.add(tokParam, from, n)
		return nil
	}
	j := l.i + 1
	for j < len(l.src) && isIdent(l.src[j]) && l.src[j] != '$' {
		j++
	}
	if l.at(j) != '$' {
		return &SyntaxError{Message: `unexpected "$"`, Pos: from}
	}
	tag := l.src[from : j+1]
	end := strings.Index(l.src[j+1:], tag)
	if end < 0 {
		return &SyntaxError{Message: "unterminated dollar-quoted string", Pos: from}
	}
	value := l.src[j+1 : j+1+end]
	l.i = j + 1 + end + len(tag)
	l.add(tokString, from, value)
	return nil
}

func (l *lexer) word() error {
	from := l.i
	for l.i < len(l.src) && isIdent(l.src[l.i]) {
		if l.src[l.i] < 0x80 {
			l.i++
			continue
		}
		r, n := utf8.DecodeRuneInString(l.src[l.i:])
		if oddRune(r) {
			return &SyntaxError{Message: "a character that is not allowed outside quotes", Pos: l.i}
		}
		l.i += n
	}
	l.add(tokWord, from, l.src[from:l.i])
	return nil
}

func (l *lexer) number() error {
	from := l.i
	if l.src[l.i] == '0' && strings.IndexByte("xXoObB", l.at(l.i+1)) >= 0 && l.at(l.i+1) != 0 {
		return &UnsupportedError{Construct: "a hexadecimal, octal or binary number", Pos: from}
	}
	digits := func() {
		for isDigit(l.at(l.i)) || l.at(l.i) == '_' && isDigit(l.at(l.i+1)) {
			l.i++
		}
	}
	digits()
	if l.at(l.i) == '.' && l.at(l.i+1) != '.' {
		l.i++
		digits()
	}
	if c := l.at(l.i); c == 'e' || c == 'E' {
		j := l.i + 1
		if l.at(j) == '+' || l.at(j) == '-' {
			j++
		}
		if isDigit(l.at(j)) {
			l.i = j
			digits()
		}
	}
	if isIdentStart(l.at(l.i)) {
		return &SyntaxError{Message: "letters directly after a number", Pos: from}
	}
	l.add(tokNumber, from, strings.ReplaceAll(l.src[from:l.i], "_", ""))
	return nil
}

func (l *lexer) symbol() error {
	from := l.i
	rest := l.src[l.i:]
	for _, p := range []string{"::", ":=", "=>"} {
		if strings.HasPrefix(rest, p) && !(p == "=>" && len(rest) > 2 && strings.IndexByte(opChars, rest[2]) >= 0) {
			l.i += 2
			l.add(tokPunct, from, p)
			return nil
		}
	}
	if strings.IndexByte("()[]{},;.:", rest[0]) >= 0 {
		l.i++
		l.add(tokPunct, from, rest[:1])
		return nil
	}
	if rest[0] == '?' {
		l.i++
		l.add(tokParam, from, "")
		return nil
	}
	if strings.IndexByte(opChars, rest[0]) < 0 {
		return &SyntaxError{Message: "a character that is not allowed outside quotes", Pos: from}
	}
	l.operator()
	l.add(tokOp, from, l.src[from:l.i])
	return nil
}

// operator reads an operator as PostgreSQL does: it ends before a comment, and does not end with + or - unless it
// holds one of ~ ! @ # % ^ & | `.
func (l *lexer) operator() {
	from := l.i
	for l.i < len(l.src) && strings.IndexByte(opChars, l.src[l.i]) >= 0 && l.src[l.i] != '?' {
		if rest := l.src[l.i:]; l.i > from && (strings.HasPrefix(rest, "--") || strings.HasPrefix(rest, "/*")) {
			break
		}
		l.i++
	}
	if strings.ContainsAny(l.src[from:l.i], "~!@#%^&|`") {
		return
	}
	for l.i > from+1 && (l.src[l.i-1] == '+' || l.src[l.i-1] == '-') {
		l.i--
	}
}

// atoi reads up to four digits.
func atoi(s string) int {
	n := 0
	for i := range len(s) {
		n = n*10 + int(s[i]-'0')
	}
	return n
}

// oddRune reports characters that some engine takes for a space or for nothing at all.
func oddRune(r rune) bool {
	switch {
	case r >= 0x80 && r <= 0xA0, r == 0xAD, r == 0x1680, r == 0x180E, r >= 0x2000 && r <= 0x200F,
		r >= 0x2028 && r <= 0x202F, r >= 0x205F && r <= 0x206F, r == 0x3000, r == 0xFEFF, r >= 0xFFF0 && r <= 0xFFFF,
		r >= 0xE0000:
		return true
	}
	return false
}
