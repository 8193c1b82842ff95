package main

import (
	"fmt"
	"strings"
)

// statement makes the statement of a seed for a user who sees shown.
func (g *generator) statement() *statement {
	st := g.any()
	st.door = st.door || g.chance(20)
	return st
}

func (g *generator) any() *statement {
	g.subqueries = 3
	st := &statement{}
	switch n := g.r.IntN(100); {
	case n < 3:
		st.root = g.command()
		return st
	case n < 5:
		return g.protocol()
	case n < 5+g.aim:
		return g.aimed()
	}
	var with *node
	if g.chance(18) {
		with = g.with()
	}
	depth, most := 3, 4
	if with == nil && g.chance(50) {
		depth, most, g.subqueries = 1, 2, g.r.IntN(2) // simple ones run fast and seldom fail
	}
	kinds := make([]string, 1+g.r.IntN(most))
	for i := range kinds {
		kinds[i] = pick(g.r, common...)
		if g.chance(15) {
			kinds[i] = pick(g.r, targets...)
		}
	}
	q, cols := g.query(nil, kinds, depth)
	tail := clause()
	switch g.r.IntN(6) {
	case 0:
		var order []string
		for i := range cols {
			order = append(order, fmt.Sprint(i+1)+pick(g.r, "", " DESC", " NULLS FIRST", " DESC NULLS LAST"))
		}
		st.ordered = true
		tail = option(" ORDER BY ", strings.Join(order, ", "), option(fmt.Sprintf(" LIMIT %d", g.r.IntN(9))), option(fmt.Sprintf(" OFFSET %d", g.r.IntN(5))))
		q = expr("query", "SELECT * FROM (", q, ") AS ", g.name("o"))
	case 1:
		if g.chance(30) {
			g.loose = true
			tail = option(fmt.Sprintf(" LIMIT %d", g.r.IntN(9)))
			q = expr("query", "SELECT * FROM (", q, ") AS ", g.name("o"))
		}
	}
	st.root = clause(q, tail)
	if with != nil {
		st.root = clause(with, st.root)
	}
	if g.chance(1) {
		st.root = clause("EXPLAIN ", st.root)
	}
	st.loose = g.loose
	return st
}

// command makes a statement that the gateway answers itself.
func (g *generator) command() *node {
	table := pick(g.r, "customers", "orders", "employees", "payroll", "products", "nothing")
	return clause(pick(g.r, "SHOW TABLES", "SHOW SCHEMAS", "SHOW CATALOGS", "SHOW ALL", "SHOW TABLES LIKE '%o%'", "DESCRIBE "+table, "SHOW COLUMNS FROM "+table,
		"DESCRIBE SELECT * FROM "+table, "EXPLAIN SELECT * FROM "+table+" WHERE id > 60", "SELECT * FROM "+table+" WHERE id = 1", "SELECT count(*) FROM "+table,
		"SELECT salary FROM payroll", "SELECT nothing FROM customers", "SELECT level FROM customers", "TABLE "+table))
}

// with makes common table expressions, some under the names of tables.
func (g *generator) with() *node {
	parts := []any{"WITH "}
	if g.chance(25) {
		name := pick(g.r, g.name("r"), "customers")
		k := pick(g.r, "bigint", "varchar")
		start, _ := g.query(nil, []string{"int", k}, 1)
		rel := relation{alias: name, columns: []field{{"n", "int"}, {"v", k}}}
		inner := &scope{relations: []relation{{"self", rel.columns}}}
		step := clause("SELECT self.n + 1, ", g.expr(k, inner, 2), " FROM "+name+" AS self WHERE self.n < 3")
		parts = append(parts, "RECURSIVE "+name+"(n, v) AS (SELECT least(greatest(coalesce(z.a, 1), 1), 3), z.b FROM (", start, ") AS z(a, b) UNION ", step, ")")
		g.ctes = append(g.ctes, rel)
		return clause(append(parts, " ")...)
	}
	for i := range 1 + g.r.IntN(2) {
		if i > 0 {
			parts = append(parts, ", ")
		}
		kinds := []string{"bigint", pick(g.r, common...), pick(g.r, common...)}
		q, cols := g.query(nil, kinds, 2)
		name := pick(g.r, g.name("c"), g.name("c"), "customers", "orders")
		for _, c := range g.ctes {
			if c.alias == name {
				name = g.name("c")
			}
		}
		parts = append(parts, name+pick(g.r, " AS (", " AS (", " AS MATERIALIZED (", " AS NOT MATERIALIZED ("), q, ")")
		g.ctes = append(g.ctes, relation{name, cols})
	}
	return clause(append(parts, " ")...)
}

// query makes a query with columns of kinds.
func (g *generator) query(outer *scope, kinds []string, depth int) (*node, []field) {
	cols := make([]field, len(kinds))
	for i, k := range kinds {
		cols[i] = field{fmt.Sprintf("x%d", i+1), k}
	}
	if depth > 1 && g.chance(12) {
		a, _ := g.query(outer, kinds, depth-1)
		b, _ := g.query(outer, kinds, depth-1)
		return expr("query", "(", a, ")", pick(g.r, " UNION ALL ", " UNION ", " INTERSECT ", " EXCEPT ", " EXCEPT ALL ", " INTERSECT ALL "), "(", b, ")"), cols
	}
	if g.chance(2) {
		var items []*node
		for _, k := range kinds {
			items = append(items, literal(k, g))
		}
		return expr("query", "SELECT * FROM (VALUES (", clause(list(", ", items...)...), ")) AS "+g.name("v")+"("+names(cols)+")"), cols
	}
	from, sc := g.from(outer, depth)
	where := clause()
	if g.chance(70) {
		where = option(" WHERE ", g.expr("boolean", sc, depth+1))
	}
	switch n := g.r.IntN(100); {
	case n < 22:
		return g.grouped(from, where, sc, cols, depth), cols
	case n < 30:
		return g.windowed(from, where, sc, cols, depth), cols
	}
	head := pick(g.r, "SELECT ", "SELECT ", "SELECT ", "SELECT ", "SELECT DISTINCT ")
	if g.chance(3) {
		g.loose = true
		head = "SELECT DISTINCT ON (" + fmt.Sprint(1+g.r.IntN(len(cols))) + ") "
	}
	return expr("query", head, g.items(cols, func(k string) *node { return g.expr(k, sc, depth) }), " FROM ", from, where), cols
}

func names(cols []field) string {
	var out []string
	for _, c := range cols {
		out = append(out, c.name)
	}
	return strings.Join(out, ", ")
}

// items makes the list of targets.
func (g *generator) items(cols []field, value func(kind string) *node) *node {
	var parts []any
	for i, c := range cols {
		if i > 0 {
			parts = append(parts, ", ")
		}
		parts = append(parts, value(c.kind), " AS "+c.name)
	}
	return clause(parts...)
}

func (g *generator) grouped(from, where *node, sc *scope, cols []field, depth int) *node {
	var keys []*node
	left := g.subqueries
	g.subqueries = 0 // a subquery is no key: the engine does not see that two of them are the same
	defer func() { g.subqueries = left }()
	sc = &scope{relations: sc.relations}
	items := g.items(cols, func(k string) *node {
		if g.chance(45) {
			key := g.expr(k, sc, depth-1)
			if key.leaf && !strings.Contains(key.parts[0].(string), ".") {
				return key // a constant is no key
			}
			keys = append(keys, key)
			return key
		}
		return g.aggregate(k, sc, depth-1)
	})
	group := clause()
	if len(keys) > 0 {
		all := clause(list(", ", keys...)...)
		switch g.r.IntN(8) {
		case 0:
			group = clause(" GROUP BY GROUPING SETS ((", all, "), ())")
		case 1:
			group = clause(" GROUP BY ROLLUP (", all, ")")
		case 2:
			group = clause(" GROUP BY CUBE (", all, ")")
		case 3:
			group = clause(" GROUP BY ALL")
		default:
			group = clause(" GROUP BY ", all)
		}
	}
	having := clause()
	if g.chance(20) {
		having = option(" HAVING ", g.aggregate("bigint", sc, 1), pick(g.r, comparisons[:7]...), literal("bigint", g))
	}
	return expr("query", "SELECT ", items, " FROM ", from, where, group, having)
}

func (g *generator) windowed(from, where *node, sc *scope, cols []field, depth int) *node {
	g.loose = true // rows with equal keys come in any order
	window := func() *node {
		order := clause()
		if g.chance(80) {
			order = option(" ORDER BY ", g.expr(pick(g.r, common...), sc, 1), pick(g.r, "", " DESC", " NULLS FIRST"))
		}
		part := clause()
		if g.chance(40) {
			part = option("PARTITION BY ", g.expr(pick(g.r, common...), sc, 1))
		}
		return clause(" OVER (", part, order, ")")
	}
	items := g.items(cols, func(k string) *node {
		switch {
		case k == "bigint" && g.chance(50):
			return expr(k, pick(g.r, "row_number()", "rank()", "dense_rank()", "ntile(2)"), window())
		case g.chance(40):
			return expr(k, pick(g.r, "lag(", "lead(", "first_value(", "last_value("), g.expr(k, sc, depth-1), ")", window())
		case g.chance(50):
			return expr(k, "max(", g.expr(k, sc, depth-1), ")", window())
		}
		return g.expr(k, sc, depth-1)
	})
	qualify := clause()
	if g.chance(30) {
		qualify = option(" QUALIFY row_number()", window(), " <= 3")
	}
	return expr("query", "SELECT ", items, " FROM ", from, where, qualify)
}

// from makes a FROM clause and the scope that it opens.
func (g *generator) from(outer *scope, depth int) (*node, *scope) {
	sc := &scope{outer: outer}
	first, rel := g.source(outer, depth)
	sc.relations = []relation{rel}
	out := first
	for depth > 0 && len(sc.relations) < 3 && g.chance(28) {
		if g.chance(12) {
			inner := &scope{relations: sc.relations, outer: outer}
			k := pick(g.r, common...)
			g.subqueries--
			q, cols := g.query(inner, []string{k}, 0)
			alias := g.name("l")
			out = clause(out, pick(g.r, " CROSS JOIN LATERAL (", " LEFT JOIN LATERAL ("), q, ") AS "+alias)
			if strings.HasPrefix(out.parts[1].(string), " LEFT") {
				out.parts = append(out.parts, " ON true")
			}
			sc.relations = append(sc.relations, relation{alias, cols})
			continue
		}
		next, rel := g.source(outer, depth-1)
		left := &scope{relations: sc.relations}
		right := &scope{relations: []relation{rel}}
		k := pick(g.r, "bigint", "bigint", "bigint", "varchar", pick(g.r, common...))
		on := clause("(", g.expr(k, left, 1), " = ", g.expr(k, right, 1), ")")
		sc.relations = append(sc.relations[:len(sc.relations):len(sc.relations)], rel)
		if g.chance(25) {
			on = clause(on, option(" AND ", g.expr("boolean", sc, 2)))
		}
		out = clause(out, pick(g.r, " JOIN ", " JOIN ", " LEFT JOIN ", " RIGHT JOIN ", " FULL JOIN "), next, " ON ", on)
	}
	return out, sc
}

// source makes one item of a FROM clause.
func (g *generator) source(outer *scope, depth int) (*node, relation) {
	alias := g.name("t")
	n := g.r.IntN(100)
	switch {
	case n < 12 && depth > 1:
		q, cols := g.query(outer, []string{pick(g.r, common...), pick(g.r, common...), "bigint"}, depth-1)
		return clause("(", q, ") AS "+alias), relation{alias, cols}
	case n < 16:
		return clause("unnest(", pick(g.r, "[1, 2, 3]", "[4]", "[]::INTEGER[]"), ") AS "+alias+"(v)"), relation{alias, []field{{"v", "int"}}}
	case n < 19:
		return clause("range(3) AS " + alias + "(v)"), relation{alias, []field{{"v", "bigint"}}}
	case n < 45 && len(g.ctes) > 0:
		c := pick(g.r, g.ctes...)
		return clause(c.alias + " AS " + alias), relation{alias, c.columns}
	}
	name := pick(g.r, "customers", "customers", "customers", "customers", "employees", "employees", "orders", "events", "visits", "products")
	past := name == "events" && g.chance(40)
	cols := []field{}
	for _, c := range g.shown[name] {
		if past {
			c.name = c.past()
		}
		cols = append(cols, field{c.name, c.kind})
	}
	spelt := pick(g.r, catalogName+"."+namespace+"."+name, namespace+"."+name, strings.ToUpper(catalogName+"."+namespace)+`."`+name+`"`)
	switch {
	case past:
		spelt += pick(g.r, " FOR VERSION AS OF 'past'", " AT (VERSION => 'past')")
	case g.chance(2):
		spelt += " FOR TIMESTAMP AS OF '2099-01-01 00:00:00'"
	}
	return clause(spelt + " AS " + alias), relation{alias, cols}
}
