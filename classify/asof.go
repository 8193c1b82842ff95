package classify

import pgquery "github.com/pganalyze/pg_query_go/v6"

// An ASOF join takes, for each row on the left, the one nearest row on the right. Which one is nearest depends on all rows of the right
// side, so no condition of the statement may be evaluated at the scans below; the binder therefore treats every table of a statement
// with such a join with the greatest care.

// asofKind returns the place of the JOIN of "ASOF [INNER | LEFT [OUTER]] JOIN" at i, 0 if there is another word or another kind of join.
func asofKind(toks []token, i int) int {
	j := i + 1
	switch {
	case get(toks, j).is("left"):
		if j++; get(toks, j).is("outer") {
			j++
		}
	case get(toks, j).is("inner"):
		j++
	}
	if !get(toks, j).is("join") {
		return 0
	}
	return j
}

// asofJoins rewrites ASOF joins to plain ones whose ON begins with a marker.
func asofJoins(toks []token) ([]token, error) {
	drop, mark := map[int]bool{}, map[int]bool{}
	for i, t := range toks {
		if !t.is("asof") || get(toks, i-1).punct(".") || get(toks, i-1).is("as") {
			continue
		}
		j := asofKind(toks, i)
		if j == 0 {
			continue
		}
		on, err := asofOn(toks, j)
		if err != nil {
			return nil, err
		}
		drop[i], mark[on] = true, true
	}
	if len(drop) == 0 {
		return toks, nil
	}
	out := make([]token, 0, len(toks)+4*len(mark))
	for i, t := range toks {
		if drop[i] {
			continue
		}
		if out = append(out, t); mark[i] {
			out = append(out, mkWord(MarkerAsof, t.pos), mkPunct("(", t.pos), mkPunct(")", t.pos), mkWord("and", t.pos))
		}
	}
	return out, nil
}

// asofOn returns the place of the ON that belongs to the join at j.
func asofOn(toks []token, j int) (int, error) {
	depth := 0
	for k := j + 1; k < len(toks); k++ {
		t := toks[k]
		switch {
		case t.punct("(") || t.punct("["):
			depth++
		case t.punct(")") || t.punct("]"):
			depth--
		case depth > 0:
		case t.is("on"):
			return k, nil
		case t.is("using"):
			return 0, &UnsupportedError{Construct: "ASOF JOIN with USING", Pos: toks[j].pos}
		case t.is("join"):
			return 0, &UnsupportedError{Construct: "ASOF JOIN with a join without brackets on its right", Pos: toks[j].pos}
		}
		if depth < 0 {
			break
		}
	}
	return 0, &SyntaxError{Message: "ASOF JOIN needs ON", Pos: toks[j].pos}
}

// asof returns the marker and the conditions of an ASOF join's ON, nil for another join.
func asof(j *pgquery.JoinExpr) (*pgquery.FuncCall, []*pgquery.Node) {
	and := j.GetQuals().GetBoolExpr()
	if and.GetBoolop() != pgquery.BoolExprType_AND_EXPR || len(and.GetArgs()) < 2 {
		return nil, nil
	}
	f := and.Args[0].GetFuncCall()
	if f == nil || nameOf(f) != MarkerAsof || len(f.Args) > 0 {
		return nil, nil
	}
	return f, and.Args[1:]
}

// AsofConditions returns the ANDed conditions of an ASOF join, nil if j is another join.
func AsofConditions(j *pgquery.JoinExpr) []*pgquery.Node {
	_, conditions := asof(j)
	return conditions
}
