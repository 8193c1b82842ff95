package classify

import (
	"slices"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// walkers are functions beside those called list_… and array_… that go through a list, or make one.
var walkers = map[string]bool{
	"contains": true, "filter": true, "reduce": true, "apply": true, "flatten": true, "unnest": true, "grade_up": true,
	"range": true, "generate_series": true, "map_contains": true, "map_contains_value": true, "map_extract": true, "map_extract_value": true,
	"map_keys": true, "map_values": true, "map_entries": true, "map_from_entries": true, "map_concat": true, "map": true, "cardinality": true,
	"element_at": true, "json_contains": true, "to_json": true, "row_to_json": true, "struct_contains": true, "struct_position": true,
}

func walksList(name string) bool {
	return walkers[name] || strings.HasPrefix(name, "list_") && name != "list_value" && name != "list_pack" ||
		strings.HasPrefix(name, "array_") && name != "array_value"
}

// nestedLists refuses a function that goes, for each element of one list, through another list of which it is not known how long it
// is: that takes time by the product of their lengths, in one step that nothing interrupts. A column as its table has it may be that list,
// and so may the element itself.
func (b *binder) nestedLists(body *pgquery.Node, params []string) error {
	for _, f := range all[*pgquery.FuncCall](body) {
		name := nameOf(f)
		if !walksList(name) {
			continue
		}
		if name == "range" || name == "generate_series" {
			return &UnsupportedError{Construct: name + " inside of a lambda", Pos: int(f.Location)}
		}
		if what := b.outside(f.Args, params); what != "" {
			return &UnsupportedError{Construct: name + " inside of a lambda, on " + what + " from outside", Pos: int(f.Location)}
		}
	}
	for _, e := range all[*pgquery.A_Expr](body) {
		op := ""
		if len(e.Name) == 1 {
			op = e.Name[0].GetString_().GetSval()
		}
		member := e.Kind == pgquery.A_Expr_Kind_AEXPR_OP_ANY || e.Kind == pgquery.A_Expr_Kind_AEXPR_OP_ALL
		if !member && op != "@>" && op != "<@" && op != "&&" {
			continue
		}
		if what := b.outside([]*pgquery.Node{e.Lexpr, e.Rexpr}, params); what != "" {
			return &UnsupportedError{Construct: "operator " + op + " of lists inside of a lambda, on " + what + " from outside", Pos: int(e.Location)}
		}
	}
	return nil
}

// firstValue refuses a subquery as the value that list_reduce begins with: DuckDB 1.5 moves that argument while it binds the lambda, and
// ends the process where the subquery and the list both mention a column from further out.
func firstValue(f *pgquery.FuncCall) error {
	at := slices.IndexFunc(f.Args, func(n *pgquery.Node) bool { return nameOf(n.GetFuncCall()) == MarkerLambda })
	if at < 0 {
		return nil
	}
	for _, arg := range f.Args[at+1:] {
		if subs := all[*pgquery.SubLink](arg); len(subs) > 0 {
			return &UnsupportedError{Construct: "a subquery as the first value of " + nameOf(f), Pos: int(subs[0].Location)}
		}
	}
	return nil
}

// outside says what in args comes from outside of the lambda and is not a column of a table, "" if nothing does. The body of an inner
// lambda is left to that.
func (b *binder) outside(args []*pgquery.Node, params []string) string {
	for _, arg := range args {
		if nameOf(arg.GetFuncCall()) == MarkerLambda {
			continue
		}
		if len(all[*pgquery.SubLink](arg)) > 0 {
			return "a subquery"
		}
		for _, c := range all[*pgquery.ColumnRef](arg) {
			names, _ := parts(c)
			if len(names) > 0 && slices.Contains(params, fold(names[0])) {
				continue
			}
			r := b.refs[c]
			if r == nil || len(r.cols) == 0 || slices.ContainsFunc(r.cols, func(c *column) bool { return c.val.table < 0 }) {
				return "a value"
			}
		}
	}
	return ""
}
