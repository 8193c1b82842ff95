package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// generator makes statements out of a seed.
type generator struct {
	r          *rand.Rand
	shown      map[string][]column
	names      int
	loose      bool // as in statement
	subqueries int  // that may still be made
	ctes       []relation
	aim        int // how many of a hundred statements are aimed ones
}

// relation is something to select from.
type relation struct {
	alias   string
	columns []field
}

type field struct{ name, kind string }

// scope is what an expression may refer to.
type scope struct {
	relations []relation
	outer     *scope
}

func (g *generator) name(prefix string) string {
	g.names++
	return fmt.Sprintf("%s%d", prefix, g.names)
}

func (g *generator) chance(percent int) bool { return g.r.IntN(100) < percent }

// column makes a reference to a column of kind, nil if sc has none.
func (g *generator) column(kind string, sc *scope) *node {
	var found []string
	for s := sc; s != nil; s = s.outer {
		if s != sc && len(found) > 0 && !g.chance(25) {
			break
		}
		for _, rel := range s.relations {
			for _, f := range rel.columns {
				if f.kind == kind {
					found = append(found, rel.alias+"."+f.name)
				}
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	return word(kind, pick(g.r, found...))
}

// anyColumn makes a reference to any column.
func (g *generator) anyColumn(sc *scope) *node {
	if sc == nil || len(sc.relations) == 0 {
		return nil
	}
	rel := pick(g.r, sc.relations...)
	if len(rel.columns) == 0 {
		return nil
	}
	f := pick(g.r, rel.columns...)
	return word(f.kind, rel.alias+"."+f.name)
}

func (g *generator) leaf(kind string, sc *scope) *node {
	if g.chance(82) {
		if c := g.column(kind, sc); c != nil {
			return c
		}
		if c := g.anyColumn(sc); c != nil && (castable(c.kind, kind) || g.chance(1)) {
			return g.cast(c, kind)
		}
		if c := g.formed(kind, sc); c != nil {
			return g.cast(c, kind)
		}
	}
	if g.chance(5) {
		if p := g.param(kind); p != nil {
			return p
		}
	}
	return literal(kind, g)
}

// param makes a parameter with a cast.
func (g *generator) param(kind string) *node {
	values := map[string][]any{"varchar": {"a", "", "EU", "1"}, "bigint": {int64(1), int64(-5), nil}, "int": {int64(3), nil}, "double": {1.5, nil}, "boolean": {true, false}}
	pool, ok := values[kind]
	if !ok {
		return nil
	}
	return &node{kind: kind, parts: []any{"CAST(", param{pick(g.r, pool...)}, " AS " + sqlName[kind] + ")"}, leaf: true}
}

// textsFor are the columns whose visible texts a cast to a kind accepts.
var textsFor = map[string][]string{
	"int": {"t_int", "sku"}, "bigint": {"t_int", "sku"}, "hugeint": {"t_int", "sku"}, "smallint": {"t_int", "sku"}, "tinyint": {"t_int"}, "ubigint": {"t_int", "sku"},
	"double": {"t_num", "t_int", "sku"}, "real": {"t_num"}, "decimal": {"t_num", "t_int"}, "decimal38": {"t_num"}, "date": {"t_date"}, "timestamp": {"t_date"},
	"timestamptz": {"t_date"}, "timestamp_ns": {"t_date"}, "int[]": {"t_list", "note"}, "varchar[]": {"t_list", "note"}, "double[]": {"t_list", "note"},
	"json": {"t_json"}, "uuid": {"t_uuid"}, "boolean": {"t_bool"}, "blob": {"t_int", "t_list", "sku"},
}

// formed makes a reference to a column of text that a cast to kind accepts on all visible rows, nil if there is none.
func (g *generator) formed(kind string, sc *scope) *node {
	var found []string
	for s := sc; s != nil; s = s.outer {
		for _, rel := range s.relations {
			for _, f := range rel.columns {
				if f.kind == "varchar" && slices.Contains(textsFor[kind], f.name) {
					found = append(found, rel.alias+"."+f.name)
				}
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	return word("varchar", pick(g.r, found...))
}

func (g *generator) cast(n *node, to string) *node {
	switch g.r.IntN(8) {
	case 0:
		return expr(to, "TRY_CAST(", n, " AS "+sqlName[to]+")")
	case 1:
		return expr(to, "(", n, ")::"+sqlName[to])
	default:
		return expr(to, "CAST(", n, " AS "+sqlName[to]+")")
	}
}

// expr makes an expression of kind over sc.
func (g *generator) expr(kind string, sc *scope, depth int) *node {
	if depth <= 0 || g.chance(22) {
		return g.leaf(kind, sc)
	}
	if kind == "boolean" && g.chance(75) {
		return g.condition(sc, depth)
	}
	switch n := g.r.IntN(100); {
	case n < 34:
		if c := g.call(kind, sc, depth); c != nil {
			return c
		}
	case n < 52:
		from := pick(g.r, "varchar", "varchar", "varchar", pick(g.r, common...), pick(g.r, targets...))
		if c := g.formed(kind, sc); c != nil && g.chance(50) {
			return g.cast(c, kind)
		}
		switch {
		case from == "varchar" && kind != "varchar" && kind != "json" && g.chance(80):
			return expr(kind, "TRY_CAST(", g.expr(from, sc, depth-1), " AS "+sqlName[kind]+")")
		case castable(from, kind) || g.chance(1):
			return g.cast(g.expr(from, sc, depth-1), kind)
		}
	case n < 60:
		return g.caseOf(kind, sc, depth)
	case n < 66:
		return expr(kind, pick(g.r, "coalesce", "ifnull", "nullif")+"(", g.expr(kind, sc, depth-1), ", ", g.expr(kind, sc, depth-1), ")")
	case n < 70 && g.subqueries > 0:
		return g.scalarQuery(kind, sc)
	case n < 88:
		if o := g.operation(kind, sc, depth); o != nil {
			return o
		}
	case n < 92:
		return expr(kind, "(", g.expr(kind, sc, depth-1), ")")
	}
	return g.leaf(kind, sc)
}

func (g *generator) caseOf(kind string, sc *scope, depth int) *node {
	if g.chance(30) {
		k := pick(g.r, "varchar", "int", "bigint")
		return expr(kind, "CASE ", g.expr(k, sc, depth-1), " WHEN ", g.expr(k, sc, depth-2), " THEN ", g.expr(kind, sc, depth-1), " ELSE ", g.expr(kind, sc, depth-2), " END")
	}
	return expr(kind, "CASE WHEN ", g.expr("boolean", sc, depth-1), " THEN ", g.expr(kind, sc, depth-1),
		option(" WHEN ", g.expr("boolean", sc, depth-2), " THEN ", g.expr(kind, sc, depth-2)), option(" ELSE ", g.expr(kind, sc, depth-1)), " END")
}

// operation makes an operator's or another special form for kind, nil if there is none.
func (g *generator) operation(kind string, sc *scope, depth int) *node {
	e := func(k string) *node { return g.expr(k, sc, depth-1) }
	if isNumber(kind) {
		switch g.r.IntN(8) {
		case 0:
			return expr(kind, "-(", e(kind), ")")
		case 1:
			if kind == "int" || kind == "bigint" || kind == "hugeint" {
				return expr(kind, "(", e(kind), pick(g.r, " & ", " | ", " << ", " >> ", " // "), e(kind), ")")
			}
		case 4:
			return expr(kind, "CAST((", e(kind), " / ", e(kind), ") AS "+sqlName[kind]+")")
		case 2:
			if kind == "bigint" {
				return expr(kind, "(", e("date"), " - ", e("date"), ")")
			}
		case 3:
			if kind == "int" {
				return pick(g.r, expr(kind, "(", e("int[]"), ")["+pick(g.r, "1", "-1", "9")+"]"), expr(kind, "(", e("struct"), ").zip"))
			}
		}
		return expr(kind, "(", e(kind), pick(g.r, " + ", " - ", " * ", " % "), e(kind), ")")
	}
	switch kind {
	case "varchar":
		return pick(g.r, expr(kind, "(", e(kind), " || ", e(pick(g.r, kind, kind, pick(g.r, common...))), ")"), expr(kind, "(", e(kind), ")[1:2]"),
			expr(kind, "(", e("struct"), ").city"), expr(kind, "(", e("varchar[]"), ")[1]"), expr(kind, "(", e("json"), " ->> '$.a')"), expr(kind, "(", e(kind), " COLLATE NOCASE)"))
	case "date", "timestamp", "timestamptz":
		return pick(g.r, expr(kind, "CAST((", e(kind), pick(g.r, " + ", " - "), e("interval"), ") AS "+sqlName[kind]+")"),
			expr(kind, "CAST((", e("date"), pick(g.r, " + ", " - "), e("int"), ") AS "+sqlName[kind]+")"))
	case "varchar[]":
		return pick(g.r, expr(kind, "[", e("varchar"), ", ", e("varchar"), "]"), expr(kind, "(", e(kind), " || ", e(kind), ")"),
			expr(kind, "list_transform(", e(kind), ", lambda x: x || ", e("varchar"), ")"), expr(kind, "list_filter(", e(kind), ", lambda x: x > ", e("varchar"), ")"))
	case "int[]":
		return pick(g.r, expr(kind, "[", e("int"), ", ", e("int"), "]"), expr(kind, "list_transform(", e("varchar[]"), ", lambda x: CAST(x AS INTEGER))"),
			expr(kind, "(", e(kind), ")[1:2]"))
	case "struct":
		return expr(kind, "{'city': ", e("varchar"), ", 'zip': ", e("int"), "}")
	case "map":
		return expr(kind, "MAP {", e("varchar"), ": ", e("int"), "}")
	case "interval":
		return expr(kind, "INTERVAL (", e("int"), ") "+pick(g.r, "DAY", "MONTH", "HOUR", "YEAR"))
	case "json":
		return pick(g.r, expr(kind, "to_json(", e(pick(g.r, common...)), ")"), expr(kind, "(", e(kind), " -> '$.a')"))
	}
	return nil
}

var numbers = []string{"int", "bigint", "double", "decimal", "hugeint"}

var comparisons = []string{" = ", " = ", " <> ", " < ", " <= ", " > ", " >= ", " IS DISTINCT FROM ", " IS NOT DISTINCT FROM "}

// condition makes a boolean expression.
func (g *generator) condition(sc *scope, depth int) *node {
	k := pick(g.r, common...)
	if c := g.anyColumn(sc); c != nil && g.chance(60) {
		k = c.kind
	}
	e := func(k string) *node { return g.expr(k, sc, depth-1) }
	b := "boolean"
	switch n := g.r.IntN(100); {
	case n < 34:
		return expr(b, "(", e(k), pick(g.r, comparisons...), e(k), ")")
	case n < 40:
		return expr(b, "(", e(pick(g.r, numbers...)), pick(g.r, comparisons...), e(pick(g.r, numbers...)), ")")
	case n < 52:
		return expr(b, "(", e(b), pick(g.r, " AND ", " AND ", " OR "), e(b), ")")
	case n < 56:
		return expr(b, "(NOT ", e(b), ")")
	case n < 64:
		return expr(b, "(", e(pick(g.r, k, pick(g.r, targets...))), pick(g.r, " IS NULL", " IS NOT NULL"), ")")
	case n < 70:
		return expr(b, "(", e(k), pick(g.r, " IN (", " NOT IN ("), e(k), ", ", e(k), "))")
	case n < 75:
		return expr(b, "(", e(k), pick(g.r, " BETWEEN ", " NOT BETWEEN "), e(k), " AND ", e(k), ")")
	case n < 81:
		return expr(b, "(", e("varchar"), pick(g.r, " LIKE ", " ILIKE ", " NOT LIKE ", " ~ ", " SIMILAR TO ", " ^@ "), e("varchar"), ")")
	case n < 83:
		return expr(b, "(", e(b), pick(g.r, " IS TRUE", " IS NOT FALSE", " IS NOT TRUE", " IS UNKNOWN"), ")")
	case n < 88 && g.subqueries > 0:
		g.subqueries--
		q, _ := g.query(sc, []string{k}, 1)
		return pick(g.r, expr(b, "(", e(k), pick(g.r, " IN (", " NOT IN (", " = ANY (", " <> ALL (", " < ALL ("), q, "))"), expr(b, pick(g.r, "EXISTS (", "NOT EXISTS ("), q, ")"))
	case n < 91:
		return expr(b, "list_contains(", e("varchar[]"), ", ", e("varchar"), ")")
	default:
		if c := g.call(b, sc, depth); c != nil {
			return c
		}
		return g.leaf(b, sc)
	}
}

// scalarQuery makes a subquery for one value; some return two rows.
func (g *generator) scalarQuery(kind string, sc *scope) *node {
	g.subqueries--
	if g.chance(65) {
		from, inner := g.from(sc, 1)
		return expr(kind, "(SELECT CAST(", g.aggregate(kind, &scope{relations: inner.relations}, 1), " AS "+sqlName[kind]+") FROM ", from, option(" WHERE ", g.expr("boolean", inner, 2)), ")")
	}
	q, _ := g.query(sc, []string{kind}, 1)
	return expr(kind, "(", q, ")")
}

// aggregate makes an aggregate function of kind over sc.
func (g *generator) aggregate(kind string, sc *scope, depth int) *node {
	var n *node
	switch g.r.IntN(6) {
	case 0:
		if kind == "bigint" {
			n = expr(kind, "count(", g.expr(pick(g.r, common...), sc, depth), ")")
		}
	case 1, 2:
		n = expr(kind, pick(g.r, "min(", "max("), g.expr(kind, sc, depth), ")")
	}
	if n == nil {
		n = g.callOf(functions().aggregates, kind, func(k string) *node { return g.expr(k, sc, depth) })
	}
	if n == nil {
		n = expr(kind, pick(g.r, "min(", "max("), g.expr(kind, sc, depth), ")")
	}
	call := n
	if name, ok := n.parts[0].(string); ok && strings.HasPrefix(name, "CAST(") {
		call = n.parts[1].(*node)
	}
	if name, ok := call.parts[0].(string); ok && orderly.MatchString(name) {
		g.loose = true
	}
	if g.chance(12) {
		return expr(kind, n, " FILTER (WHERE ", g.expr("boolean", sc, depth), ")")
	}
	return n
}
