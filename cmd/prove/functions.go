package main

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"

	"gatehouse/classify"
)

// signatureText lists the engine's functions: duckdb_functions() of the pinned version, cut to what statements may call.
//
//go:embed signatures.tsv
var signatureText string

// signature is one form of one function.
type signature struct {
	name, result string // result is a kind, "" if it is none of ours
	params       []string
	aggregate    bool
}

// catalogue are the functions of the grammar.
type catalogue struct {
	scalars, aggregates map[string][][]signature // by kind of the result: functions, each with its forms
}

// functions reads the table; what the product does not allow falls away.
var functions = sync.OnceValue(func() *catalogue {
	c := &catalogue{scalars: map[string][][]signature{}, aggregates: map[string][][]signature{}}
	at := map[string]int{} // place of a function in its list
	for line := range strings.Lines(signatureText) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") || len(f) != 4 || classify.ClassOf(f[0]) == classify.ClassForbidden || left[f[0]] {
			continue
		}
		s := signature{name: f[0], aggregate: f[1] == "aggregate", result: f[3]}
		if f[2] != "" {
			s.params = strings.Split(f[2], ";")
		}
		to := c.scalars
		if s.aggregate {
			to = c.aggregates
		}
		key := f[1] + " " + s.result + " " + s.name
		i, ok := at[key]
		if !ok {
			i = len(to[s.result])
			at[key], to[s.result] = i, append(to[s.result], nil)
		}
		to[s.result][i] = append(to[s.result][i], s)
	}
	return c
})

// left are functions that are left out: they give something else each time, or the parser reads their names as syntax.
var left = map[string]bool{
	"now": true, "today": true, "current_date": true, "current_timestamp": true, "transaction_timestamp": true, "get_current_timestamp": true,
	"current_localtime": true, "current_localtimestamp": true, "get_current_time": true, "age": true, "row": true,
	"json_exists": true, "json_value": true, "json_object": true, "json_array": true, "json_query": true, "union_value": true,
	// They make texts and lists of any length out of a number.
	"repeat": true, "range": true, "generate_series": true, "array_resize": true, "list_resize": true, "lpad": true, "rpad": true, "bar": true,
}

// orderly matches aggregates whose value hangs on the order of rows, which the product leaves to the engine.
var orderly = regexp.MustCompile(`^(first|last|arbitrary|list|array_agg|string_agg|group_concat|listagg|arg_|argm|max_by|min_by|json_group)`)

// call makes a call of one of the functions whose result is of kind, nil if there is none.
func (g *generator) call(kind string, sc *scope, depth int) *node {
	return g.callOf(functions().scalars, kind, func(k string) *node { return g.expr(k, sc, depth-1) })
}

func (g *generator) callOf(from map[string][][]signature, kind string, argument func(kind string) *node) *node {
	if others := from[""]; len(others) > 0 && kind == "varchar" && g.r.IntN(9) == 0 {
		// Results of a type that is none of ours are seen as texts.
		return expr(kind, "CAST(", g.arguments(pick(g.r, pick(g.r, others...)...), argument), " AS VARCHAR)")
	}
	forms := from[kind]
	if len(forms) == 0 {
		return nil
	}
	if sharp := sharpest()[kind]; len(sharp) > 0 && !forms[0][0].aggregate && g.r.IntN(8) == 0 {
		return g.arguments(pick(g.r, sharp...), argument)
	}
	return g.arguments(pick(g.r, pick(g.r, forms...)...), argument)
}

// sharpest are the functions that an engine evaluates on dictionaries and statistics, by kind of the result.
var sharpest = sync.OnceValue(func() map[string][]signature {
	out := map[string][]signature{}
	for kind, forms := range functions().scalars {
		for _, f := range forms {
			if classify.ClassOf(f[0].name) == classify.ClassDictionary {
				out[kind] = append(out[kind], f...)
			}
		}
	}
	return out
})

var lambdas = map[string]string{"lambda0": "lambda x: x", "lambda1": "lambda x: x IS NULL", "lambda2": "lambda x, y: x"}

func (g *generator) arguments(s signature, argument func(kind string) *node) *node {
	var args []*node
	for i, k := range s.params {
		words := argumentWords[s.name]
		switch {
		case lambdas[k] != "":
			args = append(args, word(k, lambdas[k]))
		case len(words) > 0 && (k == "varchar" && (i == 0) == wordFirst[s.name] || s.name == "to_base" && i == 1):
			args = append(args, word(k, pick(g.r, words...)))
		default:
			args = append(args, argument(k))
		}
	}
	parts := append([]any{quoteName(s.name) + "("}, list(", ", args...)...)
	return expr(s.result, append(parts, ")")...)
}

// wordFirst are functions whose first parameter is the word.
var wordFirst = map[string]bool{
	"date_part": true, "datepart": true, "date_trunc": true, "datetrunc": true, "date_diff": true, "datediff": true,
	"date_sub": true, "datesub": true, "timezone": true, "format": true, "printf": true,
}

// quoteName quotes names that the parser has other plans with.
func quoteName(name string) string {
	switch name {
	case "left", "right", "trim", "position", "substring", "overlay", "greatest", "least", "coalesce", "nullif", "grouping", "values":
		if name == "greatest" || name == "least" || name == "coalesce" || name == "nullif" {
			return name
		}
		return `"` + name + `"`
	}
	return name
}
