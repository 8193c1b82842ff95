package classify

import (
	"strings"
)

// escapes rewrites the JDBC and ODBC escapes {d '…'}, {t '…'}, {ts '…'} and {fn f(…)}.
func escapes(toks []token) ([]token, error) {
	types := map[string]string{"d": "date", "t": "time", "ts": "timestamp"}
	m := matches(toks)
	out := make([]token, 0, len(toks))
	drop := map[int]bool{}
	for i, t := range toks {
		if drop[i] {
			continue
		}
		next := get(toks, i+1)
		if t.punct("{") && next.kind == tokWord {
			w := strings.ToLower(next.text)
			if types[w] != "" && get(toks, i+2).kind == tokString && m[i] == i+3 {
				drop[i+1], drop[i+3] = true, true
				out = append(out, mkWord(types[w], t.pos))
				continue
			}
			if w == "fn" && !get(toks, i+2).punct(":") {
				drop[i+1], drop[m[i]] = true, true
				continue
			}
		}
		out = append(out, t)
	}
	return out, nil
}

// braces rewrites {'k': v, …} and MAP {k: v, …}.
func braces(toks []token) ([]token, error) {
	m := matches(toks)
	out := make([]token, 0, len(toks))
	for i := 0; i < len(toks); i++ {
		if !toks[i].punct("{") {
			out = append(out, toks[i])
			continue
		}
		end := m[i]
		fun, item := MarkerStruct, MarkerField
		if n := len(out); n > 0 && out[n-1].is("map") {
			fun, item = MarkerMap, MarkerEntry
			out = out[:n-1]
		}
		out = append(out, mkWord(fun, toks[i].pos), mkPunct("(", toks[i].pos))
		for j, pair := range split(dropTrailing(toks[i+1:end]), ",") {
			kv := splitFirst(pair, ":")
			if kv == nil || len(kv[0]) == 0 || len(kv[1]) == 0 {
				return nil, &SyntaxError{Message: "expected key: value", Pos: get(pair, 0).pos}
			}
			key := kv[0]
			if fun == MarkerStruct {
				if len(key) != 1 || key[0].kind != tokWord && key[0].kind != tokQuoted && !(key[0].kind == tokString && key[0].plain) {
					return nil, &SyntaxError{Message: "expected the name of a field", Pos: key[0].pos}
				}
				key = []token{mkString(key[0].value, key[0].pos)}
			}
			if j > 0 {
				out = append(out, mkPunct(",", pair[0].pos))
			}
			out = append(out, mkWord(item, pair[0].pos), mkPunct("(", pair[0].pos))
			k, err := braces(key)
			if err != nil {
				return nil, err
			}
			v, err := braces(kv[1])
			if err != nil {
				return nil, err
			}
			out = append(append(append(append(out, k...), mkPunct(",", pair[0].pos)), v...), mkPunct(")", pair[0].pos))
		}
		out = append(out, mkPunct(")", toks[end].pos))
		i = end
	}
	return out, nil
}

func dropTrailing(toks []token) []token {
	if n := len(toks); n > 0 && toks[n-1].punct(",") {
		return toks[:n-1]
	}
	return toks
}

// splitFirst cuts toks at the first sep outside brackets; nil if there is none.
func splitFirst(toks []token, sep string) [][]token {
	depth := 0
	for i, t := range toks {
		switch {
		case opens(t):
			depth++
		case closes(t):
			depth--
		case depth == 0 && t.punct(sep):
			return [][]token{toks[:i], toks[i+1:]}
		}
	}
	return nil
}

// lists rewrites [e, …] where an operand is expected. After an operand [ is a subscript, after ARRAY PostgreSQL's own
// constructor, and inside that one its rows.
func lists(toks []token) ([]token, error) {
	m := matches(toks)
	out := make([]token, 0, len(toks))
	kind := map[int]bool{} // closers of lists
	array := map[int]bool{}
	for i, t := range toks {
		prev := get(toks, i-1)
		switch {
		case t.punct("[") && prev.is("array"):
			array[m[i]] = true
			out = append(out, t)
		case t.punct("[") && !endsOperand(prev):
			kind[m[i]] = true
			out = append(out, mkWord(MarkerList, t.pos), mkPunct("(", t.pos))
		case kind[i]:
			out = append(out, mkPunct(")", t.pos))
		default:
			out = append(out, t)
		}
	}
	return out, nil
}

// subscripts puts calls whose result is subscripted in parentheses: f(x)[1] becomes (f(x))[1], f(x).a becomes (f(x)).a.
func subscripts(toks []token) ([]token, error) {
	m := matches(toks)
	before := map[int]int{} // number of ( before token i
	after := map[int]bool{}
	for i, t := range toks {
		index := t.punct("[") && !get(toks, i+1).punct("]")
		field := t.punct(".") && isName(get(toks, i+1)) && !get(toks, i+2).punct("(")
		if !index && !field || !get(toks, i-1).punct(")") {
			continue
		}
		start := m[i-1] - 1
		if !isName(get(toks, start)) || start < 0 || byClause(toks, start) {
			continue
		}
		for get(toks, start-1).punct(".") && isName(get(toks, start-2)) {
			start -= 2
		}
		if p := get(toks, start-1); p.punct("::") || p.is("as") {
			continue // a type with a modifier
		}
		before[start]++
		after[i-1] = true
	}
	if len(before) == 0 {
		return toks, nil
	}
	out := make([]token, 0, len(toks)+2*len(before))
	for i, t := range toks {
		for range before[i] {
			out = append(out, mkPunct("(", t.pos))
		}
		out = append(out, t)
		if after[i] {
			out = append(out, mkPunct(")", t.pos))
		}
	}
	return out, nil
}

// byClause reports whether the word at i is the BY of a clause, and no name.
func byClause(toks []token, i int) bool {
	p := get(toks, i-1)
	return toks[i].is("by") && (p.is("group") || p.is("order") || p.is("partition"))
}

func unit(t token) string {
	if t.kind != tokWord {
		return ""
	}
	w := strings.ToLower(t.text)
	switch w {
	case "centuries":
		return "century"
	case "millennia":
		return "millennium"
	}
	w = strings.TrimSuffix(w, "s")
	switch w {
	case "year", "month", "day", "hour", "minute", "second", "week", "quarter", "decade", "century", "millennium",
		"millisecond", "microsecond":
		return w
	}
	return ""
}

// intervals folds the unit into the literal, since PostgreSQL and DuckDB read INTERVAL '90' DAY differently (90 days,
// 90 seconds), and marks computed ones.
func intervals(toks []token) ([]token, error) {
	m := matches(toks)
	out := make([]token, 0, len(toks))
	for i := 0; i < len(toks); i++ {
		t := toks[i]
		if !t.is("interval") || get(toks, i-1).punct(".") {
			out = append(out, t)
			continue
		}
		j, sign := i+1, ""
		if get(toks, j).op("-") && get(toks, j+1).kind == tokNumber {
			j, sign = j+1, "-"
		}
		arg := get(toks, j)
		switch {
		case arg.kind == tokString && !arg.exact():
			return nil, &UnsupportedError{Construct: "INTERVAL E'…'", Pos: arg.pos}
		case arg.kind == tokNumber || arg.kind == tokString:
			lit, skip, err := intervalLiteral(sign+arg.value, arg, get(toks, j+1), get(toks, j+2))
			if err != nil {
				return nil, err
			}
			out = append(out, t, lit)
			i = j + skip
		case arg.punct("(") && unit(get(toks, m[j]+1)) != "":
			inner, err := intervals(toks[j+1 : m[j]])
			if err != nil {
				return nil, err
			}
			u := toks[m[j]+1]
			out = append(append(append(out, mkWord(MarkerInterval, t.pos), mkPunct("(", t.pos)), inner...),
				mkPunct(",", u.pos), mkString(unit(u), u.pos), mkPunct(")", u.pos))
			i = m[j] + 1
		case (arg.kind == tokParam || arg.kind == tokQuoted || arg.kind == tokWord) && unit(get(toks, j+1)) != "" && unit(arg) == "":
			u := toks[j+1]
			out = append(out, mkWord(MarkerInterval, t.pos), mkPunct("(", t.pos), arg, mkPunct(",", u.pos), mkString(unit(u), u.pos), mkPunct(")", u.pos))
			i = j + 1
		case arg.punct("("):
			return nil, &UnsupportedError{Construct: "INTERVAL with a precision or without a unit", Pos: t.pos}
		default:
			out = append(out, t)
		}
	}
	return out, nil
}

// intervalLiteral returns the folded literal and how many tokens after the argument it took.
func intervalLiteral(value string, arg, u, next token) (token, int, error) {
	value = strings.TrimSpace(value)
	bare := value != "" && strings.Trim(value, "+-.0123456789") == ""
	if unit(u) == "" {
		if bare || value == "" {
			return token{}, 0, &UnsupportedError{Construct: "INTERVAL without a unit", Pos: arg.pos}
		}
		return mkString(value, arg.pos), 0, nil
	}
	if next.is("to") {
		return token{}, 0, &UnsupportedError{Construct: "INTERVAL … TO …", Pos: arg.pos}
	}
	if !bare {
		return token{}, 0, &UnsupportedError{Construct: "INTERVAL whose literal has a unit, with a unit after it", Pos: arg.pos}
	}
	return mkString(value+" "+unit(u), arg.pos), 1, nil
}
