package main

import "strings"

// splitter cuts what a person types or pipes in into statements at each ';' that stands outside of strings, quoted
// names, dollar quotes and comments. It doesn't understand SQL beyond that: the server does.
type splitter struct {
	text string // what was fed since the last statement
	pos  int    // up to where text has been scanned
	mode byte   // 0, '\'', 'E' (a string with backslash escapes), '"', '-', '*' or '$'
	tag  string // of a dollar quote, with both dollars
	deep int    // nested block comments
	any  bool   // something else than blanks and comments was seen

	comment int // where in text the last comment to the end of a line began
}

// feed adds text and returns the statements that it completes, without their semicolons.
func (s *splitter) feed(text string) []string {
	s.text += text
	var done []string
	for {
		end, ok := s.scan()
		if !ok {
			return done
		}
		if s.any {
			done = append(done, strings.TrimSpace(s.text[:end]))
		}
		s.text, s.pos, s.any = s.text[end+1:], 0, false
	}
}

// rest returns what is left at the end of the input: a last statement without semicolon, or "".
func (s *splitter) rest() string {
	defer s.reset()
	if !s.any {
		return ""
	}
	return strings.TrimSpace(s.text)
}

// empty reports whether nothing but blanks and comments waits for its end.
func (s *splitter) empty() bool { return !s.any && (s.mode == 0 || s.mode == '-') }

func (s *splitter) reset() { *s = splitter{} }

// prompt names what is still open, as psql does: "'", "\"", "*", "$" or "-" for a statement.
func (s *splitter) prompt() string {
	switch s.mode {
	case '\'', 'E':
		return "'"
	case '"', '*', '$':
		return string(s.mode)
	}
	return "-"
}

// scan goes on from pos to the next semicolon outside of everything.
func (s *splitter) scan() (end int, ok bool) {
	for s.pos < len(s.text) {
		rest := s.text[s.pos:]
		if s.mode != 0 {
			s.pos += s.inside(rest)
			continue
		}
		switch c := rest[0]; {
		case c == ';':
			end = s.pos
			return end, true
		case strings.HasPrefix(rest, "--"):
			s.mode, s.comment, s.pos = '-', s.pos, s.pos+2
			continue
		case strings.HasPrefix(rest, "/*"):
			s.mode, s.deep, s.pos = '*', 1, s.pos+2
			continue
		case c == '\'':
			s.mode = '\''
			if s.pos > 0 && (s.text[s.pos-1]|0x20) == 'e' && (s.pos == 1 || !isWord(s.text[s.pos-2])) {
				s.mode = 'E'
			}
		case c == '"':
			s.mode = '"'
		case c == '$' && (s.pos == 0 || !isWord(s.text[s.pos-1])):
			if tag := dollarTag(rest); tag != "" {
				s.mode, s.tag, s.any, s.pos = '$', tag, true, s.pos+len(tag)
				continue
			}
		}
		if !strings.ContainsRune(" \t\r\n\f\v", rune(rest[0])) {
			s.any = true
		}
		s.pos++
	}
	return 0, false
}

// inside returns how far to go in a string, name or comment, and leaves the mode at its end.
func (s *splitter) inside(rest string) int {
	switch s.mode {
	case '-':
		if rest[0] == '\n' {
			s.mode = 0
		}
	case '*':
		switch {
		case strings.HasPrefix(rest, "*/"):
			if s.deep--; s.deep == 0 {
				s.mode = 0
			}
			return 2
		case strings.HasPrefix(rest, "/*"):
			s.deep++
			return 2
		}
	case '$':
		if strings.HasPrefix(rest, s.tag) {
			s.mode = 0
			return len(s.tag)
		}
	case 'E':
		if rest[0] == '\\' && len(rest) > 1 || strings.HasPrefix(rest, "''") {
			return 2
		}
		if rest[0] == '\'' {
			s.mode = 0
		}
	default:
		if rest[0] == s.mode {
			s.mode = 0 // a doubled quote opens the next string at once
		}
	}
	return 1
}

// dollarTag returns the $tag$ at the start of s, or "".
func dollarTag(s string) string {
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '$':
			return s[:i+1]
		case !isWord(c) || i == 1 && c >= '0' && c <= '9':
			return ""
		}
	}
	return ""
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
