package classify

// stars rewrites * and q.* followed by EXCLUDE, REPLACE or RENAME.
func stars(toks []token) ([]token, error) {
	m := matches(toks)
	out := make([]token, 0, len(toks))
	for i := 0; i < len(toks); i++ {
		t := toks[i]
		if !t.op("*") || starPart(get(toks, i+1)) == "" || !starPlace(toks, i) {
			out = append(out, t)
			continue
		}
		pos, args := t.pos, []token(nil)
		if get(toks, i-1).punct(".") {
			q := len(out) - 1
			for q-2 >= 0 && out[q].punct(".") && isName(out[q-1]) && out[q-2].punct(".") {
				q -= 2
			}
			if q < 1 || !isName(out[q-1]) {
				return nil, &SyntaxError{Message: "expected a name in front of .*", Pos: t.pos}
			}
			args = append(append(args, out[q-1:]...), t, mkPunct(",", t.pos))
			pos = out[q-1].pos
			out = out[:q-1]
		}
		out = append(append(out, mkWord(MarkerStar, pos), mkPunct("(", pos)), args...)
		j := i + 1
		for n := 0; starPart(get(toks, j)) != ""; n++ {
			if n > 0 {
				out = append(out, mkPunct(",", toks[j].pos))
			}
			part, end, err := starList(toks, m, j)
			if err != nil {
				return nil, err
			}
			out = append(out, part...)
			j = end
		}
		out = append(out, mkPunct(")", toks[j-1].pos))
		i = j - 1
	}
	return out, nil
}

// starPlace reports whether the * at i is a star and no multiplication.
func starPlace(toks []token, i int) bool {
	p := get(toks, i-1)
	return p.punct(",") || p.punct(".") || p.is("select") || p.is("distinct") || p.is("all") ||
		p.punct(")") && get(toks, i+2).punct("(") // DISTINCT ON (…) *
}

func starPart(t token) string {
	switch {
	case t.is("exclude"):
		return MarkerExclude
	case t.is("replace"):
		return MarkerReplace
	case t.is("rename"):
		return MarkerRename
	}
	return ""
}

// starList returns the marker call for the EXCLUDE, REPLACE or RENAME at i, and the index after it.
func starList(toks []token, m []int, i int) ([]token, int, error) {
	word, fun := toks[i], starPart(toks[i])
	var items [][]token
	end := 0
	if get(toks, i+1).punct("(") {
		end = m[i+1] + 1
		items = split(toks[i+2:m[i+1]], ",")
	} else {
		end = i + 2
		for get(toks, end).punct(".") {
			end += 2
		}
		if fun != MarkerExclude {
			end += 2
		}
		items = [][]token{toks[i+1 : min(end, len(toks))]}
	}
	if len(items) == 0 || end > len(toks) {
		return nil, 0, &SyntaxError{Message: "expected a list of columns", Pos: word.pos}
	}
	out := []token{mkWord(fun, word.pos), mkPunct("(", word.pos)}
	for n, item := range items {
		if len(item) == 0 {
			return nil, 0, &SyntaxError{Message: "expected a column", Pos: word.pos}
		}
		if n > 0 {
			out = append(out, mkPunct(",", item[0].pos))
		}
		if fun == MarkerExclude {
			out = append(out, item...)
			continue
		}
		k := len(item) - 2
		if k < 1 || !item[k].is("as") || item[k+1].kind != tokWord && item[k+1].kind != tokQuoted {
			return nil, 0, &SyntaxError{Message: "expected … AS name", Pos: item[0].pos}
		}
		out = append(out, mkWord(MarkerAs, item[0].pos), mkPunct("(", item[0].pos))
		body, err := stars(item[:k])
		if err != nil {
			return nil, 0, err
		}
		out = append(append(out, body...), mkPunct(",", item[k].pos), item[k+1], mkPunct(")", item[k+1].pos))
	}
	return append(out, mkPunct(")", toks[end-1].pos)), end, nil
}

// lambdaFunctions are the functions that take a lambda after their first argument. Only there is x -> e a lambda;
// everywhere else -> reads from a JSON document.
var lambdaFunctions = map[string]bool{
	"list_transform": true, "transform": true, "list_apply": true, "apply": true, "array_apply": true, "array_transform": true,
	"list_filter": true, "filter": true, "array_filter": true, "list_reduce": true, "reduce": true, "array_reduce": true,
}

// lambdas rewrites lambda x, y: e and, in an argument of a function that takes one, x -> e and (x, y) -> e.
func lambdas(toks []token) ([]token, error) {
	m := matches(toks)
	for i, t := range toks {
		if t.is("lambda") && isName(get(toks, i+1)) && (get(toks, i+2).punct(":") || get(toks, i+2).punct(",")) {
			return lambda(toks, i, false)
		}
		if t.op("->") && arrow(toks, m, i) >= 0 {
			return lambda(toks, arrow(toks, m, i), true)
		}
	}
	return toks, nil
}

// arrow returns where the parameters of the lambda start whose arrow is at i, -1 if it is no lambda.
func arrow(toks []token, m []int, i int) int {
	start := i - 1
	if get(toks, start).punct(")") {
		start = m[start]
	} else if !isName(get(toks, start)) {
		return -1
	}
	if !get(toks, start-1).punct(",") {
		return -1
	}
	for j := start - 2; j > 0; j-- {
		if closes(toks[j]) {
			j = m[j]
		} else if opens(toks[j]) {
			if toks[j].punct("(") && lambdaFunctions[fold(toks[j-1].value)] {
				return start
			}
			return -1
		}
	}
	return -1
}

// lambda rewrites the one lambda that starts at i, and then all others.
func lambda(toks []token, i int, arrow bool) ([]token, error) {
	pos := toks[i].pos
	var params []token
	j := i
	if !arrow {
		j++
	}
	for ; !toks[j].punct(":") && !toks[j].op("->"); j++ {
		if j+1 >= len(toks) {
			return nil, &SyntaxError{Message: "a lambda without a body", Pos: pos}
		}
		switch t := toks[j]; {
		case t.punct(","), t.punct("("), t.punct(")"):
		case isName(t):
			params = append(params, t, mkPunct(",", t.pos))
		default:
			return nil, &SyntaxError{Message: "expected the name of a lambda's parameter", Pos: t.pos}
		}
	}
	end, depth := j+1, 0
	for ; end < len(toks); end++ {
		if opens(toks[end]) {
			depth++
		} else if closes(toks[end]) {
			if depth--; depth < 0 {
				break
			}
		} else if depth == 0 && toks[end].punct(",") {
			break
		}
	}
	if end == j+1 {
		return nil, &SyntaxError{Message: "a lambda without a body", Pos: pos}
	}
	out := append([]token(nil), toks[:i]...)
	out = append(append(out, mkWord(MarkerLambda, pos), mkPunct("(", pos)), params...)
	out = append(append(out, toks[j+1:end]...), mkPunct(")", toks[end-1].pos))
	return lambdas(append(out, toks[end:]...))
}
