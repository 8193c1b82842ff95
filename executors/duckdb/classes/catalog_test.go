package classes

import (
	"database/sql"
	"slices"
	"strings"
)

// overload is one row of what the engine has.
type overload struct {
	kind      string // scalar, aggregate, macro, table, pragma, table_macro, cast, comparison
	name      string
	params    []string
	varargs   string
	result    string
	stability string
	macro     string
}

// key is how the table names it.
func (o overload) key() string { return o.kind + "\t" + o.name + "\t" + o.signature() }

func (o overload) signature() string {
	p := slices.Clone(o.params)
	if o.varargs != "" {
		p = append(p, o.varargs+"...")
	}
	s := "(" + strings.Join(p, ", ") + ")"
	if o.result != "" {
		s += " " + o.result
	}
	return s
}

// overloads lists all functions, casts and comparisons of the engine, sorted by key.
func (e *engine) overloads() []overload {
	rows, err := e.conn.QueryContext(e.t.Context(), `SELECT function_type, function_name,
		array_to_string(list_transform(parameter_types, lambda x: coalesce(x, '')), ';'), len(parameters), coalesce(varargs, ''), coalesce(return_type, ''),
		coalesce(stability, ''), coalesce(macro_definition, '') FROM duckdb_functions()`)
	if err != nil {
		e.t.Fatal(err)
	}
	defer rows.Close()
	known := map[string]overload{}
	for rows.Next() {
		var o overload
		var params sql.NullString
		var n int
		if err := rows.Scan(&o.kind, &o.name, &params, &n, &o.varargs, &o.result, &o.stability, &o.macro); err != nil {
			e.t.Fatal(err)
		}
		if n > 0 {
			o.params = strings.Split(params.String, ";")
		}
		if strings.HasSuffix(o.kind, "macro") {
			o.params = make([]string, n)
		}
		known[o.key()] = o
	}
	if err := rows.Err(); err != nil {
		e.t.Fatal(err)
	}
	for _, from := range types() {
		for _, to := range types() {
			for _, o := range []overload{{kind: "cast", name: "CAST", params: []string{from}, result: to}, {kind: "comparison", name: "=", params: []string{from, to}}} {
				known[o.key()] = o
			}
		}
	}
	out := make([]overload, 0, len(known))
	for _, o := range known {
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b overload) int { return strings.Compare(a.key(), b.key()) })
	return out
}

// types lists the types between which casts and comparisons are probed.
func types() []string {
	var out []string
	for t := range pools {
		if !list.MatchString(t) {
			out = append(out, t)
		}
	}
	slices.Sort(out)
	return out
}

// text returns how o is called.
func (o overload) text() call {
	return func(args []string) string {
		switch o.kind {
		case "cast":
			return "CAST(" + args[0] + " AS " + o.result + ")"
		case "comparison":
			return args[0] + " = " + args[1]
		}
		return `"` + o.name + `"(` + strings.Join(args, ", ") + ")"
	}
}

// tuples lists the types of arguments that o is probed with.
func (o overload) tuples() [][]string {
	params := slices.Clone(o.params)
	if o.varargs != "" {
		params = append(params, o.varargs)
	}
	lists := make([][]string, len(params))
	n := 1
	for i, p := range params {
		if lists[i] = concrete(p); lists[i] == nil {
			return nil
		}
		n = max(n, len(lists[i]))
	}
	if o.kind == "macro" && len(params) > 1 {
		return combinations(lists, 40)
	}
	var out [][]string
	for i := range n {
		t := make([]string, len(params))
		for j, l := range lists {
			t[j] = l[i%len(l)]
		}
		out = append(out, t)
	}
	if n > 1 && len(params) > 1 { // also mixed ones
		out = append(out, combinations(lists, 8)...)
	}
	return out
}

// probe merges what all tuples of types show.
func (e *engine) probeOverload(o overload) (finding, bool) {
	var all finding
	known := false
	for _, types := range o.tuples() {
		for _, f := range variants(o, types) {
			var pool [][]string
			var plain []string
			for _, t := range types {
				if t != "LAMBDA" {
					pool = append(pool, values(o.name, t))
					plain = append(plain, t)
				}
			}
			got := e.probe(f, plain, pool)
			if got.raises == unbound {
				continue
			}
			all = merge(all, got)
			known = true
			break
		}
	}
	return all, known
}

// variants puts lambdas in their places, and windows behind functions that need one.
func variants(o overload, types []string) []call {
	f := o.text()
	at := slices.Index(types, "LAMBDA")
	if at >= 0 {
		var out []call
		for _, l := range lambdas {
			out = append(out, func(args []string) string { return f(slices.Insert(slices.Clone(args), at, l)) })
		}
		return out
	}
	out := []call{f}
	if o.kind == "aggregate" || o.kind == "window" {
		out = append(out, func(args []string) string { return f(args) + " OVER (ORDER BY 1)" })
	}
	return out
}
