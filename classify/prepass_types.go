package classify

// types rewrites the nested types STRUCT(name type, …) and MAP(key, value) of casts to forms that PostgreSQL reads as a type with
// modifiers: struct(__gw_field('name', CAST(NULL AS type)), …) and map(CAST(NULL AS key), CAST(NULL AS value)).
func types(toks []token) ([]token, error) {
	m := matches(toks)
	out := make([]token, 0, len(toks))
	var casts []bool // by open bracket
	for i := 0; i < len(toks); i++ {
		t, p := toks[i], get(toks, i-1)
		if opens(t) {
			casts = append(casts, p.is("cast") || p.is("try_cast"))
		} else if closes(t) {
			casts = casts[:len(casts)-1]
		}
		if !(t.is("struct") || t.is("map")) || !get(toks, i+1).punct("(") {
			out = append(out, t)
			continue
		}
		if !p.punct("::") && !(p.is("as") && len(casts) > 0 && casts[len(casts)-1]) {
			out = append(out, t)
			continue
		}
		nested, err := nestedType(toks[i:m[i+1]+1], 0)
		if err != nil {
			return nil, err
		}
		out = append(out, nested...)
		i = m[i+1]
	}
	return out, nil
}

// nestedType rewrites the one type that toks are, which may be any.
func nestedType(toks []token, depth int) ([]token, error) {
	if len(toks) == 0 {
		return nil, &SyntaxError{Message: "expected a type", Pos: -1}
	}
	t := toks[0]
	if depth > 64 {
		return nil, overLimit("nesting that deep", t.pos)
	}
	if !(t.is("struct") || t.is("map")) || !get(toks, 1).punct("(") {
		return toks, nil
	}
	end := matches(toks)[1]
	out := []token{t, toks[1]}
	for i, item := range split(toks[2:end], ",") {
		if i > 0 {
			out = append(out, mkPunct(",", t.pos))
		}
		field := t.is("struct")
		if field {
			if len(item) < 2 || item[0].kind != tokWord && item[0].kind != tokQuoted {
				return nil, &SyntaxError{Message: "expected the name and the type of a field", Pos: get(item, 0).pos}
			}
			out = append(out, mkWord(MarkerField, item[0].pos), mkPunct("(", item[0].pos), mkString(item[0].value, item[0].pos), mkPunct(",", item[0].pos))
			item = item[1:]
		}
		inner, err := nestedType(item, depth+1)
		if err != nil {
			return nil, err
		}
		pos := item[0].pos
		out = append(out, mkWord("CAST", pos), mkPunct("(", pos), mkWord("NULL", pos), mkWord("AS", pos))
		out = append(append(out, inner...), mkPunct(")", pos))
		if field {
			out = append(out, mkPunct(")", pos))
		}
	}
	return append(out, toks[end:]...), nil
}
