package classify

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sort"
	"strings"
	"unicode/utf8"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"github.com/pganalyze/pg_query_go/v6/parser"
)

// Parse classifies text. Its errors are *SyntaxError, *UnsupportedError or *NameError, and it never panics: the
// guard keeps away from the C parser what would end the process.
//
// The stages are guard (is this text safe to parse), session (statements of our own, see session.go), prepass (our dialect
// to PostgreSQL's, see markers.go), the parser, normalize (names and positions), allow (only what we know), and tables.
func Parse(text string) (*Statement, error) {
	toks, err := guard(text)
	if err != nil {
		return nil, err
	}
	for len(toks) > 0 && toks[len(toks)-1].punct(";") {
		toks = toks[:len(toks)-1]
	}
	if len(toks) == 0 {
		return nil, &SyntaxError{Message: "no statement", Pos: -1}
	}
	for _, t := range toks {
		if t.punct(";") {
			return nil, &UnsupportedError{Construct: "more than one statement", Pos: t.pos}
		}
	}
	s, err := session(text, toks)
	if s == nil && err == nil {
		s, err = query(text, toks)
	}
	if err != nil {
		return nil, err
	}
	s.hash = hash(toks)
	return s, nil
}

// query parses a statement that reads.
func query(text string, toks []token) (*Statement, error) {
	sel, r, err := parseSelect(text, toks)
	if err != nil {
		return nil, err
	}
	s := &Statement{text: text, kind: KindSelect, tree: sel, params: r.params}
	a := newAllow()
	if err := a.check(sel); err != nil {
		return nil, err
	}
	s.functions = a.names()
	w, err := walkTables(sel)
	if err != nil {
		return nil, err
	}
	if err := w.expansions(); err != nil {
		return nil, err
	}
	for rv := range a.travel {
		if w.ctes[rv] != nil {
			return nil, &UnsupportedError{Construct: "time travel of a CTE", Pos: int(rv.Location)}
		}
	}
	s.nodes = w.bases
	for i, rv := range w.bases {
		s.tables = append(s.tables, tableRef(i, rv, a.travel[rv]))
	}
	return s, nil
}

func tableRef(i int, rv *pgquery.RangeVar, at Travel) TableRef {
	t := TableRef{Index: i, Alias: rv.Alias.GetAliasname(), Travel: at, Pos: int(rv.Location)}
	for _, p := range []string{rv.Catalogname, rv.Schemaname, rv.Relname} {
		if p != "" {
			t.Parts = append(t.Parts, p)
		}
	}
	return t
}

// parseSelect returns the tree of a SELECT, with canonical names and with positions in text.
func parseSelect(text string, toks []token) (*pgquery.SelectStmt, *rewritten, error) {
	r, err := prepass(toks)
	if err != nil {
		return nil, nil, err
	}
	if len(r.text) > 2*maxText {
		return nil, nil, overLimit("a statement longer than 1 MiB", -1)
	}
	res, err := pgquery.Parse(r.text)
	if err != nil {
		return nil, nil, parserError(err, r, text)
	}
	if len(res.Stmts) != 1 || res.Stmts[0].Stmt == nil {
		return nil, nil, &UnsupportedError{Construct: "more than one statement", Pos: -1}
	}
	sel := res.Stmts[0].Stmt.GetSelectStmt()
	if sel == nil {
		return nil, nil, &UnsupportedError{Construct: statementName(res.Stmts[0].Stmt), Pos: toks[0].pos}
	}
	if err := normalize(sel, r); err != nil {
		return nil, nil, err
	}
	return sel, r, nil
}

// parserError turns an error of the C parser into ours. Its message is not used: it speaks of the rewritten text.
func parserError(err error, r *rewritten, text string) error {
	var pe *parser.Error
	if !errors.As(err, &pe) {
		return overLimit("nesting that deep", -1)
	}
	if strings.Contains(pe.Message, "memory exhausted") || strings.Contains(pe.Message, "stack depth") {
		return overLimit("nesting that deep", -1)
	}
	if pe.Cursorpos <= 0 {
		return &SyntaxError{Message: "the statement can't be read", Pos: -1}
	}
	off := 0
	for n := 1; n < pe.Cursorpos && off < len(r.text); n++ {
		_, size := utf8.DecodeRuneInString(r.text[off:])
		off += size
	}
	if off >= len(r.text) {
		return &SyntaxError{Message: "unexpected end", Pos: len(text)}
	}
	pos := r.original(off)
	return &SyntaxError{Message: "unexpected " + excerpt(text, pos), Pos: pos}
}

// excerpt quotes the token of the user's text that starts at pos.
func excerpt(text string, pos int) string {
	toks, err := lex(text[pos:])
	if err != nil || len(toks) == 0 || len(toks[0].text) > 40 {
		return "text"
	}
	return `"` + toks[0].text + `"`
}

// hash returns a digest of the statement without literals, comments and spaces.
func hash(toks []token) string {
	h := sha256.New()
	for _, t := range toks {
		switch t.kind {
		case tokString, tokNumber, tokParam:
			h.Write([]byte("?"))
		case tokWord:
			h.Write([]byte(strings.ToLower(t.text)))
		default:
			h.Write([]byte(t.text))
		}
		h.Write([]byte{' '})
	}
	return hex.EncodeToString(h.Sum(nil))
}

func sorted(set map[string]bool) []string {
	out := make([]string, 0, len(set))
	for k := range set {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
