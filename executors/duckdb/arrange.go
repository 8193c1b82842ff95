package duckdb

import (
	"fmt"
	"strings"

	bindings "github.com/duckdb/duckdb-go-bindings"
	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"

	"gatehouse/classify"
)

// arrange makes the statement of a tree with each aggregate in a form whose value does not hang on the order of rows, see order.go.
func (s *Prepared) arrange(tree *pgquery.SelectStmt, params int, relations *relationTexts) (*statement, error) {
	o, err := newOrderly(tree)
	if err != nil {
		return nil, err
	}
	if o == nil {
		return newStatement(tree, params, relations)
	}
	names, err := s.names(o)
	if err != nil {
		return nil, err
	}
	types, err := s.types(o, params, relations)
	if err != nil {
		return nil, err
	}
	st, planned, err := s.sortedStatement(o, types, names, params, relations)
	if err != nil || params == 0 || !o.trusts(types) || !paramsType(tree) {
		return st, err
	}
	safe, _, err := s.sortedStatement(o, nil, names, params, relations)
	if err != nil || !planned {
		return safe, err
	}
	st.safe = safe.text
	return st, nil
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

// sortedStatement makes the statement of the settled tree, in a form in which the engine does sort where it has to, and reports whether it
// can be planned before parameters have values.
func (s *Prepared) sortedStatement(o *orderly, types map[int]string, names map[string]string, params int, relations *relationTexts) (*statement, bool, error) {
	for _, constant := range []bool{false, true} {
		st, err := newStatement(o.settled(types, constant, names), params, relations)
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
			return st, planned, nil // bind says why it cannot be planned
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

// name returns what the engine calls the only column of a SELECT: its expression as the engine would write it.
func (k *checks) name(c *connection, sel string) (string, error) {
	k.mu.Lock()
	name, known := k.names[sel]
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
	if len(k.names) >= maxChecked {
		clear(k.names)
	}
	k.names[sel] = name
	return name, nil
}
