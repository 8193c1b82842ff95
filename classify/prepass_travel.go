package classify

import (
	"strconv"
	"strings"
	"time"

	"gatehouse/classify/keyword"
)

// travel moves a time travel clause behind the table's alias and rewrites it to TABLESAMPLE with a marker method, so
// that it stays a node of the tree. The forms are [FOR] VERSION | TIMESTAMP AS OF x, FOR SYSTEM_VERSION | SYSTEM_TIME AS OF x
// and AT (VERSION | TIMESTAMP => x).
func travel(toks []token) ([]token, error) {
	m := matches(toks)
	out := make([]token, 0, len(toks))
	for i := 0; i < len(toks); i++ {
		method, at := travelClause(toks, i)
		if method == "" {
			out = append(out, toks[i])
			continue
		}
		value, end, err := travelPoint(toks, at, method)
		if err != nil {
			return nil, err
		}
		if toks[i].is("at") {
			if !get(toks, end).punct(")") {
				return nil, &SyntaxError{Message: "expected a constant in AT (…)", Pos: toks[i].pos}
			}
			end++
		}
		alias := aliasEnd(toks, m, end)
		out = append(out, toks[end:alias]...)
		pos := toks[i].pos
		out = append(out, mkWord("TABLESAMPLE", pos), mkWord(method, pos), mkPunct("(", pos), value, mkPunct(")", pos))
		i = alias - 1
	}
	return out, nil
}

// travelClause returns the marker of the clause that starts at i and where its point in time starts.
func travelClause(toks []token, i int) (method string, at int) {
	t := toks[i]
	if prev := get(toks, i-1); !isName(prev) || prev.kind == tokWord && get(toks, i-2).pos < 0 {
		return "", 0
	}
	if t.is("at") && get(toks, i+1).punct("(") && get(toks, i+3).punct("=>") {
		switch k := toks[i+2]; {
		case k.is("version"):
			return MarkerAtVersion, i + 4
		case k.is("timestamp"):
			return MarkerAtTimestamp, i + 4
		}
		return "", 0
	}
	j := i
	if t.is("for") {
		j++
	}
	if !get(toks, j+1).is("as") || !get(toks, j+2).is("of") {
		return "", 0
	}
	switch k := get(toks, j); {
	case k.is("version"), k.is("system_version") && j > i:
		return MarkerAtVersion, j + 3
	case k.is("timestamp"), k.is("system_time") && j > i:
		return MarkerAtTimestamp, j + 3
	}
	return "", 0
}

// travelPoint reads the constant at i.
func travelPoint(toks []token, i int, method string) (token, int, error) {
	t := get(toks, i)
	if method == MarkerAtTimestamp && (t.is("timestamp") || t.is("date") || t.is("timestamptz")) {
		i++
		t = get(toks, i)
	}
	if get(toks, i+1).is("at") && get(toks, i+2).is("time") {
		return token{}, 0, &UnsupportedError{Construct: "time travel to an expression", Pos: t.pos}
	}
	switch {
	case t.exact():
		return mkString(t.value, t.pos), i + 1, nil
	case t.kind == tokNumber && method == MarkerAtVersion:
		return t, i + 1, nil
	}
	return token{}, 0, &UnsupportedError{Construct: "time travel to an expression", Pos: t.pos}
}

// aliasEnd returns the index after the alias, if any, that starts at i.
func aliasEnd(toks []token, m []int, i int) int {
	t := get(toks, i)
	switch {
	case t.is("as"):
		i += 2
	case t.kind == tokQuoted:
		i++
	case t.kind == tokWord:
		w := strings.ToLower(t.text)
		c := keyword.Of(w).PostgreSQL
		if c == keyword.Reserved || c == keyword.TypeOrFunction || keyword.Of(w).DuckDB >= keyword.TypeOrFunction {
			return i
		}
		i++
	default:
		return i
	}
	if get(toks, i).punct("(") {
		i = m[i] + 1
	}
	return min(i, len(toks))
}

// parseTravel turns a marker's method and constant into a point in history.
func parseTravel(method, value string, isString bool, pos int) (Travel, error) {
	if method == MarkerAtTimestamp {
		for _, layout := range timestampLayouts {
			if t, err := time.Parse(layout, strings.TrimSpace(value)); err == nil {
				micros := t.UnixMicro()
				return Travel{Micros: &micros}, nil
			}
		}
		return Travel{}, &SyntaxError{Message: "time travel needs a timestamp such as '2026-01-31 12:00:00+00:00'", Pos: pos}
	}
	if isString {
		if value == "" {
			return Travel{}, &SyntaxError{Message: "time travel needs a snapshot id, a branch or a tag", Pos: pos}
		}
		return Travel{Ref: value}, nil
	}
	id, err := strconv.ParseInt(value, 10, 64)
	if err != nil || id <= 0 {
		return Travel{}, &SyntaxError{Message: "time travel needs a snapshot id, a branch or a tag", Pos: pos}
	}
	return Travel{Snapshot: id}, nil
}

// timestampLayouts are the accepted forms; without a zone it is UTC.
var timestampLayouts = []string{
	"2006-01-02", "2006-01-02 15:04", "2006-01-02 15:04:05.999999", "2006-01-02T15:04:05.999999", "2006-01-02 15:04:05.999999Z07:00",
	"2006-01-02T15:04:05.999999Z07:00", "2006-01-02 15:04:05.999999 Z07:00", "2006-01-02 15:04:05.999999Z07", "2006-01-02 15:04:05.999999 UTC",
}
