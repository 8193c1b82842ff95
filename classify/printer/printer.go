// Package printer writes trees that classify accepts as the SQL text of an engine.
//
// It knows an allow-list of nodes, and of fields of each: what it does not know is an error, never a guess. Every
// operand that is not atomic stands in parentheses, so an engine's own precedence of operators does not matter, and
// every identifier goes through one quoting function.
package printer

import (
	"fmt"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// maxDepth bounds recursion; DuckDB refuses expressions deeper than 1,000.
const maxDepth = 1500

// UnknownError says that a tree holds something that the printer does not know for the dialect.
type UnknownError struct{ What string }

func (e *UnknownError) Error() string { return "can't print " + e.What }

// PrintSelect returns sel as text of one statement, without a semicolon.
func PrintSelect(sel *pgquery.SelectStmt, d Dialect) (string, error) {
	p := &printer{d: d}
	p.selectStmt(sel)
	return p.result()
}

// PrintExpr returns one expression as text.
func PrintExpr(n *pgquery.Node, d Dialect) (string, error) {
	p := &printer{d: d}
	p.expr(n)
	return p.result()
}

// PrintExprs returns each expression as text.
func PrintExprs(ns []*pgquery.Node, d Dialect) ([]string, error) {
	out := make([]string, 0, len(ns))
	for _, n := range ns {
		s, err := PrintExpr(n, d)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// printer collects the text; its first error sticks.
type printer struct {
	d     Dialect
	b     strings.Builder
	depth int
	err   error
	wide  []*pgquery.A_Const // see alone
	known []*pgquery.SubLink // see conditions
}

func (p *printer) result() (string, error) {
	if p.err == nil && p.d.types == nil {
		p.fail("with the zero Dialect")
	}
	if p.err != nil {
		return "", p.err
	}
	return p.b.String(), nil
}

func (p *printer) fail(format string, args ...any) {
	if p.err == nil {
		p.err = &UnknownError{What: fmt.Sprintf(format, args...)}
	}
}

// enter counts one level and reports whether printing may go on; every true needs a leave.
func (p *printer) enter() bool {
	if p.err != nil {
		return false
	}
	if p.depth++; p.depth > maxDepth {
		p.fail("nesting that deep")
		return false
	}
	return true
}

func (p *printer) leave() { p.depth-- }

func (p *printer) put(parts ...string) {
	for _, s := range parts {
		p.b.WriteString(s)
	}
}

func (p *printer) ident(s string) {
	q, err := QuoteIdent(s, p.d)
	if err != nil {
		p.fail("an identifier: %v", err)
	}
	p.put(q)
}

func (p *printer) literal(s string) {
	q, err := QuoteLiteral(s)
	if err != nil {
		p.fail("a literal: %v", err)
	}
	p.put(q)
}

// list prints nodes with a comma between them.
func (p *printer) list(ns []*pgquery.Node, f func(*pgquery.Node)) {
	for i, n := range ns {
		if i > 0 {
			p.put(", ")
		}
		f(n)
	}
}

// idents prints names, given as String nodes, in parentheses.
func (p *printer) idents(ns []*pgquery.Node) {
	p.put("(")
	p.list(ns, func(n *pgquery.Node) { p.ident(p.str(n)) })
	p.put(")")
}

// str returns the value of a String node.
func (p *printer) str(n *pgquery.Node) string {
	s := n.GetString_()
	if s == nil {
		p.fail("a name that is no string")
	}
	return s.GetSval()
}
