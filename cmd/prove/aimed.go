package main

import (
	"slices"
	"strings"
)

// sharp are expressions over one column that succeed on all that is visible of it and fail on some hidden value, or would have an engine
// look at bounds of hidden values, by the column's name. % stands for the column.
var sharp = map[string][]string{
	"t_int":     {"CAST(% AS INTEGER)", "CAST(% AS UBIGINT)", "CAST(% AS DECIMAL(12,2))", "chr(CAST(% AS INTEGER) + 60)", "% + 0"},
	"t_num":     {"CAST(% AS DOUBLE)", "CAST(% AS DECIMAL(38,4))", "% * 2.0"},
	"t_date":    {"CAST(% AS DATE)", "CAST(% AS TIMESTAMP_NS)", "CAST(% AS TIMESTAMPTZ)", "strptime(%, '%Y-%m-%d')", "last_day(CAST(% AS DATE))"},
	"t_list":    {"CAST(% AS INTEGER[])", "len(CAST(% AS INTEGER[]))", "list_transform([%], lambda x: CAST(x AS INTEGER[]))"},
	"t_struct":  {"CAST(% AS STRUCT(a INTEGER))", "(CAST(% AS STRUCT(a INTEGER))).a"},
	"t_map":     {"CAST(% AS MAP(VARCHAR, INTEGER))", "cardinality(CAST(% AS MAP(VARCHAR, INTEGER)))"},
	"t_json":    {"CAST(% AS JSON)", "json_array_length(%)", "json_extract(%, '$.a')", "json_keys(%)"},
	"t_uuid":    {"CAST(% AS UUID)"},
	"t_bool":    {"CAST(% AS BOOLEAN)", "% AND true"},
	"t_part":    {"date_part(%, DATE '2020-01-02')", "date_trunc(%, TIMESTAMP '2020-01-02 00:00:00')"},
	"t_pattern": {"regexp_matches('abc', %)", "'a' ~ %", "regexp_extract('abc', %)"},
	"sku":       {"CAST(% AS INTEGER)", "CAST(% AS UBIGINT)", "CAST(% AS BLOB)", "1000 // CAST(% AS INTEGER)"},
	"note":      {"CAST(% AS INTEGER[])", "len(CAST(% AS INTEGER[]))", "CAST(% AS JSON)", "list_sum(CAST(% AS INTEGER[]))"},
	"code":      {"chr(%)", "% * 20000000", "1000 // %", "CAST(% AS UTINYINT)", "[1][% - 64]", "ascii(chr(%))"},
	"qty":       {"% * 100000000", "100 / %", "100 // %", "chr(% + 64)", "CAST(% AS UTINYINT)", "factorial(%)", "bin(%)", "left('abc', %)"},
	"placed":    {"epoch_us(%)", "last_day(%)", "isoyear(%)", "% + INTERVAL 1 DAY", "CAST(% AS TIMESTAMP)", "date_trunc('year', %)", "% + 1000000", "yearweek(%)"},
	"joined":    {"epoch_us(%)", "last_day(%)", "epoch_ns(%)", "% - INTERVAL 1 YEAR", "CAST(% AS TIMESTAMP_NS)", "date_diff('day', DATE '2020-01-01', %)", "year(%)"},
	"seen":      {"epoch_ns(%)", "% + INTERVAL 200000 YEAR", "CAST(% AS TIMESTAMP_NS)", "strftime(%, '%Y')"},
	"at":        {"% + INTERVAL 1 MONTH", "epoch_ns(%)", "date_trunc('month', %)", "CAST(% AS DATE)"},
	"amount":    {"% * 100000000", "CAST(% AS DECIMAL(8,2))", "CAST(% AS SMALLINT)"},
	"rate":      {"CAST(% AS INTEGER)", "sqrt(%)", "CAST(% AS DECIMAL(6,2))", "exp(% * 10)"},
	"big":       {"make_timestamp_ms(%)", "% + 9223372036854775000", "CAST(% AS INTEGER)", "% * %", "epoch_ms(%)"},
	"id":        {"id", "% + 9223372036854700000", "CAST(% AS INTEGER)", "make_timestamp_ms(%)"},
	"dept":      {"CAST(CASE % WHEN 'dev' THEN '1' WHEN 'ops' THEN '2' WHEN 'law' THEN '3' ELSE % END AS INTEGER)"},
	"nums":      {"list_transform(%, lambda x: 100000000 * x)", "%[1] * 100000000", "list_sum(%)", "CAST(% AS UTINYINT[])"},
	"tags":      {"list_transform(%, lambda x: strptime(CASE WHEN x IN ('x', 'y', '1') THEN '2020' ELSE x END, '%Y'))", "list_aggregate(%, 'max')"},
	"addr":      {"(%).zip * 100000000", "CAST(CASE WHEN (%).city IN ('Ulm', 'Rom') THEN '1' ELSE (%).city END AS INTEGER)", "(%).zip + 2147483000"},
	"attrs":     {"map_values(%)[1] * 100000000", "element_at(%, 'a')", "cardinality(%)"},
	"total":     {"% * 1000000", "CAST(% AS INTEGER)"},
	"ratio":     {"CAST(% AS INTEGER)", "CAST(% AS UTINYINT)"},
	"badge":     {"CAST(CAST(% AS VARCHAR) AS UUID)"},
	"pic":       {"decode(%)", "CAST(decode(%) AS VARCHAR)"},
}

// bounds are constants beyond what is visible, by kind: a comparison with them asks for the least and the greatest of hidden values.
var bounds = map[string][]string{
	"bigint": {"1000000", "-1", "99500", "60"}, "int": {"1000000", "-1", "130"}, "double": {"1e300", "-0.5", "'nan'::DOUBLE"}, "decimal": {"9000000.00", "-1.00"},
	"varchar": {"'HIDDEN'", "'zzz'", "'~'"}, "date": {"DATE '4000-01-01'", "DATE '0500-01-01'"}, "timestamp": {"TIMESTAMP '4000-01-01 00:00:00'"},
	"timestamptz": {"TIMESTAMPTZ '4000-01-01 00:00:00+00'"}, "boolean": {"false"},
}

// oftenMasked are columns under which raw values differ.
var oftenMasked = map[string]bool{"salary": true, "ssn": true, "score": true, "price": true, "born": true, "phone": true, "sku": true, "t_int": true}

// governed are the tables with a policy, the one with many rows among them: only there does the engine reorder conditions as it goes.
var governed = []string{"customers", "customers", "orders", "orders", "employees", "events", "visits", "visits"}

// target is a governed table under an alias, and its columns.
func (g *generator) target() (string, relation) {
	name := pick(g.r, governed...)
	rel := relation{alias: g.name("t")}
	for _, c := range g.shown[name] {
		rel.columns = append(rel.columns, field{c.name, c.kind})
	}
	return name + " AS " + rel.alias, rel
}

// sharpOf makes one of the sharp expressions over rel.
func (g *generator) sharpOf(rel relation) *node {
	var found []*node
	for _, c := range rel.columns {
		for _, form := range sharp[c.name] {
			if c.name == "id" && g.chance(60) {
				continue
			}
			// Formats of times keep their own percent signs.
			text := strings.NewReplacer("'%Y-%m-%d'", "'%Y-%m-%d'", "'%Y'", "'%Y'", "%", rel.alias+"."+c.name).Replace(form)
			found = append(found, word("sharp", text))
		}
	}
	if len(found) == 0 {
		return word("sharp", "1")
	}
	return pick(g.r, found...)
}

// plain makes a condition that cannot fail.
func (g *generator) plain(rel relation) *node {
	f := pick(g.r, rel.columns...)
	if masked := slices.DeleteFunc(slices.Clone(rel.columns), func(f field) bool { return !oftenMasked[f.name] }); len(masked) > 0 && g.chance(40) {
		f = pick(g.r, masked...)
	}
	if len(bounds[f.kind]) == 0 || g.chance(30) {
		return word("boolean", rel.alias+"."+f.name+pick(g.r, " IS NULL", " IS NOT NULL"))
	}
	return word("boolean", rel.alias+"."+f.name+pick(g.r, " < ", " > ", " <= ", " >= ", " <> ", " = ")+pick(g.r, bounds[f.kind]...))
}

// failing makes a subquery that fails whatever the tables hold, if the engine gets there.
func failing(g *generator) *node {
	return word("failing", pick(g.r, "(SELECT CAST(s AS INTEGER) FROM (VALUES ('x')) AS v(s))", "(SELECT v FROM unnest([1, 2]) AS u(v))", "(SELECT max(CAST(s AS DATE)) FROM (VALUES ('x'), ('y')) AS v(s))"))
}

// test makes a condition out of a sharp expression.
func (g *generator) test(e *node) *node {
	switch g.r.IntN(7) {
	case 0:
		return expr("boolean", "(", e, ") IS NULL")
	case 1:
		return expr("boolean", "CAST(", e, " AS VARCHAR) <> 'zz'")
	case 2:
		return expr("boolean", "(", e, ") = (", e, ")")
	case 3:
		return expr("boolean", "CASE WHEN (", e, ") IS NULL THEN false ELSE true END")
	}
	return expr("boolean", "(", e, ") IS NOT NULL")
}

// aimed makes a statement with one sharp expression in one place, and little else that could fail before it does.
func (g *generator) aimed() *statement {
	from, rel := g.target()
	e := g.sharpOf(rel)
	and := func() *node { return option(" AND ", g.plain(rel)) }
	if g.chance(50) {
		and = func() *node { return clause() }
	}
	st := &statement{}
	put := func(parts ...any) { st.root = clause(parts...) }
	switch g.r.IntN(23) {
	case 0, 1, 2:
		put("SELECT count(*) FROM ", from, " WHERE ", g.test(e), and())
	case 3:
		put("SELECT count(*) FROM ", from, " WHERE ", g.plain(rel), " AND ", g.test(e))
	case 4:
		put("SELECT ", pick(g.r, "min", "max", "count"), "(", e, ") FROM ", from, option(" WHERE ", g.plain(rel)))
	case 5:
		put("SELECT DISTINCT CAST(", e, " AS VARCHAR) FROM ", from)
	case 6:
		st.ordered = true
		put("SELECT CAST(", e, " AS VARCHAR) FROM ", from, option(" WHERE ", g.test(e)), " ORDER BY 1 LIMIT ", pick(g.r, "3", "100"))
	case 7:
		other, rel2 := g.target()
		put("SELECT count(*) FROM ", from, pick(g.r, " JOIN ", " LEFT JOIN "), other, " ON CAST(", e, " AS VARCHAR) = CAST(", g.sharpOf(rel2), " AS VARCHAR)")
	case 8:
		put("SELECT CAST(", e, " AS VARCHAR), count(*) FROM ", from, " GROUP BY 1", option(" HAVING count(*) > 1"))
	case 9:
		other, rel2 := g.target()
		put("SELECT count(*) FROM ", other, " WHERE ", pick(g.r, "EXISTS", "NOT EXISTS"), " (SELECT 1 FROM ", from, " WHERE ", g.test(e), " AND ", rel.alias+".id = "+rel2.alias+".id", ")")
	case 10:
		put("SELECT (SELECT count(*) FROM ", from, " WHERE ", g.test(e), "), (SELECT max(", e, ") FROM ", from, ")")
	case 11:
		put("SELECT max(CAST(", e, " AS VARCHAR)) OVER () FROM ", from, option(" QUALIFY row_number() OVER (ORDER BY ", rel.alias+".id", ") < 5"))
	case 12:
		put("WITH c AS (SELECT ", e, " AS v, "+rel.alias+".id AS id FROM ", from, ") SELECT count(v) FROM c WHERE id > 0", option(" AND v IS NOT NULL"))
	case 13:
		put("SELECT count(*) FROM ", from, " WHERE ", g.plain(rel), option(" AND ", g.plain(rel)))
	case 14:
		f := pick(g.r, rel.columns...)
		put("SELECT ", pick(g.r, "min(", "max(", "count(", "count(DISTINCT "), rel.alias+"."+f.name, ") FROM ", from, option(" WHERE ", g.plain(rel)))
	case 15:
		put("SELECT count(*) FROM ", from, " WHERE CAST(", e, " AS VARCHAR) <> CAST(", param{pick[any](g.r, "a", "zz", "HIDD")}, " AS VARCHAR)", and())
	case 16, 17:
		put("SELECT ", failing(g), " FROM ", from, " WHERE ", g.plain(rel))
	case 18:
		put("SELECT count(*) FROM ", from, pick(g.r, " JOIN ", " LEFT JOIN ", " RIGHT JOIN "), "(SELECT CAST(s AS BIGINT) AS n FROM (VALUES ('1'), ('x')) AS w(s)) AS x ON x.n = "+rel.alias+".id WHERE ", g.plain(rel))
	case 19:
		put("SELECT count(*) FROM faulty AS f WHERE f.id ", pick(g.r, "< 1500", "> 1500", "BETWEEN 1990 AND 2010", "= 1000", "<> 2000"), option(" AND f.note IS NOT NULL"))
	case 20, 21:
		st.root = g.early(from, rel)
	default:
		put("SELECT * FROM (SELECT count(*) AS n FROM ", from, " WHERE ", g.test(e), " UNION ALL SELECT count(", e, ") FROM ", from, ")")
	}
	return st
}

// early makes a statement that fails on some visible rows, below something that may end before the engine meets them.
func (g *generator) early(from string, rel relation) *node {
	e := "CAST(CASE WHEN " + rel.alias + ".id % " + pick(g.r, "3", "7", "23") + " = 2 THEN 'x' ELSE '1' END AS INTEGER)"
	nobody := g.name("t")
	join := pick(g.r, " JOIN ", " JOIN ", " RIGHT JOIN ")
	empty := "customers AS " + nobody + " ON lower(" + nobody + ".region) = 'nobody' AND " + nobody + ".id = "
	switch g.r.IntN(5) {
	case 0:
		f := pick(g.r, rel.columns...)
		return clause("SELECT ", e, " FROM ", from, " ORDER BY ", rel.alias+"."+f.name, pick(g.r, "", " DESC"), " LIMIT ", pick(g.r, "1", "5"))
	case 1:
		return clause("SELECT count(*) FROM (SELECT ", e, " FROM ", from, " LIMIT ", pick(g.r, "1", "20", "9000"), ")")
	case 2:
		other, rel2 := g.target()
		return clause("SELECT count(*) FROM ", from, pick(g.r, " JOIN ", " FULL JOIN ", " LEFT JOIN "), other, " ON ", e, " = 1 AND ", rel2.alias+".id = ", rel.alias+".id",
			join, empty, rel.alias+".id")
	}
	return clause("SELECT count(s.x) FROM (SELECT "+rel.alias+".id, ", e, " AS x FROM ", from, ") AS s", join, empty, "s.id")
}
