package duckdb

import (
	"crypto/sha256"
	"fmt"
	"strings"

	bindings "github.com/duckdb/duckdb-go-bindings"
	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"

	"gatehouse/classify"
)

// arrangement is a tree with each aggregate in its form.
type arrangement struct {
	tree *pgquery.SelectStmt // nil: as it was written
	safe *pgquery.SelectStmt // see statement; nil: not needed
}

// arrange makes the statement of a tree with each aggregate in a form whose value does not hang on the order of rows, see order.go.
func (s *Prepared) arrange(tree *pgquery.SelectStmt, params int, relations *relationTexts) (*statement, error) {
	st, err := newStatement(tree, params, relations)
	if err != nil || !needsForms(tree) {
		return st, err
	}
	a, known := s.x.checks.arrangement(st.shape)
	if !known {
		if a, err = s.newArrangement(tree, params, relations); err != nil {
			return nil, err
		}
		s.x.checks.keep(st.shape, a)
	}
	if a.tree != nil {
		if st, err = newStatement(a.tree, params, relations); err != nil {
			return nil, err
		}
	}
	if a.safe != nil {
		safe, err := newStatement(a.safe, params, relations)
		if err != nil {
			return nil, err
		}
		st.safe = safe.text
	}
	return st, nil
}

func (s *Prepared) newArrangement(tree *pgquery.SelectStmt, params int, relations *relationTexts) (*arrangement, error) {
	o, err := newOrderly(tree)
	if err != nil {
		return nil, err
	}
	names, err := s.names(o)
	if err != nil {
		return nil, err
	}
	types, err := s.types(o, params, relations)
	if err != nil {
		return nil, err
	}
	if o.settles(types) && params == 0 {
		return &arrangement{}, nil
	}
	sorted, planned, err := s.sortedTree(o, types, names, params, relations)
	if err != nil || params == 0 || !o.trusts(types) || !paramsType(tree) {
		return &arrangement{tree: sorted}, err
	}
	safe, _, err := s.sortedTree(o, nil, names, params, relations)
	if err != nil || !planned {
		return &arrangement{tree: safe}, err
	}
	return &arrangement{tree: sorted, safe: safe}, nil
}

// paramsType reports whether the type of a parameter could count for that of a sum. It does not if it stands in a condition.
func paramsType(tree *pgquery.SelectStmt) bool {
	harmless := map[*pgquery.ParamRef]bool{}
	note := func(condition *pgquery.Node) {
		for _, p := range classify.All[*pgquery.ParamRef](condition) {
			harmless[p] = true
		}
		for _, l := range classify.All[*pgquery.SubLink](condition) {
			for _, p := range classify.All[*pgquery.ParamRef](l) {
				delete(harmless, p)
			}
		}
	}
	// Outer ones first, so that what an inner one says of its own condition counts.
	for _, m := range classify.All[proto.Message](tree) {
		switch n := m.(type) {
		case *pgquery.SelectStmt:
			note(n.WhereClause)
			note(n.HavingClause)
			note(n.LimitCount)
			note(n.LimitOffset)
		case *pgquery.JoinExpr:
			note(n.Quals)
		case *pgquery.FuncCall:
			note(n.AggFilter)
		case *pgquery.CaseExpr:
			for _, w := range n.Args {
				if n.Arg == nil {
					note(w.GetCaseWhen().GetExpr())
				}
			}
		}
	}
	return len(harmless) < len(classify.All[*pgquery.ParamRef](tree))
}

// types asks for the types of arguments of sums. It returns nil if the engine cannot say, as where the type of a parameter is open.
func (s *Prepared) types(o *orderly, params int, relations *relationTexts) (map[int]string, error) {
	if !o.typed() {
		return nil, nil
	}
	st, err := newStatement(o.tagged(), params, relations)
	if err != nil {
		return nil, err
	}
	found, err := s.x.checks.verify(s.conn, st.shape)
	if isUnplanned(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return found.order.types, nil
}

// sortedTree makes the settled tree, in a form in which the engine does sort where it has to, and reports whether it
// can be planned before parameters have values.
func (s *Prepared) sortedTree(o *orderly, types map[int]string, names map[string]string, params int, relations *relationTexts) (*pgquery.SelectStmt, bool, error) {
	for _, constant := range []bool{false, true} {
		tree := o.settled(types, constant, names)
		st, err := newStatement(tree, params, relations)
		if err != nil {
			return nil, false, err
		}
		found, err := s.x.checks.verify(s.conn, st.shape)
		planned := err == nil
		if isUnplanned(err) && params > 0 {
			found, err = s.x.checks.verify(s.conn, st.constant)
		}
		if err != nil && !isUnplanned(err) {
			return nil, false, err
		}
		if err != nil || !found.order.dropped || constant {
			return tree, planned, nil // bind says why it cannot be planned
		}
	}
	return nil, false, internal("no form of the statement")
}

// names returns what the engine calls columns without a name whose text will change, by their text.
func (s *Prepared) names(o *orderly) (map[string]string, error) {
	out := map[string]string{}
	for _, text := range o.unnamed {
		name, err := s.x.checks.name(s.conn, text)
		if err != nil {
			return nil, err
		}
		out[text] = name
	}
	return out, nil
}

// arrangement is what was made of the statement of a shape.
func (k *checks) arrangement(shape string) (*arrangement, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	a, known := k.arranged.values[sha256.Sum256([]byte(shape))]
	return a, known
}

func (k *checks) keep(shape string, a *arrangement) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.arranged.put(shape, a)
}

// maxKept bounds the texts that kept remembers something of: a tree takes some thirty times the memory of its text.
const maxKept = 2 << 20

// kept remembers what was made of texts.
type kept[T any] struct {
	values map[[32]byte]T
	size   int
}

func (k *kept[T]) put(text string, v T) {
	if k.size += len(text); k.values == nil || k.size > maxKept {
		k.values, k.size = map[[32]byte]T{}, len(text)
	}
	k.values[sha256.Sum256([]byte(text))] = v
}

// name returns what the engine calls the only column of a SELECT: its expression as the engine would write it.
func (k *checks) name(c *connection, sel string) (string, error) {
	k.mu.Lock()
	name, known := k.names.values[sha256.Sum256([]byte(sel))]
	k.mu.Unlock()
	if known {
		return name, nil
	}
	err := c.query("SELECT json_deserialize_sql(json_serialize_sql("+literal(sel)+"))", func(chunk bindings.DataChunk) error {
		v := bindings.DataChunkGetVector(chunk, 0)
		strs := values[bindings.StringT](&vector{data: bindings.VectorGetData(v)}, 0, 1)
		var ok bool
		if name, ok = strings.CutPrefix(string(text(&strs[0])), "SELECT "); !ok {
			return fmt.Errorf("a SELECT that is none")
		}
		return nil
	})
	if err != nil {
		return "", internal("the name of a column: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.names.put(sel, name)
	return name, nil
}
