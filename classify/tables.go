package classify

import (
	"slices"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// maxDepth bounds every recursion over a tree. It is above what the parser's own decoder lets through, so
// reaching it means a tree that did not come from the parser.
const maxDepth = 4000

// tableWalk is the one answer to which range variables of a tree are base tables and which are CTEs.
// Statement.Tables, Bind and Rewrite all use it, so they can't disagree.
type tableWalk struct {
	bases []*pgquery.RangeVar                            // in tree order: the index is TableRef.Index
	ctes  map[*pgquery.RangeVar]*pgquery.CommonTableExpr // every mention of a CTE, with what it means
	decls []*pgquery.CommonTableExpr                     // in tree order
}

// cteScope is what WITH makes visible, innermost first.
type cteScope struct {
	up     *cteScope
	name   string // folded
	cte    *pgquery.CommonTableExpr
	refuse string // if not empty, a mention is refused with these words
}

func (s *cteScope) find(name string) *cteScope {
	for ; s != nil; s = s.up {
		if s.name == name {
			return s
		}
	}
	return nil
}

// walkTables finds every range variable of sel. An unqualified name is a CTE if one is visible there, else a base
// table; a qualified name is never a CTE. Without RECURSIVE a CTE sees the ones before it; with RECURSIVE it also
// sees itself, in the recursive arm only, and a mention of a later one is refused.
func walkTables(sel *pgquery.SelectStmt) (*tableWalk, error) {
	w := &tableWalk{ctes: map[*pgquery.RangeVar]*pgquery.CommonTableExpr{}}
	if err := w.selectStmt(sel, nil, 0); err != nil {
		return nil, err
	}
	return w, nil
}

func (w *tableWalk) selectStmt(sel *pgquery.SelectStmt, scope *cteScope, depth int) error {
	if sel == nil {
		return nil
	}
	scope, err := w.with(sel.WithClause, scope, depth)
	if err != nil {
		return err
	}
	return w.below(sel, scope, depth, sel.WithClause)
}

// with walks the CTEs and returns the scope of the statement below them.
func (w *tableWalk) with(with *pgquery.WithClause, scope *cteScope, depth int) (*cteScope, error) {
	if with == nil {
		return scope, nil
	}
	ctes := make([]*pgquery.CommonTableExpr, 0, len(with.Ctes))
	seen := map[string]bool{}
	for _, n := range with.Ctes {
		cte := n.GetCommonTableExpr()
		if cte == nil {
			return nil, &UnsupportedError{Construct: "WITH item", Pos: int(with.Location)}
		}
		name := fold(cte.Ctename)
		if seen[name] {
			return nil, &NameError{Kind: "table", Name: cte.Ctename, Why: "is ambiguous", Pos: int(cte.Location)}
		}
		seen[name] = true
		ctes = append(ctes, cte)
	}
	for i, cte := range ctes {
		sel := cte.Ctequery.GetSelectStmt()
		if sel == nil {
			return nil, &UnsupportedError{Construct: "data-modifying WITH", Pos: int(cte.Location)}
		}
		w.decls = append(w.decls, cte)
		body := scope
		if with.Recursive {
			for _, later := range ctes[i+1:] {
				body = &cteScope{up: body, name: fold(later.Ctename), cte: later, refuse: "forward reference in WITH RECURSIVE"}
			}
		}
		err := w.cte(cte, sel, body, with.Recursive, depth+1)
		if err != nil {
			return nil, err
		}
		scope = &cteScope{up: scope, name: fold(cte.Ctename), cte: cte}
	}
	return scope, nil
}

// cte walks one body. The recursive arm is the right one of a UNION; elsewhere a recursive CTE can't name itself.
func (w *tableWalk) cte(cte *pgquery.CommonTableExpr, sel *pgquery.SelectStmt, scope *cteScope, recursive bool, depth int) error {
	if !recursive {
		return w.selectStmt(sel, scope, depth)
	}
	name := fold(cte.Ctename)
	outside := &cteScope{up: scope, name: name, cte: cte, refuse: "recursive reference outside the right arm of a UNION"}
	if sel.Op != pgquery.SetOperation_SETOP_UNION {
		return w.selectStmt(sel, outside, depth)
	}
	outside, err := w.with(sel.WithClause, outside, depth)
	if err != nil {
		return err
	}
	if err := w.selectStmt(sel.Larg, outside, depth+1); err != nil {
		return err
	}
	inside := &cteScope{up: scope, name: name, cte: cte}
	// The arm's own WITH, if any, lies over the name of the recursive one, as it does on the left.
	for _, s := range above(outside, cte) {
		inside = &cteScope{up: inside, name: s.name, cte: s.cte, refuse: s.refuse}
	}
	if err := w.selectStmt(sel.Rarg, inside, depth+1); err != nil {
		return err
	}
	return w.below(sel, outside, depth, sel.WithClause, sel.Larg, sel.Rarg)
}

// above returns the entries of s that hide cte, outermost first.
func above(s *cteScope, cte *pgquery.CommonTableExpr) []*cteScope {
	var out []*cteScope
	for ; s != nil && s.cte != cte; s = s.up {
		out = append([]*cteScope{s}, out...)
	}
	return out
}

// below walks the messages directly in m but those to skip, in the order of declaration, which makes the order of tables stable.
func (w *tableWalk) below(m proto.Message, scope *cteScope, depth int, skip ...proto.Message) error {
	if depth > maxDepth {
		return overLimit("nesting that deep", -1)
	}
	return children(m, func(c proto.Message) error {
		if slices.Contains(skip, c) {
			return nil
		}
		return w.message(c, scope, depth+1)
	})
}

func (w *tableWalk) message(m proto.Message, scope *cteScope, depth int) error {
	switch n := m.(type) {
	case *pgquery.SelectStmt:
		return w.selectStmt(n, scope, depth)
	case *pgquery.WithClause:
		return &UnsupportedError{Construct: "WITH outside SELECT", Pos: int(n.Location)}
	case *pgquery.RangeVar:
		return w.rangeVar(n, scope)
	}
	return w.below(m, scope, depth)
}

func (w *tableWalk) rangeVar(rv *pgquery.RangeVar, scope *cteScope) error {
	if rv.Schemaname == "" && rv.Catalogname == "" {
		if s := scope.find(fold(rv.Relname)); s != nil {
			if s.refuse != "" {
				return &UnsupportedError{Construct: s.refuse, Pos: int(rv.Location)}
			}
			w.ctes[rv] = s.cte
			return nil
		}
	}
	w.bases = append(w.bases, rv)
	return nil
}

// fold maps names that mean the same to one string: ASCII letters only, as the engine does.
func fold(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; 'A' <= c && c <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if 'A' <= b[i] && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}
