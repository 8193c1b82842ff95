package main

import "fmt"

// further makes a statement about what there is: the tables of information_schema, alone and beside those of users, and older versions of tables
// of which a column, or a part of one, was dropped since, and conditions on masks that fail on hidden values.
func (g *generator) further() *statement {
	st := &statement{}
	switch n := g.r.IntN(10); {
	case n < 3:
		g.lost(st)
	case n < 5:
		g.overMasks(st)
	default:
		g.information(st)
	}
	st.door = g.chance(20)
	return st
}

func (g *generator) information(st *statement) {
	put := func(parts ...any) { st.root = clause(parts...) }
	table := pick(g.r, "tables", "columns", "columns", "schemata")
	from := pick(g.r, "", catalogName+".", `"LAKE".`) + pick(g.r, "information_schema.", "INFORMATION_SCHEMA.") + table
	column := pick(g.r, map[string][]string{
		"tables": {"table_name", "table_name", "table_schema", "table_type"}, "schemata": {"schema_name", "catalog_name"},
		"columns": {"column_name", "column_name", "table_name", "table_schema", "data_type", "is_nullable"},
	}[table]...)
	value := pick(g.r, "payroll", "keys", "vault", "customers", "shop", "diagnosis", "level", "salary", "nothing", "gone", "sender", "VARCHAR", "PAYROLL")
	where := clause(fmt.Sprintf(" WHERE %s %s", column, pick(g.r, "= '"+value+"'", "<> '"+value+"'", "LIKE '%"+value[1:]+"%'", "IN ('"+value+"', 'orders')", "> '"+value+"'")))
	switch g.r.IntN(8) {
	case 0:
		put("SELECT * FROM ", from)
	case 1:
		put("SELECT * FROM ", from, where)
	case 2:
		put("SELECT ", column, ", count(*) FROM ", from, option(where), " GROUP BY 1")
	case 3:
		put("SELECT count(*), min(", column, "), max(", column, ") FROM ", from, option(where))
	case 4:
		put("SELECT ", failing(g), " FROM ", from, where)
	case 5:
		other, rel := g.target()
		put("SELECT count(*) FROM ", other, pick(g.r, " JOIN ", " LEFT JOIN ", " FULL JOIN "), from, " AS i ON i."+column+" = ", pick(g.r, "'"+value+"'", "CAST("+rel.alias+".id AS VARCHAR)"))
	case 6:
		put("SELECT p.id, i."+column+" FROM products AS p JOIN ", from, " AS i ON i."+column+" = p.label")
	default:
		other, _ := g.target()
		put("SELECT count(*) FROM ", other, " WHERE ", pick(g.r, "EXISTS", "NOT EXISTS"), " (SELECT 1 FROM ", from, where, ")")
	}
}

// lost asks for what was dropped since, in whole or in part.
func (g *generator) lost(st *statement) {
	past := pick(g.r, "FOR VERSION AS OF 'past'", "AT (VERSION => 'past')")
	name, column, part := "parcels", "box", "box.sender"
	if g.chance(30) {
		name, column, part = "events", "gone", "gone"
	}
	e := pick(g.r, "*", column, column, "t."+part, "(t."+column+").sender", "CAST("+column+" AS VARCHAR)", "count("+column+")", "min(t."+part+")", "struct_extract("+column+", 'sender')", "id", "count(*)")
	st.root = clause("SELECT ", e, " FROM "+name+" "+pick(g.r, past, past, past, "")+" AS t", option(" WHERE "+pick(g.r, "t."+part+" > 'HIDDENB'", column+" IS NOT NULL", "id > 3", "CAST("+column+" AS VARCHAR) LIKE '%C%'", "id >= 700000")))
}

// overMasks makes conditions that cannot fail by themselves on columns whose masks can.
func (g *generator) overMasks(st *statement) {
	test := func() *node {
		return word("boolean", pick(g.r, "t.weight ", "t.weight ", "t.weight ", "t.salary ")+pick(g.r, "IS NOT NULL", "IS NULL", "> 0", "< 60", "= 7", "<> 7", "IN (7, 9)"))
	}
	st.root = clause("SELECT ", pick(g.r, "count(*)", "max(id)", "min(t.sku)"), " FROM parcels AS t WHERE ", test(), option(" AND ", test()), option(" AND t.id < 1000"))
}

// beyond makes a statement that fails by itself, over rows that have to lie where visible values do not: whether hidden ones lie there decides which
// files are read.
func (g *generator) beyond() *statement {
	name := pick(g.r, "customers", "customers", "events", "visits", "parcels", "orders")
	column := pick(g.r, map[string][]string{
		"customers": {"id", "code", "joined", "rate"}, "events": {"id", "big"}, "visits": {"id", "qty", "placed"}, "parcels": {"id"}, "orders": {"id", "qty", "big"},
	}[name]...)
	value := "1000000"
	if column == "joined" || column == "placed" {
		value = "DATE '4000-01-01'"
	}
	st := &statement{door: g.chance(20)}
	from := name + " AS t WHERE t." + column + pick(g.r, " > ", " > ", " >= ") + value
	switch g.r.IntN(4) {
	case 0:
		st.root = clause("SELECT count(*) FROM (SELECT CAST(s AS BIGINT) AS n FROM (VALUES ('1'), ('x')) AS w(s)) AS x JOIN ", name+" AS t ON x.n = t.id WHERE t."+column+" > "+value)
	default:
		st.root = clause("SELECT ", failing(g), option(", t.id"), " FROM ", from)
	}
	return st
}
