package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	pgquery "github.com/pganalyze/pg_query_go/v6"

	"gatehouse/classify"
)

// The limits of one expression. The parser is C with a recursive descent over its result: a long chain of operators
// or brackets would exhaust its stack, so both are bounded before it sees the text.
const (
	maxExpression = 16 << 10
	maxTokens     = 2000
	maxBrackets   = 64
	maxIdentifier = 63 // the parser cuts longer ones silently
)

// expression parses e as one bare expression, checks all of it, binds its columns to t, and returns its tree with
// the field ids that it reads, ascending.
//
// The grammar is PostgreSQL's, read as DuckDB reads it, and the spellings of Trino that rewriteCall lists. It is not
// classify.Parse because policy knows things that no statement may use: parameters, gw_hash, Trino's spellings.
func expression(e Expression, t Table) (*pgquery.Node, []int, error) {
	b := &binder{table: t, params: e.Params, fields: e.Fields, reads: map[int]bool{}}
	n, err := b.read(e)
	if err != nil {
		return nil, nil, err
	}
	reads := make([]int, 0, len(b.reads))
	for id := range b.reads {
		reads = append(reads, id)
	}
	slices.Sort(reads)
	return n, reads, nil
}

// read parses and binds e.
func (b *binder) read(e Expression) (*pgquery.Node, error) {
	text, err := markParams(e.SQL, e.Params)
	if err != nil {
		return nil, err
	}
	n, err := parseBare(text)
	if err != nil {
		return nil, err
	}
	return b.node(n)
}

// parseBare parses text as the only target of a SELECT and refuses anything around it. No brackets are added: with
// them, "a = 1) OR (1 = 1" would parse.
func parseBare(text string) (*pgquery.Node, error) {
	tree, err := pgquery.Parse("SELECT " + text)
	if err != nil {
		return nil, errors.New("not one SQL expression")
	}
	if len(tree.Stmts) != 1 {
		return nil, errors.New("more than one statement")
	}
	sel := tree.Stmts[0].GetStmt().GetSelectStmt()
	if sel == nil || len(sel.TargetList) != 1 {
		return nil, errors.New("not exactly one expression")
	}
	target := sel.TargetList[0].GetResTarget()
	if target == nil || target.Name != "" || len(target.Indirection) > 0 || target.Val == nil {
		return nil, errors.New("an expression has no alias")
	}
	// What is left of the SELECT must be that of a bare one.
	bare := &pgquery.SelectStmt{TargetList: sel.TargetList, LimitOption: pgquery.LimitOption_LIMIT_OPTION_DEFAULT, Op: pgquery.SetOperation_SETOP_NONE}
	if !sameMessage(sel, bare) {
		return nil, errors.New("an expression has no FROM, WHERE, UNION, …")
	}
	return target.Val, nil
}

// paramPrefix marks parameters in the text that is parsed: ":name" becomes the quoted identifier "gw:name". No
// policy can be fooled by writing that itself: it names the same parameter.
const paramPrefix = "gw:"

// markParams checks the tokens of text and replaces :name.
func markParams(text string, params map[string]any) (string, error) {
	if len(text) > maxExpression {
		return "", fmt.Errorf("longer than %d bytes", maxExpression)
	}
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return "", errors.New("not valid UTF-8 text")
	}
	scan, err := pgquery.Scan(text)
	if err != nil {
		return "", errors.New("not SQL tokens")
	}
	if len(scan.Tokens) == 0 {
		return "", errors.New("empty")
	}
	if len(scan.Tokens) > maxTokens {
		return "", fmt.Errorf("more than %d tokens", maxTokens)
	}
	var out strings.Builder
	done, depth := 0, 0
	for i, tok := range scan.Tokens {
		start, end := int(tok.Start), int(tok.End)
		switch tok.Token {
		case pgquery.Token_SQL_COMMENT, pgquery.Token_C_COMMENT:
			return "", errors.New("comments are not allowed")
		case pgquery.Token_PARAM, pgquery.Token_ASCII_59:
			return "", fmt.Errorf("%s is not allowed", text[start:end])
		case pgquery.Token_ASCII_40, pgquery.Token_ASCII_91:
			if depth++; depth > maxBrackets {
				return "", fmt.Errorf("more than %d nested brackets", maxBrackets)
			}
		case pgquery.Token_ASCII_41, pgquery.Token_ASCII_93:
			depth--
		case pgquery.Token_IDENT:
			if end-start > maxIdentifier {
				return "", errors.New("an identifier is too long")
			}
		case pgquery.Token_ASCII_58:
			name := ""
			if i+1 < len(scan.Tokens) && int(scan.Tokens[i+1].Start) == end {
				name = text[end:scan.Tokens[i+1].End]
			}
			if _, ok := params[name]; !ok || !isName(name) {
				return "", fmt.Errorf("no parameter :%s", name)
			}
			out.WriteString(text[done:start])
			out.WriteString(` "` + paramPrefix + name + `" `)
			done = int(scan.Tokens[i+1].End)
		}
	}
	out.WriteString(text[done:])
	return out.String(), nil
}

// isName reports whether s may be the name of a parameter.
func isName(s string) bool {
	for i, r := range s {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != "" && len(s) < maxIdentifier-len(paramPrefix)
}

// resolve finds the one column that parts name, whatever the case; a qualifier must be the table. Two columns that
// differ in case only cannot be told apart by an engine that ignores case, so that neither is found, not even by its
// exact name: a mask that reads the wrong column hides nothing.
func resolve(parts []string, t Table) (classify.Column, error) {
	switch {
	case len(parts) == 1:
	case len(parts) == 2 && strings.EqualFold(parts[0], t.Name.Table):
	default:
		return classify.Column{}, fmt.Errorf("%q is not a column of the table", strings.Join(parts, "."))
	}
	name := parts[len(parts)-1]
	var hits []classify.Column
	for i, c := range t.Columns {
		if known := t.KnownName(i); known != "" && strings.EqualFold(known, name) {
			hits = append(hits, c)
		}
	}
	if len(hits) == 0 {
		return classify.Column{}, fmt.Errorf("column %q does not exist", name)
	}
	if len(hits) != 1 {
		return classify.Column{}, fmt.Errorf("the table has %d columns named %q", len(hits), name)
	}
	return hits[0], nil
}
