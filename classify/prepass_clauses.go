package classify

import (
	"strings"
)

// refuseByName refuses what would otherwise be read as something else, or be a riddle of a syntax error.
func refuseByName(toks []token) ([]token, error) {
	for i, t := range toks {
		if t.kind != tokWord || get(toks, i-1).punct(".") || get(toks, i-1).is("as") {
			continue
		}
		next := get(toks, i+1)
		join := next.is("join") || next.is("left") || next.is("right") || next.is("full") || next.is("inner") || next.is("outer")
		switch w := strings.ToUpper(t.text); w {
		case "ASOF", "SEMI", "ANTI", "POSITIONAL":
			if join && !(w == "ASOF" && asofKind(toks, i) > 0) {
				return nil, &UnsupportedError{Construct: w + " JOIN", Pos: t.pos}
			}
		case "PIVOT", "UNPIVOT", "PIVOT_WIDER", "PIVOT_LONGER":
			if next.punct("(") || i == 0 || next.kind == tokWord || next.kind == tokQuoted {
				return nil, &UnsupportedError{Construct: w, Pos: t.pos}
			}
		case "USING":
			if next.is("sample") {
				return nil, &UnsupportedError{Construct: "USING SAMPLE", Pos: t.pos}
			}
			if next.is("key") {
				return nil, &UnsupportedError{Construct: "USING KEY", Pos: t.pos}
			}
		case "COLUMNS":
			if next.punct("(") {
				return nil, &UnsupportedError{Construct: "COLUMNS(…)", Pos: t.pos}
			}
		case "LIMIT":
			if p := get(toks, i+2); next.kind == tokNumber && (p.op("%") || p.is("percent")) {
				return nil, &UnsupportedError{Construct: "LIMIT with a percentage", Pos: p.pos}
			}
		case "FOR":
			if isName(next) && get(toks, i+2).is("in") {
				return nil, &UnsupportedError{Construct: "a list comprehension", Pos: t.pos}
			}
		case "TABLESAMPLE":
			return nil, &UnsupportedError{Construct: "TABLESAMPLE", Pos: t.pos}
		case "BY":
			if next.is("name") && !get(toks, i-1).is("order") && !get(toks, i-1).is("group") && !get(toks, i-1).is("partition") {
				return nil, &UnsupportedError{Construct: "UNION BY NAME", Pos: t.pos}
			}
		}
	}
	return toks, nil
}

// calls rewrites what DuckDB and the SQL standard have in and behind the arguments of a call and PostgreSQL lacks: FILTER without
// WHERE, and IGNORE NULLS and RESPECT NULLS, which may stand on either side of the bracket.
func calls(toks []token) ([]token, error) {
	out := make([]token, 0, len(toks))
	for i := 0; i < len(toks); i++ {
		t, p, next := toks[i], get(toks, i-1), get(toks, i+1)
		if t.is("filter") && p.punct(")") && next.punct("(") && !get(toks, i+2).is("where") {
			out = append(out, t, next, mkWord("WHERE", next.pos))
			i++
			continue
		}
		inside := get(toks, i+2).punct(")") && endsOperand(p)
		behind := get(toks, i+2).is("over") && p.punct(")")
		if !t.is("ignore") && !t.is("respect") || !next.is("nulls") || !inside && !behind {
			out = append(out, t)
			continue
		}
		i++
		if t.is("respect") {
			continue // the default
		}
		marker := []token{mkPunct(",", t.pos), mkWord(MarkerIgnore, t.pos), mkPunct("(", t.pos), mkPunct(")", t.pos)}
		if behind {
			marker, out = append(marker, p), out[:len(out)-1]
		}
		out = append(out, marker...)
	}
	return out, nil
}

// trailingCommas drops a comma before the end of a list.
func trailingCommas(toks []token) ([]token, error) {
	out := make([]token, 0, len(toks))
	for i, t := range toks {
		if next := get(toks, i+1); t.punct(",") && i > 0 && endsOperand(toks[i-1]) || t.punct(",") && get(toks, i-1).op("*") {
			if i+1 == len(toks) || closes(next) || endsClause(next) {
				continue
			}
		}
		out = append(out, t)
	}
	return out, nil
}

// endsClause reports whether t starts the next clause of a query, or the next query of a set operation.
func endsClause(t token) bool {
	if t.kind != tokWord {
		return false
	}
	switch strings.ToLower(t.text) {
	case "from", "where", "group", "having", "window", "qualify", "order", "limit", "offset", "fetch", "union", "intersect", "except", "for":
		return true
	}
	return false
}

// startsQuery reports whether a query may start at i.
func startsQuery(toks []token, i int) bool {
	p := get(toks, i-1)
	switch {
	case i == 0, p.is("union"), p.is("intersect"), p.is("except"), p.is("explain"), p.is("analyze"):
		return true
	case p.is("all") || p.is("distinct"):
		q := get(toks, i-2)
		return q.is("union") || q.is("intersect") || q.is("except")
	case p.punct("("):
		return !get(toks, i-2).is("trim")
	case p.punct(")"): // WITH a AS (…) FROM t: only if the statement, or the bracket, starts with WITH
		depth := 0
		for j := i - 1; j >= 0; j-- {
			if closes(toks[j]) {
				depth++
			} else if opens(toks[j]) {
				if depth--; depth < 0 {
					return false
				}
			} else if depth == 0 && toks[j].kind == tokWord {
				if toks[j].is("with") {
					return get(toks, j+1).kind != tokWord || !get(toks, j+1).is("ordinality")
				}
				if toks[j].is("select") || toks[j].is("from") {
					return false
				}
			}
		}
	}
	return false
}

// fromFirst rewrites FROM t … to SELECT * FROM t …, and FROM t SELECT e … to SELECT e FROM t ….
func fromFirst(toks []token) ([]token, error) {
	found := -1
	for i, t := range toks {
		if t.is("from") && startsQuery(toks, i) {
			found = i
			break
		}
	}
	if found < 0 {
		return toks, nil
	}
	depth, sel, end := 0, -1, len(toks)
	for i := found + 1; i < len(toks) && end == len(toks); i++ {
		t := toks[i]
		switch {
		case opens(t):
			depth++
		case closes(t):
			if depth--; depth < 0 {
				end = i
			}
		case depth == 0 && sel < 0 && t.is("select"):
			sel = i
		case depth == 0 && endsClause(t) && !(t.is("for") && sel < 0):
			end = i
		}
	}
	from := toks[found]
	out := append([]token(nil), toks[:found]...)
	if sel < 0 {
		out = append(out, mkWord("SELECT", from.pos), token{kind: tokOp, text: "*", pos: from.pos})
		out = append(out, toks[found:]...)
	} else {
		out = append(out, toks[sel:end]...)
		out = append(out, toks[found:sel]...)
		out = append(out, toks[end:]...)
	}
	return fromFirst(out)
}

// casts rewrites TRY_CAST(…), and FLOAT as the name of a type: it has 32 bits in DuckDB and DataFusion, 64 in PostgreSQL.
func casts(toks []token) ([]token, error) {
	m := matches(toks)
	out := make([]token, 0, len(toks))
	tries, incast := map[int]bool{}, map[int]bool{}
	for i, t := range toks {
		next := get(toks, i+1)
		switch {
		case t.is("try_cast") && next.punct("("):
			tries[m[i+1]], incast[m[i+1]] = true, true
			out = append(out, mkWord(MarkerTry, t.pos), mkPunct("(", t.pos), mkWord("CAST", t.pos))
			continue
		case t.is("cast") && next.punct("("):
			incast[m[i+1]] = true
		case t.is("float") && !next.punct("("):
			p := get(toks, i-1)
			if p.punct("::") || p.is("as") && incast[closing(toks, m, i+1)] {
				out = append(out, mkWord("real", t.pos))
				continue
			}
		}
		out = append(out, t)
		if tries[i] {
			out = append(out, mkPunct(")", t.pos))
		}
	}
	return out, nil
}

// closing returns the index of the ) that comes at i or after pairs of [] there; -1 if there is none.
func closing(toks []token, m []int, i int) int {
	for get(toks, i).punct("[") {
		i = m[i] + 1
	}
	if get(toks, i).punct(")") {
		return i
	}
	return -1
}

// allItems rewrites GROUP BY ALL and ORDER BY ALL.
func allItems(toks []token) ([]token, error) {
	out := make([]token, 0, len(toks))
	for i, t := range toks {
		if t.is("all") && get(toks, i-1).is("by") && (get(toks, i-2).is("group") || get(toks, i-2).is("order")) {
			next := get(toks, i+1)
			if i+1 == len(toks) || closes(next) || endsClause(next) || next.is("asc") || next.is("desc") || next.is("nulls") {
				out = append(out, mkWord(MarkerAll, t.pos), mkPunct("(", t.pos), mkPunct(")", t.pos))
				continue
			}
		}
		out = append(out, t)
	}
	return out, nil
}

// qualify rewrites QUALIFY e to a WINDOW clause, which has the same place in a query.
func qualify(toks []token) ([]token, error) {
	out := make([]token, 0, len(toks))
	windows := []bool{false} // by depth: a WINDOW clause was seen in this query
	pending := map[int]token{}
	for i, t := range toks {
		depth := len(windows) - 1
		if q, ok := pending[depth]; ok {
			switch {
			case closes(t) || endsClause(t):
				out = append(out, mkPunct(")", q.pos))
				delete(pending, depth)
			case t.punct(","):
				return nil, &SyntaxError{Message: `unexpected "," in QUALIFY`, Pos: t.pos}
			}
		}
		switch {
		case opens(t):
			windows = append(windows, false)
		case closes(t) && depth > 0:
			windows = windows[:depth]
		case t.is("select"):
			windows[depth] = false
		case t.is("window") && isName(get(toks, i+1)) && get(toks, i+2).is("as"):
			windows[depth] = true
		case t.is("qualify") && !get(toks, i-1).punct(".") && !get(toks, i-1).is("as"):
			start := mkWord("WINDOW", t.pos)
			if windows[depth] {
				start = mkPunct(",", t.pos)
			}
			out = append(out, start, mkWord(QualifyWindow, t.pos), mkWord("AS", t.pos), mkPunct("(", t.pos), mkWord("ORDER", t.pos), mkWord("BY", t.pos))
			pending[depth] = t
			continue
		}
		out = append(out, t)
	}
	for _, q := range pending {
		out = append(out, mkPunct(")", q.pos))
	}
	return out, nil
}
